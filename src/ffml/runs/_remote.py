"""A run behind a service: the same methods, over HTTP."""

import json
import math
import os
import urllib.error
import urllib.request
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from ffml.audit.gate import Finding
from ffml.base import FFMLError
from ffml.runs._answer import Answer
from ffml.runs._labels import LabelsAdded
from ffml.runs._run import Run
from ffml.store import Store, VersionRow
from ffml.tables import Source, open_data, refuse_unknown, role_texts

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

TOKEN = "FFML_TOKEN"  # the environment's variable
SECONDS = 600.0  # that an answer may take
MOST_PEOPLE = 5000  # in one request
PLAIN = str | int | float | None  # bool is an int
SAYS = ("id", "task", "probability", "threshold", "decision", "unpriced", "version", "number")


class RemoteRun(Run):
    """A run at ``http://host:port/runs/name``.

    `decide`, `label`, `answer`, `rounds`, `check`, `versions`, `promote`, `roll_back` and `forget`
    are asked of the service; the rest is for those who have the ledger.
    """

    def __init__(self, address: str, token: str | None = None) -> None:
        parts = urlsplit(address.rstrip("/"))
        root, _, name = parts.path.rpartition("/")
        if not name or not root.endswith("/runs") or parts.query or parts.username:
            raise FFMLError("a run over HTTP is at http://host:port/runs/NAME; a token goes apart")
        self.address = f"{parts.scheme}://{parts.netloc}{root}/{quote(unquote(name), safe='')}"
        self._token = token or os.environ.get(TOKEN)
        self._session, self._scorers = None, {}

    def __repr__(self) -> str:
        return f"Run({self.address!r})"

    def close(self) -> None:
        """Nothing is held open."""

    @property
    def store(self) -> Store:  # type: ignore[override]
        """Refuse: the ledger is the service's."""
        raise FFMLError(
            f"{self.address} is a run over HTTP, which cannot do that; open its folder or database"
        )

    @property
    def answer(self) -> Answer:
        """The fact, the verdict and the alarm about everybody decided; prints itself in words."""
        return Answer(self._ask("fairness")["answer"])

    def fairness(self, **asked: str) -> dict[str, Any]:
        """Rates, gaps, intervals, verdicts and evidence by period: ``start``, ``end``, ``by``."""
        return self._ask(f"fairness?{urlencode(asked)}")

    @property
    def rounds(self) -> "pd.DataFrame":
        """One row a task: how many people, metrics, constraints, seconds."""
        import pandas as pd

        return pd.DataFrame(self._ask("rounds")["rounds"]).set_index("round")

    def check(self, **limits: Any) -> list[Finding]:
        """Compare everybody decided about with limits, see `ffml.audit.gate.check`."""
        asked = {n: v for n, v in limits.items() if v is not None and v is not False}
        said = self._ask(f"check?{urlencode(asked)}")
        return [Finding(**one) for one in said["findings"]]

    def decide(self, people: Any, **asked: Any) -> "pd.DataFrame":
        """Decide about people, see `ffml.Run.decide`: by ``task``, ``support``, ``query``, ``key``.

        Many people are several requests; under a key each has its own.
        """
        import pandas as pd

        rows = _rows(open_data(people, asked.pop("query", None)))
        if not rows:
            raise FFMLError("there is nobody to decide about; give a table with a row a person")
        body = {
            name: asked.pop(name) for name in ("task", "support") if asked.get(name) is not None
        }
        key = asked.pop("key", None)
        if any(value not in (None, False) for name, value in asked.items() if name != "record"):
            raise FFMLError(f"over HTTP, decide takes no {', '.join(asked)}; open the ledger")
        if not asked.get("record", True):
            raise FFMLError("over HTTP, decisions are recorded; ask a version at /v2/models")
        path = "adapt" if "support" in body else "decide"
        if "support" in body:
            body["support"] = _rows(open_data(body["support"]))
        said: list[dict[str, Any]] = []
        for start in range(0, len(rows), MOST_PEOPLE):
            own = None if key is None else key if len(rows) <= MOST_PEOPLE else f"{key}/{start}"
            part = body | {"people": rows[start : start + MOST_PEOPLE]}
            said += self._ask(path, part, own)["decisions"]
        frame = pd.DataFrame(said).rename(columns={"decision": "word", "decision_id": "number"})
        decision, word = frame["favourable"].astype("int64"), frame["without_fairness"]
        unpriced = decision.where(word == frame["word"], 1 - decision).mask(word == "-1", -1)
        probability = frame["probability"].astype("float32")
        frame = frame.assign(decision=decision, unpriced=unpriced, probability=probability)
        return frame[[*SAYS]]

    def label(
        self, data: Any, *, query: str | None = None, id: str | None = None, correct: bool = False
    ) -> LabelsAdded:
        """Bring labels; see `ffml.Run.label`. The table has an id, a label, perhaps a task.

        ``id`` names its column of ids, ``"number"`` that of decisions; the column of the label is
        the run's own, and so is that of the task.
        """
        own, source = self._ask("columns"), open_data(data, query)
        by, name = ("decision_id", id) if id == "number" else ("id", id or own["id"] or "id")
        refuse_unknown("id", name, source.columns)
        refuse_unknown("label", own["label"], source.columns)
        columns = {by: name, "label": own["label"], "task": own["task"]}
        rows = [
            {key: row[column] for key, column in columns.items() if column in row}
            for row in _rows(source)
            if not _is_missing(row[own["label"]])
        ]
        if not rows:
            return LabelsAdded(0, 0, ())
        said = self._ask("labels", {"labels": rows, "correct": correct})
        said |= {"learned": tuple(said["learned"]), "corrections": ()}
        return LabelsAdded(**said)

    @property
    def versions(self) -> list[VersionRow]:
        """All versions of the learner: when they were learned, which can decide, which does."""
        return [VersionRow(document=None, **row) for row in self._ask("versions")["versions"]]

    def promote(self, number: int | None = None) -> int:
        """Let a version decide from now on; None: always the newest one."""
        version = "newest" if number is None else number
        return self._ask(f"versions/{version}/promote", {})["deciding"]

    def roll_back(self) -> int:
        """Let the version decide that can and came before the one that does; return its number."""
        return self._ask("versions/roll_back", {})["deciding"]

    def forget(self, id: str, tasks: str | list[str] | None = None) -> int:
        """Take a person's id and features out of the ledger; return of how many decisions."""
        body = {"id": id} if tasks is None else {"id": id, "task": tasks}
        return self._ask("forget", body)["forgotten"]

    def _ask(self, path: str, body: Any = None, key: str | None = None) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        headers |= {"Authorization": f"Bearer {self._token}"} if self._token else {}
        headers |= {"Idempotency-Key": key} if key else {}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}/{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as reply:
                return json.loads(reply.read())
        except urllib.error.HTTPError as error:
            raise FFMLError(_said(error)) from None
        except (OSError, ValueError):
            raise FFMLError(f"no answer from {self.address}; is 'ffml serve' running?") from None


def _rows(source: Source) -> list[dict[str, Any]]:
    """Return a table's rows as JSON values; what is a time is written as any run reads it."""
    rows: list[dict[str, Any]] = []
    for batch in source.batches(list(source.columns)):
        columns = {name: _values(batch.column(name), name) for name in batch.schema.names}
        rows += [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]
    return rows


def _values(column: "pa.Array", name: str) -> list[Any]:
    values = column.to_pylist()
    if any(isinstance(value, timedelta) for value in values):
        raise FFMLError(f"column {name!r} holds durations; make numbers of them, such as days")
    if not all(isinstance(value, PLAIN) for value in values):
        return role_texts(column, name, "table").to_pylist()
    if any(isinstance(value, float) and math.isinf(value) for value in values):
        raise FFMLError(f"column {name!r} holds infinite values; make them missing")
    return [None if value != value else value for value in values]


def _is_missing(value: Any) -> bool:
    return value is None or not str(value).strip()


def _said(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["error"])
    except (ValueError, LookupError, TypeError, OSError):
        return f"the service answered with {error.code}"
