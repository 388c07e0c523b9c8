import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pyarrow.csv  # loaded before rights are given up
import pyarrow.parquet  # noqa: F401
import pytest
from bad_files import csv, parquet
from bad_tables import BAD_TABLES, ROLES

from ffml.base import FFMLError
from ffml.tables import open_data, open_table, table_stream


@pytest.mark.parametrize("case", BAD_TABLES)
def test_refused_in_one_line(tmp_path, case):
    bad = BAD_TABLES[case]
    if case in ("unreachable server", "unknown host"):
        pytest.importorskip("psycopg", reason="needs the driver of ffml[postgres]")
    made = bad.make(tmp_path)
    path = made[0] if isinstance(made, tuple) else made
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(FFMLError) as caught:
        source = open_data(*made) if isinstance(made, tuple) else made
        list(table_stream(source, **{**ROLES, **bad.roles}).tasks())
    message = str(caught.value)
    assert message == bad.message.replace("{path}", str(path)).replace("{folder}", str(tmp_path))
    assert "\n" not in message
    assert "secret" not in message
    assert sorted(tmp_path.rglob("*")) == before, "nothing is written"


@contextmanager
def without_rights():
    """Give up the rights of root, who may read everything."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="rights are tested on POSIX systems")
@pytest.mark.parametrize("make", [csv(), parquet()], ids=["csv", "parquet"])
@pytest.mark.parametrize("use", [lambda s: s.columns, lambda s: s.fingerprint()])
def test_files_that_may_not_be_read(make, use):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = make(Path(folder))
        path.chmod(0)
        with without_rights(), pytest.raises(FFMLError) as caught:
            use(open_table(path))
        expected = f"cannot read {path}: Permission denied; check the path and rights"
        assert str(caught.value) == expected
