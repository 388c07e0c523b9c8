"""Alarms, once: a line in the log, and a request to who wants to know.

Every minute, if the ledger has changed, what it says of alarms is kept there. An alarm that nobody
was told of is claimed in the ledger by one worker, which logs it and tells the webhook, again and
again with longer and longer pauses, and writes once it was heard. A worker that dies in between
leaves its claim, which another one takes over after `CLAIM` seconds; only then could the webhook
hear of an alarm twice. It is told the alarm's own id, to tell that.
"""

import asyncio
import datetime
import hashlib
import json
import logging
import urllib.request
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from ffml.base import FFMLError
from ffml.metrics.alarm import alarm_sentence
from ffml.metrics.phrases import limit_words
from ffml.runs.keeping import keep_alarms

if TYPE_CHECKING:
    from ffml.service._served import Served

LOG = logging.getLogger("ffml.service")
LOOK = 60.0  # seconds between looks
CLAIM = 600.0  # seconds after which a claim of a worker that told nothing is void
PAUSES = (0.0, 1.0, 5.0, 30.0, 120.0)  # seconds before each try to tell
TOLD = "told"  # the document: alarm's id -> when it was claimed, and whether it was heard
SECONDS = 10.0  # that the webhook has to answer


class Alarms:
    """Watches the alarms of the runs that are served."""

    def __init__(self, served: Mapping[str, "Served"], webhook: str | None = None) -> None:
        if webhook is not None and not webhook.startswith(("http://", "https://")):
            raise FFMLError("the webhook is an address that begins with https:// or http://")
        self._served, self._webhook = served, webhook
        self._heads: dict[str, str] = {}

    async def watch(self) -> None:
        """Look every minute, until cancelled."""
        while True:
            for one in self._served.values():
                try:
                    await self.look(one)
                except FFMLError:  # such as a database that is away for a moment
                    LOG.warning(json.dumps({"run": one.name, "alarm": "could not be looked at"}))
            await asyncio.sleep(LOOK)

    async def look(self, one: "Served") -> None:
        """Tell of alarms of a run that nobody was told of."""
        for id, alarm in await run_in_threadpool(self._claimed, one):
            said = {"id": id, "run": one.name, "alarm": alarm, "words": _words(one, alarm)}
            LOG.warning(json.dumps(said))
            if await self._tell(said):
                await run_in_threadpool(_write, one, id, True)

    def _claimed(self, one: "Served") -> list[tuple[str, dict[str, Any]]]:
        store = one.run.store
        if self._heads.get(one.name) == store.head:
            return []
        keep_alarms(store)
        raised = {_id(alarm): alarm for alarm in store.document("alarms") or []}
        mine = [(id, alarm) for id, alarm in raised.items() if _write(one, id, False)]
        self._heads[one.name] = store.head
        return mine

    async def _tell(self, said: dict[str, Any]) -> bool:
        if self._webhook is None:
            return True
        for pause in PAUSES:
            await asyncio.sleep(pause)
            if await run_in_threadpool(_post, self._webhook, said):
                return True
        LOG.error(json.dumps({"run": said["run"], "alarm": said["id"], "webhook": "not reached"}))
        return False


def _write(one: "Served", id: str, heard: bool) -> bool:
    """Claim an alarm, or say that it was heard; False if it is somebody else's."""
    store, now = one.run.store, datetime.datetime.now(datetime.UTC)
    known = (store.document(TOLD) or {}).get(id)
    if known and not heard and not _void(known, now):
        return False
    with store.transaction("alarm", "who is told") as ledger:
        told = store.document(TOLD) or {}
        if not heard and id in told and not _void(told[id], now):
            return False
        entry = {"at": now.isoformat(timespec="seconds"), "heard": heard}
        ledger.put_document(TOLD, told | {id: entry})
    return True


def _void(entry: Mapping[str, Any], now: datetime.datetime) -> bool:
    since = (now - datetime.datetime.fromisoformat(entry["at"])).total_seconds()
    return not entry["heard"] and since > CLAIM


def _id(alarm: Mapping[str, Any]) -> str:
    named = [alarm[name] for name in ("notion", "column", "comparison", "round")]
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()[:16]


def _words(one: "Served", alarm: Mapping[str, Any]) -> str:
    notions = {notion["notion"]: notion for notion in one.run.answer["notions"]}
    return alarm_sentence(alarm, limit_words(notions[alarm["notion"]]))


def _post(address: str, said: dict[str, Any]) -> bool:
    headers = {"Content-Type": "application/json", "Idempotency-Key": said["id"]}
    request = urllib.request.Request(address, json.dumps(said).encode(), headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as reply:
            return 200 <= reply.status < 300
    except (OSError, ValueError):
        return False
