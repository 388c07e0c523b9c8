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
