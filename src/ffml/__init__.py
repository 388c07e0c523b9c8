"""Fairness-aware online meta-learning: follow the fair meta leader (FFML).

Names are loaded when they are first used, so that ``import ffml`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names for type checkers and editors
    from ffml import checks as checks
    from ffml import datasets as datasets
    from ffml import features as features
    from ffml import methods as methods
    from ffml import metrics as metrics
    from ffml import report as report
    from ffml import scoring as scoring
    from ffml import tables as tables
    from ffml import wrappers as wrappers
    from ffml.base import FFMLError as FFMLError
    from ffml.base import InputDriftWarning as InputDriftWarning
    from ffml.datasets import load as load
    from ffml.estimator import FairMetaClassifier as FairMetaClassifier
    from ffml.online.loop import play as play
    from ffml.problem import models as models
    from ffml.problem import notions
    from ffml.problem.classification import fair_classification as fair_classification
    from ffml.recipe.plugins import register as register
    from ffml.research import analysis as analysis
    from ffml.runs import Run as Run
    from ffml.runs import open as open
    from ffml.runs import run as run
    from ffml.runtime import configure as configure

    __version__: str
    constraints = notions

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
    "Run": "ffml.runs",
    "configure": "ffml.runtime",
    "fair_classification": "ffml.problem.classification",
    "load": "ffml.datasets",
    "open": "ffml.runs",
    "play": "ffml.online.loop",
    "register": "ffml.recipe.plugins",
    "run": "ffml.runs",
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


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
