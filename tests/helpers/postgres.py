"""A real PostgreSQL server, started and stopped here; tests are skipped where there is none."""

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

PASSWORD = "s3cr3t"


def server_programs():
    if found := shutil.which("initdb"):
        return Path(found).parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return versions[-1].parent if versions else None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def as_somebody(folder):
    """Give the folder to a user that the server accepts: it refuses to run as root."""
    if os.geteuid() != 0:
        return []
    if not shutil.which("runuser"):
        pytest.skip("PostgreSQL's server refuses root, and runuser is not there")
    shutil.chown(folder, "nobody")
    return ["runuser", "-u", "nobody", "--"]


@pytest.fixture(scope="session")
def server():
    """Yield the address of a server of our own that asks for a password."""
    programs = server_programs()
    if programs is None:
        pytest.skip("PostgreSQL's server is not installed (apt install postgresql)")
    pytest.importorskip("psycopg", reason="needs the driver of ffml[postgres]")
    with tempfile.TemporaryDirectory(prefix="ffml-postgres-") as folder:
        become, data, port = as_somebody(folder), f"{folder}/data", free_port()

        def run(program, *arguments):
            command = [*become, programs / program, "-D", data, *arguments]
            subprocess.run(command, check=True, capture_output=True, cwd=folder)

        secret = Path(folder, "password")
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        run("initdb", "-U", "ann", "-A", "scram-sha-256", f"--pwfile={secret}", "-N", "-E", "UTF8")
        settings = f"-p {port} -h 127.0.0.1 -k '' -c fsync=off"
        run("pg_ctl", "-o", settings, "-l", f"{folder}/log", "-w", "start")
        try:
            yield f"postgresql://ann:{PASSWORD}@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-m", "immediate", "-w", "stop")
