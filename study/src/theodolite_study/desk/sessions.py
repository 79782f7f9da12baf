"""Create and check the sessions of staff: random tokens, of which only digests are stored."""

import secrets

from starlette.requests import Request
from starlette.responses import Response

from theodolite_study.desk.site import Connection, StaffAccount, fetch_rows
from theodolite_study.passwords import digest_token

SESSION = "__Host-theodolite-desk"
DEVICE = "__Host-theodolite-device"
FORM_COOKIE = "__Host-theodolite-desk-before"
"""Cookie that binds the sign-in form to its browser; never becomes a session."""
MAX_COOKIE_CHARACTERS = 100
MAX_IDLE_SECONDS, MAX_SESSION_SECONDS = 30 * 60, 12 * 3600
DEVICE_SECONDS = 90 * 24 * 3600
SEEN_UPDATE_SECONDS = 60
"""Minimum seconds between updates of the time when a session was last used."""


def read_cookie(request: Request, name: str) -> str:
    """Return the value of our cookie, or nothing if it cannot be ours."""
    value = request.cookies.get(name, "")
    return value if len(value) <= MAX_COOKIE_CHARACTERS and value.isascii() else ""


def begin_session(connection: Connection, staff_id: int) -> str:
    """Create a session and return its token; delete expired sessions."""
    token = secrets.token_urlsafe(32)
    connection.execute(
        "insert into session (token_sha256, staff_id, expires_at)"
        " values (%s, %s, clock_timestamp() + make_interval(secs => %s))",
        (digest_token(token), staff_id, MAX_SESSION_SECONDS),
    )
    connection.execute(
        "delete from session where staff_id is not null and expires_at < clock_timestamp()"
    )
    return token


def find_account(connection: Connection, request: Request) -> StaffAccount | None:
    """Return the account of a valid session, or None."""
    token = read_cookie(request, SESSION)
    if not token:
        return None
    records = fetch_rows(
        connection,
        "select a.id, a.name, a.operator,"
        " s.last_seen < clock_timestamp() - make_interval(secs => %s) as stale"
        " from session s join staff a on a.id = s.staff_id"
        " where s.token_sha256 = %s and s.expires_at > clock_timestamp() and not a.disabled"
        " and s.last_seen > clock_timestamp() - make_interval(secs => %s)",
        SEEN_UPDATE_SECONDS, digest_token(token), MAX_IDLE_SECONDS,
    )  # fmt: skip
    if not records:
        return None
    row = records[0]
    if row["stale"]:
        connection.execute(
            "update session set last_seen = clock_timestamp() where token_sha256 = %s",
            (digest_token(token),),
        )
    return StaffAccount(row["id"], row["name"], row["operator"], digest_token(token))


def end_session(connection: Connection, digest: bytes) -> None:
    """Delete a session."""
    connection.execute("delete from session where token_sha256 = %s", (digest,))


def set_cookie(response: Response, name: str, value: str, seconds: int | None) -> None:
    """Set a cookie that other sites cannot make the browser send."""
    response.set_cookie(
        name, value, max_age=seconds, path="/", secure=True, httponly=True, samesite="strict"
    )


def forget_cookie(response: Response, name: str) -> None:
    """Delete a cookie."""
    response.delete_cookie(name, path="/", secure=True, httponly=True, samesite="strict")
