"""A run that never was as the report sees it, and pages read back as a browser would."""

from html.parser import HTMLParser

import numpy as np

from ffml import metrics
from ffml.base import SensitiveColumn
from ffml.metrics.answer import answer
from ffml.metrics.reliability import reliability, reliability_counts
from ffml.metrics.summary import column_summary, summarise
from ffml.recipe.plain import plain
from ffml.report import RunView, Table
from ffml.report.page import report_text

VOID = {"meta", "br", "hr", "img", "link", "input"}
CHARTS = ["rates-0", "gaps-0", "evidence-0"]
RESEARCH = ["dp", "eo", "accuracy", "loss"]
CONSTRAINTS = ["constraint", "multiplier", "violation", "clipped-violation"]
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


def make_run(
    num_rounds=41,
    columns=(SEX,),
    names=("demographic-parity[sex=Male]",),
    undefined=(3, 17, 30),
    collapsed=(9,),
    status="complete",
    task="tract",
):
    """View a run that never was. All values but loss and λ come from drawn rows."""
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
        reason = f"{word} favourable decisions" if word else "a label is missing; another too"
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
    summary = {"status": status, "rounds": num_rounds, "seconds": 51.25}
    numbers = [{k: v for k, v in row.items() if not isinstance(v, str)} for row in rounds]
    summary["all"] = summarise(numbers)["all"]["columns"]
    schema = tuple(SensitiveColumn(c["name"], tuple(c["groups"])) for c in columns)
    tables = make_tables(groups, columns, num_rounds)
    summary["by_column"] = plain({c.name: shown_of(tables[c.name], c) for c in schema})
    asked = [("demographic-parity", 0.02 if names else None)]
    summary["answer"] = plain(answer(tables, schema, asked))
    said = rng.beta(2, 2, 3000)
    counts = reliability_counts(said, rng.random(3000) < 0.2 + 0.7 * said)
    summary["reliability"] = reliability(counts)
    summary["collapsed_rounds"] = sum(row["collapsed"] == "True" for row in rounds)
    config = make_config(columns, names)
    return RunView(config, plain(summary), Table.of(rounds), schema, tables)


def shown_of(tables, column):
    """Summarise a column with ceilings of its own."""
    drawn = [metrics.noise_ceilings(table, num_draws=100) for table in tables]
    ceilings = np.array([[one["dp"], one["eo"]] for one in drawn]).reshape(-1, 2)
    return column_summary(tables, ceilings, column)


def make_tables(groups, columns, num_rounds):
    """Count the same rows by group, label and decision."""
    tables = {c["name"]: np.zeros((num_rounds, len(c["groups"]), 3, 2), int) for c in columns}
    order = {(c["name"], g): i for c in columns for i, g in enumerate(c["groups"])}
    for row in groups:
        place = row["round"] - 1, order[row["column"], row["group"]]
        ones, zeros = row["n_label_1"], row["n"] - row["n_label_1"]
        chosen = np.array([row["n_selected_label_0"], row["n_selected_label_1"]])
        tables[row["column"]][place][:2] = np.stack([[zeros, ones] - chosen, chosen], 1)
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
        if not {"style", "script"} & set(self.stack):
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


def page_of(run):
    """Read a report's page."""
    return Page(report_text(run))


def chart_html(html, key):
    start = html.index(f'id="chart-{key}"')
    return html[start : html.index("</figure>", start)]
