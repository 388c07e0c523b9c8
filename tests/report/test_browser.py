"""The report in a browser: no errors, nothing wider than the page, every chart drawn."""

from dataclasses import replace

import pytest
from browser import CHROMIUM, open_page
from made_up import CONSTRAINTS, NASTY, RACE, RESEARCH, SEX, make_run

from ffml.report import report_text

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is not installed (apt install chromium)"
)
WITHOUT = {"balanced_accuracy": 0.8, "accuracy": 0.8, "positive_share": 0.3, "gap": 0.1}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Long names, several columns and groups, and all that a page can have."""
    column = {"name": NASTY, "groups": ["a" * 60, "b c"]}
    names = tuple(f"demographic-parity[{name}]" for name in ("sex=Male", "x" * 80))
    run = make_run(30, (SEX, RACE, column), names, task=NASTY)
    without = {"without_fairness": WITHOUT | {"typical": None}}
    moved = [{"group": g, "people": 900, "towards": 80, "away": 9} for g in SEX["groups"]]
    without |= {"moved": {"sex": moved}}
    page = tmp_path_factory.mktemp("wide") / "report.html"
    page.write_text(report_text(replace(run, summary=run.summary | without)), encoding="utf-8")
    return page


@pytest.mark.parametrize("width", [1280, 390])
def test_the_report_in_a_browser(report, width, tmp_path):
    found = open_page(report, width, tmp_path)
    assert found["errors"] == []
    assert found["inner"] == width
    assert found["width"] <= width and found["wide"] == []
    keys = [f"{kind}-{i}" for i in range(3) for kind in ("rates", "gaps")]
    keys += [
        *(f"evidence-{i}" for i in range(3)),
        "moved-0",
        "reliability",
        *RESEARCH,
        *CONSTRAINTS,
    ]
    assert [chart["id"] for chart in found["charts"]] == [f"chart-{key}" for key in keys]
    for chart in found["charts"][:-8]:  # the others are folded away
        assert chart["drawn"] > 2 and chart["width"] > 250 and chart["height"] > 50


def test_a_page_that_is_too_wide_or_fails_is_noticed(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        '<html><head></head><body><main><p style="width: 700px">x</p></main>'
        "<script>nowhere()</script></body></html>"
    )
    found = open_page(page, 390, tmp_path)
    assert found["width"] > 390 and found["wide"]
    assert ["nowhere is not defined" in error for error in found["errors"]] == [True]
