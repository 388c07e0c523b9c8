import datetime
import sqlite3

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ffml.base import FFMLError
from ffml.tables import Known, Preprocessor, open_data, open_table, table_stream
from ffml.tables.scaling import RunningScaler


def people(rows=300, seed=0, tasks=5):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "income": rng.normal(size=rows).round(3),
            "job": rng.choice(["cook", "nurse", None], rows),
            "sex": rng.choice(["F", "M"], rows),
            "race": rng.choice(["a", "b", "c"], rows),
            "hired": rng.integers(0, 2, rows),
            "town": rng.choice([f"town {i}" for i in range(tasks)], rows),
        }
    )


def as_csv(frame, folder):
    frame.to_csv(folder / "t.csv", index=False)
    return open_table(folder / "t.csv")


def as_parquet(frame, folder):
    frame.to_parquet(folder / "t.parquet", row_group_size=37)
    return open_table(folder / "t.parquet")


def as_sqlite(frame, folder):
    (folder / "t.db").unlink(missing_ok=True)
    with sqlite3.connect(folder / "t.db") as connection:
        frame.to_sql("t", connection, index=False)
    connection.close()
    return open_data(f"sqlite:///{folder / 't.db'}", "select * from t order by rowid")


SOURCES = {"csv": as_csv, "parquet": as_parquet, "sqlite": as_sqlite}
ROLES = {"label": "hired", "sensitive": ["sex", "race"], "task": "town"}


def expected_tasks(frame, names):
    """Cut a frame into tasks with pandas, as an oracle."""
    features = frame[["age", "income"]].to_numpy(float)
    jobs = frame["job"]
    hot = [jobs == "cook", jobs == "nurse", jobs.isna()]
    x = np.column_stack([features, *hot])
    groups = np.column_stack([frame["sex"] == "M", frame["race"].map({"a": 0, "b": 1, "c": 2})])
    for name in names:
        rows = (frame["town"] == name).to_numpy()
        yield name, x[rows], frame["hired"].to_numpy()[rows], groups[rows]


def assert_same_tasks(stream, frame, names):
    tasks = list(stream.tasks())
    assert [task.name for task in tasks] == list(names) == list(stream.task_names)
    for task, (name, x, y, groups) in zip(tasks, expected_tasks(frame, names), strict=True):
        assert np.array_equal(task.x, x), name
        assert np.array_equal(task.y, y)
        assert np.array_equal(task.groups, groups)
    assert stream.task_sizes == tuple(len(task.y) for task in tasks)
    assert stream.num_tasks == len(tasks)


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("clustered", [True, False])
@pytest.mark.parametrize("small_batches", [True, False])
def test_tasks_hold_the_rows_of_the_table(tmp_path, kind, clustered, small_batches, monkeypatch):
    if small_batches:
        for place in ("sources._typed.BATCH_ROWS", "sources._sql.CHUNK_ROWS"):
            monkeypatch.setattr(f"ffml.tables.{place}", 7)
        monkeypatch.setattr("ffml.tables._ingest.MAX_HELD_ROWS", 7)
        monkeypatch.setattr("ffml.tables.encode._fit.LONG", 1)  # texts with and without dictionary
        monkeypatch.setattr("ffml.tables.sources._csv.BLOCK_BYTES", 100)
    frame = people()
    if clustered:
        frame = frame.sort_values("town", kind="stable", ignore_index=True)
    stream = table_stream(SOURCES[kind](frame, tmp_path), **ROLES)
    assert_same_tasks(stream, frame, frame["town"].unique())
    assert_same_tasks(stream, frame, frame["town"].unique())  # tasks() starts anew
    assert stream.schema.features == ("age", "income", "job=cook", "job=nurse", "job=(missing)")
    assert stream.schema.contrasts == ("sex=M", "race=a", "race=b", "race=c")
    assert stream.preprocessor.scaled.tolist() == [True, True, False, False, False]


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    towns=st.lists(st.integers(0, 5), min_size=1, max_size=40),
    run=st.integers(1, 50),
    kind=st.sampled_from(["csv", "parquet"]),
)
def test_any_arrangement_of_rows(tmp_path, towns, run, kind):
    # Each task's rows get labels and groups of both kinds, so that the table is not refused.
    frame = people(len(towns) + 40, seed=1)
    frame.loc[: len(towns) - 1, "town"] = [f"town {town}" for town in towns]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ffml.tables._ingest.MAX_HELD_ROWS", run)
        patch.setattr("ffml.tables.sources._typed.BATCH_ROWS", run)
        stream = table_stream(SOURCES[kind](frame, tmp_path), **ROLES)
        assert_same_tasks(stream, frame, frame["town"].unique())


