"""What a person sees during a run: one line a round, and a progress bar."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from ffml.audit.record import favourable_of
from ffml.base import Stream, Task
from ffml.cli._summary_table import say
from ffml.metrics import NOTIONS
from ffml.metrics.facts import compared_groups, group_facts
from ffml.metrics.phrases import UNDEFINED, asked_words, decided
from ffml.online.state import Round
from ffml.report.numbers import counted

if TYPE_CHECKING:
    from ffml.runs import Run

TASK_WIDTH = 20
OTHER_WIDTH = 52  # of a line's other columns


def bar_on(console: Console, what: str, *times: ProgressColumn) -> Progress:
    """Return a progress bar for a terminal; on a pipe there is none."""
    return Progress(
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn(f"{what} ·"),
        *times,
        TextColumn("· {task.description}", markup=False),
        console=console,
        transient=True,
        disable=console.quiet or not console.is_terminal,
    )


class Live:
    """Prints one line a round above a progress bar; on a pipe, the lines alone."""

    def __init__(
        self, console: Console, run: "Run", stream: Stream, total: int | None, short: bool = False
    ) -> None:
        """Describe what is shown.

        Args:
            console: where to.
            run: what is played.
            stream: the tasks.
            total: how many there are, if that is known.
            short: leave out what the run is and how a round goes.
        """
        self.console, self.run, self.stream = console, run, stream
        self.total, self.short = total, short
        self.counts = {}  # by column, of the rounds so far
        if not short and run.session().state.round:
            self.counts = {name: table.sum(0) for name, table in run.record.tables.items()}
        self.width = max(8, min(TASK_WIDTH, console.width - OTHER_WIDTH))
        self._warned: set[str] = set()  # columns that were warned of in the round before
        left = TimeRemainingColumn(elapsed_when_finished=True)
        self.progress = bar_on(console, "rounds", left, TextColumn("left"))

    def __enter__(self) -> Self:
        if not self.short:
            self._show_recipe()
        self.progress.start()
        self.bar = self.progress.add_task("compiling", total=self.total)
        return self

    def _show_recipe(self) -> None:
        session = self.run.session()
        config, schema, recipe = session.config, session.schema, session.config.recipe
        columns = ", ".join(f"{c.name} ({' / '.join(c.groups)})" for c in schema.sensitive)
        asked, aimed = (", ".join(asked_words(*o) for o in b) for b in (config.asked, config.aimed))
        tasks = counted(self.total, "task") if self.total else "? tasks"
        wrappers = f" with {', '.join(recipe.wrappers)}" if recipe.wrappers else ""
        whom = "adapt to some people of a task, decide about the others"
        if config.label_delay:  # no label is there before the decision
            whom = "decide about the people of a task"
        largest = " (of the widest column)" if len(schema.sensitive) > 1 else ""
        lines = (
            f"{self.stream.name}: {tasks}, {counted(len(schema.features), 'feature')}",
            f"groups: {columns}",
            f"asked for: {asked or 'no fairness'}",
            *([f"aiming for: {aimed}"] if aimed != asked else []),
            f"method: {recipe.method}{wrappers}; model {recipe.part('model')}, seed {config.seed}",
            "",
            f"A round: {whom}, see how good that was, and learn from it.",
            f"gap: points between the groups' rates in this round{largest}; so far: in all rounds.",
            "",
        )
        for line in lines:
            self._line(line)
        favourable = decided(favourable_of(self.run.config))
        self._line(
            f"{'round':>5}  {'task':<{self.width}} {'people':>7}  "
            f"{favourable if len(favourable) < 11 else 'favourable':>10} {'gap':>6} "
            f"{'so far':>6} {'accuracy':>8}",
            style="bold",
        )

    def __exit__(self, *error: object) -> None:
        self.progress.stop()

    def working_on(self, task: Task) -> None:
        """Say which task is being learned."""
        if self.progress.finished or self.progress.tasks[self.bar].completed > 0:
            self.progress.update(self.bar, description=f"{task.name}, {len(task.y):,} rows")

    def show(self, record: Round) -> None:
        """Print a round's line."""
        self._warn(record)
        self.progress.advance(self.bar)
        if self.short:
            return
        self.counts = {n: t + self.counts.get(n, 0) for n, t in record.tables.items()}
        first = next(iter(record.tables.values())).sum((0, 1))  # not favourable, favourable
        people = int(first.sum())
        self._line(
            f"{record.round:>5}  {_cut(record.task, self.width)} {people:>7,}  "
            f"{_percent(first[1] / people if people else math.nan):>10} "
            f"{self._gap(record.tables):>6} {self._gap(self.counts):>6} "
            f"{_percent(record.metrics['accuracy']):>8}"
        )

    def _gap(self, tables: Mapping[str, np.ndarray]) -> str:
        """Write the largest gap between any two groups that the answer would compare."""
        session = self.run.session()
        notions = [name for name in session.config.notions if name in NOTIONS]
        gaps = [
            fact["gap"]
            for column in session.schema.sensitive
            for notion in notions or ["demographic-parity"]
            for groups in [compared_groups(tables[column.name][None], column, notion)]
            for fact in group_facts(groups.tables, column.name, groups.names, notion)
            if not math.isnan(fact["gap"])
        ]
        return f"{100 * max(gaps):.1f}" if gaps else UNDEFINED

    def _warn(self, record: Round) -> None:
        for drift in record.drift:
            if drift.column not in self._warned:
                self._line(f"       warning: {drift.column}: {drift.text}", style="yellow")
        self._warned = {drift.column for drift in record.drift}

    def _line(self, text: str, style: str | None = None) -> None:
        say(self.console, text, style)


def _cut(text: str, width: int) -> str:
    """Fill a column; what is longer ends in three dots."""
    return f"{text if len(text) <= width else text[: width - 1] + '…':<{width}}"


def _percent(share: float) -> str:
    return UNDEFINED if math.isnan(share) else f"{100 * share:.1f} %"
