"""Fairness-aware online meta-learning: follow the fair meta leader (FFML).

Names are loaded when they are first used, so that ``import ffml`` costs nothing.
"""

from importlib import import_module
from typing import Any

_SUBMODULES = {
    "analysis": "ffml.research.analysis",
    "checks": "ffml.checks",
    "constraints": "ffml.problem.notions",
    "datasets": "ffml.datasets",
    "features": "ffml.features",
    "methods": "ffml.methods",
    "metrics": "ffml.metrics",
    "models": "ffml.problem.models",
    "report": "ffml.report",
    "scoring": "ffml.scoring",
    "tables": "ffml.tables",
    "wrappers": "ffml.wrappers",
}
_NAMES = {
    "FFMLError": "ffml.base",
    "FairMetaClassifier": "ffml.estimator",
    "InputDriftWarning": "ffml.base",
    "configure": "ffml.runtime",
    "fair_classification": "ffml.problem.classification",
    "label": "ffml.living",
    "load": "ffml.datasets",
    "play": "ffml.online.loop",
    "update": "ffml.living",
}

__all__ = ["__version__", *_SUBMODULES, *_NAMES]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("ffml")
    if name in _SUBMODULES:
        return import_module(_SUBMODULES[name])
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'ffml' has no attribute '{name}'")
