"""What the page shows of a run, read at one moment, as plain values for its template."""

import datetime
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ffml.base import FFMLError, SensitiveColumn
from ffml.metrics.facts import compared_groups, group_facts
from ffml.metrics.phrases import UNDEFINED, asked_words, bound_of, hundred, in_points, were_decided
from ffml.metrics.rates import selection_rates
from ffml.metrics.words import apart_words, rates_words
from ffml.report.charts import Line, line_figure
from ffml.report.pictures import decision_pictures
from ffml.service._read import label_lag, outstanding

if TYPE_CHECKING:
    from ffml.audit.record import RunRecord
    from ffml.runs import Run
    from ffml.service._people import Columns

NOBODY = "Nobody has been decided about yet; the page begins with the first task."
MOST_ROWS = 12  # of a table
MOST_DAYS = 60


def short_look(run: "Run") -> dict[str, Any]:
    """Return the answer alone, for the list of runs."""
    if not run.store.tasks():
        return {"verdicts": [], "sentences": [NOBODY], "newest": UNDEFINED}
    answer = run.answer
    return {
        "verdicts": _verdicts(answer),
        "sentences": str(answer).splitlines(),
        "newest": (answer["now"] or {"task": UNDEFINED})["task"],
        "people": answer["people"],
        "share": answer["positive_share"],
    }


def long_look(
    run: "Run", columns: "Columns", asked: Mapping[str, str], ids: bool
) -> dict[str, Any]:
    """Return everything the page shows of a run.

    Args:
        run: the run.
        columns: its words for decisions.
        asked: ``start`` and ``end``, tasks between which pictures are shown.
        ids: whether who asks may see who was decided about.
    """
    if not run.store.tasks():
        raise FFMLError(NOBODY)
    record, look, tasks = run.record, short_look(run), run.record.tasks
    shown = _shown(tasks, asked)
    whole = len(tasks[shown]) == len(tasks)
    return look | {
        "tiles": _tiles(run, look, record),
        "tasks": tasks,
        "start": tasks[shown][0],
        "end": tasks[shown][-1],
        "whole": whole,
        "part": "" if whole else _part_sentence(record, shown),
        "pictures": decision_pictures(record, slice(None) if whole else shown),
        "days": _days(run, record.favourable),
        "waiting": [(row, _age(row.since)) for row in run.store.waiting(MOST_ROWS)],
        "delay": _delay_words(*label_lag(run)),
        "versions": _versions(run),
        "drift": _drift(record, shown),
        "label": columns.label,
        "newest_rows": _newest(run, columns),
        "ids": ids,
    }


def _verdicts(answer: Mapping[str, Any]) -> list[dict[str, str]]:
    """Say of each thing that was asked for how it stands, in two or three words."""
    return [
        {
            "asked": asked_words(notion["notion"], bound_of(notion)),
            "verdict": notion["verdict"],
            "kind": notion["verdict"].replace(" ", "-"),
        }
        for notion in answer["notions"]
        if notion["verdict"] is not None
    ]


def _shown(tasks: Sequence[str], asked: Mapping[str, str]) -> slice:
    """Find the tasks between two, all where nothing is asked."""
    if strange := [name for name, task in asked.items() if task not in tasks]:
        raise FFMLError(f"{strange[0]} names a task of the run, as /rounds lists them")
    first = tasks.index(asked.get("start", tasks[0]))
    last = tasks.index(asked.get("end", tasks[-1]))
    return slice(min(first, last), max(first, last) + 1)


def _tiles(run: "Run", look: Mapping[str, Any], record: "RunRecord") -> list[tuple[str, str]]:
    """Return a few large numbers with what they are."""
    apart = [
        (f"{in_points(_gap(record.counts.unpriced[column.name], column))} points", column.name)
        for column in record.columns
        if column.name in record.moved
    ]
    return [
        (f"{look['people']:,}", "people decided so far"),
        (hundred(look["share"]), were_decided(record.favourable)),
        *((gap, f"apart by {name}, if nothing were asked") for gap, name in apart[:1]),
        (f"{outstanding(run):,}", "labels have not come yet"),
        (f"Version {run.store.deciding}", "decides now"),
    ]


def _gap(counts: np.ndarray, column: SensitiveColumn) -> float:
    """Return how far apart the rates of the groups that are compared are, in all tasks together."""
    rates = selection_rates(compared_groups(counts, column).tables.sum(0))
    return float(np.nanmax(rates) - np.nanmin(rates))


