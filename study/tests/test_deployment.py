"""What docs/deployment.md and deploy/ say, done on a real PostgreSQL, without containers."""

import http.client
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
import yaml

from theodolite_study.keys import Keys
from theodolite_study.local_postgres import LocalPostgres
from theodolite_study.operate.postgres_programs import run_postgres_program

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "study" / "deploy"
PASSWORDS = {name: secrets.token_hex(32) for name in ("owner", "server", "desk", "jobs")}
NAME = "deployed"


def with_logins(cluster: LocalPostgres, name: str, passwords: dict[str, str]) -> None:
    """study/deploy/roles.sql, as the guide has it."""
    for role, password in passwords.items():
        os.environ[f"{role.upper()}_PASSWORD"] = password
    try:
        run_postgres_program("psql", cluster.database("postgres"), "--quiet", "--no-psqlrc",
                         "-v", f"database={name}", f"--file={DEPLOY / 'roles.sql'}")  # fmt: skip
    finally:
        for role in passwords:
            del os.environ[f"{role.upper()}_PASSWORD"]


@pytest.fixture(scope="module")
def prepared(cluster: LocalPostgres, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A folder and secrets as in the container, and tables that start.py made as the owner."""
    for _ in range(2):  # a second time must do no harm
        with_logins(cluster, NAME, PASSWORDS)
    place = tmp_path_factory.mktemp("deployed")
    (place / "study").mkdir()
    Keys.create(place / "study" / "keys.json")
    (place / "secrets").mkdir()
    for name, password in PASSWORDS.items():
        (place / "secrets" / f"{name}_password").write_text(password + "\n")
    environment = {
        "PATH": os.environ["PATH"], "SECRETS": str(place / "secrets"),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""), "STUDY": str(place / "study"),
        "ORIGIN": "http://study.example.org", "DATABASE": NAME,
        "DATABASE_HOST": f"127.0.0.1:{cluster.port}",
    }  # fmt: skip
    done = started(environment, "prepare")
    assert done.returncode == 0, done.stderr
    return environment


def started(environment: dict[str, str], *what: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(DEPLOY / "start.py"), *what],
                          capture_output=True, text=True, check=False, env=environment, timeout=60)  # fmt: skip


LOGINS = {
    "server": "theodolite_server",
    "desk": "theodolite_desk_server",
    "jobs": "theodolite_jobs_server",
}
FORBIDDEN = {
    "server": ["table vote", "table participant", "table staff", "table operation"],
    "desk": [
        "update vote set counted = false",
        "delete from consent",
        "update answer set answers = '{}'",
    ],
    "jobs": ["select sealed_id from participant", "table staff", "update vote set counted = false"],
}


@pytest.mark.parametrize("role", LOGINS)
def test_each_login_does_its_own_work_and_no_more(
    prepared: dict[str, str], cluster: LocalPostgres, role: str
) -> None:
    at = f"127.0.0.1:{cluster.port}/{NAME}"
    url = f"postgresql://{LOGINS[role]}:{quote(PASSWORDS[role])}@{at}"
    with psycopg.connect(url, autocommit=True) as connection:
        assert connection.execute("select op_revision()").fetchone() is not None
        for command in [*FORBIDDEN[role], "drop table vote", "create table mine (id int)",
                        "set role theodolite_steps", "truncate baseline"]:  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(command)


def test_start_serves_and_says_that_it_is_well(prepared: dict[str, str], tmp_path: Path) -> None:
    ports = []
    for _ in range(2):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            ports.append(probe.getsockname()[1])
    told = prepared | {"PORT": str(ports[0]), "METRICS_PORT": str(ports[1])}
    run, log = [sys.executable, str(DEPLOY / "start.py")], tmp_path / "log"
    with (
        log.open("wb") as stream,
        subprocess.Popen([*run, "serve"], env=told, stderr=stream) as server,
    ):
        try:
            until = time.monotonic() + 60
            while started(told, "health").returncode:
                assert server.poll() is None and time.monotonic() < until, log.read_text()
                time.sleep(0.2)
            found = {}
            for host in ("study.example.org", "evil.example.org"):
                connection = http.client.HTTPConnection("127.0.0.1", ports[0], timeout=10)
                connection.request("GET", "/s/nothing", headers={"Host": host})
                found[host] = connection.getresponse().status
                connection.close()
            assert found == {"study.example.org": 404, "evil.example.org": 400}
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(30)


@pytest.mark.parametrize(
    ("content", "said"), [(None, "no file"), ("short", "a weak one"), ("a" * 40, "a weak one")]
)
def test_nothing_starts_without_strong_secrets(
    prepared: dict[str, str], tmp_path: Path, content: str | None, said: str
) -> None:
    shutil.copytree(prepared["SECRETS"], tmp_path / "secrets")
    (tmp_path / "secrets" / "owner_password").unlink()
    if content is not None:
        (tmp_path / "secrets" / "owner_password").write_text(content)
    done = started(prepared | {"SECRETS": str(tmp_path / "secrets")}, "prepare")
    assert done.returncode == 1 and f"secret 'owner_password': {said}" in done.stderr
    assert PASSWORDS["owner"] not in done.stderr


def test_no_login_is_made_without_a_password(cluster: LocalPostgres) -> None:
    for passwords in ({}, {"owner": "short"}):
        with pytest.raises(ValueError, match="OWNER_PASSWORD is missing or short"):
            with_logins(cluster, "nothing", passwords)


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


def test_containers_are_confined() -> None:
    services = compose()["services"]
    assert set(services) == {"db", "prepare", "server", "desk", "jobs"}
    for name, service in services.items():
        assert service["read_only"] and service["cap_drop"] == ["ALL"], name
        assert service["user"].split(":")[0] not in ("0", "root"), name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert "privileged" not in service and "network_mode" not in service, name
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), name
        assert service["healthcheck"], name
        owned = {"db": None, "prepare": "owner"}.get(name, name)
        if owned:
            assert service["secrets"] == [f"{owned}_password"], name
    assert "ports" not in services["db"] and services["db"]["networks"] == ["inside"]
    assert compose()["networks"]["inside"]["internal"] is True


def test_no_secret_is_written_down() -> None:
    assert all(set(one) == {"file"} for one in compose()["secrets"].values())
    for service in compose()["services"].values():
        for key, value in service["environment"].items():
            assert "PASSWORD" not in key or key.endswith("_FILE"), key
            assert not re.search(r":[^/]+@", str(value))
    whole = (DEPLOY / "compose.yaml").read_text()
    for name in ("STUDY", "ORIGIN", "DESK_ORIGIN"):
        assert f"${{{name}:?" in whole, "refused where it is not set"


def test_the_image_names_files_that_exist() -> None:
    docker = (DEPLOY / "Dockerfile").read_text()
    assert re.search(r"^USER 10001", docker, re.MULTILINE) and "HEALTHCHECK" in docker
    assert docker.index("USER 10001") > docker.index("useradd")
    let_in = (DEPLOY / "Dockerfile.dockerignore").read_text()
    for copied in re.findall(r"^COPY (?!--from)(.+) \S+$", docker, re.MULTILINE):
        for part in copied.split():
            assert (ROOT / part).exists() and f"!{part}" in let_in, part
    script = (DEPLOY / "image.py").read_text()
    for name in re.findall(r'DEPLOY / ["\']([^"\']+)', script):
        assert (DEPLOY / name).is_file(), name
    done = subprocess.run(
        [sys.executable, str(DEPLOY / "image.py"), "--help"], capture_output=True, check=False
    )
    assert done.returncode == 0
    assert subprocess.run(["sh", "-n", str(DEPLOY / "roles.sh")], check=False).returncode == 0


def test_the_guide_names_what_exists() -> None:
    from theodolite_study.cli.app import app as study_app  # noqa: PLC0415

    guide = (ROOT / "docs" / "deployment.md").read_text()
    asked = set(re.findall(r"theodolite study ([a-z][\w-]*)", guide))
    assert {"serve", "backup", "rehearse-restore", "upgrade", "verify"} <= asked
    assert asked <= {command.name for command in study_app.registered_commands}
    for path in re.findall(r"\]\(\.\./(study/deploy/[^)]+)\)", guide):
        assert (ROOT / path).is_file()
    for line in [line.strip() for line in guide.splitlines() if line.startswith("    ")]:
        assert not re.search(r"(-v|--set|-c)\s+\w*password", line, re.IGNORECASE), line
        assert not re.search(r"://[^/@\s]+:[^@\s]+@", line), line


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    unit = (DEPLOY / "theodolite-study.service").read_text()
    unit = re.sub(r"ExecStart=\S+", f"ExecStart={sys.executable}", unit)  # not on this machine
    unit = re.sub(r"(User|Group)=theodolite_server", r"\1=daemon", unit)
    unit = re.sub(r"(Requires|After|Wants)=.*\n", "", unit)
    (tmp_path / "theodolite-study.service").write_text(unit)
    done = subprocess.run(["systemd-analyze", "verify", str(tmp_path / "theodolite-study.service")],
                          capture_output=True, text=True, check=False, timeout=30)  # fmt: skip
    mine = [line for line in (done.stdout + done.stderr).splitlines() if "theodolite" in line]
    assert mine == [], mine
