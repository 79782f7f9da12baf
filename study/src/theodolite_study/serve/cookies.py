"""Cookies: one for a session, one for people who have none yet. Neither says who they are."""

import hashlib
import secrets
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from theodolite_study.sessions import PARTICIPANT_LONGEST

SESSION = "__Host-theodolite"
BEFORE = "__Host-theodolite-before"
"""Binds a form to the browser that asked for it; never becomes a session."""
ARRIVAL = "__Host-theodolite-arrival"
"""Who a platform says is coming, sealed, until they begin."""
LONGEST = 100
LONGEST_ARRIVAL = 2000


@dataclass(frozen=True)
class Cookies:
    """What a browser sent of ours."""

    session: str
    before: str


def cookies_of(request: Request) -> Cookies:
    """The two, or nothing where they are missing or cannot be ours."""
    return Cookies(_plausible(request, SESSION), _plausible(request, BEFORE))


def _plausible(request: Request, name: str) -> str:
    value = request.cookies.get(name, "")
    return value if len(value) <= LONGEST and value.isascii() else ""


def arrival_of(request: Request) -> str:
    """What was kept of the link by which somebody came."""
    value = request.cookies.get(ARRIVAL, "")
    return value if len(value) <= LONGEST_ARRIVAL and value.isascii() else ""


def keep_arrival(response: Response, value: str) -> None:
    """Keep who comes while they read the first page."""
    _keep(response, ARRIVAL, value, 3600)


def forget_arrival(response: Response) -> None:
    """They are here."""
    response.delete_cookie(ARRIVAL, path="/", secure=True, httponly=True, samesite="lax")


def new_before() -> str:
    """A random one."""
    return secrets.token_urlsafe(32)


def before_digest(value: str) -> bytes:
    """What forms are bound to; differs from the digest of a session with the same letters."""
    return hashlib.sha256(b"before\0" + value.encode()).digest()


def keep_session(response: Response, token: str) -> None:
    """Give the browser its session."""
    _keep(response, SESSION, token, PARTICIPANT_LONGEST)


def keep_before(response: Response, value: str) -> None:
    """Give the browser what binds its first form; gone when it closes."""
    _keep(response, BEFORE, value, None)


def forget_session(response: Response) -> None:
    """Take the session back."""
    response.delete_cookie(SESSION, path="/", secure=True, httponly=True, samesite="lax")


def _keep(response: Response, name: str, value: str, seconds: int | None) -> None:
    response.set_cookie(
        name, value, max_age=seconds, path="/", secure=True, httponly=True, samesite="lax"
    )
