"""How all figures of the package look, and how one becomes the bytes of its files."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

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


@contextmanager
def figure_style() -> Iterator[None]:
    """Draw in the package's style, whatever a user's own matplotlibrc says."""
    import matplotlib.style

    with matplotlib.style.context(["default", STYLE]):
        yield


def picture_bytes(figure: "Figure") -> dict[str, bytes]:
    """Return a figure's bytes by file format; equal figures give equal bytes."""
    pictures = {}
    for kind in FORMATS:
        buffer = io.BytesIO()
        metadata: Any = {"Date": None} if kind == "svg" else None
        figure.savefig(buffer, format=kind, dpi=150, metadata=metadata)
        pictures[kind] = buffer.getvalue()
    return pictures
