"""What one process of the server has at hand."""

from dataclasses import dataclass, field
from typing import TypeAlias

from fastapi import Request
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from theodolite.ext.studies import read_material
from theodolite_study.database import Database
from theodolite_study.keys import Keys
from theodolite_study.people import Participant
from theodolite_study.platforms import prolific
from theodolite_study.platforms.prolific_keys import FILE, FetchedKeys, SigningKeys, stored_keys
from theodolite_study.protocol import Protocol, read_protocol
from theodolite_study.rate_limits import Limiter
from theodolite_study.web import cookies
from theodolite_study.web.rendering import Pages
from theodolite_study.web.security import wants_json
from theodolite_study.web.settings import Settings
from theodolite_study.web.views import Everywhere, Legend, MessageView, View

Errors: TypeAlias = "list[str] | tuple[str, ...]"


@dataclass(frozen=True)
class Visitor:
    """Whoever sends a request: a person of the study, or somebody who has not begun."""

    participant: Participant | None
    study_state: str
    """Empty for somebody who has not begun."""
    digest: bytes = field(repr=False)
    """What the forms on their pages are bound to."""
    token: str = field(default="", repr=False)
    fresh: str = field(default="", repr=False)
    """A cookie to be given to somebody who has not begun."""


@dataclass(frozen=True)
class Site:
    """The study, its keys, its tables and its pages."""

    settings: Settings
    protocol: Protocol
    keys: Keys
    database: Database
    pages: Pages
    legend: Legend
    explanations: int
    """How many there are to be rated, of all techniques."""
    signing_keys: SigningKeys
    posts: Limiter
    looks: Limiter
    landings: Limiter
    logins: Limiter = field(default_factory=lambda: Limiter(rate=0.2, burst=10))
    """As one account of the staff: a handful, then one in five seconds."""

    @property
    def home(self) -> str:
        """Where people come in."""
        return f"/s/{self.protocol.slug}"

    def page(
        self,
        visitor: Visitor,
        view: View,
        *,
        status: int = 200,
        errors: Errors = (),
        said: str = "",
    ) -> Response:
        """A page for somebody."""
        everywhere = Everywhere(
            study=self.protocol, csrf=self.keys.csrf(visitor.digest),
            participant=visitor.participant, errors=list(errors), said=said,
        )  # fmt: skip
        response = HTMLResponse(self.pages.page(everywhere, view), status_code=status)
        if visitor.fresh:
            cookies.keep_before(response, visitor.fresh)
        return response

    def message(
        self,
        headers: Headers,
        status: int,
        said: str,
        retry_after: int = 0,
        back: str | None = None,
    ) -> Response:
        """A refusal or a fault, as a page or for a script."""
        if wants_json(headers):
            response: Response = JSONResponse({"message": said, "errors": [said]}, status)
        else:
            view = MessageView(status, said, back)
            response = HTMLResponse(self.pages.page(Everywhere(self.protocol, ""), view), status)
        if retry_after:
            response.headers["retry-after"] = str(retry_after)
        return response

    def refuse(self, headers: Headers, status: int, said: str, retry_after: int) -> Response:
        """The same before anybody knows who asks."""
        return self.message(headers, status, said, retry_after)


def site_for(settings: Settings) -> Site:
    """Read the study's folder. The database is not asked: it may be away for a moment."""
    protocol, material = read_protocol(settings.folder), read_material(settings.folder)
    limits = settings.limits
    _need_codes(protocol)
    keep_own = (settings.folder / FILE).is_file()
    return Site(
        settings=settings,
        protocol=protocol,
        keys=Keys.read(settings.folder),
        database=Database(settings.database_url, pool=limits.pool),
        pages=Pages(),
        legend=material.legend,
        explanations=len(material.of("real")),
        signing_keys=stored_keys(settings.folder) if keep_own else FetchedKeys(),
        posts=Limiter(limits.posts_rate, limits.posts_burst),
        looks=Limiter(limits.looks_rate, limits.looks_burst),
        landings=Limiter(limits.landings_rate, limits.landings_burst),
    )


def _need_codes(protocol: Protocol) -> None:
    """Codes that Prolific could not take are found now, not when the first person is done."""
    if protocol.access.kind == prolific.PLATFORM:
        codes = protocol.access.codes
        for code in (codes.finished, codes.no_consent, codes.screened_out):
            if code is not None:
                prolific.completion_url(code)


def site_of(request: Request) -> Site:
    """The site that a request came to."""
    site: Site = request.app.state.site
    return site


def go(request: Request, address: str) -> Response:
    """On to another page of ours; scripts are told where."""
    if wants_json(request.headers):
        return JSONResponse({"next": address})
    return RedirectResponse(address, 303)
