"""A classifier as a run's folder: what one began, the other continues."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sklearn.utils.validation import check_is_fitted

from ffml.estimator._player import Player
from ffml.forks import refuse_after_fork

if TYPE_CHECKING:
    from ffml.audit.gate import Finding


class KeptAsRun(Player):
    """Reads and writes runs, and answers as they do."""

    @classmethod
    def from_run(cls, path: str | Path) -> Self:
        """Return the classifier that a run on a table has come to, by its last good round.

        `partial_fit` goes on with its stream as ``ffml update`` would, and `save` into the same
        folder continues the run. Features, groups and labels are those of the run's table.

        Args:
            path: folder of a run of the command line, or of `save`.
        """
        refuse_after_fork()
        from ffml.estimator._runs import load_run

        parameters, attributes = load_run(path)
        model = cls(**parameters)
        for name, value in attributes.items():
            setattr(model, name, value)
        return model._finish()

    def save(self, path: str | Path) -> Path:
        """Write a run's folder that ``ffml update``, ``check`` and ``predict`` take.

        A table for ``ffml update`` needs the columns of X, those of the sensitive features, one
        called as y was (or "label"), and one called "task".

        Args:
            path: a new folder, or that of the run which this classifier has gone on from.

        Returns:
            The report.
        """
        check_is_fitted(self)
        refuse_after_fork()
        from ffml.estimator._runs import save_run

        return save_run(self, path)

    def report(self, path: str | Path | None = None) -> str:
        """Return the report, one page of HTML, and write it to a file if one is given."""
        check_is_fitted(self)
        from ffml.estimator._runs import temporary_run

        with temporary_run(self) as run:
            page = run.report().read_text(encoding="utf-8")
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def check(self, **limits: Any) -> "list[Finding]":
        """Compare the rounds with what is asked, as ``ffml check`` does.

        Args:
            **limits: ``max_gap``, ``min_ratio``, ``notion``, … of `ffml.audit.gate.check`.
        """
        check_is_fitted(self)
        from ffml.estimator._runs import temporary_run

        with temporary_run(self) as run:
            return run.check(**limits)
