"""Changes to the disk that a kill, a power cut or a full disk must not turn into half a file.

Every such change is one call of `write`, `sync`, `sync_folder`, `rename` or `unlink`,
each one operation of the operating system: a test can stop the process between any two of them.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ffml.base import FFMLError

LOCK = ".lock"
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)  # a link in the place of a file is an error


def write(path: Path, data: bytes) -> None:
    """Write a file, replacing what was there; not whole before `sync`."""
    with open(path, "wb", opener=_open) as file:
        file.write(data)


def sync(path: Path) -> None:
    """Wait until a file's bytes are on the disk."""
    descriptor = _open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Wait until a folder's names are on the disk."""
    if os.name == "nt":  # which has no such call, and needs none
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def rename(old: Path, new: Path) -> None:
    """Give a file its name, in place of the one that had it."""
    os.replace(old, new)


def unlink(path: Path) -> None:
    """Remove a file; it may be gone already."""
    path.unlink(missing_ok=True)


def refuse_link(path: Path) -> None:
    """Refuse a link in the place of a file: neither it nor what it points to is ours."""
    if path.is_symlink():
        raise FFMLError(f"{path} is a link, which ffml does not write to; remove it, then go on")


def temporary(path: Path) -> Path:
    """Name the file that becomes ``path`` once it is whole."""
    return path.with_name(f".{path.name}.tmp")


def place(path: Path, data: bytes) -> None:
    """Write a file so that its name only ever stands for whole bytes.

    The name itself is on the disk after `sync_folder`. A link is not replaced.
    """
    for name in (path, temporary(path)):
        refuse_link(name)
    try:
        write(temporary(path), data)
        sync(temporary(path))
        rename(temporary(path), path)
    except OSError:
        with suppress(OSError):
            unlink(temporary(path))
        raise


def write_atomically(path: Path, data: bytes | str) -> None:
    """Write a file so that it is either the old one or the new one, now and after a power cut."""
    place(path, data.encode() if isinstance(data, str) else data)
    sync_folder(path.parent)


@contextmanager
def turn(folder: Path) -> Iterator[None]:
    """Wait until nobody else, in this process or another, has a turn in this folder."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def lock(folder: Path) -> int | None:
    """Keep other processes from locking a folder for as long as the descriptor is open.

    The operating system gives the lock back when the process ends, however it ends.
    """
    try:
        import fcntl
    except ImportError:  # not a POSIX system
        return None
    refuse_link(folder / LOCK)
    descriptor = _open(folder / LOCK, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        os.close(descriptor)
        raise FFMLError(
            f"another process is writing to {folder}; wait for it or stop it first"
        ) from None
    return descriptor


def _open(path: str | Path, flags: int) -> int:
    return os.open(path, flags | _NO_LINKS, 0o600)
