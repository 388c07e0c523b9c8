"""The model card: what a model is, on what it was learned, and what was measured, in Markdown.

Like the page, it is a function of the run's files alone, and it speaks of gaps, ratios and
intervals: no sentence says that a model is fair.
"""

import numpy as np

from ffml.report import _card_results, _facts, _first, _recipe, _words, answer
from ffml.report._view import RunView
from ffml.report.markdown import bullets, escape, fenced, items, table
from ffml.report.notes import warning_lines
from ffml.report.numbers import UNDEFINED, counted, listed

# Said elsewhere, different each time, or of interest on one machine only.
_LEFT_OUT = ("Command", "Created", "Seconds", "Path", "Input columns")


def model_card(run: RunView) -> str:
    """Return the card."""
    sections = (
        _title(run),
        _model(run),
        _use(run),
        _stream(run),
        _method(run),
        _card_results.evaluation(run),
        _card_results.groups(run),
        _card_results.unmeasured(run),
        _warned(run),
        _limitations(run),
        _reproduction(run),
    )
    return "\n\n".join(part for section in sections for part in section) + "\n"


def _title(run: RunView) -> list[str]:
    name = _first.title(run)
    parts = [
        f"# Model card: {escape(name)}",
        escape(" ".join(answer.sentences(run.summary))),
        escape(_words.behind_paragraph(run)),
    ]
    if run.summary.get("status") != "complete":
        done = counted(len(run.rounds), "round")
        parts.append(f"**The run was interrupted**; this card covers the {done} that were done.")
    return parts


def _model(run: RunView) -> list[str]:
    config = run.config
    facts = [
        ("Kind", f"binary classifier, model {escape(config.get('model'))}"),
        ("Output", f"a probability and a decision for {escape(_words.label_phrase(run))}"),
        ("Inputs", escape(", ".join(run.inputs)) or "the features of the data set"),
        (
            "Protected columns",
            f"{_protected(run)}: used to learn and to judge, {_recipe.use_of_groups(run)}",
        ),
        ("Learned in", counted(len(run.rounds), "round")),
        ("Date", escape(str(config.get("created") or UNDEFINED)[:10])),
        ("Version", f"ffml {escape(config.get('ffml_version'))}"),
    ]
    return ["## Model", items(facts)]


def _use(run: RunView) -> list[str]:
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
    return ["## Intended use", bullets(intended), "## Out of scope", bullets(outside)]


def _stream(run: RunView) -> list[str]:
    sizes = run.rounds.numbers("n_rows")
    played = (
        f"{counted(len(run.rounds), 'task')} of {sizes.min():,.0f} to {sizes.max():,.0f} rows,"
        f" {sizes.sum():,.0f} in all, one after another."
    )
    known = [played] if np.isfinite(sizes).all() else []
    return ["## Training stream", *known, _listed_facts(_facts.data_facts(run))]


def _method(run: RunView) -> list[str]:
    summary = escape(run.config.get("method_summary") or "")
    asked = escape(_words.constraint_phrase(run)) or "none"
    parts = ["## Method and settings", f"{summary} Constraint asked for: {asked}.".strip()]
    if wrappers := _recipe.wrapper_lines(run):
        parts.append(bullets(map(escape, wrappers)))
    parts.append("How the learner was put together, and what preset or command have set:")
    parts.append(_listed_facts(_facts.recipe_facts(run)))
    rows = [(escape(k), escape(v)) for k, v in _facts.setting_facts(run).items()]
    return parts + (["All settings:", table(["setting", "value"], rows)] if rows else [])


def _warned(run: RunView) -> list[str]:
    lines = warning_lines(run)
    return ["## Warnings", bullets(map(escape, lines))] if lines else []


def _limitations(run: RunView) -> list[str]:
    texts = [
        "The figures describe gaps on the rows that were measured. They do not show that the model"
        " is free of discrimination.",
        "Labels are taken as they are: if past decisions were biased, a model that agrees with them"
        " is too.",
        "Pooled figures mix gaps within tasks with gaps between them. Intervals treat rows as"
        " independent of each other, and later populations may differ from all of these.",
        _words.reliability_sentence(run) or "Probabilities have not been calibrated.",
    ]
    if run.constraints:
        within, measured = _words.rounds_within_bounds(run)
        texts.append(
            "The constraints bound gaps over time, not the gap in every round: taken one by one,"
            f" {within} of {counted(measured, 'round')} were within all bounds."
        )
    texts += [escape(limits) for limits in _recipe.wrapper_limits(run)]
    collapsed = int(run.summary.get("collapsed_rounds") or 0)
    if collapsed:
        texts.append(f"In {counted(collapsed, 'round')} everybody received the same decision.")
    return ["## Limitations", bullets(texts)]


def _reproduction(run: RunView) -> list[str]:
    fingerprint = run.config.get("data", {}).get("fingerprint")
    same = f"data whose SHA-256 is {escape(fingerprint)}" if fingerprint else "the same data set"
    return [
        "## How to reproduce",
        f"From {same}, with the versions below and as many devices:",
        fenced(str(run.config.get("command") or ""), "sh"),
        _listed_facts(_facts.run_facts(run)),
    ]


def _listed_facts(facts: dict[str, str]) -> str:
    return items((escape(k), escape(v)) for k, v in facts.items() if k not in _LEFT_OUT)


def _protected(run: RunView) -> str:
    columns = [str(c.get("name")) for c in run.config.get("data", {}).get("sensitive") or []]
    return escape(listed(columns)) if columns else "none"
