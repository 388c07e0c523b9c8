"""The gate: its answers follow the intervals, and its exit codes follow the answers."""

import json

import numpy as np
import pytest

import ffml
from ffml.audit.counts import Tables
from ffml.audit.gate import (
    EXIT_CODES,
    FACT,
    MET,
    MET_SO_FAR,
    NO_ALARM,
    UNCLEAR,
    UNFINISHED,
    UNMEASURABLE,
    VIOLATED,
    check,
    exit_code,
    to_document,
    verdict,
)
from ffml.audit.record import RunRecord
from ffml.base import FFMLError, SensitiveColumn
from ffml.store import Decided, Round, Store

CONSTRAINT = [[0.1, -0.2], [-0.1, 0.3], [np.nan, np.nan], [-0.1, -0.1], [0, 0], [0, 0]]


def draw(rates, sizes=(400, 400), num_rounds=12, seed=0):
    """Draw decisions at the groups' rates, half of the rows of each label: (T, k, 2, 2)."""
    rng = np.random.default_rng(seed)
    tables = np.zeros((num_rounds, len(rates), 2, 2), int)
    for i, (rate, size) in enumerate(zip(rates, sizes, strict=True)):
        chosen = rng.binomial(size // 2, rate, (num_rounds, 2))
        tables[:, i] = np.stack([size // 2 - chosen, chosen], -1)
    return tables


def run_of(planned=None, constraint=None, config=None, raised=(), **columns):
    """Return what a run that never was would have come to."""
    done = len(next(iter(columns.values())))
    groups = {name: tuple(f"g{i}" for i in range(t.shape[1])) for name, t in columns.items()}
    asked = {"notions": ["demographic-parity"], "max_gap": None, "min_ratio": None}
    known = {"rounds": None, "data": {"num_tasks": planned or done}}
    values = np.zeros((done, 1)) if constraint is None else constraint
    kept = [
        Round(i + 1, f"t{i}", "learned", {"constraint": values[i].tolist()}) for i in range(done)
    ]
    decided = {name: with_unknown(tables) for name, tables in columns.items()}
    counts = Tables(decided, decided)
    sensitive = tuple(SensitiveColumn(name, groups[name]) for name in columns)
    return RunRecord(known | asked | (config or {}), sensitive, kept, counts, "", list(raised))


def with_unknown(tables):
    """Add nobody whose label is not known."""
    return np.concatenate([tables, np.zeros_like(tables[:, :, :1])], axis=2)


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
def test_gaps_are_judged(rates, limit, answer):
    run = run_of(sex=draw(rates, num_rounds=30))
    assert answers(run, max_gap=limit) == [answer]


def test_opposite_gaps_do_not_pass():
    run = run_of(sex=there_and_back())
    assert answers(run, max_gap=0.05) == [VIOLATED]
    assert answers(run, min_dp=0.9) == answers(run, min_ratio=0.9) == [VIOLATED]  # the alarm
    assert answers(run, min_eo=0.9) == [VIOLATED]
    assert answers(run, min_dp=0.5) == [MET]  # within tasks it is 0.8


def test_over_correction_is_violated():
    run = run_of(sex=draw((0.6, 0.4)))
    _, fact, rule, _ = check(run, max_gap=0.05)
    assert fact.answer == FACT and "g0 and" in fact.words and rule.answer == VIOLATED


def test_the_fact_is_said_first_and_the_rule_after_it():
    run = run_of(sex=draw((0.3, 0.4), (40_000, 40_000)))
    _, fact, rule, _ = check(run, min_dp=0.7)
    assert fact.value == pytest.approx(0.75, abs=0.01) and fact.low is None
    assert rule.low < rule.value < rule.high and verdict([fact, rule]) == MET
    assert fact.words.startswith("Of 960,000 people decided so far, 4")
    assert rule.words.startswith(
        "Kept: in these tasks, and in those to come if they are like them, the lowest rate is"
        " typically at least "
    )


@pytest.mark.parametrize("sizes", [(20, 20), (14, 6)])
def test_chance_on_small_tasks_neither_fails_nor_flatters(sizes):
    even = run_of(sex=draw((0.5, 0.5), sizes, num_rounds=40))
    uneven = run_of(sex=draw((0.45, 0.67), sizes, num_rounds=200))
    assert VIOLATED not in answers(even, max_gap=0.05, min_dp=0.9)
    assert answers(uneven, max_gap=0.1, min_dp=0.9) == [VIOLATED] * 2


def test_rows_of_a_label_are_compared_if_asked():
    tables = draw((0.5, 0.5), num_rounds=30)
    tables[:, 1, 1] = [[40, 160]]  # group 1, label 1: four of five instead of half
    tables[:, 1, 0] = [[160, 40]]
    run = run_of(sex=tables)
    assert answers(run, max_gap=0.05) == [MET]
    assert answers(run, max_gap=0.05, notion="equal-opportunity") == [VIOLATED]
    assert answers(run, min_dp=0.8) == [MET] and verdict(check(run, min_eo=0.8)) == VIOLATED


def test_every_column_counts_and_the_worst_answers():
    run = run_of(noise=draw((0.5, 0.5), (790, 10)), sex=draw((0.4, 0.6)))
    for asked in ({"max_gap": 0.1}, {"min_dp": 0.8}):
        _, fact, rule, alarm_ = check(run, **asked)
        assert "by sex" in fact.words and rule.answer == alarm_.answer == VIOLATED
        assert "sex" in alarm_.what


def test_a_group_too_small_to_tell_is_named_and_does_not_count():
    tables = np.concatenate([draw((0.4, 0.4)), np.zeros((12, 1, 2, 2), int)], axis=1)
    assert answers(run_of(sex=tables), max_gap=0.1) == [MET]
    tables[0, 2, 0, 0] = 1
    run = run_of(sex=tables)
    assert answers(run, max_gap=0.1) == [MET]
    said = [finding.words for finding in check(run, max_gap=0.1)]
    assert "Too small to tell, and not compared (sex): g2." in said


def test_deciding_nothing_is_not_rewarded():
    run = run_of(sex=draw((1.0, 1.0)))
    assert answers(run, max_gap=0.1, min_dp=0.8) == [UNCLEAR] * 2
    assert "only favourable decisions" in check(run, max_gap=0.1)[2].words


def test_few_rounds_cannot_answer_for_tasks():
    for asked in ({"max_gap": 0.1}, {"max_violation": 0.5}):
        few = run_of(sex=draw((0.4, 0.4))[:4])
        assert {UNCLEAR, MET_SO_FAR} & {*answers(few, **asked)}
        assert verdict(check(run_of(sex=draw((0.4, 0.4))), **asked)) == MET
    assert (
        "that takes 5 tasks or more"
        in check(run_of(sex=draw((0.4, 0.4))[:4]), max_gap=0.1)[2].words
    )


def test_without_a_limit_the_run_s_own_is_checked():
    config = {"notions": ["demographic-parity"], "max_gap": [0.05]}
    run = run_of(config=config, sex=draw((0.4, 0.6)))
    assert check(run) == check(run, max_gap=0.05) and verdict(check(run)) == VIOLATED
    ratio = {"notions": ["demographic-parity"], "min_ratio": [0.8]}
    run = run_of(config=ratio, sex=draw((0.4, 0.42), num_rounds=30))
    assert check(run) == check(run, min_ratio=0.8) and verdict(check(run)) == MET
    with pytest.raises(FFMLError, match="was asked for no gap between decisions; give --max-gap"):
        check(run_of(sex=draw((0.4, 0.6))))


def test_an_unfinished_run_is_judged_by_its_rounds_and_does_not_pass():
    run = run_of(planned=20, sex=draw((0.4, 0.4)))
    findings = check(run, max_gap=0.1)
    assert (verdict(findings), EXIT_CODES[UNFINISHED]) == (UNFINISHED, 3)
    assert "12 of 20 rounds are done, 12 of them judged" in findings[0].words
    assert verdict(check(run, max_gap=0.1, allow_unfinished=True)) == MET
    run = run_of(planned=20, sex=draw((0.4, 0.6), num_rounds=20))  # it went on
    findings = check(run, max_gap=0.1)
    assert verdict(findings) == VIOLATED and findings[0].value == 20


def test_a_run_that_went_on_after_its_first_table_says_how_many_rounds_it_has():
    found = check(run_of(planned=5, sex=draw((0.4, 0.4))), max_gap=0.1)[0]
    assert found.answer == MET and found.words == "12 rounds are done, 12 of them judged"


def test_an_alarm_that_was_raised_stands_for_what_was_asked():
    """Labels that come later may take the evidence away, and the alarm stays."""
    tables = draw((0.4, 0.4), num_rounds=30)
    broken = check(run_of(sex=draw((0.2, 0.8), num_rounds=30)), max_gap=0.05)
    assert VIOLATED in [one.answer for one in broken]
    alarm = {"notion": "demographic-parity", "column": "sex", "comparison": "g1 against g0"}
    alarm |= {"round": 3, "task": "t2", "higher": True, "evidence": 50.0, "needed": 20.0}
    asked = {"notions": ["demographic-parity"], "max_gap": [0.05], "min_ratio": None}
    run = run_of(config=asked, raised=[alarm], sex=tables)
    assert verdict(check(run)) == VIOLATED and "Alarm in round 3 (t2)" in check(run)[-1].words
    assert verdict(check(run, max_gap=0.2)) == MET  # another question
    stricter = check(run, max_gap=0.04)  # whatever broke 5 points broke 4
    assert verdict(stricter) == VIOLATED and "Alarm in round 3 (t2)" in stricter[-1].words
    both = {one.what: one.answer for one in check(run, max_gap=0.05, min_ratio=0.8)}
    assert both["gap (demographic-parity), the rule"] == VIOLATED
    assert both["ratio (demographic-parity), the rule"] == MET  # of a ratio none was raised


def test_mean_violation_counts_the_worst_constraint_of_each_measured_round():
    run = run_of(constraint=np.array(CONSTRAINT), sex=draw((0.4, 0.4))[:6])
    _, finding = check(run, max_violation=1.0)
    assert finding.value == pytest.approx((0.1 + 0.3) / 5) and finding.answer == MET
    assert finding.low <= finding.value <= finding.high
    assert answers(run, max_violation=0.0) == [UNCLEAR]  # resampling can leave out both
    run = run_of(constraint=np.full((6, 2), np.nan), sex=draw((0.4, 0.4))[:6])
    assert answers(run, max_violation=1.0) == [UNCLEAR]


def test_the_alarm_comes_once_a_gap_is_shown_and_stays():
    tables = np.concatenate([draw((0.3, 0.7), num_rounds=5), draw((0.4, 0.4), num_rounds=300)])
    run = run_of(sex=tables, age=draw((0.5, 0.5), num_rounds=305))
    assert answers(run, max_gap=0.1) == [VIOLATED]  # though on average it is kept
    found = alarm(run, max_gap=0.1)
    assert found.answer == VIOLATED and verdict(check(run, max_gap=0.1)) == VIOLATED
    assert "Alarm in round 1 (t0): up to then some task broke 10 points (sex: g1 " in found.words
    assert found.limit == pytest.approx(40) and found.value > 40  # two columns share 5 %


def test_no_alarm_decides_nothing():
    few = run_of(sex=draw((0.4, 0.4), (20, 20), num_rounds=6))
    assert alarm(few, max_gap=0.05).answer == NO_ALARM
    assert verdict(check(few, max_gap=0.05)) == UNCLEAR
    many = run_of(sex=draw((0.4, 0.4)))
    assert (
        alarm(many, max_gap=0.05).answer == NO_ALARM and verdict(check(many, max_gap=0.05)) == MET
    )
    assert "an alarm takes 20" in alarm(many, max_gap=0.05).words
    unmeasured = run_of(sex=draw((1.0, 1.0)))
    assert alarm(unmeasured, max_gap=0.05).answer == NO_ALARM


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"min_dp": 1.2}, "--min-dp must be between 0 and 1, got 1.2; 0.8 is 80 %"),
        ({"max_gap": 5.0}, "--max-gap must be between 0 and 1, got 5.0; 0.05 is 5 points"),
        ({"max_violation": float("nan")}, "--max-violation must be >= 0, got nan"),
        ({"min_dp": 0.5, "notion": "equalized-odds"}, "--notion says whom --max-gap and --min-"),
        ({"max_gap": 0.5, "notion": "odds"}, "--notion must be one of demographic-parity, "),
        ({"max_violation": float("inf")}, "--max-violation must be >= 0, got inf"),
    ],
)
def test_misuse_is_refused(asked, message):
    with pytest.raises(FFMLError) as caught:
        check(run_of(sex=draw((0.4, 0.4))), **asked)
    assert str(caught.value).startswith(message)