ORDERS = {
    "numbers": lambda i: [10, 9, 100, 8][i],
    "negative numbers": lambda i: [-1, -2, 3.5, -3][i],
    "texts": lambda i: ["m", "b", "z", "a"][i],
    "dates": lambda i: datetime.date(2020, [3, 2, 12, 1][i], 1),
    "times": lambda i: datetime.datetime(2020, 1, 1, [3, 2, 12, 1][i]),
}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("clustered", [True, False])
def test_tasks_are_played_by_their_smallest_order_value(tmp_path, kind, order, clustered):
    frame = people(200, tasks=4)
    places = frame["town"].map({f"town {i}": i for i in range(4)})
    frame["when"] = [ORDERS[order](i) for i in places]
    if clustered:
        frame = frame.sort_values("town", kind="stable", ignore_index=True)
    if kind == "sqlite" and order in ("dates", "times"):
        frame["when"] = frame["when"].astype(str)
    stream = table_stream(SOURCES[kind](frame, tmp_path), **ROLES, order="when")
    assert_same_tasks(stream, frame, ["town 3", "town 1", "town 0", "town 2"])


def test_the_task_column_may_give_the_order(tmp_path):
    frame = people().assign(town=lambda f: f["town"].str[-1].astype(int) * 5)
    stream = table_stream(as_parquet(frame, tmp_path), **ROLES, order="town")
    assert stream.task_names == ("0", "5", "10", "15", "20")


def test_a_time_as_task_and_order_is_named_briefly(tmp_path):
    frame = people(100).drop(columns="town")
    frame["day"] = pd.to_datetime(np.where(np.arange(100) % 2, "2024-05-02", "2024-05-01"))
    roles = {**ROLES, "task": "day", "order": "day"}
    assert table_stream(as_parquet(frame, tmp_path), **roles).task_names == (
        *("2024-05-01", "2024-05-02"),
    )


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_folder_has_one_task_per_file(tmp_path, suffix):
    frame = people(tasks=12)
    for town, part in frame.groupby("town"):
        SOURCES[suffix](part.drop(columns="town"), tmp_path)
        (tmp_path / f"t.{suffix}").rename(tmp_path / f"{town}.{suffix}")
    stream = table_stream(tmp_path, label="hired", sensitive=["sex", "race"])
    assert_same_tasks(stream, frame, [f"town {i}" for i in range(12)])


def test_a_folder_of_parts_with_a_task_column(tmp_path):
    frame = people()
    for i in range(3):
        frame[i::3].to_csv(tmp_path / f"{i}.csv", index=False)
    stream = table_stream(tmp_path, **ROLES)
    parts = pd.concat([frame[i::3] for i in range(3)])
    assert_same_tasks(stream, parts, parts["town"].unique())


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        ([0, 1], None),
        ([0.0, 1.0], None),
        ([False, True], None),
        (["False", "True"], None),
        (["no", "yes"], None),
        (["NO", "YES"], None),
        (["n", "y"], None),
        (["no", "yes"], "Yes"),
        (["yes", "no"], "no"),
        ([-1, 1], 1),
        ([1, 2], 2.0),
        (["<=50K", ">50K"], ">50K"),
        (["TRUE", "FALSE"], False),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_labels_of_two_values(tmp_path, kind, labels, positive):
    frame = people()
    coded = frame.assign(hired=[labels[i] for i in frame["hired"]])
    stream = table_stream(SOURCES[kind](coded, tmp_path), **ROLES, positive=positive)
    assert_same_tasks(stream, frame, frame["town"].unique())


@pytest.mark.parametrize("labels", [["bad", "good"], ["a", "b"], [1, 2], [-1, 1], ["no", "ok"]])
def test_the_order_of_labels_never_says_which_is_favourable(tmp_path, labels):
    coded = people().assign(hired=lambda f: [labels[i] for i in f["hired"]])
    with pytest.raises(FFMLError, match=r"say which one is the favourable outcome \(--positive\)"):
        table_stream(as_csv(coded, tmp_path), **ROLES)


@pytest.mark.parametrize("kind", SOURCES)
def test_white_space_around_a_value_makes_no_other_value(tmp_path, kind):
    frame = people()
    odd = frame.index % 3 == 0
    spaced = frame.copy()
    for column in ("sex", "race", "job", "town"):
        spaced[column] = np.where(odd & frame[column].notna(), frame[column] + " ", frame[column])
    spaced["hired"] = np.where(
        odd, frame["hired"].map({0: " no", 1: "yes "}), frame["hired"].map({0: "no", 1: "yes"})
    )
    stream = table_stream(SOURCES[kind](spaced, tmp_path), **ROLES)
    assert_same_tasks(stream, frame, frame["town"].unique())


