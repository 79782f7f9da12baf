"""A backup is worth something if it was brought back once; an upgrade, if it was tried on a copy."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from support.study.stepped_study import SteppedStudy, template_database
from theodolite.errors import EvidenceError
from theodolite_study.database import MIGRATIONS
from theodolite_study.local_postgres import LocalPostgres, create_database
from theodolite_study.operate.backup import CONTENT_FILE, DUMP_FILE, write_backup
from theodolite_study.operate.postgres_programs import run_postgres_program
from theodolite_study.operate.restore import rehearse_restore
from theodolite_study.operate.revision import get_newest_revision, load_database_revision
from theodolite_study.operate.upgrade import check_upgrade, upgrade, verify_all

AddMigration = Callable[[str], None]
NEXT_MIGRATION = """
from alembic import op

revision = "next"
down_revision = "{newest}"


def upgrade() -> None:
    op.execute({statement!r})
"""


@pytest.fixture(scope="module")
def url(cluster: LocalPostgres) -> str:
    create_database(cluster, "backed_up", template_database(cluster))
    return cluster.database("backed_up")


@pytest.fixture(scope="module")
def study(url: str) -> Iterator[SteppedStudy]:
    """Two people who are done, one in mid-item."""
    with psycopg.connect(url, autocommit=True) as connection:
        made = SteppedStudy(connection, instances=4, votes=3, quota=2)
        for name in ("ann", "bob", "cyd"):
            person = made.person(name).begins()
            person.votes(person.next()["item"])
            if name != "cyd":
                person.votes(person.next()["item"])
                person.leaves()
        yield made


def databases(study: SteppedStudy) -> int:
    return int(study.one("select count(*) from pg_database where datname like 'rehearsal%%'"))


def test_a_backup_comes_back_whole(study: SteppedStudy, url: str, tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    made = write_backup(url, tmp_path, tmp_path / "b")
    assert made.rows > 20 and "keys.json is not in it" in str(made)
    for file in (tmp_path / "b").iterdir():
        assert file.stat().st_mode & 0o077 == 0, "answers are in it"
    study.person("dan").begins()  # later than the backup
    report = rehearse_restore(tmp_path / "b", url, tmp_path)
    assert report.problems == () and report.rows == made.rows, report
    assert databases(study) == 0
    ages = study.one("select op_figures() -> 'ages'")
    assert {"backup", "restore"} <= set(ages)
    with pytest.raises(EvidenceError, match="which is there"):
        write_backup(url, tmp_path, tmp_path / "b")


def test_what_is_missing_or_changed_is_told(study: SteppedStudy, url: str, tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    out = tmp_path / "b"
    write_backup(url, tmp_path, out)
    content = json.loads((out / CONTENT_FILE).read_text())
    content["tables"]["vote"][0] += 1
    content["tables"]["consent"][1] = "7"
    (out / CONTENT_FILE).write_text(json.dumps(content))
    (out / "images.json").write_text('[{"file": "gone.png", "bytes": 1}]')
    report = rehearse_restore(out, url, tmp_path)
    assert [problem.split(":")[0] for problem in report.problems[:2]] == ["consent", "vote"]
    assert report.problems[2:] == ("1 images are missing, gone.png among them",)
    (out / DUMP_FILE).write_bytes(b"another")
    with pytest.raises(EvidenceError, match="another database"):
        rehearse_restore(out, url)
    assert databases(study) == 0


def test_a_restore_that_lost_its_guards_is_told(
    study: SteppedStudy, url: str, cluster: LocalPostgres
) -> None:
    assert verify_all(url) == []
    assert study.one("select op_figures() -> 'verified'") == 0
    create_database(cluster, "no_guards", template_database(cluster))
    with psycopg.connect(cluster.database("no_guards"), autocommit=True) as connection:
        connection.execute("alter table assignment drop constraint assignment_own_answer_first")
        connection.execute("grant update on vote to theodolite_serve")
    problems = verify_all(cluster.database("no_guards"))
    assert len(problems) == 2 and "assignment_own_answer_first" in problems[0]
    assert "theodolite_serve" in problems[1]


def test_a_image_with_other_bytes_is_no_backup(
    study: SteppedStudy, url: str, tmp_path: Path
) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / f"{'a' * 64}.png").write_bytes(b"x")
    with pytest.raises(EvidenceError, match="other bytes"):
        write_backup(url, tmp_path, tmp_path / "b")


@pytest.fixture
def add_migration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AddMigration]:
    """Add a migration after the newest one, as the next release would."""
    folder, newest = tmp_path / "migrations", get_newest_revision()
    shutil.copytree(MIGRATIONS, folder)

    def add(statement: str) -> None:
        migration = NEXT_MIGRATION.format(newest=newest, statement=statement)
        (folder / "versions" / "next.py").write_text(migration)
        get_newest_revision.cache_clear()

    monkeypatch.setattr("theodolite_study.database.MIGRATIONS", folder)
    yield add
    get_newest_revision.cache_clear()


def test_upgrade_check_migrates_only_a_copy(
    study: SteppedStudy, url: str, tmp_path: Path, add_migration: AddMigration
) -> None:
    (tmp_path / "images").mkdir()
    write_backup(url, tmp_path, tmp_path / "b")
    revision = load_database_revision(url)
    add_migration("alter table study add note text")
    report = check_upgrade(tmp_path / "b", url)
    assert report.problems == () and report.rows > 20, report
    assert databases(study) == 0
    assert load_database_revision(url) == revision != get_newest_revision()


def test_upgrade_check_reports_rows_that_a_migration_deletes(
    study: SteppedStudy, url: str, tmp_path: Path, add_migration: AddMigration
) -> None:
    run_postgres_program("pg_dump", url, "--format=custom", f"--file={tmp_path / 'dump'}")
    add_migration("delete from vote")
    votes = study.one("select count(*) from vote")
    report = check_upgrade(tmp_path / "dump", url)
    assert f"vote: 0 rows after the upgrade, {votes} before" in report.problems
    assert study.one("select count(*) from vote") == votes


def test_upgrade_creates_and_migrates_tables(
    cluster: LocalPostgres, add_migration: AddMigration
) -> None:
    create_database(cluster, "upgraded")
    url = cluster.database("upgraded")
    assert load_database_revision(url) == "none"
    for _ in range(2):  # the second time nothing is left to do
        upgrade(url)
        assert load_database_revision(url) == get_newest_revision() and verify_all(url) == []
    add_migration("alter table study add note text")
    upgrade(url)
    assert load_database_revision(url) == get_newest_revision() == "next"


def test_no_password_is_on_a_command_line(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def note(command: list[str], **named: Any) -> Any:
        calls.append(command)
        assert named["env"]["PGPASSWORD"]
        return subprocess.CompletedProcess(command, 1, "", "refused")

    monkeypatch.setattr(subprocess, "run", note)
    with pytest.raises(EvidenceError, match="refused"):
        run_postgres_program("pg_dump", url, "--format=custom")
    password = psycopg.conninfo.conninfo_to_dict(url)["password"]
    assert password and all(str(password) not in part for part in calls[-1])


def test_scratch_is_dropped_when_the_work_in_it_fails(url: str, study: SteppedStudy) -> None:
    from theodolite_study.operate.postgres_programs import create_scratch_database  # noqa: PLC0415

    with pytest.raises(RuntimeError), create_scratch_database(url):  # noqa: PT012
        assert databases(study) == 1
        raise RuntimeError
    assert databases(study) == 0
