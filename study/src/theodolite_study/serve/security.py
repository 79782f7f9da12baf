"""What holds for every request and every answer, whichever page it is."""

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
FRAMED = CSP.replace(
    "frame-ancestors 'none'",
    "frame-ancestors https://worker.mturk.com https://workersandbox.mturk.com",
)
"""For the one page that Mechanical Turk shows in its frame: it has nothing but a link."""
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
FRAMES = ("content-security-policy", "x-frame-options")
HSTS = "max-age=31536000"
SAFE = {"GET", "HEAD", "OPTIONS"}
HEALTH = ("/healthz", "/readyz")
"""Asked by machines, under whichever name, and also when there is much to do."""
WEBHOOKS = ("/platform/prolific/webhook",)
"""Sent by machines of others: signed, not from a page of ours."""
FOREIGN = "This form did not come from a page of this study. Please go back and try again."
QUICK = "This was quick. Please try again in a moment."
LONGEST = 4000
"""Letters of cookies that are looked at."""
BUSY = "Many people are here just now. Please try again in a moment."

Refuse: TypeAlias = Callable[[Headers, int, str, int], Response]
"""From the request's headers, a status, a sentence and the seconds to wait: an answer."""


@dataclass(frozen=True)
class SafeHeaders:
    """Headers for every answer; what is not said to be kept is not kept."""

    app: ASGIApp
    https: bool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on; add to what comes back."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                framed = headers.get("content-security-policy") == FRAMED
                for name, value in HEADERS.items():
                    if not (framed and name in FRAMES):
                        headers[name] = value
                if self.https:
                    headers["strict-transport-security"] = HSTS
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await self.app(scope, receive, with_headers)


@dataclass(frozen=True)
class OwnHost:
    """Only requests to the name that people know: others come from rebound names."""

    app: ASGIApp
    host: str
    refuse: Refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, or refuse."""
        if scope["type"] == "http" and scope["path"] not in HEALTH:
            headers = Headers(scope=scope)
            if [value.lower() for value in headers.getlist("host")] != [self.host]:
                answer = self.refuse(headers, 400, "This server has another name.", 0)
                await answer(scope, receive, send)
                return
        await self.app(scope, receive, send)


@dataclass(frozen=True)
class OwnPages:
    """What changes something comes from a page of ours."""

    app: ASGIApp
    origin: str
    refuse: Refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, or refuse."""
        from_browser = scope["type"] == "http" and scope["path"] not in WEBHOOKS
        if from_browser and scope["method"] not in SAFE:
            headers = Headers(scope=scope)
            if not from_own_page(headers, self.origin):
                await self.refuse(headers, 403, FOREIGN, 0)(scope, receive, send)
                return
        await self.app(scope, receive, send)


def from_own_page(headers: Headers, origin: str) -> bool:
    """Whether a browser says so.

    Our pages send no Referer, and browsers that obey say «null» for the origin of a form then. What
    they say in Sec-Fetch-Site no page can change; where it is missing, the origin has to be ours.
    """
    site, origin_header = headers.get("sec-fetch-site"), headers.get("origin")
    if site is None:
        return origin_header == origin
    return site == "same-origin" and origin_header in (None, "null", origin)


@dataclass(frozen=True)
class WholeBodies:
    """Forms are read to the end before anybody works on them: not too long, not too slowly."""

    app: ASGIApp
    limits: Limits
    refuse: Refuse
    reading: "Counter"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on with all of its body, or refuse."""
        if scope["type"] != "http" or scope["method"] in SAFE:
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if not self.reading.enter():
            await self._refused(headers, 503, scope, receive, send)
            return
        try:
            with anyio.fail_after(self.limits.body_seconds):
                body = await _read(headers, receive, self.limits.body_bytes)
        except TimeoutError:
            body = 408
        finally:
            self.reading.leave()
        if body is None:
            return  # nobody is there any more
        if isinstance(body, int):
            await self._refused(headers, body, scope, receive, send)
            return
        await self.app(scope, _once(body, receive), send)

    async def _refused(
        self, headers: Headers, status: int, scope: Scope, receive: Receive, send: Send
    ) -> None:
        messages = {
            408: "This took too long to arrive. Please try again.",
            413: "This is too much to be taken.",
            503: BUSY,
        }
        answer = self.refuse(headers, status, messages[status], 2 if status == 503 else 0)
        answer.headers["connection"] = "close"  # what is left of the body is not read
        await answer(scope, receive, send)


async def _read(headers: Headers, receive: Receive, most: int) -> bytes | int | None:
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


def _once(body: bytes, receive: Receive) -> Receive:
    left = [body]

    async def whole() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return whole


class Counter:
    """How many are inside. One event loop uses it: no lock is needed."""

    def __init__(self, most: int) -> None:
        self.most, self.inside = most, 0

    def enter(self) -> bool:
        """Whether there was room."""
        if self.inside >= self.most:
            return False
        self.inside += 1
        return True

    def leave(self) -> None:
        """One less."""
        self.inside -= 1


@dataclass(frozen=True)
class NotTooMany:
    """Who comes when all hands are full is told at once when to come back."""

    app: ASGIApp
    working: Counter
    refuse: Refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, or ask to come back."""
        if scope["type"] != "http" or scope["path"] in HEALTH:
            await self.app(scope, receive, send)
            return
        if not self.working.enter():
            await self.refuse(Headers(scope=scope), 503, BUSY, 2)(scope, receive, send)
            return
        try:
            await self.app(scope, receive, send)
        finally:
            self.working.leave()


@dataclass(frozen=True)
class Faults:
    """What nobody foresaw is told with a number; its words stay here, as they may have data."""

    app: ASGIApp
    answer: Callable[[Headers, str], Response]
    """From the request's headers and the number."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on; log what is raised."""
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
class NotTooQuick:
    """How often one session may ask, in this process: what it sends, and what it looks at."""

    app: ASGIApp
    sent: Limiter
    looks: Limiter
    refuse: Refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, or ask to come back."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            session = cookie_parser(headers.get("cookie", "")[:LONGEST]).get(SESSION, "")
            limiter = self.looks if scope["method"] in SAFE else self.sent
            wait = limiter.allow(session[:100]) if session else 0.0
            if wait:
                answer = self.refuse(headers, 429, QUICK, int(wait) + 1)
                await answer(scope, receive, send)
                return
        await self.app(scope, receive, send)


def wants_json(headers: Headers) -> bool:
    """Whether a script asks, which reads no pages."""
    sent = headers.get("content-type", "").startswith("application/json")
    return sent or headers.get("accept", "").startswith("application/json")
