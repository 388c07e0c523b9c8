"""Put the page together: words, tiles, charts and tables into the template."""

from importlib import resources
from typing import Any

from ffml.audit.record import planned_rounds
from ffml.report import _facts, _gaps, _recipe, _tables, _words, answer, numbers
from ffml.report._curves import constraint_charts, metric_charts, reliability_chart
from ffml.report._evidence import evidence_charts
from ffml.report._figures import figure as _figure
from ffml.report._figures import lines as _lines
from ffml.report._tiles import tiles, verdicts
from ffml.report._view import RunView
from ffml.report.notes import warning_lines


def render(run: RunView) -> str:
    """Return the page. Everything but our own SVG is escaped."""
    from jinja2 import Environment, StrictUndefined

    source = resources.files("ffml.report").joinpath("template.html").read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(source).render(_context(run))


def _context(run: RunView) -> dict[str, Any]:
    config, constraint_curves = run.config, constraint_charts(run)
    listed = _tables.last_places(run)
    return {
        "title": f"{config.get('method')} on {_words.data_name(run)}",
        "date": str(config.get("created") or "")[:10],
        "version": config.get("ffml_version") or numbers.UNDEFINED,
        "interrupted": run.summary.get("status") != "complete",
        "rounds_done": numbers.counted(len(run.rounds), "round"),
        "rounds_planned": planned_rounds(config),
        "method_summary": config.get("method_summary") or "",
        "wrapper_lines": _recipe.wrapper_lines(run),
        "data_summary": config.get("data", {}).get("summary") or "",
        "warnings": warning_lines(run),
        "verdicts": verdicts(run),
        "answer": answer.sentences(run.summary),
        "answer_rows": answer.rows(run.summary),
        "behind": _words.behind_paragraph(run),
        "tiles": tiles(run),
        "reliability": _reliability(run),
        "constraints": run.constraints,
        "group_tables": _tables.group_tables(run),
        "worst": _tables.worst_tasks(run),
        "gaps": _gaps.gap_rows(run),
        "ratios": _gaps.ratio_rows(run),
        "rounds": _tables.round_rows(run, listed),
        "listed_rounds": len(listed) if len(listed) < len(run.rounds) else None,
        "constraint_rows": _tables.constraint_rows(run, listed),
        "settings": _settings(run),
        "metric_figures": [
            _figure(chart) for chart in (*metric_charts(run), *evidence_charts(run))
        ],
        "constraint_figures": [_figure(chart) for chart in constraint_curves],
        "constraint_legend": [
            line | row
            for line, row in zip(
                _lines(constraint_curves[:1]), _tables.constraint_totals(run), strict=True
            )
        ],
    }


def _reliability(run: RunView) -> dict[str, Any] | None:
    """Return the chart of probabilities, its words and its table, if the run has counted them."""
    chart = reliability_chart(run)
    if chart is None:
        return None
    rows = [
        {
            "people": numbers.whole(one["people"]),
            "probability": numbers.rate(one["probability"]),
            "label_share": numbers.rate(one["label_share"]),
        }
        for one in run.summary["reliability"]["bins"]
    ]
    return {"figure": _figure(chart), "words": _words.reliability_sentence(run), "rows": rows}


def _settings(run: RunView) -> list[dict[str, Any]]:
    """Group what the run was made with, for its last section."""
    parts = {
        "Data": _facts.data_facts(run),
        "Recipe, and what preset or command have set": _facts.recipe_facts(run),
        "RunView": _facts.run_facts(run),
        "All settings": _facts.setting_facts(run),
    }
    return [
        {"title": title, "entries": list(facts.items())} for title, facts in parts.items() if facts
    ]
