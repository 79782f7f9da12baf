"""Those who run a study: accounts by invitation, a passphrase and a code of their phone."""

import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, case, func, insert, or_, select, update

from theodolite.errors import RefusedInput
from theodolite_study import tables
from theodolite_study.database import Database
from theodolite_study.events import log
from theodolite_study.keys import Keys
from theodolite_study.passwords import (
    check_code,
    check_passphrase,
    hashed,
    new_enrolment,
    new_phone_secret,
    phone_address,
    token_digest,
    turn,
    verified,
)
from theodolite_study.refusals import Invalid, NotHere
from theodolite_study.rows import Found
from theodolite_study.sessions import end_all

FAILURES = 5
LOCKED = timedelta(minutes=15)
WRONG = (
    "Name, passphrase and code do not fit together. After several failures one has to wait a "
    "quarter of an hour."
)
USED = "This link has been used, or is too old. Ask for a new one."


@dataclass(frozen=True)
class Enrolling:
    """What somebody needs to set up their account."""

    name: str
    secret: str = field(repr=False)
    address: str = field(repr=False)


def invite_staff(database: Database, slug: str, name: str, keys: Keys) -> str:
    """A token for a link that sets up an account of one study, once. Sent by whoever runs it.

    An account that is there already gets a new one: that is how a lost phone is replaced.
    """
    if not 2 <= len(name) <= 60 or not name.isprintable():
        raise Invalid("A name has 2 to 60 letters.")
    made = new_enrolment(datetime.now(timezone.utc))
    values = {
        "enrol_sha256": made.digest,
        "enrol_expires_at": made.expires,
        "totp_sealed": keys.sealed(new_phone_secret(), _sealed_for(slug)),
        "password_hash": None,
        "failures": 0,
        "locked_until": None,
        "disabled": False,
    }
    with database.owning() as connection:
        study_id = _study(connection, slug)
        known = connection.execute(
            update(tables.staff)
            .where(tables.staff.c.study_id == study_id, tables.staff.c.name == name)
            .values(**values)
            .returning(tables.staff.c.id)
        ).scalar()
        if known is None:
            connection.execute(insert(tables.staff).values(study_id=study_id, name=name, **values))
        log(connection, study_id, "owner", "staff invited", name)
    if known is not None:
        end_all(database, staff_id=known)
    return made.token


def enrolling(database: Database, slug: str, token: str, keys: Keys) -> Enrolling:
    """Whose link it is, and the secret for their phone."""
    with database.transaction() as connection:
        row = connection.execute(
            _of_study(slug).where(
                tables.staff.c.enrol_sha256 == token_digest(token),
                tables.staff.c.enrol_expires_at > func.clock_timestamp(),
                ~tables.staff.c.disabled,
            )
        ).one_or_none()
    secret = None if row is None else _phone(row, slug, keys)
    if row is None or secret is None:
        raise NotHere(USED)
    return Enrolling(row.name, secret, phone_address(secret, row.name))


def enrol(database: Database, slug: str, token: str, passphrase: str, code: str, keys: Keys) -> int:
    """Set the account up; the link is used up."""
    who = enrolling(database, slug, token, keys)
    check_passphrase(passphrase, who.name)
    step = check_code(who.secret, code, None, time.time())
    if step is None:
        raise Invalid("The code of your phone does not fit. Please wait for the next one.")
    with turn():
        kept = hashed(passphrase)
    with database.transaction() as connection:
        found = connection.execute(
            update(tables.staff)
            .where(tables.staff.c.enrol_sha256 == token_digest(token), ~tables.staff.c.disabled)
            .values(
                password_hash=kept, totp_last_step=step, enrol_sha256=None,
                enrol_expires_at=None, failures=0, locked_until=None,
            )
            .returning(tables.staff.c.id, tables.staff.c.study_id)
        ).one_or_none()  # fmt: skip
        if found is None:
            raise NotHere(USED)
        log(connection, found.study_id, who.name, "staff enrolled")
    return int(found.id)


