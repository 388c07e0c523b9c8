"""Decisions for concurrent requests: who waits is decided about together, in one transaction.

A person gets the same decision alone and among others, so requests can share a commit. Where one of
them is refused, each is tried alone: the others get their decisions.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from ffml.base import FFMLError
from ffml.runs import Run

if TYPE_CHECKING:
    import pandas as pd

MOST_TOGETHER = 256  # requests


class _Request(NamedTuple):
    people: pa.Table
    task: str | None
    named: bool  # everybody has an id; who has none is named by content, and decided about alone
    reply: "asyncio.Future[list[dict[str, Any]]]"


class Decider:
    """Decides for one run, in a thread of its own."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._waiting: list[_Request] = []
        self._thread = ThreadPoolExecutor(1, "ffml-decide")
        self._busy = False
        self._task: asyncio.Task[None] | None = None

    async def decide(self, people: pa.Table, task: str | None, named: bool) -> list[dict[str, Any]]:
        """Decide about people; return a row each, once the ledger has it."""
        loop = asyncio.get_running_loop()
        request = _Request(people, task, named, loop.create_future())
        self._waiting.append(request)
        if not self._busy:
            self._busy = True
            self._task = loop.create_task(self._work())
        return await asyncio.shield(request.reply)  # who goes away does not stop the others

    def close(self) -> None:
        """Finish what has begun."""
        self._thread.shutdown()

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                some = self._next()
                done = await loop.run_in_executor(self._thread, self._answers, some)
                for request, answer in zip(some, done, strict=True):
                    if request.reply.cancelled():
                        continue
                    if isinstance(answer, BaseException):
                        request.reply.set_exception(answer)
                    else:
                        request.reply.set_result(answer)
        finally:
            self._busy = False

    def _next(self) -> list[_Request]:
        """Take those at the head of the queue that can be one table."""
        first = self._waiting[0]
        alike = (first.task, first.people.schema, True)
        some = [first]
        for request in self._waiting[1:MOST_TOGETHER]:
            if not first.named or (request.task, request.people.schema, request.named) != alike:
                break
            some.append(request)
        del self._waiting[: len(some)]
        return some

    def _answers(self, some: list[_Request]) -> list[Any]:
        if len(some) > 1:
            try:
                rows = self._decide(pa.concat_tables([one.people for one in some]), some[0].task)
            except FFMLError:
                return [self._alone(one) for one in some]
            places = iter(rows)
            return [[next(places) for _ in range(len(one.people))] for one in some]
        return [self._alone(some[0])]

    def _alone(self, request: _Request) -> Any:
        try:
            return self._decide(request.people, request.task)
        except Exception as error:  # goes to who asked
            return error

    def _decide(self, people: pa.Table, task: str | None) -> list[dict[str, Any]]:
        return rows_of(self._run.decide(people, task=task))


def rows_of(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return decisions as plain values."""
    return frame.astype({"probability": float}).to_dict("records")  # type: ignore[return-value]
