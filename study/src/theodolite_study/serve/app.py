"""The application of participants: routes, and what holds around all of them."""

import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from psycopg import OperationalError
from psycopg_pool import PoolTimeout
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from theodolite_study.keys import Keys
from theodolite_study.locale.refusal_messages import REFUSALS
from theodolite_study.money import hook_routes
from theodolite_study.operate.meter import Meter, RequestMeter
from theodolite_study.platforms.prolific_keys import FILE, FetchedKeys, SigningKeys, stored_keys
from theodolite_study.rate_limits import Limiter
from theodolite_study.refusals import NotHere, StudyError
from theodolite_study.serve import (
    consent_routes,
    door_routes,
    item_routes,
    leave_routes,
    practice_routes,
    previews,
)
from theodolite_study.serve.calls import StepCalls
from theodolite_study.serve.images import ImageAddresses, ImageFiles
from theodolite_study.serve.pages import StudyPages, files_in, words_in
from theodolite_study.serve.security import (
    Counter,
    Faults,
    NotTooMany,
    NotTooQuick,
    OwnHost,
    OwnPages,
    SafeHeaders,
    WholeBodies,
    wants_json,
)
from theodolite_study.serve.settings import Settings
from theodolite_study.serve.site import StudySite, image_key
from theodolite_study.serve.versions import KnownVersions

STATIC = Path(__file__).parent / "static"
LOOKED_AT = ("/s/{slug}", "/static/{name}", "/healthz", "/readyz")
"""Pages that change nothing, so that machines may ask for their headers."""
KEPT_FOR = "public, max-age=86400"


def create_app(settings: Settings) -> Starlette:
    """A server for all studies of a database; images lie in the settings' folder."""
    pooled = os.environ.get("THEODOLITE_POOLER") == "transaction"
    calls = StepCalls(settings.database_url, size=settings.limits.pool, pooled=pooled)
    keys, meter = Keys.read(settings.folder), Meter()
    site = StudySite(
        calls=calls, versions=KnownVersions(calls), pages=StudyPages(), keys=keys,
        addresses=ImageAddresses(image_key(keys)), images=ImageFiles(settings.folder),
        settings=settings, signing_keys=prolific_keys(settings.folder),
    )  # fmt: skip

    @asynccontextmanager
    async def connected(app: Starlette) -> AsyncIterator[None]:
        await calls.open()
        try:
            async with meter.published(calls.counts):
                yield
        finally:
            await calls.close()

    app = Starlette(
        routes=[
            *door_routes.ROUTES, *previews.ROUTES, *consent_routes.ROUTES, *practice_routes.ROUTES,
            *item_routes.ROUTES, *leave_routes.ROUTES, *hook_routes.ROUTES,
            Route("/static/{name}", static), Route("/healthz", alive), Route("/readyz", ready),
        ],
        middleware=_middleware(site, meter),
        exception_handlers={
            StudyError: refused, OperationalError: away, PoolTimeout: away, 404: gone,
            405: not_done,
        },
        lifespan=connected,
    )  # fmt: skip
    app.router.redirect_slashes = False
    for route in app.router.routes:  # looking at headers alone must not take a step
        if isinstance(route, Route) and route.methods and route.path not in LOOKED_AT:
            route.methods.discard("HEAD")
    app.state.site, app.state.static = site, files_in(STATIC)
    return app


def _middleware(site: StudySite, meter: Meter) -> list[Middleware]:
    """What holds around all routes, the outermost first."""
    settings, limits = site.settings, site.settings.limits

    def refuse(headers: Headers, status: int, text: str, retry_after: int) -> Response:
        return message(site, headers, status, text, retry_after)

    def fault(headers: Headers, number: str) -> Response:
        return message(site, headers, 500, REFUSALS["fault"], number=number)

    return [
        Middleware(RequestMeter, meter=meter),
        Middleware(SafeHeaders, https=settings.https),
        Middleware(Faults, answer=fault),
        Middleware(OwnHost, host=settings.host, refuse=refuse),
        Middleware(OwnPages, origin=settings.public_origin, refuse=refuse),
        Middleware(
            NotTooQuick, refuse=refuse, sent=Limiter(limits.posts_rate, limits.posts_burst),
            looks=Limiter(limits.looks_rate, limits.looks_burst),
        ),
        Middleware(WholeBodies, limits=limits, refuse=refuse, reading=Counter(limits.readers)),
        Middleware(NotTooMany, working=Counter(limits.in_flight), refuse=refuse),
    ]  # fmt: skip


def prolific_keys(folder: Path) -> SigningKeys:
    """From a file beside the keys where there is one, else from Prolific itself."""
    return stored_keys(folder) if (folder / FILE).is_file() else FetchedKeys()


def message(
    site: StudySite, headers: Headers, status: int, text: str, retry_after: int = 0, *,
    number: str = "",
) -> Response:  # fmt: skip
    """A refusal or a fault, as a page or for a script, in the language of whoever asks."""
    language = site.language_of(headers)
    text = words_in(language)(text).replace("{number}", number)
    if wants_json(headers):
        response: Response = JSONResponse({"message": text, "errors": [text]}, status)
    else:
        context = {"status": status, "message": text}
        response = HTMLResponse(site.pages.page("message", language, "", context), status)
    if retry_after:
        response.headers["retry-after"] = str(retry_after)
    return response


async def refused(request: Request, error: Exception) -> Response:
    """What a study does not do, in words."""
    assert isinstance(error, StudyError)  # noqa: S101
    wait = int(getattr(error, "retry_after", 0))
    site: StudySite = request.app.state.site
    return message(site, request.headers, error.status, error.message, wait)


async def gone(request: Request, error: Exception) -> Response:
    """No such page."""
    return await refused(request, NotHere())


async def not_done(request: Request, error: Exception) -> Response:
    """No such way to ask for a page."""
    return message(request.app.state.site, request.headers, 405, REFUSALS["not done here"])


async def away(request: Request, error: Exception) -> Response:
    """The database does not answer: whatever was sent is sent again by its page."""
    text = "The study cannot be reached just now. Please try again in a moment."
    return message(request.app.state.site, request.headers, 503, text, 2)


async def static(request: Request) -> Response:
    """Styles and scripts."""
    file = request.app.state.static.get(request.path_params["name"])
    if file is None:
        raise NotHere
    headers = {"etag": file.tag, "cache-control": KEPT_FOR, "content-type": file.kind}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers)


async def alive(request: Request) -> Response:
    """The process answers."""
    return PlainTextResponse("alive")


async def ready(request: Request) -> Response:
    """The database answers too."""
    site: StudySite = request.app.state.site
    await site.calls.step("st_landing", hashlib.sha256(b"").hexdigest())
    return PlainTextResponse("ready")
