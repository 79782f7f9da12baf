"""Create accounts of the admin console by one-time links, with passphrase and phone code."""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from threading import BoundedSemaphore

from zxcvbn import zxcvbn  # type: ignore[import-untyped]

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite_study.desk.site import Connection, fetch_rows, write_log
from theodolite_study.keys import Keys
from theodolite_study.passwords import (
    MAX_CONCURRENT_CHECKS,
    check_code,
    check_passphrase,
    digest_token,
    format_phone_address,
    hash_passphrase,
    make_enrollment,
    make_phone_secret,
)
from theodolite_study.refusals import Invalid, NotHere, NothingNow

MIN_GUESSES = 10**13
"""Minimum estimated number of guesses for a passphrase."""
MAX_GUESSED_CHARACTERS = 72
"""Characters of a passphrase that the estimate reads, as more would take long."""
USED_MESSAGE = "This link has been used, or is too old. Ask for a new one."
ENCRYPTION_PURPOSE = "account of the desk"
LOCAL_LINK_LIFETIME = timedelta(minutes=15)
QUEUE_SECONDS = 10.0
_turns = BoundedSemaphore(MAX_CONCURRENT_CHECKS)
_known_turns = BoundedSemaphore(MAX_CONCURRENT_CHECKS)
_waiting = BoundedSemaphore(8)


@dataclass(frozen=True)
class DeskEnrollment:
    """Data that a person needs to set up an account."""

    staff_id: int
    name: str
    secret: str = field(repr=False)
    address: str = field(repr=False)
    """Phone secret as an address that apps read from a QR code."""


def make_enroll_link(
    connection: Connection, keys: Keys, origin: str, name: str, *, operator: bool | None = None
) -> str:
    """Return a link that sets up an account, once and within a day.

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
    invitation = make_enrollment(datetime.now(timezone.utc))
    values = (
        invitation.digest,
        invitation.expires,
        keys.encrypt(make_phone_secret(), ENCRYPTION_PURPOSE),
        name,
    )
    records = fetch_rows(
        connection,
        "update staff set enroll_sha256 = %s, enroll_expires_at = %s, totp_sealed = %s,"
        " totp_last_step = 0, password_hash = null, disabled = false where name = %s returning id",
        *values,
    )
    if not records:
        records = fetch_rows(
            connection,
            "insert into staff (enroll_sha256, enroll_expires_at, totp_sealed, name)"
            " values (%s, %s, %s, %s) returning id", *values,
        )  # fmt: skip
    staff_id = records[0]["id"]
    end_all_sessions(connection, staff_id)
    if operator is not None:
        connection.execute("update staff set operator = %s where id = %s", (operator, staff_id))
    detail = {"name": name, "became": "linked", "operator": bool(operator)}
    write_log(connection, "member", detail, study=None, staff=None)
    return f"{origin}/enroll/{invitation.token}"


def make_local_link(connection: Connection, origin: str, name: str = "owner") -> str:
    """Return a link that signs in at once, once and within 15 minutes, on this machine only.

    The account has no passphrase, so that nobody signs in to it in another way. It owns the studies
    that nobody owns yet.
    """
    invitation = make_enrollment(datetime.now(timezone.utc), LOCAL_LINK_LIFETIME)
    connection.execute(
        "insert into staff (name, enroll_sha256, enroll_expires_at, operator)"
        " values (%s, %s, %s, true) on conflict (name) do update set"
        " enroll_sha256 = excluded.enroll_sha256, enroll_expires_at = excluded.enroll_expires_at"
        " where staff.password_hash is null",
        (name, invitation.digest, invitation.expires),
    )
    own_free_studies(connection, name)
    return f"{origin}/enter/{invitation.token}"


def own_free_studies(connection: Connection, name: str) -> None:
    """Make an account the owner of all studies without one."""
    connection.execute(
        "insert into member (study_id, staff_id, role) select s.id, t.id, 'owner'"
        " from study s, staff t where t.name = %s and not exists"
        " (select from member m where m.study_id = s.id)",
        (name,),
    )


def use_local_link(connection: Connection, token: str) -> int:
    """Use a link for this machine up, and return its account."""
    records = fetch_rows(
        connection,
        "update staff set enroll_sha256 = null, enroll_expires_at = null, last_success ="
        " clock_timestamp() where enroll_sha256 = %s and enroll_expires_at > clock_timestamp()"
        " and not disabled and password_hash is null and totp_sealed is null returning id",
        digest_token(token),
    )  # fmt: skip
    if not records:
        raise NotHere(USED_MESSAGE)
    return int(records[0]["id"])


def end_all_sessions(connection: Connection, staff_id: int) -> None:
    """Delete all sessions and known browsers of an account."""
    connection.execute("delete from session where staff_id = %s", (staff_id,))
    connection.execute("delete from device where staff_id = %s", (staff_id,))


def load_enrollment(connection: Connection, keys: Keys, token: str) -> DeskEnrollment:
    """Return the account of a link and its phone secret; viewing does not use the link up."""
    records = fetch_rows(
        connection,
        "select id, name, totp_sealed from staff where enroll_sha256 = %s"
        " and enroll_expires_at > clock_timestamp() and not disabled", digest_token(token),
    )  # fmt: skip
    secret = decrypt_phone_secret(keys, records[0]["totp_sealed"]) if records else None
    if secret is None:
        raise NotHere(USED_MESSAGE)
    name = str(records[0]["name"])
    return DeskEnrollment(records[0]["id"], name, secret, format_phone_address(secret, name))


def enroll(
    connection: Connection, keys: Keys, token: str, passphrase: str, code: str, names: Sequence[str]
) -> int:
    """Set up the account and use the link up, within the caller's transaction."""
    who = load_enrollment(connection, keys, token)
    check_strength(passphrase, [who.name, *names, *load_study_names(connection, who.staff_id)])
    step = check_code(who.secret, code, None, time.time())
    if step is None:
        raise Invalid("The code of your phone does not fit. Please wait for the next one.")
    with wait_for_check():
        stored = hash_passphrase(passphrase)
    done = connection.execute(
        "update staff set password_hash = %s, totp_last_step = %s, enroll_sha256 = null,"
        " enroll_expires_at = null where enroll_sha256 = %s and not disabled",
        (stored, step, digest_token(token)),
    )
    if done.rowcount != 1:
        raise NotHere(USED_MESSAGE)
    write_log(connection, "member", {"name": who.name, "became": "enrolled"}, study=None,
              staff=who.staff_id)  # fmt: skip
    return who.staff_id


