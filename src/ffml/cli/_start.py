"""``ffml start``: a few questions about a table, and a file of settings that answers them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ffml.base import FFMLError
from ffml.cli._settings_file import Answers, settings_text

if TYPE_CHECKING:
    from ffml.tables import ColumnLook, Source

DEFAULT_GAP = 0.05
MOST_DELAY = 1000
MOST_SHOWN = 12  # columns that fit
UNITS = ("day", "week", "month", "quarter", "year")


def start(table: str, out: Path | None = None) -> None:
    """Ask a few questions about a table, and write a run's settings.

    They go to a file with comments, which `ffml run --config` reads.

    Arguments:
        table: A table: .csv, .parquet, or a folder of them.

    Options:
        --out FILE: Where to write the settings. (default: TABLE's name with .toml)
    """
    from ffml.tables import look, open_table

    path = out or Path(f"{Path(table).name.split('.')[0] or 'table'}.toml")
    if path.suffix != ".toml":
        raise FFMLError(f"--out must end in .toml, got {path.name}")
    if path.exists():
        raise FFMLError(f"{path} is there already; choose another --out, or remove it")
    source = open_table(table)
    looks = look(source)
    typer.echo(f"{source.name} has {len(looks)} columns: {', '.join(looks)}\n")
    try:
        answers = _answers(source, looks)
    except typer.Abort:
        raise FFMLError("stopped before the last answer; nothing was written") from None
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(settings_text(table, answers, [c for c in looks if c != source.task]))
    except OSError as error:
        raise FFMLError(f"cannot write {path} ({error.strerror}); choose another --out") from None
    typer.echo(f"\nWritten: {path}. Look at it, then learn with: ffml run --config {path}")


def _answers(source: "Source", looks: Mapping[str, "ColumnLook"]) -> Answers:
    """Ask; what the table suggests is what Enter answers."""
    from ffml.tables import must_say_positive

    files = source.task
    free = [column for column in looks if column != files]
    _show_fitting("label", looks, free)
    label = _ask(
        "1. Which column is to be predicted (two values)?",
        _guess("label", looks, free),
        lambda text: _column(text, free),
    )
    free.remove(label)
    values = looks[label].values
    positive = _ask(
        f"2. Which value of {label} do people wish for ({' or '.join(values)})?",
        None if must_say_positive(label, values) else values[-1],
        lambda text: _one_of(text, values) if looks[label].distinct <= len(values) else text,
    )
    _show_fitting("sensitive", looks, free)
    sensitive = _ask(
        "3. Which groups are compared (a column, or several with commas)?",
        _guess("sensitive", looks, free),
        lambda text: tuple(_column(part, free) for part in text.split(",")),
    )
    free = [column for column in free if column not in sensitive]
    task, time, by = _ask_tasks(looks, free, files)
    date_format = _ask_format(source, time) if time else None
    delay, selective = _ask_outcomes(by if time else None)
    id = _ask_id(looks, [c for c in free if c not in (task, time)], delay)
    gap = _ask(
        "6. How far may the groups' rates be apart (0.05: 5 points)?",
        f"{DEFAULT_GAP:g}",
        _share,
    )
    approve = _ask(
        "7. What share is decided favourably (labels: as many as outcomes)?",
        "labels",
        _approved,
    )
    columns = (label, positive, sensitive, task, time, by)
    return Answers(*columns, gap, date_format, delay, selective, id, approve)


def _ask_tasks(
    looks: Mapping[str, "ColumnLook"], free: Sequence[str], files: str | None
) -> tuple[str | None, str | None, str | None]:
    """Ask for the task column; one that holds times is cut into periods."""
    times = [column for column in free if looks[column].unit]
    guess = "files" if files else (times[0] if times else _guess("task", looks, free))
    many = " (files: each file is one)" if files else ""
    column = _ask(
        f"4. Which column says when a row came, or of which population?{many}",
        guess,
        lambda text: "" if files and text == "files" else _column(text, free),
    )
    if not column:
        return None, None, None
    unit = looks[column].unit
    if unit is None:
        return column, None, None
    if unit != "day":
        return None, column, unit
    by = _ask(
        f"   How long is a task: {', '.join(UNITS[:-1])} or {UNITS[-1]}?",
        "month",
        lambda text: _one_of(text, UNITS),
    )
    return None, column, by


def _ask_outcomes(period: str | None) -> tuple[int, bool]:
    """Ask when outcomes are known, and if that is after the decision, of whom."""
    delay = _ask(
        f"5. How many {period or 'task'}s later are outcomes known (0: some known beforehand)?",
        "1" if period else "0",
        _count,
    )
    if not delay:
        return 0, False
    whom = _ask(
        "   Of whom (everybody, or favourable: those decided so)?",
        "everybody",
        lambda text: _one_of(text, ("everybody", "favourable")),
    )
    return delay, whom == "favourable"


def _ask_id(looks: Mapping[str, "ColumnLook"], free: Sequence[str], delay: int) -> str | None:
    """Ask who is who, if a column looks like it, or outcomes are to find their people later."""
    from ffml.tables import fitting

    fits = fitting("id", looks, free)
    if not fits and not delay:
        return None
    return _ask(
        "   Which column names a person or a case (none: there is none)?",
        fits[0] if len(fits) == 1 else "none",
        lambda text: None if text == "none" else _column(text, free),
    )


def _ask_format(source: "Source", time: str) -> str | None:
    """Ask for the order of day and month, if no date of the column tells it."""
    from ffml.tables import open_formats

    if not (formats := open_formats(source, time)):
        return None
    question = f"   How are the dates of {time} written: {' or '.join(formats)}?"
    return _ask(question, None, lambda text: _one_of(text, formats))


def _guess(part: str, looks: Mapping[str, "ColumnLook"], free: Sequence[str]) -> str | None:
    """Return the only column that fits a part, by its name or else by its values."""
    from ffml.tables import fitting, usually

    fits = fitting(part, looks, free)
    usual = usually(part, fits)
    return next((found[0] for found in (usual, fits) if len(found) == 1), None)


def _show_fitting(part: str, looks: Mapping[str, "ColumnLook"], free: Sequence[str]) -> None:
    """Name the columns that fit a part, where there are several and none is suggested."""
    from ffml.tables import fitting, usually

    fits = fitting(part, looks, free)
    shown = usually(part, fits) or fits
    if 1 < len(shown) <= MOST_SHOWN:
        typer.echo(f"   Columns that fit: {', '.join(shown)}")


def _ask(question: str, default: str | None, read: Callable[[str], Any]) -> Any:
    """Ask until the answer can be read."""
    while True:
        shown = default is not None
        text = typer.prompt(question, default=default or "", show_default=shown, prompt_suffix=" ")
        try:
            if not text.strip():
                raise FFMLError("nothing is suggested here: type an answer, please")
            return read(text.strip())
        except FFMLError as error:
            typer.echo(f"   {error}")


def _column(text: str, columns: Sequence[str]) -> str:
    from ffml.tables import refuse_unknown

    refuse_unknown("such", text.strip(), columns)
    return text.strip()


def _one_of(text: str, values: Sequence[str]) -> str:
    if text not in values:
        raise FFMLError(f"one of {', '.join(values)}, please")
    return text


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST_DELAY:
        raise FFMLError(f"a whole number from 0 to {MOST_DELAY}, please")
    return int(text)


def _approved(text: str) -> str:
    from ffml.recipe.policy import DEFAULT_POLICY, policy_of

    return DEFAULT_POLICY if text == DEFAULT_POLICY else str(policy_of({"approve": text}))


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise FFMLError("a number from 0 to 1, please, such as 0.05 for 5 points")
    return value
