"""The report is read back as a browser would: tags, texts, tables, charts."""

import csv
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from ffml.base import FFMLError, SensitiveColumn
from ffml.metrics import round_gaps, typical_weights
from ffml.metrics.answer import answer
from ffml.metrics.by_column import by_column
from ffml.metrics.reliability import reliability, reliability_counts
from ffml.metrics.summary import summarise
from ffml.report import write_report
from ffml.report.charts import Chart, Series, condensed
from ffml.report.files import plain

VOID = {"meta", "br", "hr", "img", "link", "input"}
CHARTS = ["dp", "eo", "accuracy", "loss", "evidence-0"]
MORE_CHARTS = ["reliability"]
CONSTRAINT_CHARTS = ["constraint", "multiplier", "violation", "clipped-violation"]
SEX = {"name": "sex", "groups": ["Female", "Male"]}
RACE = {"name": "race", "groups": ["A", "B", "C", "D", "E"]}
NASTY = "<script>alert(\"x\")</script> & 'so' on {{ 7 * 7 }} $x_1$"
METRICS = ["dp", "eo", "disc", "accuracy", "balanced_accuracy"]


# -- a made-up run ---------------------------------------------------------------------------


def rates(y, decision):
    """Selection rate, true and false positive rate, accuracy; nan where there is no row."""
    parts = (decision, decision[y == 1], decision[y == 0], decision == y)
    return [part.mean() if len(part) else np.nan for part in parts]


def ratio(values):
    return min(values) / max(values) if np.isfinite(values).all() and max(values) > 0 else np.nan


def make_round(rng, columns, undefined, collapsed):
    """Draw one round's rows and return its metrics and its rows of groups.csv."""
    n = int(rng.integers(20, 200))
    y = (rng.random(n) < 0.3).astype(int)
    s = {c["name"]: rng.integers(0, len(c["groups"]), n) for c in columns}
    decision = (rng.random(n) < 0.25 + 0.4 * y + 0.08 * s[columns[0]["name"]]).astype(int)
    decision = np.zeros(n, int) if undefined else np.ones(n, int) if collapsed else decision
    groups = []
    for column in columns:
        for code, group in enumerate(column["groups"]):
            here = s[column["name"]] == code
            values = rates(y[here], decision[here])
            chosen = [(y[here][decision[here] == 1] == label).sum() for label in (0, 1)]
            counts = [here.sum(), y[here].sum(), decision[here].sum(), here.sum(), *chosen]
            groups.append([column["name"], group, *counts, *values])
    first = [row for row in groups if row[0] == columns[0]["name"]]
    selection, tpr, fpr, _ = zip(*(row[8:] for row in first), strict=True)
    disc = max(selection) - min(selection)
    _, sensitivity, fallout, accuracy = rates(y, decision)
    one_decision = len(set(decision)) == 1
    eo = [np.nan, np.nan] if one_decision else [ratio(fpr), ratio(tpr)]
    values = {
        "dp": np.nan if one_decision else ratio(selection),
        "eo": min(eo) if np.isfinite(eo).all() else np.nan,
        "disc": disc,
        "accuracy": accuracy,
        "balanced_accuracy": (sensitivity + 1 - fallout) / 2,
    }
    return n, values, eo, groups


def cell(value):
    if isinstance(value, str):
        return value
    return "" if value is None or not np.isfinite(value) else f"{value:.17g}"


