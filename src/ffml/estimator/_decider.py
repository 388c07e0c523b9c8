"""Deciding: with NumPy alone, every row by itself, as every door does."""

import copy
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ffml.base import FFMLError, Prediction
from ffml.estimator import _inputs as inputs
from ffml.estimator._player import Player
from ffml.forks import refuse_after_fork
from ffml.tables import with_memberships


class Decider(Player):
    """Decides about people, after adapting to some of them if it is asked to."""

    def adapt(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        unlabelled: Any = None,
        unlabelled_groups: Any = None,
    ) -> Self:
        """Return a classifier specialised to a population of which some rows are labelled.

        This one does not change. The new one takes the method's inner steps from (θ, λ) on these
        rows, which may lack a class or a group. To adapt it again starts anew from (θ, λ), and
        its `partial_fit` goes on with the stream.

        Args:
            X: features of the labelled rows.
            y: their labels.
            sensitive_features: the group of each.
            unlabelled: features of the people to be decided about, for methods that look at them
                (those with the wrapper "evened").
            unlabelled_groups: their groups, with ``decide_with_groups``.
        """
        check_is_fitted(self)
        refuse_after_fork()
        table = self._table(X, reset=False)
        support = self._task("", table, inputs.read_labels(y, len(table)), sensitive_features)
        from ffml.online.decide import described_by, find_rule
        from ffml.online.loop import known

        rows, x = np.arange(len(support.y)), support.x
        if unlabelled is None:
            self._warn_of_drift(table, support.x)
        else:
            x = np.concatenate([x, self._encoded(unlabelled, unlabelled_groups)])
        more = len(x) - len(rows)
        task = support._replace(
            x=described_by(self.loop_, self.state_.features, x),
            y=np.pad(support.y, (0, more)),
            groups=np.pad(support.groups, ((0, more), (0, 0))),
        )
        adapted = copy.copy(self)
        adapted._rule = find_rule(
            self.loop_, known(self.loop_, self.state_), task, rows, len(rows) + np.arange(more)
        )
        return adapted

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> np.ndarray:
        """Return the logit of every row, above 0 where the second of ``classes_`` is decided on.

        It is h(x), or -h(x) where the first of ``classes_`` is the favourable one. An
        `ffml.InputDriftWarning` says which columns are unlike those that were learned from. So do
        `predict`, `predict_proba` and `adapt`. With ``decide_with_groups`` they all need the group
        of each row.
        """
        logits = self._said(X, sensitive_features).logits
        return logits if self.positive_ == self.classes_[1] else -logits

    def predict(self, X: Any, *, sensitive_features: Any = None) -> np.ndarray:
        """Return the label decided on for every row."""
        positive = self._said(X, sensitive_features).logits > 0
        return self._outcomes[positive.astype(int)]

    def predict_proba(self, X: Any, *, sensitive_features: Any = None) -> np.ndarray:
        """Return the probability of each of ``classes_``, ``(n, 2)``.

        They are those that runs record and ``ffml predict`` writes. See above for at which rate of
        labels they are meant.
        """
        probability = self._said(X, sensitive_features).probability
        probabilities = np.stack([1 - probability, probability], axis=1)
        return probabilities if self.positive_ == self.classes_[1] else probabilities[:, ::-1]

    def _said(self, X: Any, sensitive_features: Any) -> Prediction:
        """Encode features, and decide as every door does. JAX does not start for it."""
        check_is_fitted(self)
        from ffml.online.decide import decide_by

        return decide_by(self.loop_, self._rule, self._encoded(X, sensitive_features))

    def _encoded(self, X: Any, sensitive_features: Any) -> np.ndarray:
        """Encode people to be decided about, and say if they are unlike those learned from."""
        table, schema = self._table(X, reset=False), self.schema_
        encoded = self.preprocessor_.transform(table)
        self._warn_of_drift(table, encoded)
        if not schema.known_groups:
            if sensitive_features is not None:
                raise FFMLError(
                    "decisions do not look at groups; leave out sensitive_features, or set "
                    "decide_with_groups=True where that is lawful"
                )
            return encoded
        if sensitive_features is None:
            raise FFMLError(
                "this classifier decides with groups (decide_with_groups); pass sensitive_features"
            )
        groups = inputs.read_groups(sensitive_features, len(encoded))
        return with_memberships(schema, encoded, inputs.group_codes(groups, schema.sensitive))
