"""New York City's Local Law 144: the tables of a bias audit of a hiring tool.

Of decisions the rates are those of being selected, of scores those of a score above the median of
everybody's (§ 5-301: scoring rate).

Names of cells are those of the public collection of published audits.
"""

import re
from collections.abc import Sequence
from typing import Any

from ffml.base import FFMLError
from ffml.documents._document import SIGN_OFF, Document, Section, asked, sign_off
from ffml.documents._people import Cell, People

RULE = (
    "New York City Local Law 144 of 2021 and its rules, 6 RCNY §§ 5-300 to 5-304, as in force "
    "since 5 July 2023."
)
SMALL = 0.02  # a category with a smaller share of the people may be left out of the ratio
TOTAL, UNKNOWN = "Total", "Missing/Unknown"
_NAMES = {
    "sex": ("sex", "gender"),
    "race_ethnicity": ("race", "ethnicity", "raceethnicity", "ethnicityrace", "raceorethnicity"),
}
_AUDIT = {
    "auditor": "Independent auditor",
    "audited_on": "Date of the bias audit",
    "distributed_on": "Date of distribution of the tool",
    "tool": "Tool and position",
    "source": "Source and explanation of the data",
    "data_type": "Data: historical or test",
    "start": "Data from",
    "end": "Data to",
    "justification": "Why categories under 2 % are left out of the ratio",
}
FIELDS = {"sex": "", "race": "", **_AUDIT, **SIGN_OFF}


def document(people: People, given: dict[str, str]) -> Document:
    """Make the tables: by sex, by race/ethnicity, and by both where both are there."""
    if given.get("data_type", "historical") not in ("historical", "test"):
        raise FFMLError(f"data_type is historical or test, got '{given['data_type']}'")
    columns = _columns(people, given)
    analyses = [[one] for one in columns] + ([list(columns)] if len(columns) > 1 else [])
    known = {"start": people.start, "end": people.end} | given
    excluded = bool(given.get("justification"))
    tables = [_section(people, columns, analysis, excluded) for analysis in analyses]
    fields = dict(_AUDIT)
    if not excluded and not any(_small(people, columns, analysis) for analysis in analyses):
        del fields["justification"]
    return Document(
        "ll144",
        "Tables for a bias audit under Local Law 144",
        RULE,
        (
            Section("What was audited", _what(people, columns), (), asked(fields, known)),
            *tables,
            Section("What these tables are", _notes(people)),
            sign_off(given),
        ),
        who_fills="the independent auditor",
        heads=_heads(people),
    )


def _heads(people: People) -> dict[str, str]:
    """Return what print calls the cells of a table."""
    above = ("above the median", "scoring rate") if people.median is not None else ()
    chosen, rate = above or ("selected", "selection rate")
    return {
        "protected_char_group": "",
        "race_ethnicity": "race/ethnicity",
        "number_of_applications": "applicants",
        "n_selected_or_n_above_median": chosen,
        "result": rate,
    }


def _notes(people: People) -> tuple[str, ...]:
    ratio = "selection rate divided by that of the most selected category"
    if people.median is not None:
        ratio = "scoring rate divided by that of the category with the highest one"
    return (
        "We make the tables, not the audit. The rule asks for an independent auditor.",
        f"The impact ratio is a category's {ratio}. The rule names no ratio that is enough, and "
        "none is applied here.",
        "Everybody is counted. A category that has less than 2 % of the people of a table (those "
        "of a known category) may be left out of the ratio by the auditor, who says why "
        "(justification). It then keeps its number and rate, and no ratio refers to it.",
    )


