"""The downloader against a real HTTP server that can misbehave."""

import hashlib
import io
import socket
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ffml.base import FFMLError
from ffml.datasets._bank import FILE
from ffml.datasets._download import RemoteFile, data_directory, fetch

CONTENT = b"age;y\r\n" + bytes(range(256)) * 400


def zipped(member: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(member, content)
    return buffer.getvalue()


ARCHIVE = zipped("inner.zip", zipped("folder/table.csv", CONTENT))


class Server(ThreadingHTTPServer):
    """Serves `body` at /a.zip; `ranges` records what each request asked for."""

    body = ARCHIVE
    honour_range = True
    stop_after: int | None = None  # bytes of the body after which the connection drops

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.ranges: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/a.zip"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.server.ranges.append(wanted)
        if self.path != "/a.zip":
            self.send_error(404)
            return
        body, start = self.server.body, 0
        if wanted and self.server.honour_range:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                self.send_error(416)
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        self.wfile.write(body[start:][: self.server.stop_after])

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def remote(url: str, content: bytes = CONTENT) -> RemoteFile:
    sha256 = hashlib.sha256(content).hexdigest()
    return RemoteFile("table.csv", sha256, url, ("inner.zip", "folder/table.csv"))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_unpacked_checked_and_kept(server: Server, tmp_path: Path) -> None:
    home = tmp_path / "not" / "yet"
    path = fetch(remote(server.url), home)
    assert path == home / "table.csv" and path.read_bytes() == CONTENT
    assert names(home) == ["table.csv"]
    assert fetch(remote(server.url), home) == path
    assert server.ranges == [None]  # the second time nothing is asked


def test_a_file_put_there_by_hand_needs_no_network(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_bytes(CONTENT)
    assert fetch(remote("http://127.0.0.1:9/a.zip"), tmp_path).read_bytes() == CONTENT


def test_a_damaged_file_is_named_with_the_remedy(server: Server, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_bytes(CONTENT[:-1])
    with pytest.raises(FFMLError, match=r"table\.csv is damaged .*: delete it and run again"):
        fetch(remote(server.url), tmp_path)
    assert server.ranges == []


def test_a_wrong_checksum_leaves_nothing_behind(server: Server, tmp_path: Path) -> None:
    with pytest.raises(FFMLError, match="does not hold the file that was published"):
        fetch(remote(server.url, b"something else"), tmp_path)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "body",
    [b"<html>please log in</html>", zipped("other.zip", b""), zipped("inner.zip", b"no zip"), b""],
)
def test_what_is_no_such_archive_is_refused(server: Server, tmp_path: Path, body: bytes) -> None:
    server.body = body
    with pytest.raises(FFMLError, match="does not hold the file that was published"):
        fetch(remote(server.url), tmp_path)
    assert names(tmp_path) == []


def test_an_interrupted_download_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.stop_after = 1000
    with pytest.raises(FFMLError, match=f"closed after 1000 of {len(ARCHIVE)} bytes"):
        fetch(remote(server.url), tmp_path)
    assert names(tmp_path) == ["table.csv.zip.part"]
    with pytest.raises(FFMLError, match=f"closed after 2000 of {len(ARCHIVE)} bytes"):
        fetch(remote(server.url), tmp_path)
    server.stop_after = None
    assert fetch(remote(server.url), tmp_path).read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=1000-", "bytes=2000-"]
    assert names(tmp_path) == ["table.csv"]


def test_a_server_that_ignores_ranges_makes_it_start_over(server: Server, tmp_path: Path) -> None:
    server.honour_range = False
    server.stop_after = 500
    (tmp_path / "table.csv.zip.part").write_bytes(ARCHIVE[:1000])
    with pytest.raises(FFMLError, match=f"closed after 500 of {len(ARCHIVE)} bytes"):
        fetch(remote(server.url), tmp_path)
    server.stop_after = None
    assert fetch(remote(server.url), tmp_path).read_bytes() == CONTENT
    assert server.ranges == ["bytes=1000-", "bytes=500-"]


def test_the_beginning_of_another_archive_is_thrown_away(server: Server, tmp_path: Path) -> None:
    (tmp_path / "table.csv.zip.part").write_bytes(b"x" * 1000)
    assert fetch(remote(server.url), tmp_path).read_bytes() == CONTENT
    assert server.ranges == ["bytes=1000-", None]


@pytest.mark.parametrize("extra", [b"", b"and more"])
def test_a_part_with_nothing_left_to_ask_for(server: Server, tmp_path: Path, extra: bytes) -> None:
    part = tmp_path / "table.csv.zip.part"
    part.write_bytes(ARCHIVE + extra)
    assert fetch(remote(server.url), tmp_path).read_bytes() == CONTENT
    assert server.ranges == [f"bytes={len(ARCHIVE + extra)}-", None]


def test_a_missing_page(server: Server, tmp_path: Path) -> None:
    with pytest.raises(FFMLError, match="HTTP 404 Not Found"):
        fetch(remote(server.url.replace("a.zip", "b.zip")), tmp_path)


def test_without_a_network_the_message_says_which_file_goes_where(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/a.zip"
        with pytest.raises(FFMLError) as caught:
            fetch(remote(url), tmp_path)
    message = str(caught.value)
    assert "Connection refused" in message and "\n" not in message
    sha256 = remote(url).sha256
    assert (
        f"put table.csv (SHA-256 {sha256[:8]}…) into {tmp_path}, or set FFML_DATA_HOME" in message
    )


def test_a_folder_that_cannot_be_made(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FFMLError, match="could not download"):
        fetch(remote(server.url), tmp_path / "file" / "folder")


def test_where_data_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FFML_DATA_HOME", str(tmp_path / "named"))
    assert data_directory(tmp_path / "given") == tmp_path / "given"
    assert data_directory() == tmp_path / "named"
    monkeypatch.delenv("FFML_DATA_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_directory().name == "ffml"


def test_bank_comes_from_its_publisher() -> None:
    assert FILE.url.startswith("https://archive.ics.uci.edu/static/public/222/")
    assert FILE.members[-1].endswith(FILE.name) and len(FILE.sha256) == 64
