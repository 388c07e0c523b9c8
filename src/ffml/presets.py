"""Settings by name: the package's own for each data set, and the paper's.

A preset says what differs from the defaults of `ffml.experiment.RunConfig`; what is given
explicitly wins over it.
"""

from typing import Any

from ffml.checks import one_of
from ffml.tuned import tuned_settings

# Table 3 of the paper; what the table leaves open follows its text (plain descent, one step size
# for both variables, constraint on the drawn rows, mean over tasks).
_PAPER: dict[str, Any] = {
    "model": "mlp",
    "constraints": ("dbc",),
    "natural_rates": False,
    "noise_allowance": 0.0,
    "tasks_per_round": 32,
    "dual_lr": None,
    "optimizer": "sgd",
    "inner_shrinkage": 0.0,
    "task_weighting": "uniform",
    "gap_weighting": "tasks",
    "pooled_constraint": False,
    "surprise_memory": 0.0,
    "gap_spread": 0.0,
    "gap_penalty": 0.0,
    "predict_gaps": False,
    "positive_weight": 1.0,
    "relative_temperature": False,
    "temperature": 1.0,
}
_PAPER_BY_DATA: dict[str, dict[str, Any]] = {
    "bank": {
        "inner_lr": 0.01,
        "outer_lr": 0.01,
        "damping": 50.0,
        "num_inner_steps": 5,
        "num_outer_steps": 3000,
    },
    "adult": {
        "inner_lr": 0.001,
        "outer_lr": 0.1,
        "damping": 60.0,
        "num_inner_steps": 3,
        "num_outer_steps": 3000,
    },
    "crime": {
        "inner_lr": 0.001,
        "outer_lr": 0.05,
        "damping": 50.0,
        "num_inner_steps": 5,
        "num_outer_steps": 3500,
    },
}

PRESETS: dict[str, Any] = {
    "default": tuned_settings,
    "paper": lambda data, method: _PAPER | _PAPER_BY_DATA.get(data, _PAPER_BY_DATA["bank"]),
}


def preset(name: str, data: str, method: str = "ffml") -> dict[str, Any]:
    """Look up a preset for a data set and a method.

    ``default`` is what `ffml.tuned` has for it, ``paper`` what the paper prints (other data take
    its settings for Bank).

    >>> preset("paper", "adult")["damping"]
    60.0
    """
    return one_of("preset", name, PRESETS)(data, method)
