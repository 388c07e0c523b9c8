"""The European Union's AI Act: what a run can fill in of the technical documentation."""

from typing import Any

from ffml.documents._document import SIGN_OFF, Document, Section, asked, sign_off
from ffml.documents._people import People
from ffml.documents._run_facts import RunFacts
from ffml.recipe.asked import asked_phrases
from ffml.report.answer import sentences

RULE = (
    "Technical documentation under Article 11 and Annex IV of Regulation (EU) 2024/1689 (AI Act), "
    "as published on 12 July 2024. Numbers are those of Annex IV."
)
MOST_VERSIONS = 20  # the newest, one by one
_OPEN = {  # what a run cannot know, by the point of Annex IV
    "purpose": "1. Intended purpose, provider, version, how it is used",
    "elements": "2(a) to (e). Development, design, architecture, data sheets, human oversight",
    "security": "2(h). Cybersecurity measures",
    "oversight": "3. Human oversight, foreseeable unintended outcomes, specifications of inputs",
    "metrics": "4. Why these metrics suit this system",
    "risks": "5. Risk management system (Article 9)",
    "standards": "7. Harmonised standards applied",
    "declaration": "8. EU declaration of conformity",
    "monitoring": "9. Post-market monitoring plan (Article 72)",
}
FIELDS = {**_OPEN, **SIGN_OFF}


def document(people: People, run: RunFacts, given: dict[str, str]) -> Document:
    """Fill in what the ledger knows; what the provider has to say is left open."""
    opened = dict(zip(_OPEN, asked(_OPEN, given), strict=True))

    def mine(*names: str) -> tuple[tuple[str, str], ...]:
        return tuple(opened[name] for name in names)

    before = Section("1 and 2(a) to (e). The system", fields=mine("purpose", "elements"))
    after = Section("Other points", fields=mine("security", "risks", "standards", "declaration"))
    return Document(
        "ai-act",
        f"Technical documentation (Annex IV): {run.data_name}",
        RULE,
        (
            before,
            _changes_by_learning(run),
            _tests(people, run),
            Section(
                "3. Accuracy, by group", _accuracy(run), tuple(run.group_rows()), mine("oversight")
            ),
            Section("4. Metrics", _metrics(run), (), mine("metrics")),
            _lifecycle(run),
            Section("9. Monitoring", _monitoring(run), (), mine("monitoring")),
            after,
            sign_off(given),
        ),
        who_fills="the provider",
    )


def _changes_by_learning(run: RunFacts) -> Section:
    config = run.view.config
    how = {
        "newest": "the newest version decides",
        "manual": "a version decides once a person has promoted it",
        "auto": "a version decides once it has passed its trial against the one that decides",
    }[run.promotion]
    texts = (
        f"The system goes on learning. After each task whose labels are known it is updated by the "
        f"method {config['method']} (model {config['model']}); {how}.",
        f"{config.get('method_summary') or ''}".strip(),
        f"What the updates are bound to: {_asked(run) or 'nothing was asked'}.",
    )
    return Section("2(f). Changes that learning makes", tuple(filter(None, texts)))


def _tests(people: People, run: RunFacts) -> Section:
    config, answer = run.view.config, run.view.summary["answer"]
    data = config["data"]
    rows: list[tuple[str, Any]] = [
        ("data", run.data_name),
        ("fingerprint of the data (SHA-256)", data.get("fingerprint")),
        ("label", data.get("label")),
        ("protected columns", ", ".join(people.columns)),
        ("tasks", str(len(run.view.rounds))),
        ("period of the data", f"{people.start} to {people.end}" if people.start else None),
        ("people decided about", f"{people.total:,}"),
        ("of these with a label", f"{answer['labelled']:,}"),
        ("first and newest entry of the ledger", " and ".join(at[:19] for at in run.decided)),
        ("ledger's newest hash", run.head),
        ("command", config.get("command")),
        ("ffml", config.get("ffml_version")),
    ]
    said = (
        "Each person was decided about before the label of that person was learned from. Rows that "
        "a decision was adapted to are not among those judged.",
    )
    table = tuple({"item": name, "value": value} for name, value in rows if value)
    return Section("2(g). Data and tests", said, table)


def _accuracy(run: RunFacts) -> tuple[str, ...]:
    note = "Errors are of people with a label. Small numbers: too few people to compare."
    return (*sentences(run.view.summary), note)


def _metrics(run: RunFacts) -> tuple[str, ...]:
    return (
        f"Asked for: {_asked(run) or 'no bound on a gap'}. Selection rates and their gap are of "
        "everybody decided about; accuracy and errors by group are of those with a label.",
    )


def _lifecycle(run: RunFacts) -> Section:
    newest = run.versions[-MOST_VERSIONS:]
    said = f"{len(run.versions):,} versions so far; the newest {len(newest)} are listed."
    rows = [
        {
            "version": str(one.number),
            "learned_on": one.at[:19],
            "from_task": one.task or "labels that came later",
            "checksum": one.checksum,
            "decides": one.deciding,
        }
        for one in newest
    ]
    return Section("6. Changes through the lifecycle", (said,), tuple(rows))


def _monitoring(run: RunFacts) -> tuple[str, ...]:
    notions = run.view.summary["answer"]["notions"]
    alarms = [one["alarm"] for one in notions if one["alarm"]]
    raised = any(one["round"] is not None for one in alarms)
    now = "has been raised" if raised else "has not been raised"
    return (
        "Every decision and label is in a ledger whose entries are chained by hashes (ffml verify)."
        " An alarm compares each task with the bound, and once raised it stands (ffml check).",
        f"The alarm {now}." if alarms else "No bound was asked for, so that there is no alarm.",
    )


def _asked(run: RunFacts) -> str:
    return "; ".join(asked_phrases(run.view.config))
