import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from ffml.base import FFMLError, Stream
from ffml.tables import describe, inspect, table_stream
from ffml.tables.inspection._changes import scale_change
from ffml.tables.inspection._inspect import detectable_gap
from ffml.tables.inspection._mistakes import area_under_curve, protected_columns

ROLES = {"label": "y", "sensitive": "sex", "task": "town"}


def people(rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "hours": rng.integers(18, 80, rows),
            "job": rng.choice(["cook", "nurse", "smith"], rows),
            "sex": rng.choice(["F", "M"], rows),
            "y": rng.integers(0, 2, rows),
            "town": rng.choice(["Ulm", "Bonn"], rows),
        }
    )


def inspected(frame, folder, **changes):
    frame.to_csv(folder / "t.csv", index=False)
    return inspect(table_stream(folder / "t.csv", **{**ROLES, **changes}))


def test_sizes_and_rates_are_those_of_the_table(tmp_path):
    frame = people()
    found = inspected(frame, tmp_path)
    for task in (*found.tasks, found.overall):
        rows = frame if task.name == "all tasks" else frame[frame["town"] == task.name]
        assert task.rows == len(rows)
        assert task.positive_rate == pytest.approx(rows["y"].mean())
        assert task.problems == ()
        for group in task.groups:
            own = rows[rows[group.column] == group.group]
            assert group.rows == len(own)
            assert group.positive_rate == pytest.approx(own["y"].mean())
    assert found.mistakes == ()
    assert len(found.fingerprint) == 64
    assert json.loads(json.dumps(found.to_json()))["overall"]["rows"] == 2000


def test_the_detectable_gap_is_detected_in_80_percent_of_samples():
    n1, n0, rate = 300, 900, 0.3
    gap = detectable_gap(rate, n1, n0)
    assert gap == pytest.approx(
        (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * np.sqrt(0.21 * (1 / n1 + 1 / n0)), rel=1e-6
    )
    rng = np.random.default_rng(0)
    one = rng.binomial(n1, rate + gap * 0.75, 20_000) / n1  # a mean of 0.3 over all rows
    other = rng.binomial(n0, rate - gap * 0.25, 20_000) / n0
    pooled = (one * n1 + other * n0) / (n1 + n0)
    z = (one - other) / np.sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n0))
    assert (np.abs(z) > stats.norm.ppf(0.975)).mean() == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize(("rate", "n1", "n0"), [(0.0, 9, 9), (1.0, 9, 9), (0.5, 0, 9), (0.5, 1, 1)])
def test_where_no_gap_can_be_detected(rate, n1, n0):
    assert detectable_gap(rate, n1, n0) is None


def test_only_judging_rows_count_for_the_gap(tmp_path):
    frame = people()
    frame.to_csv(tmp_path / "t.csv", index=False)
    stream = table_stream(tmp_path / "t.csv", **ROLES)
    counts = frame["sex"].value_counts()
    found = inspect(stream, validation_fraction=0.25)
    expected = detectable_gap(frame["y"].mean(), counts["F"] / 4, counts["M"] / 4)
    assert found.overall.detectable_gap == pytest.approx(expected)
    with pytest.raises(FFMLError, match="validation_fraction must be between 0 and 1, got 1"):
        inspect(stream, validation_fraction=1)


def test_of_several_groups_the_comparison_that_needs_most_counts(tmp_path):
    frame = people().assign(sex=lambda f: np.where(np.arange(len(f)) % 100 == 0, "X", f["sex"]))
    found = inspected(frame, tmp_path)
    assert [g.rows for g in found.overall.groups][2] == 20
    expected = detectable_gap(frame["y"].mean(), 10, 990)
    assert found.overall.detectable_gap == pytest.approx(expected)


@pytest.mark.parametrize("ties", [True, False])
def test_area_under_curve_agrees_with_scikit_learn(ties):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 500)
    scores = rng.normal(size=500) + labels
    scores = scores.round() if ties else scores
    assert area_under_curve(scores, labels) == pytest.approx(roc_auc_score(labels, scores))


