"""A study comes into the tables: slow work is done before anything waits for it."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from support.study.small_study import study_folder
from theodolite.errors import EvidenceError
from theodolite_study import intake, local_postgres
from theodolite_study.database import Database
from theodolite_study.keys import Keys
from theodolite_study.local_postgres import LocalPostgres, cluster_has_database


def test_pictures_are_looked_at_while_no_transaction_is_open(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = study_folder(tmp_path / "s", instances=2, design="planned", panel=2)
    seen: list[str] = []

    def apart(name: str) -> Any:
        inner = getattr(intake, name)

        def looked(*given: Any, **named: Any) -> Any:
            assert database.engine.pool.checkedout() == 0, name  # type: ignore[attr-defined]
            seen.append(name)
            return inner(*given, **named)

        return looked

    for name in ("sha256_of", "picture_size", "planned"):
        monkeypatch.setattr(intake, name, apart(name))
    first = intake.load(database, folder, Keys.read(folder))
    assert {"sha256_of", "picture_size", "planned"} == set(seen)
    seen.clear()
    assert intake.load(database, folder, Keys.read(folder)) == first
    assert seen == [], "what is there is not looked at again"
    with database.transaction() as connection:
        seats = connection.execute(text("select count(*), count(reserved_for) from slot")).one()
    assert tuple(seats) == (4, 4)


def test_whoever_sets_studies_up_may_take_time(database: Database) -> None:
    names = ("statement_timeout", "idle_in_transaction_session_timeout")
    with database.owning() as connection:
        assert [connection.execute(text(f"show {one}")).scalar() for one in names] == ["0", "0"]
    with database.transaction() as connection:
        assert [connection.execute(text(f"show {one}")).scalar() for one in names] == ["5s", "15s"]


def test_no_command_line_has_the_password(
    cluster: LocalPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    inner = subprocess.Popen.__init__

    def noted(self: Any, arguments: Any, *rest: Any, **named: Any) -> None:
        started.append(" ".join(map(str, arguments)))
        inner(self, arguments, *rest, **named)

    monkeypatch.setattr(local_postgres.subprocess.Popen, "__init__", noted)
    assert cluster.answers() and len(started) == 1, "what is started is seen here"
    cluster_has_database(cluster, "made_quietly")
    with pytest.raises(EvidenceError, match="already exists"):
        cluster_has_database(cluster, "made_quietly")
    assert not any(cluster.password in line for line in started)
