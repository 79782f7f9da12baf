"""Define the middleware of every request: headers, origin checks, size limits, rate limits."""

import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from theodolite_study.rate_limits import Limiter
from theodolite_study.serve.cookies import SESSION
from theodolite_study.serve.settings import Limits

LOG = logging.getLogger("theodolite_study.serve")
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self' https://app.prolific.com https://www.mturk.com "
    "https://workersandbox.mturk.com; base-uri 'none'; object-src 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'"
)
FRAMED_CSP = CSP.replace(
    "frame-ancestors 'none'",
    "frame-ancestors https://worker.mturk.com https://workersandbox.mturk.com",
)
"""Policy of the one page that Mechanical Turk shows in a frame; it contains only a link."""
HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": (
        "accelerometer=(), camera=(), display-capture=(), fullscreen=(self), geolocation=(), "
        "gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), usb=()"
    ),
    "x-frame-options": "DENY",
}
FRAME_HEADERS = ("content-security-policy", "x-frame-options")
HSTS = "max-age=31536000"
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
HEALTH_ROUTES = ("/healthz", "/readyz")
"""Routes for monitoring, which answer under any host name and any load."""
WEBHOOK_ROUTES = ("/platform/prolific/webhook",)
"""Routes that platforms call: signed, not sent from our pages."""
FOREIGN_MESSAGE = "This form did not come from a page of this study. Please go back and try again."
TOO_QUICK_MESSAGE = "This was quick. Please try again in a moment."
MAX_COOKIE_CHARACTERS = 4000
"""Maximum length of cookies that are read."""
BUSY_MESSAGE = "Many people are here just now. Please try again in a moment."

Refuse: TypeAlias = Callable[[Headers, int, str, int], Response]
"""Function from request headers, status, message and seconds to wait to a response."""


@dataclass(frozen=True)
class SecurityHeaders:
    """Middleware that adds security headers, and forbids caching unless a route allows it."""

    app: ASGIApp
    https: bool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request and add headers to the response."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                framed = headers.get("content-security-policy") == FRAMED_CSP
                for name, value in HEADERS.items():
                    if not (framed and name in FRAME_HEADERS):
                        headers[name] = value
                if self.https:
                    headers["strict-transport-security"] = HSTS
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await self.app(scope, receive, with_headers)


@dataclass(frozen=True)
class OwnHostOnly:
    """Middleware that accepts our host name only, against DNS rebinding."""

    app: ASGIApp
    host: str
    refuse: Refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request or refuse it."""
        if scope["type"] == "http" and scope["path"] not in HEALTH_ROUTES:
            headers = Headers(scope=scope)
            if [value.lower() for value in headers.getlist("host")] != [self.host]:
                answer = self.refuse(headers, 400, "This server has another name.", 0)
                await answer(scope, receive, send)
                return
        await self.app(scope, receive, send)


@dataclass(frozen=True)
class OwnPagesOnly:
    """Middleware that accepts changes only from our own pages."""

    app: ASGIApp
    origin: str
    refuse: Refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request or refuse it."""
        from_browser = scope["type"] == "http" and scope["path"] not in WEBHOOK_ROUTES
        if from_browser and scope["method"] not in SAFE_METHODS:
            headers = Headers(scope=scope)
            if not is_from_own_page(headers, self.origin):
                await self.refuse(headers, 403, FOREIGN_MESSAGE, 0)(scope, receive, send)
                return
        await self.app(scope, receive, send)


def is_from_own_page(headers: Headers, origin: str) -> bool:
    """Return whether the browser says that the request comes from our page.

    Our pages send no Referer, and browsers that obey say «null» for the origin of a form then. What
    they say in Sec-Fetch-Site no page can change; where it is missing, the origin has to be ours.
    """
    site, origin_header = headers.get("sec-fetch-site"), headers.get("origin")
    if site is None:
        return origin_header == origin
    return site == "same-origin" and origin_header in (None, "null", origin)


