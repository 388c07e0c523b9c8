"""Adult: does a person earn more than 50,000 dollars a year? One task is one native country."""

from collections.abc import Sequence

from ffml.base import FFMLError, Stream
from ffml.datasets._people import Dataset, people_stream, read_shipped

# The first group is the one that the others are compared with where there are two of them.
SENSITIVE = {
    "sex": ("Male", "Female"),
    "race": ("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"),
}


def load(
    *, seed: int = 0, sensitive: str | Sequence[str] = ("sex",), intersect: bool = False
) -> Stream:
    """Load Adult: 41 tasks of 1 to 43,832 people.

    Both of the publisher's files are used (48,842 people); the 857 whose native country is
    unknown are dropped. All attributes but the task, the label and the chosen sensitive columns
    are features. Some of them stand in for sex (``relationship`` knows husbands from wives);
    they stay, as they would in practice.

    Args:
        seed: draws the order of the tasks.
        sensitive: one or more of ``sex`` and ``race``; what is not chosen is a feature.
        intersect: cross the sensitive columns into one.

    >>> stream = load()
    >>> first = next(stream.tasks())
    >>> stream.num_tasks, len(stream.schema.features), stream.schema.contrasts
    (41, 64, ('sex=Female',))
    """
    chosen = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    if not chosen or not set(chosen) <= set(SENSITIVE):
        raise FFMLError(f"sensitive must be among {list(SENSITIVE)}, got {list(chosen)}")
    frame = read_shipped("adult")
    frame["income>50K"] = frame["income"] == ">50K"
    return people_stream(
        frame[frame["native-country"] != "?"].drop(columns="income"),
        name="adult",
        task="native-country",
        label="income>50K",
        sensitive={column: SENSITIVE[column] for column in chosen},
        seed=seed,
        intersect=intersect,
    )


ADULT = Dataset(
    name="adult",
    summary="Census income of 47,985 people, by native country",
    load=load,
    num_tasks=41,
    num_rows=47_985,
    task="native country",
    label="income above 50,000 dollars a year",
    sensitive="sex (or race, or both)",
    citation="Becker, B. & Kohavi, R. (1996). Adult. UCI Machine Learning Repository. "
    "https://doi.org/10.24432/C5XW20",
    licence="CC BY 4.0",
    shipped=True,
)
