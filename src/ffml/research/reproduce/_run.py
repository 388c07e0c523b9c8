"""From names of items to their files: compute what is missing, then draw."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ffml.base import FFMLError
from ffml.border import one_of
from ffml.recipe.plain import plain
from ffml.research.reproduce._archive import exchange_runs
from ffml.research.reproduce._items import ITEMS, Item, make
from ffml.research.reproduce._made import read_record, write_item
from ffml.research.reproduce._page import write_page
from ffml.research.reproduce._setting import Setting
from ffml.runs.ownership import check_results
from ffml.studies.cells import RunSpec, Store
from ffml.studies.compare import PROTOCOLS
from ffml.studies.files import made_by
from ffml.studies.play import run_missing


class Reproduction:
    """Items of one setting in a folder: `compute`, then `write`.

    Runs that several items need are computed once, and kept in ``cells``, so that an interrupted
    reproduction goes on where it was.

    Args:
        names: keys of `ITEMS`; all of them if empty.
        setting: how thoroughly.
        folder: where everything goes.
        kept: where finished runs are taken from, and added, as small text files.
        finished: make items of the runs that are finished, and say which are missing.
    """

    def __init__(
        self,
        names: Sequence[str],
        setting: Setting,
        folder: Path,
        kept: Path | None = None,
        *,
        finished: bool = False,
    ) -> None:
        for name in names:
            one_of("item", name, ITEMS)
        self.setting, self.folder, self.kept, self.finished = setting, folder, kept, finished
        self.items = {name: item for name, item in ITEMS.items() if name in names or not names}
        self.runs = Store(folder / "cells")
        needed = [cell for item in self.items.values() for cell in item.cells(setting)]
        needed.sort(key=lambda cell: len(cell.sizes))  # a run with curves is the run without
        self.cells = list({cell.key: cell for cell in needed}.values())

    def compute(self, **how: Any) -> None:
        """Check everything, then compute what is missing, as `ffml.studies.play.run_missing` does.

        Data that are missing are downloaded; nothing is written before all is checked.
        """
        made_before = any(map(read_record, self.folder.glob("*.json")))
        check_results(self.folder, self.runs.folder, ours=made_before)
        self.exchange()
        if self.finished:
            return
        try:
            run_missing(self.cells, self.runs, **how)
        finally:
            self.exchange()

    def exchange(self) -> None:
        """Take finished runs that are kept elsewhere, and add new ones to them."""
        if self.kept is not None:
            exchange_runs(self.cells, self.runs, self.kept)

    def write(self, command: str, seconds: float | None = None) -> list[dict[str, Any]]:
        """Make all items and the page; return the records of the items.

        The page shows the ``command``, and how many ``seconds`` it took so far.
        """
        common = made_by(command) | {
            "note": self.setting.note,
            "setting": plain(self.setting.document()),
            "wall_seconds": seconds,
        }
        records = []
        for name, item in self.items.items():
            cells = self._cells(item)
            if not cells and item.cells(self.setting):
                continue
            made = make(item, self.setting, self._frame(cells))
            made = made._replace(caption=f"{made.caption} {self._missing(item)}".strip())
            facts = {"item": name, "title": item.title} | common | self._effort(cells)
            records.append(write_item(self.folder, self._stem(name), made, facts))
        if not records:
            raise FFMLError("no run of these items is finished yet; leave out --finished")
        facts = common | {
            "protocol": f"{self.setting.protocol}: {PROTOCOLS[self.setting.protocol].summary}",
            "took": duration(seconds) if seconds is not None else "",
        }
        write_page(self.folder, self.setting, facts, self._page_records(common["setting"]))
        return records

    def _stem(self, name: str) -> str:
        return f"{name}{self.setting.suffix}"

    def _cells(self, item: Item) -> list[RunSpec]:
        """Return the runs that an item is made of."""
        cells = item.cells(self.setting)
        return [c for c in cells if self.runs.finished(c)] if self.finished else cells

    def _missing(self, item: Item) -> str:
        """Say which runs of an item are missing; empty if none is."""
        cells, there = item.cells(self.setting), {cell.key for cell in self._cells(item)}
        missing = Counter(
            f"{cell.label} on {cell.config.data}" for cell in cells if cell.key not in there
        )
        if not missing:
            return ""
        words = ", ".join(f"{name} ({count})" for name, count in missing.items())
        return f"{missing.total()} of {len(cells)} runs are missing: {words}."

    def _frame(self, cells: Sequence[RunSpec]) -> pd.DataFrame | None:
        if not cells:
            return None
        return self.runs.load_curves(cells) if cells[0].sizes else self.runs.load(cells)

    def _effort(self, cells: Sequence[RunSpec]) -> dict[str, Any]:
        """Say how many runs an item was made of and how long they took, whenever that was."""
        seconds = self.runs.seconds(cells)
        return {"runs": len(cells), "run_seconds": seconds, "time": duration(seconds)}

    def _page_records(self, setting: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the records of all items that were ever made here with this setting."""
        paths = [self.folder / f"{self._stem(name)}.json" for name in ITEMS]
        records = [record for path in paths if (record := read_record(path))]
        return [record for record in records if record["setting"] == setting]


def duration(seconds: float) -> str:
    """Write a time as people say it.

    >>> duration(42), duration(600), duration(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
