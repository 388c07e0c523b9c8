"""Bank Marketing: does a client take out a term deposit? One task is one month × weekday."""

from os import PathLike

from ffml.base import Stream
from ffml.datasets._download import RemoteFile, fetch
from ffml.datasets._people import Dataset, people_stream

FILE = RemoteFile(
    name="bank-additional-full.csv",
    sha256="74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
    url="https://archive.ics.uci.edu/static/public/222/bank+marketing.zip",
    members=("bank-additional.zip", "bank-additional/bank-additional-full.csv"),
)

RAW = ("month", "day_of_week", "y", "marital")  # task, label and group are made of them


def load(
    *, seed: int = 0, data_home: str | PathLike[str] | None = None, drop_duration: bool = False
) -> Stream:
    """Load Bank Marketing: 50 tasks (March to December × Monday to Friday) of 24 to 2,921 clients.

    The 80 clients whose marital status is unknown are dropped. The words ``unknown`` and
    ``nonexistent`` of other columns are categories of their own; ``pdays`` is 999 for clients
    never called before, as published. Indicators of the economy that do not vary within a task
    are 0 there.

    **The attribute ``duration`` is known only after the call**, when the answer is known too.
    It is kept by default because the paper's experiments take the attributes as they are; drop
    it whenever the question is what could be predicted before calling.

    Args:
        seed: draws the order of the tasks.
        data_home: folder that holds, or will hold, the downloaded file; see `ffml.load`.
        drop_duration: leave ``duration`` out of the features.
    """
    import pandas as pd

    frame = pd.read_csv(fetch(FILE, data_home), sep=";", keep_default_na=False)
    frame["month-day"] = frame["month"] + "-" + frame["day_of_week"]
    frame["subscribed"] = frame["y"] == "yes"
    frame["married"] = (frame["marital"] == "married").map({False: "no", True: "yes"})
    clients = frame[frame["marital"] != "unknown"]
    return people_stream(
        clients.drop(columns=[*RAW, "duration"] if drop_duration else list(RAW)),
        name="bank",
        task="month-day",
        label="subscribed",
        sensitive={"married": ("no", "yes")},
        seed=seed,
    )


BANK = Dataset(
    name="bank",
    summary="Telephone marketing of term deposits to 41,108 clients, by month and weekday",
    load=load,
    num_tasks=50,
    num_rows=41_108,
    task="month × day of the week",
    label="the client takes out a term deposit",
    sensitive="married or not",
    citation="Moro, S., Cortez, P. & Rita, P. (2014). A data-driven approach to predict the "
    "success of bank telemarketing. Decision Support Systems 62, 22-31. "
    "https://doi.org/10.24432/C5K306",
    licence="CC BY 4.0",
    shipped=False,
)
