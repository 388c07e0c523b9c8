"""A disk that fails on purpose: every operation of `ffml.store.durable` may be the last.

Modes:
    kill   the process ends before the operation;
    torn   it ends within it: half of what was to be written is there;
    power  the machine ends before it: of what was not synced, half is there or nothing, and of
           the names that were not synced, only the first few have changed;
    full   nothing more can be written, and the process lives to tell.
"""

import errno
import random

from ffml.store import durable

OPERATIONS = ("write", "sync", "sync_folder", "rename", "unlink")


class Killed(BaseException):
    """Not an `Exception`: nothing may catch it on the way."""


class Disk:
    def __init__(self, monkeypatch, mode=None, at=None, seed=0):
        self.mode, self.at, self.count, self.dead = mode, at, 0, False
        self.log = []  # names of operations
        self.unsynced = {}  # path -> length that is surely on the disk
        self.undo = []  # (folder, function that takes back a change of names)
        self.random = random.Random(seed)
        for name in OPERATIONS:
            original = getattr(durable, name)
            monkeypatch.setattr(durable, name, self._watched(name, original))

    def _watched(self, name, original):
        def operation(*arguments):
            if self.dead:
                raise Killed
            self.count += 1
            self.log.append(name)
            if self.count == self.at or (self.mode == "full" and self.at and self.count > self.at):
                self._fail(name, original, arguments)
            self._remember(name, arguments)
            return original(*arguments)

        return operation

    def _fail(self, name, original, arguments):
        written = name == "write"
        if self.mode == "full":
            if not written:
                return
            path, data = arguments
            original(path, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        self.dead = True
        if self.mode == "torn" and written:
            path, data = arguments
            original(path, data[: self.random.randrange(len(data))])
        if self.mode == "power":
            self._lose_power()
        raise Killed

    def _remember(self, name, arguments):
        path = arguments[0]
        if name == "write":
            self.unsynced[path] = 0
        elif name == "sync":
            self.unsynced.pop(path, None)
        elif name == "sync_folder":
            self.undo = [(folder, back) for folder, back in self.undo if folder != path]
        elif name == "rename":
            self._remember_names(*arguments)
        elif name == "unlink" and path.exists():
            self._remember_names(path)

    def _remember_names(self, *paths):
        contents = {path: path.read_bytes() if path.exists() else None for path in paths}

        def back():
            for path, data in contents.items():
                path.unlink(missing_ok=True)
                if data is not None:
                    path.write_bytes(data)

        self.undo.append((paths[0].parent, back))
        if len(paths) == 2 and paths[0] in self.unsynced:
            self.unsynced[paths[1]] = self.unsynced.pop(paths[0])

    def _lose_power(self):
        for path, sure in self.unsynced.items():
            if path.exists():
                data = path.read_bytes()
                path.write_bytes(data[: self.random.randint(sure, len(data))])
        for _, back in reversed(self.undo[self.random.randint(0, len(self.undo)) :]):
            back()
