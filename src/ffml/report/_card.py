"""The model card: what a model is, on what it was learned, and what was measured, in Markdown.

Like the page, it is a function of the run's files alone, and it speaks of gaps, ratios and
intervals: no sentence says that a model is fair.
"""

import math

import numpy as np

from ffml.report import _facts, _tables, _words
from ffml.report._files import Run
from ffml.report._markdown import escape, fenced, items, table
from ffml.report._numbers import UNDEFINED, counted, interval, listed, percent, rate

_METRICS = {
    "dp": "Demographic parity (DP) ratio",
    "eo": "Equalized odds (EO) ratio",
    "disc": "Gap in selection rates",
    "balanced_accuracy": "Balanced accuracy",
    "accuracy": "Accuracy",
}
_NOT_TO_REPEAT = ("Command", "Created", "Seconds")  # said elsewhere, or different each time


def model_card(run: Run) -> str:
    """Return the card."""
    sections = (
        _title(run),
        _model(run),
        _use(run),
        _stream(run),
        _method(run),
        _evaluation(run),
        _groups(run),
        _unmeasured(run),
        _limitations(run),
        _reproduction(run),
    )
    return "\n\n".join(part for section in sections for part in section) + "\n"


def _title(run: Run) -> list[str]:
    name = f"{run.config.get('method')} on {_words.data_name(run)}"
    parts = [f"# Model card: {escape(name)}", escape(_words.summary_paragraph(run))]
    if run.summary.get("status") != "complete":
        done = counted(len(run.rounds), "round")
        parts.append(f"**The run was interrupted**; this card covers the {done} that were done.")
    return parts


def _model(run: Run) -> list[str]:
    config = run.config
    facts = [
        ("Kind", f"binary classifier, model {escape(config.get('model'))}"),
        ("Output", f"a probability and a decision for {escape(_words.label_phrase(run))}"),
        ("Inputs", escape(", ".join(run.inputs)) or "the features of the data set"),
        (
            "Protected columns",
            f"{_protected(run)}: used to learn and to judge, not as an input of a prediction",
        ),
        ("Learned in", counted(len(run.rounds), "round")),
        ("Date", escape(str(config.get("created") or UNDEFINED)[:10])),
        ("Version", f"ffml {escape(config.get('ffml_version'))}"),
    ]
    return ["## Model", items(facts)]


def _use(run: Run) -> list[str]:
    label, columns = escape(_words.label_phrase(run)), _protected(run)
    intended = [
        f"Decisions about {label} for people of populations like those of the training stream.",
        "It is meant to be adapted to a new population from a few labelled rows before it decides"
        " (`ffml predict --support`); this is how it was judged. Without, it decides by the"
        " parameters that adaptation starts from.",
    ]
    outside = [
        "Populations of which no labelled row is at hand and that differ from those below.",
        f"Statements about groups other than those of {columns}, such as their intersections"
        " unless listed below.",
        "Use as the only ground of a decision with legal or similar effects on a person.",
        "Use as evidence that a law is complied with: which gap matters, and how large it may be,"
        " is for people to judge.",
    ]
    return ["## Intended use", _bullets(intended), "## Out of scope", _bullets(outside)]


def _stream(run: Run) -> list[str]:
    sizes = run.rounds.numbers("n_rows")
    played = (
        f"{counted(len(run.rounds), 'task')} of {sizes.min():,.0f} to {sizes.max():,.0f} rows,"
        f" {sizes.sum():,.0f} in all, one after another."
    )
    return ["## Training stream", played if np.isfinite(sizes).all() else "", _facts_list(run)]


def _facts_list(run: Run) -> str:
    return items((escape(k), escape(v)) for k, v in _facts.data_facts(run).items())


def _method(run: Run) -> list[str]:
    summary = escape(run.config.get("method_summary") or "")
    asked = escape(_words.constraint_phrase(run)) or "none"
    rows = [(escape(k), escape(v)) for k, v in _facts.setting_facts(run).items()]
    parts = ["## Method and settings", f"{summary} Constraint asked for: {asked}.".strip()]
    return parts + ([table(["setting", "value"], rows)] if rows else [])


def _evaluation(run: Run) -> list[str]:
    header = ["metric", "all rounds", "95 % interval", "noise ceiling", "of ceiling"]
    header += ["last third", "95 % interval", "noise ceiling", "of ceiling"]
    parts = ("pooled", "pooled_last_third")
    rows = [
        [name, *(cell for part in parts for cell in _metric_cells(run, part, metric))]
        for metric, name in _METRICS.items()
    ]
    return [
        "## Evaluation",
        "In every round the model decided about rows of a new task that it had not learned from,"
        " after adapting to other rows of that task. Below, these rows are pooled over all rounds,"
        " and over the last third of them. The noise ceiling is what decisions unrelated to the"
        " groups would show on as many rows; intervals are bootstrapped.",
        table(header, rows),
        *_constraints(run),
    ]


