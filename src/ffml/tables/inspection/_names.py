"""What names tell: values that are spelled in two ways, columns that may be protected."""

import re
from collections import defaultdict
from collections.abc import Iterable

from ffml.base import Schema
from ffml.tables.encode._encoders import Categorical
from ffml.tables.encode._preprocess import Preprocessor

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


def spelling_warnings(schema: Schema, preprocessor: Preprocessor | None) -> list[str]:
    """Say which groups and categories look like one; to merge them would be a guess."""
    columns = [("sensitive column", c.name, c.groups) for c in schema.sensitive]
    for column in preprocessor.columns if preprocessor else ():
        if isinstance(column, Categorical):
            known = tuple(text for text in column.categories if text is not None)
            columns.append(("feature", column.name, known))
    return [
        f"{what} {name!r} tells {', '.join(map(repr, alike))} apart: are they one? If so, spell "
        "them alike"
        for what, name, texts in columns
        for alike in same_spellings(texts)
    ]


def protected_columns(features: Iterable[str]) -> list[str]:
    """Return the columns that are named like a protected attribute.

    >>> protected_columns(["Age", "applicantSex", "marital-status", "native-country", "mileage"])
    ['Age', 'applicantSex', 'marital-status', 'native-country']
    """
    return [name for name in features if _looks_protected(name)]


def _looks_protected(name: str) -> bool:
    parts = [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]
    return bool(WORDS & {*parts, "".join(parts)})


def protected_warning(features: Iterable[str]) -> list[str]:
    """Say which features may be protected attributes, in one line."""
    if not (found := protected_columns(features)):
        return []
    one = len(found) == 1
    shown = ", ".join(repr(name) for name in found)
    return [
        f"feature{'' if one else 's'} {shown} may be {'a ' if one else ''}protected "
        f"attribute{'' if one else 's'}: may decisions go by {'it' if one else 'them'}? If not, "
        f"compare groups by {'it' if one else 'them'} (--sensitive) or leave "
        f"{'it' if one else 'them'} out (--drop)"
    ]
