"""Random lives of a ledger: no face contradicts fact, alarm or another face."""

import numpy as np
import pytest
from scipy import stats

from ffml.audit import Limits, audit_decisions
from ffml.audit.counts import Tables
from ffml.audit.gate import EXIT_CODES, findings_of, verdict
from ffml.audit.record import RunRecord
from ffml.base import Ratio, SensitiveColumn
from ffml.metrics import contingency_table, words
from ffml.metrics.answer import answer
from ffml.metrics.verdict import KEPT, NOT_KEPT, SO_FAR, UNCLEAR, UNMEASURABLE
from ffml.report.answer import sentences
from ffml.store import Round
from ffml.tables import Decisions

DP = "demographic-parity"
SEX = SensitiveColumn("sex", ("F", "M"))
STARTS = {
    KEPT: "Kept: ",
    SO_FAR: "Kept so far: ",
    NOT_KEPT: "Not kept: ",
    UNCLEAR: "Whether the rule behind it keeps ",
    UNMEASURABLE: "Whether the rule behind it keeps ",
}


def sizes_of(kind, rng):
    """Return how many people each task has."""
    if kind == "tasks of one person":
        return np.ones(rng.integers(100, 400), int)
    if kind == "one huge task among forty":
        sizes = rng.integers(2, 30, 40)
        sizes[rng.integers(40)] = 4000
        return sizes
    return rng.integers(*((1, 40) if rng.random() < 0.5 else (200, 900)), rng.integers(1, 30))


KINDS = (
    "plain",
    "tasks of one person",
    "tasks of one group",
    "one huge task among forty",
    "early gaps of 20, later of 3",
    "opposite gaps",
)


def people(kind, seed):
    """Draw everybody: task, group, decision, and the label that may come to be known."""
    rng = np.random.default_rng(seed)
    sizes = sizes_of(kind, rng)
    task = np.repeat(np.arange(len(sizes)), sizes)
    group = (rng.random(len(task)) < rng.uniform(0.2, 0.8)).astype(int)
    if kind == "tasks of one group":
        group = task % 2
    gap = np.full(len(sizes), rng.choice([0.0, 0.02, 0.05, 0.2, 0.6]))
    if kind.startswith("early"):
        gap = np.where(np.arange(len(sizes)) < len(sizes) / 4, 0.2, 0.03)
    if kind.startswith("opposite"):
        gap *= np.where(np.arange(len(sizes)) % 2, 1, -1)
    rate = rng.uniform(0.3, 0.6) + gap[task] * (group - 0.5)
    decision = (rng.random(len(task)) < rate).astype(int)
    return rng, task, group, decision, (rng.random(len(task)) < 0.6).astype(int)


def looks(rng, decision, label):
    """Yield the labels known at each look: late, one-sided, in any order, some of them wrong."""
    known = np.full(len(label), -1)
    yield known.copy()
    one_sided = rng.random() < 0.4
    whom = np.flatnonzero(decision) if one_sided else np.arange(len(label))
    for some in np.array_split(rng.permutation(whom), 2):
        known[some] = label[some] ^ (rng.random(len(some)) < 0.1)
        yield known.copy()
    known[whom] = label[whom]  # all again, the wrong ones corrected
    yield known.copy()


def rates(group, decision, among):
    """Return each group's rate, people, and the two together, by plain NumPy."""
    return [(decision[among & (group == g)].mean(), (among & (group == g)).sum()) for g in (0, 1)]


