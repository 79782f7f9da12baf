"""Build the web application of the admin console, which has its own process and login."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from psycopg import OperationalError
from psycopg_pool import PoolTimeout
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from theodolite_study.desk import (
    close_routes,
    export_routes,
    live_routes,
    log_routes,
    member_routes,
    pay_routes,
    people_routes,
    result_routes,
    server_routes,
    sign_in_routes,
    studies_routes,
)
from theodolite_study.desk.rights import SAFE_METHODS, NotSignedIn, Visit, allow_visitors
from theodolite_study.desk.site import DESK_FOLDER, DeskSite, make_environment, make_pool
from theodolite_study.keys import Keys
from theodolite_study.refusals import NotHere, StudyError
from theodolite_study.serve.pages import read_static_files
from theodolite_study.serve.security import (
    ConcurrencyCounter,
    ConcurrencyLimit,
    OwnHostOnly,
    OwnPagesOnly,
    SecurityHeaders,
)
from theodolite_study.serve.settings import Settings

ROUTE_MODULES = (
    sign_in_routes, studies_routes, live_routes, people_routes,
    result_routes, pay_routes, export_routes,
    close_routes, member_routes, log_routes, server_routes,
)  # fmt: skip
DESIGNER_PACKAGE = "theodolite_study.designer"
SIGN_IN = "/sign-in"
CACHE_CONTROL = "public, max-age=3600"
MAX_CONCURRENT_REQUESTS = 200
VISITOR_CONTEXT = {"staff": None, "study": None, "notice": "", "errors": (), "refresh": 0}


def create_desk(settings: Settings) -> Starlette:
    """Return the admin console of all studies of a database, which has its own origin."""
    folders, more = _designer()
    site = DeskSite(
        settings=settings, keys=Keys.read(settings.folder), pool=make_pool(settings.database_url),
        pages=make_environment([folder / "templates" for folder in folders]),
    )  # fmt: skip

    @asynccontextmanager
    async def connected(app: Starlette) -> AsyncIterator[None]:
        site.pool.open(wait=False)
        try:
            yield
        finally:
            site.pool.close()

    def refuse(headers: Headers, status: int, text: str, retry_after: int) -> Response:
        return make_message_response(site, status, text, retry_after)

    app = Starlette(
        routes=[*(route for room in ROUTE_MODULES for route in room.ROUTES), *more, *STATIC_ROUTES],
        middleware=[
            Middleware(SecurityHeaders, https=settings.https),
            Middleware(OwnHostOnly, host=settings.host, refuse=refuse),
            Middleware(OwnPagesOnly, origin=settings.public_origin, refuse=refuse),
            Middleware(
                ConcurrencyLimit, working=ConcurrencyCounter(MAX_CONCURRENT_REQUESTS), refuse=refuse
            ),
        ],
        exception_handlers={
            StudyError: refused, OperationalError: away, PoolTimeout: away, 404: gone, 405: gone,
        },
        lifespan=connected,
    )  # fmt: skip
    app.router.redirect_slashes = False
    app.state.site = site
    app.state.static = {
        name: file
        for folder in folders
        for name, file in read_static_files(folder / "static").items()
    }
    return app


def _designer() -> tuple[list[Path], list[BaseRoute]]:
    """Return templates and routes of the designer, if it is installed."""
    if find_spec(DESIGNER_PACKAGE) is None or find_spec(f"{DESIGNER_PACKAGE}.routes") is None:
        return [DESK_FOLDER], []
    return [DESK_FOLDER, DESK_FOLDER.parent / "designer"], list(
        import_module(f"{DESIGNER_PACKAGE}.routes").ROUTES
    )


def make_message_response(site: DeskSite, status: int, text: str, retry_after: int = 0) -> Response:
    """Return a refusal or an error as a page."""
    response = HTMLResponse(
        site.render("message", {"status": status, "message": text, **VISITOR_CONTEXT}), status
    )
    if retry_after:
        response.headers["retry-after"] = str(retry_after)
    return response


async def refused(request: Request, error: Exception) -> Response:
    """Return the message of a refusal."""
    assert isinstance(error, StudyError)  # noqa: S101
    if isinstance(error, NotSignedIn) and request.method in SAFE_METHODS:
        return RedirectResponse(SIGN_IN, 303)
    wait = int(getattr(error, "retry_after", 0))
    return make_message_response(request.app.state.site, error.status, error.message, wait)


async def gone(request: Request, error: Exception) -> Response:
    """Return the page for an unknown address."""
    return await refused(request, NotHere())


async def away(request: Request, error: Exception) -> Response:
    """Return the page for an unavailable database."""
    text = "The database cannot be reached just now. Please try again in a moment."
    return make_message_response(request.app.state.site, 503, text, 2)


@allow_visitors
def static(visit: Visit) -> Response:
    """Return a style sheet."""
    request = visit.request
    file = request.app.state.static.get(request.path_params["name"])
    if file is None:
        raise NotHere
    headers = {"etag": file.tag, "cache-control": CACHE_CONTROL, "content-type": file.kind}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers)


@allow_visitors
def alive(visit: Visit) -> Response:
    """Answer that the process runs."""
    return PlainTextResponse("alive")


STATIC_ROUTES = [Route("/static/{name}", static), Route("/healthz", alive)]
