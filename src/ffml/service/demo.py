"""A small lender that was made up, lived in fast motion: what a newcomer sees first.

The lender has a year of files to begin with. Then each month some hundred people apply, and a
learner decides at once. A month later the office says whom it would have approved: the labels. It
approves men more often than women with the same papers, and men earn more in these data, so that
its approvals are some 25 points apart. The learner is asked to keep its own within 5 points.
Nothing is arranged beyond that: the page shows what the learner does.
"""

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ffml.runs import run as start_run
from ffml.service import _learner
from ffml.service._served import Served
from ffml.service.app import create_app
from ffml.service.server import Server

if TYPE_CHECKING:
    import pandas as pd

NAME = "made-up-lender"
PEOPLE = 300  # a month
KNOWN_MONTHS = 12  # whose labels are there when the demo begins
MONTHS = 36
BATCH = 30  # people who are decided about at once
ROLES: dict[str, Any] = {
    "label": "approved",
    "positive": "yes",
    "sensitive": "sex",
    "task": "month",
}


def month_table(number: int, seed: int = 0, people: int = PEOPLE) -> "pd.DataFrame":
    """Return the applicants of a month, with what the office says of them.

    >>> month_table(13, people=3)[["month", "applicant"]].values.tolist()
    [['2025-01', '13-0'], ['2025-01', '13-1'], ['2025-01', '13-2']]
    """
    import pandas as pd

    rng = np.random.default_rng([seed, number])
    man = rng.random(people) < 0.5
    income = np.exp(rng.normal(7.8 + 0.25 * man, 0.35))
    years = rng.gamma(2.0, 3.0 + 1.0 * man)
    debt = np.exp(rng.normal(8.6, 0.7, people))
    score = 2.2 * (np.log(income) - 7.9) + 0.12 * (years - 6) - 0.6 * (np.log(debt) - 8.6)
    score += 0.5 * man - 0.25  # the office's own bias
    when = f"{2024 + (number - 1) // 12}-{(number - 1) % 12 + 1:02d}"
    return pd.DataFrame(
        {
            "applicant": [f"{number}-{i}" for i in range(people)],
            "month": when,
            "sex": np.where(man, "men", "women"),
            "income": income.round(),
            "years_employed": years.round(1),
            "debt": debt.round(),
            "approved": np.where(score + rng.logistic(size=people) > 0, "yes", "no"),
        }
    )


def begin(folder: Path, seed: int = 0, people: int = PEOPLE) -> None:
    """Start the lender's run on the months whose labels are known."""
    import pandas as pd

    past = [month_table(number, seed, people) for number in range(1, KNOWN_MONTHS + 1)]
    start_run(pd.concat(past), out=folder, id="applicant", max_gap=0.05, **ROLES).close()


async def live(served: Served, pace: float = 0.15, months: int = MONTHS, seed: int = 0) -> None:
    """Play the later months: decide about all who come, then bring the labels of the last month.

    Args:
        served: the lender's run behind its door; everything goes through it.
        pace: seconds between two batches of people.
        months: the last one.
        seed: of the data.
    """
    waiting = None
    for number in range(KNOWN_MONTHS + 1, months + 1):
        table = month_table(number, seed)
        for people in _batches(table.drop(columns="approved")):
            await served.decider.decide(people, str(table["month"][0]), True)
            await asyncio.sleep(pace)
        if waiting is not None:
            await served.learner.call(_learner.label, _labels(waiting), "applicant", False)
        waiting = table


def play(host: str, port: int, ready: Callable[[str], None], pace: float = 0.15) -> None:
    """Serve the demo until it is stopped; nothing of it stays."""
    with tempfile.TemporaryDirectory(prefix="ffml-demo-") as folder:
        place = Path(folder) / NAME
        begin(place)
        app = create_app({NAME: str(place)}, promote="newest")
        server = Server(app, host, port, lambda at: ready(f"{at}/runs/{NAME}/page"))
        asyncio.run(_both(server, app.state.runs[NAME], pace))


async def _both(server: Server, served: Served, pace: float) -> None:
    """Serve, and live until the last month or until the server is stopped."""
    failures = []

    def ended(life: asyncio.Task[None]) -> None:
        if not server.should_exit and not life.cancelled() and (error := life.exception()):
            failures.append(error)
            server.should_exit = True

    life = asyncio.create_task(live(served, pace))
    life.add_done_callback(ended)
    await server.serve()
    life.cancel()
    await asyncio.gather(life, return_exceptions=True)  # doors are closed: nothing more is done
    if failures:
        raise failures[0]


def _batches(table: "pd.DataFrame") -> Iterator[pa.Table]:
    for first in range(0, len(table), BATCH):
        yield pa.Table.from_pandas(table[first : first + BATCH], preserve_index=False)


def _labels(table: "pd.DataFrame") -> pa.Table:
    return pa.Table.from_pandas(table[["applicant", "month", "approved"]], preserve_index=False)
