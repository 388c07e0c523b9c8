"""Reasons for one decision: which inputs moved a person's score, against the typical approved one.

The score is the logit without fairness: above 0, the person is approved by the probability alone.
Inputs of the typical approved person are replaced by the person's own, one after the other; each
replacement moves the score. That is done in many orders and their reverses, and averaged: a sampled
Shapley value. The effects add up to the difference of the two scores in every order, whatever the
learner is. For a weighted sum each effect is exact, and so it is if no three inputs work together.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ffml.audit.record import favourable_of
from ffml.base import FFMLError, Schema
from ffml.metrics.phrases import were_decided
from ffml.online.decide import find_rule
from ffml.online.loop import arrive, known
from ffml.runs._arrivals import read_people
from ffml.runs._inputs import _columns
from ffml.runs._replay import task_of
from ffml.scoring import Scorer
from ffml.tables import open_data

if TYPE_CHECKING:
    from ffml.runs._run import Run

ORDERS = 32  # and as many reverses
SAME = 1e-5  # probabilities that differ by less are of the same rule
_KEPT = ("seq", "round", "task", "version", "probability", "decision", "unpriced", "event", "x")


class Reason(NamedTuple):
    """What one input did to the score."""

    column: str
    value: str
    typical: str  # of the approved
    effect: float


class Explanation(NamedTuple):
    """Why a person was decided about so, as far as inputs tell; it prints itself in words."""

    id: str
    task: str
    version: int  # that the reasons are of
    decision: int
    favourable: str  # the decision 1 in words
    probability: float
    threshold: float | None  # from which probability on, were no gap bounded
    changed_by_fairness: bool
    score: float  # logit without fairness
    typical_score: float
    fairness: float  # what fairness added to it
    reasons: tuple[Reason, ...]  # the largest effect first
    note: str  # if the rule that decided is not there any more

    def lines(self, most: int | None = None) -> list[str]:
        """Say it in words, with so many reasons."""
        said = self.favourable if self.decision else f"not {self.favourable}"
        cut = ""
        if self.threshold is not None:
            cut = f", {self.favourable} from {self.threshold:.3f} on without fairness"
        moved = "changed" if self.changed_by_fairness else "did not change"
        change = self.score - self.typical_score
        return [
            f"{self.id} in {self.task}: {said} (probability {self.probability:.3f}{cut}). "
            f"Fairness {moved} the decision.",
            *([self.note] if self.note else []),
            f"Against the typical person who is {self.favourable}, the score (log-odds) differs by "
            f"{change:+.3f}:",
            *(
                f"  {one.effect:+.3f}  {one.column} = {one.value} (typical: {one.typical})"
                for one in self.reasons[:most]
            ),
            "Candidates for the principal reasons of a notice, and no more: they say what the "
            "model went by, not what a person could change.",
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def explain_person(run: "Run", id: str, task: str | None, person: Any) -> Explanation:
    """Explain the decision about one person; see `ffml.Run.explain`."""
    kept = _decision(run, id, task)
    scorer = _scorer(run, kept)
    schema = scorer.model.schema
    x = np.asarray(_features(run, scorer, id, kept["x"], person), np.float32)
    prediction = scorer.predict(x[None])
    logits, p, free = (float(np.asarray(part)[0]) for part in prediction)
    typical = _typical(scorer, x, schema)
    columns = _columns(schema.features, schema)
    base, effects = _effects(scorer, typical, x, columns)
    written = _Written(scorer)
    reasons = [
        Reason(name, written.value(name, x[places]), written.value(name, typical[places]), effect)
        for (name, places), effect in zip(columns.items(), effects.tolist(), strict=True)
        if (x[places] != typical[places]).any()
    ]
    cuts, note = run.store.thresholds([kept["event"]]), _note(kept, scorer, p)
    return Explanation(
        id=id,
        task=kept["task"],
        version=scorer.model.version,
        decision=kept["decision"],
        favourable=were_decided(favourable_of(run.config)).removeprefix("were "),
        probability=kept["probability"],
        threshold=cuts.get(kept["event"], None if note else _cut(p, free)),
        changed_by_fairness=kept["decision"] != kept["unpriced"],
        score=free,
        typical_score=base,
        fairness=logits - free,
        reasons=tuple(sorted(reasons, key=lambda one: -abs(one.effect))),
        note=note,
    )


def _decision(run: "Run", id: str, task: str | None) -> dict[str, Any]:
    decisions = run.store.decisions(ids=[id], columns=_KEPT)
    values = [part if name == "x" else part.tolist() for name, part in decisions.items()]
    rows = [dict(zip(decisions, row, strict=True)) for row in zip(*values, strict=True)]
    rows = [row for row in rows if task in (None, row["task"])]
    if not rows:
        where = f" in task '{task}'" if task else ""
        raise FFMLError(f"nobody with id '{id}' was decided about{where}; ids are {_ids(run)}")
    if len(rows) > 1:
        names = ", ".join(row["task"] for row in rows)
        raise FFMLError(f"'{id}' was decided about in {names}; say which (--task)")
    if rows[0]["decision"] < 0:
        raise FFMLError(f"'{id}' was adapted to and not decided about; there is nothing to explain")
    return rows[0]


def _scorer(run: "Run", kept: Mapping[str, Any]) -> Scorer:
    """Find what decided: the standing rule of a version, or the rule of a task that came whole.

    Where the version has no state any more, the one that decides now stands in.
    """
    states = {row.number for row in run.versions if row.kept}
    if kept["version"] not in states:
        return run.scorer()
    scorer = run.scorer(kept["version"])
    whole = not run.store.thresholds([kept["event"]])
    if not whole or not run.store.document("keep_features") or scorer.rule is None:
        return scorer
    session = run.session().at(kept["version"])
    task = task_of(run, kept["round"])
    _, arrived = arrive(session.loop, session.state, task)
    rows, before = arrived.rows, known(session.loop, session.state)
    rule = find_rule(session.loop, before, arrived.as_it_came, rows.support, rows.validation)
    return Scorer(scorer.model, rule)


def _ids(run: "Run") -> str:
    column = (run.config["data"].get("roles") or {}).get("id")
    return f"those of column '{column}'" if column else "in the view people of the ledger"


def _features(run: "Run", scorer: Scorer, id: str, x: np.ndarray, person: Any) -> np.ndarray:
    if person is None:
        if not len(x):
            raise FFMLError(
                f"the ledger keeps no features of '{id}'; give the row (--person FILE), or keep "
                "features from the start (ffml run --keep-features)"
            )
        return x
    source, model = open_data(person), scorer.model
    arrivals = read_people(source, run.config["data"], model.schema, scorer.preprocessor, "")
    ids = [""] * len(arrivals.x) if arrivals.ids is None else [str(one) for one in arrivals.ids]
    places = [place for place, one in enumerate(ids) if one == id]
    if len(arrivals.x) == 1 and arrivals.ids is None:
        places = [0]
    if len(places) != 1:
        raise FFMLError(f"{source.name} has {len(places)} rows of '{id}'; give one row")
    return arrivals.x[places[0]]


def _typical(scorer: Scorer, x: np.ndarray, schema: Schema) -> np.ndarray:
    """Return medians and commonest categories of those who are approved among people met lately.

    Memberships, where decisions know them, are the person's own.
    """
    width = len(schema.features)
    people = np.repeat(x[None], len(scorer.model.recent), axis=0)
    people[:, :width] = scorer.model.recent[:, :width]
    approved = people[np.asarray(scorer.predict(people).logits) > 0] if len(people) else people
    if not len(approved):
        raise FFMLError("nobody met lately is approved, so that there is nobody to compare with")
    typical = np.median(approved, axis=0).astype(np.float32)
    for members in map(list, schema.categories):
        shares = approved[:, members].mean(0)
        commonest = shares.max() >= 1 - shares.sum()  # else most have none of these
        typical[members] = (np.arange(len(members)) == shares.argmax()) & commonest
    return typical


def _effects(
    scorer: Scorer, typical: np.ndarray, x: np.ndarray, columns: Mapping[str, list[int]]
) -> tuple[float, np.ndarray]:
    """Return the typical score, and what each column moves it by on the way to the person's."""
    places, rng = list(columns.values()), np.random.default_rng(0)
    differ = np.array([i for i, some in enumerate(places) if (x[some] != typical[some]).any()], int)
    orders = [rng.permutation(differ) for _ in range(ORDERS)]
    orders += [order[::-1] for order in orders]
    paths = np.repeat(typical[None, None], len(orders), axis=0).repeat(len(differ) + 1, axis=1)
    for path, order in zip(paths, orders, strict=True):
        for step, column in enumerate(order.tolist(), start=1):
            path[step:, places[column]] = x[places[column]]
    said = scorer.predict(paths.reshape(-1, len(x))).unpriced
    scores = np.asarray(said, float).reshape(len(orders), -1)
    effects = np.zeros(len(places))
    for order, moved in zip(orders, np.diff(scores), strict=True):
        effects[order] += moved / len(orders)
    return float(scores[:, 0].mean()), effects


