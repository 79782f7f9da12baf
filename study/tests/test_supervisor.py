"""One command serves a study: each part with its own login, started again when it ends."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import httpx
import psycopg
import pytest

from support.study.folder_study import study_folder
from theodolite_study.local_postgres import CLUSTER, open_cluster
from theodolite_study.supervisor import Part, read_state

MAIN = "from theodolite.cli import main; main()"
LONGEST = 90.0


def free_ports() -> int:
    """Return a port whose successor is free, too."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            try:
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port


def wait_until(holds: Callable[[], object], what: str, seconds: float = LONGEST) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, what
        time.sleep(0.1)


class Serving:
    """`study serve` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_ports()
        command = [sys.executable, "-c", MAIN, "study", "serve", str(folder), "--workers", "1"]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.said = [self.process.stdout.readline() for _ in range(4)]
        if not self.said[0]:
            raise AssertionError(self.process.communicate()[1])

    def answers(self, port: int, path: str = "/healthz") -> int:
        try:
            return httpx.get(f"http://127.0.0.1:{port}{path}", timeout=5).status_code
        except httpx.TransportError:
            return 0

    def find_parts(self) -> dict[str, int]:
        """Return the process of each part."""
        found = {}
        for children in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            for child in children.read_text().split():
                line = Path(f"/proc/{child}/cmdline").read_bytes().decode()
                part = re.search(r"run_part\('(\w+)'\)", line)
                if part:
                    found[part[1]] = int(child)
        return found

    def stop(self) -> str:
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=60)[1]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A study folder that PostgreSQL reaches, which may run as another user."""
    place = Path(mkdtemp(prefix="study-serve-"))
    place.chmod(0o755)
    yield study_folder(place / "s", instances=3, votes=2)
    shutil.rmtree(place)


def test_one_command_serves_everything(folder: Path) -> None:
    serving = Serving(folder)
    try:
        study, desk, stop, data = serving.said
        assert study == f"study:  http://127.0.0.1:{serving.port}/s/{study.split('/s/')[1]}"
        assert stop.startswith("stop:") and data.split()[1] == str(folder)
        wait_until(lambda: serving.answers(serving.port + 1) == 200, "the desk answers")
        assert httpx.get(study.split()[1]).status_code == 200
        enters(desk.split()[1])
        no_part_is_superuser(folder)
        second_one_is_refused(folder)
        parts_come_back(serving)
    finally:
        said = serving.stop()
    assert serving.process.returncode == 0 and "Traceback" not in said
    assert {part["state"] for part in read_state(folder).values()} == {"stopped"}
    assert not (folder / CLUSTER / "data" / "postmaster.pid").exists()


def enters(link: str) -> None:
    """The link signs in, once."""
    entered = httpx.get(link)
    assert entered.status_code == 303 and entered.headers["location"] == "/"
    cookies = "; ".join(c.split(";")[0] for c in entered.headers.get_list("set-cookie"))
    origin = link.split("/enter/")[0]
    page = httpx.get(f"{origin}/", headers={"cookie": cookies})
    assert page.status_code == 200 and "/studies/" in page.text
    assert httpx.get(link).status_code == 404


def no_part_is_superuser(folder: Path) -> None:
    with psycopg.connect(open_cluster(folder / CLUSTER).url) as connection:
        sessions = connection.execute(
            "select usename, usesuper from pg_stat_activity join pg_user using (usename)"
            " where pid <> pg_backend_pid() and backend_type = 'client backend'"
        ).fetchall()
    logins = {name for name, _ in sessions}
    assert {"theodolite_server", "theodolite_desk_server", "theodolite_jobs_server"} >= logins
    assert logins and not any(is_super for _, is_super in sessions)


def second_one_is_refused(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "study", "serve", str(folder)], capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and "is served already: process" in done.stderr


def parts_come_back(serving: Serving) -> None:
    before = serving.find_parts()
    assert before.keys() == {"pages", "desk", "jobs"}
    for pid in before.values():
        os.kill(pid, signal.SIGKILL)
    pid_file = serving.folder / CLUSTER / "data" / "postmaster.pid"
    os.kill(int(pid_file.read_text().split()[0]), signal.SIGKILL)
    begun = time.monotonic()
    wait_until(lambda: serving.find_parts().keys() == before.keys(), "all parts run again")
    for port, path in ((serving.port, "/readyz"), (serving.port + 1, "/sign-in")):
        wait_until(lambda p=port, a=path: serving.answers(p, a) == 200, path)
    assert time.monotonic() - begun < LONGEST
    state = read_state(serving.folder)
    assert all(state[name]["restarts"] >= 1 for name in before)
    running = {"running"}
    wait_until(lambda: {p["state"] for p in read_state(serving.folder).values()} == running, "run")


def test_a_part_that_always_ends_is_failing(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("theodolite_study.supervisor.CHILD", "import sys; sys.exit('no disk') #{}")
    monkeypatch.setattr("theodolite_study.supervisor.FIRST_PAUSE", 0.0)
    part = Part("jobs", {}, tmp_path / "log", _pause=0.0)
    part.start()
    wait_until(lambda: part.watch() or part.state == "failing", "failing")
    assert part.restarts >= 5 and part.cause == "no disk"


def test_state_of_what_never_ran(tmp_path: Path) -> None:
    assert read_state(tmp_path) == {}
    (tmp_path / "serve.json").write_text(json.dumps({"jobs": {"state": "running", "cause": ""}}))
    assert read_state(tmp_path)["jobs"]["state"] == "stopped"