def write_csv(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows({k: cell(v) for k, v in row.items()} for row in rows)


def make_run(
    path,
    num_rounds=41,
    columns=(SEX,),
    names=("demographic-parity[sex=Male]",),
    undefined=(3, 17, 30),
    collapsed=(9,),
    status="complete",
    task="tract",
    timings=True,
):
    """Write the files of a run that never was. All values but loss and λ come from drawn rows."""
    path.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    rounds, groups = [], []
    total, clipped = np.zeros(len(names)), np.zeros(len(names))
    for t in range(1, num_rounds + 1):
        n, values, eo, group_rows = make_round(rng, columns, t in undefined, t in collapsed)
        name = f"{task} {t}" + " of a county with a very long official name" * 4 * (t == 5)
        row = {"round": t, "task": name, "n_rows": n + 40, "n_support": 40, "n_validation": n}
        for metric, value in values.items():
            half = 0.8 / np.sqrt(n)
            row[metric] = value
            low, high = np.clip([value - half, value + half], 0, 1)
            row |= {f"{metric}_low": low, f"{metric}_high": high}
            if metric in ("dp", "eo"):
                ceiling = 1 - 1.5 / np.sqrt(n) if np.isfinite(value) else np.nan
                row[f"{metric}_ceiling"] = ceiling
        row |= {"eo_negatives": eo[0], "eo_positives": eo[1]}
        row["collapsed"] = str(t in collapsed or t in undefined)
        row |= {"loss": 0.7 / np.sqrt(t) + 0.05 * rng.random(), "dbc": rng.normal()}
        g = 0.3 / np.sqrt(t) + 0.05 * rng.normal(size=len(names)) - 0.08
        g[:1] = np.nan if t in undefined else g[:1]
        total, clipped = total + np.nan_to_num(g), clipped + np.maximum(np.nan_to_num(g), 0)
        for i, constraint in enumerate(names):
            row |= {f"constraint:{constraint}": g[i], f"multiplier:{constraint}": clipped[i] * 3}
            row[f"violation:{constraint}"] = total[i]
            row[f"clipped_violation:{constraint}"] = clipped[i]
        word = "no" if t in undefined else "only" if t in collapsed else ""
        reason = f"{word} positive decisions" if word else "a label is missing; another too"
        missing = [metric for metric in ("dp", "eo") if np.isnan(values[metric])]
        row["undefined"] = "; ".join(f"{metric}: {reason}" for metric in missing)
        rounds.append(row)
        header = "column group n n_label_1 n_selected n_labelled n_selected_label_0"
        header += (
            " n_selected_label_1 selection_rate true_positive_rate false_positive_rate accuracy"
        )
        groups += [
            {"round": t, "task": name, **dict(zip(header.split(), g, strict=True))}
            for g in group_rows
        ]
    write_csv(path / "rounds.csv", rounds)
    write_csv(path / "groups.csv", groups)
    if timings:
        seconds = [{"round": row["round"], "seconds": 1.25, "iterations": 300} for row in rounds]
        write_csv(path / "timings.csv", seconds)
    summary = {"status": status, "rounds": num_rounds, "seconds": 51.25}
    numbers = [{k: v for k, v in row.items() if not isinstance(v, str)} for row in rounds]
    summary["all"] = summarise(numbers)["all"]["columns"]
    pooled = {"dp": 0.871, "dp_low": 0.84, "dp_high": 0.902, "eo": 0.8, "eo_low": 0.7}
    pooled |= {"eo_high": 0.9, "disc": 0.064, "disc_low": 0.05, "disc_high": 0.078}
    pooled |= {"accuracy": 0.7, "balanced_accuracy": 0.702, "balanced_accuracy_low": 0.69}
    summary |= {"pooled": pooled | {"balanced_accuracy_high": 0.71}}
    schema = tuple(SensitiveColumn(c["name"], tuple(c["groups"])) for c in columns)
    tables = make_tables(groups, columns, num_rounds)
    summary["by_column"] = plain(by_column(tables, schema))
    asked = [("demographic-parity", 0.02 if names else None)]
    summary["answer"] = plain(answer(tables, schema, asked))
    said = rng.beta(2, 2, 3000)
    counts = reliability_counts(said, rng.random(3000) < 0.2 + 0.7 * said)
    summary["reliability"] = reliability(counts)
    summary["collapsed_rounds"] = sum(row["collapsed"] == "True" for row in rounds)
    (path / "summary.json").write_text(json.dumps(summary))
    (path / "config.json").write_text(json.dumps(make_config(columns, names)))
    return path


def make_tables(groups, columns, num_rounds):
    """Count the same rows by group, label and decision."""
    tables = {c["name"]: np.zeros((num_rounds, len(c["groups"]), 2, 2), int) for c in columns}
    order = {(c["name"], g): i for c in columns for i, g in enumerate(c["groups"])}
    for row in groups:
        place = row["round"] - 1, order[row["column"], row["group"]]
        ones, zeros = row["n_label_1"], row["n"] - row["n_label_1"]
        chosen = np.array([row["n_selected_label_0"], row["n_selected_label_1"]])
        tables[row["column"]][place] = np.stack([[zeros, ones] - chosen, chosen], 1)
    return tables


def make_config(columns, names):
    return {
        "ffml_version": "0.1.0",
        "created": "2024-05-06T07:08:09",
        "command": "ffml run adult --method ffml --max-gap 0.02",
        "data": {
            "name": "adult",
            "summary": "Census records, one task per country of birth; who earns over 50,000?",
            "num_tasks": 41,
            "label": "income over 50K",
            "sensitive": list(columns),
            "features": 14,
            "citation": "Kohavi 1996, doi:10.24432/C5XW20",
            "licence": "CC BY 4.0",
        },
        "method": "ffml",
        "method_summary": "Meta-learned pair of parameters and multipliers.",
        "model": "mlp",
        "notions": ["demographic-parity"],
        "max_gap": [0.02] if names else None,
        "seed": 0,
        "rounds": None,
        "wrappers": ["corrected"],
        "recipe": {
            "method": "ffml",
            "wrappers": ["corrected"],
            "settings": {"inner": "gradient", "inner.lr": 0.001, "radius": 1e6},
        },
        "settings": {
            "inner": "gradient",
            "inner.lr": 0.001,
            "inner.num_steps": 5,
            "outer": "pooled",
            "radius": 1e6,
            "model": "mlp",
        },
        "versions": {"python": "3.11.2", "jax": "0.7.0", "numpy": "2.0.0"},
        "devices": 2,
    }


# -- reading the page ------------------------------------------------------------------------


class Page(HTMLParser):
    """Well-formed or an assertion fails; keeps tags, ids and the cells of each table."""

    def __init__(self, html):
        super().__init__()
        self.stack, self.tags, self.text, self.tables = [], [], [], []
        self.feed(html)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if "style" not in self.stack:
            self.text.append(data)
        if "td" in self.stack or "th" in self.stack:
            self.tables[-1][-1][-1] += data

    def having(self, tag, **attributes):
        return [a for t, a in self.tags if t == tag and attributes.items() <= a.items()]

    @property
    def words(self):
        return " ".join("".join(self.text).split())

    def table(self, *headers):
        [found] = [rows for rows in self.tables if set(headers) <= set(rows[0])]
        return found


def page_of(run_dir):
    return Page(write_report(run_dir).read_text(encoding="utf-8"))


def chart_html(html, key):
    start = html.index(f'id="chart-{key}"')
    return html[start : html.index("</figure>", start)]


def crosses(html, key):
    """Count the marks of undefined rounds in a chart (the legend's sample is no <use>)."""
    return len(re.findall(r"<use [^>]*var\(--missing\)", chart_html(html, key)))


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("report") / "run")


