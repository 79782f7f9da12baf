"""Figures that name nobody, what was done when, and exports that wait."""

import hashlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from support.study.stepped_study import SteppedStudy
from theodolite_study.export.export_check import verify_export
from theodolite_study.operate.background_tasks import ExportTask, get_export_folder


@pytest.fixture
def connection(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as opened:
        yield opened


def test_figures_of_a_walk(connection: psycopg.Connection[Any]) -> None:
    study = SteppedStudy(connection, instances=2, votes=2, quota=2)
    ann = study.person("ann").begins()
    for _ in range(2):
        ann.votes(ann.next()["item"])
    ann.leaves()
    connection.execute("set role theodolite_jobs")
    connection.execute("select op_note('backup', '{}')")
    connection.execute("select op_count()")
    connection.execute("set role theodolite_serve")
    figures = study.one("select op_figures()")
    (counted,) = figures["studies"]
    assert counted["tally"] == {"arrived": 1, "votes": 2, "out finished": 1}
    assert figures["counted"]["seats"] == {"s": {"open": 2, "filled": 2}}
    assert figures["counted"]["payouts"] == {"s": {"owed": 1}}
    assert set(figures["ages"]) == {"backup", "figures"}
    assert figures["events"] == {"waiting": 0, "lag": 0}
    for refused in ("select op_count()", "select op_note('backup', '{}')", "table operation"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(refused)


def as_jobs(url: str) -> str:
    """The address for the job's own rights."""
    return f"{url}?options=-c%20role%3Dtheodolite_jobs"


def test_exports_that_were_cut_off_are_written_again(
    connection: psycopg.Connection[Any], database_url: str, tmp_path: Path
) -> None:
    study = SteppedStudy(connection, instances=2, votes=1, quota=2)
    ann = study.person("ann").begins()
    for _ in range(2):
        ann.votes(ann.next()["item"])
    request = "insert into export_request (study_id) values (%s) returning id"
    first, second = (study.one(request, study.study) for _ in range(2))
    state = "select state from export_request where id = %s"
    stop = threading.Event()

    def slow(database: Any, slug: str, out: Path, **named: Any) -> None:
        (out.parent / f".{out.name}.partial").mkdir(parents=True)
        stop.wait(30)
        raise psycopg.OperationalError

    cut_off = ExportTask(database_url, tmp_path, slow)
    with psycopg.connect(as_jobs(database_url), autocommit=True) as job:
        cut_off(job)
        cut_off(job)  # it is at work: nothing else is begun
        assert [study.one(state, one) for one in (first, second)] == ["running", "waiting"]
        stop.set()  # that process is gone; the next one begins
        task = ExportTask(as_jobs(database_url), tmp_path)
        until = time.monotonic() + 60
        while study.one(state, second) != "done" and time.monotonic() < until:
            task(job)
            time.sleep(0.05)
    for one in (first, second):
        folder = get_export_folder(tmp_path, "s", one)
        assert verify_export(folder) == []
        digest = hashlib.sha256((folder / "manifest.json").read_bytes()).digest()
        assert study.one("select manifest_sha256 from export_request where id = %s", one) == digest
    assert oct((tmp_path / "exports").stat().st_mode)[-3:] == "700"
