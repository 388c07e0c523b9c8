import datetime
import json
from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import OneHotEncoder

from ffml.base import FFMLError
from ffml.tables import Preprocessor
from ffml.tables.encode._encoders import first_categories, fit_numeric
from ffml.tables.encode._fit import ColumnFit, TextAfterNumbers

FRAME = pd.DataFrame(
    {
        "age": [20, 30, None, 50],
        "town": ["Ulm", None, "Bonn", "Ulm"],
        "member": [True, False, True, True],
        "size": pd.Categorical(["L", "S", "L", "S"], categories=["S", "L"]),
    }
)
FEATURES = ("age", "town=Bonn", "town=Ulm", "town=(missing)", "member", "size=L", "size=S")
ENCODED = [
    [20, 0, 1, 0, 1, 1, 0],
    [30, 0, 0, 1, 0, 0, 1],
    [30, 1, 0, 0, 1, 1, 0],  # the missing age is the median of 20, 30, 50
    [50, 0, 1, 0, 1, 0, 1],
]


def polars_frame(frame):
    return pytest.importorskip("polars").from_pandas(frame)


KINDS = {
    "pandas": lambda frame: frame,
    "pyarrow": pa.Table.from_pandas,
    "batch": lambda frame: pa.RecordBatch.from_pandas(frame),
    "polars": polars_frame,
    "mapping": lambda frame: {name: frame[name] for name in frame},
    "chunked": lambda frame: pa.concat_tables(
        [pa.Table.from_pandas(frame[:1]), pa.Table.from_pandas(frame[1:])]
    ),
}


@pytest.mark.parametrize("fitted", KINDS)
@pytest.mark.parametrize("given", KINDS)
def test_every_kind_of_table_is_encoded_the_same_way(fitted, given):
    preprocessor = Preprocessor.fit(KINDS[fitted](FRAME))
    assert preprocessor.features == FEATURES
    assert preprocessor.scaled.tolist() == [True, False, False, False, True, False, False]
    encoded = preprocessor.transform(KINDS[given](FRAME))
    assert encoded.dtype == np.float64
    assert encoded.tolist() == ENCODED


def test_json_makes_an_equal_preprocessor():
    preprocessor = Preprocessor.fit(FRAME)
    again = Preprocessor.from_json(json.loads(json.dumps(preprocessor.to_json())))
    assert again == preprocessor
    assert again.transform(FRAME).tolist() == ENCODED


def test_a_newer_format_is_refused():
    with pytest.raises(FFMLError, match="format 2, and this version of ffml reads format 1"):
        Preprocessor.from_json({"format": 2, "columns": []})


def test_one_hot_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.choice(list("abcdef"), 200) for name in ("u", "v")})
    ours = Preprocessor.fit(frame).transform(frame)
    assert np.array_equal(ours, OneHotEncoder(sparse_output=False).fit_transform(frame))


def test_policies_for_rows_unlike_those_at_fitting():
    preprocessor = Preprocessor.fit(FRAME)
    other = pd.DataFrame({"size": ["XXL"], "town": [None], "age": [np.nan], "member": [None]})
    assert preprocessor.transform(other).tolist() == [[30, 0, 0, 1, 1, 0, 0]]


def test_a_missing_category_that_fitting_did_not_see_is_all_zeros():
    preprocessor = Preprocessor.fit(pd.DataFrame({"town": ["a", "b"]}))
    assert preprocessor.transform(pd.DataFrame({"town": [None, "b"]})).tolist() == [[0, 0], [0, 1]]


def test_white_space_around_texts_does_not_count():
    frame = pd.DataFrame({"sex": ["F", "F ", "\tM", " "]})
    preprocessor = Preprocessor.fit(frame)
    assert preprocessor.features == ("sex=F", "sex=M", "sex=(missing)")
    assert preprocessor.transform(frame).argmax(1).tolist() == [0, 0, 1, 2]
    # What an earlier version learned with the white space is found again.
    saved = {"format": 1, "columns": [{"kind": "categorical", "name": "a", "categories": ["F "]}]}
    assert Preprocessor.from_json(saved).transform({"a": ["F", "F ", "M"]}).tolist() == [
        [1],
        [1],
        [0],
    ]


