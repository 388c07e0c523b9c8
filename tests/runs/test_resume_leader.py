"""Learners outside of JAX, whose state grows, are kept and taken up again as any other."""

from dataclasses import replace

import numpy as np
import pytest
from quick import SMALL, sets
from workshop import CONFIG, ROUNDS, Workshop, hurry, outcome

from ffml.recipe.build import build
from ffml.recipe.recipes import Recipe

LEADING = replace(
    CONFIG,
    data_options={"num_tasks": ROUNDS, "rows_per_task": (40, 70)},
    recipe=Recipe("leader", ("boosted", "evened"), {"boosted.growth": 1.0}),
    tasks_per_round=4,
    rows_per_task=64,
    shots=10,
)


class LeadingWorkshop(Workshop):
    """A run of the leader, boosted and evened."""

    def __init__(self):
        self.built = build(LEADING)

    def experiment(self, **more):
        return super().experiment(**({"config": LEADING} | more))


@pytest.mark.parametrize("stopped", [1, 3])
def test_a_run_that_was_stopped_ends_with_the_same_bytes(stopped, tmp_path, monkeypatch):
    hurry(monkeypatch)
    workshop = LeadingWorkshop()
    whole = workshop.run(tmp_path / "whole").state
    assert len(whole.features.labels.roots) and whole.learner.known.labels.any()
    assert whole.memory.tasks[-1].x[:, 5].any()  # boosting had something to say
    workshop.run(tmp_path / "run", rounds=stopped)
    assert workshop.go_on(tmp_path / "run").resumed_at == stopped
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")


def test_it_is_run_from_the_command_line(run_main, tmp_path):
    small = [*SMALL, *sets("shots=10", "rounds=4")]
    run = ["run", "synthetic", "--method", "leader", *small, "--out"]
    for folder in ("one", "two"):
        code, _, err = run_main(*run, folder)
        assert code == 0, err
    one, two = (np.genfromtxt(tmp_path / f / "rounds.csv", delimiter=",") for f in ("one", "two"))
    assert one.shape == two.shape == (5, one.shape[1])
    code, _, err = run_main(*run, "three", *sets("evened.threshold=high"))
    assert code == 2 and "unknown threshold 'high'" in err and err.count("\n") == 1
    assert not (tmp_path / "three").exists()
