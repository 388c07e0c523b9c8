"""The files that a comparison leaves: every round, the summary, and the tables to show."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ffml.recipe.plain import to_json
from ffml.report.markdown import code, escape
from ffml.studies.compare._by_task import summarise_tasks, task_means
from ffml.studies.compare._figure import draw_comparison
from ffml.studies.compare._summary import ENOUGH_ROWS, MIN_VALIDATION, paired_differences
from ffml.studies.compare._tables import (
    DIFFERENCES,
    equal_fairness_tables,
    markdown_tables,
    task_tables,
)
from ffml.studies.compare._tradeoff import at_equal_fairness
from ffml.studies.files import write_files
from ffml.tables.csvfile import frame_text

RESULTS, SUMMARY, PAGE = "results.csv", "summary.csv", "summary.md"
PAIRED, EQUAL, TASKS = "differences.csv", "equal_fairness.csv", "tasks.csv"
DOCUMENT, FIGURE = "summary.json", "comparison"


def how_measured(seeds: Mapping[str, int]) -> str:
    """Say in words what the numbers of the tables are, from the number of seeds by data."""
    fewer = ", ".join(f"{rows} for {data}" for data, rows in MIN_VALIDATION.items())
    return (
        "Over the last third of a stream, rounds judged on at least "
        f"{ENOUGH_ROWS} rows ({fewer}), then means over {_how_many(seeds)}; ± is half of the 95 % "
        "t-interval over seeds, and brackets hold one that is not symmetric. The typical gap says "
        "how many points apart the rates of positive decisions were within a round, with chance "
        "taken out. The long-run gap is the mean of the signed gaps (the named group minus the "
        "others): opposite ones cancel in it, those of two seeds too. DP and EO are ratios. Over "
        "the ceiling, their mean is divided by the mean of what decisions unrelated to the groups "
        "would show on the same rows: about 1 says that no gap shows on so few rows, not that "
        "there is none. They were defined in as many of all seeds' judged rounds as stand there. "
        "In a collapsed round everyone got the same decision: DP and EO are undefined, and the gap "
        "is 0. Seconds are those of one seed's run, on one core."
    )


def _how_many(seeds: Mapping[str, int]) -> str:
    """Say how many seeds there are.

    >>> _how_many({"adult": 5, "bank": 5, "crime": 10})
    '5 seeds (10 for crime)'
    """
    usual = min(seeds.values())
    others = [f"{number} for {data}" for data, number in seeds.items() if number != usual]
    return f"{usual} seed{'s' if usual > 1 else ''}" + (f" ({', '.join(others)})" if others else "")


def write_results(
    folder: Path, frame: pd.DataFrame, summary: pd.DataFrame, facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Write all files from the rounds and their summary; return what summary.json says."""
    equal = at_equal_fairness(frame)
    by_task = task_means(frame)
    tasks = summarise_tasks(by_task)
    most = summary.groupby("data", sort=False)["seeds"].max()
    document = {
        **facts,
        "measured": how_measured({str(data): int(seeds) for data, seeds in most.items()}),
        "summary": summary.to_dict("records"),
        "equal_fairness": equal.to_dict("records"),
        "tasks": tasks.to_dict("records"),
    }
    reference = frame["label"].iloc[0]
    differences = paired_differences(frame, reference)
    files: dict[str, str | bytes] = {
        RESULTS: frame_text(frame),
        SUMMARY: frame_text(summary),
        PAIRED: frame_text(differences),
        EQUAL: frame_text(equal),
        TASKS: frame_text(by_task),
        DOCUMENT: to_json(document),
        PAGE: _page(summary, differences, reference, equal, tasks, document),
    }
    method_of = dict(zip(frame["label"], frame["method"], strict=True))
    pictures = draw_comparison(summary, method_of)
    write_files(folder, files | {f"{FIGURE}.{kind}": data for kind, data in pictures.items()})
    return document


def _page(
    summary: pd.DataFrame,
    differences: pd.DataFrame,
    reference: str,
    equal: pd.DataFrame,
    tasks: pd.DataFrame,
    document: Mapping[str, Any],
) -> str:
    """Return the tables with what is needed to repeat them."""
    made = (
        f"{code(document['command'])}: {document['cell_seconds'] / 60:.0f} minutes of computing on "
        f"{document['cores']} cores, {document['date']}, ffml {document['versions']['ffml']}, "
        f"JAX {document['versions']['jax']}."
    )
    parts = [markdown_tables(summary).rstrip(), escape(document["measured"])]
    if len(differences):
        parts += [
            f"Minus {escape(reference)}, seed by seed (methods share tasks, order and splits, so "
            "that much of the noise cancels):",
            markdown_tables(differences, DIFFERENCES, signed=True).rstrip(),
        ]
    if len(equal):
        parts += [
            "Balanced accuracy beside that of other methods where their typical gap is the same: "
            "on the lines between their best variants, which flatters them a little. < marks a "
            "method that is less even than the variant with all settings (its most even one is "
            "shown), > one that is more even with all (its most accurate one is shown); in "
            "brackets the 95 % t-interval of the difference over seeds:",
            equal_fairness_tables(equal),
        ]
    if len(tasks):
        parts += [
            "Task by task: each task counts once, with the gaps over its judged rounds of the last "
            "third in all seeds; in brackets the 95 % t-interval of the mean over tasks. The "
            "least even task has the largest typical gap, of as many rounds as stand there. Tasks "
            "with too few rows are missing:",
            task_tables(tasks),
        ]
    return "\n\n".join([*parts, made]) + "\n"
