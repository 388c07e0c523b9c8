"""The scikit-learn face of the library: `FairMetaClassifier`."""

import copy
import inspect
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ffml.base import (
    FFMLError,
    InputDriftWarning,
    Prediction,
    Schema,
    SensitiveColumn,
    Task,
)
from ffml.forks import refuse_after_fork
from ffml.methods import DEFAULT_METHOD
from ffml.online.drift import drift_words
from ffml.tables import Preprocessor, as_table, num_missing, refuse_sparse, with_memberships

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    needed = "FairMetaClassifier needs scikit-learn >= 1.6; pip install 'scikit-learn>=1.6'"
    raise ImportError(needed) from error

from ffml.estimator import inputs as inputs

if TYPE_CHECKING:
    from ffml.audit.gate import Finding
    from ffml.online.decide import Rule
    from ffml.online.loop import Loop
    from ffml.online.state import LoopState, Round
    from ffml.recipe.config import RunConfig
    from ffml.runs.keeping import Played


class FairMetaClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that learns from one population after another and adapts to the next.

    It keeps what populations share, and fits it to a new one by a few labelled rows (`adapt`).
    Rates of decisions about people not yet met shall differ between protected groups by at most
    ``max_gap`` (``notion`` says among whom); what was reached is in ``rounds_``. Sensitive features
    are needed to learn and never to predict.

    In every round one *task* (the rows of one population) arrives: the method first decides on
    it with what it knew before, adapted to some of the task's rows, and is judged on the others;
    then it learns from all of them. So the records in ``rounds_`` are of rows that had not been
    learned from, although in the end all rows have been.

    Args:
        method: a name of `ffml.methods.METHODS`.
        wrappers: names of `ffml.wrappers.WRAPPERS`, the first one innermost; None means those of
            the default recipe, and () none.
        model: a name of `ffml.models.MODELS`: "linear" or "mlp".
        notion: what must not differ between groups: a name of `ffml.constraints.CONSTRAINTS`, or
            several.
        max_gap: by how much it may differ, one for all notions or one for each: 0.05 is 5 points.
            None asks for no fairness; only then may ``sensitive_features`` be left out.
        min_ratio: in place of ``max_gap``, whose default then does not count: what share of the
            higher rate of positive decisions the lower one is at least (0.8: four fifths).
        positive: the favourable label. Of two numbers it is the larger one, of no and yes it is
            yes; two other texts do not say it, and are refused where fairness is asked for.
        shots: rows of each class that an adaptation uses; of more, so many are drawn. None leaves
            it to the method: all rows by default, 100 for those that learn by gradients.
        validation_fraction: share of a task's rows on which its round is judged.
        settings: other settings by the names that ``ffml run --set`` takes: the method's
            (``num_outer_steps``), its parts' (``inner.lr``), the model's (``model.hidden``), the
            problem's (``problem.l2``), a wrapper's (``corrected.memory``), and memory's
            (``tasks_per_round``, ``rows_per_task``, ``memory_policy``, ``memory_capacity``). What
            is not given is as in ``ffml run``.
        decide_with_groups: whether groups are known when people are decided about and prices go by
            them; `predict` then needs ``sensitive_features``. Off, no decision looks at a group.
        approve: share of positive decisions, such as 0.8.
        cost: in place of ``approve``: what a wrong refusal costs, in wrong approvals.
        threshold: in place of both: "labels" (the default: as many positive decisions as favourable
            labels are expected), "accuracy", "balanced", or the least probability.
        random_state: the same number gives the same bytes; None gives others every time.

    Attributes:
        classes_: the two labels, sorted.
        positive_: the favourable one of them: what a positive decision decides on.
        n_features_in_, feature_names_in_: what X must look like.
        preprocessor_: how columns become numbers, see `ffml.tables.Preprocessor`: a missing
            number is the median of the first task, a category not seen at fitting is all zeros.
        schema_: features after preprocessing, sensitive columns and their groups.
        rounds_: one `ffml.online.loop.Round` for each task: metrics, counts, constraint values.
        n_rounds_: how many rounds were played.
        multipliers_: λ of every constraint.
        loop_: the `ffml.online.loop.Loop` behind it all.
        state_: what is known after the last round, a `ffml.online.state.LoopState`.

    A model decides by θ until it is adapted. Labels are drawn evenly while learning. The wrapper
    "evened", which the default has, turns that into probabilities at the label rate of the people
    at hand, and `predict_proba` returns them: a decision may be positive below 0.5. Without it,
    `predict_proba` is what the probability would be if both labels were equally frequent (if the
    favourable one were ``problem.positive_weight`` times as frequent, where ``settings`` have one).

    >>> rng = np.random.default_rng(0)
    >>> sex, town = rng.choice(["f", "m"], 900), np.repeat(["Ulm", "Bonn", "Kiel"], 300)
    >>> X = rng.normal(size=(900, 3)) + np.outer(sex == "m", [1, 0, 0])
    >>> y = X @ [1, 1, 0] + rng.normal(size=900) > 0.5
    >>> model = FairMetaClassifier()
    >>> model.fit(X, y, sensitive_features=sex, tasks=town).n_rounds_
    3
    >>> adapted = model.adapt(X[:40], y[:40], sensitive_features=sex[:40])
    >>> adapted.predict_proba(X).shape
    (900, 2)
    >>> round(adapted.score(X, y), 1)
    0.7
    """

    # What a fitted one keeps.
    _config: "RunConfig"
    _rule: "Rule"
    schema_: Schema
    state_: "LoopState"
    _played: "list[Played]"  # rounds of its own with their people, for a ledger
    _saved: dict[str, int]  # how many of them a ledger has, by the checksum of its newest state
    _origin: str | None  # the run that it was read from
    _version: int  # of that run
    _data: dict[str, Any]  # what a run's config.json says of the table
    _outcomes: np.ndarray  # the two labels, the favourable one last

    def __init__(
        self,
        method: str = DEFAULT_METHOD,
        *,
        wrappers: Sequence[str] | None = None,
        model: str = "linear",
        notion: str | Sequence[str] = "demographic-parity",
        max_gap: float | Sequence[float] | None = 0.05,
        min_ratio: float | Sequence[float] | None = None,
        positive: Any = None,
        shots: int | None = None,
        validation_fraction: float = 0.5,
        settings: Mapping[str, Any] | None = None,
        random_state: Any = 0,
        decide_with_groups: bool = False,
        approve: float | None = None,
        cost: float | None = None,
        threshold: float | str | None = None,
    ) -> None:
        self.method = method
        self.wrappers = wrappers
        self.model = model
        self.notion = notion
        self.max_gap = max_gap
        self.min_ratio = min_ratio
        self.positive = positive
        self.shots = shots
        self.validation_fraction = validation_fraction
        self.settings = settings
        self.random_state = random_state
        self.decide_with_groups = decide_with_groups
        self.approve = approve
        self.cost = cost
        self.threshold = threshold

    # -- learning ------------------------------------------------------------------------------

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, tasks: Any = None
    ) -> "FairMetaClassifier":
        """Forget everything and play a stream of tasks, one round each.

        FFML learns from the second task on. Data of a single task, or without tasks, are
        therefore dealt at random into 4 to 10 parts with the same label rate, and each part is a
        task: "part 1", "part 2", ....

        Args:
            X: features, NumPy, pandas, polars or Arrow; never the sensitive ones.
            y: labels of two kinds.
            sensitive_features: the group of each row; of several columns, each is constrained.
            tasks: the task of each row; tasks are played in the order of their first rows.
        """
        refuse_after_fork()
        config = self._configure()
        table = self._table(X, reset=True)
        labels = inputs.read_labels(y, len(table))
        classes = inputs.two_classes(labels)
        columns = self._columns(config, sensitive_features, len(table))
        name = str(getattr(y, "name", None) or "y")
        outcomes = inputs.favourable_last(classes, self.positive, bool(config.asked), name)
        parts = {} if tasks is None else inputs.task_rows(tasks, len(table))
        if len(parts) < 2:
            parts = inputs.random_parts(labels == classes[1], config.seed)
        places = inputs.task_places(parts, len(table))
        self._start(config, table, outcomes, columns, places, getattr(y, "name", None))
        whole = self._task("", table, labels, sensitive_features)
        for name, rows in parts.items():
            missing = self._num_missing(table, rows)
            self._play(Task(name, whole.x[rows], whole.y[rows], whole.groups[rows], missing))
        return self._finish()

    def partial_fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        classes: Any = None,
        groups: Any = None,
        task: str | None = None,
    ) -> "FairMetaClassifier":
        """Play one more round: all rows are one new task.

        FFML only remembers the first task and learns from the second on; until then, decisions
        are those of the parameters that it starts with. How columns become numbers is learned
        from the rows of the first call.

        Args:
            X: features of the new task.
            y: its labels.
            sensitive_features: the group of each row.
            classes: both labels, if the first task may lack one.
            groups: all groups, if the first task may lack some: those of the only sensitive
                column, or a mapping from columns to groups.
            task: what to call it in ``rounds_`` and reports; None is "task 5" in the fifth round.
        """
        refuse_after_fork()
        first = not self.__sklearn_is_fitted__()
        config = self._configure() if first else self._config
        table = self._table(X, reset=first)
        labels = inputs.read_labels(y, len(table))
        if first:
            known = inputs.two_classes(labels if classes is None else classes)
            inputs.label_codes(labels, known)
            columns = self._columns(config, sensitive_features, len(table), groups)
            name = str(getattr(y, "name", None) or "y")
            outcomes = inputs.favourable_last(known, self.positive, bool(config.asked), name)
            self._start(config, table, outcomes, columns, label=getattr(y, "name", None))
        else:
            inputs.refuse_new(classes, groups, self.classes_, self.schema_.sensitive)
        name = f"task {self.state_.round + 1}" if task is None else str(task)
        if name in {record.task for record in self.rounds_}:
            raise FFMLError(f"task {name!r} was played before; give the new rows another task")
        self._play(self._task(name, table, labels, sensitive_features))
        return self._finish()

    def adapt(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        unlabelled: Any = None,
        unlabelled_groups: Any = None,
    ) -> "FairMetaClassifier":
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

    # -- a run's folder: what one began, the other continues ---------------------------------------

    @classmethod
    def from_run(cls, path: str | Path) -> "FairMetaClassifier":
        """Return the classifier that a run on a table has come to, by its last good round.

        `partial_fit` goes on with its stream as ``ffml update`` would, and `save` into the same
        folder continues the run. Features, groups and labels are those of the run's table.

        Args:
            path: folder of a run of the command line, or of `save`.
        """
        refuse_after_fork()
        from ffml.estimator.run import load_run

        parameters, attributes = load_run(path)
        model = cls(**parameters)
        for name, value in attributes.items():
            setattr(model, name, value)
        return model._finish()

    def save(self, path: str | Path) -> Path:
        """Write a run's folder that ``ffml update``, ``check`` and ``predict`` take.

        A table for ``ffml update`` needs the columns of X, those of the sensitive features, one
        called as y was (or "label"), and one called "task".

        Args:
            path: a new folder, or that of the run which this classifier has gone on from.

        Returns:
            The report.
        """
        check_is_fitted(self)
        refuse_after_fork()
        from ffml.estimator.run import save_run

        return save_run(self, path)

    def report(self, path: str | Path | None = None) -> str:
        """Return the report, one page of HTML, and write it to a file if one is given."""
        check_is_fitted(self)
        from ffml.estimator.run import temporary_run

        with temporary_run(self) as run:
            page = run.report().read_text(encoding="utf-8")
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def check(self, **limits: Any) -> "list[Finding]":
        """Compare the rounds with what is asked, as ``ffml check`` does.

        Args:
            **limits: ``max_gap``, ``min_ratio``, ``notion``, … of `ffml.audit.gate.check`.
        """
        check_is_fitted(self)
        from ffml.estimator.run import temporary_run

        with temporary_run(self) as run:
            return run.check(**limits)

    # -- predicting: with NumPy alone, every row by itself ---------------------------------------

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
        found = np.stack([1 - probability, probability], axis=1)
        return found if self.positive_ == self.classes_[1] else found[:, ::-1]

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
            from ffml.estimator.loop import loop_of

            self._loop = loop_of(self._config, self.schema_)
        return self._loop

    # -- the parts of a round --------------------------------------------------------------------

    def _configure(self) -> "RunConfig":
        from ffml.estimator.loop import configure

        names = inspect.signature(FairMetaClassifier).parameters
        return configure({name: getattr(self, name) for name in names})

    def _said(self, X: Any, sensitive_features: Any) -> Prediction:
        """Encode features, and decide as every door does. JAX does not start for it."""
        check_is_fitted(self)
        from ffml.online.decide import decide_by

        return decide_by(self.loop_, self._rule, self._encoded(X, sensitive_features))

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
        found = inputs.read_groups(sensitive_features, num_rows)
        for name in found:
            if name in getattr(self, "feature_names_in_", ()):
                warnings.warn(
                    f"{name!r} is a feature and a sensitive feature, so that the model decides by "
                    "it; drop it from X",
                    stacklevel=3,
                )
        return inputs.sensitive_columns(found, groups)

    def _start(
        self,
        config: "RunConfig",
        table: Any,
        outcomes: np.ndarray,
        columns: tuple[SensitiveColumn, ...],
        tasks: np.ndarray | None = None,
        label: Any = None,
    ) -> None:
        """Begin a stream that has no rounds yet."""
        from ffml.estimator.loop import loop_of, new_state
        from ffml.estimator.run import data_document

        preprocessor = Preprocessor.fit(table, tasks)
        names, categories = preprocessor.features, preprocessor.categories
        schema = Schema(names, columns, str(label or "label"), categories=categories)
        schema = schema.with_known_groups() if config.decide_with_groups else schema
        self._loop = loop_of(config, schema)
        self.state_ = new_state(self._loop, preprocessor)
        self.__dict__.pop("_rule", None)  # of an earlier fit: unfitted until this one is done
        self._config, self._outcomes, self.classes_ = config, outcomes, np.sort(outcomes)
        self.preprocessor_, self.schema_ = preprocessor, schema
        self.rounds_: list[Round] = []
        self._played, self._saved = [], {}
        self._origin, self._version = None, 0
        self._data = data_document(schema, outcomes, not hasattr(self, "feature_names_in_"))

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

    def _warn_of_drift(self, table: Any, encoded: np.ndarray) -> None:
        watch = self.state_.watch
        found = watch.compare_inputs(encoded, self._num_missing(table)) if watch else []
        if found:
            lines = ". ".join(drift_words(found))
            message = f"inputs are unlike those that were learned from. {lines}"
            warnings.warn(message, InputDriftWarning, stacklevel=4)

    def _num_missing(self, table: Any, rows: np.ndarray | None = None) -> np.ndarray:
        columns = as_table(table, self.preprocessor_.names)
        columns = columns if rows is None else columns.take(rows)
        return np.array([num_missing(columns[name]) for name in self.preprocessor_.names])

    def _task(self, name: str, table: Any, labels: np.ndarray, sensitive_features: Any) -> Task:
        if sensitive_features is None and self.schema_.sensitive != (inputs.NO_GROUPS,):
            raise FFMLError("sensitive_features are missing; pass one value per row")
        found = inputs.read_groups(sensitive_features, len(labels))
        groups = inputs.group_codes(found, self.schema_.sensitive)
        x = with_memberships(self.schema_, self.preprocessor_.transform(table), groups)
        codes = inputs.label_codes(labels, self._outcomes)
        return Task(name, x, codes, groups, self._num_missing(table))

    def _play(self, task: Task) -> None:
        from ffml.runs.keeping import play_round

        self.state_, played = play_round(self.loop_, self.state_, task, self._version)
        self.rounds_ = [*self.rounds_, played.record]
        self._played = [*self._played, played]

    def _finish(self) -> "FairMetaClassifier":
        """Decide as well as can be done before a new task is known."""
        from ffml.online.decide import find_rule
        from ffml.online.loop import known, pair

        loop, state = self.loop_, self.state_
        names, values = loop.problem.constraint_names, pair(loop, state).multipliers
        self.n_rounds_ = state.round
        self.multipliers_ = dict(zip(names, values.tolist(), strict=True))
        self._rule = find_rule(loop, known(loop, state))
        return self
