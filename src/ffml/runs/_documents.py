"""Documents about a run: what `ffml.documents` needs to know of it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ffml.documents import NEED_RUN, Document, RunFacts, make_document, people_of_run
from ffml.runs._promotion import RULE
from ffml.runs._views import summary_of, view_of

if TYPE_CHECKING:
    from ffml.runs._run import Run


def document_of(run: "Run", kind: str, fields: Mapping[str, str]) -> Document:
    """Make a document about everybody whom a run has decided about."""
    people = people_of_run(run.store)
    return make_document(kind, people, _facts(run) if kind in NEED_RUN else None, fields)


def _facts(run: "Run") -> RunFacts:
    events = run.store.events()
    return RunFacts(
        view_of(run, summary_of(run)),
        run.versions,
        run.store.document(RULE) or "newest",
        (events[0].at, events[-1].at),
        events[-1].hash,
    )
