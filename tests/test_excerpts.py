"""Search of the documentation, opened from the disk: each result shows a passage of its page."""

import json
from pathlib import Path

import pytest
from browser import CHROMIUM, DRIVER, browser, console
from selenium.webdriver.support.ui import WebDriverWait

pytestmark = pytest.mark.skipif(
    None in (CHROMIUM, DRIVER), reason="needs chromium and chromium-driver"
)
DOCS = Path(__file__).parents[1] / "docs"
RESULTS = """return [...document.querySelectorAll("#search-results li")].map(li => ({
  place: li.querySelector(".place a")?.getAttribute("href"),
  text: li.querySelector(".context")?.textContent,
  marked: [...li.querySelectorAll("mark")].map(mark => mark.textContent)}))"""
FINISHED = 'return document.querySelector(".search-summary")?.innerText'
LONG = "Many words come before it. " * 20
TEXT = {
    "gap": [
        ["what-a-gap-is", "What a gap is", ["A <b>difference</b> of rates."], ["gap = high - low"]],
        ["how-large", "How large", ["Small.", f"{LONG}Gaps have a bound."], []],
    ],
    "other": [["other", "Other", ["Nothing of it."], []]],
}
# What Sphinx's search page has when its results come, without Sphinx.
PAGE = """<!doctype html><meta charset="utf-8"><div id="search-results"></div><script>
const stopwords = ["a"];
class Stemmer { stemWord(word) { return word.replace(/s$/, ""); } }
window.SITE_TEXT = %s;
</script><script src="%s"></script><ul id="list"></ul><script>
const list = document.getElementById("search-results").appendChild(document.createElement("ul"));
for (const href of ["gap.html", "gap.html#what-a-gap-is", "other.html", "elsewhere.html"]) {
  const link = document.createElement("a");
  link.setAttribute("href", href);
  list.appendChild(document.createElement("li")).append(link);
}
</script>"""


def test_a_result_shows_the_passage_with_most_of_the_words(tmp_path):
    page = tmp_path / "search.html"
    script = (DOCS / "static" / "excerpts.js").as_uri()
    page.write_text(PAGE % (json.dumps(TEXT).replace("<", "\\u003c"), script), encoding="utf-8")
    with browser(tmp_path) as driver:
        driver.get(f"{page.as_uri()}?q=a+gap+bounds")
        best, section, other, elsewhere = driver.execute_script(RESULTS)
        assert console(driver) == []
    assert best["place"] == "gap.html#how-large" and best["marked"] == ["Gaps", "bound"]
    assert best["text"].startswith("… ") and best["text"].endswith("Gaps have a bound.")
    assert section == {"place": None, "text": "gap = high - low", "marked": ["gap"]}
    assert other["text"] == "Nothing of it." and elsewhere["text"] is None


def test_the_built_site_shows_excerpts_from_the_disk(tmp_path, monkeypatch):
    """Only where Sphinx is installed, as `make docs` does."""
    application = pytest.importorskip("sphinx.application", reason="needs ffml[docs]")
    pytest.importorskip("myst_parser", reason="needs ffml[docs]")
    monkeypatch.syspath_prepend(str(DOCS))
    source, site = tmp_path / "source", tmp_path / "site"
    source.mkdir()
    (source / "index.md").write_text(
        "# Start\n\nRead on.\n\n## Bounds\n\n| of | is |\n| --- | --- |\n| a gap | a *bound* |\n\n"
        "```sh\nffml run\n```\n",
        encoding="utf-8",
    )
    settings = {
        "extensions": ["myst_parser", "excerpts"],
        "html_static_path": [str(DOCS / "static")],
        "html_show_search_summary": False,
        "suppress_warnings": ["misc.highlighting_failure"],
    }
    application.Sphinx(source, None, site, tmp_path / "kept", "html", settings).build()
    text = (site / "_static" / "site_text.js").read_text(encoding="utf-8")
    pages = json.loads(text.removeprefix("window.SITE_TEXT = ").removesuffix(";\n"))
    start, bounds = pages["index"]
    assert start == ["start", "Start", ["Read on."], []]
    assert bounds == ["bounds", "Bounds", ["of · is", "a gap · a bound"], ["ffml run"]]
    with browser(tmp_path) as driver:
        driver.get(f"{(site / 'search.html').as_uri()}?q=bounded")
        WebDriverWait(driver, 60).until(lambda driver: driver.execute_script(FINISHED))
        (found,) = driver.execute_script(RESULTS)
        assert found["text"] == "a gap · a bound" and found["marked"] == ["bound"]
        assert console(driver) == []