def streets(tasks):
    """Make a table of tasks, each given by how often it has which street."""
    rows = [
        (place, f"street {number:03}")
        for place, counts in enumerate(tasks)
        for number, count in counts.items()
        for _ in range(count)
    ]
    places, names = zip(*rows, strict=True)
    return pd.DataFrame({"street": names}), np.array(places)


def own(preprocessor):
    """Return the numbers of the streets with a feature of their own."""
    *named, other = preprocessor.features
    assert other == "street=(other)"
    return [int(feature.removeprefix("street=street ")) for feature in named]


def test_87_values_are_87_features():
    frame, _ = streets([dict.fromkeys(range(87), 20)])
    assert len(Preprocessor.fit(frame).features) == 87


def test_of_many_values_the_first_tasks_choose_and_the_rest_is_other():
    first = dict.fromkeys(range(200, 260), 2)  # 60 values ...
    second = {**dict.fromkeys(range(100), 2), 98: 9, 99: 7}  # ... leave 40 places for these
    third = dict.fromkeys(range(150, 200), 99)
    frame, places = streets([first, second, third])
    preprocessor = Preprocessor.fit(frame, places)
    assert own(preprocessor) == [*range(38), 98, 99, *range(200, 260)]
    rows = {"street": ["street 150", "street 099", "elsewhere", None]}
    encoded = preprocessor.transform(rows)
    assert encoded[:, -1].tolist() == [1, 0, 1, 0]
    assert encoded.sum(1).tolist() == [1, 1, 1, 0]
    again = Preprocessor.from_json(json.loads(json.dumps(preprocessor.to_json())))
    assert again == preprocessor


@given(
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abcdefgh")), min_size=1),
    st.integers(1, 5),
)
@settings(max_examples=30, deadline=None)
def test_later_tasks_change_no_choice(rows, limit):
    tasks, values = (np.array(part) for part in zip(*rows, strict=True))

    def chosen(until):
        counts = (Counter(values[tasks == task].tolist()) for task in range(until))
        return first_categories(counts, limit)

    everything = chosen(5)
    for until in range(1, 5):
        met = set(values[tasks < until])
        # A value of the first tasks has a feature of its own, or not, whatever follows.
        assert set(chosen(until)) == set(everything) & met


def test_a_new_column_is_ignored_with_one_warning():
    preprocessor = Preprocessor.fit(FRAME)
    wider = FRAME.assign(extra=1)
    with pytest.warns(UserWarning, match="columns not seen at fitting are ignored: 'extra'"):
        assert preprocessor.transform(wider).tolist() == ENCODED
    preprocessor.transform(wider)  # a second warning would be an error here


def test_arrays_have_columns_by_place():
    array = np.array([[1, 2.5], [np.nan, 3.5], [5, 4.5]])
    preprocessor = Preprocessor.fit(array)
    assert preprocessor.features == ("x0", "x1")
    assert preprocessor.transform(array.astype(object)).tolist() == [[1, 2.5], [3, 3.5], [5, 4.5]]
    assert array[1, 0] != array[1, 0], "the caller's array is not changed"
    named = Preprocessor.fit(pd.DataFrame(array, columns=["a", "b"]))
    assert named.transform(array).tolist() == preprocessor.transform(array).tolist()


def test_numeric_column_names_of_a_frame_become_texts():
    assert Preprocessor.fit(pd.DataFrame(np.eye(2))).features == ("0", "1")


def test_decimals_are_numbers_and_declared_categories_of_numbers_are_categories():
    table = pa.table(
        {
            "price": pa.array([Decimal("1.50"), None, Decimal("2.5")]),
            "code": pa.array([7, 8, 7]).dictionary_encode(),
        }
    )
    preprocessor = Preprocessor.fit(table)
    assert preprocessor.features == ("price", "code=7", "code=8")
    assert preprocessor.transform(table).tolist() == [[1.5, 1, 0], [2, 0, 1], [2.5, 1, 0]]


def test_numbers_written_as_texts_are_read_where_numbers_are_expected():
    preprocessor = Preprocessor.fit(pd.DataFrame({"age": [1.0]}))
    assert preprocessor.transform(pd.DataFrame({"age": ["2.5", None]})).tolist() == [[2.5], [1.0]]