def _part_sentence(record: "RunRecord", shown: slice) -> str:
    """Say the fact of a part of the tasks: rates of everybody decided about, without a verdict."""
    bound = dict(record.asked).get("demographic-parity")
    least = getattr(bound, "least", None)
    notion = {"max_gap": bound if least is None else None, "min_ratio": least}
    said = []
    for column in record.columns:
        groups = compared_groups(record.tables[column.name][shown], column)
        for fact in group_facts(groups.tables, column.name, groups.names, "demographic-parity"):
            said.append(f"{rates_words(fact, record.favourable)}: {apart_words(fact, notion)}")
    people = int(record.counts.everybody[shown].sum())
    return f"Of {people:,} people decided in this part, {'; '.join(said)}."


def _days(run: "Run", favourable: str) -> dict[str, Any]:
    """Count decisions by day (by hour, if there is one day only): a chart, or a sentence."""
    newest = run.store.newest(1)
    if not newest:
        return {"picture": "", "sentence": "Nobody has been decided about yet."}
    last = datetime.date.fromisoformat(newest[0].at[:10])
    start = str(last - datetime.timedelta(days=MOST_DAYS - 1))
    by, counts = "day", run.store.by_time(start, "day")
    if len(counts) == 1:
        by, counts = "hour", run.store.by_time(str(last), "hour")
    places = _every(by, min(counts), max(counts))
    people, chosen = ([counts.get(p, (0, 0))[i] for p in places] for i in (0, 1))
    decided = were_decided(favourable).removeprefix("were ")
    if len(places) == 1:
        when = places[0].replace("T", ", hour ")
        sentence = (
            f"{when} (UTC): {people[0]:,} people were decided about, {chosen[0]:,} {decided}."
        )
        return {"picture": "", "sentence": sentence}
    picture = line_figure(
        "days",
        f"Decisions by {by}",
        f"How many people were decided about in each {by} (UTC).",
        [f"{place[11:]} h" if by == "hour" else place for place in places],
        [Line("people", people), Line(decided, chosen)],
        lambda value: f"{value:,.0f}",
        ends=(0.0, 1.05 * max(people)),
        axis=by,
    )
    return {"picture": picture, "sentence": ""}


def _every(by: str, first: str, last: str) -> list[str]:
    """Name all days or hours between two, those without a decision too."""
    form, step = ("%Y-%m-%d", {"days": 1}) if by == "day" else ("%Y-%m-%dT%H", {"hours": 1})
    at, names = datetime.datetime.strptime(first, form), [first]
    while names[-1] < last:
        at += datetime.timedelta(**step)
        names.append(at.strftime(form))
    return names


def _delay_words(labels: int, seconds: float) -> str:
    """Say how long labels took that came later.

    >>> _delay_words(1, 30.5 * 86400)
    'Half of the newest 1 labels that came later took 30.5 days or less.'
    >>> _delay_words(0, 0.0)
    'No label has come later than its decision.'
    """
    if not labels:
        return "No label has come later than its decision."
    size, unit = next((s, u) for s, u in _UNITS if seconds >= s or s == 1)
    took = f"{seconds / size:.1f} {unit}"
    return f"Half of the newest {labels:,} labels that came later took {took} or less."


_UNITS = ((86400, "days"), (3600, "hours"), (60, "minutes"), (1, "seconds"))


def _age(at: str) -> str:
    """Say how long ago something was, in days."""
    since = datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(at)
    return "less than a day" if since.days < 1 else f"{since.days:,} days"


def _versions(run: "Run") -> list[dict[str, Any]]:
    rows = run.versions
    return [
        {
            "number": row.number,
            "at": _time(row.at),
            "task": row.task or "labels that came later",
            "state": "decides now" if row.deciding else "can be promoted" if row.kept else "",
        }
        for row in reversed(rows)
        if row.deciding or row.number > rows[-1].number - MOST_ROWS
    ]


def _drift(record: "RunRecord", shown: slice) -> list[dict[str, str]]:
    """List inputs that were unlike those of the tasks before, the newest task first."""
    return [
        {"task": row.task, "column": str(column), "text": str(text)}
        for row in reversed(record.kept[shown])
        for column, text in row.document.get("drift") or ()
    ][:MOST_ROWS]


def _newest(run: "Run", columns: "Columns") -> list[dict[str, Any]]:
    return [
        {
            **{"at": _time(row.at), "task": row.task, "id": row.id or "forgotten"},
            "decision": columns.word(row.decision),
            "unpriced": UNDEFINED if row.unpriced is None else columns.word(row.unpriced),
            "probability": UNDEFINED if row.probability is None else f"{row.probability:.3f}",
            "version": row.version,
            "label": "not yet" if row.label is None else columns.word(row.label),
        }
        for row in run.store.newest(MOST_ROWS)
    ]


def _time(at: str) -> str:
    """Write a moment to the second.

    >>> _time("2026-11-18T15:37:43.187953+00:00")
    '2026-11-18 15:37:43'
    """
    return at[:19].replace("T", " ")