MISTAKES = {
    "label leaks as number": (
        lambda f: f.assign(paid=f["y"] * 100 + f["hours"] % 7),
        "feature 'paid' alone tells the label almost perfectly (AUC 1.000): is it known before the "
        "decision? If not, drop it (--drop paid)",
    ),
    "label leaks downwards": (
        lambda f: f.assign(left=-f["y"]),
        "feature 'left' alone tells the label almost perfectly (AUC 1.000): is it known before the "
        "decision? If not, drop it (--drop left)",
    ),
    "label leaks as categories": (
        lambda f: f.assign(status=[("a", "b", "c", "d")[2 * y + i % 2] for i, y in enumerate(f.y)]),
        "feature 'status' alone tells the label almost perfectly (AUC 1.000): is it known before "
        "the decision? If not, drop it (--drop status)",
    ),
    "sensitive column under another name": (
        lambda f: f.assign(title=f["sex"].map({"F": "Mrs", "M": "Mr"})),
        "feature 'title' tells sex=M almost perfectly (AUC 1.000): is it the sensitive column "
        "under another name? If so, drop it (--drop title)",
    ),
    "id": (
        lambda f: f.assign(number=np.arange(len(f))[::-1] + 1000),
        "feature 'number' is a different whole number in every row looked at, like an id; drop it "
        "(--drop number)",
    ),
    "another protected column": (
        lambda f: f.assign(age=f["hours"] + 1),
        "feature 'age' may be a protected attribute: may decisions go by it? If not, compare "
        "groups by it (--sensitive) or leave it out (--drop)",
    ),
    "two other protected columns": (
        lambda f: f.assign(age=f["hours"] + 1, MaritalStatus=f["hours"] % 3),
        "features 'age', 'MaritalStatus' may be protected attributes: may decisions go by them? If "
        "not, compare groups by them (--sensitive) or leave them out (--drop)",
    ),
    "one group in two spellings": (
        lambda f: f.assign(sex=np.where(f["hours"] == 33, f["sex"].str.lower(), f["sex"])).query(
            "sex != 'm'"
        ),
        "sensitive column 'sex' tells 'F', 'f' apart: are they one? If so, spell them alike",
    ),
    "one category in two spellings": (
        lambda f: f.assign(shift=np.where(f["hours"] % 3 == 1, "part-time", "Part time")),
        "feature 'shift' tells 'Part time', 'part-time' apart: are they one? If so, spell them "
        "alike",
    ),
    "other unit": (
        lambda f: f.assign(
            pay=np.where(f["town"] == f["town"][0], 1000.0, 1.0) * (30.5 + f["hours"] % 7)
        ),
        "feature 'pay' is about 1,000 times smaller in task 'Ulm' than in 'Bonn': has its unit "
        "changed? Bring all tasks to one unit",
    ),
    "values that come back, but too many": (
        lambda f: f.assign(client=[f"client {i % 900}" for i in range(len(f))]),
        "feature 'client' has so many values that most rows count as (other); group its values, or "
        "drop it if it is an id (--drop client)",
    ),
    "constant": (
        lambda f: f.assign(country="de"),
        "feature 'country' has the same value in all rows looked at; drop it (--drop country)",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_likely_mistakes(tmp_path, case):
    change, message = MISTAKES[case]
    found = inspected(change(people()), tmp_path)
    assert found.mistakes == (message,)
    assert describe(found)[-2:] == ["Likely mistakes:", f"  {message}"]


def test_numbers_for_groups_are_a_likely_mistake_and_fill_no_page(tmp_path):
    frame = people().assign(years=lambda f: f["hours"] % 40 + 20)
    found = inspected(frame, tmp_path, sensitive=("sex", "years"))
    (message,) = found.mistakes
    assert message.startswith("sensitive column 'years' has 40 numbers for groups")
    assert "make bands of them" in message and message.endswith("(--drop years)")
    lines = describe(found)
    assert max(map(len, lines)) < 300 and "  (--json lists rows by group)" in lines
    bands = frame.assign(years=frame.years // 10)
    assert inspected(bands, tmp_path, sensitive=("sex", "years")).mistakes == ()


@pytest.mark.parametrize(("value", "which"), [(1, "favourable"), (0, "unfavourable")])
def test_labels_of_those_decided_in_one_way_are_a_likely_mistake(tmp_path, value, which):
    frame = people()
    known = (frame.town == "Bonn") | (frame.y == value)
    frame["y"] = frame.y.where(known).astype("Int64")
    (message,) = inspected(frame, tmp_path).mistakes
    assert message.startswith(
        f"all known labels are {which} in 1 of 2 tasks (Ulm), and {(~known).sum()} people there "
        "have none: does it depend on the decision who has one?"
    )
    stream = table_stream(tmp_path / "t.csv", **ROLES)
    assert inspect(stream, label_delay=1).mistakes == ()


def test_a_number_that_drifts_or_has_outliers_does_not_change_its_unit():
    rng = np.random.default_rng(0)
    pay = rng.lognormal(8, 1, 200)
    assert scale_change((str(t), pay * 3**t) for t in range(9)) is None
    assert scale_change([("a", pay), ("b", np.r_[pay[:60], pay[60:80] * 1e6])]) is None
    assert scale_change([("a", pay), ("few", pay[:19] / 1000), ("b", pay)]) is None
    zeros = np.zeros(500)
    found = scale_change([("a", np.r_[pay, zeros]), ("few", pay[:9]), ("b", -100 * pay)])
    assert found is not None
    assert (found.before, found.after) == ("a", "b")
    assert found.factor == pytest.approx(100)


def test_names_of_protected_columns():
    named = ["sex", "Gender", "applicant_race", "AGE", "ageGroup", "date_of_birth", "maritalStatus"]
    named += ["native-country", "is_disabled", "Religion", "ETHNICITY", "personSex", "age_years"]
    assert protected_columns(named) == named
    others = ["mileage", "usage", "page_views", "raceway", "average", "income", "country", "x0"]
    assert protected_columns(others) == []


def test_strong_but_honest_features_are_not_mistakes(tmp_path):
    rng = np.random.default_rng(0)
    frame = people().assign(score=lambda f: f["y"] * 2 + rng.normal(size=len(f)))
    assert roc_auc_score(frame["y"], frame["score"]) > 0.9
    assert inspected(frame, tmp_path).mistakes == ()


def test_in_plain_words(tmp_path):
    lines = ["score,sex,y,town"]
    for town, groups, labels in (
        ("Ulm", "FM" * 20, "0011" * 10),
        ("Bonn", "FFM", "010"),
        ("Jena", "M" * 40, "1" * 40),
    ):
        rows = zip(groups, labels, strict=True)
        lines += [f"{i % 5},{sex},{y},{town}" for i, (sex, y) in enumerate(rows)]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    found = inspect(table_stream(tmp_path / "t.csv", **ROLES))
    assert describe(found) == [
        f"{tmp_path}/t.csv: 83 rows in 3 tasks of 3 to 40 rows (median 40), 1 feature.",
        "Label 'y': 73.5% favourable (y = 1).",
        "sex=F: 26.5% of the rows, 50.0% of them favourable.",
        "sex=M: 73.5% of the rows, 82.0% of them favourable.",
        "Tasks in the order in which they are played:",
        "  1. Ulm: 40 rows, 50.0% favourable; rows (favourable) by group: sex=F 20 (50.0%), "
        "sex=M 20 (50.0%)",
        "  2. Bonn: 3 rows, 33.3% favourable; rows (favourable) by group: sex=F 2 (50.0%), sex=M 1 "
        "(0.0%)",
        "  3. Jena: 40 rows, 100.0% favourable; rows (favourable) by group: sex=F 0 (-), sex=M 40 "
        "(100.0%)",
        "2 of 3 tasks cannot be judged in full:",
        "  fewer than 30 rows: 1 task (Bonn)",
        "  no row of another label than the favourable one: 1 task (Jena)",
        "  no row of sex=F: 1 task (Jena)",
        "Smallest gap between groups' decision rates that these sizes can show, over all tasks "
        "together: 43.5 points.",
        "Within one task: 62.6 to 62.6 points (median 62.6).",
        "In 2 tasks, no gap between groups can be shown at all.",
        "  (95 % confidence, 80 % power: 2.80 √(p(1−p)(1/n₁+1/n₀)), p the share of favourable "
        "labels, n₁ and n₀ the rows compared; 50% of the rows judge decisions.)",
        "No likely mistakes found among the features.",
    ]


def test_many_tasks_and_dropped_rows(tmp_path):
    frame = people().assign(town=lambda f: [f"t{i % 50}" for i in range(len(f))])
    frame.loc[:2, "sex"] = None
    found = inspected(frame, tmp_path, drop_missing=True)
    lines = describe(found)
    assert "Left out: 3 rows without task, sensitive value or id." in lines
    assert "  ... and 30 more (--json lists all)" in lines


def test_any_stream_can_be_inspected(make_stream):
    stream = make_stream()
    found = inspect(stream)
    assert [task.rows for task in found.tasks] == [60, 1, 200, 7, 500]
    assert found.fingerprint is None
    empty = Stream("empty", stream.schema, lambda: iter(()), 0)
    with pytest.raises(FFMLError, match="empty has no tasks; at least one is needed"):
        inspect(empty)


def test_rows_that_were_entered_twice(tmp_path):
    frame = people()
    frame["income"] = np.random.default_rng(1).normal(size=len(frame)).round(6)
    assert inspected(frame, tmp_path).mistakes == ()
    doubled = pd.concat([frame, frame[:100]])
    (found,) = inspected(doubled, tmp_path).mistakes
    assert found.startswith("100 of 2,100 rows are the same as another one of their task in every")
    assert "though 'income' tells most rows apart" in found
    # People who are alike in a few columns are not the same person.
    assert inspected(people(), tmp_path).mistakes == ()


def test_numbers_with_a_stray_text_are_noticed(tmp_path):
    rows = [f"{i % 30},{'FM'[i % 2]},{i // 2 % 2},a" for i in range(200)]
    rows[7] = rows[7].replace("7,", "n/a!,", 1)
    (tmp_path / "t.csv").write_text("\n".join(["pay,sex,y,town", *rows]))
    stream = table_stream(tmp_path / "t.csv", label="y", sensitive="sex", task="town")
    assert (
        "feature 'pay' is taken as categories since it holds 'n/a!': are the others numbers? If "
        "so, correct what is no number, or leave it empty"
    ) in inspect(stream).mistakes


def test_rows_without_labels_are_counted_and_not_compared():
    frame = pd.DataFrame(
        {
            "age": range(80),
            "sex": ["F", "M"] * 40,
            "y": [0, 0, 1, None] * 10 + [None] * 40,
            "town": ["a"] * 40 + ["b"] * 40,
        }
    )
    found = inspect(table_stream(frame, label="y", sensitive="sex", task="town"))
    assert (found.overall.rows, found.overall.unlabelled) == (80, 50)
    assert found.overall.positive_rate == pytest.approx(1 / 3)
    assert [task.positive_rate for task in found.tasks] == [pytest.approx(1 / 3), None]
    assert "no label is known yet" in found.tasks[1].problems
    lines = describe(found)
    assert any("50 rows without a label: people to be decided" in line for line in lines)
    assert not any("can be shown at all" in line for line in lines)  # it is not known yet
