import threading
from pathlib import Path

import pyotp
import pytest
from sqlalchemy import text

from support.study.small_study import opened, study_folder
from theodolite.errors import EvidenceError
from theodolite_study import staff
from theodolite_study.database import Database
from theodolite_study.keys import Keys
from theodolite_study.refusals import Invalid, NotHere, NothingNow
from theodolite_study.sessions import begin, current

PASSPHRASE = "nine quiet lanterns drift"


@pytest.fixture
def keys(database: Database, tmp_path: Path) -> Keys:
    return opened(database, study_folder(tmp_path / "s", instances=1))


def enrolled(
    database: Database, keys: Keys, name: str = "eve", slug: str = "small"
) -> tuple[int, str]:
    token = staff.invite_staff(database, slug, name, keys)
    secret = staff.enrolling(database, slug, token, keys).secret
    return staff.enrol(database, slug, token, PASSPHRASE, pyotp.TOTP(secret).now(), keys), secret


def next_code(database: Database, secret: str) -> str:
    """A code that was not used yet: as if half a minute had passed."""
    with database.owning() as connection:
        connection.execute(text("update staff set totp_last_step = 0"))
    return pyotp.TOTP(secret).now()


def test_invited_enrolled_logged_in(database: Database, keys: Keys) -> None:
    number, secret = enrolled(database, keys)
    code = next_code(database, secret)
    assert staff.log_in(database, "small", "eve", PASSPHRASE, code, keys) == number
    assert staff.staff_name(database, "small", number) == "eve"
    with pytest.raises(Invalid):  # a code is good once
        staff.log_in(database, "small", "eve", PASSPHRASE, code, keys)


def test_a_link_works_once(database: Database, keys: Keys) -> None:
    token = staff.invite_staff(database, "small", "eve", keys)
    secret = staff.enrolling(database, "small", token, keys).secret
    with pytest.raises(Invalid):
        staff.enrol(database, "small", token, PASSPHRASE, "000000", keys)
    with pytest.raises(EvidenceError):
        staff.enrol(database, "small", token, "short", pyotp.TOTP(secret).now(), keys)
    staff.enrol(database, "small", token, PASSPHRASE, pyotp.TOTP(secret).now(), keys)
    with pytest.raises(NotHere):
        staff.enrolling(database, "small", token, keys)
    with pytest.raises(NotHere):
        staff.enrol(database, "small", token, PASSPHRASE, pyotp.TOTP(secret).now(), keys)


def test_an_old_link_does_not_work(database: Database, keys: Keys) -> None:
    token = staff.invite_staff(database, "small", "eve", keys)
    with database.owning() as connection:
        connection.execute(text("update staff set enrol_expires_at = now() - interval '1 s'"))
    with pytest.raises(NotHere):
        staff.enrolling(database, "small", token, keys)


@pytest.mark.parametrize("wrong", ["name", "passphrase", "code"])
def test_what_was_wrong_is_not_told(database: Database, keys: Keys, wrong: str) -> None:
    _, secret = enrolled(database, keys)
    given = {"name": "eve", "passphrase": PASSPHRASE, "code": next_code(database, secret)}
    given[wrong] = {"name": "bob", "passphrase": PASSPHRASE + "s", "code": "000000"}[wrong]
    with pytest.raises(Invalid, match="do not fit together"):
        staff.log_in(database, "small", given["name"], given["passphrase"], given["code"], keys)


def said_to(database: Database, keys: Keys, name: str) -> str:
    with pytest.raises(Invalid) as refused:
        staff.log_in(database, "small", name, PASSPHRASE, "000000", keys)
    return refused.value.message


def test_five_failures_lock_the_account(database: Database, keys: Keys) -> None:
    _, secret = enrolled(database, keys)
    for _ in range(5):
        with pytest.raises(Invalid):
            staff.log_in(database, "small", "eve", PASSPHRASE + "x", "000000", keys)
    with pytest.raises(Invalid) as refused:
        staff.log_in(database, "small", "eve", PASSPHRASE, next_code(database, secret), keys)
    assert refused.value.message == said_to(database, keys, "nobody")  # nor that it is there
    assert "quarter of an hour" in refused.value.message
    with database.owning() as connection:
        connection.execute(text("update staff set locked_until = now() - interval '1 s'"))
    assert staff.log_in(database, "small", "eve", PASSPHRASE, next_code(database, secret), keys)


