"""The package's own CSV files give back any text, and hold nothing that a spreadsheet would run."""

import csv
import io
import re

import numpy as np
import pandas as pd
from csvback import csv_rows, read_csv
from hypothesis import example, given
from hypothesis import strategies as st

from ffml.tables.csvfile import csv_text, frame_text, table_text

ODD = ["\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\n", "\r\n", "\0"]
RUN = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
texts = st.text(st.characters(exclude_categories=["Cs"])) | st.lists(
    st.sampled_from([*ODD, *RUN, "'", '"', ",", "a", "1"])
).map("".join)


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(texts, min_size=n, max_size=n))))
@example([[""]])
@example([[f"a{odd}b", odd] for odd in ODD])
@example([["'=1", "''=1", "'a", "-1", "'-1"]])
@example([["x" * 200_000]])
def test_any_text_comes_back(rows):
    assert csv_rows(csv_text(rows)) == rows


@given(st.lists(texts, min_size=1))
def test_rows_may_be_written_one_at_a_time_and_read_from_a_file(tmp_path_factory, names):
    rows = [{"task": name, "n": str(i)} for i, name in enumerate(names)]
    text = "".join(table_text([row], header=i == 0) for i, row in enumerate(rows))
    assert text == table_text(rows)
    path = tmp_path_factory.getbasetemp() / "t.csv"
    path.write_bytes(text.encode())
    header, *lines = read_csv(path)
    assert [dict(zip(header, line, strict=True)) for line in lines] == rows


@given(texts)
def test_no_cell_begins_like_a_formula_unless_it_is_a_number(text):
    [[cell]] = csv.reader(io.StringIO(csv_text([[text]]), newline=""))
    assert not cell.startswith(RUN) or re.fullmatch(r"[+-][\d.e+-]+|[+-](inf|nan)", cell)


def test_numbers_stay_numbers():
    numbers = ["-1", "+2.5", "-.5", "-1e-07", -3, -0.25, np.float32(-0.5), "-inf", None, "4"]
    assert csv_text([numbers]) == "-1,+2.5,-.5,-1e-07,-3,-0.25,-0.5,-inf,,4\n"
    assert csv_text([["-1+2", "+x", "-", "-1\n"]]) == "'-1+2,'+x,'-,\"'-1\n\"\n"


def test_a_frame_is_written_as_pandas_would_but_for_what_it_cannot_write():
    frame = pd.DataFrame(
        {
            "task": ["a", 'b,"c"', None],
            "dp": [0.1 + 0.2, float("nan"), -1e-9],
            "n": [1, 2, 3],
            "fair": [True, False, True],
            "mixed": ["0.02+0.05", 1 / 3, None],
        }
    )
    expected = frame.astype({"mixed": str}).assign(mixed=["0.02+0.05", "0.333333", None])
    assert frame_text(frame) == expected.to_csv(
        index=False, float_format="%.6g", lineterminator="\n"
    )
    assert csv_rows(frame_text(pd.DataFrame({"=a": ["\r=1"]}))) == [["=a"], ["\r=1"]]
    assert frame_text(frame[:0]) == "task,dp,n,fair,mixed\n"
