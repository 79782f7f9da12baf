"""The application: routes, and what holds around all of them."""

from fastapi import FastAPI

from theodolite_study.serve.workers import end_with_parent
from theodolite_study.web import (
    asset_routes,
    item_routes,
    landing_routes,
    ops_routes,
    participant_routes,
    practice_routes,
    staff_routes,
)
from theodolite_study.web.errors import Faults, add_handlers
from theodolite_study.web.rendering import static_files
from theodolite_study.web.security import (
    Counter,
    NotTooMany,
    OwnHost,
    OwnPages,
    SafeHeaders,
    WholeBodies,
)
from theodolite_study.web.settings import Settings, settings_from
from theodolite_study.web.site import site_for

ROUTES = (
    landing_routes,
    participant_routes,
    practice_routes,
    item_routes,
    asset_routes,
    ops_routes,
    staff_routes,
)


def create_app(settings: Settings) -> FastAPI:
    """A server for one study folder."""
    site = site_for(settings)
    app = FastAPI(title=site.protocol.title, openapi_url=None, redirect_slashes=False)
    app.state.site = site
    app.state.static = static_files()
    for routes in ROUTES:
        app.include_router(routes.router)
    add_handlers(app)
    limits = settings.limits
    # the last one added is the first to see a request
    app.add_middleware(Faults, site=site)
    app.add_middleware(NotTooMany, working=Counter(limits.in_flight), refuse=site.refuse)
    app.add_middleware(
        WholeBodies, limits=limits, refuse=site.refuse, reading=Counter(limits.readers)
    )
    app.add_middleware(OwnPages, origin=settings.public_origin, refuse=site.refuse)
    app.add_middleware(OwnHost, host=settings.host, refuse=site.refuse)
    app.add_middleware(SafeHeaders, https=settings.https)
    return app


def from_environment() -> FastAPI:
    """The same in a worker process, which hears its settings from variables."""
    end_with_parent()
    return create_app(settings_from())
