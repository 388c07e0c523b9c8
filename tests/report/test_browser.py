"""The report in a browser: no errors, nothing wider than the page, every chart drawn."""

import re
from dataclasses import replace

import pytest
from browser import (
    CHROMIUM,
    DRIVER,
    browser,
    complaints,
    console,
    open_page,
    overflow,
    resize,
)
from made_up import CONSTRAINTS, NASTY, RACE, RESEARCH, SEX, make_run

from ffml.report import Score
from ffml.report.page import report_text

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is not installed (apt install chromium)"
)
WITHOUT = {"balanced_accuracy": 0.8, "accuracy": 0.8, "positive_share": 0.3, "gap": 0.1}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    page = tmp_path_factory.mktemp("wide") / "report.html"
    page.write_text(whole_page(30), encoding="utf-8")
    return page


def whole_page(rounds):
    """Long names, several columns and groups, and all that a page can have."""
    column = {"name": NASTY, "groups": ["a" * 60, "b c"]}
    names = tuple(f"demographic-parity[{name}]" for name in ("sex=Male", "x" * 80))
    run = make_run(rounds, (SEX, RACE, column), names, task=NASTY)
    summary = run.summary | {"without_fairness": WITHOUT | {"typical": None}}
    moved = [{"group": g, "people": 900, "towards": 80, "away": 9} for g in SEX["groups"]]
    summary |= {"moved": {"sex": moved}}
    cells = [{"sex": s, "race": r, NASTY: "b c"} for s in SEX["groups"] for r in RACE["groups"]]
    scores = [
        Score(cell, label, decision, k, 20, 20 * k / 10, k / 10, k / 10 + 0.05)
        for cell in cells
        for k, label, decision in ((2, 0, 0), (5, 1, 1), (5, 0, 1), (8, 1, 0))
    ]
    told = {"columns": ["x" * 70, "hours"], "goes_by": [0.2, 0.8], "tells": {"sex": [0.9, 0.1]}}
    view = replace(run, summary=summary, scores=tuple(scores), stand_ins=told, beside=(run,))
    return report_text(view)


@pytest.mark.parametrize("width", [1280, 390])
def test_the_report_in_a_browser(report, width, tmp_path):
    found = open_page(report, width, tmp_path)
    assert found["errors"] == []
    assert found["inner"] == width
    assert found["width"] <= width and found["wide"] == []
    keys = ["rates-0", "beside-0", "gaps-0", "rates-1", "gaps-1", "rates-2", "gaps-2"]
    keys += ["price", "moved-0", "inputs-0", *(f"calibration-{i}" for i in range(3))]
    keys += [*(f"evidence-{i}" for i in range(3)), *RESEARCH, *CONSTRAINTS]
    assert [chart["id"] for chart in found["charts"]] == [f"chart-{key}" for key in keys]
    for chart in found["charts"][:-8]:  # the others are folded away
        assert chart["drawn"] > 1 and chart["width"] > 250 and chart["height"] > 50


@pytest.mark.skipif(DRIVER is None, reason="chromedriver is not installed")
def test_axe_has_no_complaints_and_keys_show_numbers(tmp_path):
    report = tmp_path / "report.html"
    report.write_text(whole_page(4), encoding="utf-8")
    with browser(tmp_path) as driver:
        driver.get(report.as_uri())
        for width, dark in ((1280, False), (390, True)):
            resize(driver, width, dark=dark)
            driver.execute_script(
                "document.querySelectorAll('details').forEach(d => d.open = true)"
            )
            assert complaints(driver) == []
            assert overflow(driver) <= 0
        chart = driver.find_element("css selector", "#chart-rates-0 svg.plot")
        chart.send_keys(ARROW_RIGHT)
        tip = driver.find_element("css selector", "#chart-rates-0 .tip").text
        assert re.match(r".* 1: A [\d.]+, B [\d.]+, C [\d.]+", tip)  # the answer names race
        assert console(driver) == []


@pytest.mark.skipif(DRIVER is None, reason="chromedriver is not installed")
def test_tables_by_group_need_no_scrolling_on_a_desk(tmp_path):
    report = tmp_path / "report.html"
    report.write_text(report_text(make_run(6, (SEX, RACE))), encoding="utf-8")
    with browser(tmp_path) as driver:
        driver.get(report.as_uri())
        wide = "e => e.scrollWidth > e.clientWidth"
        shown = f"return [...document.querySelectorAll('.groups, .beside')].some({wide})"
        assert driver.execute_script(shown) is False


@pytest.mark.skipif(DRIVER is None, reason="chromedriver is not installed")
def test_printed_heads_break_no_word(report, tmp_path):
    """On A4, no head of a table is narrower than its longest word, and nothing is cut off."""
    with browser(tmp_path, width=688) as driver:  # A4 without its margins
        driver.get(report.as_uri())
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        assert driver.execute_script(BROKEN) == []
        assert overflow(driver) <= 0


ARROW_RIGHT = "\ue014"
BROKEN = """return [...document.querySelectorAll("thead th")].filter(th => {
  if (!th.offsetParent || !th.firstChild) return false;
  const range = document.createRange(), text = th.firstChild;
  return [...text.textContent.matchAll(/\\S+/g)].some(word => {
    range.setStart(text, word.index); range.setEnd(text, word.index + word[0].length);
    return range.getClientRects().length > 1;
  });
}).map(th => th.textContent)"""


def test_a_page_that_is_too_wide_or_fails_is_noticed(tmp_path):
    page = tmp_path / "bad.html"
    page.write_text(
        '<html><head></head><body><main><p style="width: 700px">x</p></main>'
        "<script>nowhere()</script></body></html>"
    )
    found = open_page(page, 390, tmp_path)
    assert found["width"] > 390 and found["wide"]
    assert ["nowhere is not defined" in error for error in found["errors"]] == [True]
