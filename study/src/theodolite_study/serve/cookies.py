"""Read and set the cookies of participants: session, form token and arrival. None is an
identity."""

import hashlib
import secrets
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from theodolite_study.session_tokens import MAX_SESSION_SECONDS

SESSION = "__Host-theodolite"
FORM_COOKIE = "__Host-theodolite-before"
"""Cookie that binds a form to the browser that requested it; never becomes a session."""
ARRIVAL = "__Host-theodolite-arrival"
"""Cookie with the encrypted arrival from a platform, until the participant begins."""
MAX_COOKIE_CHARACTERS = 100
MAX_ARRIVAL_CHARACTERS = 2000


@dataclass(frozen=True)
class Cookies:
    """Session and form token that a browser sent."""

    session: str
    before: str


def read_cookies(request: Request) -> Cookies:
    """Read both cookies; each is empty if missing or implausible."""
    return Cookies(_read_plausible(request, SESSION), _read_plausible(request, FORM_COOKIE))


def _read_plausible(request: Request, name: str) -> str:
    value = request.cookies.get(name, "")
    return value if len(value) <= MAX_COOKIE_CHARACTERS and value.isascii() else ""


def read_arrival(request: Request) -> str:
    """Read the cookie of the link by which the participant came."""
    value = request.cookies.get(ARRIVAL, "")
    return value if len(value) <= MAX_ARRIVAL_CHARACTERS and value.isascii() else ""


def set_arrival(response: Response, value: str) -> None:
    """Set the arrival cookie while the participant reads the first page."""
    _set_cookie(response, ARRIVAL, value, 3600)


def forget_arrival(response: Response) -> None:
    """Delete the arrival cookie."""
    response.delete_cookie(ARRIVAL, path="/", secure=True, httponly=True, samesite="lax")


def make_form_cookie() -> str:
    """Return a random form token."""
    return secrets.token_urlsafe(32)


def digest_form_cookie(value: str) -> bytes:
    """Return the digest that forms are bound to; unequal to the digest of an equal session."""
    return hashlib.sha256(b"before\0" + value.encode()).digest()


def set_session(response: Response, token: str) -> None:
    """Set the session cookie."""
    _set_cookie(response, SESSION, token, MAX_SESSION_SECONDS)


def set_form_cookie(response: Response, value: str) -> None:
    """Set the form token, which is deleted when the browser closes."""
    _set_cookie(response, FORM_COOKIE, value, None)


def forget_session(response: Response) -> None:
    """Delete the session cookie."""
    response.delete_cookie(SESSION, path="/", secure=True, httponly=True, samesite="lax")


def _set_cookie(response: Response, name: str, value: str, seconds: int | None) -> None:
    response.set_cookie(
        name, value, max_age=seconds, path="/", secure=True, httponly=True, samesite="lax"
    )
