"""The same recipe gives the same numbers as when they were stored: none moves by accident."""

import json

import pytest
from golden.make_numbers import CASES, NUMBERS, name, numbers

STORED = json.loads(NUMBERS.read_text())


@pytest.mark.parametrize("case", CASES, ids=name)
def test_numbers_are_those_stored(case):
    found, stored = numbers(*case), STORED[name(case)]
    assert found["positive_decisions"] == stored["positive_decisions"]
    assert found["norm"] == pytest.approx(stored["norm"], rel=1e-5)
    assert found["params"] == pytest.approx(stored["params"], rel=1e-5, abs=1e-6)
    for one, other in zip(found["multipliers"], stored["multipliers"], strict=True):
        assert one == pytest.approx(other, rel=1e-4, abs=1e-7)
