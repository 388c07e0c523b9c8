"""Decisions for concurrent requests: who waits is decided about together, in one transaction.

A person gets the same decision alone and among others, so requests can share a commit. Where one of
them is refused, each is tried alone: the others get their decisions. A version that was promoted is
made ready in a thread of its own; requests go on by the one before until then.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from ffml.base import FFMLError
from ffml.runs import Run

if TYPE_CHECKING:
    import pandas as pd

MOST_TOGETHER = 256  # requests
MOST_WAITING = 4096  # requests; more are refused
LOOK = 0.25  # seconds between looks at which version decides


Decisions = dict[str, list[Any]]  # what `ffml.Run.decide` returns: a list a column


class Crowded(FFMLError):
    """More wait than can be served soon."""


class _Request(NamedTuple):
    people: pa.Table
    task: str | None
    named: bool  # everybody has an id; who has none is named by content, and decided about alone
    key: str | None
    reply: "asyncio.Future[Decisions]"


class Decider:
    """Decides for one run, in a thread of its own."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._scorer = run.scorer()
        self._waiting: list[_Request] = []
        self._thread = ThreadPoolExecutor(1, "ffml-decide")
        self._other = ThreadPoolExecutor(1, "ffml-version")
        self._looked = 0.0
        self._busy = self._closed = False
        self._tasks: set[asyncio.Future[Any]] = set()

    @property
    def version(self) -> int:
        """The version that decides here."""
        return self._scorer.model.version

    async def decide(
        self, people: pa.Table, task: str | None, named: bool, key: str | None = None
    ) -> Decisions:
        """Decide about people; return what `ffml.Run.decide` does, once the ledger has it."""
        loop = asyncio.get_running_loop()
        if self._closed or len(self._waiting) >= MOST_WAITING:
            raise Crowded("too many requests wait, or the service is ending; try again in a second")
        self._look(loop)
        request = _Request(people, task, named, key, loop.create_future())
        request.reply.add_done_callback(lambda one: one.cancelled() or one.exception())  # is heard
        self._waiting.append(request)
        if not self._busy:
            self._busy = True
            self._keep(loop.create_task(self._work()))
        return await asyncio.shield(request.reply)  # who goes away does not stop the others

    async def refresh(self) -> int:
        """Decide by the version that was promoted last from now on; return its number."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._other, self._take)

    def close(self) -> None:
        """Finish what has begun."""
        self._closed = True
        self._thread.shutdown()
        self._other.shutdown()

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        if loop.time() - self._looked > LOOK:
            self._looked = loop.time()
            self._keep(loop.run_in_executor(self._other, self._take))

    def _keep(self, task: "asyncio.Future[Any]") -> None:
        """Keep a task from being collected before it is done, and read its error.

        If a version could not be read because the database is away, the next look tries again.
        """
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda one: one.cancelled() or one.exception())

    def _take(self) -> int:
        scorer = self._run.scorer()
        if scorer is not self._scorer:
            _ = scorer.cut  # decides about somebody once: what is compiled is compiled here
            self._scorer = scorer
        return scorer.model.version

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                some = self._next()
                done: list[Any] = [Crowded("the service is ending; ask again")] * len(some)
                if not self._closed:
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
        alike, some, keys = (first.task, first.people.schema, True), [first], {first.key}
        for request in self._waiting[1:MOST_TOGETHER]:
            if not first.named or (request.task, request.people.schema, request.named) != alike:
                break
            if request.key is not None and request.key in keys:
                break  # it comes again: the first is to be in the ledger by then
            keys.add(request.key)
            some.append(request)
        del self._waiting[: len(some)]
        return some

    def _answers(self, some: list[_Request]) -> list[Any]:
        try:
            return self._decide(some)
        except Exception as error:  # goes to who asked
            if len(some) == 1:
                return [error]
        return [answer for one in some for answer in self._answers([one])]

    def _decide(self, some: list[_Request]) -> list[Decisions]:
        people = pa.concat_tables([one.people for one in some]) if some[1:] else some[0].people
        requests = [(len(one.people), one.key) for one in some]
        said = self._run.decide_together(people, requests, task=some[0].task, scorer=self._scorer)
        ends = list(accumulate(number for number, _ in requests))
        return [
            {name: column[start:end].tolist() for name, column in said.items()}
            for start, end in zip([0, *ends], ends, strict=False)
        ]


def lists_of(frame: "pd.DataFrame") -> Decisions:
    """Return decisions as plain values."""
    return {str(name): frame[name].to_numpy().tolist() for name in frame}