@pytest.mark.parametrize("spelled", [["True", "False"], ["TRUE", "FALSE"], ["true", "false"]])
def test_true_and_false_are_the_same_however_they_are_spelled(spelled):
    """A CSV file that pandas wrote has True, one of Excel has TRUE, and JSON has true."""
    preprocessor = Preprocessor.fit(pd.DataFrame({"member": [*spelled, "unknown"]}))
    expected = preprocessor.transform(pd.DataFrame({"member": [*spelled, None]}))
    assert (expected.sum(1) == [1, 1, 0]).all()
    for other in ([True, False, None], ["True", "False", None], ["tRUE", "FALSE", None]):
        assert (preprocessor.transform(pd.DataFrame({"member": other})) == expected).all()
    both = Preprocessor.fit(pd.DataFrame({"word": ["true", "TRUE", "x"]}))  # told apart on purpose
    assert both.transform(pd.DataFrame({"word": ["true", "TRUE", "True"]})).sum(1).tolist() == [
        *(1, 1, 0)
    ]


def fitted(batches, parse):
    """Fit one column batch by batch; all rows are one task."""
    column = ColumnFit("c", parse)
    pieces = [column.add(column.typed(batch), batch) for batch in batches]
    return column.finish([pieces])


@pytest.mark.parametrize("name", FRAME.columns)
def test_fitting_in_batches_equals_fitting_at_once(name):
    values = pa.Table.from_pandas(FRAME)[name].combine_chunks()
    batches = [values.slice(i, 1) for i in range(len(values))]
    assert fitted(batches, parse=False) == Preprocessor.fit({"c": values}).columns[0]


@pytest.mark.parametrize(
    ("words", "features"),
    [
        (["1", "2.5", "-1e3"], ("c",)),
        (["1", None, "3"], ("c",)),
        ([None, "x", "2"], ("c=2", "c=x", "c=(missing)")),
        (["x", "2", "1"], ("c=1", "c=2", "c=x")),
    ],
)
def test_texts_of_a_csv_file_are_numbers_only_if_all_are(words, features):
    assert fitted([pa.array([word], pa.string()) for word in words], True).features == features


def test_a_text_after_numbers_is_noticed():
    with pytest.raises(TextAfterNumbers):
        fitted([pa.array(["007"]), pa.array(["x"])], True)


@given(st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(-9, 9)), min_size=1))
def test_a_median_is_that_of_the_first_task_with_a_number(rows):
    tasks = np.array([task for task, _ in rows])
    values = np.array([np.nan if value is None else value for _, value in rows], float)
    known = tasks[~np.isnan(values)]
    if len(known):
        found = fit_numeric("c", (values[tasks == task] for task in range(4)))
        assert found.median == np.nanmedian(values[tasks == known.min()])
        assert (found.offset, found.scale) == (0, 1)


