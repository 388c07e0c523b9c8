"""The gate: its answers follow the intervals, and its exit codes follow the answers."""

import json

import pytest

from ffml.base import FFMLError
from ffml.gate import EXIT_CODES, MET, UNCLEAR, VIOLATED, check, verdict


@pytest.fixture
def run_dir(tmp_path):
    def pooled(dp, eo):
        names = ("", "_low", "_high")
        return {f"dp{n}": v for n, v in zip(names, dp, strict=True)} | {
            f"eo{n}": v for n, v in zip(names, eo, strict=True)
        }

    summary = {
        "pooled": pooled((0.8, 0.7, 0.9), (None, None, None)),
        "pooled_last_third": pooled((0.95, 0.9, 0.99), (0.5, 0.4, 0.6)),
    }
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    rows = ["round,constraint:a,constraint:b", "1,0.1,-0.2", "2,-0.1,0.3", "3,,", "4,-0.1,-0.1"]
    (tmp_path / "rounds.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ({"min_dp": 0.7}, MET),
        ({"min_dp": 0.8}, UNCLEAR),
        ({"min_dp": 0.91}, VIOLATED),
        ({"min_eo": 0.1}, UNCLEAR),  # it could not be measured
        ({"min_dp": 0.9, "rounds": "last-third"}, MET),
        ({"min_eo": 0.7, "rounds": "last-third"}, VIOLATED),
        ({"min_dp": 0.5, "min_eo": 0.1}, UNCLEAR),
        ({"min_dp": 0.95, "min_eo": 0.1}, VIOLATED),
        ({"max_violation": 0.5}, MET),
        ({"max_violation": 0.0}, UNCLEAR),  # resampling can leave out both violations
    ],
)
def test_answers_follow_the_intervals(run_dir, asked, answer):
    assert verdict(check(run_dir, **asked)) == answer


def test_mean_violation_counts_the_worst_constraint_of_each_measured_round(run_dir):
    (finding,) = check(run_dir, max_violation=1.0)
    assert finding.value == pytest.approx((0.1 + 0.3 + 0.0) / 3)
    assert finding.low <= finding.value <= finding.high


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "nothing to check; give --min-dp, --min-eo or --max-violation"),
        ({"min_dp": 1.2}, "--min-dp must be between 0 and 1, got 1.2"),
        ({"max_violation": float("nan")}, "--max-violation must be >= 0, got nan"),
        ({"min_dp": 0.5, "rounds": "some"}, "--rounds must be one of all, last-third, got 'some'"),
    ],
)
def test_misuse_is_refused(run_dir, asked, message):
    with pytest.raises(FFMLError) as caught:
        check(run_dir, **asked)
    assert str(caught.value) == message


def test_a_folder_without_a_run_and_a_damaged_summary_are_refused(tmp_path):
    with pytest.raises(FFMLError, match="holds no finished run; give the folder of one"):
        check(tmp_path, min_dp=0.5)
    (tmp_path / "summary.json").write_text("{")
    with pytest.raises(FFMLError, match=r"summary.json cannot be read"):
        check(tmp_path, min_dp=0.5)


def test_exit_codes():
    assert EXIT_CODES == {MET: 0, VIOLATED: 1, UNCLEAR: 3}
