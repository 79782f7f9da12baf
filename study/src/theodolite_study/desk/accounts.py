"""Accounts of the desk: made by a link that is good once, opened by passphrase and phone."""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from threading import BoundedSemaphore

from zxcvbn import zxcvbn  # type: ignore[import-untyped]

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite_study.desk.site import Connection, rows, write_log
from theodolite_study.keys import Keys
from theodolite_study.passwords import (
    AT_ONCE,
    check_code,
    check_passphrase,
    hashed,
    new_enrollment,
    new_phone_secret,
    phone_address,
    token_digest,
)
from theodolite_study.refusals import Invalid, NotHere, NothingNow

LEAST_GUESSES = 10**13
LONGEST_GUESSED = 72
"""Characters that are looked at to guess how often one has to guess: more would take long."""
USED = "This link has been used, or is too old. Ask for a new one."
SEALED_FOR = "account of the desk"
QUEUE_SECONDS = 10.0
_turns = BoundedSemaphore(AT_ONCE)
_known_turns = BoundedSemaphore(AT_ONCE)
_waiting = BoundedSemaphore(8)


@dataclass(frozen=True)
class DeskEnrollment:
    """What somebody needs to set up their account."""

    staff_id: int
    name: str
    secret: str = field(repr=False)
    address: str = field(repr=False)
    """The secret as apps read it from an image."""


def enroll_link(
    connection: Connection, keys: Keys, origin: str, name: str, *, operator: bool | None = None
) -> str:
    """A link that sets up an account, once and within a day.

    An account that is there already gets a new passphrase and phone by it, and is closed until
    then. So only whoever runs the server makes links for accounts that are there.

    Args:
        connection: Of the desk, or of the owner of the tables, who alone can say ``operator``.
        keys: Seal the secret of the phone.
        origin: Of the desk.
        name: Of the account.
        operator: Whether they run the server; None leaves it as it is.
    """
    if not 2 <= len(name) <= 60 or not name.isprintable() or name != name.strip():
        raise Invalid("A name has 2 to 60 letters.")
    invitation = new_enrollment(datetime.now(timezone.utc))
    values = (
        invitation.digest,
        invitation.expires,
        keys.sealed(new_phone_secret(), SEALED_FOR),
        name,
    )
    records = rows(
        connection,
        "update staff set enroll_sha256 = %s, enroll_expires_at = %s, totp_sealed = %s,"
        " totp_last_step = 0, password_hash = null, disabled = false where name = %s returning id",
        *values,
    )
    if not records:
        records = rows(
            connection,
            "insert into staff (enroll_sha256, enroll_expires_at, totp_sealed, name)"
            " values (%s, %s, %s, %s) returning id", *values,
        )  # fmt: skip
    staff_id = records[0]["id"]
    end_all(connection, staff_id)
    if operator is not None:
        connection.execute("update staff set operator = %s where id = %s", (operator, staff_id))
    detail = {"name": name, "became": "linked", "operator": bool(operator)}
    write_log(connection, "member", detail, study=None, staff=None)
    return f"{origin}/enroll/{invitation.token}"


def end_all(connection: Connection, staff_id: int) -> None:
    """No session and no known browser of an account any more."""
    connection.execute("delete from session where staff_id = %s", (staff_id,))
    connection.execute("delete from device where staff_id = %s", (staff_id,))


def enrollment(connection: Connection, keys: Keys, token: str) -> DeskEnrollment:
    """Whose link it is, and the secret for their phone. Looking uses nothing up."""
    records = rows(
        connection,
        "select id, name, totp_sealed from staff where enroll_sha256 = %s"
        " and enroll_expires_at > clock_timestamp() and not disabled", token_digest(token),
    )  # fmt: skip
    secret = phone_secret(keys, records[0]["totp_sealed"]) if records else None
    if secret is None:
        raise NotHere(USED)
    name = str(records[0]["name"])
    return DeskEnrollment(records[0]["id"], name, secret, phone_address(secret, name))


def enroll(
    connection: Connection, keys: Keys, token: str, passphrase: str, code: str, names: Sequence[str]
) -> int:
    """Set the account up; the link is used up. The transaction is the caller's."""
    who = enrollment(connection, keys, token)
    check_strength(passphrase, [who.name, *names, *study_names(connection, who.staff_id)])
    step = check_code(who.secret, code, None, time.time())
    if step is None:
        raise Invalid("The code of your phone does not fit. Please wait for the next one.")
    with turn():
        stored = hashed(passphrase)
    done = connection.execute(
        "update staff set password_hash = %s, totp_last_step = %s, enroll_sha256 = null,"
        " enroll_expires_at = null where enroll_sha256 = %s and not disabled",
        (stored, step, token_digest(token)),
    )
    if done.rowcount != 1:
        raise NotHere(USED)
    write_log(connection, "member", {"name": who.name, "became": "enrolled"}, study=None,
              staff=who.staff_id)  # fmt: skip
    return who.staff_id


def study_names(connection: Connection, staff_id: int) -> list[str]:
    """Names of the studies that an account belongs to: nobody's passphrase is made of them."""
    records = rows(
        connection,
        "select s.slug, s.title from study s join member m on m.study_id = s.id"
        " where m.staff_id = %s", staff_id,
    )  # fmt: skip
    return [name for study in records for name in (study["slug"], study["title"]) if name]


def check_strength(passphrase: str, names: Sequence[str]) -> None:
    """Refuse what is short, guessed first, or guessed within ten thousand thousand million tries.

    Neither the rules nor the number alone is enough: each accepts some that the other refuses.
    """
    try:
        check_passphrase(passphrase, names[0])
    except EvidenceError as error:
        raise Invalid(f"{error}") from error
    words = [part for name in names for part in (name, *re.findall(r"\w+", name))]
    guesses = float(zxcvbn(passphrase[:LONGEST_GUESSED], user_inputs=words)["guesses"])
    if guesses < LEAST_GUESSES:
        raise Invalid(
            "This passphrase is guessed too soon. Take four or more words that do not belong"
            " together."
        )


def phone_secret(keys: Keys, sealed: bytes | None) -> str | None:
    """Return the secret of an account's phone, or None if other keys sealed it."""
    try:
        return None if sealed is None else keys.opened(sealed, SEALED_FOR)
    except UnsafeInputError:
        return None


@contextmanager
def turn(*, known: bool = False) -> Iterator[None]:
    """A turn to look at a passphrase, in a queue that has an end.

    Those who come from a browser in which they signed in before have a queue of their own: others
    who try passphrases do not keep them waiting.
    """
    busy = NothingNow("Others sign in just now. Please try again in a moment.", 3)
    if known:
        if not _known_turns.acquire(timeout=QUEUE_SECONDS):
            raise busy
        try:
            yield
        finally:
            _known_turns.release()
        return
    if not _waiting.acquire(blocking=False):
        raise busy
    try:
        mine = _turns.acquire(timeout=QUEUE_SECONDS)
    finally:
        _waiting.release()
    if not mine:
        raise busy
    try:
        yield
    finally:
        _turns.release()
