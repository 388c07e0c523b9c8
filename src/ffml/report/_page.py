"""Put the page together: words, tiles, charts and tables into the template."""

import math
from importlib import resources
from typing import Any

from ffml.report import _facts, _gaps, _numbers, _recipe, _tables, _words
from ffml.report._curves import constraint_charts, metric_charts
from ffml.report._figures import figure as _figure
from ffml.report._figures import lines as _lines
from ffml.report._files import Run
from ffml.report._periods import dated
from ffml.report._warnings import warning_lines
from ffml.runs.judged import planned_rounds


def render(run: Run) -> str:
    """Return the page. Everything but our own SVG is escaped."""
    from jinja2 import Environment, StrictUndefined

    source = resources.files("ffml.report").joinpath("template.html").read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(source).render(_context(run))


def _context(run: Run) -> dict[str, Any]:
    config, constraint_curves = run.config, constraint_charts(run)
    return {
        "title": f"{config.get('method')} on {_words.data_name(run)}",
        "date": str(config.get("created") or "")[:10],
        "version": config.get("ffml_version") or _numbers.UNDEFINED,
        "interrupted": run.summary.get("status") != "complete",
        "rounds_done": _numbers.counted(len(run.rounds), "round"),
        "rounds_planned": planned_rounds(config),
        "method_summary": config.get("method_summary") or "",
        "wrapper_lines": _recipe.wrapper_lines(run),
        "data_summary": config.get("data", {}).get("summary") or "",
        "summary": _words.summary_paragraph(run),
        "warnings": warning_lines(run),
        "tiles": _tiles(run),
        "constraints": run.constraints,
        "group_tables": _tables.group_tables(run),
        "worst": _tables.worst_tasks(run),
        "gaps": _gaps.gap_rows(run),
        "ratios": _gaps.ratio_rows(run),
        "rounds": _tables.round_rows(run),
        "timed": run.timings is not None,
        "constraint_rows": _tables.constraint_rows(run),
        "settings": _settings(run),
        "metric_figures": [_figure(dated(chart, run)) for chart in metric_charts(run)],
        "constraint_figures": [_figure(dated(chart, run)) for chart in constraint_curves],
        "constraint_legend": [
            line | row
            for line, row in zip(
                _lines(constraint_curves[:1]), _tables.constraint_totals(run), strict=True
            )
        ],
    }


def _tiles(run: Run) -> list[dict[str, Any]]:
    tiles = [
        *_gap_tiles(run),
        _tile(run, "balanced_accuracy", "Balanced accuracy", "Deciding by a coin gives 0.5", 0.5),
        _ratio_tile(run, "dp", "Demographic parity ratio"),
        _ratio_tile(run, "eo", "Equalized odds ratio"),
    ]
    if run.constraints:
        tiles.append(_asked_tile(run))
    return tiles


def _gap_tiles(run: Run) -> list[dict[str, Any]]:
    """Show the typical gap and the long-run gap, which never stands alone."""
    (column, typical, long_run), (_, before, ever) = (
        _gaps.headline(run, part) for part in ("last_third", "all")
    )
    last = _numbers.counted(_words.last_rounds(run), "round")
    return [
        _gap_tile(
            "Typical gap within a task",
            (typical.typical, typical.typical_low, typical.typical_high),
            f"{column}: {typical.comparison}; chance taken out",
            f"Last {last}, measured in {typical.rounds}; all rounds: "
            f"{_numbers.points(before.typical)}",
        ),
        _gap_tile(
            "Long-run gap",
            (long_run.long_run, long_run.long_run_low, long_run.long_run_high),
            f"{column}: {long_run.comparison}; opposite gaps cancel",
            f"Last {last}; all rounds: {_numbers.points(ever.long_run)}",
        ),
    ]


def _gap_tile(
    label: str, numbers: tuple[float, float, float], main: str, note: str
) -> dict[str, Any]:
    value, low, high = numbers
    known = _numbers.points_interval(low, high)
    shown = f"≤ {_numbers.points(high)}" if value == 0 else _numbers.points(value)
    return {
        "label": label,
        "value": f"{shown} points" if math.isfinite(value) else "undefined",
        "main": f"Interval {known}" if known else "No interval",
        "note": f"{main}. {note}",
        "fill": _share(abs(value)),
        "mark": None,
    }


def _asked_tile(run: Run) -> dict[str, Any]:
    """Show the gap of all rows together beside what was asked for."""
    gap, known = _words.pooled_gap(run)
    note = "Between selection rates, rows of all rounds pooled"
    return {
        "label": "Gap over all rounds",
        "value": f"{gap} points" if gap else "undefined",
        "main": f"Asked for: {_words.constraint_phrase(run)}",
        "note": f"{note}; interval {known}" if known else note,
        "fill": _share(run.statistic("pooled", "disc")),
        "mark": None,
    }


def _ratio_tile(run: Run, metric: str, label: str) -> dict[str, Any]:
    """Show a mean ratio, and what it is of the mean ceiling."""
    found = _gaps.ratio(run, metric)
    share = _numbers.percent(found["of_ceiling"])
    known = math.isfinite(found["of_ceiling"])
    text = f"{share} of the mean noise ceiling" if known else "Noise ceiling undefined"
    return _mean_tile(run, label, found, text, found["ceiling"])


def _tile(run: Run, metric: str, label: str, main: str, mark: float) -> dict[str, Any]:
    keys = ("mean", "std", "defined")
    found = {key: run.statistic("last_third", metric, key) for key in keys}
    return _mean_tile(run, label, found, main, mark)


def _mean_tile(
    run: Run, label: str, found: dict[str, float], main: str, mark: float
) -> dict[str, Any]:
    mean, deviation, judged = found["mean"], found["std"], _words.last_judged(run)
    note = f"Mean of the last {_numbers.counted(_words.last_rounds(run), 'round')}"
    note += f", standard deviation {_numbers.rate(deviation)}" if math.isfinite(deviation) else ""
    some = found["defined"] < judged
    note += f"; defined in {found['defined']:.0f} of {judged} judged" if some else ""
    return {
        "label": label,
        "value": _numbers.rate(mean) if math.isfinite(mean) else "undefined",
        "main": main,
        "note": note,
        "fill": _share(mean),
        "mark": _share(mark),
    }


def _share(value: float) -> str | None:
    """Return a width or a place in per cent for the style sheet."""
    return f"{100 * min(max(value, 0.0), 1.0):.1f}" if math.isfinite(value) else None


def _settings(run: Run) -> list[dict[str, Any]]:
    """Group what the run was made with, for its last section."""
    parts = {
        "Data": _facts.data_facts(run),
        "Recipe, and what preset or command have set": _facts.recipe_facts(run),
        "Run": _facts.run_facts(run),
        "All settings": _facts.setting_facts(run),
    }
    return [
        {"title": title, "entries": list(facts.items())} for title, facts in parts.items() if facts
    ]
