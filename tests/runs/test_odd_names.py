"""Names of tasks and groups may hold any text: the run finishes and its files give it back."""

import numpy as np
import pandas as pd
import pytest
from csvback import read_csv

import ffml

QUICK = ["--method", "leader", "--set", "shots=5", "--quiet"]
ROLES = ["--label", "y", "--sensitive", "sex", "--task", "town"]
ODD = ["a\rb", "a\x0bb", "a\x0cb", "a\x1cb", "a\x85b", "a\u2028b", "a\nb", "a\tb", "=1+1", "'@x"]


def odd_frame():
    rng = np.random.default_rng(0)
    rows = 24 * len(ODD)
    return pd.DataFrame(
        {
            "age": rng.normal(size=rows),
            "sex": rng.choice(["=F()", "-M"], rows),
            "y": rng.integers(2, size=rows),
            "town": np.repeat(ODD, 24),
        }
    )


@pytest.fixture
def run_dir(tmp_path, run_main):
    odd_frame().to_parquet(tmp_path / "t.parquet")
    code, _, err = run_main("run", "t.parquet", *ROLES, *QUICK, "--out", "run")
    assert code == 0, err
    return tmp_path / "run"


def test_a_run_finishes_and_its_tables_give_the_names_back(run_dir, run_main):
    assert {"report.html", "model_card.md", "model.safetensors"} <= set(
        path.name for path in run_dir.iterdir()
    )
    header, *rows = read_csv(run_dir / "rounds.csv")
    assert [row[header.index("task")] for row in rows] == ODD
    header, *rows = read_csv(run_dir / "groups.csv")
    assert {row[header.index("group")] for row in rows} == {"=F()", "-M"}
    text = (run_dir / "groups.csv").read_text()
    assert ",'=F()," in text and ",=F()" not in text and ",-M" not in text

    before = (run_dir / "rounds.csv").read_bytes()
    assert run_main("run", "--resume", "run", "--quiet")[0] == 0
    assert (run_dir / "rounds.csv").read_bytes() == before
    code, _, err = run_main("check", "run", "--max-violation", "1")
    assert code in (0, 1, 3) and not err
    assert ffml.open(run_dir).decisions.task.unique().tolist() == ODD


def test_a_name_that_no_database_keeps_is_refused_before_the_first_round(tmp_path, run_main):
    odd_frame().replace({"town": {"'@x": "a\0b"}}).to_parquet(tmp_path / "t.parquet")
    code, _, err = run_main("run", "t.parquet", *ROLES, *QUICK, "--out", "run")
    assert code == 2 and "holds a zero byte, which is no text; rename it" in err
    assert err.count("\n") == 1 and not (tmp_path / "run").exists()