@pytest.fixture(scope="module")
def html(run_dir):
    return write_report(run_dir).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


# -- the usual run ---------------------------------------------------------------------------


def test_asks_for_nothing_from_elsewhere(html, page):
    for tag, attributes in page.tags:
        assert tag not in ("script", "link", "iframe", "img", "object", "base")
        for name in ("src", "href", "srcset", "action", "data", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    assert "url(http" not in html and "@import" not in html and "://" not in html


def test_ids_are_unique_and_links_lead_somewhere(page):
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for _, a in page.tags if "href" in a} <= set(ids)


def test_clip_paths_lead_somewhere(html):
    used = set(re.findall(r"url\(#([^)]*)\)", html))
    assert used and used <= set(re.findall(r'id="([^"]*)"', html))


def test_all_charts_are_there_and_described(page):
    assert [a["id"] for a in page.having("figure")] == [
        f"chart-{key}" for key in CHARTS + MORE_CHARTS + CONSTRAINT_CHARTS
    ]
    labels = [a["aria-label"] for a in page.having("svg", role="img")]
    assert len(labels) == 10 and len(set(labels)) == 10
    assert "41 rounds" in labels[0] and "Undefined in 4 rounds." in labels[0]
    for attributes in page.having("svg"):
        assert attributes.get("role") == "img" or attributes.get("aria-hidden") == "true"


def test_undefined_rounds_are_crossed(html):
    assert crosses(html, "dp") == 4 and crosses(html, "constraint") == 3
    assert crosses(html, "loss") == crosses(html, "multiplier") == 0
    assert "undefined (4)" in chart_html(html, "dp")


def test_headers_have_a_scope(page):
    assert all(a.get("scope") in ("col", "row", "colgroup") for a in page.having("th"))


