"""Refusals and faults become answers: in words to people, with a number to whoever runs it."""

import logging
import secrets
import traceback
from dataclasses import dataclass

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from theodolite_study.refusals import StudyRefusal
from theodolite_study.web.site import Site, Visitor, go, site_of
from theodolite_study.web.steps import Elsewhere, NobodyKnown, where_next

LOG = logging.getLogger("theodolite_study")
AWAY = "The study is out of reach for a moment. Nothing is lost: please try again."
RETRY = 3
SAID = {
    404: "There is no such page.",
    405: "This cannot be done here.",
    400: "This could not be understood.",
}


def add_handlers(app: FastAPI) -> None:
    """Everything that routes raise on purpose."""
    app.add_exception_handler(StudyRefusal, _refused)
    app.add_exception_handler(Elsewhere, _elsewhere)
    app.add_exception_handler(HTTPException, _plain)
    app.add_exception_handler(RequestValidationError, _not_found)
    for kind in (OperationalError, PoolTimeout, DBAPIError):
        app.add_exception_handler(kind, _away)


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, StudyRefusal)  # noqa: S101  # registered for it
    site = site_of(request)
    wait = int(getattr(error, "retry_after", 0))
    back = site.home if isinstance(error, NobodyKnown) else _back(site, request)
    return site.message(request.headers, error.status, error.message, wait, back)


def _back(site: Site, request: Request) -> str | None:
    """Where the person goes on."""
    asking: Visitor | None = getattr(request.state, "visitor", None)
    if asking is None or asking.participant is None:
        return site.home
    try:
        return where_next(site, asking.participant, asking.study_state)
    except (DBAPIError, PoolTimeout):
        return None


def _elsewhere(request: Request, error: Exception) -> Response:
    assert isinstance(error, Elsewhere)  # noqa: S101
    if request.method in {"GET", "HEAD"}:
        return RedirectResponse(error.address, 303)
    return go(request, error.address)


def _plain(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    said = SAID.get(error.status_code, SAID[400])
    response = site_of(request).message(request.headers, error.status_code, said)
    for name, value in (error.headers or {}).items():
        response.headers[name] = value
    return response


def _not_found(request: Request, _error: Exception) -> Response:
    """A part of an address that is no number: there is no such page."""
    return site_of(request).message(request.headers, 404, SAID[404])


def _away(request: Request, error: Exception) -> Response:
    """The database is lost, or all connections are in use: the same again in a moment."""
    lost = isinstance(error, OperationalError | PoolTimeout) or (
        isinstance(error, DBAPIError) and error.connection_invalidated
    )
    if not lost:
        return fault(site_of(request), request.headers, error)
    LOG.warning("out of reach: %s", type(getattr(error, "orig", error)).__name__)
    return site_of(request).message(request.headers, 503, AWAY, RETRY)


def fault(site: Site, headers: Headers, error: Exception) -> Response:
    """Something is wrong with the server. What was sent is not logged, only where it broke."""
    number = secrets.token_hex(4)
    where = "".join(traceback.format_tb(error.__traceback__))
    LOG.error("fault %s: %s\n%s", number, type(error).__name__, where)
    said = f"Something went wrong on our side (number {number}). Please try again."
    return site.message(headers, 500, said)


@dataclass(frozen=True)
class Faults:
    """Whatever nobody expected becomes a page without details."""

    app: ASGIApp
    site: Site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on; answer if that fails."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def noting(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, noting)
        except Exception as error:  # noqa: BLE001  # the last place where it can be answered
            headers = Headers(scope=scope)
            answer = await run_in_threadpool(fault, self.site, headers, error)
            if not started:
                await answer(scope, receive, send)
