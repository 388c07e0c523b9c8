"""Put the page together: words, tiles, charts and tables into the template."""

from importlib import resources
from typing import Any

from ffml.audit.record import planned_rounds
from ffml.base import SensitiveColumn
from ffml.recipe.asked import asked_bounds
from ffml.report import _facts, _gaps, _recipe, _tables, _words, answer, numbers
from ffml.report._counts import round_tables
from ffml.report._pictures import (
    group_pictures,
    moved_pictures,
    reliability_picture,
    research_pictures,
)
from ffml.report._tiles import tiles, verdicts
from ffml.report._view import RunView
from ffml.report.charts import SCRIPT, STYLE
from ffml.report.notes import warning_lines


def render(run: RunView) -> str:
    """Return the page."""
    return fill("template.html", _context(run))


def fill(body: str, context: dict[str, Any]) -> str:
    """Fill a template. Everything but our own charts is escaped."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    files = resources.files("ffml.report")
    source = files.joinpath("template.html").read_text(encoding="utf-8")
    if body != "template.html":  # another body below the same head
        source = source.partition("<main>")[0] + files.joinpath(body).read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    ours: dict[str, Any] = {"chart_style": Markup(STYLE), "chart_script": Markup(SCRIPT)}
    for name in ("pictures", "research"):
        ours[name] = [Markup(picture) for picture in context.get(name, ())]
    return environment.from_string(source).render(context | ours)


def _context(run: RunView) -> dict[str, Any]:
    config, listed = run.config, _tables.last_places(run)
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
        "reliability": _words.reliability_sentence(run),
        "constraints": run.constraints,
        "group_tables": _tables.group_tables(run),
        "worst": _tables.worst_tasks(run),
        "gaps": _gaps.gap_rows(run),
        "ratios": _gaps.ratio_rows(run),
        "rounds": _tables.round_rows(run, listed),
        "listed_rounds": len(listed) if len(listed) < len(run.rounds) else None,
        "constraint_rows": _tables.constraint_rows(run, listed),
        "settings": _settings(run),
        "constraint_totals": _tables.constraint_totals(run),
        "pictures": _pictures(run),
        "research": research_pictures(run),
    }


def _pictures(run: RunView) -> list[str]:
    """Draw what everybody should see, in the order of the page."""
    found = round_tables(run)
    favourable = run.summary["answer"]["favourable"]
    bounds = (run.config.get(name) for name in ("max_gap", "min_ratio"))
    drawn = group_pictures(
        {name: counts for name, (_, counts) in found.items()},
        [SensitiveColumn(name, tuple(groups)) for name, (groups, _) in found.items()],
        run.rounds.text("task"),
        asked_bounds(run.config.get("notions") or [], *bounds),
        favourable,
    )
    drawn += moved_pictures(run.summary.get("moved") or {}, favourable)
    return [*drawn, *filter(None, [reliability_picture(run)])]


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