def test_summary_in_words(page, run_dir):
    summary = json.loads((run_dir / "summary.json").read_text())
    last = summary["all"]
    for metric in ("dp", "eo"):
        assert f"averaged {last[metric]['mean']:.3f}" in page.words
    with (run_dir / "rounds.csv").open(newline="") as file:
        dp = [row["dp"] for row in csv.DictReader(file)]
    spread = np.std([float(value) for value in dp if value], ddof=1)
    assert f"(standard deviation {spread:.3f}; 1 means equal rates)" in page.words
    found = summary["by_column"]["sex"]
    share = found["dp"]["mean"] / found["dp"]["ceiling"]
    assert found["dp"]["of_ceiling"] == share
    assert f"{100 * share:.0f} % of the noise ceiling" in page.words
    [gap] = found["gaps"]["demographic-parity"]
    assert f"a typical gap of {100 * gap['typical']:.1f} points (95 %" in page.words
    assert f"a long-run gap of {100 * gap['long_run']:.1f} points (95 %" in page.words
    assert "pooled it is 0.871 (interval 0.840 to 0.902)" in page.words
    assert "a gap of 6.4 percentage points (5.0 to 7.8)" in page.words
    why = "no positive decisions: 3, only positive decisions: 1"
    assert f"demographic parity in 4 of 41 ({why})" in page.words
    assert "In 4 rounds everybody received the same decision" in page.words
    assert "interrupted" not in page.words
    assert "is fair" not in page.words and "fair model" not in page.words


def test_no_gap_beyond_chance_is_not_shown_as_no_gap(run_dir, tmp_path):
    copy = shutil.copytree(run_dir, tmp_path / "copy")
    summary = json.loads((copy / "summary.json").read_text())
    [column] = summary["answer"]["notions"][0]["columns"]
    column["typical"] |= {"value": 0.0, "low": 0.0, "high": 0.123}
    (copy / "summary.json").write_text(json.dumps(summary))
    words = page_of(copy).words
    assert "≤ 12.3 points" in words and "0.0 points" not in words
    assert "leaves room for 12.3 points" in words


def test_rounds_within_bounds(page, run_dir):
    with (run_dir / "rounds.csv").open(newline="") as file:
        g = [row["constraint:demographic-parity[sex=Male]"] for row in csv.DictReader(file)]
    measured = [float(value) for value in g if value]
    within = sum(value <= 0 for value in measured)
    assert f"{within} of {len(measured)} rounds had all measured gaps within" in page.words
    [total] = page.table("Constraint", "Last\xa0λ")[1:]
    assert total[1] == f"{within} of {len(measured)}" and len(measured) == 38
    assert total[2] == f"{max(measured):.3f}"
    assert float(total[5]) == pytest.approx(sum(g for g in measured if g > 0), abs=6e-4)
    assert float(total[4].replace("−", "-")) == pytest.approx(sum(measured), abs=6e-4)


def test_the_page_begins_with_the_answer(page, run_dir):
    """Ratios of small tasks, ceilings and λ come after."""
    answer = json.loads((run_dir / "summary.json").read_text())["answer"]
    low, high = sorted(f"{100 * g['rate']:.1f} of 100" for g in rates_of(answer))
    order = [
        "Asked for: demographic parity within 2 points",
        answer["notions"][0]["verdict"],
        f"Of {answer['people']:,} people decided so far, {high} Male and {low} Female were decided",
        "Within tasks by sex, Male above Female: a long-run gap of",
        f"balanced accuracy {answer['balanced_accuracy']:.3f}",
        f"{100 * answer['label_share']:.1f} of 100 labels",
        "noise ceiling",
        "Multipliers λ",
    ]
    places = [page.words.index(words) for words in order]
    assert places == sorted(places)


def rates_of(part):
    return part["notions"][0]["columns"][0]["facts"][0]["groups"]


def test_without_fairness_is_shown_where_the_run_knows_it(run_dir, tmp_path):
    copy = shutil.copytree(run_dir, tmp_path / "copy")
    summary = json.loads((copy / "summary.json").read_text())
    summary["without_fairness"] = {
        "balanced_accuracy": 0.81, "accuracy": 0.8, "positive_share": 0.25,
        "gap": 0.154, "ratio": 0.7, "typical": 0.16,
    }  # fmt: skip
    (copy / "summary.json").write_text(json.dumps(summary))
    words = page_of(copy).words
    assert "The same learner without fairness: 15.4 points apart, the lowest rate 70.0 %" in words
    assert "Balanced accuracy 0.810, accuracy 0.800, 25.0 of 100 decisions positive." in words
    assert "without fairness" not in page_of(run_dir).words


