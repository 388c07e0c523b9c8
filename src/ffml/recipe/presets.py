"""Settings by name: the package's own recipe, and the paper's.

A preset says what differs from the defaults of the parts; what is given explicitly wins over it.
"""

from typing import Any

from ffml.border import one_of
from ffml.methods import DEFAULT_METHOD

# What every table is learned with, by method. Beside the paper's: Adam and a larger dual step reach
# a round's solution in 50 iterations instead of 3,000, small tasks take smaller steps, the bound is
# on the mean gap over tasks, and corrected by how far off it was on new tasks.
_META: dict[str, Any] = {
    "inner.lr": 0.1,
    "inner.num_steps": 3,
    "inner.shrinkage": 200.0,
    "outer_lr": 0.01,
    "num_outer_steps": 50,
    "optimizer": "adam",
}
_DEFAULT: dict[str, dict[str, Any]] = {
    "ffml-exact": {
        "wrappers": ("evened", "boosted"),
        "shots": None,  # all labelled rows of a task; 100 of each class are the paper's protocol
        "tasks_per_round": 64,
        "rows_per_task": 4096,
    },
    "ffml": _META
    | {"outer": "pooled", "dual_lr": 0.5, "damping": 0.02, "wrappers": ("corrected",)},
    "m-ftml": _META | {"outer.by_size": True},
    "fairsaoml": {name: value for name, value in _META.items() if name.startswith("inner.")},
}

# What the paper says of all methods: the network, the constraint, rows compared as drawn.
_PAPER: dict[str, Any] = {
    "model": "mlp",
    "notions": ("dbc",),
    "max_gap": (0.02,),  # it names no ε
    "problem.natural_rates": False,
}
# Table 3 of the paper: FFML's settings by data set.
_COLUMNS = ("inner.lr", "outer_lr", "damping", "inner.num_steps", "num_outer_steps")
_TABLE_3 = {
    "bank": (0.01, 0.01, 50.0, 5, 3000),
    "adult": (0.001, 0.1, 60.0, 3, 3000),
    "crime": (0.001, 0.05, 50.0, 5, 3500),
}
# What each method takes from its data set's row, under its own name for it. The paper gives the
# methods it compares with the same model and settings: as many steps a round, of the same size.
# FFML's δ is its own; what is not listed here (δ of OGDLC, β of TWP, R and G of AdpOLC) keeps the
# method's default, since the paper names no value.
_STEPS = {"lr": "outer_lr", "num_steps": "num_outer_steps"}
_FROM_TABLE_3: dict[str, dict[str, str]] = {
    "ffml": {name: name for name in _COLUMNS},
    "m-ftml": {name: name for name in _COLUMNS if name != "damping"},
    "twp": _STEPS,
    "ogdlc": _STEPS,
    "adp-olc": {"num_steps": "num_outer_steps"},  # its step sizes follow from R, G and t
    "gen-olc": _STEPS,
    "sinha-vaze": {"num_steps": "num_outer_steps"},
    "fairsaoml": {n: n for n in ("inner.lr", "inner.num_steps", "num_outer_steps")},
}


def _default(data: str, method: str) -> dict[str, Any]:
    """Return the package's own settings of one method, the same for all data."""
    return dict(_DEFAULT.get(method, {}))


def _paper(data: str, method: str) -> dict[str, Any]:
    """Return the paper's settings of one method; other data take those for Bank."""
    row = dict(zip(_COLUMNS, _TABLE_3.get(data, _TABLE_3["bank"]), strict=True))
    return _PAPER | {own: row[name] for own, name in _FROM_TABLE_3.get(method, {}).items()}


PRESETS: dict[str, Any] = {"default": _default, "paper": _paper}


def default_method(preset_name: str | None) -> str:
    """Return the method of a preset where none is named.

    >>> default_method("default"), default_method("paper")
    ('ffml-exact', 'ffml')
    """
    return "ffml" if preset_name == "paper" else DEFAULT_METHOD


def preset(name: str, data: str, method: str = DEFAULT_METHOD) -> dict[str, Any]:
    """Look up a preset for a data set and a method.

    >>> preset("paper", "adult", "ffml")["damping"]
    60.0
    >>> preset("paper", "crime", "ogdlc")["num_steps"]
    3500
    """
    return one_of("preset", name, PRESETS)(data, method)
