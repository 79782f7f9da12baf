"""Sign staff in, with delays after failures that lock nobody else out."""

import hashlib
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from theodolite_study.desk.accounts import decrypt_phone_secret, wait_for_check
from theodolite_study.desk.sessions import DEVICE_SECONDS, begin_session
from theodolite_study.desk.site import Connection, DeskSite, fetch_rows, write_log
from theodolite_study.passwords import check_code, digest_token, verify_passphrase
from theodolite_study.refusals import Invalid, Refused

FREE_FAILURES = 5
FIRST_DELAY_SECONDS, MAX_DELAY_SECONDS = 10, 900
"""Seconds of delay after the fifth failure, doubled by each further one."""
WRONG_MESSAGE = "Name, passphrase and code do not fit together."
ACCOUNT = """
    select a.id, a.password_hash, a.totp_sealed, a.totp_last_step,
           exists (select from device d where d.staff_id = a.id and d.token_sha256 = %s
                     and d.expires_at > clock_timestamp()) as known
    from staff a where a.name = %s and not a.disabled"""


@dataclass(frozen=True)
class Credentials:
    """Credentials of a sign-in, and the network and browser that sent them."""

    name: str
    passphrase: str = field(repr=False)
    code: str = field(repr=False)
    network: str = field(repr=False)
    device: str = field(default="", repr=False)
    """Cookie of a browser in which the account signed in before."""


@dataclass(frozen=True)
class SignInTokens:
    """Tokens for the browser after a sign-in."""

    session: str = field(repr=False)
    device: str = field(repr=False)


def sign_in(site: DeskSite, credentials: Credentials) -> SignInTokens:
    """Check credentials and begin a session; no connection is held while hashing."""
    with site.pool.connection() as connection:
        records = fetch_rows(
            connection, ACCOUNT, digest_token(credentials.device), credentials.name
        )
    account = records[0] if records else None
    known = account is not None and account["known"]
    key = _make_attempt_key(credentials, known=known)
    with wait_for_check(known=known):
        with site.pool.connection() as connection:
            count_attempt(connection, key)
        verdict = verify_passphrase(
            None if account is None else account["password_hash"], credentials.passphrase
        )
    step = None
    if account is not None and verdict.right:
        secret = decrypt_phone_secret(site.keys, account["totp_sealed"])
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
            device = credentials.device if known else register_device(connection, account["id"])
            return SignInTokens(begin_session(connection, account["id"]), device)
    raise Invalid(WRONG_MESSAGE)


def count_attempt(connection: Connection, key: bytes) -> None:
    """Count an attempt before checking it; refuse while a delay lasts.

    One statement counts, so concurrent attempts are all counted. Failures are forgotten after a
    day.
    """
    connection.execute(
        "delete from sign_in_failure where at < clock_timestamp() - interval '1 day'"
    )
    counted = fetch_rows(
        connection,
        "insert into sign_in_failure as f (key, failures, until) values (%s, 1, clock_timestamp())"
        " on conflict (key) do update set failures = f.failures + 1, at = clock_timestamp(),"
        " until = case when f.failures + 1 < %s then clock_timestamp() else clock_timestamp() +"
        " make_interval(secs => least(%s, %s * 2 ^ least(f.failures + 1 - %s, 20))) end"
        " where f.until <= clock_timestamp() returning failures",
        key, FREE_FAILURES, MAX_DELAY_SECONDS, FIRST_DELAY_SECONDS, FREE_FAILURES,
    )  # fmt: skip
    if not counted:
        left = fetch_rows(
            connection,
            "select extract(epoch from until - clock_timestamp())::int + 1 as seconds"
            " from sign_in_failure where key = %s", key,
        )  # fmt: skip
        seconds = max(1, left[0]["seconds"]) if left else 1
        raise Refused(429, f"Several attempts failed. Please wait {seconds} seconds.", seconds)


def register_device(connection: Connection, staff_id: int) -> str:
    """Return a token that recognizes a browser at the next sign-in."""
    token = secrets.token_urlsafe(32)
    connection.execute(
        "insert into device (token_sha256, staff_id, expires_at)"
        " values (%s, %s, clock_timestamp() + make_interval(secs => %s))",
        (digest_token(token), staff_id, DEVICE_SECONDS),
    )
    connection.execute("delete from device where expires_at < clock_timestamp()")
    return token


def _make_attempt_key(credentials: Credentials, *, known: bool) -> bytes:
    """Return the key of failures: account and network, or account and known device."""
    whence = f"device {credentials.device}" if known else f"network {credentials.network}"
    return hashlib.sha256(
        f"{credentials.name.casefold()}\0{whence}".encode(errors="replace")
    ).digest()


def _use_code(connection: Connection, account: dict[str, Any], step: int) -> bool:
    """Use a phone code up in one statement, so that it is valid once."""
    done = connection.execute(
        "update staff set totp_last_step = %s, last_success = clock_timestamp()"
        " where id = %s and totp_last_step < %s and password_hash = %s and not disabled",
        (step, account["id"], step, account["password_hash"]),
    )
    return done.rowcount == 1