def test_task_names_stand_on_the_axes(html):
    shown = re.findall(r">(tract \d+)</text>", chart_html(html, "dp"))
    assert len(shown) == 7 and shown[0] == "tract 1" and shown[-1] == "tract 41"
    assert "probability" in chart_html(html, "reliability")


def test_groups_are_pooled_by_count(page):
    """Drawn again from the same seed: rates of the rows themselves, not of the rounds."""
    rng = np.random.default_rng(0)
    n = selected = positives = true_positives = 0
    for t in range(1, 42):
        _, _, _, groups = make_round(rng, (SEX,), t in (3, 17, 30), t == 9)
        rng.random(), rng.normal(), rng.normal(size=1)  # loss, dbc, g
        male = groups[1]
        n, positives, selected = n + male[2], positives + male[3], selected + male[4]
        true_positives += male[7]
    header, _, row = page.table("Group", "Selection rate")
    row = dict(zip(header, row, strict=True))
    assert (row["Group"], row["Rows"]) == ("Male", f"{n:,}")
    assert row["Selection rate"] == f"{selected / n:.3f}"
    assert row["True positive rate"] == f"{true_positives / positives:.3f}"


def test_worst_tasks_add_most_to_the_typical_gap(page, run_dir):
    header, *rows = page.table("Gap, points")
    assert header[:4] == ["Round", "Task", "Group", "Gap, points"] and len(rows) == 8
    groups = list(csv.DictReader((run_dir / "groups.csv").read_text().splitlines()))
    for group in groups:
        for name, cell_ in group.items():
            if name not in ("task", "column", "group"):
                value = float(cell_ or "nan")
                group[name] = int(value) if name == "round" or name[0] == "n" else value
    gaps = round_gaps(make_tables(groups, (SEX,), 41)["sex"])
    added = np.nan_to_num(typical_weights(gaps.rows) * gaps.square)[:, 0]
    assert [int(row[0]) for row in rows] == [1 + i for i in np.argsort(-added)[:8]]
    shown = [float(row[3].replace("−", "-")) for row in rows]
    assert shown == pytest.approx([100 * gaps.gap[int(row[0]) - 1, 0] for row in rows], abs=0.06)
    assert {row[2] for row in rows} == {"sex: Male against Female"}


def test_every_column_is_reported_and_the_most_uneven_one_heads_the_page(tmp_path):
    noise = {"name": "noise", "groups": ["common", "rare"]}
    page = page_of(make_run(tmp_path, columns=(SEX, noise), num_rounds=60))
    _, *gaps = page.table("Typical gap")
    compared = ["sex: Male against Female", "noise: rare against common"]
    assert [row[1] for row in gaps[:2]] == compared and len(gaps) == 6
    _, *ratios = page.table("Ratio", "Mean ceiling")
    assert [row[0] for row in ratios] == ["DP, sex", "EO, sex", "DP, noise", "EO, noise"]
    assert "Typical gap by sex" in page.words and "Typical gap by noise" not in page.words
    assert "Within tasks by noise, " in page.words


def test_every_round_is_listed(page):
    _, *rows = page.table("Validation", "Undefined because")
    assert [row[0] for row in rows] == [str(t) for t in range(1, 42)]
    assert rows[2][5] == "—" and "no positive decisions" in rows[2][-1]
    assert "very long official name" in rows[4][1]
    assert len(page.having("details")) == 2
    assert len(page.table("Round", "demographic-parity[sex=Male]")) == 43


def test_of_very_many_rounds_the_last_are_listed_and_neighbours_drawn_together(tmp_path):
    make_run(tmp_path, num_rounds=900, undefined=(3,), collapsed=())
    html = write_report(tmp_path).read_text(encoding="utf-8")
    _, *rows = Page(html).table("Validation", "Undefined because")
    assert [row[0] for row in rows] == [str(t) for t in range(501, 901)]
    assert "The last 400 rounds; rounds.csv has all." in html
    assert html.count("Neighbouring rounds are drawn as their mean.") == 9


