"""Real processes: one is killed, and people notice nothing but a moment."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from support.study.small_study import opened, study_folder
from support.study.study_player import local_client, play
from theodolite.errors import EvidenceError, RefusedInput
from theodolite_study.database import Database
from theodolite_study.invariants import violations
from theodolite_study.web.serving import need_ready, serve
from theodolite_study.web.settings import Settings, settings_from

PROGRAM = """
import json, sys
from pathlib import Path
from theodolite_study.web.serving import serve
from theodolite_study.web.settings import Settings
if __name__ == "__main__":
    url, folder, port = json.loads(sys.argv[1])
    serve(Settings(url, Path(folder), f"http://127.0.0.1:{port}"), port=port, workers=2)
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def children(pid: int) -> set[int]:
    """Processes that serve: not the one that tracks shared memory."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return {
        int(one) for one in listed if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()
    }


def answered(client: httpx.Client, path: str, seconds: float) -> httpx.Response:
    """The first answer, however often one has to ask."""
    until = time.monotonic() + seconds
    while True:
        try:
            return client.get(path)
        except httpx.TransportError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def started(database: Database, tmp_path: Path) -> tuple[subprocess.Popen[bytes], int]:
    """A server in a process of its own, and its port."""
    folder, port = study_folder(tmp_path / "s", instances=2, votes=1), free_port()
    opened(database, folder)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    given = json.dumps([database.url, str(folder), port])
    command = [sys.executable, str(program), given]
    return subprocess.Popen(command, stderr=subprocess.PIPE), port


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
def test_no_process_outlives_a_killed_server(database: Database, tmp_path: Path) -> None:
    server, port = started(database, tmp_path)
    with local_client(f"http://127.0.0.1:{port}") as client:
        answered(client, "/healthz", 60)
    workers = children(server.pid)
    server.kill()
    server.wait()
    assert server.stderr is not None
    server.stderr.close()
    until = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
def test_a_killed_process_is_replaced(database: Database, tmp_path: Path) -> None:
    server, port = started(database, tmp_path)
    client = local_client(f"http://127.0.0.1:{port}")
    try:
        assert answered(client, "/healthz", 60).headers.get("server") is None
        before = children(server.pid)
        os.kill(min(before), signal.SIGKILL)
        began = time.monotonic()
        assert answered(client, "/readyz", 5).status_code == 200
        assert time.monotonic() - began < 5
        player = play(client, origin=f"http://127.0.0.1:{port}")
        assert player.path == "/finish" and len(player.receipts) == 2
        until = time.monotonic() + 30
        while len(now := children(server.pid)) < 2 or min(before) in now:
            assert time.monotonic() < until
            time.sleep(0.1)
    finally:
        client.close()
        server.send_signal(signal.SIGTERM)
        _, said = server.communicate(timeout=30)
    assert server.returncode == 0 and b"Traceback" not in said
    assert violations(database) == []


def test_it_does_not_start_without_what_it_needs(database: Database, tmp_path: Path) -> None:
    folder = study_folder(tmp_path / "s", instances=1)
    settings = Settings(database.url, folder, "http://127.0.0.1:8000")
    with pytest.raises(EvidenceError, match="does not have"):
        need_ready(settings)
    opened(database, folder)
    need_ready(settings)
    for host in ("0.0.0.0", "::", "example.org"):  # noqa: S104
        with pytest.raises(EvidenceError, match="this machine"):
            serve(settings, host=host)
    keys = folder / "keys.json"
    kept = keys.read_bytes()
    keys.chmod(0o644)
    with pytest.raises(RefusedInput, match="600"):
        need_ready(settings)
    keys.chmod(0o600)
    keys.write_bytes(kept.replace(b'"pepper": "', b'"pepper": "AAAA'))
    with pytest.raises(RefusedInput):
        need_ready(settings)
    keys.unlink()
    with pytest.raises(RefusedInput):
        need_ready(settings)
    keys.write_bytes(kept)
    keys.chmod(0o600)
    with database.owning() as connection:
        connection.execute(text("update alembic_version set version_num = 'older'"))
    with pytest.raises(EvidenceError, match="version older"):
        need_ready(settings)
    nowhere = Settings("postgresql://u@127.0.0.1:1/x", folder, "http://127.0.0.1:8000")
    with pytest.raises(EvidenceError, match="no connection"):
        need_ready(nowhere)


def test_settings_reach_the_processes() -> None:
    given: Any = Settings("postgresql://u:p@h/d", Path("/s"), "https://a.test", webhook_secret="x")  # noqa: S106
    assert settings_from(given.environment()) == given
    assert "p@h" not in repr(given) and "webhook" not in repr(given)
    with pytest.raises(EvidenceError):
        settings_from({})
