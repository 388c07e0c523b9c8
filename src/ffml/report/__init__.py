"""The report: one HTML page, and a model card, that a person who was not there can read.

Both are functions of the files in a run directory and of nothing else. The same files give the
same bytes, and the page asks for nothing from elsewhere when it is opened.
"""

from pathlib import Path

__all__ = ["write_model_card", "write_report"]


def write_report(run_dir: Path) -> Path:
    """Write ``report.html`` into ``run_dir`` from the files of that run and return its path."""
    from ffml.report._files import read_run
    from ffml.report._page import render

    page = Path(run_dir) / "report.html"
    page.write_text(render(read_run(Path(run_dir))), encoding="utf-8", newline="\n")
    return page


def write_model_card(run_dir: Path) -> Path:
    """Write ``model_card.md`` into ``run_dir`` from the files of that run and return its path."""
    from ffml.report._card import model_card
    from ffml.report._files import read_run

    card = Path(run_dir) / "model_card.md"
    card.write_text(model_card(read_run(Path(run_dir))), encoding="utf-8", newline="\n")
    return card