@dataclass(frozen=True)
class BodyReader:
    """Middleware that reads whole forms first, with limits of size and time."""

    app: ASGIApp
    limits: Limits
    refuse: Refuse
    reading: "ConcurrencyCounter"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request with its whole body, or refuse it."""
        if scope["type"] != "http" or scope["method"] in SAFE_METHODS:
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if not self.reading.enter():
            await self._refused(headers, 503, scope, receive, send)
            return
        try:
            with anyio.fail_after(self.limits.body_seconds):
                body = await _read_body(headers, receive, self.limits.body_bytes)
        except TimeoutError:
            body = 408
        finally:
            self.reading.leave()
        if body is None:
            return  # nobody is there any more
        if isinstance(body, int):
            await self._refused(headers, body, scope, receive, send)
            return
        await self.app(scope, _replay_body(body, receive), send)

    async def _refused(
        self, headers: Headers, status: int, scope: Scope, receive: Receive, send: Send
    ) -> None:
        messages = {
            408: "This took too long to arrive. Please try again.",
            413: "This is too much to be taken.",
            503: BUSY_MESSAGE,
        }
        answer = self.refuse(headers, status, messages[status], 2 if status == 503 else 0)
        answer.headers["connection"] = "close"  # what is left of the body is not read
        await answer(scope, receive, send)


async def _read_body(headers: Headers, receive: Receive, most: int) -> bytes | int | None:
    size_header = headers.get("content-length", "0")
    if not (size_header.isascii() and size_header.isdigit()) or int(size_header[:20]) > most:
        return 413
    pieces: list[bytes] = []
    length = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        pieces.append(message.get("body", b""))
        length += len(pieces[-1])
        if length > most:
            return 413
        if not message.get("more_body", False):
            return b"".join(pieces)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    left = [body]

    async def whole() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return whole


class ConcurrencyCounter:
    """Counter of concurrent requests. One event loop uses it, so it needs no lock."""

    def __init__(self, most: int) -> None:
        self.most, self.inside = most, 0

    def enter(self) -> bool:
        """Count a request and return True, if there is room."""
        if self.inside >= self.most:
            return False
        self.inside += 1
        return True

    def leave(self) -> None:
        """Release the room of one request."""
        self.inside -= 1


@dataclass(frozen=True)
class ConcurrencyLimit:
    """Middleware that refuses requests at once when too many are in progress."""

    app: ASGIApp
    working: ConcurrencyCounter
    refuse: Refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request, or ask to retry later."""
        if scope["type"] != "http" or scope["path"] in HEALTH_ROUTES:
            await self.app(scope, receive, send)
            return
        if not self.working.enter():
            await self.refuse(Headers(scope=scope), 503, BUSY_MESSAGE, 2)(scope, receive, send)
            return
        try:
            await self.app(scope, receive, send)
        finally:
            self.working.leave()


@dataclass(frozen=True)
class ErrorReporter:
    """Middleware that reports unexpected errors by number; their messages may contain data."""

    app: ASGIApp
    answer: Callable[[Headers, str], Response]
    """Function from request headers and error number to a response."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request and log exceptions."""
        began = False

        async def noted(message: Message) -> None:
            nonlocal began
            began = True
            await send(message)

        try:
            await self.app(scope, receive, noted)
        except Exception:
            if scope["type"] != "http":
                raise
            number = secrets.token_hex(4)
            LOG.exception("fault %s", number)
            if not began:
                await self.answer(Headers(scope=scope), number)(scope, receive, send)


@dataclass(frozen=True)
class RateLimit:
    """Middleware that limits the request rate of a session in this process."""

    app: ASGIApp
    sent: Limiter
    looks: Limiter
    refuse: Refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request, or ask to retry later."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            session = cookie_parser(headers.get("cookie", "")[:MAX_COOKIE_CHARACTERS]).get(
                SESSION, ""
            )
            limiter = self.looks if scope["method"] in SAFE_METHODS else self.sent
            wait = limiter.allow(session[:100]) if session else 0.0
            if wait:
                answer = self.refuse(headers, 429, TOO_QUICK_MESSAGE, int(wait) + 1)
                await answer(scope, receive, send)
                return
        await self.app(scope, receive, send)


def is_json_wanted(headers: Headers) -> bool:
    """Return whether a script made the request, which reads no pages."""
    sent = headers.get("content-type", "").startswith("application/json")
    return sent or headers.get("accept", "").startswith("application/json")
