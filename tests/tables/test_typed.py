"""Tables in memory become the same stream as those in a file."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ffml.tables import FrameSource, table_stream

ROLES = {"label": "y", "sensitive": "sex", "task": "town", "order": "month"}
FRAME = pd.DataFrame(
    {
        "town": ["b", "a", "b", "a"],
        "month": [2, 1, 2, 1],
        "sex": ["F", "M", "M", "F"],
        "y": [0, 1, 1, 0],
        "age": [20.0, None, 40.0, 50.0],
        "job": pd.Categorical(["cook", "nurse", None, "cook"]),
    },
    index=[7, 5, 3, 1],
)


def polars_frame(frame):
    return pytest.importorskip("polars").from_pandas(frame)


KINDS = {"pandas": lambda f: f, "pyarrow": pa.Table.from_pandas, "polars": polars_frame}


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_is_a_table_like_its_file(tmp_path, kind):
    FRAME.to_parquet(tmp_path / "t.parquet")
    filed = table_stream(tmp_path / "t.parquet", **ROLES)
    held = table_stream(FrameSource(KINDS[kind](FRAME), "people"), **ROLES)
    assert (held.name, held.schema) == ("people", filed.schema)
    assert held.preprocessor == filed.preprocessor
    for _ in range(2):  # tasks start from the first again
        for one, two in zip(filed.tasks(), held.tasks(), strict=True):
            assert one.name == two.name
            for a, b in zip(one[1:], two[1:], strict=True):
                np.testing.assert_array_equal(a, b)


def test_the_fingerprint_goes_by_the_values():
    first = FrameSource(FRAME).fingerprint()
    assert first == FrameSource(FRAME.copy()).fingerprint()
    assert first == FrameSource(FRAME.set_index(pd.Index([1, 2, 3, 4]))).fingerprint()
    assert first != FrameSource(FRAME.assign(y=[1, 1, 1, 0])).fingerprint()
