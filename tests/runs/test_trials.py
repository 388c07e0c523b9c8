"""When a newer version may decide: by counts alone, so that every reason can be made to happen."""

import numpy as np
import pytest

from ffml.base import Ratio, SensitiveColumn
from ffml.runs._trials import refusal

SEX = (SensitiveColumn("sex", ("F", "M")),)


def trial(errors, mine, theirs, labelled=400):
    """A trial with counts [group][label 0, 1, unknown][decision 0, 1] of both versions."""
    tables = [{"sex": mine}, {"sex": theirs}]
    return {"task": "t", "version": 2, "labelled": labelled, "errors": errors, "tables": tables}


def even(rate=0.5, people=200):
    """Two groups with the same rate, half of each label, all labels known."""
    yes = round(people * rate / 2)
    one = [[people // 2 - yes, yes], [people // 2 - yes, yes], [0, 0]]
    return [one, one]


def apart(low, high):
    return [even(low)[0], even(high)[0]]


ONE_SIDED = [[[0, 60], [0, 40], [100, 0]]] * 2  # labels of those approved only


@pytest.mark.parametrize(
    ("rows", "asked", "why"),
    [
        ([trial([40, 41], even(), even())], 0.05, ""),
        ([trial([40, 40], even(), even())], Ratio(0.8), ""),
        ([trial([41, 40], even(), even())], 0.05, "41 errors about 400 people, it 40"),
        ([trial([4, 4], even(), even(), labelled=49)], 0.05, "49 people are too few"),
        ([trial([40, 41], apart(0.3, 0.6), even())], 0.05, "would be 0.300 apart"),
        ([trial([40, 41], apart(0.3, 0.6), even())], Ratio(0.8), "would be 0.500 apart"),
        ([trial([40, 41], apart(0.46, 0.54), apart(0.4, 0.6))], 0.05, ""),  # less than before
        ([trial([60, 40], even(), apart(0.3, 0.6))], 0.05, ""),  # labels are biased, so errors too
        ([trial([60, 40], apart(0.4, 0.6), apart(0.2, 0.7))], 0.05, ""),  # mends some of it
        ([trial([60, 40], apart(0.48, 0.5), apart(0.47, 0.51))], 0.05, "60 errors"),  # all within
        (
            [trial([60, 40], apart(0.4, 0.5), apart(0.4, 0.51))],
            0.05,
            "60 errors",
        ),  # mends too little
        ([trial([200, 40], even(0), apart(0.3, 0.6))], 0.05, "200 errors"),  # nobody is approved
        (
            [trial([60, 40], even(0), apart(0.3, 0.6))],
            Ratio(0.8),
            "60 errors",
        ),  # no ratio, no mending
        ([trial([40, 40], apart(0.4, 0.5), apart(0.4, 0.5))], 0.05, ""),  # equal, beyond the bound
        ([trial([10, 20], ONE_SIDED, ONE_SIDED, 200)], 0.05, "labels depend on the decision"),
        ([trial([20, 10], even(), even()), trial([5, 30], even(), even())], 0.05, ""),
    ],
)
def test_why_a_version_is_not_promoted(rows, asked, why):
    said = refusal(rows, SEX, [("demographic-parity", asked)])
    assert (why in said) if why else said == ""


def test_nothing_asked_leaves_errors_to_say():
    rows = [trial([40, 41], apart(0.1, 0.9), even())]
    assert refusal(rows, SEX, []) == ""
    assert np.sum([row["errors"] for row in rows], 0).tolist() == [40, 41]


def played(rng, new, old, people, noise=(0.2, 0.2)):
    """A trial about people whom two versions approve at rates by group; noise: shares of errors.

    Where a version's rates are those of the labels, it errs as often as it is noisy; where they are
    not, it errs about all whom it has to move.
    """
    group = rng.integers(2, size=people)
    label = np.where(rng.random(people) < np.array([0.35, 0.6])[group], 1, 0)  # labels are biased
    tables, errors = [], []
    for rates, share in ((new, noise[0]), (old, noise[1])):
        said = np.where(rng.random(people) < share, 1 - label, label)
        for g in (0, 1):  # move just as many as the rate asks for
            own = np.flatnonzero(group == g)
            short = round(rates[g] * len(own)) - said[own].sum()
            some = own[said[own] == (short < 0)]
            said[rng.permutation(some)[: abs(short)]] ^= 1
        errors.append(int((said != label).sum()))
        counts = np.zeros((2, 3, 2), int)
        np.add.at(counts, (group, label, said), 1)
        tables.append(counts.tolist())
    return trial(errors, *tables, labelled=people)


EVEN, APART, LESS = (0.48, 0.48), (0.35, 0.6), (0.42, 0.53)
PASTS = {  # new and old rates, people a trial, trials, noise; how often it is promoted in the end
    "mends the bound, less accurate by biased labels": (EVEN, APART, 200, 1, (0.2, 0.2), (0.95, 1)),
    "mends half of it": (LESS, APART, 400, 1, (0.2, 0.2), (0.95, 1)),
    "mends the bound, but guesses": (EVEN, APART, 400, 1, (0.5, 0.05), (0, 0.05)),
    "equal": (EVEN, EVEN, 200, 6, (0.2, 0.2), (0.8, 1)),
    "less accurate": (EVEN, EVEN, 200, 3, (0.3, 0.2), (0, 0.05)),
    "breaks the bound that is kept": (APART, EVEN, 200, 6, (0.2, 0.2), (0, 0.02)),
    "too few labels": (EVEN, APART, 49, 1, (0.2, 0.2), (0, 0)),
    "few people, better": (EVEN, EVEN, 60, 6, (0.1, 0.2), (0.9, 1)),
}


@pytest.mark.parametrize("past", PASTS)
def test_on_simulated_pasts(past):
    new, old, people, trials, noise, (least, most) = PASTS[past]
    promoted, seeds = 0, 20
    for seed in range(seeds):
        rng, rows = np.random.default_rng(seed), []
        for _ in range(trials):
            rows.append(played(rng, new, old, people, noise))
            if not refusal(rows, SEX, [("demographic-parity", 0.05)]):
                promoted += 1
                break
    assert least <= promoted / seeds <= most, promoted / seeds


def test_a_bound_of_scores_is_none_of_rates():
    rows = [trial([40, 41], apart(0.3, 0.6), even())]
    assert refusal(rows, SEX, [("dbc", 0.05)]) == ""
    why = refusal(rows, SEX, [("dbc", 0.9), ("demographic-parity", 0.05)])
    assert why == "demographic-parity would be 0.300 apart, 0.050 are allowed"
