"""Data sets as streams of tasks. One data set = one small file + one line here."""

import inspect
from os import PathLike
from typing import Any

from ffml.base import FFMLError, Stream
from ffml.border import one_of
from ffml.datasets._adult import ADULT
from ffml.datasets._bank import BANK
from ffml.datasets._crime import CRIME
from ffml.datasets._lender import LENDER
from ffml.datasets._people import Dataset
from ffml.datasets._synthetic import SYNTHETIC
from ffml.kinds import refuse_other_kinds

__all__ = ["DATASETS", "Dataset", "find", "load"]

DATASETS: dict[str, Dataset] = {
    "adult": ADULT,
    "bank": BANK,
    "crime": CRIME,
    "lender": LENDER,
    "synthetic": SYNTHETIC,
}


def load(
    name: str, *, seed: int = 0, data_home: str | PathLike[str] | None = None, **options: Any
) -> Stream:
    """Load a data set by its name.

    Args:
        name: a key of `DATASETS`.
        seed: draws the order of the tasks (and the data, where they are generated).
        data_home: where downloaded files are kept: this folder, else the environment variable
            ``FFML_DATA_HOME``, else the user's cache folder. Shipped data sets do not need it.
        **options: the data set's own options, such as ``sensitive`` of Adult.

    >>> stream = load("adult", sensitive=("sex", "race"), intersect=True)
    >>> stream.schema.sensitive[0].name, len(stream.schema.sensitive[0].groups)
    ('sex×race', 10)
    """
    dataset = find(name)
    parameters = inspect.signature(dataset.load).parameters
    own = set(parameters) - {"seed", "data_home"}
    if unknown := sorted(set(options) - own):
        takes = ", ".join(sorted(own)) or "no options"
        raise FFMLError(f"data set {name!r} has no option {unknown[0]!r}; it takes {takes}")
    refuse_other_kinds(options, {name: parameters[name].annotation for name in own})
    if not dataset.shipped:
        options["data_home"] = data_home
    return dataset.load(seed=seed, **options)


def find(name: str) -> Dataset:
    """Look a data set up; an unknown name is refused with the nearest one.

    >>> find("adult").num_tasks
    41
    """
    return one_of("data set", name, DATASETS)
