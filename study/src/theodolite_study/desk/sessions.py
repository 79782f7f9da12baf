"""Sessions of staff: long random tokens in a cookie, of which only a digest is kept."""

import secrets

from starlette.requests import Request
from starlette.responses import Response

from theodolite_study.desk.site import Connection, StaffAccount, rows
from theodolite_study.passwords import token_digest

SESSION = "__Host-theodolite-desk"
DEVICE = "__Host-theodolite-device"
BEFORE = "__Host-theodolite-desk-before"
"""Binds the form of signing in to the browser that asked for it; never becomes a session."""
LONGEST_COOKIE = 100
IDLE, LONGEST = 30 * 60, 12 * 3600
DEVICE_SECONDS = 90 * 24 * 3600
SEEN_EVERY = 60
"""Seconds: when somebody was last seen is not written more often."""


def cookie(request: Request, name: str) -> str:
    """What a browser sent of ours, or nothing where it cannot be ours."""
    value = request.cookies.get(name, "")
    return value if len(value) <= LONGEST_COOKIE and value.isascii() else ""


def begin_session(connection: Connection, staff_id: int) -> str:
    """A new token; sessions that are over are cleared away."""
    token = secrets.token_urlsafe(32)
    connection.execute(
        "insert into session (token_sha256, staff_id, expires_at)"
        " values (%s, %s, clock_timestamp() + make_interval(secs => %s))",
        (token_digest(token), staff_id, LONGEST),
    )
    connection.execute(
        "delete from session where staff_id is not null and expires_at < clock_timestamp()"
    )
    return token


def signed_in(connection: Connection, request: Request) -> StaffAccount | None:
    """Whose session it is, if it still holds."""
    token = cookie(request, SESSION)
    if not token:
        return None
    records = rows(
        connection,
        "select a.id, a.name, a.operator,"
        " s.last_seen < clock_timestamp() - make_interval(secs => %s) as stale"
        " from session s join staff a on a.id = s.staff_id"
        " where s.token_sha256 = %s and s.expires_at > clock_timestamp() and not a.disabled"
        " and s.last_seen > clock_timestamp() - make_interval(secs => %s)",
        SEEN_EVERY, token_digest(token), IDLE,
    )  # fmt: skip
    if not records:
        return None
    row = records[0]
    if row["stale"]:
        connection.execute(
            "update session set last_seen = clock_timestamp() where token_sha256 = %s",
            (token_digest(token),),
        )
    return StaffAccount(row["id"], row["name"], row["operator"], token_digest(token))


def end_session(connection: Connection, digest: bytes) -> None:
    """The token holds no longer."""
    connection.execute("delete from session where token_sha256 = %s", (digest,))


def keep_cookie(response: Response, name: str, value: str, seconds: int | None) -> None:
    """Give a browser a cookie that never goes along from other sites."""
    response.set_cookie(
        name, value, max_age=seconds, path="/", secure=True, httponly=True, samesite="strict"
    )


def forget_cookie(response: Response, name: str) -> None:
    """Take it back."""
    response.delete_cookie(name, path="/", secure=True, httponly=True, samesite="strict")
