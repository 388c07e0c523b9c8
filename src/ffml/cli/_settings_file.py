"""The file that ``ffml start`` writes: the settings of a run, with comments."""

import json
from collections.abc import Sequence
from typing import NamedTuple

AIM = 0.4  # of what may be: who aims for 2 points mostly keeps 5 (docs/choosing.md)


class Answers(NamedTuple):
    """What a run needs to know about a table."""

    label: str
    positive: str
    sensitive: tuple[str, ...]
    task: str | None  # None: a folder's files, or periods of time
    time: str | None
    by: str | None
    max_gap: float
    date_format: str | None = None
    label_delay: int = 0  # tasks until the outcome is known
    selective: bool = False  # of those decided favourably alone
    id: str | None = None  # what names a person
    policy: str = "labels"  # who is decided favourably


def settings_text(table: str, answers: Answers, columns: Sequence[str]) -> str:
    """Write the settings with what they mean."""
    tasks = {
        "task": (answers.task, "which population a row is of: one task each"),
        "time": (answers.time, "when a row came: tasks are periods, played in time order"),
        "by": (answers.by, "how long a period is: day, week, month, quarter or year"),
        "date_format": (answers.date_format, "how dates are written"),
        "id": (answers.id, "names a person, so that `ffml label` finds them later"),
    }
    taken = {answers.label, *answers.sensitive, answers.task, answers.time, answers.id}
    features = ", ".join(column for column in columns if column not in taken)
    lines = [
        "# Settings of a run, written by `ffml start`. Learn with: ffml run --config THIS_FILE",
        "# Every setting of `ffml methods NAME` can be added above [data_options].",
        "",
        f"data = {_toml(table)}",
        'notions = ["demographic-parity"]  # what must not differ; see `ffml notions`',
        f"max_gap = [{answers.max_gap:g}]  # by how much it may differ: 0.05 is 5 points",
        f"aim = [{AIM * answers.max_gap:g}]  # what to learn for, so that chance does not break it",
        "# min_ratio = [0.8]  # in place of max_gap: the lower rate is at least 80 % of the higher",
        *_policy(answers.policy),
        *_outcomes(answers),
        "",
        "[data_options]",
        f"label = {_toml(answers.label)}  # the column to predict",
    ]
    lines.append(f"positive = {_toml(answers.positive)}  # its favourable value")
    groups = ", ".join(map(_toml, answers.sensitive))
    lines.append(f"sensitive = [{groups}]  # whose groups are compared; never an input")
    lines += [f"{k} = {_toml(value)}  # {why}" for k, (value, why) in tasks.items() if value]
    lines += [
        "drop = []  # columns to leave out, such as ids, and what is known only after the decision",
        f"# Inputs are all other columns: {_one_line(features)}",
    ]
    return "\n".join(lines) + "\n"


def _policy(policy: str) -> list[str]:
    """Say who is decided favourably; the default is shown, and not set."""
    return [
        f"{'# ' * (policy == 'labels')}policy = {_toml(policy)}  # who is decided favourably: as",
        "# many as labels are expected to be so (labels), a share (approve=0.8), by what a wrong",
        "# refusal costs in wrong approvals (cost=5), accuracy, balanced, or a probability",
    ]


def _outcomes(answers: Answers) -> list[str]:
    """Say when outcomes are known, of whom, and what follows from that."""
    if not answers.label_delay:
        return ["label_delay = 0  # some outcomes of a task are known before it is decided about"]
    lines = [f"label_delay = {answers.label_delay}  # tasks until outcomes are known, and used"]
    if answers.selective:
        lines += [
            "# Outcomes are known of those decided favourably alone: accuracy, equal opportunity",
            "# and equalized odds cannot be measured, and it is learned from these people alone.",
        ]
    return lines


def _toml(text: str) -> str:
    """Write a text as a string of TOML, which is one of JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _one_line(text: str) -> str:
    """Keep a comment in its line, and free of what TOML has no place for."""
    return "".join(c if c.isprintable() else " " for c in text)
