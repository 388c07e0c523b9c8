"""The report: one HTML page, and a model card, that a person who was not there can read.

Both are functions of a `RunView` and of nothing else. The same view gives the same bytes, and the
page asks for nothing from elsewhere when it is opened. Which file answers which question:

- ``page``: the whole page; ``_first``: its first screen; ``card``: the model card;
- ``answer``: the sentences; ``_groups``, ``_facts``, ``_research``: tables with their words;
- ``pictures``: what is drawn of a run; ``charts`` and ``_svg``: how;
- ``audit_page``: the page of an audit; ``summary`` and ``files``: what else a run leaves on disk.
"""

from ffml.report._view import RunView, Score, Table

__all__ = ["RunView", "Score", "Table"]
