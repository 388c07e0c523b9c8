"""Put the page together: the answer, pictures and tables into the template."""

from importlib import resources
from typing import Any

import numpy as np

from ffml.audit.record import planned_rounds
from ffml.base import SensitiveColumn
from ffml.metrics import words
from ffml.metrics.alarm import Asked, alarm_sentence
from ffml.metrics.phrases import UNDEFINED, decided, limit_words, rate
from ffml.recipe.asked import asked_in
from ffml.report import _facts, _first, _learner_pictures, _research, answer, numbers, pictures
from ffml.report._groups import extremes, group_tables
from ffml.report._view import RunView
from ffml.report.charts import SCRIPT, STYLE
from ffml.report.notes import warning_lines

OURS = ("rates", "changed", "inside", "evidence", "research", "side_by_side")  # charts: not escaped


def report_text(run: RunView) -> str:
    """Return the page."""
    return fill("report.html", _context(run))


def fill(body: str, context: dict[str, Any]) -> str:
    """Fill a template. Everything but our own charts is escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    files = resources.files("ffml.report")
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(lambda name: files.joinpath(name).read_text(encoding="utf-8")),
    )
    ours: dict[str, Any] = {"chart_style": Markup(STYLE), "chart_script": Markup(SCRIPT)}
    ours |= {name: [Markup(picture) for picture in context.get(name, ())] for name in OURS}
    return environment.get_template(body).render(context | ours)


def _context(run: RunView) -> dict[str, Any]:
    config, said = run.config, run.summary["answer"]
    return {
        "title": _first.title(run),
        "span": _first.span(run),
        "date": str(config.get("created") or "")[:10],
        "version": config.get("ffml_version") or UNDEFINED,
        "interrupted": run.summary.get("status") != "complete",
        "rounds_done": numbers.counted(len(run.rounds), "round"),
        "rounds_planned": planned_rounds(config),
        "verdicts": _first.verdicts(run),
        "outcome": words.outcome_sentence(said, run.summary.get("without_fairness")),
        "before": _first.before_sentence(run),
        "unknown": words.unknown_sentence(said),
        "beside": _first.beside(run),
        "more": _more(run),
        "warnings": warning_lines(run),
        **_drawn(run),
        "group_tables": group_tables(run),
        "behind": _research.behind_paragraph(run),
        "method_lines": _method_lines(run),
        "gaps": _research.gap_rows(run),
        "research": _research.research_pictures(run),
        "constraint_totals": _research.constraint_totals(run),
        "settings": _settings(run),
        "all_settings": list(_facts.setting_facts(run).items()),
    }


def _more(run: RunView) -> list[str]:
    """Say below the first screen what it leaves out: policy, errors, labels, who was compared."""
    said, data = run.summary["answer"], run.config.get("data", {}).get("summary")
    lines = [
        answer.policy_sentence(said),
        answer.right_sentence(said),
        answer.labels_sentence(said),
    ]
    lines += [f"Data: {data}."] if data else []
    for notion in said["notions"]:
        lines += answer.notion_details(notion, said["by_task"])
    return list(dict.fromkeys(filter(None, lines)))


def _drawn(run: RunView) -> dict[str, Any]:
    """Draw what everybody should see, with a sentence or two beside."""
    summary, tables = run.summary, run.counts
    columns = pictures.headline_first(run.columns, summary["answer"])
    favourable, tasks = summary["answer"]["favourable"], run.rounds.text("task")
    asked = asked_in(run.config)
    ends = pictures.rate_ends(*(counts for _, counts in _compared(run, columns[0])))
    labels = not summary["answer"]["unmeasured"]
    return {
        "rates": pictures.rate_pictures(
            tables, columns, tasks, asked, favourable, ends, "this run" if run.beside else ""
        ),
        "changed": [
            *filter(None, [_learner_pictures.price_picture(run)]),
            *pictures.moved_pictures(summary.get("moved") or {}, favourable),
        ],
        "changes": [
            *answer.change_sentences(summary),
            *filter(None, [answer.extremes_sentence(summary["answer"])]),
            *_against_the_odds(run),
        ],
        "others": numbers.listed(_others(run)) if run.beside else "",
        "side_by_side": _side_by_side(run, columns[0], tasks, asked, favourable, ends),
        "inside": [
            *_learner_pictures.stand_in_pictures(run.stand_ins),
            *(_learner_pictures.calibration_pictures(run.scores, columns) if labels else ()),
        ],
        "reliability": _research.reliability_sentence(run),
        "evidence": pictures.evidence_pictures(tables, columns, tasks, asked),
        "alarms": [
            alarm_sentence(notion["alarm"], limit_words(notion))
            for notion in summary["answer"]["notions"]
            if notion["alarm"] is not None
        ],
    }


def _compared(run: RunView, column: SensitiveColumn) -> list[tuple[str, np.ndarray]]:
    """Return the counts of a column: this run's, without fairness, and of the runs beside it."""
    free = [("without fairness", run.without[column.name])] if column.name in run.without else []
    others = [(_first.other_name(o), o.counts[column.name]) for o in run.beside]
    return [("this run", run.counts[column.name]), *free, *others]


def _side_by_side(
    run: RunView,
    column: SensitiveColumn,
    tasks: list[str],
    asked: Asked,
    favourable: str,
    ends: tuple[float, float],
) -> list[str]:
    """Draw the rates of a column without fairness, and of the runs beside this one."""
    most = pictures.gap_asked(asked)
    return [
        pictures.rates_picture(f"beside-{i}", counts, column, tasks, most, favourable, ends, name)
        for i, (name, counts) in enumerate(_compared(run, column)[1:] if len(tasks) > 1 else ())
    ]


def _others(run: RunView) -> list[str]:
    """Name all that is drawn side by side."""
    free = ["the same without fairness"] if run.without else []
    return ["this run", *free, *map(_called, run.beside)]


def _called(other: RunView) -> str:
    name = _first.other_name(other)
    return name if " " in name else f"the method {name}"


def _against_the_odds(run: RunView) -> list[str]:
    """Say who was decided about most against the odds, by group."""
    favour, said = decided(run.summary["answer"]["favourable"]), []
    for column in run.columns if run.summary.get("moved") else ():
        each = [
            f"{one.group} {rate(one.lowest)} and {rate(one.highest)}"
            for one in extremes(run.scores, column)[: answer.MOST_GROUPS]
        ]
        if run.scores:
            said.append(
                f"Among everybody, the lowest probability that was {favour} and the highest that"
                f" was not, by {column.name}: {'; '.join(each)}."
            )
    return said


def _method_lines(run: RunView) -> list[str]:
    method = run.config.get("method_summary")
    trust = (run.summary.get("extra") or {}).get("trust")
    lines = [f"Method: {method}"] if method else []
    lines += _facts.wrapper_lines(run)
    lines += [answer.trust_sentence(trust)] if trust is not None else []
    return lines


def _settings(run: RunView) -> list[dict[str, Any]]:
    """Group what the run was made with, for its last section."""
    parts = {
        "Data": _facts.data_facts(run),
        "Recipe, and what preset or command have set": _facts.recipe_facts(run),
        "Run": _facts.run_facts(run),
    }
    return [
        {"title": title, "entries": list(facts.items())} for title, facts in parts.items() if facts
    ]