def load_study_names(connection: Connection, staff_id: int) -> list[str]:
    """Return the names of an account's studies, which its passphrase must not contain."""
    records = fetch_rows(
        connection,
        "select s.slug, s.title from study s join member m on m.study_id = s.id"
        " where m.staff_id = %s", staff_id,
    )  # fmt: skip
    return [name for study in records for name in (study["slug"], study["title"]) if name]


def check_strength(passphrase: str, names: Sequence[str]) -> None:
    """Refuse a passphrase that is short, common, or guessed within 10¹³ attempts.

    Neither the rules nor the number alone is enough: each accepts some that the other refuses.
    """
    try:
        check_passphrase(passphrase, names[0])
    except EvidenceError as error:
        raise Invalid(f"{error}") from error
    words = [part for name in names for part in (name, *re.findall(r"\w+", name))]
    guesses = float(zxcvbn(passphrase[:MAX_GUESSED_CHARACTERS], user_inputs=words)["guesses"])
    if guesses < MIN_GUESSES:
        raise Invalid(
            "This passphrase is guessed too soon. Take four or more words that do not belong"
            " together."
        )


def decrypt_phone_secret(keys: Keys, sealed: bytes | None) -> str | None:
    """Return the secret of an account's phone, or None if other keys encrypted it."""
    try:
        return None if sealed is None else keys.decrypt(sealed, ENCRYPTION_PURPOSE)
    except UnsafeInputError:
        return None


@contextmanager
def wait_for_check(*, known: bool = False) -> Iterator[None]:
    """Wait for a turn to check a passphrase, in a queue of limited length.

    Known browsers have a queue of their own, so that attacks from elsewhere do not delay them.
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