def test_crossed_attributes(tmp_path):
    frame = people().query("not (sex == 'F' and race == 'b')")
    stream = table_stream(as_csv(frame, tmp_path), **ROLES, intersect=True)
    (column,) = stream.schema.sensitive
    assert column.name == "sex×race"
    assert column.groups == ("F×a", "F×c", "M×a", "M×b", "M×c")
    codes = np.concatenate([task.groups[:, 0] for task in stream.tasks()])
    by_town = pd.concat([frame[frame["town"] == name] for name in stream.task_names])
    assert [column.groups[c] for c in codes] == (by_town["sex"] + "×" + by_town["race"]).tolist()


def test_incomplete_rows_are_left_out_when_asked(tmp_path):
    frame = people()
    holes = frame.copy()
    holes.loc[[0, 1], "sex"] = None
    holes.loc[[1, 2], "town"] = None
    for kind in ("csv", "parquet"):
        stream = table_stream(SOURCES[kind](holes, tmp_path), **ROLES, drop_missing=True)
        assert stream.dropped_rows == 3
        assert_same_tasks(stream, frame[3:], frame[3:]["town"].unique())


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("id", [None, "who"])
@pytest.mark.parametrize("drop_missing", [False, True])
def test_rows_without_a_label_are_people_to_be_decided_about(tmp_path, kind, id, drop_missing):
    frame = people().assign(who=[f"p{i:03}" for i in range(300)])
    holes = frame.astype({"hired": object})
    holes.loc[holes.index % 3 == 0, "hired"] = None
    frame.loc[frame.index % 3 == 0, "hired"] = -1
    more = {"id": id} if id else {"drop": ["who"]}
    source = SOURCES[kind](holes, tmp_path)
    stream = table_stream(source, **ROLES, **more, drop_missing=drop_missing)
    assert stream.dropped_rows == 0
    assert_same_tasks(stream, frame, frame["town"].unique())


def test_a_preprocessor_from_before_is_used(tmp_path):
    frame = people()
    first = table_stream(as_csv(frame, tmp_path), **ROLES)
    known = Known(first.preprocessor, first.schema.sensitive, first.labels)
    later = frame.assign(job="pilot", shoe=42)
    with pytest.warns(UserWarning, match="columns not seen at fitting are ignored: 'shoe'"):
        stream = table_stream(as_csv(later, tmp_path), **ROLES, known=known)
    assert stream.preprocessor == first.preprocessor
    assert not any(task.x[:, 2:].any() for task in stream.tasks())
    for name, changed in {
        "no column 'age', which the model needs": frame.drop(columns="age"),
        "is it 'AGE' now": frame.rename(columns={"age": "AGE"}),
        "the model needs column 'job'": frame.assign(sex=frame["job"]),
    }.items():
        roles = ROLES if "age" in name.lower() else {**ROLES, "sensitive": "job"}
        with pytest.raises(FFMLError, match=name):
            table_stream(as_csv(changed, tmp_path), **roles, known=known)


def test_csv_and_parquet_make_the_same_preprocessor(tmp_path):
    frame = people()
    made = {table_stream(SOURCES[k](frame, tmp_path), **ROLES).preprocessor for k in SOURCES}
    assert len(made) == 1
    features = frame[["age", "income", "job"]]
    assert made == {Preprocessor.fit(features, pd.factorize(frame["town"])[0])}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("order", [None, "town"])
@pytest.mark.parametrize("clustered", [True, False])
def test_missing_numbers_are_filled_in_from_the_first_task_alone(tmp_path, kind, order, clustered):
    frame = people().astype({"age": float})
    frame = frame.sort_values("town", kind="stable", ascending=False) if clustered else frame
    first = frame["town"].min() if order else frame["town"].iloc[0]
    own, later = (frame["town"] == first), (frame["town"] != first)
    frame.loc[frame.index % 3 == 0, "age"] = np.nan
    frame.loc[own, "income"] = np.nan  # known from the second task on
    roles = {**ROLES, "order": order}
    stream = table_stream(SOURCES[kind](frame, tmp_path), **roles)
    age, income, _ = stream.preprocessor.columns
    assert age.median == frame.loc[own, "age"].median() != frame["age"].median()
    second = frame["town"] == stream.task_names[1]
    assert income.median == frame.loc[second, "income"].median()

    before = next(stream.tasks())
    frame.loc[later, "age"] += 100  # the future changes
    after = next(table_stream(SOURCES[kind](frame, tmp_path), **roles).tasks())
    assert after.name == before.name == first
    assert np.array_equal(after.x, before.x)


