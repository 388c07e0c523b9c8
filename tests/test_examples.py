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
    return total == 150 and 0 < selected < total and kept


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


SHOWS = {
    "own_csv": decisions_were_made,
    "pandas_loop": adapting_helped,
    "polars_months": labels_came_later,
    "sql_months": a_grown_table_is_gone_on_with,
    "pipeline": the_tighter_bound_has_the_smaller_gap,
    "custom_constraint": the_constraint_narrowed_the_gap,
    "regret": who_learns_has_less_regret,
    "skeleton_method": the_skeleton_is_a_learner,
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example, tmp_path):
    assert len(example.read_text(encoding="utf-8").splitlines()) < 60
    printed = printed_by(example.read_text(encoding="utf-8"), tmp_path, str(example))
    assert SHOWS[example.stem](printed.strip().splitlines()), printed
    assert not list(tmp_path.iterdir()), "an example leaves files behind"


def test_the_skeleton_is_a_plugin(run_main, tmp_path):
    words = ["--plugin", ROOT / "examples" / "skeleton_method.py", "--method", "skeleton"]
    small = sets("rounds=2", "shots=10", "lr=0.05", "tasks_per_round=2")
    code, out, err = run_main("run", "synthetic", *words, *small, "--out", "run")
    METHODS.pop("skeleton", None)
    assert (code, err) == (0, "") and "skeleton on synthetic" in out
    assert json.loads((tmp_path / "run" / "config.json").read_text())["method"] == "skeleton"