def hold(found, notion, bound, group, decision, known):
    """Compare the headline with the fact by NumPy, the alarm, and both intervals."""
    (said,) = found["notions"]
    told, fact = said["verdict"], said["fact"]
    raised = said["alarm"] is not None and said["alarm"]["round"] is not None
    assert told == NOT_KEPT or not raised
    text = words.rule_sentence(found, said)
    assert text.startswith(STARTS[told]), text
    if fact is None:
        assert told in (UNMEASURABLE, UNCLEAR, NOT_KEPT)
        assert "cannot be measured" in words.fact_sentence(found, said)
        return
    among = np.ones(len(group), bool) if notion == DP else known == 1
    if any(not (among & (group == g)).any() for g in (0, 1)):
        assert told == UNCLEAR or raised
        return
    (low, n_low), (high, n_high) = sorted(rates(group, decision, among))
    assert fact["gap"] == pytest.approx(high - low)
    gap, most = high - low, bound
    if isinstance(bound, Ratio):
        gap, most = 1 - (low / high if high else np.nan), 1 - bound.least
    if told in (KEPT, SO_FAR):
        assert gap <= most + 1e-12 and not raised
        assert said["rule"]["so_far"]["high"] <= most
    if not isinstance(bound, Ratio):  # far beyond chance among these people is not kept
        error = np.sqrt(low * (1 - low) / n_low + high * (1 - high) / n_high)
        assert told == NOT_KEPT or gap - 1.5 * stats.norm.isf(0.025 / 3) * error - 0.03 <= most


def hold_faces(found, tables, tasks, notion, bound, raised):
    """Compare gate, audit and report with the answer."""
    (said,) = found["notions"]
    expected = {KEPT: 0, NOT_KEPT: 1}.get(said["verdict"], 3)
    first = [words.fact_sentence(found, said), words.rule_sentence(found, said)]
    kept = [Round(t + 1, name, "learned", {}) for t, name in enumerate(tasks)]
    config = {"data": {"label": "approved", "roles": {"positive": "yes"}}, "notions": [notion]}
    by_ratio = isinstance(bound, Ratio)
    config |= {"min_ratio": [bound.least]} if by_ratio else {"max_gap": [bound]}
    run = RunRecord(config, (SEX,), kept, Tables({"sex": tables}, {}), "", raised)
    gate = findings_of(run, [(notion, bound)])
    assert EXIT_CODES[verdict(gate)] == expected and [one.words for one in gate[:2]] == first
    short = sentences({"answer": found})
    assert short[:2] == first and 3 <= len(short) <= 5
    assert any("Alarm in round" in one for one in short) == bool(
        said["alarm"] and said["alarm"]["round"] is not None
    )
    counts = (int(tables.sum()), 0, int(tables[:, :, :2].sum()))
    if raised or (notion != DP and not counts[2]):
        return  # an audit has no past, and refuses what needs labels where there are none
    one = Decisions("people", (SEX,), {"sex": tables}, "task", tasks, "approved", "yes", *counts)
    given = {"min_ratio": bound.least} if isinstance(bound, Ratio) else {"max_gap": bound}
    audit = audit_decisions(one, Limits(notion=notion, **given))
    assert [one.words for one in audit.findings[:2]] == first
    assert EXIT_CODES[verdict(audit.findings)] == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_no_face_contradicts_another_whatever_comes_when(kind, seed):
    rng, task, group, decision, label = people(kind, seed)
    notion = DP if seed % 2 else "equal-opportunity"
    bound = (0.05, 0.15, Ratio(0.8))[seed % 3]
    tasks = tuple(f"t{t}" for t in range(task.max() + 1))
    raised = []
    for known in looks(rng, decision, label):
        tables = np.stack(
            [
                contingency_table(known[task == t], decision[task == t], group[task == t], 2)
                for t in range(len(tasks))
            ]
        )
        given = {"favourable": "approved", "raised": raised}
        found = answer({"sex": tables}, [SEX], [(notion, bound)], tasks, **given)
        alarm = found["notions"][0]["alarm"]
        assert not raised or alarm == raised[0]  # what was raised stands
        hold(found, notion, bound, group, decision, known)
        hold_faces(found, tables, tasks, notion, bound, raised)
        raised = [alarm] if alarm is not None and alarm["round"] is not None else []
        met = np.array([len(np.unique(group[task == t])) > 1 for t in range(len(tasks))])
        share = met[task].mean()
        (column,) = found["notions"][0]["columns"]
        if column["facts"] and {*group} == {0, 1}:
            assert column["compared_share"] == pytest.approx(share)
            said = f"gaps within tasks for {100 * (1 - share):.0f} % of the people, who met no"
            assert (said in " ".join(words.sentences(found))) == (share < 0.95)
