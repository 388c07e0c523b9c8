"""Rounds that are learned from without being judged: what they say, and what they leave alone."""

import csv
from dataclasses import replace

import jax
import numpy as np
import pytest
from playing import Player
from tiny import CONFIG

import ffml
from ffml.base import FFMLError, Schema, SensitiveColumn, Stream
from ffml.recipe.build import build, last_unjudged_round
from ffml.recipe.config import RunConfig


@pytest.fixture(scope="module")
def experiment():
    return build(CONFIG)


def played(experiment, **settings):
    player = Player(replace(experiment.loop, **settings), experiment.state)
    return player.play(experiment.stream.tasks()), player.state


def rounds_of(experiment, **settings):
    return played(experiment, **settings)[0]


def read_rows(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_they_are_learned_from_but_undefined(experiment):
    judged, whole = played(experiment)
    skipped, part = played(experiment, judge_after=2)
    for before, after in zip(judged, skipped, strict=True):
        assert (before.task, before.n_rows) == (after.task, after.n_rows)
        np.testing.assert_array_equal(before.multipliers, after.multipliers)
        if after.round > 2:
            table = next(iter(after.tables.values())).sum((0, 1))
            said = f"{table.sum()} decided about, {table[1]} of them favourably>"
            assert repr(after) == f"<Round {after.round} ({after.task}): {said}"
            assert after.metrics == pytest.approx(before.metrics, nan_ok=True)
            assert (after.n_support, after.n_validation) == (before.n_support, before.n_validation)
            continue
        assert list(after.metrics) == list(before.metrics)
        assert all(np.isnan(value) for value in after.metrics.values())
        assert set(after.undefined.values()) == {"not judged"}
        assert {"dp", "eo", "disc", "accuracy", "loss", "dbc", "collapsed"} <= set(after.undefined)
        assert (after.n_support, after.n_validation) == (0, 0)
        assert np.isnan(after.constraint).all() and not after.violation.any()
        assert not any(table.any() for table in after.tables.values())
    same = jax.tree.map(np.array_equal, whole.learner, part.learner)
    assert all(jax.tree.leaves(same))


def test_a_method_is_not_asked_to_decide(experiment):
    asked = []

    def adapt(known, support):
        asked.append(support)
        return known.inner.params

    learner = experiment.loop.learner
    learner = learner._replace(adapt=adapt, traits=learner.traits._replace(pure=False))
    rounds_of(experiment, judge_after=3, learner=learner)
    assert len(asked) == 1


def test_rounds_with_few_validation_rows_are_not_judged(experiment):
    judged = rounds_of(experiment)
    least = sorted(record.n_validation for record in judged)[2]
    some = rounds_of(experiment, judge_min_rows=least)
    expected = [record.n_validation * (record.n_validation >= least) for record in judged]
    assert [record.n_validation for record in some] == expected and 0 in expected


@pytest.mark.parametrize("share", [0.0, 1 / 3, 0.5, 2 / 3, 0.99])
def test_the_share_is_exact_for_every_length(share):
    schema = Schema(("x",), (SensitiveColumn("s", ("a", "b")),))
    for total in range(1, 120):
        stream = Stream("s", schema, lambda: iter(()), total)
        after = last_unjudged_round(RunConfig("s", judge_from=share), stream)
        numerator, denominator = {1 / 3: (1, 3), 2 / 3: (2, 3)}.get(
            share, (round(100 * share), 100)
        )
        judged = [t for t in range(1, total + 1) if denominator * t > numerator * total]
        assert list(range(after + 1, total + 1)) == judged != []
        config = RunConfig("s", judge_from=share, rounds=total)
        assert last_unjudged_round(config, replace(stream, num_tasks=500)) == after


def test_bad_values_are_refused():
    for share in (-0.1, 1.0):
        with pytest.raises(FFMLError, match="judge_from must be at least 0 and below 1"):
            build(RunConfig("synthetic", judge_from=share))
    with pytest.raises(FFMLError, match="'judge_from' must be finite, got nan"):
        build(RunConfig("synthetic", judge_from=float("nan")))
    with pytest.raises(FFMLError, match="judge_min_rows must be >= 0, got -1"):
        build(RunConfig("synthetic", judge_min_rows=-1))
    endless = Stream("endless", Schema((), ()), lambda: iter(()))
    with pytest.raises(FFMLError, match="'endless' does not say; use judge_from 0"):
        last_unjudged_round(RunConfig("s", judge_from=0.5), endless)


def test_the_command_line_takes_them(run_main, tmp_path):
    quick = ["--method", "twp", "--set", "rounds=3", "--quiet", "--out", "run"]
    small = ["shots=10", "tasks_per_round=4", "rows_per_task=64"]
    judged = ["judge_from=0.34", "judge_min_rows=5", "augment_to=210"]
    settings = [word for value in (*small, *judged) for word in ("--set", value)]
    assert run_main("run", "synthetic", *quick, *settings)[0] == 0
    rows = read_rows(tmp_path / "run" / "rounds.csv")
    assert [row["n_validation"] for row in rows] == ["0", "105", "105"]
    assert "not judged" in (tmp_path / "run" / "report.html").read_text()
    assert "not judged: 1 round" in (tmp_path / "run" / "model_card.md").read_text()
    assert ffml.open(tmp_path / "run").record.judged == 2
