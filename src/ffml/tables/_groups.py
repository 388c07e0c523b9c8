"""The groups of a protected attribute."""

from collections.abc import Collection, Iterable, Mapping

from ffml.base import FFMLError, SensitiveColumn

MAX_GROUPS = 50


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
    found: Mapping[str, Iterable[str]], columns: Iterable[SensitiveColumn]
) -> None:
    """Refuse a group that a run does not compare."""
    for column in columns:
        if new := sorted(set(found[column.name]) - set(column.groups)):
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
