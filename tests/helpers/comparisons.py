"""Small comparisons for the tests of `ffml.studies.compare`."""

from ffml.studies.compare import Store, plan
from ffml.studies.play import compute

OPTIONS = {"num_tasks": 4, "rows_per_task": (30, 40)}
TINY = {"rounds": 4, "shots": 4, "tasks_per_round": 2, "rows_per_task": 32}


def tiny_plan(methods=("refit",), seeds=(0,), **more):
    settings = TINY | more.pop("settings", {})
    return plan(
        ["synthetic"],
        methods,
        seeds=seeds,
        settings=settings,
        data_options={"synthetic": OPTIONS},
        **more,
    )


def two_methods(folder):
    """Compute two methods with two seeds in this process; return the store and the cells."""
    store = Store(folder / "cells")
    cells = tiny_plan(["twp", "refit"], (0, 1))
    seen = []
    for cell in cells:
        store.save(cell, *compute(cell, lambda *at: seen.append(at)))
    assert seen == [(t, 4) for t in (1, 2, 3, 4)] * 4
    return store, cells