def _cut(p: float, score: float) -> float | None:
    """Return the probability at which the score is 0; None where p is too near 0 or 1 to tell."""
    if not 1e-6 < p < 1 - 1e-6:
        return None
    return float(1 / (1 + np.exp(score - np.log(p / (1 - p)))))


def _note(kept: Mapping[str, Any], scorer: Scorer, p: float) -> str:
    if abs(p - kept["probability"]) < SAME:
        return ""
    now = scorer.model.version
    if now == kept["version"]:
        why = f"This was decided together with the people of its task, by version {now}"
        return f"{why}; the reasons are of the same version for one who comes alone, at {p:.3f}."
    why = f"Version {kept['version']}, which decided, is not kept any more"
    return f"{why}; the reasons are of version {now}, at {p:.3f}."


class _Written:
    """Inputs as the user writes them."""

    def __init__(self, scorer: Scorer) -> None:
        coded = scorer.preprocessor.columns if scorer.model.preprocessing else ()
        self._numbers = {one.name: one for one in coded if hasattr(one, "as_written")}
        schema = scorer.model.schema
        names = _columns(schema.features, schema)
        self._names = {name: [schema.features[i] for i in some] for name, some in names.items()}

    def value(self, column: str, x: np.ndarray) -> str:
        """Write the features of one column as one value."""
        features = self._names[column]
        if features != [column]:
            chosen = [f for f, one in zip(features, x.tolist(), strict=True) if one]
            return chosen[0].partition("=")[2] if chosen else "(another)"
        number = self._numbers[column].as_written(x[0]) if column in self._numbers else x[0]
        return f"{float(number):.6g}"
