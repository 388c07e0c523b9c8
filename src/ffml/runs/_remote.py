"""A run behind a service: the same methods, over HTTP."""

import json
import os
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from ffml.audit.gate import Finding
from ffml.base import FFMLError
from ffml.runs._answer import Answer
from ffml.runs._labels import LabelsAdded
from ffml.runs._run import Run
from ffml.store import Store, VersionRow
from ffml.tables import open_data

if TYPE_CHECKING:
    import pandas as pd

TOKEN = "FFML_TOKEN"  # the environment's variable
SECONDS = 600.0  # that an answer may take
MOST_PEOPLE = 5000  # in one request


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
        self.address = f"{parts.scheme}://{parts.netloc}{root}/{quote(name)}"
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
        said = self._ask(f"check?{urlencode(limits)}")
        return [Finding(**one) for one in said["findings"]]

    def decide(self, people: Any, **asked: Any) -> "pd.DataFrame":
        """Decide about people, see `ffml.Run.decide`: by ``task``, ``support``, ``query``, ``key``.

        Many people are several requests; under a key each has its own.
        """
        import pandas as pd

        rows = _rows(people, asked.pop("query", None))
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
            body["support"] = _rows(body["support"], None)
        said: list[dict[str, Any]] = []
        for start in range(0, len(rows), MOST_PEOPLE):
            own = None if key is None else key if len(rows) <= MOST_PEOPLE else f"{key}/{start}"
            part = body | {"people": rows[start : start + MOST_PEOPLE]}
            said += self._ask(path, part, own)["decisions"]
        frame = pd.DataFrame(said).rename(columns={"decision": "word", "decision_id": "number"})
        return frame.assign(
            decision=frame["favourable"].astype(int),
            probability=frame["probability"].astype("float32"),
        ).drop(columns="favourable")

    def label(
        self, data: Any, *, query: str | None = None, id: str | None = None, correct: bool = False
    ) -> LabelsAdded:
        """Bring labels; see `ffml.Run.label`. The table has an id, a label, perhaps a task.

        ``id`` names its column of ids, ``"number"`` that of decisions; the column of the label is
        the run's own, and so is that of the task.
        """
        own = self._ask("columns")
        by, name = ("decision_id", id) if id == "number" else ("id", id or own["id"] or "id")
        columns = {by: name, "label": own["label"], "task": own["task"]}
        rows = [
            {key: row[column] for key, column in columns.items() if column in row}
            for row in _rows(data, query)
        ]
        said = self._ask("labels", {"labels": rows, "correct": correct})
        said |= {"learned": tuple(said["learned"]), "corrections": ()}
        return LabelsAdded(**said)

    @property
    def versions(self) -> list[VersionRow]:
        """All versions of the learner: when they were learned, which can decide, which does."""
        return [VersionRow(document=None, **row) for row in self._ask("versions")["versions"]]

    def promote(self, number: int | None = None) -> int:
        """Let a version decide from now on; None: always the newest one."""
        return self._ask(f"versions/{number or 'newest'}/promote", {})["deciding"]

    def roll_back(self) -> int:
        """Let the version decide that can and came before the one that does; return its number."""
        return self._ask("versions/roll_back", {})["deciding"]

    def forget(self, id: str, tasks: list[str] | None = None) -> int:
        """Take a person's id and features out of the ledger; return of how many decisions."""
        bodies = [{"id": id}] if tasks is None else [{"id": id, "task": task} for task in tasks]
        return sum(self._ask("forget", body)["forgotten"] for body in bodies)

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


def _rows(table: Any, query: str | None) -> list[dict[str, Any]]:
    """Return a table's rows as JSON values."""
    source = open_data(table, query)
    names = list(source.columns)
    return [row for batch in source.batches(names) for row in _plain(batch.to_pylist())]


def _plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    kinds = (str, int, float, bool, type(None))
    return [{name: _value(value, kinds) for name, value in row.items()} for row in rows]


def _value(value: Any, kinds: tuple[type, ...]) -> Any:
    if isinstance(value, float) and value != value:
        return None
    return value if isinstance(value, kinds) else str(value)


def _said(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["error"])
    except (ValueError, LookupError, TypeError, OSError):
        return f"the service answered with {error.code}"
