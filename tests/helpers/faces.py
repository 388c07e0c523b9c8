"""Every face of a run held against plain SQL over its ledger: nothing here trusts the package."""

import html
import json
import re
import sqlite3
from contextlib import closing

import pytest
from truth import Truth

import ffml

DP = "demographic-parity"
CODES = {"met": 0, "violated": 1}  # all else is 3


def truth_of(folder):
    """Read everybody decided about from ``run.db``, and the names of the tasks."""
    with closing(sqlite3.connect(folder / "run.db")) as ledger:
        tasks = [name for (name,) in ledger.execute("select task from rounds order by round")]
        query = "select task, groups, decision, label from people where decision is not null"
        rows = [(tasks.index(t), json.loads(g), d, y) for t, g, d, y in ledger.execute(query)]
    names = rows[0][1]
    return Truth({c: sorted({groups[c] for _, groups, *_ in rows}) for c in names}, rows), tasks


def agree(folder, run_main, max_gap=0.05, min_ratio=0.8):
    """Ask every face of a run, and compare with the truth; return it and the gate's exit code."""
    truth, tasks = truth_of(folder)
    run = ffml.open(folder)
    hold_answer(run.answer, truth, tasks)
    hold_rounds(run, truth, tasks)
    code = hold_check(run, truth, run_main, max_gap, min_ratio)
    run.write_views()
    hold_views(folder, truth, tasks)
    hold_audits(run, truth, tasks, run_main)
    assert run.verify().sound
    run.close()
    return truth, code


def hold_answer(answer, truth, tasks):
    """Compare an answer's facts with everybody decided about, and with the newest task."""
    people, labelled = truth.people()
    assert (answer["people"], answer["labelled"]) == (people, labelled)
    assert answer["positive_share"] == pytest.approx(share(truth))
    if answer["unmeasured"]:
        assert answer["accuracy"] is None or answer["accuracy"] != answer["accuracy"]
    else:
        assert answer["accuracy"] == pytest.approx(truth.accuracy())
    for notion in answer["notions"]:
        assert {one["column"] for one in notion["columns"]} == {*truth.columns}
        for fact in (fact for column in notion["columns"] for fact in column["facts"]):
            hold_fact(fact, truth)
    at = max(task for task, *_ in truth.rows)
    now, newest = answer["now"], Truth(truth.columns, [row for row in truth.rows if row[0] == at])
    assert (now["task"], now["people"], now["labelled"]) == (tasks[at], *newest.people())
    assert now["positive_share"] == pytest.approx(share(newest))
    for fact in (fact for notion in now["notions"] for fact in notion["facts"]):
        hold_fact(fact, newest, at)


def hold_fact(fact, truth, task=None):
    """Compare the groups' rates, the gap and the ratio of a column."""
    whom = (fact["column"], fact["label"], task)
    rates = truth.rates(*whom)
    groups = [one for one in fact["groups"] if one["people"]]
    assert {one["group"]: one["people"] for one in groups} == {
        group: people for group, (_, people) in rates.items()
    }
    for one in groups:
        assert one["rate"] == pytest.approx(rates[one["group"]][0])
    for name, value in (
        ("gap", truth.gap(*whom)),
        ("ratio", truth.ratio(*whom)),
    ):
        found = fact[name]
        unknown = found is None or found != found
        assert unknown if value is None else found == pytest.approx(value)


def hold_rounds(run, truth, tasks):
    """Compare each round: its people, how often it was right, and the ratio of one column."""
    rounds = run.rounds
    assert rounds.task.tolist() == tasks
    for at, row in enumerate(rounds.itertuples()):
        own = Truth(truth.columns, [one for one in truth.rows if one[0] == at])
        people, known = own.people()
        assert (row.n_validation + row.n_unlabelled, row.n_validation) == (people, known), row.task
        if row.accuracy == row.accuracy:
            assert row.accuracy == pytest.approx(own.accuracy()), row.task
        else:  # no label is known, or only of those decided one way
            assert known < people and "accuracy: " in row.undefined, row.task
        ratios = [own.ratio(column, task=at) for column in truth.columns]
        if len(ratios) == 1 and ratios[0] is not None and row.dp == row.dp:
            assert row.dp == pytest.approx(ratios[0]), row.task