def test_neighbours_are_drawn_as_the_mean_of_what_is_known():
    values = np.tile([1.0, np.nan, 3.0, 5.0], 200)
    values[:2] = np.nan
    names = tuple(map(str, range(800)))
    series = [Series("a", values, low=values - 1, high=values + 1)]
    chart = Chart("k", "t", "c", np.arange(1, 801), series, np.isnan(values), names=names)
    drawn = condensed(chart)
    assert np.isnan(drawn.series[0].values[0]) and drawn.series[0].values[1:4].tolist() == [4, 1, 4]
    assert drawn.series[0].high[1] == 5 and drawn.undefined[:3].tolist() == [True, False, True]
    assert drawn.places[:3].tolist() == [1, 3, 5] and drawn.names[1] == "2"


def test_settings_and_versions(page):
    for text in ("inner.num_steps", "1e+06", "doi:10.24432/C5XW20", "CC BY 4.0", "0.7.0", "51.2"):
        assert text in page.words


def test_same_files_same_bytes(run_dir, html, tmp_path):
    """Another directory, another process, another matplotlib state."""
    copy = shutil.copytree(run_dir, tmp_path / "copy")
    code = (
        "import sys, pathlib, matplotlib; matplotlib.rcParams['lines.linewidth'] = 9;"
        "from ffml.report import write_report; write_report(pathlib.Path(sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", code, str(copy)], check=True)
    assert (copy / "report.html").read_bytes() == html.encode()