def write_run(folder, tables, planned):
    """Write a ledger with these people in it."""
    groups = [f"g{i}" for i in range(tables.shape[1])]
    config = {"rounds": None, "data": {"num_tasks": planned}, "notions": [], "max_gap": None}
    schema = {"features": [], "sensitive": [{"name": "sex", "groups": groups}], "label": "y"}
    documents = {"config": config | {"min_ratio": None}, "schema": schema}
    with Store.create(folder, documents) as store:
        for t, table in enumerate(tables):
            of, label, decision = (
                np.repeat(i.ravel(), table.ravel()) for i in np.indices(table.shape)
            )
            n = len(of)
            people = Decided(
                ids=[str(i) for i in range(n)],
                groups={"sex": [groups[i] for i in of]},
                version=0,
                probability=np.full(n, 0.5),
                decision=decision,
                unpriced=decision,
                label=label,
                content=np.zeros(n, np.int64),
            )
            with store.transaction("test", f"round {t + 1}: t{t}") as ledger:
                ledger.add_decisions(ledger.put_round(f"t{t}", "learned", {}), people)
    return folder


def test_the_command_line(tmp_path, run_main):
    code, _, error = run_main("check", tmp_path, "--max-gap", 0.1)
    assert code == 2 and "holds no run" in error and error.count("\n") == 1
    run = write_run(tmp_path / "run", there_and_back(), 20)
    for limit, expected in ((0.3, 0), (0.05, 1), (0.12, 3)):
        code, out, _ = run_main("check", run, "--max-gap", limit)
        assert code == expected, out
    run = write_run(tmp_path / "unfinished", there_and_back(), 99)
    assert run_main("check", run, "--max-gap", 0.3)[0] == 3
    code, out, _ = run_main("check", run, "--max-gap", 0.3, "--allow-unfinished", "--json")
    record = ffml.open(run).record
    assert code == 0 and json.loads(out) == to_document(
        check(record, max_gap=0.3, allow_unfinished=True)
    )


def test_exit_codes():
    unsure = (UNCLEAR, MET_SO_FAR, UNMEASURABLE, UNFINISHED)
    assert dict(EXIT_CODES) == {MET: 0, VIOLATED: 1} | dict.fromkeys(unsure, 3)


def test_what_is_met_so_far_passes_where_that_is_asked():
    """Four large tasks: more of their people would keep the bound, and of a fifth none knows."""
    few = check(run_of(sex=draw((0.4, 0.4), (40_000, 40_000))[:4]), max_gap=0.05)
    assert (verdict(few), exit_code(few), exit_code(few, so_far=True)) == (MET_SO_FAR, 3, 0)
    tiny = check(run_of(sex=draw((0.4, 0.4), (40, 40), seed=1)[:4]), max_gap=0.05)
    assert (verdict(tiny), exit_code(tiny, so_far=True)) == (UNCLEAR, 3)
    broken = check(run_of(sex=draw((0.4, 0.6))), max_gap=0.05)
    assert exit_code(broken, so_far=True) == 1
