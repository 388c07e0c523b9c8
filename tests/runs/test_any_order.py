"""Whatever happens to a run, in whatever order: every face tells the truth, and a replay too."""

import numpy as np
import pytest
from faces import agree
from months import begin, labels, loans, of, unlabelled

import ffml

FRAME = loans(12, 40)
MONTHS = FRAME.month.unique()
TURNED = {"yes": "no", "no": "yes"}


class Life:
    """A run to which things happen."""

    def __init__(self, out, seed):
        self.rng, self.out = np.random.default_rng(seed), out
        delay, features = int(self.rng.integers(3)), bool(self.rng.integers(2))
        more = {"label_delay": delay, "keep_features": features}
        begin(of(FRAME, *MONTHS[:3]), out, **more).close()
        self.next, self.truth = 3, FRAME.copy()

    def some(self, frame, share=None):
        share = self.rng.random() if share is None else share
        return frame[self.rng.random(len(frame)) < share]

    def happen(self):
        """Let something happen to the run, which is opened anew."""
        events = (self.month, self.people, self.outcomes, self.outcomes, self.again, self.correct)
        run = ffml.open(self.out)
        events[self.rng.integers(len(events))](run)
        run.close()

    def month(self, run):
        """People of a new month come together, some of them with labels."""
        people = of(self.truth, MONTHS[self.next])
        known = self.rng.random(len(people)) < self.rng.choice([0, 0, 0.5, 1])
        run.update(people.assign(approved=people.approved.where(known)))
        self.next += 1

    def people(self, run):
        """People of a new month come one by one, and the rest at once."""
        people = unlabelled(of(self.truth, MONTHS[self.next]))
        for i in range(3):
            run.decide(people[i : i + 1])
        run.decide(people)
        self.next += 1

    def outcomes(self, run):
        """Labels come, of everybody or of the approved alone, some of them twice."""
        decided = run.decisions
        if self.rng.integers(2):
            decided = decided[decided.decision == 1]
        known = self.truth[self.truth.applicant.astype(str).isin(decided.id)]
        if len(some := self.some(known[known.month >= MONTHS[3]])):
            run.label(labels(some))

    def again(self, run):
        """All tables come again, in another order, with labels that have arrived since."""
        past = of(self.truth, *MONTHS[: self.next])
        run.update(self.some(past.sample(frac=1, random_state=int(self.rng.integers(99)))))

    def correct(self, run):
        """Some labels were wrong."""
        known = run.decisions
        known = known[known.label.notna()].id
        rows = self.some(self.truth[self.truth.applicant.astype(str).isin(known)], 0.1).index
        if len(rows):
            self.truth.loc[rows, "approved"] = self.truth.approved[rows].map(TURNED)
            run.label(labels(self.truth.loc[rows]), correct=True)


@pytest.mark.parametrize("seed", range(2))
def test_any_order(seed, tmp_path, run_main):
    life = Life(tmp_path / "run", seed)
    for _ in range(8):
        life.happen()
    agree(life.out, run_main)
    run = ffml.open(life.out)
    assert run.replay(None if run.store.document("keep_features") else life.truth)