def hold_check(run, truth, run_main, max_gap, min_ratio):
    """Compare the gate's facts; met may be said only of what holds for the people decided about."""
    found = {one.what: one for one in run.check(max_gap=max_gap, min_ratio=min_ratio)}
    gap, ratio = worst(truth)
    said = {"gap": gap, "ratio": ratio}
    for name, value in said.items():
        fact = found[f"{name} ({DP}), so far"]
        assert fact.value == (None if value is None else pytest.approx(value))
        assert all(text in fact.words for text in expected(truth)), fact.words
    limits = ("--max-gap", max_gap, "--min-ratio", min_ratio)
    code, out, _ = run_main("check", run.folder, *limits)
    told = json.loads(run_main("check", run.folder, *limits, "--json")[1])["verdict"]
    assert code == CODES.get(told, 3)
    assert all(text in out for text in expected(truth))
    if code == 0:
        assert gap <= max_gap and ratio >= min_ratio
    return code


def hold_views(folder, truth, tasks):
    """Compare the files: summary, report and card."""
    hold_answer(json.loads((folder / "summary.json").read_text())["answer"], truth, tasks)
    report = html.unescape(re.sub(r"<[^>]+>", "", (folder / "report.html").read_text()))
    card = (folder / "model_card.md").read_text().replace("\\", "").replace("\n", " ")
    answer = json.loads((folder / "summary.json").read_text())["answer"]
    asked = {one["notion"] for one in answer["notions"]}
    for page in (report, card) if DP in asked else ():
        people = f"{truth.people()[0]:,} people"
        said = " ".join(page.split())
        assert all(text in said for text in [people, *expected(truth)[1:]])


def hold_audits(run, truth, tasks, run_main):
    """Audit the run's decisions as a file and in the ledger itself, with and without labels."""
    if len({decision for _, _, decision, _ in truth.rows}) < 2:
        return  # an audit refuses a table in which all decisions are the same
    path = run.folder.parent / "audited.csv"
    run.decisions.to_csv(path, index=False)
    names = [word for name in truth.columns for word in ("--sensitive", name)]
    groups = ", ".join(f"json_extract(groups, '$.{name}') as \"{name}\"" for name in truth.columns)
    query = f"select task, decision, label, {groups} from people where decision is not null"
    sources = [[path], [f"sqlite:///{run.folder / 'run.db'}", "--query", query]]
    label = ["--label", "label"] if truth.people()[1] else []
    for source in sources:
        words = [*source, "--decision", "decision", "--positive", 1, *names, *label]
        code, out, err = run_main("audit", *words, "--task", "task", "--json")
        assert code == 0, err
        document = json.loads(out)
        hold_answer(document["answer"], truth, tasks)
        for name, column in document["by_column"].items():
            ratio = column["ratios"]["dp"]["value"]
            assert ratio is None or ratio == pytest.approx(truth.ratio(name))
    path.unlink()


def hold_first_line(out, folder):
    """Compare what ``ffml update`` says first with the newest task."""
    truth, tasks = truth_of(folder)
    at = max(task for task, *_ in truth.rows)
    newest = Truth(truth.columns, [row for row in truth.rows if row[0] == at])
    people, labelled = newest.people()
    line = next(one for one in out.splitlines() if one.startswith(f"{tasks[at]}: "))
    assert f"{people:,} {'person' if people == 1 else 'people'} decided; " in line
    assert f"; {100 * share(newest):.1f} of 100 were approved" in line
    for column in truth.columns:
        for group, (rate, _) in newest.rates(column, task=at).items():
            assert f"{group} {100 * rate:.1f} of 100" in line
        if (gap := newest.gap(column, task=at)) is not None:
            assert f"gap {100 * gap:.1f} points" in line
    assert (f"labels of {people - labelled:,} due" in line) == (labelled < people)


def share(truth):
    """Return everybody's rate."""
    return truth.ask("select avg(decision) from people")[0][0]


def worst(truth):
    """Return the largest gap and the smallest ratio of any column."""
    gaps = [truth.gap(column) for column in truth.columns]
    ratios = [truth.ratio(column) for column in truth.columns]
    known = [[v for v in values if v is not None] for values in (gaps, ratios)]
    return max(known[0], default=None), min(known[1], default=None)


def expected(truth):
    """Return what the fact has to say: how many people, and the rates furthest apart."""
    people = f"Of {truth.people()[0]:,} people decided so far"
    column = max(truth.columns, key=lambda name: truth.gap(name) or 0.0)
    rates = sorted(rate for rate, _ in truth.rates(column).values())
    ends = {rates[0], rates[-1]} if len(truth.columns) == 1 else set()
    return [people, *(f"{100 * rate:.1f} of 100" for rate in ends)]
