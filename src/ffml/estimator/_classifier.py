"""The classifier: its parameters, and how it learns."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ffml.base import FFMLError, Task
from ffml.estimator import _inputs as inputs
from ffml.estimator._decider import Decider
from ffml.forks import refuse_after_fork
from ffml.methods import DEFAULT_METHOD

if TYPE_CHECKING:
    from ffml.audit.gate import Finding


class FairMetaClassifier(Decider):
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
        aim: what to learn for, a little stricter than what is to be kept: 0.03 for a ``max_gap`` of
            0.05. None aims at the bound itself, which chance then breaks about every other time.
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

    >>> import numpy as np
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
    0.8
    """

    def __init__(
        self,
        method: str = DEFAULT_METHOD,
        *,
        wrappers: Sequence[str] | None = None,
        model: str = "linear",
        notion: str | Sequence[str] = "demographic-parity",
        max_gap: float | Sequence[float] | None = 0.05,
        min_ratio: float | Sequence[float] | None = None,
        aim: float | Sequence[float] | None = None,
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
        self.aim = aim
        self.positive = positive
        self.shots = shots
        self.validation_fraction = validation_fraction
        self.settings = settings
        self.random_state = random_state
        self.decide_with_groups = decide_with_groups
        self.approve = approve
        self.cost = cost
        self.threshold = threshold

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None, tasks: Any = None) -> Self:
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
        from ffml.estimator._config import configure

        config = configure(self.get_params(deep=False))
        table = self._table(X, reset=True)
        labels = inputs.read_labels(y, len(table))
        classes = inputs.two_classes(labels)
        parts = {} if tasks is None else inputs.task_rows(tasks, len(table))
        if len(parts) < 2:
            parts = inputs.random_parts(labels == classes[1], config.seed)
        places = np.zeros(len(table), int)  # of each row's task in the stream
        for place, rows in enumerate(parts.values()):
            places[rows] = place
        self._start(config, table, y, classes, sensitive_features, tasks=places)
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
    ) -> Self:
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
        from ffml.estimator._config import configure

        first = not self.__sklearn_is_fitted__()
        if not first and self._newest > self._version:
            raise FFMLError(
                f"version {self._version} of the run decides and {self._newest} is the newest, from"
                " which its stream goes on; promote it first (ffml promote)"
            )
        config = configure(self.get_params(deep=False)) if first else self._config
        table = self._table(X, reset=first)
        labels = inputs.read_labels(y, len(table))
        if first:
            known = inputs.two_classes(labels if classes is None else classes)
            inputs.label_codes(labels, known)
            self._start(config, table, y, known, sensitive_features, groups)
        else:
            inputs.refuse_new(classes, groups, self.classes_, self.schema_.sensitive)
        name = f"task {self.state_.round + 1}" if task is None else str(task)
        if name in {record.task for record in self.rounds_}:
            raise FFMLError(f"task {name!r} was played before; give the new rows another task")
        self._play(self._task(name, table, labels, sensitive_features))
        return self._finish()

    @classmethod
    def from_run(cls, path: str | Path) -> Self:
        """Return the classifier that a run on a table has come to: the version that decides.

        `partial_fit` goes on with its stream as ``ffml update`` would, and `save` into the same
        folder continues the run. Features, groups and labels are those of the run's table.

        Args:
            path: folder of a run of the command line, or of `save`.
        """
        refuse_after_fork()
        from ffml.estimator._runs import load_run

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
        from ffml.estimator._runs import save_run

        return save_run(self, path)

    def report(self, path: str | Path | None = None) -> str:
        """Return the report, one page of HTML, and write it to a file if one is given."""
        from ffml.estimator._runs import temporary_run

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
        from ffml.estimator._runs import temporary_run

        with temporary_run(self) as run:
            return run.check(**limits)
