"""Whatever `--set` is given: it is taken, or refused in one line. Nothing else happens."""

import random
from itertools import islice

import pytest

from ffml.base import FFMLError
from ffml.cli.values import parse_settings
from ffml.methods import METHODS
from ffml.online.loop import step
from ffml.recipe.build import build
from ffml.recipe.config import OWN_SETTINGS, configure_run
from ffml.recipe.configfile import setting_kinds
from ffml.recipe.recipes import Recipe, additions, known_settings

WORDS = ["", "a", "null", "none", "true", "1,2", "[1]", "[]", "{}", ",", "=", "--", "'", "٣", "½"]
WORDS += ["nan", "inf", "-inf", "1e999", "9" * 40, "0x10", "adam", "cost=1e30", "rate=2", "cost=0"]
NUMBERS = ["0", "-1", "1", "0.5", "1e-300", "1e-30", "1e-9", "1e6", "1e9", "1e30", "1e300"]
SIZES = ["0", "-1", "1", "2", "7", "10000000", "100000000000"]
SMALL = {"data_options": {"num_tasks": 3, "rows_per_task": (30, 40)}}


def value(rng, name):
    """Draw a value: most of the setting's kind, since others are refused early."""
    kind = str(setting_kinds().get(name, ""))
    pool = NUMBERS if "float" in kind else SIZES if "int" in kind else WORDS
    return rng.choice(pool if rng.random() < 0.8 else WORDS)


def built(rng, methods):
    method = rng.choice(methods)
    wrappers = tuple(name for name in additions() if rng.random() < 0.4)
    names = [*known_settings(Recipe(method, wrappers)), *OWN_SETTINGS]
    texts = [f"{name}={value(rng, name)}" for name in rng.sample(names, rng.choice([1, 1, 2]))]
    try:
        given = parse_settings(texts) | {"method": method, "wrappers": wrappers} | SMALL
        return build(configure_run("synthetic", given))
    except FFMLError as error:
        assert "\n" not in str(error), texts


@pytest.mark.parametrize("seed", range(4))
def test_settings_are_taken_or_refused(seed):
    rng = random.Random(seed)
    taken = [built(rng, tuple(METHODS)) is not None for _ in range(50)]
    assert 2 < sum(taken) < 48  # both happen


@pytest.mark.parametrize("name", ["inverse_l2", "trust", "problem.positive_weight", "max_gap"])
def test_what_is_taken_is_learned_with(name):
    """Learning may be refused too, but not end in a traceback."""
    for text in NUMBERS:
        try:
            given = parse_settings([f"{name}={text}"]) | {"method": "ffml-exact", "wrappers": ()}
            run = build(configure_run("synthetic", given | SMALL))
            state = run.state
            for task in islice(run.stream.tasks(), 2):
                state, _ = step(run.loop, state, task)
        except FFMLError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("text", ["inverse_l2=1e30", "trust=1e30", "problem.l2=1e300"])
def test_numbers_beyond_all_use(text, refuses):
    name = text.partition("=")[0]
    refuses(f"{name} must be <= ", "run", "adult", "--set", text, "--out", "run")