def _metric_cells(run: Run, part: str, metric: str) -> list[str]:
    value, low, high, ceiling, share = (
        run.statistic(part, f"{metric}{end}")
        for end in ("", "_low", "_high", "_ceiling", "_of_ceiling")
    )
    return [rate(value), interval(low, high) or UNDEFINED, rate(ceiling), percent(share)]


def _constraints(run: Run) -> list[str]:
    rows = [
        [escape(row["name"]), row["within"], row["largest"], row["multiplier"]]
        for row in _tables.constraint_totals(run)
    ]
    header = ["constraint", "rounds with gap ≤ ε", "largest gap − ε", "last λ"]
    return [table(header, rows)] if rows else []


def _groups(run: Run) -> list[str]:
    keys = ("selection_rate", "true_positive_rate", "false_positive_rate", "accuracy", "n")
    keys += ("n_label_1", "n_selected")
    header = ["selection rate", "true positive rate", "false positive rate", "accuracy", "rows"]
    header += ["label 1", "selected"]
    parts = ["## By group, all rounds pooled"]
    for group_table in _tables.group_tables(run):
        rows = [[escape(row["group"]), *(row[key] for key in keys)] for row in group_table["rows"]]
        parts.append(table([escape(group_table["column"]), *header], rows))
    return parts


def _unmeasured(run: Run) -> list[str]:
    rounds, found = len(run.rounds), []
    for metric in ("dp", "eo"):
        missing = int(np.isnan(run.rounds.numbers(metric)).sum())
        if missing:
            reasons = _words.undefined_reasons(run, metric).most_common()
            why = "; ".join(f"{escape(reason)}: {counted(n, 'round')}" for reason, n in reasons)
            found.append(f"{metric.upper()} in {missing} of {rounds} rounds ({why or 'no reason'}).")
    small = int((run.rounds.numbers("n_validation") < _tables.MIN_VALIDATION_ROWS).sum())
    if small:
        few = f"fewer than {_tables.MIN_VALIDATION_ROWS} rows"
        found.append(f"{small} of {rounds} rounds were judged on {few}: one by one they say little.")
    for part, name in (("pooled", "all rounds"), ("pooled_last_third", "the last third")):
        unknown = [m.upper() for m in ("dp", "eo") if math.isnan(run.statistic(part, m))]
        if unknown:
            found.append(f"{listed(unknown)} of {name} pooled.")
    nothing = "Both ratios could be measured in every round, on at least 30 rows each."
    return ["## What could not be measured", _bullets(found) if found else nothing]


def _limitations(run: Run) -> list[str]:
    within, measured = _words.rounds_within_bounds(run)
    texts = [
        "The figures describe gaps on the rows that were measured. They do not show that the model"
        " is free of discrimination.",
        "Labels are taken as they are: if past decisions were biased, agreeing with them is too.",
        "Pooled figures mix gaps within tasks with gaps between them. Intervals treat rows as"
        " independent of each other, and later populations may differ from all of these.",
        "Probabilities have not been calibrated.",
    ]
    if run.constraints:
        texts.insert(
            1,
            "The constraints bound a smooth gap over time, not the gap between decisions in every"
            f" round: they were within their bounds in {within} of {counted(measured, 'round')}.",
        )
    collapsed = int(run.summary.get("collapsed_rounds") or 0)
    if collapsed:
        texts.append(f"In {counted(collapsed, 'round')} everybody received the same decision.")
    return ["## Limitations", _bullets(texts)]


def _reproduction(run: Run) -> list[str]:
    facts = _facts.run_facts(run)
    kept = {name: value for name, value in facts.items() if name not in _NOT_TO_REPEAT}
    fingerprint = run.config.get("data", {}).get("fingerprint")
    same = f"data with the SHA-256 {fingerprint}" if fingerprint else "the same data set"
    return [
        "## How to reproduce",
        f"With {same} and the versions below, on as many devices:",
        fenced(str(run.config.get("command") or ""), "sh"),
        items((escape(name), escape(value)) for name, value in kept.items()),
    ]


def _protected(run: Run) -> str:
    columns = [str(c.get("name")) for c in run.config.get("data", {}).get("sensitive") or []]
    return escape(listed(columns)) if columns else "none"


def _bullets(texts: list[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)
