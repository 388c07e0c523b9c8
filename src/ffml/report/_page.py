"""Put the page together: words, tiles, charts and tables into the template."""

import math
from importlib import resources
from typing import Any

import numpy as np

from ffml.report import _facts, _numbers, _tables, _words
from ffml.report._charts import Chart, draw
from ffml.report._curves import constraint_charts, describe, metric_charts
from ffml.report._files import Run


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
        "rounds_planned": _planned(run),
        "method_summary": config.get("method_summary") or "",
        "data_summary": config.get("data", {}).get("summary") or "",
        "summary": _words.summary_paragraph(run),
        "tiles": _tiles(run),
        "constraints": run.constraints,
        "group_tables": _tables.group_tables(run),
        "worst": _tables.worst_tasks(run),
        "min_validation_rows": _tables.MIN_VALIDATION_ROWS,
        "rounds": _tables.round_rows(run),
        "timed": run.timings is not None,
        "constraint_rows": _tables.constraint_rows(run),
        "settings": _settings(run),
        "metric_figures": [_figure(chart) for chart in metric_charts(run)],
        "constraint_figures": [_figure(chart) for chart in constraint_curves],
        "constraint_legend": [
            line | row
            for line, row in zip(
                _lines(constraint_curves[:1]), _tables.constraint_totals(run), strict=True
            )
        ],
    }


def _planned(run: Run) -> int | None:
    """Return how many rounds a whole run would have had, where that is known."""
    limits = (run.config.get("rounds"), run.config.get("data", {}).get("num_tasks"))
    return min(filter(None, limits), default=None)


def _tiles(run: Run) -> list[dict[str, Any]]:
    tiles = [
        _ratio_tile(run, "dp", "Demographic parity ratio"),
        _ratio_tile(run, "eo", "Equalized odds ratio"),
        _tile(run, "balanced_accuracy", "Balanced accuracy", "Deciding by a coin gives 0.5", 0.5),
    ]
    if run.constraints:
        tiles.append(_asked_tile(run))
    return tiles


def _asked_tile(run: Run) -> dict[str, Any]:
    """Say how what was asked for was kept; rounds within a bound of 0 would say nothing."""
    if _words.aims_at_zero(run):
        gap, known = _words.pooled_gap(run)
        label = "Gap over all rounds"
        value = f"{gap} points" if gap else "undefined"
        note = "Between selection rates, rows of all rounds pooled"
        note += f"; interval {known}" if known else ""
        share = run.statistic("pooled", "disc")
    else:
        within, measured = _words.rounds_within_bounds(run)
        label = "Rounds within all bounds"
        value = f"{within} of {measured}" if measured else "undefined"
        note = "Rounds with a constraint that could be measured"
        share = within / measured if measured else math.nan
    return {
        "label": label,
        "value": value,
        "main": f"Asked for: {_words.constraint_phrase(run)}",
        "note": note,
        "fill": _share(share),
        "mark": None,
    }


def _ratio_tile(run: Run, metric: str, label: str) -> dict[str, Any]:
    of_ceiling = run.statistic("last_third", f"{metric}_of_ceiling")
    known = math.isfinite(of_ceiling)
    text = f"On average {_numbers.percent(of_ceiling)} of the noise ceiling"
    ceiling = run.statistic("last_third", f"{metric}_ceiling")
    return _tile(run, metric, label, text if known else "Noise ceiling undefined", ceiling)


def _tile(run: Run, metric: str, label: str, main: str, mark: float) -> dict[str, Any]:
    deviation = run.statistic("last_third", metric, "std")
    missing = run.statistic("last_third", metric, "undefined")
    total = _words.last_rounds(run)
    note = f"Mean of the last {_numbers.counted(total, 'round')}"
    note += f", standard deviation {_numbers.rate(deviation)}" if math.isfinite(deviation) else ""
    note += f"; undefined in {missing:.0f}" if missing > 0 else ""
    mean = run.statistic("last_third", metric)
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


def _figure(chart: Chart) -> dict[str, Any]:
    from markupsafe import Markup

    return {
        "key": chart.key,
        "title": chart.title,
        "caption": chart.caption,
        "alt": describe(chart),
        "svg": Markup(draw(chart).removeprefix("<svg")),
        "lines": _lines([chart]),
        "band": any(series.low is not None for series in chart.series),
        "zone": chart.infeasible_above is not None,
        "undefined": int(np.sum(chart.undefined)),
        "several": len(chart.series) > 1 and not chart.unit_interval,
    }


def _lines(charts: list[Chart]) -> list[dict[str, str]]:
    return [
        {
            "label": series.label,
            "colour": series.colour,
            "dash": " ".join(f"{length:g}" for length in series.dash) or "none",
        }
        for chart in charts
        for series in chart.series
    ]


def _settings(run: Run) -> list[dict[str, Any]]:
    """Group what the run was made with, for its last section."""
    parts = {
        "Data": _facts.data_facts(run),
        "Run": _facts.run_facts(run),
        "Settings": _facts.setting_facts(run),
    }
    return [
        {"title": title, "entries": list(facts.items())} for title, facts in parts.items() if facts
    ]
