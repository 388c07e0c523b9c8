"""Equal budgets: every method is compared with settings chosen from equally many."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ffml.border import at_least
from ffml.runs.ownership import check_results
from ffml.studies.compare import Choose
from ffml.studies.play import Watch, unwatched
from ffml.studies.tuning import Rule, plan_space, tune_settings


def chosen_by_search(
    draws: int,
    out: Path,
    *,
    seeds: Sequence[int] | None = None,
    backend: str | None = None,
    command: str = "",
    watch: Watch = unwatched,
) -> Choose:
    """Return what `plan` can ask for a variant's settings on a data set: the best of some draws.

    The first trial is the settings as they are; the others are drawn from the default space of
    `ffml tune`. The best is chosen by its rule on its seeds and rounds, which no table reports.
    What was given for a variant, or for all of them, is not drawn.

    Searches are kept in the folder ``tuned`` of ``out`` and go on where they were. ``seeds`` are
    by default those of `ffml tune`; for the rest see `ffml.studies.tuning.tune_settings`.
    """
    at_least(1, tune=draws)
    folder = out / "tuned"
    check_results(out, out / "cells", ours=folder.is_dir())

    def choose(data: str, label: str, given: Mapping[str, Any], preset: str) -> Mapping[str, Any]:
        own = dict(given)
        method, options, plugins = (own.pop(n) for n in ("method", "data_options", "plugins"))
        search = plan_space(
            data,
            method=method,
            given=own,
            grid={},
            random=draws,
            preset=preset,
            seeds=seeds,
            as_they_are=True,
            data_options=options,
            plugins=plugins,
        )
        place = folder / Path(data).stem / re.sub(r"[^\w.=+-]+", "_", label)
        found = tune_settings(
            search, Rule(), place, backend=backend, command=command, watch=watch
        ).document["settings"]
        return dict(found)

    return choose
