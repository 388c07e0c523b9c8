"""Charts as the page's template wants them: drawn, described, with their legends."""

from typing import Any

import numpy as np

from ffml.report._curves import describe
from ffml.report.charts import MOST_PLACES, Chart, draw


def figure(chart: Chart) -> dict[str, Any]:
    """Return what the template's macro needs to show a chart."""
    from markupsafe import Markup

    return {
        "key": chart.key,
        "title": chart.title,
        "caption": _caption(chart),
        "alt": describe(chart),
        "svg": Markup(draw(chart).removeprefix("<svg")),
        "lines": lines([chart]),
        "band": any(series.low is not None for series in chart.series),
        "zone": chart.infeasible_above is not None,
        "undefined": int(np.sum(chart.undefined)),
        "several": len(chart.series) > 1 and not chart.unit_interval,
    }


def _caption(chart: Chart) -> str:
    if len(chart.places) <= MOST_PLACES:
        return chart.caption
    return f"{chart.caption} Neighbouring rounds are drawn as their mean."


def lines(charts: list[Chart]) -> list[dict[str, str]]:
    """Return what a legend says of the lines of some charts."""
    return [
        {
            "label": series.label,
            "colour": series.colour,
            "dash": " ".join(f"{length:g}" for length in series.dash) or "none",
        }
        for chart in charts
        for series in chart.series
    ]
