import pyotp
import pytest
from sqlalchemy import text

from theodolite.errors import EvidenceError
from theodolite.study import staff
from theodolite.study.database import Database
from theodolite.study.keys import Keys
from theodolite.study.refusals import Invalid, NotHere
from theodolite.study.sessions import begin, current

PASSPHRASE = "nine quiet lanterns drift"


@pytest.fixture
def keys(tmp_path) -> Keys:
    return Keys.create(tmp_path / "keys.json")


def enrolled(database: Database, keys: Keys, name: str = "eve") -> tuple[int, str]:
    token = staff.invite_staff(database, name, keys)
    secret = staff.enrolling(database, token, keys).secret
    return staff.enrol(database, token, PASSPHRASE, pyotp.TOTP(secret).now(), keys), secret


def next_code(database: Database, secret: str) -> str:
    """A code that was not used yet: as if half a minute had passed."""
    with database.owning() as connection:
        connection.execute(text("update staff set totp_last_step = 0"))
    return pyotp.TOTP(secret).now()


def test_invited_enrolled_logged_in(database: Database, keys: Keys) -> None:
    number, secret = enrolled(database, keys)
    code = next_code(database, secret)
    assert staff.log_in(database, "eve", PASSPHRASE, code, keys) == number
    assert staff.staff_name(database, number) == "eve"
    with pytest.raises(Invalid):  # a code is good once
        staff.log_in(database, "eve", PASSPHRASE, code, keys)


def test_a_link_works_once(database: Database, keys: Keys) -> None:
    token = staff.invite_staff(database, "eve", keys)
    secret = staff.enrolling(database, token, keys).secret
    with pytest.raises(Invalid):
        staff.enrol(database, token, PASSPHRASE, "000000", keys)
    with pytest.raises(EvidenceError):
        staff.enrol(database, token, "short", pyotp.TOTP(secret).now(), keys)
    staff.enrol(database, token, PASSPHRASE, pyotp.TOTP(secret).now(), keys)
    with pytest.raises(NotHere):
        staff.enrolling(database, token, keys)
    with pytest.raises(NotHere):
        staff.enrol(database, token, PASSPHRASE, pyotp.TOTP(secret).now(), keys)


def test_an_old_link_does_not_work(database: Database, keys: Keys) -> None:
    token = staff.invite_staff(database, "eve", keys)
    with database.owning() as connection:
        connection.execute(text("update staff set enrol_expires_at = now() - interval '1 s'"))
    with pytest.raises(NotHere):
        staff.enrolling(database, token, keys)


@pytest.mark.parametrize("wrong", ["name", "passphrase", "code"])
def test_what_was_wrong_is_not_told(database: Database, keys: Keys, wrong: str) -> None:
    _, secret = enrolled(database, keys)
    given = {"name": "eve", "passphrase": PASSPHRASE, "code": next_code(database, secret)}
    given[wrong] = {"name": "bob", "passphrase": PASSPHRASE + "s", "code": "000000"}[wrong]
    with pytest.raises(Invalid, match="do not fit together"):
        staff.log_in(database, given["name"], given["passphrase"], given["code"], keys)


def test_five_failures_lock_the_account(database: Database, keys: Keys) -> None:
    _, secret = enrolled(database, keys)
    for _ in range(5):
        with pytest.raises(Invalid):
            staff.log_in(database, "eve", PASSPHRASE + "x", "000000", keys)
    with pytest.raises(Invalid, match="Too many"):
        staff.log_in(database, "eve", PASSPHRASE, next_code(database, secret), keys)
    with database.owning() as connection:
        connection.execute(text("update staff set locked_until = now() - interval '1 s'"))
    assert staff.log_in(database, "eve", PASSPHRASE, next_code(database, secret), keys)


def test_a_disabled_or_new_account_ends_its_sessions(database: Database, keys: Keys) -> None:
    number, secret = enrolled(database, keys)
    token = begin(database, staff_id=number)
    assert current(database, token) is not None
    staff.invite_staff(database, "eve", keys)
    assert current(database, token) is None
    number, secret = enrolled(database, keys)
    token = begin(database, staff_id=number)
    staff.disable_staff(database, "eve")
    assert current(database, token) is None
    with pytest.raises(Invalid):
        staff.log_in(database, "eve", PASSPHRASE, next_code(database, secret), keys)
    with pytest.raises(NotHere):
        staff.staff_name(database, number)
