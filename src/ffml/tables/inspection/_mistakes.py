"""Likely mistakes in a table's columns, found from a sample of rows and from their names."""

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ffml.base import Schema
from ffml.tables.encode._encoders import OTHER, Categorical, Encoder
from ffml.tables.encode._fit import is_plain_number
from ffml.tables.encode._preprocess import Preprocessor

SUSPICIOUS_AUC = 0.98
MIN_ROWS = 30
MIN_SIDE = 10  # rows on either side of a comparison
ROWS_PER_CATEGORY = 5
MOST = 0.5  # of the rows
MOST_NUMBERS = 12  # as groups of a column; of more, such as ages, hardly any has enough people
# Compared with the words of a column's name, and with the whole name without its separators.
WORDS = {
    *("sex", "sexe", "sexo", "gender", "geschlecht", "male", "female", "transgender"),
    *("race", "racial", "ethnic", "ethnicity", "ethnicgroup", "hispanic", "caste"),
    *("age", "agegroup", "ageband", "ageyears", "dob", "birth", "birthday", "birthdate"),
    *("birthyear", "dateofbirth", "yearofbirth", "birthplace", "countryofbirth"),
    *("religion", "religious", "faith", "nationality", "citizenship", "nativecountry"),
    *("immigrant", "migrant", "marital", "maritalstatus", "married", "pregnant", "pregnancy"),
    *("disability", "disabled", "handicap", "veteran", "sexualorientation"),
}


class Sample(NamedTuple):
    """Some rows of all tasks."""

    x: np.ndarray  # (n, features)
    y: np.ndarray  # (n,) -1 where it is not known
    memberships: np.ndarray  # (n, contrasts)


