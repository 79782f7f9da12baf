"""Sessions: long random tokens that end in time, and of which only digests are kept."""

import hashlib
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from support.study.small_study import opened, study_folder
from theodolite_study import sessions, staff
from theodolite_study.database import Database


@pytest.fixture
def number(empty_database: Database, tmp_path: Path) -> int:
    keys = opened(empty_database, study_folder(tmp_path / "s", instances=1))
    staff.invite_staff(empty_database, "small", "eve", keys)
    with empty_database.owning() as connection:
        return int(connection.execute(text("select id from staff")).scalar_one())


def _moved(database: Database, change: str) -> None:
    with database.owning() as connection:
        connection.execute(text(f"update session set {change}"))


def test_a_token_is_random_and_only_its_digest_is_kept(
    empty_database: Database, number: int
) -> None:
    tokens = {sessions.begin(empty_database, staff_id=number) for _ in range(5)}
    assert len(tokens) == 5 and all(len(token) == 43 for token in tokens)
    with empty_database.owning() as connection:
        rows = connection.execute(text("select * from session")).mappings().all()
    assert {bytes(row["token_sha256"]) for row in rows} == {
        hashlib.sha256(token.encode()).digest() for token in tokens
    }
    assert not any(token in str(dict(row)) for token in tokens for row in rows)


def test_a_token_holds_until_it_is_ended(empty_database: Database, number: int) -> None:
    mine, other = (sessions.begin(empty_database, staff_id=number) for _ in range(2))
    found = sessions.current(empty_database, mine)
    assert found is not None and found.staff_id == number and found.participant_id is None
    for wrong in ("", mine[:-1], mine + "A", mine.swapcase()):
        assert sessions.current(empty_database, wrong) is None
    sessions.end(empty_database, mine)
    assert sessions.current(empty_database, mine) is None
    assert sessions.current(empty_database, other) is not None


def test_all_of_a_person_end_at_once(empty_database: Database, number: int) -> None:
    tokens = [sessions.begin(empty_database, staff_id=number) for _ in range(3)]
    sessions.end_all(empty_database, staff_id=number)
    assert not any(sessions.current(empty_database, token) for token in tokens)


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ("last_seen = clock_timestamp() - interval '29 minutes'", True),
        ("last_seen = clock_timestamp() - interval '31 minutes'", False),
        ("expires_at = clock_timestamp() - interval '1 second'", False),
    ],
)
def test_staff_sessions_end_in_time(
    empty_database: Database, number: int, change: str, holds: bool
) -> None:
    token = sessions.begin(empty_database, staff_id=number)
    _moved(empty_database, change)
    assert (sessions.current(empty_database, token) is not None) is holds
    if holds:  # being seen counts anew
        with empty_database.owning() as connection:
            seen = "select clock_timestamp() - last_seen < interval '1 minute' from session"
            assert connection.execute(text(seen)).scalar()


def test_the_longest_life_of_a_session(empty_database: Database, number: int) -> None:
    sessions.begin(empty_database, staff_id=number)
    with empty_database.owning() as connection:
        hours = "select extract(epoch from expires_at - created_at) / 3600 from session"
        assert float(connection.execute(text(hours)).scalar_one()) == pytest.approx(12, abs=0.01)
    assert sessions.PARTICIPANT_IDLE == 12 * 3600 and sessions.PARTICIPANT_LONGEST == 14 * 86400


def test_old_rows_are_cleared_away(empty_database: Database, number: int) -> None:
    sessions.begin(empty_database, staff_id=number)
    _moved(empty_database, "expires_at = clock_timestamp() - interval '1 second'")
    kept = sessions.begin(empty_database, staff_id=number)
    with empty_database.owning() as connection:
        rows = connection.execute(text("select token_sha256 from session")).scalars().all()
    assert [bytes(row) for row in rows] == [sessions.digest_of(kept)]


def test_a_session_has_an_owner(empty_database: Database) -> None:
    with pytest.raises(IntegrityError, match="one_owner"):
        sessions.begin(empty_database)
