"""What the texts of a label column, and of a protected attribute, stand for."""

import re
from collections.abc import Collection, Iterable, Mapping

from ffml.base import FFMLError, SensitiveColumn

MAX_SHOWN = 5
# Pairs that leave no doubt which one is 1; all others are asked about.
PLAIN = (["0", "1"], ["false", "true"], ["no", "yes"], ["n", "y"])
MAX_GROUPS = 50
# Words for what nobody wishes for: a column so named may have its bad outcome as 1.
ADVERSE = {
    *("default", "defaulted", "delinquent", "delinquency", "bankrupt", "bankruptcy", "late"),
    *("fraud", "fraudulent", "churn", "churned", "cancelled", "canceled", "dropout", "failed"),
    *("failure", "denied", "denial", "rejected", "rejection", "refused", "refusal", "declined"),
    *("recid", "recidivism", "recidivist", "reoffended", "arrest", "arrested", "convicted"),
    *("bad", "risk", "risky", "loss", "complaint", "dismissed", "fired", "evicted", "eviction"),
    *("died", "death", "dead", "deceased", "readmitted", "accident", "claim", "violation"),
}
NEGATIONS = {"no", "not", "non", "never", "without"}


def label_values(
    name: str,
    seen: Iterable[str],
    positive: str | None,
    *,
    part: str = "label",
    option: str = "--positive",
) -> dict[str, int]:
    """Map every text of a label column, or of a column of decisions, to 0 or 1.

    Args:
        name: the column, for messages.
        seen: its different texts; "1", "1.0" and "1.00" are one value, and so are "True", "TRUE".
        positive: the value that is 1; needed unless the values are 0 and 1, false and true, or no
            and yes. The order of the alphabet never decides.
        part: what the column is, and the option that names it.
        option: the option that says which value is 1.

    >>> label_values("hired", ["refused", "hired"], positive="hired")
    {'refused': 0, 'hired': 1}
    >>> label_values("hired", ["no", "YES", "yes"], positive=None)
    {'no': 0, 'YES': 1, 'yes': 1}
    >>> label_values("hired", ["1.0", "0"], positive=None)
    {'1.0': 1, '0': 0}
    """
    canonical = {text: _canonical(text) for text in seen}
    values = sorted(set(canonical.values()))
    shown = ", ".join(repr(value) for value in values[:MAX_SHOWN])
    if len(values) > 2:
        more = ", ..." if len(values) > MAX_SHOWN else ""
        raise FFMLError(
            f"{part} column {name!r} holds more than two values ({shown}{more}); map them to two, "
            f"or choose another column (--{part})"
        )
    if len(values) < 2:
        raise FFMLError(
            f"{part} column {name!r} holds one value only ({shown}); there is nothing to "
            f"{'learn' if part == 'label' else 'compare'}, choose another column (--{part})"
        )
    if positive is None and not needs_positive(values):
        positive = values[1]
    if positive is None:
        raise FFMLError(
            f"{part} column {name!r} holds {values[0]!r} and {values[1]!r}; say which one is the "
            f"favourable outcome ({option})"
        )
    chosen = _canonical(str(positive))
    if chosen not in values:
        raise FFMLError(
            f"{part} column {name!r} holds {values[0]!r} and {values[1]!r}, not {positive!r}; give "
            f"one of them ({option})"
        )
    return {text: int(value == chosen) for text, value in canonical.items()}


def known_values(
    name: str, seen: Collection[str], known: Mapping[str, int], positive: str | None = None
) -> dict[str, int]:
    """Map the texts of a label to 0 and 1 as a run knows them; refuse any other text.

    >>> known_values("hired", ["YES"], {"no": 0, "yes": 1})["YES"]
    1
    """
    if not known:  # a model of an earlier version does not say
        return label_values(name, seen, positive)
    both = {_canonical(text) for text in known}
    if strange := sorted(text for text in seen if _canonical(text) not in both):
        words = " and ".join(sorted(both))
        raise FFMLError(
            f"{name!r} of a label is {strange[0]!r}, and the run knows {words}; write it so, or "
            "leave that row out"
        )
    return label_values(name, {*seen, *known}, next(text for text, one in known.items() if one))


def needs_positive(values: Iterable[str]) -> bool:
    """Tell whether somebody must say which of the values is the favourable one.

    >>> needs_positive(["denied", "granted"]), needs_positive(["0", "1.0"])
    (True, False)
    """
    return sorted({_canonical(text) for text in values}) not in PLAIN


def sounds_adverse(name: str) -> bool:
    """Tell a column that is named after a bad outcome.

    >>> [sounds_adverse(name) for name in ("loanDefault", "is_fraud", "not_churned", "approved")]
    [True, True, False, False]
    """
    words = {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
    return bool(ADVERSE & words) and not NEGATIONS & words


def must_say_positive(name: str, values: Iterable[str]) -> bool:
    """Tell whether somebody must say it: by the values, or since the name sounds adverse."""
    return needs_positive(values) or sounds_adverse(name)


def refuse_adverse(
    name: str, values: Iterable[str], positive: object, option: str = "--positive"
) -> None:
    """Refuse to take 1 or yes as favourable in a column that is named after a bad outcome."""
    if positive is None and sounds_adverse(name) and len(values := {*map(_canonical, values)}) == 2:
        low, high = sorted(values, key=_by_number)
        raise FFMLError(
            f"column {name!r} is named after an outcome that nobody wishes for; say which of "
            f"{low!r} and {high!r} is favourable ({option}{'' if option[-1] == '=' else ' '}{low})"
        )


def adverse_warning(name: str, positive: object) -> list[str]:
    """Say that the favourable value of such a column is 1 or yes, as asked, if it is."""
    if positive is None or not sounds_adverse(name):
        return []
    if _canonical(str(positive)) not in {pair[1] for pair in PLAIN}:
        return []
    return [
        f"'{name} = {positive}' counts as the favourable outcome, and groups are compared by who "
        "gets it: is it what people wish for? If not, name the other value (--positive)"
    ]


def _canonical(text: str) -> str:
    """Write equal numbers, and equal words for true and false, in one way."""
    if any(text.lower() in pair for pair in PLAIN):
        return text.lower()
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else str(number)


def sensitive_column(name: str, groups: Collection[str]) -> SensitiveColumn:
    """Name the groups of a column in order; refuse too many, or a single one."""
    if len(groups) > MAX_GROUPS:
        examples = ", ".join(repr(group) for group in sorted(groups)[:3])
        raise FFMLError(
            f"sensitive column {name!r} has more than {MAX_GROUPS} groups ({examples}, ...); "
            "make fewer of them, such as bands of age"
        )
    if len(groups) < 2:
        only = "".join(groups)
        raise FFMLError(
            f"sensitive column {name!r} has one group only ({only!r}); groups are compared, so at "
            "least two are needed"
        )
    return SensitiveColumn(name, tuple(sorted(groups, key=_by_number)))


def refuse_new_groups(
    groups: Mapping[str, Iterable[str]], columns: Iterable[SensitiveColumn]
) -> None:
    """Refuse a group that a run does not compare."""
    for column in columns:
        if new := sorted(set(groups[column.name]) - set(column.groups)):
            raise FFMLError(
                f"sensitive column {column.name!r} has a new group {new[0]!r}, and the run "
                f"compares {', '.join(column.groups)}; leave its rows out, or start another run"
            )


def _by_number(text: str) -> tuple[int, float, str]:
    """Sort numbers by value, before texts."""
    try:
        return (0, float(text), text)
    except ValueError:
        return (1, 0.0, text)
