"""Build the web application of participants: routes, middleware and error pages."""

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
from theodolite_study.money import webhook_routes
from theodolite_study.operate.request_meter import Meter, RequestMeter
from theodolite_study.platforms.prolific_keys import (
    FILE,
    FetchedKeys,
    SigningKeys,
    read_stored_keys,
)
from theodolite_study.rate_limits import Limiter
from theodolite_study.refusals import NotHere, StudyError
from theodolite_study.serve import (
    code_routes,
    consent_routes,
    item_routes,
    landing_routes,
    leave_routes,
    practice_routes,
    previews,
)
from theodolite_study.serve.database_calls import StepCalls
from theodolite_study.serve.images import ImageAddresses, ImageFiles
from theodolite_study.serve.pages import StudyPages, get_translator, read_static_files
from theodolite_study.serve.security import (
    BodyReader,
    ConcurrencyCounter,
    ConcurrencyLimit,
    ErrorReporter,
    OwnHostOnly,
    OwnPagesOnly,
    RateLimit,
    SecurityHeaders,
    is_json_wanted,
)
from theodolite_study.serve.settings import Settings
from theodolite_study.serve.site import StudySite, derive_image_key
from theodolite_study.serve.versions import VersionCache

STATIC = Path(__file__).parent / "static"
HEAD_ROUTES = ("/s/{slug}", "/static/{name}", "/healthz", "/readyz")
"""Pages that change nothing, which may also be requested by HEAD."""
CACHE_CONTROL = "public, max-age=86400"


def create_app(settings: Settings) -> Starlette:
    """Return the application for all studies of a database, with images in the settings' folder."""
    pooled = os.environ.get("THEODOLITE_POOLER") == "transaction"
    calls = StepCalls(settings.database_url, size=settings.limits.pool, pooled=pooled)
    keys, meter = Keys.read(settings.folder), Meter()
    site = StudySite(
        calls=calls, versions=VersionCache(calls), pages=StudyPages(), keys=keys,
        addresses=ImageAddresses(derive_image_key(keys)), images=ImageFiles(settings.folder),
        settings=settings, signing_keys=load_prolific_keys(settings.folder),
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
            *landing_routes.ROUTES, *previews.ROUTES, *consent_routes.ROUTES,
            *code_routes.ROUTES, *practice_routes.ROUTES,
            *item_routes.ROUTES, *leave_routes.ROUTES, *webhook_routes.ROUTES,
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
        if isinstance(route, Route) and route.methods and route.path not in HEAD_ROUTES:
            route.methods.discard("HEAD")
    app.state.site, app.state.static = site, read_static_files(STATIC)
    return app


def _middleware(site: StudySite, meter: Meter) -> list[Middleware]:
    """Return the middleware of all routes, the outermost first."""
    settings, limits = site.settings, site.settings.limits

    def refuse(headers: Headers, status: int, text: str, retry_after: int) -> Response:
        return make_message_response(site, headers, status, text, retry_after)

    def fault(headers: Headers, number: str) -> Response:
        return make_message_response(site, headers, 500, REFUSALS["fault"], number=number)

    return [
        Middleware(RequestMeter, meter=meter),
        Middleware(SecurityHeaders, https=settings.https),
        Middleware(ErrorReporter, answer=fault),
        Middleware(OwnHostOnly, host=settings.host, refuse=refuse),
        Middleware(OwnPagesOnly, origin=settings.public_origin, refuse=refuse),
        Middleware(
            RateLimit, refuse=refuse, sent=Limiter(limits.posts_rate, limits.posts_burst),
            looks=Limiter(limits.looks_rate, limits.looks_burst),
        ),
        Middleware(
            BodyReader, limits=limits, refuse=refuse, reading=ConcurrencyCounter(limits.readers)
        ),
        Middleware(ConcurrencyLimit, working=ConcurrencyCounter(limits.in_flight), refuse=refuse),
    ]  # fmt: skip


def load_prolific_keys(folder: Path) -> SigningKeys:
    """Return Prolific's keys from a file beside ours if there is one, else from Prolific."""
    return read_stored_keys(folder) if (folder / FILE).is_file() else FetchedKeys()


def make_message_response(
    site: StudySite, headers: Headers, status: int, text: str, retry_after: int = 0, *,
    number: str = "",
) -> Response:  # fmt: skip
    """Return a refusal or an error, as a page or for a script, in the participant's language."""
    language = site.language_of(headers)
    text = get_translator(language)(text).replace("{number}", number)
    if is_json_wanted(headers):
        response: Response = JSONResponse({"message": text, "errors": [text]}, status)
    else:
        context = {"status": status, "message": text}
        response = HTMLResponse(site.pages.page("message", language, "", context), status)
    if retry_after:
        response.headers["retry-after"] = str(retry_after)
    return response


async def refused(request: Request, error: Exception) -> Response:
    """Return the message of a refusal."""
    assert isinstance(error, StudyError)  # noqa: S101
    wait = int(getattr(error, "retry_after", 0))
    site: StudySite = request.app.state.site
    return make_message_response(site, request.headers, error.status, error.message, wait)


async def gone(request: Request, error: Exception) -> Response:
    """Return the page for an unknown address."""
    return await refused(request, NotHere())


async def not_done(request: Request, error: Exception) -> Response:
    """Return the page for an HTTP method that is not allowed."""
    return make_message_response(
        request.app.state.site, request.headers, 405, REFUSALS["not done here"]
    )


async def away(request: Request, error: Exception) -> Response:
    """Return the page for an unavailable database; the page of the participant sends again."""
    text = "The study cannot be reached just now. Please try again in a moment."
    return make_message_response(request.app.state.site, request.headers, 503, text, 2)


async def static(request: Request) -> Response:
    """Return a style sheet or a script."""
    file = request.app.state.static.get(request.path_params["name"])
    if file is None:
        raise NotHere
    headers = {"etag": file.tag, "cache-control": CACHE_CONTROL, "content-type": file.kind}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers)


async def alive(request: Request) -> Response:
    """Answer that the process runs."""
    return PlainTextResponse("alive")


async def ready(request: Request) -> Response:
    """Answer that the database is available."""
    site: StudySite = request.app.state.site
    await site.calls.step("st_landing", hashlib.sha256(b"").hexdigest())
    return PlainTextResponse("ready")
