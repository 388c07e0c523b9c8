"""A service of our own under load: started, asked by many clients over loopback, and measured."""

import asyncio
import json
import math
import os
import re
import socket
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit


def request(path, body=None, key=None):
    """Return the bytes of a request on a connection that stays open."""
    data = b"" if body is None else json.dumps(body).encode()
    lines = [f"{'GET' if body is None else 'POST'} {path} HTTP/1.1", "host: localhost"]
    lines += [] if body is None else ["content-type: application/json"]
    lines += [f"content-length: {len(data)}", *([f"idempotency-key: {key}"] if key else [])]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + data


class Client:
    """One connection, opened again whenever it was lost."""

    def __init__(self, at):
        self._where = urlsplit(at)
        self._reader = self._writer = None

    async def ask(self, sent):
        """Return status and body of an answer."""
        if self._writer is None:
            place = self._where.hostname, self._where.port
            self._reader, self._writer = await asyncio.open_connection(*place, limit=2**24)
        try:
            self._writer.write(sent)
            head = await self._reader.readuntil(b"\r\n\r\n")
            size = int(re.search(rb"content-length: (\d+)", head).group(1))
            return int(head[9:12]), await self._reader.readexactly(size)
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            raise

    def close(self):
        """Close the connection."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


async def _load(at, requests, clients, on_reply):
    waiting, seconds = iter(requests), []

    async def one():
        client = Client(at)
        for sent in waiting:
            began = time.perf_counter()
            status, body = await client.ask(sent)
            seconds.append(time.perf_counter() - began)
            assert status == 200, body
            if on_reply:
                on_reply(body)
        client.close()

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(clients)))
    return seconds, time.perf_counter() - began


class Address(str):
    """Where a server is; it knows the server's process."""

    pid: int

    @property
    def cpu(self):
        """The seconds of processor that the server and its children have used; NaN elsewhere."""
        parents, used = {}, {}
        for place in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = place.read_text().rpartition(")")[2].split()
                parents[int(place.parent.name)] = int(fields[1])
                used[int(place.parent.name)] = sum(map(int, fields[11:13]))
        mine, more = {self.pid}, {self.pid}
        while more := {pid for pid, parent in parents.items() if parent in more} - mine:
            mine |= more
        known = [used[pid] for pid in mine if pid in used]
        return sum(known) / os.sysconf("SC_CLK_TCK") if known else math.nan


def load(at, requests, clients, on_reply=None):
    """Send requests by several clients; return seconds of each, of all, and of the processor."""
    before = at.cpu
    seconds, total = asyncio.run(_load(at, requests, clients, on_reply))
    return seconds, total, at.cpu - before


def shown(name, seconds, total, cpu, rows=1):
    """Print latencies, how much was done a second, and the server's processor time for each.

    Returns the median and the 99th percentile in milliseconds, and how much was done a second.
    """
    ms = sorted(1000 * one for one in seconds)
    middle, late = statistics.median(ms), ms[int(0.99 * (len(ms) - 1))]
    rate = rows * len(ms) / total
    each = 1e6 * cpu / (rows * len(ms))
    took = f"p50 {middle:7.2f} ms  p99 {late:8.2f} ms"
    print(f"{name:<46} {took}  {rate:9,.0f} /s  processor {each:8.1f} µs each", flush=True)
    return middle, late, rate


def free_port():
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(*words, port=None, python=sys.executable):
    """Start a server; return its process and its address once it answers."""
    port = port or free_port()
    command = [python, *words, "--port", str(port)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    paths = f"{Path(python).absolute().parent}:{os.environ['PATH']}"  # where MLflow finds uvicorn
    environment = os.environ | {"PATH": paths}
    process = subprocess.Popen(command, env=environment, start_new_session=True, **quiet)
    for _ in range(1200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            at = Address(f"http://127.0.0.1:{port}")
            at.pid = process.pid
            return process, at
        except OSError:
            assert process.poll() is None, f"ended with {process.returncode}: {command}"
            time.sleep(0.1)
    raise TimeoutError(command)


@contextmanager
def served(*words, python=sys.executable):
    """Serve for a while; yield the address."""
    process, at = start(*words, python=python)
    try:
        yield at
    finally:
        process.terminate()
        process.wait(60)
