"""Fairness-aware online meta-learning: follow the fair meta leader (FFML).

Names are loaded when they are first used, so that ``import ffml`` costs nothing.
"""

from importlib import import_module
from importlib.metadata import version
from typing import Any

__version__ = version("ffml")

_SUBMODULES = (
    "analysis",
    "constraints",
    "datasets",
    "methods",
    "metrics",
    "models",
    "report",
    "tables",
)
_NAMES = {
    "FFMLError": "ffml.base",
    "FairMetaClassifier": "ffml.estimator",
    "configure": "ffml.runtime",
    "fair_classification": "ffml.problem",
    "load": "ffml.datasets",
    "play": "ffml.online",
}

__all__ = ["__version__", *_SUBMODULES, *_NAMES]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"ffml.{name}")
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'ffml' has no attribute '{name}'")
