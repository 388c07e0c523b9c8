"""Every example runs by itself, is short, and ends by saying something that can be checked."""

import json
import re
from pathlib import Path

import pytest
from pages import printed_by
from quick import sets

from ffml.methods import METHODS

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def decisions_were_made(lines):
    selected, total = map(int, re.search(r"(\d+) of (\d+) applicants", lines[-1]).groups())
    kept = any(line.startswith("met: Kept") for line in lines)
    return total == 400 and 0 < selected < total and kept


def adapting_helped(lines):
    learned, adapted = (float(re.search(r"accuracy (\S+),", line)[1]) for line in lines[-2:])
    return len(lines) == 10 and adapted > learned


def the_tighter_bound_has_the_smaller_gap(lines):
    tight, wide = (float(re.search(r"DP ratio (\S+),", line)[1]) for line in lines[:2])
    return tight > wide and "% selected" in lines[-1]


def the_constraint_narrowed_the_gap(lines):
    without, constrained = (
        abs(float(m[1]) - float(m[2]))
        for m in (re.search(r"F (\S+), M (\S+),", line) for line in lines)
    )
    return constrained < without


def who_learns_has_less_regret(lines):
    learned, _, still = (float(re.search(r"like T\^(\S+);", line)[1]) for line in lines[-3:])
    return learned < 0.7 and still > 0.9


def labels_came_later(lines):
    learned = [line.endswith("learned from: 2024-07") for line in lines[1:3]]
    return lines[0] == "2024-07: 200 people decided about" and any(learned) and "F: " in lines[-1]


def a_grown_table_is_gone_on_with(lines):
    people = sum(int(re.search(r": (\d+) decided", line)[1]) for line in lines[2:])
    return lines[:2] == ["new: ['2024-07']", "again: []"] and people == 7 * 75


def the_skeleton_is_a_learner(lines):
    return lines == ["skeleton is a learner"]


def a_few_labels_of_a_branch_help(lines):
    none, twenty, hundred = (int(re.search(r": (\d+)%", line)[1]) for line in lines[-3:])
    return none < twenty < hundred


def the_alarm_is_raised_in_the_second_year(lines):
    return lines[0].startswith("fact: ") and "Alarm in round" in lines[-1]


def what_needs_labels_is_not_measured(lines):
    came = [int(re.search(r": (\d+) of 400 labels", line)[1]) for line in lines[:4]]
    return all(0 < n < 400 for n in came) and "cannot be measured" in lines[-1]


def combinations_are_compared(lines):
    return [line.count("%") for line in lines] == [0, 2, 2, 0, 4]


def groups_known_are_more_accurate(lines):
    estimated, known = (float(re.search(r"accuracy (\S+)%", line)[1]) for line in lines)
    return known > estimated


def the_price_narrows_the_gap(lines):
    without, priced = (
        abs(int(m[1]) - int(m[2])) for m in (re.search(r"F (\d+)%, M (\d+)%", x) for x in lines)
    )
    return priced < without


SHOWS = {
    "branches": a_few_labels_of_a_branch_help,
    "audit_table": the_alarm_is_raised_in_the_second_year,
    "approved_only": what_needs_labels_is_not_measured,
    "several_columns": combinations_are_compared,
    "groups_known": groups_known_are_more_accurate,
    "own_model": the_price_narrows_the_gap,
    "own_csv": decisions_were_made,
    "pandas_loop": adapting_helped,
    "polars_months": labels_came_later,
    "sql_months": a_grown_table_is_gone_on_with,
    "pipeline": the_tighter_bound_has_the_smaller_gap,
    "custom_constraint": the_constraint_narrowed_the_gap,
    "regret": who_learns_has_less_regret,
    "skeleton_method": the_skeleton_is_a_learner,
}

DRAWS = {"regret": ["regret.svg"]}  # what it is given, and leaves behind


def in_gallery(name):
    """Return what the gallery says that an example prints, None if it does not show it."""
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = re.search(rf"^\[`examples/{name}`.*?^```text\n(.*?)^```", page, re.M | re.S)
    return shown and shown[1]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example, tmp_path):
    assert len(example.read_text(encoding="utf-8").splitlines()) < 60
    files = DRAWS.get(example.stem, [])
    printed = printed_by(example.read_text(encoding="utf-8"), tmp_path, str(example), files)
    assert SHOWS[example.stem](printed.strip().splitlines()), printed
    assert in_gallery(example.name) in (None, printed), "run scripts/draw_gallery.py"
    left = [path.name for path in tmp_path.iterdir()]
    assert left == files, "an example leaves files behind"


def test_the_skeleton_is_a_plugin(run_main, tmp_path):
    words = ["--plugin", ROOT / "examples" / "skeleton_method.py", "--method", "skeleton"]
    small = sets("rounds=2", "shots=10", "lr=0.05", "tasks_per_round=2")
    code, out, err = run_main("run", "synthetic", *words, *small, "--out", "run")
    METHODS.pop("skeleton", None)
    assert (code, err) == (0, "") and "method: skeleton" in out
    assert json.loads((tmp_path / "run" / "config.json").read_text())["method"] == "skeleton"
