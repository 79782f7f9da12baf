"""A server in processes of its own: figures, logs, limits of connections, tables of another release."""

import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from psycopg.types.json import Jsonb

from support.study.real_server import ORIGIN, RUN, RealServer, free_port, real_server, walk
from support.study.stepped_study import SteppedStudy, template_database
from theodolite_study.keys import Keys
from theodolite_study.local_postgres import LocalPostgres, create_database

SHOWN = {"shown": {"image": "a" * 64 + ".png", "map": "b" * 64 + ".png"}, "same": None}


@pytest.fixture(scope="module")
def study(cluster: LocalPostgres) -> Iterator[SteppedStudy]:
    create_database(cluster, "real_server", template_database(cluster))
    with psycopg.connect(cluster.database("real_server"), autocommit=True) as connection:
        made = SteppedStudy(connection, instances=3, votes=9, quota=2)
        sizes = {file: [40, 30] for file in SHOWN["shown"].values()}  # type: ignore[union-attr]
        connection.execute("update instance set shown = %s", [Jsonb(SHOWN | {"sizes": sizes})])
        yield made


@pytest.fixture(scope="module")
def server(
    cluster: LocalPostgres, study: SteppedStudy, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealServer]:
    folder = tmp_path_factory.mktemp("real")
    Keys.create(folder / "keys.json")
    with real_server(cluster.database("real_server"), folder, workers=2) as made:
        yield made


def figure(page: str, name: str) -> float:
    return sum(float(value) for value in re.findall(rf"^theodolite_{name} (\S+)$", page, re.M))


def test_figures_and_log_of_a_walk(server: RealServer, study: SteppedStudy) -> None:
    secrets = {"a horn", "1a2b3c-agent", "x-query-secret"}
    before = study.one("select count(*) from vote")
    for _ in range(2):
        with server.visitor(**{"user-agent": "1a2b3c-agent"}) as browser:
            page = walk(browser)
            assert page.url.path == "/done", page.text
            assert browser.get("/done?x=x-query-secret").headers["x-request-id"]
            assert browser.get("/metrics").status_code == 404, "never on the public port"
            assert browser.get("/nobody/x-query-secret").status_code == 404
            secrets |= {value for value in browser.session.values() if len(value) > 4}
            secrets |= set(re.findall(r"\b[A-Z0-9]{4,5}(?:-[A-Z0-9]{4,5}){2,}\b", page.text))
    for column in ("id::text", "pseudonym"):
        secrets |= {row[0] for row in study.connection.execute(f"select {column} from participant")}
    secrets |= {f"/a/{row[0]}" for row in study.connection.execute("select id from assignment")}
    study.connection.execute("select op_count()")
    time.sleep(1.2)  # what processes counted is written once a second
    figures = server.metrics()
    assert study.one("select count(*) from vote") == before + 4
    assert (
        figure(figures, r'requests_total\{route="/a/\{item:long\}/ratings",.*status="303"\}') == 4
    )
    assert figure(figures, r'request_seconds_bucket\{route="/consent",le="\+Inf"\}') == 4
    assert figure(figures, r'votes_total\{study="s",counted="yes"\}') == 4
    assert figure(figures, r'people_total\{study="s",outcome="finished"\}') == 2
    assert figure(figures, r'seats\{study="s",state="filled"\}') == 4
    assert figure(figures, r'payouts\{study="s",state="owed"\}') == 2
    assert figure(figures, "processes") == 2 and figure(figures, "database_up") == 1
    assert figure(figures, "statements_total") >= 12
    assert "age_seconds" in figures and "events_lag_seconds 0" in figures
    log = server.log.read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    walked = [line for line in lines if line.get("route") == "/a/{item:long}/ratings"]
    assert {(line["status"], line["word"]) for line in walked} == {(303, "ok")}
    assert len(secrets) > 10
    for secret in secrets:
        assert secret not in log and secret not in figures, secret


def test_the_page_of_figures_is_for_this_machine_alone(server: RealServer) -> None:
    for host in ("study.example.org", "rebound.example.org:80"):
        address = f"http://127.0.0.1:{server.metrics_port}/metrics"
        assert httpx.get(address, headers={"host": host}).status_code == 404


def closed_after(port: int, first: bytes, every: bytes, seconds: float) -> float:
    """When a server closes on somebody who sends little by little."""
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=0.5) as slow:
        slow.sendall(first)
        while time.monotonic() - begun < seconds:
            try:
                slow.sendall(every)
                if slow.recv(1000) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
    return time.monotonic() - begun


def test_slow_and_endless_headers_are_cut_off(server: RealServer) -> None:
    begun = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
    assert closed_after(server.port, begun, b"a: " + b"b" * 9000 + b"\r\n", 8) < 5
    assert 8 < closed_after(server.port, begun, b"a: b\r\n", 16) < 14


def test_tables_of_another_release_are_refused(cluster: LocalPostgres, tmp_path: Path) -> None:
    name = "other_release"
    create_database(cluster, name, template_database(cluster))
    url = cluster.database(name)
    Keys.create(tmp_path / "keys.json")

    def refusal() -> Any:
        values = [url, str(tmp_path), ORIGIN, str(free_port()), "1", str(free_port())]
        done = subprocess.run(
            [sys.executable, "-c", RUN, *values], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        return done.stderr.splitlines()[-1]

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("update alembic_version set version_num = '9999'")
        assert "tables of revision 9999; needed revision" in refusal()
        connection.execute("drop function op_revision() cascade")
    from theodolite_study.operate.revision import load_database_revision  # noqa: PLC0415

    assert load_database_revision(url) == "none"