def test_a_disabled_or_new_account_ends_its_sessions(database: Database, keys: Keys) -> None:
    number, secret = enrolled(database, keys)
    token = begin(database, staff_id=number)
    assert current(database, token) is not None
    staff.invite_staff(database, "small", "eve", keys)
    assert current(database, token) is None
    number, secret = enrolled(database, keys)
    token = begin(database, staff_id=number)
    staff.disable_staff(database, "small", "eve")
    assert current(database, token) is None
    with pytest.raises(Invalid):
        staff.log_in(database, "small", "eve", PASSPHRASE, next_code(database, secret), keys)
    with pytest.raises(NotHere):
        staff.staff_name(database, "small", number)


def test_staff_of_one_study_are_nobody_in_another(
    database: Database, keys: Keys, tmp_path: Path
) -> None:
    other = opened(database, study_folder(tmp_path / "o", instances=1, slug="other"))
    number, secret = enrolled(database, keys)
    code = next_code(database, secret)
    for theirs in (other, keys):
        with pytest.raises(Invalid, match="do not fit together"):
            staff.log_in(database, "other", "eve", PASSPHRASE, code, theirs)
    with pytest.raises(NotHere):
        staff.staff_name(database, "other", number)
    with pytest.raises(NotHere):
        staff.disable_staff(database, "other", "eve")
    token = staff.invite_staff(database, "small", "dan", keys)
    with pytest.raises(NotHere):
        staff.enrolling(database, "other", token, other)
    with pytest.raises(NotHere):
        staff.invite_staff(database, "nowhere", "eve", keys)
    # the same name there is another account
    namesake, _ = enrolled(database, other, slug="other")
    assert namesake != number
    assert staff.log_in(database, "small", "eve", PASSPHRASE, code, keys) == number


def test_other_keys_are_a_wrong_code(database: Database, keys: Keys, tmp_path: Path) -> None:
    _, secret = enrolled(database, keys)
    token = staff.invite_staff(database, "small", "dan", keys)
    strange = Keys.create(tmp_path / "strange.json")
    with pytest.raises(Invalid, match="do not fit together"):
        staff.log_in(database, "small", "eve", PASSPHRASE, next_code(database, secret), strange)
    with pytest.raises(NotHere):
        staff.enrolling(database, "small", token, strange)


def test_nothing_is_held_while_a_passphrase_is_looked_at(
    database: Database, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And at most two are looked at: others are told when to come back."""
    _, secret = enrolled(database, keys)
    code = next_code(database, secret)
    look, both, go_on = staff.verified, threading.Barrier(3), threading.Event()

    def slow(stored: str | None, given: str) -> object:
        both.wait(20)
        assert go_on.wait(20)
        return look(stored, given)

    ended: list[object] = []

    def attempt() -> None:
        try:
            ended.append(staff.log_in(database, "small", "eve", PASSPHRASE, code, keys))
        except Invalid as refusal:
            ended.append(refusal.message)

    monkeypatch.setattr(staff, "verified", slow)
    attempts = [threading.Thread(target=attempt) for _ in range(2)]
    for one in attempts:
        one.start()
    both.wait(20)
    try:
        with database.owning() as connection:
            connection.execute(text("select from staff for update nowait"))
            busy = "select count(*) from pg_stat_activity where state like 'idle in%'"
            assert connection.execute(text(busy)).scalar() == 0
        with pytest.raises(NothingNow) as refused:
            staff.log_in(database, "small", "eve", PASSPHRASE, code, keys)
        assert refused.value.retry_after > 0
    finally:
        go_on.set()
        for one in attempts:
            one.join()
    # both had the same code, read at the same time: it is good once
    assert sorted(map(type, ended), key=str) == [int, str]
    monkeypatch.setattr(staff, "verified", look)
    assert staff.log_in(database, "small", "eve", PASSPHRASE, next_code(database, secret), keys)


def test_a_changed_account_does_not_log_in_with_what_was_read_before(
    database: Database, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, secret = enrolled(database, keys)
    code, look = next_code(database, secret), staff.verified

    def meanwhile(stored: str | None, given: str) -> object:
        staff.disable_staff(database, "small", "eve")
        return look(stored, given)

    monkeypatch.setattr(staff, "verified", meanwhile)
    with pytest.raises(Invalid):
        staff.log_in(database, "small", "eve", PASSPHRASE, code, keys)