def log_in(database: Database, slug: str, name: str, passphrase: str, code: str, keys: Keys) -> int:
    """The account's number. What was wrong is not told; five failures lock it for a while.

    The passphrase is looked at outside of any transaction: it takes long, and nobody else's
    connection waits for it. The code is then used up by one statement, so it is good once.
    """
    with database.transaction() as connection:
        row = connection.execute(
            _of_study(slug).where(tables.staff.c.name == name, ~tables.staff.c.disabled)
        ).one_or_none()
    with turn():
        verdict = verified(None if row is None else row.password_hash, passphrase)
    if row is None or row.password_hash is None:
        raise Invalid(WRONG)
    secret = _phone(row, slug, keys)
    step = None if secret is None else check_code(secret, code, row.totp_last_step, time.time())
    fits = verdict.right and step is not None
    with database.transaction() as connection:
        known = (
            tables.staff.c.id == row.id,
            tables.staff.c.password_hash == row.password_hash,
            ~tables.staff.c.disabled,
            or_(
                tables.staff.c.locked_until.is_(None),
                tables.staff.c.locked_until <= func.clock_timestamp(),
            ),
        )
        came = fits and _came_in(connection, known, step, verdict.rehashed)
        if not came:
            _failed(connection, known)
        log(connection, row.study_id, name, "staff logged in" if came else "staff failed to log in")
    if not came:
        raise Invalid(WRONG)
    return int(row.id)


def _came_in(
    connection: Connection, known: tuple[Any, ...], step: int | None, rehashed: str | None
) -> bool:
    values: dict[str, Any] = {"failures": 0, "locked_until": None, "totp_last_step": step}
    if rehashed is not None:
        values["password_hash"] = rehashed
    return bool(
        connection.execute(
            update(tables.staff)
            .where(*known, tables.staff.c.totp_last_step < step)
            .values(**values)
        ).rowcount
    )


def _failed(connection: Connection, known: tuple[Any, ...]) -> None:
    """Counted by the database: two at once are two."""
    one_more = tables.staff.c.failures + 1
    connection.execute(
        update(tables.staff)
        .where(*known)
        .values(
            failures=one_more % FAILURES,
            locked_until=case((one_more >= FAILURES, func.clock_timestamp() + LOCKED), else_=None),
        )
    )


def staff_name(database: Database, slug: str, staff_id: int) -> str:
    """Whose account of this study it is."""
    with database.transaction() as connection:
        row = connection.execute(
            _of_study(slug).where(tables.staff.c.id == staff_id, ~tables.staff.c.disabled)
        ).one_or_none()
    if row is None:
        raise NotHere
    return str(row.name)


def disable_staff(database: Database, slug: str, name: str) -> None:
    """The account can no longer be used, from now on."""
    with database.owning() as connection:
        study_id = _study(connection, slug)
        found = connection.execute(
            update(tables.staff)
            .where(tables.staff.c.study_id == study_id, tables.staff.c.name == name)
            .values(disabled=True)
            .returning(tables.staff.c.id)
        ).scalar()
        if found is None:
            raise NotHere(f"There is no account {name!r}.")
        log(connection, study_id, "owner", "staff disabled", name)
    end_all(database, staff_id=found)


def _of_study(slug: str) -> Any:
    joined = tables.staff.join(tables.study, tables.study.c.id == tables.staff.c.study_id)
    return select(tables.staff).select_from(joined).where(tables.study.c.slug == slug)


def _study(connection: Connection, slug: str) -> UUID:
    found: UUID | None = connection.execute(
        select(tables.study.c.id).where(tables.study.c.slug == slug)
    ).scalar()
    if found is None:
        raise NotHere(f"There is no study {slug!r}.")
    return found


def _sealed_for(slug: str) -> str:
    return f"staff of {slug}"


def _phone(row: Found, slug: str, keys: Keys) -> str | None:
    """Nothing if other keys sealed it: then no code fits."""
    try:
        return keys.opened(row.totp_sealed, _sealed_for(slug))
    except RefusedInput:
        return None
