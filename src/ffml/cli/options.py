"""``ffml run``: its options, and what they say together."""

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from ffml.base import FFMLError
from ffml.cli import shared
from ffml.cli.shared import OUTPUT, TABLE, option

WHAT, ALGORITHM, OTHERS, MEMORY, ABLATION = (
    "What to learn",
    "Algorithm (default: the preset's value)",
    "Other methods (their settings and defaults: `ffml methods`)",
    "Memory and protocol",
    "Ablations of the paper",
)


def run(
    context: typer.Context,
    data: Annotated[
        str | None,
        typer.Argument(
            help="A data set (see `ffml datasets`), or a table: .csv, .parquet, a folder of them.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        str | None, option(WHAT, "Learner; see `ffml methods`. (default: ffml)")
    ] = None,
    constraint: Annotated[
        list[str] | None,
        option(
            WHAT,
            "Fairness notion (see `ffml constraints`); give it again for several. (default: "
            "demographic-parity; tuned for adult, bank and crime)",
        ),
    ] = None,
    bound: Annotated[
        list[float] | None,
        option(
            WHAT,
            "ε: |gap| <= ε. One for all constraints, or one for each, in their order. (default: "
            "0.02; tuned for the constraints of adult, bank and crime)",
        ),
    ] = None,
    temperature: Annotated[
        float | None, option(WHAT, "τ of the smooth decision σ(h/τ). (default: 1, or tuned)")
    ] = None,
    relative_temperature: Annotated[
        bool | None,
        option(
            WHAT,
            "Whether τ is in standard deviations of the logits. (default: absolute, or tuned)",
            "--relative-temperature/--absolute-temperature",
        ),
    ] = None,
    model: Annotated[str | None, option(WHAT, "linear or mlp.")] = None,
    hidden: Annotated[
        str | None, option(WHAT, "Widths of the mlp's layers. (default: 40,40)")
    ] = None,
    l2: Annotated[float | None, option(WHAT, "μ of the penalty μ/2 ‖θ‖². (default: 0)")] = None,
    positive_weight: Annotated[
        float | None,
        option(WHAT, "What a missed positive costs, in false alarms. (default: 1, or tuned)"),
    ] = None,
    sensitive: shared.Sensitive = None,
    intersect: Annotated[
        bool, option(TABLE, "Protect the intersection of the sensitive columns.", "--intersect")
    ] = False,
    label: shared.Label = None,
    task: shared.TaskColumn = None,
    order: shared.Order = None,
    positive: shared.Positive = None,
    drop: shared.Drop = None,
    drop_missing: Annotated[
        bool, option(TABLE, "Leave out rows without label or group.", "--drop-missing")
    ] = False,
    sql: Annotated[
        str | None,
        option(
            TABLE,
            "Database: sqlite:///FILE or postgresql://… (default: $FFML_SQL_URL)",
        ),
    ] = None,
    query: Annotated[str | None, option(TABLE, "Query whose rows are the table.")] = None,
    rounds: Annotated[int | None, option(WHAT, "Stop after so many tasks. (default: all)")] = None,
    seed: Annotated[
        int | None, option(WHAT, "Draws task order, splits and start. (default: 0)")
    ] = None,
    preset: Annotated[
        str,
        option(
            ALGORITHM,
            "Named settings: default (tuned for adult, bank and crime), or paper (its Table 3).",
        ),
    ] = "default",
    inner_lr: Annotated[float | None, option(ALGORITHM, "η₁, step size of the adaptation.")] = None,
    outer_lr: Annotated[float | None, option(ALGORITHM, "η₂, step size of θ.")] = None,
    dual_lr: Annotated[float | None, option(ALGORITHM, "Step size of λ.")] = None,
    num_inner_steps: Annotated[int | None, option(ALGORITHM, "Adaptation steps.")] = None,
    num_outer_steps: Annotated[int | None, option(ALGORITHM, "Outer iterations a round.")] = None,
    tolerance: Annotated[
        float | None, option(ALGORITHM, "Stop a round early below this relative change.")
    ] = None,
    outer_schedule: Annotated[
        str | None, option(ALGORITHM, "constant, or inverse: η₂/(t+1) as in Theorem 2.")
    ] = None,
    optimizer: Annotated[
        str | None, option(ALGORITHM, "Direction of θ: sgd (the paper's) or adam.")
    ] = None,
    damping: Annotated[float | None, option(ALGORITHM, "δ of the augmented term.")] = None,
    radius: Annotated[float | None, option(ALGORITHM, "R of the ball that θ stays in.")] = None,
    initial_multiplier: Annotated[float | None, option(ALGORITHM, "λ₁.")] = None,
    inner_shrinkage: Annotated[
        float | None, option(ALGORITHM, "Small tasks take steps of η₁ · n/(n + this).")
    ] = None,
    task_weighting: Annotated[
        str | None, option(ALGORITHM, "Tasks count the same (uniform) or by size.")
    ] = None,
    natural_rates: Annotated[
        bool | None,
        option(
            ALGORITHM,
            "Constraints speak of the task's own label rates, or of the balanced draws.",
            "--natural-rates/--drawn-rates",
        ),
    ] = None,
    pooled_constraint: Annotated[
        bool | None,
        option(
            ALGORITHM,
            "Bound the mean gap over tasks, or the mean size of each task's gap.",
            "--pooled-constraint/--task-constraint",
        ),
    ] = None,
    gap_weighting: Annotated[
        str | None,
        option(
            ALGORITHM, "What a task counts in the mean constraint: evidence (by rows) or tasks."
        ),
    ] = None,
    surprise_memory: Annotated[
        float | None,
        option(
            ALGORITHM,
            "Constrain the gaps that new tasks are expected to show; what was seen a round "
            "earlier counts so many times as much. 0: constrain the gaps learned from.",
        ),
    ] = None,
    gap_spread: Annotated[
        float | None,
        option(
            ALGORITHM,
            "b, the variance of tasks' own gaps in variances of a decision: after adaptation "
            "b e/(1 + b e) of a gap seen on e rows is taken out. 0: nothing.",
        ),
    ] = None,
    gap_penalty: Annotated[
        float | None,
        option(
            ALGORITHM,
            "ρ, what the squares of tasks' own gaps cost beyond chance, whichever group a task "
            "favours. 0: nothing.",
        ),
    ] = None,
    predict_gaps: Annotated[
        bool | None,
        option(
            ALGORITHM,
            "Estimate from the features of the people to be decided about which groups they "
            "belong to, and even out what is to be expected of decisions about them.",
            "--predict-gaps/--no-predict-gaps",
        ),
    ] = None,
    parity_goal: Annotated[
        float | None,
        option(
            ALGORITHM,
            "With --predict-gaps: how even is enough. 1: as decisions unrelated to the groups "
            "would be; 0.8: a fifth below; 1.05: a little to spare.",
        ),
    ] = None,
    noise_allowance: Annotated[
        float | None,
        option(ALGORITHM, "Allow for so many times the gap that chance makes in small batches."),
    ] = None,
    first_order: Annotated[
        bool | None, option(ALGORITHM, "Ignore second derivatives.", "--first-order")
    ] = None,
    lr: Annotated[float | None, option(OTHERS, "η, step size.")] = None,
    num_steps: Annotated[int | None, option(OTHERS, "Gradient steps on each task.")] = None,
    penalty: Annotated[float | None, option(OTHERS, "β of twp: what a violation costs.")] = None,
    gradient_bound: Annotated[
        float | None, option(OTHERS, "G, bounding the slopes of loss and constraints.")
    ] = None,
    exponent: Annotated[
        float | None, option(OTHERS, "β of adp-olc: steps shrink with 1/t^β.")
    ] = None,
    strong_convexity: Annotated[
        float | None, option(OTHERS, "H₁ of gen-olc: steps are H₁/(t+1).")
    ] = None,
    difference_bound: Annotated[float | None, option(OTHERS, "ε of the fairlearn methods.")] = None,
    max_iter: Annotated[
        int | None, option(OTHERS, "Most iterations of a fit by fairlearn.")
    ] = None,
    inverse_l2: Annotated[float | None, option(OTHERS, "C of the refitted models.")] = None,
    derandomize: Annotated[
        str | None, option(OTHERS, "How fairlearn's mixture decides: hash or majority.")
    ] = None,
    shots: Annotated[int | None, option(MEMORY, "Rows drawn of each class. (default: 100)")] = None,
    validation_fraction: Annotated[
        float | None, option(MEMORY, "Part of a task that judges the decision. (default: 0.5)")
    ] = None,
    tasks_per_round: Annotated[
        int | None, option(MEMORY, "|U|: tasks that a round learns from. (default: 32)")
    ] = None,
    rows_per_task: Annotated[
        int | None, option(MEMORY, "Rows kept of a task. (default: 1024)")
    ] = None,
    memory_policy: Annotated[
        str | None, option(MEMORY, "Tasks kept: all, recent or reservoir. (default: all)")
    ] = None,
    memory_capacity: Annotated[
        int | None, option(MEMORY, "Most tasks kept by recent and reservoir. (default: 256)")
    ] = None,
    augment_to: Annotated[
        int | None,
        option(MEMORY, "The paper's protocol: rotated rows until a task has so many. (default: 0)"),
    ] = None,
    judge_from: Annotated[
        float | None,
        option(MEMORY, "Share of the stream that is learned from but not judged. (default: 0)"),
    ] = None,
    judge_min_rows: Annotated[
        int | None,
        option(MEMORY, "Judge rounds with at least so many validation rows. (default: 0)"),
    ] = None,
    inner_constraints: Annotated[
        bool | None, option(ABLATION, "Without inner constraints.", " /--no-inner-constraints")
    ] = None,
    outer_constraints: Annotated[
        bool | None, option(ABLATION, "Without outer constraints.", " /--no-outer-constraints")
    ] = None,
    augmented_term: Annotated[
        bool | None, option(ABLATION, "Without the augmented term.", " /--no-augmented-term")
    ] = None,
    out: Annotated[
        Path | None, option(OUTPUT, "Folder for the run's files. (default: runs/DATA-METHOD-SEED)")
    ] = None,
    overwrite: Annotated[
        bool, option(OUTPUT, "Replace a run in that folder.", "--overwrite")
    ] = False,
    config: Annotated[
        Path | None,
        option(OUTPUT, "Settings from a JSON file, or from a run's config.json.", metavar="FILE"),
    ] = None,
    resume: Annotated[
        Path | None,
        option(OUTPUT, "Go on with the run in this folder, with its settings.", metavar="DIR"),
    ] = None,
    data_home: shared.DataHome = None,
    quiet: Annotated[bool, option(OUTPUT, "No progress, no summary.", "--quiet", "-q")] = False,
    json_output: Annotated[bool, option(OUTPUT, "Print the summary as JSON.", "--json")] = False,
) -> None:
    """Learn a stream of tasks, one after another, and write a report.

    [bold]Example:[/bold] ffml run adult --constraint demographic-parity --bound 0.02
    """
    sql = sql or (os.environ.get("FFML_SQL_URL") if query else None)
    given = {name: value for name, value in locals().items() if value is not None}
    from ffml.cli.data import resolve, table_options
    from ffml.cli.run import resume_stream, run_stream
    from ffml.configfile import read_config
    from ffml.sources import TABLE_OPTIONS

    if resume is not None:
        _refuse_settings(context)
        resume_stream(
            resume,
            data=data,
            data_home=data_home,
            sql_url=sql,
            quiet=quiet,
            as_json=json_output,
        )
        return
    options = table_options(
        **{name: given.pop(name, None) for name in (*TABLE_OPTIONS, "sensitive", "intersect")}
    )
    settings = read_config(config) if config else {}
    options = settings.pop("data_options", {}) | options
    source, options = resolve(data or settings.pop("data", None), options, sql)
    settings.pop("data", None)
    about = "context data sql config preset out overwrite data_home quiet json_output"
    for name in about.split():
        given.pop(name, None)
    for singular, plural in (("constraint", "constraints"), ("bound", "bounds")):
        if singular in given:
            given[plural] = tuple(given.pop(singular))
    if hidden:
        given["hidden"] = _widths(hidden)
    run_stream(
        source,
        settings | given | ({"data_options": options} if options else {}),
        preset=preset,
        out=out,
        overwrite=overwrite,
        data_home=data_home,
        sql_url=sql,
        quiet=quiet,
        as_json=json_output,
        command=_command(sql),
    )


def _command(sql_url: str | None) -> str:
    """Return the command as typed, but for what a database's address keeps secret."""
    from ffml.tables import public_url

    words = ["ffml", *sys.argv[1:]]
    if sql_url:
        words = [word.replace(sql_url, public_url(sql_url)) for word in words]
    return shlex.join(words)


def _refuse_settings(context: typer.Context) -> None:
    """A resumed run has its settings already."""
    allowed = {"data", "resume", "data_home", "sql", "quiet", "json_output"}
    for name in (name for name in context.params if name not in allowed):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option_name = "--" + name.replace("_", "-")
            raise FFMLError(
                f"--resume goes on with the run's own settings; leave out {option_name}"
            )


def _widths(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(width) for width in text.split(","))
    except ValueError:
        raise FFMLError(f"--hidden takes widths such as 40,40, got '{text}'") from None
