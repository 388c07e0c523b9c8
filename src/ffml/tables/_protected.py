"""Columns whose names say that they may be protected attributes."""

import re
from collections.abc import Iterable

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
