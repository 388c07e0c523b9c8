"""Checks for methods, features, constraints and models of your own.

Each takes what you would put into a registry, tries it on small made-up tasks, and raises an
`FFMLError` that says in one line what is wrong. The package's own entries pass them as well::

    def test_my_method():
        check_learner(my_method)
"""

from ffml.checks._constraint import check_constraint
from ffml.checks._features import check_features
from ffml.checks._learner import check_learner
from ffml.checks._model import check_model

__all__ = ["check_constraint", "check_features", "check_learner", "check_model"]
