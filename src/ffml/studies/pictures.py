"""How all figures of the package look, and how one becomes the bytes of its files."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("svg", "png")
STYLE: dict[str, Any] = {
    "font.size": 10,
    "svg.fonttype": "none",
    "svg.hashsalt": "ffml",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e6e6",
    "legend.frameon": False,
}


def isolated(values: np.ndarray) -> np.ndarray:
    """Mark the defined values without a defined neighbour: a line would not show them.

    >>> isolated(np.array([1.0, np.nan, 2.0, 3.0]))
    array([ True, False, False, False])
    """
    defined = np.isfinite(values)
    padded = np.concatenate([[False], defined, [False]])
    return defined & ~padded[:-2] & ~padded[2:]


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw in the package's style, whatever a user's own matplotlibrc says."""
    import matplotlib.style

    with matplotlib.style.context(["default", STYLE]):
        yield


def picture_bytes(figure: "Figure", title: str = "", description: str = "") -> dict[str, bytes]:
    """Return a figure's bytes by file format; equal figures give equal bytes.

    The title and the description are kept in the files' metadata.
    """
    texts = {"Title": title, "Description": description}
    about: Any = {name: text for name, text in texts.items() if text}
    pictures = {}
    for kind in FORMATS:
        buffer = io.BytesIO()
        metadata = about | ({"Date": None} if kind == "svg" else {})
        figure.savefig(buffer, format=kind, dpi=150, metadata=metadata)
        pictures[kind] = buffer.getvalue()
    return pictures