def test_import_is_cheap():
    code = (
        "import sys, ffml.report; print([m for m in ('matplotlib', 'jinja2') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


# -- unusual runs ----------------------------------------------------------------------------


def test_interrupted_run_says_so_at_the_top(tmp_path):
    words = page_of(make_run(tmp_path, num_rounds=7, status="interrupted", undefined=())).words
    notice = words.index("This run was interrupted. The page covers the 7 rounds")
    assert notice < words.index("learned to predict")
    assert "of 41." in words
    assert "Both ratios could be measured in every round." in words


def test_one_round(tmp_path):
    run = make_run(tmp_path, num_rounds=1, undefined=(), collapsed=())
    page = page_of(run)
    assert "in 1 round, one task each" in page.words
    assert "people decided in rounds 1 to 1" in page.words
    assert "that takes 5 tasks or more" in page.words
    assert "(1 means equal rates)" in page.words  # one round has no standard deviation
    dot = chart_html((run / "report.html").read_text(encoding="utf-8"), "dp")
    assert re.search(r"<use [^>]*var\(--c1\)", dot)  # a line of one point would not show


def test_metric_undefined_in_every_round(tmp_path):
    run = make_run(tmp_path, num_rounds=6, undefined=range(1, 7))
    page = page_of(run)
    html = (run / "report.html").read_text(encoding="utf-8")
    assert crosses(html, "dp") == 6 and "undefined in every round" in chart_html(html, "dp")
    assert "The ratio of the groups’ selection rates is undefined in every round" in page.words
    assert "cannot be told yet: no positive decisions" in page.words
    assert "No round shows a gap in selection rates beyond" in page.words
    assert "nan" not in page.words.lower()


def test_two_columns_five_groups_three_constraints(tmp_path):
    names = [f"demographic-parity[{c}]" for c in ("sex=Male", "race=A", "race=B")]
    page = page_of(make_run(tmp_path, columns=(SEX, RACE), names=names))
    tables = [rows for rows in page.tables if "Selection rate" in rows[0]]
    assert [[row[0] for row in rows[1:]] for rows in tables] == [SEX["groups"], RACE["groups"]]
    header = page.table("Round", *names)
    assert len(header[2]) == 2 + 4 * 3
    [label] = [
        a["aria-label"] for a in page.having("svg", role="img") if "Multip" in a["aria-label"]
    ]
    assert all(name in label for name in names)


def test_no_constraint_and_no_timings(tmp_path):
    page = page_of(make_run(tmp_path, num_rounds=4, names=(), timings=False))
    assert [a["id"] for a in page.having("figure")] == [
        f"chart-{key}"
        for key in CHARTS[:4] + MORE_CHARTS  # nothing was asked for: no evidence
    ]
    assert "given no fairness constraint" in page.words
    assert "Iterations" not in page.words


def test_everything_is_escaped(tmp_path):
    column = {"name": NASTY, "groups": [NASTY + "0", NASTY + "1"]}
    run = make_run(tmp_path, 5, (column,), names=(f"dp[{NASTY}]",), task=NASTY, undefined=(2,))
    config = json.loads((run / "config.json").read_text())
    config |= {"method": NASTY, "method_summary": NASTY, "settings": {NASTY: NASTY}}
    config["data"] |= {"name": NASTY, "citation": NASTY}
    (run / "config.json").write_text(json.dumps(config))
    page = page_of(run)
    assert not page.having("script")
    assert page.words.count(" ".join(NASTY.split())) > 30
    [label] = [
        a["aria-label"] for a in page.having("svg", role="img") if "Multip" in a["aria-label"]
    ]
    assert NASTY in label


def test_task_names_that_look_like_missing_values(tmp_path):
    run = make_run(tmp_path, 3, task="NA", undefined=(), timings=False)
    text = (run / "rounds.csv").read_text()
    (run / "rounds.csv").write_text(text.replace("NA 1", "NA").replace("NA 2", '"nan\nnull"'))
    _, *rows = page_of(run).table("Validation", "Undefined because")
    assert [row[1] for row in rows] == ["NA", "nan\nnull", "NA 3"]


@pytest.mark.parametrize("name", ["config.json", "rounds.csv", "groups.csv", "summary.json"])
def test_missing_file_is_named(run_dir, tmp_path, name):
    copy = shutil.copytree(run_dir, tmp_path / "copy")
    (copy / name).unlink()
    with pytest.raises(FFMLError, match=rf"{name} is missing: .*run"):
        write_report(copy)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("config.json", "{", "not valid JSON"),
        ("config.json", '{"data": "x"}', "has a damaged 'data'"),
        ("config.json", '{"max_gap": [null]}', "has a damaged 'max_gap'"),
        ("config.json", '{"data": {"num_tasks": "x"}}', "has a damaged 'num_tasks'"),
        ("summary.json", "[]", "must hold a JSON object"),
        ("summary.json", "{}", "lacks the rounds' means"),
        ("summary.json", '{"all": {"accuracy": {}}}', "nothing of each protected column"),
        ("summary.json", '{"all": 1}', "has a damaged 'all'"),
        ("summary.json", '{"pooled": []}', "has a damaged 'pooled'"),
        ("summary.json", '{"all": {"accuracy": {}}, "by_column": {"a": 1}}', "'by_column'"),
        ("summary.json", "\xff", "cannot be read"),
        ("config.json", '{"data": []}', "has a damaged 'data'"),
        ("config.json", '{"wrappers": "evened"}', "has a damaged 'wrappers'"),
        ("config.json", '{"recipe": {"settings": [1]}}', "has a damaged 'settings'"),
        ("config.json", '{"data": {"sensitive": [1]}}', "has a damaged 'sensitive'"),
        ("config.json", '{"bound": ["a"]}', "has a damaged 'max_gap'"),
        ("rounds.csv", "round,task\n1,a\n", "lacks the column"),
        ("rounds.csv", "", "lacks the column"),
        ("groups.csv", "round,column,group,n,n_label_1,n_selected\n1,sex\n", "not whole"),
        ("timings.csv", "round,seconds\n1,soon\n", "'seconds'.*something else than numbers"),
    ],
)
def test_damaged_file_is_explained(run_dir, tmp_path, name, text, message):
    copy = shutil.copytree(run_dir, tmp_path / "copy")
    (copy / name).write_bytes(text.encode("latin-1"))
    with pytest.raises(FFMLError, match=message):
        write_report(copy)


@pytest.mark.parametrize("key", ["all", "pooled", "by_column", "answer", "reliability"])
def test_a_summary_with_words_for_numbers_is_refused(run_dir, tmp_path, key):
    copy = shutil.copytree(run_dir, tmp_path / "copy")
    summary = json.loads((copy / "summary.json").read_text())
    summary[key] = json.loads(re.sub(r": -?[0-9.e-]+", ': "x"', json.dumps(summary[key])))
    (copy / "summary.json").write_text(json.dumps(summary))
    if key == "all":  # the page has no use for it
        write_report(copy)
        return
    with pytest.raises(FFMLError, match=r"summary\.json has"):
        write_report(copy)


def test_no_round_yet_and_no_directory(run_dir, tmp_path):
    copy = shutil.copytree(run_dir, tmp_path / "copy")
    header = (copy / "rounds.csv").read_text().splitlines()[0]
    (copy / "rounds.csv").write_text(header + "\n")
    with pytest.raises(FFMLError, match="no rounds yet"):
        write_report(copy)
    with pytest.raises(FFMLError, match="not a directory"):
        write_report(tmp_path / "nowhere")
