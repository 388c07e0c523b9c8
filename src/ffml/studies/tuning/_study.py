"""A whole search: which settings, computed where they are missing, one chosen, in files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ffml.border import one_of
from ffml.methods import METHODS
from ffml.recipe.config import configure_run
from ffml.recipe.renamed import todays_method
from ffml.recipe.sources import is_table
from ffml.report.numbers import counted
from ffml.runs.ownership import check_results
from ffml.studies.cells import Store
from ffml.studies.compare import known_kinds
from ffml.studies.files import made_by
from ffml.studies.jobs import HERE, check_backend
from ffml.studies.play import Watch, Work, run_and_keep, run_cells, unfinished, unwatched
from ffml.studies.tuning._choose import Rule, ranked
from ffml.studies.tuning._chunks import Chunk, unfinished_chunks
from ffml.studies.tuning._play import ChunkPlayer
from ffml.studies.tuning._results import write_search
from ffml.studies.tuning._search import SEEDS, Search, Span, check_search, plan_search
from ffml.studies.tuning._space import SPACES, draw_settings, grid_settings, space_axes
from ffml.tables import open_table


class Tuned(NamedTuple):
    """What a search found: all settings in the rule's order, and what chosen.json says."""

    table: pd.DataFrame
    document: dict[str, Any]


def tune_settings(
    search: Search,
    rule: Rule,
    out: Path,
    *,
    chunk: int | None = None,
    backend: str | None = None,
    command: str = "",
    watch: Watch = unwatched,
) -> Tuned:
    """Compute what is missing and choose. Nothing is written before everything is checked.

    Finished chunks, of at most ``chunk`` settings, are kept in ``out``; ``command`` is what
    chosen.json says that it was made with. For the rest see `ffml.studies.play.run_missing`.
    """
    check_backend(backend)
    store = Store(out / "chunks")
    check_results(out, store.folder)
    span = check_search(search)
    cells = [replace(cell, last=span.last) for cell in search.cells]
    chunks = []
    if span.together:
        devices = None if backend is None else 1
        chunks = unfinished_chunks(search, store, span.schema, chunk, devices)
    words = _words(search, span, chunks, len(unfinished(cells, store)))
    work = Work(words, len(cells), lambda: len(unfinished(cells, store)), store.folder)
    with watch(work) as tell:
        if span.together:
            run_and_keep(ChunkPlayer(), chunks, store, backend=backend or HERE, tell=tell)
        else:
            run_cells(cells, store, backend=backend, tell=tell)
    table = ranked(load_search(store, search), rule)
    facts = made_by(command) | {"seconds": store.seconds(search.cells)}
    return Tuned(table, write_search(out, search, span, table, rule, facts))


def load_search(store: Store, search: Search) -> pd.DataFrame:
    """Return one row per run and judged round: `Store.load` with a ``setting``, its number."""
    frame = store.load(search.cells).query("n_validation > 0").astype({"label": int})
    return frame.rename(columns={"label": "setting"})


def _words(search: Search, span: Span, chunks: Sequence[Chunk], left: int) -> str:
    """Say what is tried, how it is judged, and what is left to compute."""
    runs = len(search.cells)
    kept = f", {runs - left} of {runs} runs finished already" if left < runs else ""
    programs = counted(len({chunk.program for chunk in chunks}), "program")
    jobs = f"{counted(len(chunks), 'chunk')} of {programs}" if span.together else f"{left} runs"
    return (
        f"{counted(len(search.settings), 'setting')} of {search.method} "
        f"({', '.join(search.names)}) × {counted(len(search.seeds), 'seed')}{kept}; "
        f"to compute: {jobs}\n"
        f"judged in rounds {span.first} to {span.last} of {span.rounds} with at least "
        f"{search.min_validation} validation rows, seeds {search.seed_words}; "
        "tables report later rounds and other seeds (of the same tasks)"
    )


def plan_space(
    data: str,
    *,
    method: str = "ffml",
    given: Mapping[str, Any],
    space: str | None = None,
    grid: Mapping[str, Sequence[Any]],
    random: int | None = None,
    preset: str | None = None,
    seeds: Sequence[int] | None = None,
    as_they_are: bool = False,
    **more: Any,
) -> Search:
    """Say what to try: values of a space by name, of a grid, or draws between them.

    Args:
        data: a data set, or the path of a table.
        method: whose settings.
        given: one value for all; a space leaves these settings out.
        space: a key of `SPACES`; by default "default", or none with a grid.
        grid: values by setting.
        random: number of draws between the smallest and the greatest values.
        preset: what other settings are; by default the space's.
        seeds: see `plan_search`, like all further arguments.
        as_they_are: the first trial is the settings as they are; the others are drawn.
    """
    method = todays_method(method)
    one_of("method", method, METHODS)
    named = space or (None if grid else "default")
    preset = preset or (SPACES[named].preset if named in SPACES else "default")
    kinds = known_kinds(data, {**given, "method": method}, preset)
    axes: dict[str, Any] = dict(space_axes(named, kinds)) if named else {}
    if given.get("classifier", "logistic") != "logistic":
        axes.pop("inverse_l2", None)  # of the logistic regression alone
    axes = {name: values for name, values in axes.items() if name not in given} | dict(grid)
    draws = random or (SPACES[named].draws if named else None)
    settings = draw_settings(axes, draws, kinds) if draws else grid_settings(axes)
    if as_they_are:
        now = configure_run(data, {**given, "method": method}, preset).settings
        settings = [{name: now[name] for name in axes}, *settings[:-1]]
    return plan_search(
        data,
        settings,
        method=method,
        given=given,
        preset=preset,
        seeds=SEEDS if seeds is None else seeds,
        fingerprint=open_table(data).fingerprint() if is_table(data) else "",
        **more,
    )
