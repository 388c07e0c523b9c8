"""What every classifier is made of: tables become tasks, tasks are played as rounds."""

import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ffml.base import FFMLError, InputDriftWarning, Schema, SensitiveColumn, Task
from ffml.estimator import _inputs as inputs
from ffml.online.drift import InputWatch, drift_words
from ffml.tables import Preprocessor, as_table, num_missing, refuse_sparse, with_memberships
from ffml.tables.scaling import RunningScaler

if TYPE_CHECKING:
    from ffml.online.decide import Rule
    from ffml.online.loop import Loop
    from ffml.online.state import LoopState, Round
    from ffml.recipe.config import RunConfig
    from ffml.runs.keeping import Played


class Player(ClassifierMixin, BaseEstimator):
    """Plays rounds on what people pass: tables, labels and groups."""

    # What a fitted one keeps.
    _config: "RunConfig"
    _rule: "Rule"
    schema_: Schema
    state_: "LoopState"
    _played: "list[Played]"  # rounds of its own with their people, for a ledger
    _saved: dict[str, int]  # how many of them a ledger has, by the checksum of its newest state
    _origin: str | None  # the run that it was read from
    _version: int  # of that run, by which it decides
    _newest: int = 0  # the run's newest version
    _data: dict[str, Any]  # what a run's config.json says of the table
    _outcomes: np.ndarray  # the two labels, the favourable one last

    # -- what scikit-learn and pickle ask for ----------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "_rule" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Leave out compiled functions; the loop is made again when it is needed."""
        return {k: v for k, v in super().__getstate__().items() if k != "_loop"}

    @property
    def positive_(self) -> Any:
        """The favourable label."""
        check_is_fitted(self, "_config")
        return self._outcomes[1]

    @property
    def loop_(self) -> "Loop":
        """How rounds are played."""
        check_is_fitted(self, "_config")
        if "_loop" not in vars(self):
            from ffml.estimator._config import loop_of

            self._loop = loop_of(self._config, self.schema_)
        return self._loop

    # -- the parts of a round --------------------------------------------------------------------

    def _table(self, X: Any, reset: bool) -> Any:
        """Check the features' number, names and order; data frames keep their categories."""
        refuse_sparse(X)
        if hasattr(X, "columns"):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan")

    def _columns(
        self, config: "RunConfig", sensitive_features: Any, num_rows: int, groups: Any = None
    ) -> tuple[SensitiveColumn, ...]:
        """Find the sensitive columns and their groups."""
        if sensitive_features is None and config.asked:
            raise FFMLError(
                f"notion {self.notion!r} compares groups; pass sensitive_features, or set "
                "max_gap=None to ask for no fairness"
            )
        columns = inputs.read_groups(sensitive_features, num_rows)
        for name in columns:
            if name in getattr(self, "feature_names_in_", ()):
                warnings.warn(
                    f"{name!r} is a feature and a sensitive feature, so that the model decides by "
                    "it; drop it from X",
                    stacklevel=4,
                )
        return inputs.sensitive_columns(columns, groups)

    def _start(
        self,
        config: "RunConfig",
        table: Any,
        y: Any,
        classes: np.ndarray,
        sensitive_features: Any,
        groups: Any = None,
        tasks: np.ndarray | None = None,
    ) -> None:
        """Begin a stream that has no rounds yet."""
        from ffml.estimator._config import loop_of
        from ffml.estimator._runs import data_document
        from ffml.online.loop import start

        columns = self._columns(config, sensitive_features, len(table), groups)
        label = getattr(y, "name", None)
        outcomes = inputs.favourable_last(
            classes, self.positive, bool(config.asked), str(label or "y")
        )
        preprocessor = Preprocessor.fit(table, tasks)
        names, categories = preprocessor.features, preprocessor.categories
        schema = Schema(names, columns, str(label or "label"), categories=categories)
        schema = schema.with_known_groups() if config.decide_with_groups else schema
        self._loop = loop_of(config, schema)
        scaler, watch = RunningScaler.empty(preprocessor.scaled), InputWatch.of(preprocessor)
        self.state_ = start(self._loop, scaler, watch)
        self.__dict__.pop("_rule", None)  # of an earlier fit: unfitted until this one is done
        self._config, self._outcomes, self.classes_ = config, outcomes, classes
        self.preprocessor_, self.schema_ = preprocessor, schema
        self.rounds_: list[Round] = []
        self._played, self._saved = [], {}
        self._origin, self._version, self._newest = None, 0, 0
        self._data = data_document(schema, outcomes, not hasattr(self, "feature_names_in_"))

    def _task(self, name: str, table: Any, labels: np.ndarray, sensitive_features: Any) -> Task:
        if sensitive_features is None and self.schema_.sensitive != (inputs.NO_GROUPS,):
            raise FFMLError("sensitive_features are missing; pass one value per row")
        columns = inputs.read_groups(sensitive_features, len(labels))
        groups = inputs.group_codes(columns, self.schema_.sensitive)
        x = with_memberships(self.schema_, self.preprocessor_.transform(table), groups)
        codes = inputs.label_codes(labels, self._outcomes)
        return Task(name, x, codes, groups, self._num_missing(table))

    def _num_missing(self, table: Any, rows: np.ndarray | None = None) -> np.ndarray:
        columns = as_table(table, self.preprocessor_.names)
        columns = columns if rows is None else columns.take(rows)
        return np.array([num_missing(columns[name]) for name in self.preprocessor_.names])

    def _warn_of_drift(self, table: Any, encoded: np.ndarray) -> None:
        watch = self.state_.watch
        drifts = watch.compare_inputs(encoded, self._num_missing(table)) if watch else []
        if drifts:
            lines = ". ".join(drift_words(drifts))
            message = f"inputs are unlike those that were learned from. {lines}"
            warnings.warn(message, InputDriftWarning, stacklevel=4)

    def _play(self, task: Task) -> None:
        from ffml.runs.keeping import play_round

        self.state_, played = play_round(self.loop_, self.state_, task, self._version)
        self.rounds_ = [*self.rounds_, played.record]
        self._played = [*self._played, played]

    def _finish(self) -> Self:
        """Decide as well as can be done before a new task is known."""
        from ffml.online.decide import find_rule
        from ffml.online.loop import known, pair

        loop, state = self.loop_, self.state_
        names, values = loop.problem.constraint_names, pair(loop, state).multipliers
        self.n_rounds_ = state.round
        self.multipliers_ = dict(zip(names, values.tolist(), strict=True))
        self._rule = find_rule(loop, known(loop, state))
        return self
