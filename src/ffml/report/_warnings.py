"""What looked wrong before a run and during it, for the page and the card."""

from ffml.report._files import Run
from ffml.report._numbers import counted


def warning_lines(run: Run) -> list[str]:
    """Say what was noticed about the table, and which inputs changed along the stream."""
    lines = [_sentence(str(warning)) for warning in run.config.get("warnings") or []]
    if guessed := run.config.get("guessed"):
        columns = ", ".join(f"{part} {column!r}" for part, column in guessed.items())
        lines.append(f"Columns taken by their names, since nobody named them: {columns}.")
    for found in run.summary.get("drift") or []:
        more = int(found["rounds"]) - 1
        since = f", and in {counted(more, 'later round')}" if more else ""
        lines.append(
            f"Input {found['column']!r} changed in round {found['round']} ({found['task']})"
            f"{since}: {found['text']}."
        )
    return lines


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", ")")) else ".")
