"""Run the examples of the gallery, draw a chart of each report, and write the gallery's page.

python scripts/draw_gallery.py [--example own_csv] [--out docs]
"""

import argparse
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
# Sizes in units of the picture: a letter and a sample of the legend, its rows, the chart, a margin.
LETTER, SAMPLE, ROW, WIDTH, MARGIN, TITLE = 6.2, 34, 18, 440, 16, 32


class Shown(NamedTuple):
    """An example of the gallery, and which chart of its report to show ("": it draws itself)."""

    title: str
    text: str
    chart: str


GALLERY = {
    "own_csv": Shown(
        "A lender's months",
        "Nine months of loans in a CSV file. Learn from them, judge the run, adapt to what is known"
        " of October, and decide about the others. The band is what was allowed.",
        "rates-0",
    ),
    "branches": Shown(
        "A branch each task",
        "Branches differ in what debt and savings are worth. Twenty labels of a new branch are"
        " enough to decide better there. The chart shows the gap of every branch; what chance"
        " would make is shaded.",
        "gaps-0",
    ),
    "polars_months": Shown(
        "Months that come later",
        "A run that lives on, with polars: learn from the past, decide today, bring labels weeks"
        " later. [A monthly job](monthly.md) does the same at the command line.",
        "rates-0",
    ),
    "audit_table": Shown(
        "Auditing a table of any model",
        "Two years of invitations that somebody else decided about. In the second year men are"
        " invited more often. Evidence grows until the alarm is raised; it may be looked at every"
        " month.",
        "evidence-0",
    ),
    "approved_only": Shown(
        "Labels of approved people only",
        "Nobody learns whether a refused loan would have been repaid. The gap is still known,"
        " because it needs no label. What needs labels cannot be measured, and the answer says so.",
        "rates-0",
    ),
    "several_columns": Shown(
        "Several protected columns",
        "Sex and age, each by itself, and then their four combinations. More groups mean fewer"
        " people in each. The chart shows the combinations.",
        "rates-0",
    ),
    "groups_known": Shown(
        "Groups known at decision time",
        "Where groups may be used, each has one threshold, and most of the cost goes away. The"
        " chart compares both runs with what no fairness would give; the dot with a method's name"
        " is the run that estimates groups.",
        "price",
    ),
    "own_model": Shown(
        "Keep your own classifier",
        "Any scikit-learn classifier with `predict_proba` is refitted as people come, and `evened`"
        " puts the price of the gap on its decisions.",
        "",
    ),
}
MORE = {
    "pandas_loop": "A loop over data frames: `partial_fit`, then `adapt` to a new month.",
    "pipeline": "A scikit-learn pipeline and grid search, with groups and tasks routed to the"
    " classifier.",
    "sql_months": "A run on a database: learn from a query, go on when it has grown, ask by SQL.",
    "custom_constraint": "A fairness notion of your own: equal false positive rates.",
    "skeleton_method": "A method to copy; [a notebook](your_method.ipynb) plays one beside others.",
    "regret": "How fast regret and violation grow, with a [figure](theory.md).",
}


def run_example(name: str, made: Path) -> str:
    """Run an example that writes a report or a picture, and return what it prints."""
    words = [sys.executable, ROOT / "examples" / f"{name}.py", made]
    return subprocess.run(words, capture_output=True, encoding="utf-8", check=True).stdout


def standalone(page: str, chart: str) -> str:
    """Take a chart out of a report, with its looks, as a picture that stands by itself."""
    [figure] = re.findall(rf'<figure class="chart" id="chart-{chart}">(.*?)</figure>', page, re.S)
    title = re.findall(r"<h3>(.*?)</h3>", figure)[0]
    [(label, parts), *_] = re.findall(
        r'<svg class="plot".*?aria-label="(.*?)">(.*?)</svg>', figure, re.S
    )
    parts = re.sub(r'<rect class="hit".*?>(</rect>)?', "", parts)
    lowest = max(float(y) for y in re.findall(r'<text [^>]*?\by="([\d.]+)"', parts))
    x, y, legend = 0.0, lowest + 16, []
    for sample, name in re.findall(r"<li><svg.*?>(.*?)</svg>(.*?)</li>", figure, re.S):
        wide = SAMPLE + LETTER * len(name)
        if x and x + wide > WIDTH:
            x, y = 0.0, y + ROW
        legend.append(
            f'<g transform="translate({x:g} {y:g})">{sample}'
            f'<text x="{SAMPLE - 4}" y="10">{name}</text></g>'
        )
        x += wide + 12
    tall = y + (ROW + MARGIN if legend else 0)
    style = files("ffml.report").joinpath("charts.css").read_text(encoding="utf-8")
    looks = re.sub(r"@media.*?\n}\n|@media[^\n]*\n", "", style, flags=re.S)
    box = f"{-MARGIN} {-TITLE} {WIDTH + 2 * MARGIN} {tall + TITLE:g}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" aria-label="{label}"'
        f' viewBox="{box}" width="{WIDTH + 2 * MARGIN}" height="{tall + TITLE:g}">'
        f'<style>{looks}</style><rect x="{-MARGIN}" y="{-TITLE}" width="100%" height="100%"'
        f' fill="#fff"/><text x="0" y="-10" style="font-weight:600">{title}</text>'
        f"{parts}{''.join(legend)}</svg>\n"
    )


def section(name: str, output: str) -> str:
    """Return an example's part of the page."""
    title, text, _ = GALLERY[name]
    return (
        f"## {title}\n\n{text}\n\n"
        f'<img src="gallery/{name}.svg" alt="{title}: what came about" width="560">\n\n'
        f"[`examples/{name}.py`](../examples/{name}.py) prints\n\n```text\n{output}```\n"
    )


def main() -> None:
    """Draw, and write the page if all were drawn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--example", choices=GALLERY, action="append", default=[])
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    asked = parser.parse_args()
    sections = []
    (asked.out / "gallery").mkdir(parents=True, exist_ok=True)
    for name in asked.example or GALLERY:
        with TemporaryDirectory() as folder:
            chart = GALLERY[name].chart
            made = Path(folder, "report.html" if chart else "picture.svg")
            sections.append(section(name, run_example(name, made)))
            drawn = made.read_text(encoding="utf-8")
            picture = standalone(drawn, chart) if chart else drawn
        (asked.out / "gallery" / f"{name}.svg").write_text(picture, encoding="utf-8")
        print(f"wrote {name}.svg")
    if not asked.example:
        rows = (f"| [`{name}.py`](../examples/{name}.py) | {text} |" for name, text in MORE.items())
        about = "Each example is a script of less than 60 lines that runs as it is."
        head = f"# Example gallery\n\n{about}\n"
        more = "\n".join(["## More", "", "| example | what it shows |", "| --- | --- |", *rows])
        page = "\n".join([head, *sections, f"{more}\n"])
        (asked.out / "gallery.md").write_text(page, encoding="utf-8")
        print("wrote gallery.md")


if __name__ == "__main__":
    main()
