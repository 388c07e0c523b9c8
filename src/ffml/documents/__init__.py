"""Documents that people file: counts turned into the rows that a rule asks for.

Each document is a page for print, a table and JSON. None of them is legal advice, none says that
a law is complied with, and what nobody but a person can say is left open and marked.
"""

from collections.abc import Mapping
from typing import Any

from ffml.documents import _ai_act, _ll144, _model_card, _ugesp
from ffml.documents._document import Document, Section
from ffml.documents._people import People, people_of_run, people_of_scores, people_of_table
from ffml.documents._run_facts import RunFacts

__all__ = [
    "KINDS",
    "NEED_RUN",
    "Document",
    "People",
    "RunFacts",
    "Section",
    "make_document",
    "people_of_run",
    "people_of_scores",
    "people_of_table",
]

_COUNTED: dict[str, Any] = {"ll144": _ll144, "ugesp": _ugesp}  # from people alone
_OF_RUNS: dict[str, Any] = {"ai-act": _ai_act, "model-card": _model_card}
NEED_RUN = tuple(_OF_RUNS)
KINDS = (*_COUNTED, *_OF_RUNS)


def make_document(
    kind: str,
    people: People,
    run: RunFacts | None = None,
    fields: Mapping[str, str] | None = None,
) -> Document:
    """Make a document.

    Args:
        kind: "ll144", "ugesp", "ai-act" or "model-card".
        people: everybody decided about.
        run: what is known of the run; the last two need it.
        fields: what no count tells, such as ``owner``. What is not given is left open.
    """
    from ffml.base import FFMLError
    from ffml.border import one_of

    module = one_of("document", kind, _COUNTED | _OF_RUNS)
    given = dict(fields or {})
    if unknown := [name for name in given if name not in module.FIELDS]:
        raise FFMLError(
            f"{kind} has no field '{unknown[0]}'; its fields are {', '.join(module.FIELDS)}"
        )
    if people.median is not None and kind != "ll144":
        raise FFMLError(f"{kind} is about decisions, not about scores; give --decision")
    if kind in _COUNTED:
        return module.document(people, given)
    if run is None:
        raise FFMLError(f"{kind} tells of a run, not of a table; give a run, or ask for ll144")
    return module.document(people, run, given)