def _columns(people: People, given: dict[str, str]) -> dict[str, str]:
    """Find which protected column is sex and which is race or ethnicity."""
    columns = {}
    for part, option in (("sex", "sex"), ("race_ethnicity", "race")):
        own = given.get(option)
        if own is not None and own not in people.columns:
            raise FFMLError(f"no protected column '{own}'; there is {', '.join(people.columns)}")
        usual = [c for c in people.columns if re.sub(r"[^a-z]", "", c.lower()) in _NAMES[part]]
        if name := own or next(iter(usual), None):
            columns[part] = name
    if not columns:
        raise FFMLError(
            f"say which of {', '.join(people.columns)} is sex or race/ethnicity: --set sex=COLUMN "
            "or --set race=COLUMN"
        )
    return columns


def _what(people: People, columns: dict[str, str]) -> tuple[str, ...]:
    chosen = sum(selected for _, selected in people.counts.values())
    favourable = f" ({people.favourable})" if people.favourable else ""
    said = f"{people.total:,} people were decided about; {chosen:,} were selected{favourable}."
    said += people.others
    if people.median is not None:
        said = (
            f"{people.total:,} people were scored. The median of all scores is {people.median:g}; "
            f"{chosen:,} are above it. The scoring rate is the share of a category above it."
        )
    lacking = [
        words
        for part, words in (("sex", "sex"), ("race_ethnicity", "race/ethnicity"))
        if part not in columns
    ]
    if not lacking:
        return (said,)
    more = (
        f"The rule also asks for tables by {lacking[0]} and by both. No column that is compared "
        f"here ({', '.join(people.columns)}) was given as {lacking[0]}."
    )
    return (said, more)


def _small(people: People, columns: dict[str, str], analysis: Sequence[str]) -> bool:
    """Tell whether a category has less than 2 % of the people of a table."""
    cells, _ = people.cells([columns[part] for part in analysis])
    return not all(_large_enough(cells))


def _large_enough(cells: Sequence[Cell]) -> list[bool]:
    total = sum(cell.people for cell in cells)
    return [cell.people >= SMALL * total for cell in cells]


def _section(
    people: People, columns: dict[str, str], analysis: Sequence[str], excluded: bool
) -> Section:
    cells, unknown = people.cells([columns[part] for part in analysis])
    kind = "intersectional" if len(analysis) > 1 else analysis[0].split("_")[0]
    ratios = impact_ratios(cells, excluded)
    rows = [
        _row(kind, dict(zip(analysis, cell.groups, strict=True)))
        | {
            "number_of_applications": cell.people,
            "n_selected_or_n_above_median": cell.selected,
            "result": cell.rate,
            "impact_ratio": ratio,
        }
        for cell, ratio in zip(cells, ratios, strict=True)
    ]
    nothing = dict.fromkeys(("n_selected_or_n_above_median", "result", "impact_ratio"))
    none = _row(kind, dict.fromkeys(analysis, UNKNOWN))
    rows.append(none | {"number_of_applications": unknown} | nothing)
    words = {"sex": "By sex", "race": "By race/ethnicity", "intersectional": "By both"}
    said = f"{unknown:,} people are of an unknown category and in no rate."
    return Section(words[kind], (said,), tuple(rows))


def _row(kind: str, groups: dict[str, str]) -> dict[str, Any]:
    named = {part: groups.get(part, TOTAL) for part in ("race_ethnicity", "sex")}
    return {"protected_char_group": kind, **named}


def impact_ratios(cells: Sequence[Cell], exclude_small: bool) -> list[float | None]:
    """Divide rates by that of the most selected category; None for one that is left out.

    >>> cells = [Cell(("F",), 50, 10), Cell(("M",), 50, 20), Cell(("X",), 1, 1)]
    >>> impact_ratios(cells, exclude_small=True)
    [0.5, 1.0, None]
    >>> impact_ratios(cells, exclude_small=False)
    [0.2, 0.4, 1.0]
    """
    kept = [not exclude_small or large for large in _large_enough(cells)]
    highest = max((c.rate for c, one in zip(cells, kept, strict=True) if one), default=0.0)
    return [
        cell.rate / highest if one and highest else None
        for cell, one in zip(cells, kept, strict=True)
    ]
