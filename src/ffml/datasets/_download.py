"""Fetch a published file once, check it, keep it.

The checksum of the file itself is the arbiter: how it was packed, whether the download was
resumed and who put it into the folder does not matter.
"""

import hashlib
import http.client
import io
import os
import urllib.error
import urllib.request
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from ffml.base import FFMLError
from ffml.store import durable

TIMEOUT_SECONDS = 30.0
CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class RemoteFile:
    """A file inside an archive on the web; ``members`` leads to it through nested zip files."""

    name: str
    sha256: str
    url: str
    members: tuple[str, ...]


def data_directory(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return where data are kept: ``data_home``, else ``FFML_DATA_HOME``, else the user's cache.

    >>> data_directory("data").as_posix()
    'data'
    """
    if data_home is not None:
        return Path(data_home).expanduser()
    if named := os.environ.get("FFML_DATA_HOME"):
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("ffml"))


def fetch(remote: RemoteFile, data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the path of the file, downloading it if it is not in the data folder yet.

    An interrupted download leaves a ``.part`` file behind, from which the next call goes on.
    """
    folder = data_directory(data_home)
    path = folder / remote.name
    if path.exists():
        if _sha256(path.read_bytes()) != remote.sha256:
            raise FFMLError(f"{path} is damaged (wrong SHA-256): delete it and run again")
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{remote.name}.zip.part"
        resumed = _download(remote.url, part)
        content = _unpack(part, remote)
        if content is None and resumed:  # the publisher's archive changed in between
            part.unlink()
            _download(remote.url, part)
            content = _unpack(part, remote)
        part.unlink()
        if content is not None:
            durable.place(path, content)
            return path
        reason = "what arrived does not hold the file that was published"
    except (OSError, http.client.HTTPException) as error:
        reason = str(getattr(error, "reason", error)) or type(error).__name__
    raise FFMLError(
        f"could not download {remote.url} ({reason}): run again to retry, or put {remote.name} "
        f"(SHA-256 {remote.sha256[:8]}…) into {folder}, or set FFML_DATA_HOME to a folder with it"
    )


def _download(url: str, part: Path) -> bool:
    """Bring ``part`` to the whole of what is at ``url``; say whether it was resumed."""
    offset = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "ffml"})
    if offset:
        request.add_header("Range", f"bytes={offset}-")
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        with error:
            if not (offset and error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE):
                raise ConnectionError(f"HTTP {error.code} {error.reason}") from error
        part.unlink()  # there is nothing after it: not the beginning of what is there now
        return _download(url, part)
    with response:
        resumed = offset > 0 and response.status == http.HTTPStatus.PARTIAL_CONTENT
        _save(response, part, offset if resumed else 0)
    return resumed


def _save(response: http.client.HTTPResponse, part: Path, offset: int) -> None:
    """Write the body into ``part`` from ``offset`` on, with a progress bar."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    length = response.headers.get("Content-Length")
    total = offset + int(length) if length else None
    console = Console(stderr=True)
    columns = (TextColumn("downloading"), BarColumn(), DownloadColumn())
    with (
        Progress(*columns, console=console, disable=not console.is_terminal) as progress,
        part.open("ab" if offset else "wb") as file,
    ):
        bar = progress.add_task("", total=total, completed=offset)
        while chunk := response.read1(CHUNK_BYTES):
            file.write(chunk)
            progress.update(bar, advance=len(chunk))
        received = file.tell()
    if total is not None and received < total:
        raise ConnectionError(f"the connection closed after {received} of {total} bytes")


def _unpack(part: Path, remote: RemoteFile) -> bytes | None:
    """Return the published file out of the archive; None if it is not there."""
    content = part.read_bytes()
    try:
        for member in remote.members:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                content = archive.read(member)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, RuntimeError):
        return None
    return content if _sha256(content) == remote.sha256 else None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
