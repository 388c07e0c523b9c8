"""From names of items to their files: compute what is missing, then draw."""

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from ffml.border import one_of
from ffml.recipe.plain import plain
from ffml.recipe.saved import versions
from ffml.research.reproduce._files import read_record, write_item
from ffml.research.reproduce._items import ITEMS, Item, make
from ffml.research.reproduce._page import write_page
from ffml.research.reproduce._setting import Setting
from ffml.runs.ownership import check_results
from ffml.runtime import available_cores
from ffml.studies.cells import RunSpec, Store
from ffml.studies.compare import PROTOCOLS
from ffml.studies.jobs import Tell, place_of_work
from ffml.studies.play import Watch, Work, check_cells, run_cells, unfinished, unwatched


class Reproduction:
    """Items of one setting in a folder: `check`, then `compute`, then `write`.

    Runs that several items need are computed once, and kept in ``cells``, so that an interrupted
    reproduction goes on where it was.

    Args:
        names: keys of `ITEMS`; all of them if empty.
        setting: how thoroughly.
        folder: where everything goes.
    """

    def __init__(self, names: Sequence[str], setting: Setting, folder: Path) -> None:
        for name in names:
            one_of("item", name, ITEMS)
        self.setting, self.folder = setting, folder
        self.items = {name: item for name, item in ITEMS.items() if name in names or not names}
        self.runs = Store(folder / "cells")
        needed = [cell for item in self.items.values() for cell in item.cells(setting)]
        needed.sort(key=lambda cell: len(cell.sizes))  # a run with curves is the run without
        self.cells = list({cell.key: cell for cell in needed}.values())

    def unfinished(self) -> list[RunSpec]:
        """Return the runs that are missing, or whose learning curves are."""
        return unfinished(self.cells, self.runs)

    def check(self) -> None:
        """Refuse what cannot run before anything does; data that are missing are downloaded."""
        made_before = any(map(read_record, self.folder.glob("*.json")))
        check_results(self.folder, self.runs.folder, ours=made_before)
        check_cells(self.unfinished())

    def compute(
        self,
        *,
        workers: int | None = None,
        backend: str | None = None,
        watch: Watch = unwatched,
    ) -> None:
        """Compute what is missing many at a time, see `ffml.studies.play.run_cells`."""
        where = place_of_work(workers or available_cores(), backend)
        work = Work(len(self.cells), lambda: len(self.unfinished()), where, self.folder)
        with watch(work) as tell:
            self._run(workers, backend, tell)

    def _run(self, workers: int | None, backend: str | None, tell: Tell) -> None:
        for share in self.setting.shares:  # one after the other: they are the same programs
            cells = [c for c in self.cells if c.config.validation_fraction == share]
            run_cells(cells, self.runs, workers=workers, backend=backend, tell=tell)

    def write(self, command: str, seconds: float | None = None) -> list[dict[str, Any]]:
        """Make all items and the page; return the records of the items.

        Args:
            command: that made them, to be shown.
            seconds: how long it took so far, if it is to be shown.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        common = {
            "note": self.setting.note,
            "setting": plain(self.setting.document()),
            "command": command,
            "date": datetime.now(UTC).date().isoformat(),
            "cores": available_cores(),
            "wall_seconds": seconds,
            "versions": {"python": platform.python_version(), **versions()},
        }
        records = []
        for name, item in self.items.items():
            made = make(item, self.setting, self._frame(item))
            facts = {"item": name, "title": item.title} | common | self._effort(item)
            records.append(write_item(self.folder, self._stem(name), made, facts))
        facts = common | {
            "protocol": f"{self.setting.protocol}: {self._protocol_summary()}",
            "took": duration(seconds) if seconds is not None else "",
        }
        write_page(self.folder, self.setting, facts, self._page_records(common["setting"]))
        return records

    def _stem(self, name: str) -> str:
        return f"{name}{self.setting.suffix}"

    def _protocol_summary(self) -> str:
        return PROTOCOLS[self.setting.protocol].summary

    def _frame(self, item: Item) -> pd.DataFrame | None:
        cells = item.cells(self.setting)
        if not cells:
            return None
        return self.runs.load_curves(cells) if cells[0].sizes else self.runs.load(cells)

    def _effort(self, item: Item) -> dict[str, Any]:
        """Say how many runs an item needed and how long they took, whenever that was."""
        cells = item.cells(self.setting)
        seconds = self.runs.seconds(cells)
        return {"runs": len(cells), "run_seconds": seconds, "time": duration(seconds)}

    def _page_records(self, setting: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the records of all items that were ever made here with this setting."""
        paths = [self.folder / f"{self._stem(name)}.json" for name in ITEMS]
        found = [record for path in paths if (record := read_record(path))]
        return [record for record in found if record["setting"] == setting]


def duration(seconds: float) -> str:
    """Write a time as people say it.

    >>> duration(42), duration(600), duration(9000)
    ('42 s', '10 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
