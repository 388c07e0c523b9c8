"""The Uniform Guidelines of the United States: selection rates, and how sure a difference is."""

import math
from typing import Any

from ffml.documents._document import SIGN_OFF, Document, Section, asked, sign_off
from ffml.documents._people import Cell, People
from ffml.metrics.facts import MIN_PEOPLE

RULE = (
    "Uniform Guidelines on Employee Selection Procedures (1978), 29 CFR 1607.4, with the questions "
    "and answers of 2 March 1979."
)
_WHAT = {"job": "Job and selection procedure", "source": "Source of the data", "period": "Period"}
FIELDS = {**_WHAT, **SIGN_OFF}
_UNDO = 2  # selections: with so few more, the ratio would no longer be below four fifths


def document(people: People, given: dict[str, str]) -> Document:
    """Make a table for each protected column, and one for all of them together."""
    analyses: list[tuple[str, ...]] = [(name,) for name in people.columns]
    analyses += [people.columns] if len(people.columns) > 1 else []
    period = f"{people.start} to {people.end}" if people.start else ""
    what = asked(_WHAT, {"period": period} | given)
    said = f"{people.total:,} people were decided about.{people.others}"
    return Document(
        "ugesp",
        "Selection rates under the Uniform Guidelines",
        RULE,
        (
            Section("What was looked at", (said,), (), what),
            *(_section(people, columns) for columns in analyses),
            Section("How to read the tables", _NOTES),
            sign_off(given),
        ),
        heads={"z": "Z", "mid_p": "mid‑P"},
    )


_NOTES = (
    "Ratio: a group's selection rate over the highest rate of a group with at least "
    f"{MIN_PEOPLE} people (of any, if fewer than two have as many). Below four fifths is "
    "generally regarded as evidence of adverse impact; smaller differences may be, and "
    "larger ones need not be where numbers are small (§ 1607.4D).",
    "Short of four fifths, short of parity: how many more people of the group would have to be "
    "selected for four fifths of the highest rate, and for that rate itself, all else being equal.",
    "Z: the difference of the two rates in standard deviations of a pooled rate; courts have "
    "looked at two to three. Mid-P: Fisher's exact test, both sides, with half of the probability "
    "of what was observed. Both compare the group with the one of the highest rate.",
    "Two more undo it: whether the ratio would reach four fifths with two more selections of the "
    "group. A finding that two people undo rests on small numbers.",
)


def _section(people: People, columns: tuple[str, ...]) -> Section:
    cells, unknown = people.cells(columns)
    texts = [f"{unknown:,} people of an unknown group are in no rate."] if unknown else []
    rows = comparisons(cells)
    if small := [row["group"] for row in rows if row["small_numbers"]]:
        texts.append(
            f"Small numbers: {', '.join(small)} ({'has' if len(small) == 1 else 'have'} fewer than "
            f"{MIN_PEOPLE} people). Little can be said of so few."
        )
    column = " × ".join(columns)
    return Section(f"By {column}", tuple(texts), tuple({"column": column} | row for row in rows))


def comparisons(cells: list[Cell]) -> list[dict[str, Any]]:
    """Compare each group with the one of the highest rate among those that are large enough."""
    large = [cell for cell in cells if cell.people >= MIN_PEOPLE]
    highest = max(large if len(large) > 1 else cells, key=lambda cell: cell.rate, default=None)
    return [] if highest is None else [_row(cell, highest) for cell in cells]


def _row(cell: Cell, highest: Cell) -> dict[str, Any]:
    ratio = cell.rate / highest.rate if highest.selected else None
    below = ratio is not None and 5 * cell.selected * highest.people < (
        4 * highest.selected * cell.people
    )
    short = shortfall(cell, highest, 4, 5)
    other = cell is not highest
    return {
        "group": " × ".join(cell.groups),
        "people": cell.people,
        "selected": cell.selected,
        "rate": cell.rate,
        "ratio_to_highest": ratio,
        "below_four_fifths": below,
        "short_of_four_fifths": short,
        "short_of_parity": shortfall(cell, highest, 1, 1),
        "z": z_score(cell, highest) if other else None,
        "mid_p": mid_p(cell, highest) if other else None,
        "two_more_undo_it": short <= _UNDO if below else None,
        "small_numbers": cell.people < MIN_PEOPLE,
    }


def shortfall(cell: Cell, highest: Cell, part: int, of: int) -> int:
    """Return how many more selections reach ``part / of`` of the highest rate; whole numbers.

    >>> shortfall(Cell(("F",), 100, 30), Cell(("M",), 100, 50), 4, 5)
    10
    """
    lacking = part * highest.selected * cell.people - of * cell.selected * highest.people
    return max(0, -(-lacking // (of * highest.people)))


def z_score(cell: Cell, highest: Cell) -> float | None:
    """Return the difference of two rates in standard deviations; None if everybody is alike."""
    people = cell.people + highest.people
    pooled = (cell.selected + highest.selected) / people
    spread = math.sqrt(pooled * (1 - pooled) * (1 / cell.people + 1 / highest.people))
    return (cell.rate - highest.rate) / spread if spread else None


def mid_p(cell: Cell, highest: Cell) -> float:
    """Return Fisher's exact P, two-sided, less half the probability of the table itself."""
    from scipy.stats import fisher_exact, hypergeom

    people, chosen = cell.people + highest.people, cell.selected + highest.selected
    table = [[one.selected, one.people - one.selected] for one in (cell, highest)]
    observed = hypergeom.pmf(cell.selected, people, chosen, cell.people)
    return float(fisher_exact(table)[1] - observed / 2)
