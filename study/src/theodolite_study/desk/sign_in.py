"""Signing in: what was wrong is not told, and knowing a name is not enough to lock anybody out."""

import hashlib
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from theodolite_study.desk.accounts import phone_secret, turn
from theodolite_study.desk.sessions import DEVICE_SECONDS, begin_session
from theodolite_study.desk.site import Connection, DeskSite, rows, write_log
from theodolite_study.passwords import check_code, token_digest, verified
from theodolite_study.refusals import Invalid, Refused

FREE_FAILURES = 5
FIRST_DELAY, LONGEST_DELAY = 10, 900
"""Seconds: after the fifth failure, doubled by each further one."""
WRONG = "Name, passphrase and code do not fit together."
ACCOUNT = """
    select a.id, a.password_hash, a.totp_sealed, a.totp_last_step,
           exists (select from device d where d.staff_id = a.id and d.token_sha256 = %s
                     and d.expires_at > clock_timestamp()) as known
    from staff a where a.name = %s and not a.disabled"""


@dataclass(frozen=True)
class Credentials:
    """What somebody signs in with, and from where."""

    name: str
    passphrase: str = field(repr=False)
    code: str = field(repr=False)
    network: str = field(repr=False)
    device: str = field(default="", repr=False)
    """The cookie of a browser in which somebody signed in before."""


@dataclass(frozen=True)
class SignedIn:
    """Tokens for the browser."""

    session: str = field(repr=False)
    device: str = field(repr=False)


def sign_in(site: DeskSite, credentials: Credentials) -> SignedIn:
    """Begin a session. No connection is held while the passphrase is looked at."""
    with site.pool.connection() as connection:
        records = rows(connection, ACCOUNT, token_digest(credentials.device), credentials.name)
    account = records[0] if records else None
    known = account is not None and account["known"]
    key = _key(credentials, known=known)
    with turn(known=known):
        with site.pool.connection() as connection:
            count_attempt(connection, key)
        verdict = verified(
            None if account is None else account["password_hash"], credentials.passphrase
        )
    step = None
    if account is not None and verdict.right:
        secret = phone_secret(site.keys, account["totp_sealed"])
        if secret is not None:
            step = check_code(secret, credentials.code, account["totp_last_step"], time.time())
    with site.pool.connection() as connection:
        right = account is not None and step is not None and _use_code(connection, account, step)
        staff = None if account is None else account["id"]
        write_log(connection, "signed in" if right else "sign-in failed", study=None, staff=staff)
        if right and account is not None:
            connection.execute("delete from sign_in_failure where key = %s", (key,))
            if verdict.rehashed is not None:
                connection.execute("update staff set password_hash = %s where id = %s",
                                   (verdict.rehashed, staff))  # fmt: skip
            device = credentials.device if known else new_device(connection, account["id"])
            return SignedIn(begin_session(connection, account["id"]), device)
    raise Invalid(WRONG)


def count_attempt(connection: Connection, key: bytes) -> None:
    """Count before looking, in one statement, so that many at once are as many; refuse while a
    delay lasts. Failures of yesterday are forgotten."""
    connection.execute(
        "delete from sign_in_failure where at < clock_timestamp() - interval '1 day'"
    )
    counted = rows(
        connection,
        "insert into sign_in_failure as f (key, failures, until) values (%s, 1, clock_timestamp())"
        " on conflict (key) do update set failures = f.failures + 1, at = clock_timestamp(),"
        " until = case when f.failures + 1 < %s then clock_timestamp() else clock_timestamp() +"
        " make_interval(secs => least(%s, %s * 2 ^ least(f.failures + 1 - %s, 20))) end"
        " where f.until <= clock_timestamp() returning failures",
        key, FREE_FAILURES, LONGEST_DELAY, FIRST_DELAY, FREE_FAILURES,
    )  # fmt: skip
    if not counted:
        left = rows(
            connection,
            "select extract(epoch from until - clock_timestamp())::int + 1 as seconds"
            " from sign_in_failure where key = %s", key,
        )  # fmt: skip
        seconds = max(1, left[0]["seconds"]) if left else 1
        raise Refused(429, f"Several attempts failed. Please wait {seconds} seconds.", seconds)


def new_device(connection: Connection, staff_id: int) -> str:
    """A token for a browser in which somebody signed in."""
    token = secrets.token_urlsafe(32)
    connection.execute(
        "insert into device (token_sha256, staff_id, expires_at)"
        " values (%s, %s, clock_timestamp() + make_interval(secs => %s))",
        (token_digest(token), staff_id, DEVICE_SECONDS),
    )
    connection.execute("delete from device where expires_at < clock_timestamp()")
    return token


def _key(credentials: Credentials, *, known: bool) -> bytes:
    """Failures are counted by account and network, or by account and the device that knows it."""
    whence = f"device {credentials.device}" if known else f"network {credentials.network}"
    return hashlib.sha256(
        f"{credentials.name.casefold()}\0{whence}".encode(errors="replace")
    ).digest()


def _use_code(connection: Connection, account: dict[str, Any], step: int) -> bool:
    """The code is used up by one statement, so it is good once."""
    done = connection.execute(
        "update staff set totp_last_step = %s, last_success = clock_timestamp()"
        " where id = %s and totp_last_step < %s and password_hash = %s and not disabled",
        (step, account["id"], step, account["password_hash"]),
    )
    return done.rowcount == 1
