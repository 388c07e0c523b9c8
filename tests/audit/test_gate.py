"""The gate: its answers follow the intervals, and its exit codes follow the answers."""

import json

import numpy as np
import pytest
from ffml.runs.generations import FOLDER, generation_name

from ffml.audit.gate import (
    EXIT_CODES,
    FACT,
    MET,
    NO_ALARM,
    UNCLEAR,
    UNFINISHED,
    UNMEASURABLE,
    VIOLATED,
    check,
    to_document,
    verdict,
)
from ffml.base import FFMLError
from ffml.store.container import pack

CONSTRAINT = [[0.1, -0.2], [-0.1, 0.3], [np.nan, np.nan], [-0.1, -0.1], [0, 0], [0, 0]]


def draw(rates, sizes=(400, 400), num_rounds=12, seed=0):
    """Draw decisions at the groups' rates, half of the rows of each label: (T, k, 2, 2)."""
    rng = np.random.default_rng(seed)
    tables = np.zeros((num_rounds, len(rates), 2, 2), int)
    for i, (rate, size) in enumerate(zip(rates, sizes, strict=True)):
        chosen = rng.binomial(size // 2, rate, (num_rounds, 2))
        tables[:, i] = np.stack([size // 2 - chosen, chosen], -1)
    return tables


def write_run(folder, planned=None, constraint=None, config=None, **columns):
    """Write the newest checkpoint of a run that never was."""
    done = len(next(iter(columns.values())))
    groups = {name: [f"g{i}" for i in range(t.shape[1])] for name, t in columns.items()}
    document = {
        "round": done,
        "config": {"rounds": None, "data": {"num_tasks": planned or done}, **(config or {})},
        "schema": {"sensitive": [{"name": k, "groups": v} for k, v in groups.items()]},
        "history": {"tables": list(columns), "task": [f"t{i}" for i in range(done)]},
    }
    arrays = {f"history.tables.{i}": tables for i, tables in enumerate(columns.values())}
    arrays["history.constraint"] = np.zeros((done, 1)) if constraint is None else constraint
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    (folder / FOLDER / generation_name(done)).write_bytes(pack(document, arrays).data)
    return folder


def answers(run_dir, **asked):
    """Return the answers about the rule."""
    found = check(run_dir, **asked)[1:]
    return [f.answer for f in found if not f.what.startswith("alarm") and f.answer != FACT]


def alarm(run_dir, **asked):
    (found,) = [f for f in check(run_dir, **asked) if f.what.startswith("alarm")]
    return found


def there_and_back(low=0.4, high=0.5):
    """Opposite gaps: half of the tasks prefer one group, half the other."""
    tables = draw((low, high), num_rounds=20)
    tables[np.random.default_rng(1).permutation(20)[:10]] = draw((high, low), num_rounds=10)
    return tables


@pytest.mark.parametrize(
    ("rates", "limit", "answer"),
    [((0.4, 0.4), 0.05, MET), ((0.4, 0.6), 0.05, VIOLATED), ((0.4, 0.45), 0.05, UNCLEAR)],
)
def test_gaps_are_judged(tmp_path, rates, limit, answer):
    run = write_run(tmp_path, sex=draw(rates, num_rounds=30))
    assert answers(run, max_gap=limit) == [answer]


def test_opposite_gaps_do_not_pass(tmp_path):
    run = write_run(tmp_path, sex=there_and_back())
    assert answers(run, max_gap=0.05) == [VIOLATED]
    assert answers(run, min_dp=0.9) == answers(run, min_ratio=0.9) == [VIOLATED]  # the alarm
    assert answers(run, min_eo=0.9) == [VIOLATED]
    assert answers(run, min_dp=0.7) == [MET]


def test_over_correction_is_violated(tmp_path):
    run = write_run(tmp_path, sex=draw((0.6, 0.4)))
    _, fact, rule, _ = check(run, max_gap=0.05)
    assert fact.answer == FACT and "g0 and" in fact.words and rule.answer == VIOLATED


def test_the_fact_is_said_first_and_the_rule_after_it(tmp_path):
    run = write_run(tmp_path, sex=draw((0.3, 0.4), (40_000, 40_000)))
    _, fact, rule, _ = check(run, min_dp=0.7)
    assert fact.value == pytest.approx(0.75, abs=0.01) and fact.low is None
    assert rule.low < rule.value < rule.high and verdict([fact, rule]) == MET
    assert fact.words.startswith("Of 960,000 people decided so far, 4")
    assert rule.words.startswith("Kept: of the rule behind it, the lowest rate is at least 7")


@pytest.mark.parametrize("sizes", [(20, 20), (14, 6)])
def test_chance_on_small_tasks_neither_fails_nor_flatters(tmp_path, sizes):
    even = write_run(tmp_path / "even", sex=draw((0.5, 0.5), sizes, num_rounds=40))
    uneven = write_run(tmp_path / "uneven", sex=draw((0.45, 0.67), sizes, num_rounds=200))
    assert VIOLATED not in answers(even, max_gap=0.05, min_dp=0.9)
    assert answers(uneven, max_gap=0.1, min_dp=0.9) == [VIOLATED] * 2


def test_rows_of_a_label_are_compared_if_asked(tmp_path):
    tables = draw((0.5, 0.5), num_rounds=30)
    tables[:, 1, 1] = [[40, 160]]  # group 1, label 1: four of five instead of half
    tables[:, 1, 0] = [[160, 40]]
    run = write_run(tmp_path, sex=tables)
    assert answers(run, max_gap=0.05) == [MET]
    assert answers(run, max_gap=0.05, notion="equal-opportunity") == [VIOLATED]
    assert answers(run, min_dp=0.8) == [MET] and verdict(check(run, min_eo=0.8)) == VIOLATED


def test_every_column_counts_and_the_worst_answers(tmp_path):
    run = write_run(tmp_path, noise=draw((0.5, 0.5), (790, 10)), sex=draw((0.4, 0.6)))
    for asked in ({"max_gap": 0.1}, {"min_dp": 0.8}):
        _, fact, rule, alarm_ = check(run, **asked)
        assert "by sex" in fact.words and rule.answer == alarm_.answer == VIOLATED
        assert "sex" in alarm_.what


def test_a_group_too_small_to_tell_is_named_and_does_not_count(tmp_path):
    tables = np.concatenate([draw((0.4, 0.4)), np.zeros((12, 1, 2, 2), int)], axis=1)
    assert answers(write_run(tmp_path / "two", sex=tables), max_gap=0.1) == [MET]
    tables[0, 2, 0, 0] = 1
    run = write_run(tmp_path / "three", sex=tables)
    assert answers(run, max_gap=0.1) == [MET]
    said = [finding.words for finding in check(run, max_gap=0.1)]
    assert "Too small to tell, and not compared (sex): g2." in said


def test_deciding_nothing_is_not_rewarded(tmp_path):
    run = write_run(tmp_path, sex=draw((1.0, 1.0)))
    assert answers(run, max_gap=0.1, min_dp=0.8) == [UNCLEAR] * 2
    assert "only positive decisions" in check(run, max_gap=0.1)[2].sentence()


def test_few_rounds_cannot_answer_for_tasks(tmp_path):
    for asked in ({"max_gap": 0.1}, {"max_violation": 0.5}):
        assert UNCLEAR in answers(write_run(tmp_path / "4", sex=draw((0.4, 0.4))[:4]), **asked)
        assert verdict(check(write_run(tmp_path / "12", sex=draw((0.4, 0.4))), **asked)) == MET
    assert "that takes 5 tasks or more" in check(tmp_path / "4", max_gap=0.1)[2].sentence()


def test_without_a_limit_the_run_s_own_is_checked(tmp_path):
    config = {"notions": ["demographic-parity"], "max_gap": [0.05]}
    run = write_run(tmp_path / "asked", config=config, sex=draw((0.4, 0.6)))
    assert check(run) == check(run, max_gap=0.05) and verdict(check(run)) == VIOLATED
    ratio = {"notions": ["demographic-parity"], "min_ratio": [0.8]}
    run = write_run(tmp_path / "ratio", config=ratio, sex=draw((0.4, 0.42), num_rounds=30))
    assert check(run) == check(run, min_ratio=0.8) and verdict(check(run)) == MET
    with pytest.raises(FFMLError, match="was asked for no gap between decisions; give --max-gap"):
        check(write_run(tmp_path / "none", sex=draw((0.4, 0.6))))


def test_an_unfinished_run_is_judged_by_its_rounds_and_does_not_pass(tmp_path):
    run = write_run(tmp_path, planned=20, sex=draw((0.4, 0.4)))
    (run / "summary.json").write_text("stale and damaged")
    findings = check(run, max_gap=0.1)
    assert (verdict(findings), EXIT_CODES[UNFINISHED]) == (UNFINISHED, 3)
    assert "12 of 20 rounds are done, 12 of them judged" in findings[0].sentence()
    assert verdict(check(run, max_gap=0.1, allow_unfinished=True)) == MET
    write_run(tmp_path, planned=20, sex=draw((0.4, 0.6), num_rounds=20))  # it went on
    findings = check(run, max_gap=0.1)
    assert verdict(findings) == VIOLATED and findings[0].value == 20


def test_a_damaged_checkpoint_is_said(tmp_path):
    run = write_run(tmp_path, planned=13, sex=draw((0.4, 0.4)))
    newest = run / FOLDER / generation_name(13)
    newest.write_bytes(b"damaged")
    findings = check(run, max_gap=0.1)
    assert verdict(findings) == UNFINISHED and "going back to round 12" in findings[0].sentence()
    (run / FOLDER / generation_name(12)).write_bytes(b"")
    with pytest.raises(FFMLError, match=r"no checkpoint of .* can be used"):
        check(run, max_gap=0.1)


def test_mean_violation_counts_the_worst_constraint_of_each_measured_round(tmp_path):
    run = write_run(tmp_path, constraint=np.array(CONSTRAINT), sex=draw((0.4, 0.4))[:6])
    _, finding = check(run, max_violation=1.0)
    assert finding.value == pytest.approx((0.1 + 0.3) / 5) and finding.answer == MET
    assert finding.low <= finding.value <= finding.high
    assert answers(run, max_violation=0.0) == [UNCLEAR]  # resampling can leave out both
    run = write_run(tmp_path, constraint=np.full((6, 2), np.nan), sex=draw((0.4, 0.4))[:6])
    assert answers(run, max_violation=1.0) == [UNCLEAR]


def test_the_alarm_comes_once_a_gap_is_shown_and_stays(tmp_path):
    tables = np.concatenate([draw((0.3, 0.7), num_rounds=5), draw((0.4, 0.4), num_rounds=300)])
    run = write_run(tmp_path, sex=tables, age=draw((0.5, 0.5), num_rounds=305))
    assert answers(run, max_gap=0.1) == [VIOLATED]  # though on average it is kept
    found = alarm(run, max_gap=0.1)
    assert found.answer == VIOLATED and verdict(check(run, max_gap=0.1)) == VIOLATED
    assert "Alarm in round 1 (t0): up to then some task broke 10 points (sex: g1 " in found.words
    assert found.limit == pytest.approx(40) and found.value > 40  # two columns share 5 %


def test_no_alarm_decides_nothing(tmp_path):
    few = write_run(tmp_path / "few", sex=draw((0.4, 0.4), (20, 20), num_rounds=6))
    assert alarm(few, max_gap=0.05).answer == NO_ALARM
    assert verdict(check(few, max_gap=0.05)) == UNCLEAR
    many = write_run(tmp_path / "many", sex=draw((0.4, 0.4)))
    assert (
        alarm(many, max_gap=0.05).answer == NO_ALARM and verdict(check(many, max_gap=0.05)) == MET
    )
    assert "an alarm takes 20" in alarm(many, max_gap=0.05).words
    unmeasured = write_run(tmp_path / "none", sex=draw((1.0, 1.0)))
    assert alarm(unmeasured, max_gap=0.05).answer == NO_ALARM


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"min_dp": 1.2}, "--min-dp must be between 0 and 1, got 1.2"),
        ({"max_gap": 5.0}, "--max-gap must be between 0 and 1, got 5.0"),
        ({"max_violation": float("nan")}, "--max-violation must be >= 0, got nan"),
        ({"min_dp": 0.5, "notion": "equalized-odds"}, "--notion says whom --max-gap and --min-"),
        ({"max_gap": 0.5, "notion": "odds"}, "--notion must be one of demographic-parity, "),
        ({"max_violation": float("inf")}, "--max-violation must be >= 0, got inf"),
    ],
)
def test_misuse_is_refused(tmp_path, asked, message):
    with pytest.raises(FFMLError) as caught:
        check(tmp_path, **asked)
    assert str(caught.value).startswith(message)


def test_the_command_line(tmp_path, run_main):
    code, _, error = run_main("check", tmp_path, "--max-gap", 0.1)
    assert code == 2 and "holds no run with a round done; give the folder of one" in error
    run = write_run(tmp_path / "run", sex=there_and_back())
    for limit, expected in ((0.3, 0), (0.05, 1), (0.12, 3)):
        code, out, _ = run_main("check", run, "--max-gap", limit)
        assert code == expected, out
    write_run(tmp_path / "run", planned=99, sex=there_and_back())
    assert run_main("check", run, "--max-gap", 0.3)[0] == 3
    code, out, _ = run_main("check", run, "--max-gap", 0.3, "--allow-unfinished", "--json")
    assert code == 0 and json.loads(out) == to_document(
        check(run, max_gap=0.3, allow_unfinished=True)
    )


def test_exit_codes():
    assert EXIT_CODES == {MET: 0, VIOLATED: 1, UNCLEAR: 3, UNMEASURABLE: 3, UNFINISHED: 3}
