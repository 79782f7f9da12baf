"""What docs/deployment.md and deploy/ say, done on a real PostgreSQL, without containers."""

import http.client
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
import yaml
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from support.study.played_study import Played, at_random, few_resamples, taken_part
from support.study.small_study import study_folder
from theodolite.errors import EvidenceError
from theodolite_study.database import Database, migrate
from theodolite_study.export import export, verify_export
from theodolite_study.intake import load
from theodolite_study.keys import Keys
from theodolite_study.lifecycle import become
from theodolite_study.local_postgres import LocalPostgres, binaries
from theodolite_study.verify import verify
from theodolite_study.withdrawal import withdraw

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "study" / "deploy"
OWNER, SERVER = secrets.token_hex(32), secrets.token_hex(32)
NAME = "deployed"


PASSWORDS = {"OWNER_PASSWORD": OWNER, "SERVER_PASSWORD": SERVER}


def with_logins(
    cluster: LocalPostgres, name: str, passwords: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """study/deploy/roles.sql, as the guide has it."""
    program = [
        str(binaries() / "psql"), "--quiet", "--no-psqlrc", "-v", f"database={name}",
        "-h", "127.0.0.1", "-p", str(cluster.port), "-U", "theodolite", "-d", "postgres",
    ]  # fmt: skip
    environment = os.environ | {"PGPASSWORD": cluster.password} | passwords
    with (DEPLOY / "roles.sql").open() as roles:
        return subprocess.run(
            program, capture_output=True, text=True, check=False, env=environment, stdin=roles
        )


@pytest.fixture(scope="module")
def logins(cluster: LocalPostgres) -> dict[str, str]:
    """The two logins of study/deploy/roles.sql, made twice, since a second time must do no harm."""
    for _ in range(2):
        done = with_logins(cluster, NAME, PASSWORDS)
        assert done.returncode == 0, done.stderr
    at = f"127.0.0.1:{cluster.port}/{NAME}"
    return {
        "owner": f"postgresql://theodolite_owner:{quote(OWNER)}@{at}",
        "server": f"postgresql://theodolite_server:{quote(SERVER)}@{at}",
    }


@pytest.fixture(scope="module")
def prepared(
    logins: dict[str, str], cluster: LocalPostgres, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """A folder and secrets as in the container, prepared by start.py as the owner."""
    place = tmp_path_factory.mktemp("deployed")
    study_folder(place / "study", instances=2, votes=1)
    (place / "secrets").mkdir()
    (place / "secrets" / "owner_password").write_text(OWNER + "\n")
    (place / "secrets" / "server_password").write_text(SERVER + "\n")
    environment = {
        "PATH": os.environ["PATH"], "SECRETS": str(place / "secrets"),
        "STUDY": str(place / "study"), "ORIGIN": "http://study.example.org",
        "DATABASE_HOST": f"127.0.0.1:{cluster.port}", "DATABASE": NAME,
    }  # fmt: skip
    done = started("prepare", environment)
    assert done.returncode == 0, done.stderr
    return environment


def started(what: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(DEPLOY / "start.py"), what],
        capture_output=True, text=True, check=False, env=environment, timeout=60,
    )  # fmt: skip


def test_the_server_login_serves_and_can_do_no_more(
    prepared: dict[str, str], logins: dict[str, str], tmp_path: Path
) -> None:
    folder = Path(prepared["STUDY"])
    database = Database(logins["server"])
    migrate(logins["server"])  # as `study serve` does: tables that are up to date are left alone
    keys = Keys.read(folder)
    load(database, folder, keys)
    become(database, "small", "open", staff="test")
    played = Played(database, folder, keys)
    try:
        taken_part(played, ["ann"], at_random())
        assert verify(database, "small").problems == ()
        with few_resamples():
            export(database, "small", folder, out=tmp_path / "out")
        assert verify_export(tmp_path / "out") == []
        forbidden = [
            "update vote set q1 = 1", "delete from vote", "delete from event", "drop table vote",
            "alter table vote drop constraint vote_q1", "create table mine (id int)",
            "insert into study select * from study", "truncate baseline",
        ]  # fmt: skip
        for opened in (database.transaction, database.owning):
            for command in forbidden:
                with (
                    pytest.raises(
                        (ProgrammingError, EvidenceError), match=r"permission denied|must be owner"
                    ),
                    opened() as connection,
                ):
                    connection.execute(text(command))
        withdraw(database, played.people["ann"])
        assert "0 of 2 votes" in str(verify(database, "small"))
    finally:
        database.close()


def test_the_restore_drill(
    prepared: dict[str, str], logins: dict[str, str], cluster: LocalPostgres, tmp_path: Path
) -> None:
    """Dump, new database with the same logins, restore, verify, the same export."""
    assert with_logins(cluster, "drill", PASSWORDS).returncode == 0
    dump = str(tmp_path / "dump")
    for program, *arguments in (
        ("pg_dump", "--format=custom", f"--file={dump}", cluster.database(NAME)),
        ("pg_restore", "--exit-on-error", "--single-transaction",
         f"--dbname={cluster.database('drill')}", dump),
    ):  # fmt: skip
        done = subprocess.run(
            [str(binaries() / program), *arguments], capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
    first = Database(logins["server"])
    drill = Database(logins["server"].replace(f"/{NAME}", "/drill"))
    try:
        assert verify(drill, "small").problems == ()
        with few_resamples():
            made = [
                export(one, "small", Path(prepared["STUDY"]), out=tmp_path / f"{number}")
                for number, one in enumerate((first, drill))
            ]
        assert made[0].sha256 == made[1].sha256
        with pytest.raises((ProgrammingError, EvidenceError)), drill.owning() as connection:
            connection.execute(text("delete from vote"))
    finally:
        first.close()
        drill.close()


def test_start_serves_and_says_that_it_is_well(prepared: dict[str, str], tmp_path: Path) -> None:
    """The container's commands with another port: the usual one may be taken."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    script = tmp_path / "start.py"
    script.write_text((DEPLOY / "start.py").read_text().replace("PORT = 8080", f"PORT = {port}"))
    run, log = [sys.executable, str(script)], tmp_path / "log"
    with (
        log.open("wb") as stream,
        subprocess.Popen([*run, "serve"], env=prepared, stderr=stream) as server,
    ):
        try:
            until = time.monotonic() + 60
            while subprocess.run(
                [*run, "health"], env=prepared, capture_output=True, check=False
            ).returncode:
                assert server.poll() is None and time.monotonic() < until, log.read_text()
                time.sleep(0.2)
            found = {}
            for host in ("study.example.org", "evil.example.org"):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                connection.request("GET", "/s/small", headers={"Host": host})
                found[host] = connection.getresponse().status
                connection.close()
            assert found["study.example.org"] < 400 <= found["evil.example.org"]
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(30)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("owner_password", None, "secret 'owner_password': no file"),
        ("owner_password", "short", "a weak one"),
        ("owner_password", "a" * 40, "a weak one"),
    ],
)
def test_nothing_starts_without_strong_secrets(
    prepared: dict[str, str], tmp_path: Path, name: str, content: str | None, said: str
) -> None:
    shutil.copytree(prepared["SECRETS"], tmp_path / "secrets")
    (tmp_path / "secrets" / name).unlink()
    if content is not None:
        (tmp_path / "secrets" / name).write_text(content)
    done = started("prepare", prepared | {"SECRETS": str(tmp_path / "secrets")})
    assert done.returncode == 1 and said in done.stderr
    assert OWNER not in done.stderr


def test_commands_in_the_container_reach_the_database(prepared: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, str(DEPLOY / "start.py"), "study", "status", prepared["STUDY"], "--json"],
        capture_output=True, text=True, check=False, env=prepared, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0 and json.loads(done.stdout)["slug"] == "small", done.stderr


@pytest.mark.parametrize("owner", [None, "short"])
def test_no_login_is_made_without_a_password(cluster: LocalPostgres, owner: str | None) -> None:
    passwords = {} if owner is None else {"OWNER_PASSWORD": owner}
    done = with_logins(cluster, "nothing", passwords)
    assert done.returncode != 0 and "OWNER_PASSWORD is missing or short" in done.stderr
    with psycopg.connect(cluster.database("postgres")) as connection:
        found = connection.execute("select 1 from pg_database where datname = 'nothing'")
        assert found.fetchone() is None


def commands(guide: str) -> list[str]:
    """The lines of a guide that somebody types."""
    return [line.strip() for line in guide.splitlines() if line.startswith("    ")]


def test_no_password_is_on_a_command_line() -> None:
    guide = (ROOT / "docs" / "deployment.md").read_text()
    whole = commands(guide) + (DEPLOY / "roles.sh").read_text().splitlines()
    for line in whole:
        assert not re.search(r"(-v|--set|-c)\s+\w*password", line, re.IGNORECASE), line
        assert not re.search(r"://[^/@\s]+:[^@\s]+@", line), line
    for name in ("THEODOLITE_DATABASE", "PGPASSFILE"):
        assert name in guide


def test_the_guide_gives_whole_commands() -> None:
    """With their paths, and as whoever may do it; what is dumped is also deleted in time."""
    guide = (ROOT / "docs" / "deployment.md").read_text()
    typed = [line for line in commands(guide) if not line.startswith("#")]
    for line in typed:
        if "theodolite study" in line and "$compose" not in line:
            assert "/opt/theodolite/bin/theodolite study" in line, line
            assert re.search(r"sudo .*-u theodolite_(server|owner) ", line), line
        if re.match(r"(psql|pg_dump|pg_restore|dropdb) ", line):
            raise AssertionError(f"as whom? {line}")
    (kept,) = re.findall(r"find \S+ -name '([^']+)'", guide)
    dumps = re.findall(r"--file=/var/backups/theodolite/(.+?\.dump)", guide)
    assert len(dumps) >= 2
    for name in dumps:
        assert fnmatch(name, kept), name


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


def test_containers_are_confined() -> None:
    services = compose()["services"]
    assert set(services) == {"db", "prepare", "server"}
    for name, service in services.items():
        assert service["read_only"] and service["cap_drop"] == ["ALL"], name
        assert service["user"].split(":")[0] not in ("0", "root"), name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert "privileged" not in service and "network_mode" not in service, name
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), name
        assert service["healthcheck"], name
    assert "ports" not in services["db"] and services["db"]["networks"] == ["inside"]
    assert compose()["networks"]["inside"]["internal"] is True
    assert "owner_password" not in services["server"]["secrets"]
    assert "postgres_password" not in services["server"]["secrets"] + services["prepare"]["secrets"]


def test_no_secret_is_written_down() -> None:
    assert all(set(one) == {"file"} for one in compose()["secrets"].values())
    for service in compose()["services"].values():
        for key, value in service["environment"].items():
            assert "PASSWORD" not in key or key.endswith("_FILE"), key
            assert not re.search(r":[^/]+@", str(value))
    whole = (DEPLOY / "compose.yaml").read_text()
    for name in ("STUDY", "ORIGIN"):
        assert f"${{{name}:?" in whole, "refused where it is not set"
    docker = (DEPLOY / "Dockerfile").read_text()
    assert re.search(r"^USER 10001", docker, re.MULTILINE) and "HEALTHCHECK" in docker
    assert docker.index("USER 10001") > docker.index("useradd")
    for copied in re.findall(r"^COPY (?!--from)(.+) \S+$", docker, re.MULTILINE):
        assert all((ROOT / part).exists() for part in copied.split())


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    unit = (DEPLOY / "theodolite-study.service").read_text()
    # what it names is not on this machine
    unit = re.sub(r"ExecStart=\S+", f"ExecStart={sys.executable}", unit)
    unit = unit.replace("User=theodolite_server", "User=daemon").replace(
        "Group=theodolite_server", "Group=daemon"
    )
    unit = re.sub(r"(Requires|After|Wants)=.*\n", "", unit)
    (tmp_path / "theodolite-study.service").write_text(unit)
    done = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / "theodolite-study.service")],
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    mine = [line for line in (done.stdout + done.stderr).splitlines() if "theodolite" in line]
    assert mine == [], mine


def test_the_guide_names_commands_that_exist() -> None:
    guide = (ROOT / "docs" / "deployment.md").read_text()
    asked = set(re.findall(r"theodolite study (\w+)", guide))
    assert {"serve", "staff", "verify", "export", "set"} <= asked
    from theodolite_study.cli.app import app as study_app  # noqa: PLC0415

    known = {command.name for command in study_app.registered_commands}
    assert asked <= known
    for path in re.findall(r"\]\(\.\./(study/deploy/[^)]+)\)", guide):
        assert (ROOT / path).is_file()
    done = subprocess.run(["sh", "-n", str(DEPLOY / "roles.sh")], check=False)
    assert done.returncode == 0
