"""What a person sees during a run: one line a round, a progress bar, and a summary table."""

import math
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from ffml.base import Task
from ffml.experiment import Experiment
from ffml.online import Round

HEADER = (
    f"{'round':>5}  {'task':<20} {'judged':>6}  {'DP':>5} {'/ceil':>5}  {'EO':>5} {'/ceil':>5}  "
    f"{'bal.ac':>6} "
)


class Live:
    """Prints one line a round above a progress bar; on a pipe, the lines alone."""

    def __init__(self, console: Console, experiment: Experiment, total: int | None) -> None:
        self.console = console
        self.experiment = experiment
        self.total = total
        self.progress = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("rounds · {task.description} ·"),
            TimeRemainingColumn(elapsed_when_finished=True),
            TextColumn("left"),
            console=console,
            transient=True,
            disable=console.quiet or not console.is_terminal,
        )

    def __enter__(self) -> Self:
        config, stream = self.experiment.config, self.experiment.stream
        columns = ", ".join(f"{c.name} ({' / '.join(c.groups)})" for c in stream.schema.sensitive)
        bounds = config.bounds * (len(config.constraints) // len(config.bounds))
        asked = zip(config.constraints, bounds, strict=True)
        notions = ", ".join(f"{notion} ≤ {bound:g}" for notion, bound in asked)
        self.console.print(
            f"[bold]{config.method}[/bold] on [bold]{stream.name}[/bold]: {self.total or '?'} "
            f"tasks, {len(stream.schema.features)} features, protected: {columns}\n"
            f"model {config.model}, seed {config.seed}\nconstraint {notions}\n"
            "A round: adapt to the task's support rows, be judged on its other rows, then learn "
            "from it.\n",
            highlight=False,
        )
        price = "max λ" if self.experiment.problem.num_constraints > 1 else "λ"
        self._line(f"{HEADER}{price:>6} {'s':>5}", style="bold")
        self.progress.start()
        self.bar = self.progress.add_task("compiling", total=self.total)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.progress.stop()

    def working_on(self, task: Task) -> None:
        """Say which task is being learned."""
        if self.progress.finished or self.experiment.loop.round > 0:
            self.progress.update(self.bar, description=f"{task.name}, {len(task.y):,} rows")

    def show(self, record: Round) -> None:
        """Print a round's line."""
        values = record.metrics
        self._line(
            f"{record.round:>5}  {record.task[:20]:<20} {record.n_validation:>6}  "
            f"{_number(values['dp'])} {_number(values['dp_of_ceiling'])}  "
            f"{_number(values['eo'])} {_number(values['eo_of_ceiling'])}  "
            f"{_number(values['balanced_accuracy'], 6)} {record.multipliers.max():>6.2f} "
            f"{record.seconds:>5.1f}"
        )
        self.progress.advance(self.bar)

    def _line(self, text: str, style: str | None = None) -> None:
        self.console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def show_summary(console: Console, summary: dict[str, Any]) -> None:
    """Print the means over all rounds and over the last third."""
    table = Table(
        title="\nMean over the rounds in which a metric is defined",
        title_justify="left",
        header_style="bold",
    )
    table.add_column("metric")
    for part in ("all rounds", "last third"):
        table.add_column(part, justify="right")
        table.add_column("rounds", justify="right")
    rows = {
        "DP ratio": "dp",
        "DP / noise ceiling": "dp_of_ceiling",
        "EO ratio": "eo",
        "EO / noise ceiling": "eo_of_ceiling",
        "gap in positive rates": "disc",
        "balanced accuracy": "balanced_accuracy",
        "accuracy": "accuracy",
        "loss": "loss",
    }
    for label, name in rows.items():
        cells = []
        for part in ("all", "last_third"):
            entry = summary[part][name]
            rounds = entry["defined"] + entry["undefined"]
            cells += [_mean(entry), f"{entry['defined']}/{rounds}"]
        table.add_row(label, *cells)
    console.print(table)
    if count := summary["collapsed_rounds"]:
        console.print(
            f"In {count} round{'s' if count > 1 else ''} everyone got the same decision: "
            "DP and EO are undefined there and left out.",
            highlight=False,
        )


def _mean(entry: dict[str, Any]) -> str:
    if entry["mean"] is None:
        return "–"
    spread = "" if entry["std"] is None else f" ± {entry['std']:.3f}"
    return f"{entry['mean']:.3f}{spread}"


def _number(value: float, width: int = 5) -> str:
    return f"{'–' if math.isnan(value) else f'{value:.3f}':>{width}}"
