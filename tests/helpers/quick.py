"""Options that make a run small, as a person would give them."""


def sets(*settings):
    """Return ``--set`` before each setting."""
    return [word for setting in settings for word in ("--set", setting)]


QUICK = ["--method", "ffml", *sets("num_outer_steps=2", "inner.num_steps=1", "shots=10")]
SMALL = sets("tasks_per_round=3", "rows_per_task=64")
