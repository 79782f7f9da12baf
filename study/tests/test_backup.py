"""A backup is worth something if it was brought back once: the drill of docs/deployment.md."""

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from support.study.played_study import Played, at_random, begun, few_resamples, taken_part
from support.study.small_study import active, all_rated
from theodolite_study.database import Database
from theodolite_study.export import export
from theodolite_study.invariants import violations
from theodolite_study.local_postgres import LocalPostgres, binaries, cluster_has_database
from theodolite_study.verify import verify


@pytest.fixture(autouse=True)
def quick() -> Iterator[None]:
    with few_resamples():
        yield


def program(name: str, *arguments: str) -> bytes:
    done = subprocess.run([str(binaries() / name), *arguments], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def dumped(database: Database, file: Path) -> Path:
    program("pg_dump", "--format=custom", f"--file={file}", "--dbname", database.url)
    return file


def restored(cluster: LocalPostgres, file: Path, name: str) -> Database:
    cluster_has_database(cluster, name)
    url = cluster.database(name)
    program("pg_restore", "--exit-on-error", "--single-transaction", "--dbname", url, str(file))
    return Database(url)


@pytest.fixture
def played(database: Database, tmp_path: Path) -> Played:
    made = begun(database, tmp_path / "s", instances=3, votes=2, gold=1, checks={"every": 2})
    taken_part(made, ["ann", "bob"], at_random())
    return made


def test_a_restored_study_is_the_same_study(
    played: Played, cluster: LocalPostgres, tmp_path: Path
) -> None:
    before = export(played.database, "small", played.folder, out=tmp_path / "before")
    back = restored(cluster, dumped(played.database, tmp_path / "dump"), "back_same")
    try:
        after = export(back, "small", played.folder, out=tmp_path / "after")
        assert after.sha256 == before.sha256
        found, was = verify(back, "small"), verify(played.database, "small")
        assert found == was and not found.problems
        assert "All rules hold." in str(found) and "6 of 6 votes (100%)" in str(found)
        # it goes on, and its guards are those of the first
        newcomer = active(back, played.keys, "cyd")
        assert all_rated(back, newcomer) == []
    finally:
        back.close()


def test_a_dump_of_a_study_at_work_is_one_moment_of_it(
    database: Database, cluster: LocalPostgres, tmp_path: Path
) -> None:
    played = begun(database, tmp_path / "s", instances=12, votes=1)
    who = active(database, played.keys, "ann")
    work = threading.Thread(target=all_rated, args=(database, who))
    work.start()
    back = restored(cluster, dumped(database, tmp_path / "dump"), "back_running")
    work.join()
    try:
        assert violations(back) == [] and verify(back, "small").problems == ()
        with back.transaction() as connection:
            kept = connection.execute(text("select count(*) from vote")).scalar_one()
        assert 0 <= kept <= 12
        # whoever was at work goes on in the restored study, up to the last vote
        all_rated(back, who)
        assert "12 of 12 votes" in str(verify(back, "small"))
    finally:
        back.close()


def test_a_restore_that_lost_its_guards_is_told(played: Played) -> None:
    with played.database.owning() as connection:
        connection.execute(text("drop index vote_once"))
        connection.execute(
            text("alter table assignment drop constraint assignment_own_answer_first")
        )
        connection.execute(text("grant update on vote to theodolite_app"))
    assert verify(played.database, "small").problems == (
        "Not so: the guard assignment_own_answer_first is there",
        "Not so: the guard vote_once is there",
        "Not so: theodolite_app may not update in vote",
    )


def test_surplus_above_a_twentieth_is_an_alarm(played: Played) -> None:
    assert verify(played.database, "small").warnings == ()
    with played.database.owning() as connection:
        connection.execute(
            text("update vote set counted = false where id = (select min(id) from vote)")
        )
    found = verify(played.database, "small")
    assert "16.7% of all votes are surplus" in found.warnings[0]
    assert any("filled exactly" in problem for problem in found.problems)
