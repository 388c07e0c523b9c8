"""Values that are written as text: ``--set name=value``, ``--seeds``, methods with settings."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, get_args, get_origin

from ffml.base import FFMLError
from ffml.kinds import described, fits

if TYPE_CHECKING:
    from ffml.studies.compare import Variant

NO_WRAPPER = "none"
LISTS = ("notions", "max_gap", "model.hidden")  # whose values have parts; a grid joins them by +


def parse_seeds(text: str) -> list[int]:
    """Read seeds.

    >>> parse_seeds("0-2,7")
    [0, 1, 2, 7]
    """
    seeds: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
        first, last = (int(ends[1]), int(ends[2] or ends[1])) if ends else (1, 0)
        if last < first:
            raise FFMLError(f"--seeds takes seeds such as 0-4 or 0,1,2, got '{text}'")
        seeds += range(first, last + 1)
    return seeds


def parse_seeds_of_data(texts: Iterable[str]) -> tuple[list[int] | None, dict[str, list[int]]]:
    """Read seeds for all data, and those that are for some.

    >>> parse_seeds_of_data(["0-2", "crime=0-4"])
    ([0, 1, 2], {'crime': [0, 1, 2, 3, 4]})
    """
    for_all: list[int] = []
    for_some: dict[str, list[int]] = {}
    for text in texts:
        data, _, seeds = text.rpartition("=")
        (for_some.setdefault(data, []) if data else for_all).extend(parse_seeds(seeds))
    return for_all or None, for_some


def parse_settings(texts: Iterable[str], given_by: str = "--set") -> dict[str, Any]:
    """Read ``name=value`` by the kind of the setting; several values have commas between them.

    >>> parse_settings(["outer_lr=1", "model.hidden=40,40", "data.label=2020", "dual_lr=null"])
    {'outer_lr': 1.0, 'model.hidden': (40, 40), 'data.label': '2020', 'dual_lr': None}
    """
    settings: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not (equals and name and value):
            raise FFMLError(f"{given_by} takes NAME=VALUE such as rounds=10, got '{text}'")
        if name in ("method", "wrappers", "data"):
            instead = {"wrappers": "--with", "method": "--method", "data": "DATA"}[name]
            raise FFMLError(f"'{name}' is no setting; give it as {instead}")
        from ffml.recipe.configfile import refuse_unknown_settings, setting_kinds

        refuse_unknown_settings([name])
        settings[name] = parse_value(name, value, setting_kinds().get(name, Any))
    return settings


def parse_grid(texts: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """Read ``name=v1,v2,…``; parts of one value are joined by +.

    >>> parse_grid(("inner.lr=0.1,1e+0", "max_gap=0.02,0.02+0.05", "dual_lr=null,1"))
    {'inner.lr': (0.1, 1.0), 'max_gap': ((0.02,), (0.02, 0.05)), 'dual_lr': (None, 1.0)}
    """
    axes: dict[str, tuple[Any, ...]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip().replace("-", "_")
        if not (equals and name and all(part.strip() for part in values.split(","))):
            raise FFMLError(f"--grid takes NAME=V1,V2,… such as inner.lr=0.1,0.3, got '{text}'")
        if name in axes:
            raise FFMLError(f"--grid has '{name}' twice; give all its values at once")
        parts = [part.strip() for part in values.split(",")]
        if name in LISTS:
            parts = [re.sub(r"(?<![eE])\+", ",", part) for part in parts]
        axes[name] = tuple(parse_settings([f"{name}={part}"])[name] for part in parts)
    return axes


def parse_value(name: str, text: str, kind: Any) -> Any:
    """Read one value, and refuse one of another kind than the setting's.

    >>> parse_value("max_gap", "0.1,0.2", tuple[float, ...] | None), parse_value("seed", "7", int)
    ((0.1, 0.2), 7)
    """
    kinds = get_args(kind) if get_origin(kind) is not tuple and get_args(kind) else (kind,)
    if type(None) in kinds and (text == "null" or (text == "none" and str not in kinds)):
        return None
    several = next((k for k in kinds if get_origin(k) is tuple), None)
    if several is not None and ("," in text or str not in kinds):
        parts = [part.strip(" \"'") for part in text.strip("[]()").split(",")]
        return tuple(parse_value(name, part, get_args(several)[0]) for part in parts)
    if kind is Any and "," in text:
        return tuple(_plain(part) for part in text.split(","))
    value = _plain(text)
    if not fits(value, kind):
        value = text
    if not fits(value, kind):
        raise FFMLError(f"setting '{name}' takes {described(kind)}, got '{text}'")
    return float(value) if float in kinds and int not in kinds and type(value) is int else value


def parse_bounds(option: str, texts: Sequence[str], example: str) -> tuple[float, ...] | None:
    """Read ``--max-gap`` or ``--min-ratio``: one value or one for each notion; none asks nothing.

    >>> parse_bounds("--max-gap", ["0.05", "0.1"], "0.05"), parse_bounds("--max-gap", ["none"], "1")
    ((0.05, 0.1), None)
    """
    if list(texts) == ["none"]:
        return None
    try:
        return tuple(map(float, texts))
    except ValueError:
        raise FFMLError(
            f"{option} takes a number such as {example}, or none, got '{', '.join(texts)}'"
        ) from None


def parse_variant(text: str) -> "Variant":
    """Read a method, wrappers and settings of its own; what was written is its name in tables.

    >>> parse_variant("ffml  with=corrected,evened max_gap=0,0.05")
    Variant(label='ffml with=corrected,evened max_gap=0,0.05', method='ffml',
    settings={'max_gap': (0.0, 0.05), 'wrappers': ('corrected', 'evened')})
    """
    from ffml.studies.compare import Variant

    method, *words = text.split() or [""]
    settings = parse_settings(
        (word for word in words if not word.startswith("with=")), f"--method '{method} …'"
    )
    for word in words:
        if word.startswith("with="):
            names = word.removeprefix("with=").split(",")
            settings["wrappers"] = chosen_wrappers((), [name for name in names if name])
    return Variant(" ".join([method, *words]), method, settings)


def chosen_wrappers(preset: Sequence[str], given: Sequence[str]) -> tuple[str, ...]:
    """Add wrappers to those of the preset; "none" takes the preset's away.

    >>> chosen_wrappers(["corrected"], ["evened"]), chosen_wrappers(["corrected"], ["none"])
    (('corrected', 'evened'), ())
    """
    start = () if NO_WRAPPER in given else preset
    return tuple(dict.fromkeys([*start, *(name for name in given if name != NO_WRAPPER)]))


def _plain(text: str) -> Any:
    """Read JSON, or a number such as .5 or inf; a word stays one."""
    for read in (json.loads, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text