@pytest.mark.parametrize("order", [None, "town"])
@pytest.mark.parametrize("clustered", [True, False])
def test_of_many_values_the_first_tasks_choose_whatever_follows(tmp_path, order, clustered):
    rng = np.random.default_rng(0)
    frame = people(1500).assign(street=[f"street {i:03}" for i in rng.integers(0, 300, 1500)])
    frame = frame.sort_values("town", kind="stable", ascending=False) if clustered else frame
    names = sorted(frame["town"].unique()) if order else frame["town"].unique()
    streets = [frame.loc[frame["town"] == name, "street"] for name in names]
    assert streets[0].nunique() > 100  # more than there are places
    counts = streets[0].value_counts()
    most = sorted(counts.index, key=lambda street: (-counts[street], street))[:100]

    roles = {**ROLES, "order": order}
    stream = table_stream(as_csv(frame, tmp_path), **roles)
    column = stream.preprocessor.columns[-1]
    assert column.categories == tuple(sorted(most)) and column.other
    first = next(stream.tasks())
    assert np.array_equal(first.x[:, -1] == 1, ~streets[0].isin(most))

    frame.loc[frame["town"] != names[0], "street"] = "street 999"  # the future changes
    after = next(table_stream(as_csv(frame, tmp_path), **roles).tasks())
    assert np.array_equal(after.x, first.x)


def test_raw_features_are_standardised_along_the_stream(tmp_path):
    frame = people()
    stream = table_stream(as_csv(frame, tmp_path), **ROLES)
    scaler = RunningScaler.empty(stream.preprocessor.scaled)
    for task in stream.tasks():
        scaler = scaler.update(task.x)
    scaled = np.concatenate([scaler.transform(task.x) for task in stream.tasks()])
    assert np.allclose(scaled[:, :2].mean(0), 0, atol=1e-5)
    assert np.allclose(scaled[:, :2].std(0), 1, atol=1e-5)


def test_rows_are_those_that_were_read(tmp_path):
    frame = people()
    stream = table_stream(as_parquet(frame, tmp_path), **ROLES)
    as_parquet(frame[:50], tmp_path)
    assert_same_tasks(stream, frame, frame["town"].unique())


def test_rows_are_set_aside_without_a_trace(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "spool"))
    monkeypatch.setattr("ffml.tables.sources._spool.MEMORY_BYTES", 100)
    (tmp_path / "spool").mkdir()
    frame = people()
    tasks = table_stream(as_csv(frame, tmp_path), **ROLES).tasks()
    next(tasks)
    assert not list((tmp_path / "spool").iterdir())


def test_no_room_to_set_rows_aside(tmp_path, monkeypatch):
    class FullDisk:
        close = seek = flush = staticmethod(lambda *_: None)

        @staticmethod
        def write(_):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.SpooledTemporaryFile", lambda *_, **__: FullDisk())
    monkeypatch.setattr("tempfile.tempdir", "spool")
    with pytest.raises(FFMLError) as caught:
        list(table_stream(as_csv(people(), tmp_path), **ROLES).tasks())
    assert str(caught.value) == (
        "no room to set rows aside in spool (No space left on device); make room or set TMPDIR to "
        "another folder"
    )


def test_no_usable_temporary_folder(tmp_path, monkeypatch):
    def nowhere(**_):
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("tempfile.TemporaryFile", nowhere)
    monkeypatch.setattr("tempfile.gettempdir", nowhere)
    monkeypatch.setattr("ffml.tables.sources._spool.MEMORY_BYTES", 100)
    with pytest.raises(FFMLError, match=r"^no room to set rows aside \(No usable .*set TMPDIR"):
        table_stream(as_csv(people(), tmp_path), **ROLES)


def test_parquet_types_in_every_part(tmp_path):
    """Dictionaries, decimals and times: as feature, group, task and order."""
    rows = 40
    numbers = pa.array(np.arange(rows) % 7)
    table = pa.table(
        {
            "price": numbers.cast(pa.decimal128(30, 2)),
            "grade": pa.array(["a", "b"] * 20).dictionary_encode(),
            "sex": pa.array(["F", "M"] * 20, pa.large_string()),
            "y": pa.array([0, 0, 1, 1] * 10, pa.uint8()),
            "day": pa.array([datetime.date(2024, 1, 1 + i // 20) for i in range(rows)]),
            "at": pa.array([datetime.datetime(2024, 1, 1, i % 24) for i in range(rows)]),
            "tags": pa.array([["x"]] * rows),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    stream = table_stream(
        tmp_path / "t.parquet", label="y", sensitive="sex", task="day", order="at", drop=["tags"]
    )
    assert stream.schema.features == ("price", "grade=a", "grade=b")
    assert stream.task_names == ("2024-01-01", "2024-01-02")
    first = next(stream.tasks())
    assert first.x[:3].tolist() == [[0, 1, 0], [1, 0, 1], [2, 1, 0]]
