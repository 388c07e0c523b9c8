"""Tables that the package carries as Parquet."""

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def read_shipped(name: str) -> "pd.DataFrame":
    """Read one of the package's own tables, columns as published.

    >>> read_shipped("crime").shape
    (1994, 125)
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = files("ffml.datasets").joinpath("files", f"{name}.parquet").read_bytes()
    return pq.read_table(pa.BufferReader(content)).to_pandas()
