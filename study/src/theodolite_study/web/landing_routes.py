"""Where people come in."""

from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from theodolite_study import sessions
from theodolite_study.admission import by_invitation
from theodolite_study.participants import by_withdrawal_code, participant
from theodolite_study.platforms.identity import Preview
from theodolite_study.refusals import NotHere
from theodolite_study.visits import state_of
from theodolite_study.web import cookies
from theodolite_study.web.arrivals import (
    KnownElsewhere,
    Platform,
    admitted,
    begun,
    from_address,
    names_somebody,
    somebody_else,
    welcome,
)
from theodolite_study.web.asking import (
    LOOK,
    ASite,
    AVisitor,
    Fields,
    FormVisitor,
    Refused,
)
from theodolite_study.web.forms import BeginForm, form_body, read_form
from theodolite_study.web.site import Site, Visitor
from theodolite_study.web.steps import where_next
from theodolite_study.web.views import LandingView

router = APIRouter()
PREVIEW = "This is a preview. Accept the task on Mechanical Turk to begin."


@router.api_route("/", methods=LOOK)
def root(site: ASite) -> Response:
    """There is one study here."""
    return RedirectResponse(site.home, 303)


@router.api_route("/s/{slug}", methods=LOOK)
def landing(slug: str, request: Request, site: ASite, asking: AVisitor) -> Response:
    """The welcome page. Ids in the address are taken in, and leave the address."""
    _need_slug(site, slug)
    parameters = dict(request.query_params)
    if not names_somebody(site, parameters):
        return _welcome_page(site, asking)
    if request.method == "HEAD":
        return Response()
    _not_too_many(site)
    found = from_address(site, parameters)
    if isinstance(found, Preview):
        return _welcome_page(site, asking, preview=True)
    if somebody_else(site, asking, found):
        # a link must not end what somebody is doing: they are asked
        view = LandingView(
            site.protocol.minutes, needs_invite=False, instead=f"?{urlencode(parameters)}"
        )
        return site.page(asking, view)
    return _come_in(site, asking, found)


def _come_in(site: Site, asking: Visitor, found: Platform) -> Response:
    try:
        who = admitted(site, asking, found)
    except KnownElsewhere:
        response = RedirectResponse(f"{site.home}/again", 303)
        if asking.token:
            sessions.end(site.database, asking.token)
            cookies.forget_session(response)
        return response
    return welcome(site, asking, who.id, site.home)


@router.api_route("/s/{slug}/again", methods=LOOK)
def known_elsewhere(slug: str, site: ASite, asking: AVisitor) -> Response:
    """Somebody began on another device."""
    _need_slug(site, slug)
    if asking.participant is not None:
        return RedirectResponse(where_next(site, asking.participant, asking.study_state), 303)
    view = LandingView(site.protocol.minutes, needs_invite=False, needs_code=True)
    return site.page(asking, view)


@router.post("/s/{slug}/begin", openapi_extra=form_body(BeginForm))
def begin(slug: str, request: Request, site: ASite, asking: FormVisitor, given: Fields) -> Response:
    """Begin: by the open link, with an invitation, again with the withdrawal code, or instead."""
    _need_slug(site, slug)
    form = read_form(BeginForm, given)
    kind = site.protocol.access.kind
    if names_somebody(site, request.query_params):
        found = from_address(site, request.query_params)
        if isinstance(found, Platform):
            return _come_in(site, asking, found)
    if asking.participant is not None:
        address = where_next(site, asking.participant, asking.study_state)
        return RedirectResponse(address, 303)
    if kind == "link":
        return welcome(site, asking, begun(site).id, "/consent")
    try:
        if kind == "invite":
            identity = by_invitation(site.database, slug, form.code)
            who = admitted(site, asking, Platform(identity))
        else:
            who = participant(
                site.database, by_withdrawal_code(site.database, form.code, site.keys)
            )
    except NotHere as error:
        view = LandingView(
            site.protocol.minutes, needs_invite=kind == "invite", needs_code=kind != "invite"
        )
        return site.page(asking, view, status=422, errors=[error.message])
    return welcome(site, asking, who.id, site.home)


def _welcome_page(site: Site, asking: Visitor, *, preview: bool = False) -> Response:
    who = asking.participant
    if who is not None and who.state != "landed":
        return RedirectResponse(where_next(site, who, asking.study_state), 303)
    kind = site.protocol.access.kind
    view = LandingView(
        minutes=site.protocol.minutes,
        needs_invite=kind == "invite" and who is None,
        begins=not preview and (who is not None or kind in ("link", "invite")),
        open=who is not None or state_of(site.database, site.protocol.slug) == "open",
    )
    return site.page(asking, view, said=PREVIEW if preview else "")


def _need_slug(site: Site, slug: str) -> None:
    if slug != site.protocol.slug:
        raise NotHere


def _not_too_many(site: Site) -> None:
    wait = site.landings.allow(site.protocol.slug)
    if wait:
        raise Refused(429, "Many people come in just now. Please try again.", int(wait) + 1)