def area_under_curve(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return how often a row of label 1 has the higher score; ties count half.

    >>> area_under_curve(np.array([1, 2, 2, 3]), np.array([0, 0, 1, 1]))
    0.875
    """
    _, places = np.unique(scores, return_inverse=True)
    ones = np.bincount(places, labels)
    zeros = np.bincount(places, 1 - labels)
    below = np.cumsum(zeros) - zeros / 2
    return float((ones * below).sum() / (ones.sum() * zeros.sum()))


class Column(NamedTuple):
    """A column of the table and its features."""

    name: str
    encoder: Encoder | None  # None: the column of a data set, which comes standardised
    features: slice

    @property
    def texts(self) -> list[str]:
        """Its categories."""
        own = self.encoder.categories if isinstance(self.encoder, Categorical) else ()
        return [text for text in own if text is not None]


def columns_of(schema: Schema, preprocessor: Preprocessor | None) -> list[Column]:
    """List the columns that features came from."""
    if preprocessor is None:
        return [Column(name, None, slice(i, i + 1)) for i, name in enumerate(schema.features)]
    return [
        Column(encoder.name, encoder, slice(start, start + len(encoder.features)))
        for encoder, start in zip(preprocessor.columns, preprocessor.starts, strict=True)
    ]


def likely_mistakes(sample: Sample, schema: Schema, columns: Iterable[Column]) -> Iterator[str]:
    """Say what looks like a copy of the label or of a group, an id, or an empty column."""
    if len(sample.y) < MIN_ROWS:
        return
    labelled = sample.y >= 0
    for column in columns:
        name, block = column.name, sample.x[:, column.features]
        quoted = shlex.quote(name)
        if area := _tells(block[labelled], sample.y[labelled]):
            yield (
                f"feature {name!r} alone tells the label almost perfectly (AUC {area:.3f}): is it "
                f"known before the decision? If not, drop it (--drop {quoted})"
            )
        for contrast, members in zip(schema.contrasts, sample.memberships.T, strict=True):
            if area := _tells(block, members):
                yield (
                    f"feature {name!r} tells {contrast} almost perfectly (AUC {area:.3f}): is it "
                    f"the sensitive column under another name? If so, drop it (--drop {quoted})"
                )
                break
        if column.encoder and (problem := _idle(block)):
            yield f"feature {name!r} {problem}; drop it (--drop {quoted})"
        others = isinstance(column.encoder, Categorical) and column.encoder.other
        if others and block[:, -1].mean() > MOST:
            yield (
                f"feature {name!r} has so many values that most rows count as {OTHER}; group its "
                f"values, or drop it if it is an id (--drop {quoted})"
            )


def _tells(block: np.ndarray, target: np.ndarray) -> float | None:
    """Return the AUC of a column for a 0/1 target if it is suspicious.

    A category's score is the share of ones among its rows.
    """
    ones = target.sum()
    if min(ones, len(target) - ones) < MIN_SIDE:
        return None
    scores = block[:, 0]
    if block.shape[1] > 1:
        if len(target) < ROWS_PER_CATEGORY * block.shape[1]:
            return None
        scores = block @ ((block.T @ target) / np.maximum(block.sum(0), 1))
    area = area_under_curve(scores, target)
    area = max(area, 1 - area)
    return area if area > SUSPICIOUS_AUC else None


def _idle(block: np.ndarray) -> str | None:
    if not (block != block[0]).any():
        return "has the same value in all rows looked at"
    single = block[:, 0]
    if block.shape[1] == 1 and (single % 1 == 0).all() and len(np.unique(single)) == len(single):
        return "is a different whole number in every row looked at, like an id"
    return None


def same_spellings(texts: Iterable[str]) -> list[list[str]]:
    """Group texts that are equal but for case, spaces, hyphens, dots and underscores.

    >>> same_spellings(["F", "f", "M", "self-employed", "Self employed"])
    [['F', 'f'], ['Self employed', 'self-employed']]
    """
    alike = defaultdict(list)
    for text in sorted(texts):
        letters = "".join(mark for mark in text.casefold() if mark.isalnum())
        if letters:
            alike[letters].append(text)
    return [texts for texts in alike.values() if len(texts) > 1]


def spelling_warnings(schema: Schema, columns: Iterable[Column]) -> Iterator[str]:
    """Say which groups and categories look like one; to merge them would be a guess."""
    named = [("sensitive column", c.name, [*c.groups]) for c in schema.sensitive]
    named += [("feature", column.name, column.texts) for column in columns]
    for what, name, texts in named:
        for alike in same_spellings(texts):
            yield (
                f"{what} {name!r} tells {', '.join(map(repr, alike))} apart: are they one? If so, "
                "spell them alike"
            )


def number_warnings(schema: Schema) -> Iterator[str]:
    """Say which columns compare numbers one by one, such as every age with every other."""
    for column in schema.sensitive:
        if len(column.groups) > MOST_NUMBERS and all(map(is_plain_number, column.groups)):
            yield (
                f"sensitive column {column.name!r} has {len(column.groups)} numbers for groups, and"
                " every one is compared with every other: make bands of them in a column of its"
                f" own (such as 18-29), name that (--sensitive), and leave {column.name!r} out"
                f" (--drop {shlex.quote(column.name)})"
            )


def stray_warnings(columns: Iterable[Column]) -> Iterator[str]:
    """Say which columns would be numbers but for a few texts."""
    for column in columns:
        strays = [text for text in column.texts if not is_plain_number(text)]
        if strays and len(column.texts) - len(strays) >= MIN_SIDE * len(strays):
            yield (
                f"feature {column.name!r} is taken as categories since it holds "
                f"{', '.join(map(repr, strays))}: are the others numbers? If so, correct what is "
                "no number, or leave it empty"
            )


def protected_columns(features: Iterable[str]) -> list[str]:
    """Return the columns that are named like a protected attribute.

    >>> protected_columns(["Age", "applicantSex", "marital-status", "native-country", "mileage"])
    ['Age', 'applicantSex', 'marital-status', 'native-country']
    """

    def words(name: str) -> set[str]:
        parts = [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]
        return {*parts, "".join(parts)}

    return [name for name in features if WORDS & words(name)]


def protected_warning(features: Iterable[str]) -> list[str]:
    """Say which features may be protected attributes, in one line."""
    columns = protected_columns(features)
    shown = ", ".join(map(repr, columns))
    if len(columns) == 1:
        return [
            f"feature {shown} may be a protected attribute: may decisions go by it? If not, "
            "compare groups by it (--sensitive) or leave it out (--drop)"
        ]
    return [
        f"features {shown} may be protected attributes: may decisions go by them? If not, "
        "compare groups by them (--sensitive) or leave them out (--drop)"
    ] * bool(columns)
