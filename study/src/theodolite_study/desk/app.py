"""The application of the desk: a process of its own, with a login of its own."""

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
    server_routes,
    sign_in_routes,
    studies_routes,
)
from theodolite_study.desk.rights import SAFE, NotSignedIn, Visit, public
from theodolite_study.desk.site import HERE, DeskSite, new_pages, new_pool
from theodolite_study.keys import Keys
from theodolite_study.refusals import NotHere, StudyError
from theodolite_study.serve.pages import files_in
from theodolite_study.serve.security import Counter, NotTooMany, OwnHost, OwnPages, SafeHeaders
from theodolite_study.serve.settings import Settings

ROOMS = (
    sign_in_routes, studies_routes, live_routes, people_routes, pay_routes, export_routes,
    close_routes, member_routes, log_routes, server_routes,
)  # fmt: skip
DESIGNER = "theodolite_study.designer"
SIGN_IN = "/sign-in"
KEPT_FOR = "public, max-age=3600"
AT_ONCE = 200
NOBODY = {"staff": None, "study": None, "notice": "", "errors": (), "refresh": 0}


def create_desk(settings: Settings) -> Starlette:
    """The desk of all studies of a database; its address is an origin of its own."""
    folders, more = _designer()
    site = DeskSite(
        settings=settings, keys=Keys.read(settings.folder), pool=new_pool(settings.database_url),
        pages=new_pages([folder / "templates" for folder in folders]),
    )  # fmt: skip

    @asynccontextmanager
    async def connected(app: Starlette) -> AsyncIterator[None]:
        site.pool.open(wait=False)
        try:
            yield
        finally:
            site.pool.close()

    def refuse(headers: Headers, status: int, text: str, retry_after: int) -> Response:
        return message(site, status, text, retry_after)

    app = Starlette(
        routes=[*(route for room in ROOMS for route in room.ROUTES), *more, *SMALL],
        middleware=[
            Middleware(SafeHeaders, https=settings.https),
            Middleware(OwnHost, host=settings.host, refuse=refuse),
            Middleware(OwnPages, origin=settings.public_origin, refuse=refuse),
            Middleware(NotTooMany, working=Counter(AT_ONCE), refuse=refuse),
        ],
        exception_handlers={
            StudyError: refused, OperationalError: away, PoolTimeout: away, 404: gone, 405: gone,
        },
        lifespan=connected,
    )  # fmt: skip
    app.router.redirect_slashes = False
    app.state.site = site
    app.state.static = {
        name: file for folder in folders for name, file in files_in(folder / "static").items()
    }
    return app


def _designer() -> tuple[list[Path], list[BaseRoute]]:
    """Pages that set a study up, where they are installed, with their templates and styles."""
    if find_spec(DESIGNER) is None or find_spec(f"{DESIGNER}.routes") is None:
        return [HERE], []
    return [HERE, HERE.parent / "designer"], list(import_module(f"{DESIGNER}.routes").ROUTES)


def message(site: DeskSite, status: int, text: str, retry_after: int = 0) -> Response:
    """A refusal or a fault as a page."""
    response = HTMLResponse(
        site.render("message", {"status": status, "message": text, **NOBODY}), status
    )
    if retry_after:
        response.headers["retry-after"] = str(retry_after)
    return response


async def refused(request: Request, error: Exception) -> Response:
    """What the desk does not do, in words."""
    assert isinstance(error, StudyError)  # noqa: S101
    if isinstance(error, NotSignedIn) and request.method in SAFE:
        return RedirectResponse(SIGN_IN, 303)
    wait = int(getattr(error, "retry_after", 0))
    return message(request.app.state.site, error.status, error.message, wait)


async def gone(request: Request, error: Exception) -> Response:
    """No such page."""
    return await refused(request, NotHere())


async def away(request: Request, error: Exception) -> Response:
    """The database does not answer."""
    text = "The database cannot be reached just now. Please try again in a moment."
    return message(request.app.state.site, 503, text, 2)


@public
def static(visit: Visit) -> Response:
    """Styles."""
    request = visit.request
    file = request.app.state.static.get(request.path_params["name"])
    if file is None:
        raise NotHere
    headers = {"etag": file.tag, "cache-control": KEPT_FOR, "content-type": file.kind}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers)


@public
def alive(visit: Visit) -> Response:
    """The process answers."""
    return PlainTextResponse("alive")


SMALL = [Route("/static/{name}", static), Route("/healthz", alive)]
