"""Files beside the ledger: views of it, written anew when they are missing or stale."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ffml.audit.record import RunRecord
from ffml.base import FFMLError
from ffml.documents import RunFacts
from ffml.online.state import Round
from ffml.recipe.plain import to_json
from ffml.report import RunView, Score, Table
from ffml.report.card import model_card_text
from ffml.report.files import CARD, CONFIG, REPORT, SUMMARY, round_row, table_texts
from ffml.report.page import report_text
from ffml.report.summary import run_summary
from ffml.runs._answer import answer_of, keep_alarms
from ffml.runs._inputs import inputs_of
from ffml.runs._newest import blindness, extremes
from ffml.runs._rounds import rounds_from
from ffml.runs.ownership import VIEWS, refuse_links
from ffml.scoring.model import MODEL, model_bytes
from ffml.store.durable import turn, write_atomically

if TYPE_CHECKING:
    from ffml.runs._run import Run


MIN_WAITING = 3  # tasks one after the other that were not learned from: more than a late label


class Past(NamedTuple):
    """What a ledger says at one moment, read once for all views."""

    record: RunRecord
    rounds: list[Round]
    names: tuple[str, ...]  # of the constraints


def past_of(run: "Run") -> Past:
    """Read a run's rounds."""
    record = run.record
    names = run.session().loop.problem.constraint_names
    return Past(record, rounds_from(record.kept, record.counts, record.columns), names)


def summary_of(run: "Run", past: Past | None = None) -> dict[str, Any]:
    """Say in numbers what a run came to, as summary.json does."""
    record, rounds, names = past or past_of(run)
    if not rounds:
        raise FFMLError(f"{run.store.name} has no round done yet; let it finish one first")
    summary = run_summary(rounds, record.columns, names, record.status, answer_of(record))
    summary["answer"]["extremes"] = extremes(run.store, record)
    summary["blindness"] = blindness(run.store, record)
    summary["unlearned"] = _unlearned(record, rounds)
    extra = next((one.extra for one in reversed(rounds) if one.extra), {})
    return summary | {"moved": record.moved, "extra": extra, "head": record.head}


def _unlearned(record: RunRecord, rounds: list[Round]) -> int | None:
    """Count tasks with too few labels to be learned from; None unless the newest are such."""
    settings, learned = record.config["run"], {row.round: row.status for row in record.kept}
    newest = rounds[-1].round - int(settings.get("label_delay") or 0)
    labelled = [one.round for one in rounds if one.n_support + one.n_validation]
    waits = [learned[number] != "learned" for number in labelled if number <= newest]
    if len(waits) < MIN_WAITING or not all(waits[-MIN_WAITING:]):
        return None
    return sum(waits)


def write_views(run: "Run", anew: bool = False) -> Path | None:
    """Write all views of a run in a folder, ``anew`` or if stale; return the report's path."""
    if run.folder is None:
        return None
    with turn(run.folder):  # of two, the second sees what has happened since
        keep_alarms(run.store)
        past = past_of(run)
        summary = summary_of(run, past)
        if anew or not is_fresh(run.folder, summary):
            refuse_links(run.folder)
            _write(run, run.folder, past, summary)
    return run.folder / REPORT


def _write(run: "Run", folder: Path, past: Past, summary: dict[str, Any]) -> None:
    view, session = view_of(run, past, summary), run.session()
    model = session.at(run.store.deciding).model(past.record.status)
    try:
        write_atomically(folder / CONFIG, to_json(past.record.config))
        for name, text in table_texts(past.rounds, past.names, session.schema, header=True).items():
            write_atomically(folder / name, text)
        write_atomically(folder / CARD, model_card_text(view))
        write_atomically(folder / REPORT, report_text(view))
        write_atomically(folder / MODEL, model_bytes(model))
        write_atomically(folder / SUMMARY, to_json(summary))  # the last: with it, all are there
    except OSError as error:
        raise FFMLError(
            f"cannot write to {folder} ({error.strerror}); the ledger is safe: mend that, then "
            f"write the report with: ffml report {folder}"
        ) from error


def is_fresh(folder: Path, summary: dict[str, Any]) -> bool:
    """Tell whether all views are there and of the ledger's newest event."""
    if not all((folder / name).exists() for name in VIEWS):
        return False
    try:
        return (folder / SUMMARY).read_text(encoding="utf-8") == to_json(summary)
    except (OSError, ValueError):
        return False


def write_report(run: "Run", path: str | Path | None, beside: "Sequence[Run]" = ()) -> Path:
    """Write the report alone, or all views if no path is said."""
    target = write_views(run, anew=True) if path is None else Path(path)
    if target is None:
        raise FFMLError("this run is in a database; say where to write its report (--out)")
    if path is None and not beside:
        return target
    if target.suffix != ".html":
        raise FFMLError(f"the report is a page; name it .html, got {target.name}")
    page = report_text(view_of(run, beside=beside))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, page)
    except OSError as error:
        raise FFMLError(f"cannot write {target} ({error.strerror}); choose another") from error
    return target


def view_of(
    run: "Run",
    past: Past | None = None,
    summary: dict[str, Any] | None = None,
    beside: "Sequence[Run]" = (),
) -> RunView:
    """Return what the report knows about a run; ``beside`` are others about the same people."""
    past = past or past_of(run)
    record = past.record
    summary = summary or summary_of(run, past)
    preprocessing = run.store.document("preprocessing") or {}
    for other in beside:
        theirs = other.record
        if (theirs.tasks, theirs.columns) != (record.tasks, record.columns):
            raise FFMLError(
                f"{other.store.name} has other tasks or protected columns than {run.store.name}; "
                "show runs about the same people beside each other"
            )
    cells = run.store.cells()
    return RunView(
        record.config,
        json.loads(to_json(summary)),
        Table.of([round_row(one, past.names, float) for one in past.rounds]),
        record.columns,
        record.tables,
        tuple(str(column["name"]) for column in preprocessing.get("columns", ())),
        without=record.counts.unpriced if summary["without_fairness"] else {},
        alone=_together([one.alone for one in past.rounds if one.alone]),
        scores=tuple(Score(cells[cell], *row) for cell, *row in run.store.scores()),
        stand_ins=inputs_of(run.session()),
        beside=tuple(view_of(one) for one in beside),
    )


def facts_of(run: "Run") -> RunFacts:
    """Return what documents need to know of a run."""
    events = run.store.events()
    return RunFacts(
        view_of(run), run.versions, run.promotion, (events[0].at, events[-1].at), events[-1].hash
    )


def _together(rounds: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {name: np.sum([one[name] for one in rounds], 0) for name in rounds[0]} if rounds else {}
