"""Those who run a study: accounts by invitation, a passphrase and a code of their phone."""

import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from sqlalchemy import func, insert, select, update

from theodolite.study import tables
from theodolite.study.database import Database
from theodolite.study.events import log
from theodolite.study.keys import Keys
from theodolite.study.passwords import (
    check_code,
    check_passphrase,
    hashed,
    new_enrolment,
    new_phone_secret,
    phone_address,
    token_digest,
    verified,
)
from theodolite.study.refusals import Invalid, NotHere
from theodolite.study.sessions import end_all

FAILURES = 5
LOCKED = timedelta(minutes=15)
SEALED_FOR = "staff"


@dataclass(frozen=True)
class Enrolling:
    """What somebody needs to set up their account."""

    name: str
    secret: str = field(repr=False)
    address: str = field(repr=False)


def invite_staff(database: Database, name: str, keys: Keys) -> str:
    """A token for a link that sets up an account, once. Sent by whoever runs the server.

    An account that is there already gets a new one: that is how a lost phone is replaced.
    """
    if not 2 <= len(name) <= 60 or not name.isprintable():
        raise Invalid("A name has 2 to 60 letters.")
    made = new_enrolment(datetime.now(timezone.utc))
    values = {
        "enrol_sha256": made.digest,
        "enrol_expires_at": made.expires,
        "totp_sealed": keys.sealed(new_phone_secret(), SEALED_FOR),
        "password_hash": None,
        "failures": 0,
        "locked_until": None,
        "disabled": False,
    }
    with database.owning() as connection:
        known = connection.execute(
            update(tables.staff)
            .where(tables.staff.c.name == name)
            .values(**values)
            .returning(tables.staff.c.id)
        ).scalar()
        if known is None:
            connection.execute(insert(tables.staff).values(name=name, **values))
        log(connection, None, "owner", "staff invited", name)
    if known is not None:
        end_all(database, staff_id=known)
    return made.token


def enrolling(database: Database, token: str, keys: Keys) -> Enrolling:
    """Whose link it is, and the secret for their phone."""
    with database.transaction() as connection:
        row = connection.execute(
            select(tables.staff).where(
                tables.staff.c.enrol_sha256 == token_digest(token),
                tables.staff.c.enrol_expires_at > func.clock_timestamp(),
                ~tables.staff.c.disabled,
            )
        ).one_or_none()
    if row is None:
        raise NotHere("This link has been used, or is too old. Ask for a new one.")
    secret = keys.opened(row.totp_sealed, SEALED_FOR)
    return Enrolling(row.name, secret, phone_address(secret, row.name))


def enrol(database: Database, token: str, passphrase: str, code: str, keys: Keys) -> int:
    """Set the account up; the link is used up."""
    who = enrolling(database, token, keys)
    check_passphrase(passphrase, who.name)
    step = check_code(who.secret, code, None, time.time())
    if step is None:
        raise Invalid("The code of your phone does not fit. Please wait for the next one.")
    with database.transaction() as connection:
        found: int | None = connection.execute(
            update(tables.staff)
            .where(tables.staff.c.enrol_sha256 == token_digest(token))
            .values(
                password_hash=hashed(passphrase), totp_last_step=step, enrol_sha256=None,
                enrol_expires_at=None, failures=0, locked_until=None,
            )
            .returning(tables.staff.c.id)
        ).scalar()  # fmt: skip
        if found is None:
            raise NotHere("This link has been used. Ask for a new one.")
        log(connection, None, who.name, "staff enrolled")
    return found


def log_in(database: Database, name: str, passphrase: str, code: str, keys: Keys) -> int:
    """The account's number. Which of the three was wrong is not told; five failures lock it."""
    wrong = Invalid("Name, passphrase and code do not fit together.")
    with database.transaction() as connection:
        row = connection.execute(
            select(tables.staff).where(tables.staff.c.name == name).with_for_update()
        ).one_or_none()
        usable = row is not None and row.password_hash is not None and not row.disabled
        verdict = verified(row.password_hash if row is not None and usable else None, passphrase)
        if row is None or not usable:
            raise wrong
        if row.locked_until is not None and row.locked_until > datetime.now(timezone.utc):
            raise Invalid("Too many attempts. Please wait a quarter of an hour.")
        secret = keys.opened(row.totp_sealed, SEALED_FOR)
        step = check_code(secret, code, row.totp_last_step, time.time())
        fits = verdict.right and step is not None
        failures = 0 if fits else row.failures + 1
        values = {"failures": failures % FAILURES, "locked_until": None}
        if failures >= FAILURES:
            values["locked_until"] = datetime.now(timezone.utc) + LOCKED
        if fits:
            values["totp_last_step"] = step
        if verdict.rehashed is not None:
            values["password_hash"] = verdict.rehashed
        connection.execute(update(tables.staff).where(tables.staff.c.id == row.id).values(**values))
        log(connection, None, name, "staff logged in" if fits else "staff failed to log in")
    if not fits:
        raise wrong
    return int(row.id)


def staff_name(database: Database, staff_id: int) -> str:
    """Whose account it is."""
    with database.transaction() as connection:
        name: str | None = connection.execute(
            select(tables.staff.c.name).where(
                tables.staff.c.id == staff_id, ~tables.staff.c.disabled
            )
        ).scalar()
    if name is None:
        raise NotHere
    return name


def disable_staff(database: Database, name: str) -> None:
    """The account can no longer be used, from now on."""
    with database.owning() as connection:
        found = connection.execute(
            update(tables.staff)
            .where(tables.staff.c.name == name)
            .values(disabled=True)
            .returning(tables.staff.c.id)
        ).scalar()
        if found is None:
            raise NotHere(f"There is no account {name!r}.")
        log(connection, None, "owner", "staff disabled", name)
    end_all(database, staff_id=found)