REFUSED = {
    "sparse": (
        lambda: sparse.csr_array(np.eye(2)),
        "sparse matrices are not supported; pass a dense one: X.toarray()",
    ),
    "flat": (lambda: np.ones(3), "features must be a table, got an array of 1 dimensions"),
    "complex": (lambda: np.eye(2) * 1j, "features must be real numbers, got complex ones"),
    "text array": (
        lambda: np.array([["a"]]),
        "an array must hold numbers only; pass a data frame to use categories",
    ),
    "no rows": (
        lambda: pd.DataFrame({"a": []}),
        "the table has no rows; at least one is needed",
    ),
    "no columns": (
        lambda: pd.DataFrame(),
        "the table has no feature columns; at least one is needed",
    ),
    "twins": (
        lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]),
        "two columns are called 'a'; rename one of them",
    ),
    "all missing": (
        lambda: pd.DataFrame({"a": [1], "b": [np.nan]}),
        "column 'b' holds no values; drop it (--drop b)",
    ),
    "all null": (
        lambda: pa.table({"b": pa.nulls(2)}),
        "column 'b' holds no values; drop it (--drop b)",
    ),
    "infinite": (
        lambda: pd.DataFrame({"a": [1, -np.inf]}),
        "column 'a' holds infinite values; make them missing",
    ),
    "huge": (
        lambda: pd.DataFrame({"a": [1, -1e300]}),
        "column 'a' holds 1e+300, and 1e+30 is the limit; rescale the column or make such "
        "values missing",
    ),
    "id": (
        lambda: pd.DataFrame({"who": [f"p{i:03}" for i in range(51)]}),
        "column 'who' has a different text in nearly every row ('p000', 'p001', 'p002', ...), like "
        "an id; drop it (--drop who), name it as the id of the rows (--set data.id=who), or group "
        "its values",
    ),
    "nearly an id": (
        lambda: pd.DataFrame({"who": [f"p{i % 950:03}" for i in range(1000)]}),
        "column 'who' has a different text in nearly every row ('p000', 'p001', 'p002', ...), like "
        "an id; drop it (--drop who), name it as the id of the rows (--set data.id=who), or group "
        "its values",
    ),
    "decimal commas": (
        lambda: pd.DataFrame({"pay": [f"{i % 60},50" for i in range(900)]}),
        "column 'pay' holds dates, times or numbers in a form that is not read ('0,50', '1,50', "
        "'10,50', ...); drop it (--drop pay), or write its numbers with a decimal point",
    ),
    "dates as texts": (
        lambda: pd.DataFrame({"day": [f"2024-{i % 12 + 1:02}-{i % 28 + 1:02}" for i in range(99)]}),
        "column 'day' holds dates or times ('2024-01-01', '2024-01-05', '2024-01-09', ...), which "
        "are no inputs; drop it (--drop day), or make numbers of them, such as years of age",
    ),
    "dates with times of day": (
        lambda: pd.DataFrame({"day": [f"{i % 28 + 1}/02/2024 10:{i % 60:02}" for i in range(900)]}),
        "column 'day' holds dates or times ('1/02/2024 10:00', '1/02/2024 10:04', '1/02/2024 10:08'"
        ", ...), which are no inputs; drop it (--drop day), or make numbers of them, such as years "
        "of age",
    ),
    "time": (
        lambda: pd.DataFrame({"when": [datetime.datetime(2020, 1, 1)]}),
        "column 'when' holds dates or times, which cannot be a feature; drop it (--drop when) or "
        "turn it into numbers or texts",
    ),
    "nested": (
        lambda: pa.table({"tags": [["a"], ["b"]]}),
        "column 'tags' holds values of the nested or raw type list<item: string>, which cannot "
        "be a feature; drop it (--drop tags) or turn it into numbers or texts",
    ),
    "mixed": (
        lambda: pd.DataFrame({"a": [1, 2, "n/a!", 3]}),
        "column 'a' mixes kinds of values, such as 'n/a!' in row 3; make them all numbers or all "
        "texts",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_at_fitting(case):
    make, message = REFUSED[case]
    with pytest.raises(FFMLError) as caught:
        Preprocessor.fit(make())
    assert str(caught.value).replace("element:", "item:") == message


REFUSED_LATER = {
    "sparse": (
        lambda: sparse.csr_array(np.eye(4)),
        "sparse matrices are not supported; pass a dense one: X.toarray()",
    ),
    "missing column": (
        lambda: FRAME.drop(columns="age"),
        "the table has no column 'age', which was there at fitting; it has town, member, size",
    ),
    "width": (lambda: np.ones((1, 3)), "the array has 3 columns; at fitting there were 4"),
    "text for number": (
        lambda: FRAME.assign(age="old"),
        "column 'age' held numbers before and now holds 'old'; correct the value or leave it empty",
    ),
    "time for number": (
        lambda: FRAME.assign(age=pd.Timestamp("2020-01-01")),
        "column 'age' held numbers before and now holds "
        "datetime.datetime(2020, 1, 1, 0, 0); correct the value or leave it empty",
    ),
    "nested for category": (
        lambda: {name: FRAME[name] for name in FRAME} | {"town": [["a"]] * 4},
        "column 'town' held categories before and now holds list<item: string>; turn it into texts",
    ),
    "infinite": (
        lambda: FRAME.assign(age=np.inf),
        "column 'age' holds infinite values; make them missing",
    ),
}


@pytest.mark.parametrize("case", REFUSED_LATER)
def test_refused_after_fitting(case):
    make, message = REFUSED_LATER[case]
    with pytest.raises(FFMLError) as caught:
        Preprocessor.fit(FRAME).transform(make())
    assert str(caught.value).replace("element:", "item:") == message


def test_an_array_is_checked_for_infinite_numbers():
    preprocessor = Preprocessor.fit(np.eye(2))
    with pytest.raises(FFMLError, match="column 'x1' holds infinite values"):
        preprocessor.transform(np.array([[0, np.inf]]))
