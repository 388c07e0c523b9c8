"""What a person sees during a run: one line a round, and a progress bar."""

import math
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from ffml.base import Stream, Task
from ffml.metrics.phrases import asked_words
from ffml.online.state import Round
from ffml.report.numbers import counted

if TYPE_CHECKING:
    from ffml.runs.keeping import Session

HEADER = (
    f"{'round':>5}  {'task':<20} {'judged':>6}  {'DP':>5} {'(ceil)':>7}  {'EO':>5} {'(ceil)':>7}  "
    f"{'bal.ac':>6} "
)


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
        self,
        console: Console,
        session: "Session",
        stream: Stream,
        total: int | None,
        short: bool = False,
    ) -> None:
        """Describe what is shown.

        Args:
            console: where to.
            session: how the run is played.
            stream: the tasks.
            total: how many there are, if that is known.
            short: leave out what the run is and how a round goes.
        """
        self.console, self.session, self.stream = console, session, stream
        self.total, self.short = total, short
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
        config, schema = self.session.config, self.session.schema
        columns = ", ".join(f"{c.name} ({' / '.join(c.groups)})" for c in schema.sensitive)
        asked = ", ".join(asked_words(notion, bound) for notion, bound in config.asked)
        tasks = counted(self.total, "task") if self.total else "? tasks"
        recipe = config.recipe
        wrappers = f" with {', '.join(recipe.wrappers)}" if recipe.wrappers else ""
        self.console.print(
            f"[bold]{recipe.method}[/bold]{wrappers} on [bold]{self.stream.name}[/bold]: "
            f"{tasks}, {counted(len(schema.features), 'feature')}, protected: {columns}\n"
            f"model {recipe.part('model')}, seed {config.seed}\n"
            f"asked for: {asked or 'no fairness'}\n"
            "A round: adapt to the task's support rows, be judged on its other rows, then learn "
            "from it.\n",
            highlight=False,
        )
        price = "max λ" if self.session.loop.problem.num_constraints > 1 else "λ"
        self._line(f"{HEADER}{price:>6} {'s':>5}", style="bold")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        values = record.metrics
        self._line(
            f"{record.round:>5}  {record.task[:20]:<20} {record.n_validation:>6}  "
            f"{_number(values['dp'])} {_ceiling(values['dp_ceiling'])}  "
            f"{_number(values['eo'])} {_ceiling(values['eo_ceiling'])}  "
            f"{_number(values['balanced_accuracy'], 6)} {record.multipliers.max(initial=0):>6.2f} "
            f"{record.seconds:>5.1f}"
        )

    def _warn(self, record: Round) -> None:
        for found in record.drift:
            if found.column not in self._warned:
                self._line(f"       warning: {found.column}: {found.text}", style="yellow")
        self._warned = {found.column for found in record.drift}

    def _line(self, text: str, style: str | None = None) -> None:
        self.console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def _ceiling(value: float) -> str:
    return f"{'–' if math.isnan(value) else f'({value:.3f})':>7}"


def _number(value: float, width: int = 5) -> str:
    return f"{'–' if math.isnan(value) else f'{value:.3f}':>{width}}"
