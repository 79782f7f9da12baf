"""The steps around the items: agree, tell about oneself, put in order, finish, withdraw."""

import hashlib

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from theodolite_study import sessions
from theodolite_study.participants import (
    AGE_BANDS,
    GENDERS,
    by_withdrawal_code,
    consent,
    decline,
    describe_oneself,
    participant,
)
from theodolite_study.people import Participant
from theodolite_study.platforms import prolific
from theodolite_study.rankings import store_rankings
from theodolite_study.refusals import Invalid, NotHere
from theodolite_study.visits import end_others, votes_given
from theodolite_study.web import cookies
from theodolite_study.web.asking import LOOK, ASite, AVisitor, Fields, FormVisitor
from theodolite_study.web.countries import COUNTRIES
from theodolite_study.web.forms import (
    AboutForm,
    PlainForm,
    RankingsForm,
    WithdrawForm,
    form_body,
    read_form,
)
from theodolite_study.web.security import wants_json
from theodolite_study.web.site import Site, Visitor, go
from theodolite_study.web.steps import Elsewhere, NobodyKnown, shown, taken, where_next
from theodolite_study.web.views import (
    AboutYouView,
    CodeView,
    ConsentView,
    EndedView,
    FinishView,
    RankingsView,
    WithdrawView,
)
from theodolite_study.withdrawal import withdraw

router = APIRouter()


@router.api_route("/consent", methods=LOOK)
def show_consent(site: ASite, asking: AVisitor) -> Response:
    """The form that people agree to."""
    shown(site, asking, "consent")
    return site.page(asking, ConsentView())


@router.post("/consent", openapi_extra=form_body(PlainForm))
def give_consent(request: Request, site: ASite, asking: FormVisitor, given: Fields) -> Response:
    """The person agrees; they get their withdrawal code."""
    who = taken(asking, "consent")
    read_form(PlainForm, given)
    consent(site.database, who.id, site.keys)
    if who.state == "landed":  # nobody else reads their code, or answers in their name
        end_others(site.database, who.id, asking.token)
    if not site.protocol.demographics:
        describe_oneself(site.database, who.id, {})
    return go(request, "/code")


@router.post("/decline", openapi_extra=form_body(PlainForm))
def do_decline(request: Request, site: ASite, asking: FormVisitor, given: Fields) -> Response:
    """The person does not agree."""
    who = taken(asking, "decline")
    read_form(PlainForm, given)
    decline(site.database, who.id)
    return go(request, "/ended")


@router.api_route("/code", methods=LOOK)
def show_code(site: ASite, asking: AVisitor) -> Response:
    """The withdrawal code, to be kept."""
    who = shown(site, asking, "code")
    return site.page(asking, CodeView(site.keys.withdrawal_code(who.id)))


@router.api_route("/demographics", methods=LOOK)
def show_demographics(site: ASite, asking: AVisitor) -> Response:
    """A little about oneself."""
    shown(site, asking, "demographics")
    return site.page(asking, _about(site))


@router.post("/demographics", openapi_extra=form_body(AboutForm))
def give_demographics(
    request: Request, site: ASite, asking: FormVisitor, given: Fields
) -> Response:
    """Each answer may be left out."""
    who = taken(asking, "demographics")
    try:
        form = read_form(AboutForm, given)
        said = form.model_dump(exclude={"csrf"}) if site.protocol.demographics else {}
        describe_oneself(site.database, who.id, said)
    except Invalid as error:
        if wants_json(request.headers):
            raise
        return site.page(asking, _about(site), status=422, errors=[error.message])
    now = participant(site.database, who.id)
    return go(request, where_next(site, now, asking.study_state))


def _about(site: Site) -> AboutYouView:
    if not site.protocol.demographics:
        return AboutYouView((), (), ())
    return AboutYouView(AGE_BANDS, GENDERS, COUNTRIES)


@router.api_route("/post", methods=LOOK)
def show_rankings(site: ASite, asking: AVisitor) -> Response:
    """The last questions."""
    who = shown(site, asking, "post")
    _need_place(site, asking, who, "/post")
    return site.page(asking, RankingsView(site.protocol.rankings, _begin(site, who)))


def _begin(site: Site, who: Participant) -> dict[str, list[int]]:
    """What stands first is chosen first more often: lists begin in an order of the person's own."""
    return {
        name: sorted(
            range(len(ranking.items)),
            key=lambda item: hashlib.sha256(f"{who.id} {name} {item}".encode()).digest(),
        )
        for name, ranking in site.protocol.rankings.items()
    }


@router.post("/post", openapi_extra=form_body(RankingsForm))
def give_rankings(request: Request, site: ASite, asking: FormVisitor, given: Fields) -> Response:
    """Orders of all lists."""
    who = taken(asking, "post")
    try:
        store_rankings(site.database, who.id, read_form(RankingsForm, given).orders())
    except Invalid as error:
        if wants_json(request.headers):
            raise
        view = RankingsView(site.protocol.rankings, _begin(site, who), given)
        return site.page(asking, view, status=422, errors=[error.message])
    return go(request, "/finish")


@router.api_route("/finish", methods=LOOK)
def finish_page(site: ASite, asking: AVisitor) -> Response:
    """Thanks, and the code for the platform."""
    who = shown(site, asking, "finish")
    _need_place(site, asking, who, "/finish")
    return site.page(asking, FinishView(*_for_work(site, who)))


def _need_place(site: Site, asking: Visitor, who: Participant, page: str) -> None:
    address = where_next(site, who, asking.study_state)
    if address != page:
        raise Elsewhere(address)


@router.api_route("/ended", methods=LOOK)
def ended(site: ASite, asking: AVisitor) -> Response:
    """The person does not go on. Whom the end of the study met at work gets the code for it."""
    who = shown(site, asking, "ended")
    codes = site.protocol.access.codes
    given = {"declined": codes.no_consent, "screened_out": codes.screened_out}
    code, address = (
        _for_work(site, who)
        if who.state == "active"
        else _for_platform(site, who, given.get(who.state))
    )
    why = who.state if who.state in ("declined", "screened_out", "withdrawn") else "closed"
    return site.page(asking, EndedView(why, address, code))  # type: ignore[arg-type]


def _for_work(site: Site, who: Participant) -> tuple[str, str | None]:
    """The code for whoever has rated something; elsewhere than at Prolific it is their own."""
    if not who.preview and votes_given(site.database, who.id) == 0:
        return "", None
    code, address = _for_platform(site, who, site.protocol.access.codes.finished)
    return code or site.keys.completion_code(site.protocol.slug, who.id), address


def _for_platform(site: Site, who: Participant, code: str | None) -> tuple[str, str | None]:
    """Prolific knows the codes of a study, and has an address where they are handed in."""
    if code is None or site.protocol.access.kind != prolific.PLATFORM:
        return "", None
    at_prolific = who.platform == prolific.PLATFORM
    return code, prolific.completion_url(code) if at_prolific else None


@router.api_route("/withdraw", methods=LOOK)
def show_withdraw(site: ASite, asking: AVisitor) -> Response:
    """Whether somebody really wants to."""
    return site.page(asking, WithdrawView(needs_code=asking.participant is None))


@router.post("/withdraw", openapi_extra=form_body(WithdrawForm))
def do_withdraw(request: Request, site: ASite, asking: FormVisitor, given: Fields) -> Response:
    """Everything of the person is deleted: the one of the session, or of the code."""
    try:
        form = read_form(WithdrawForm, given)
        if form.code:
            gone = by_withdrawal_code(site.database, form.code, site.keys)
        elif asking.participant is not None:
            gone = asking.participant.id
        else:
            raise Invalid("Please give your withdrawal code.")
    except (Invalid, NotHere) as error:
        if wants_json(request.headers):
            raise
        view = WithdrawView(needs_code=True)
        return site.page(asking, view, status=422, errors=[error.message])
    withdraw(site.database, gone)
    response = go(request, "/withdrawn")
    if asking.participant is not None and asking.participant.id == gone:
        cookies.forget_session(response)
    return response


@router.api_route("/withdrawn", methods=LOOK)
def withdrawn(site: ASite, asking: AVisitor) -> Response:
    """The same for everybody: nobody is known any more."""
    if asking.participant is not None and asking.participant.state != "withdrawn":
        raise Elsewhere(where_next(site, asking.participant, asking.study_state))
    return site.page(asking, EndedView("withdrawn"))


@router.post("/logout", openapi_extra=form_body(PlainForm))
def logout(site: ASite, asking: FormVisitor, given: Fields) -> Response:
    """The session holds no longer, here or elsewhere."""
    read_form(PlainForm, given)
    if asking.participant is None:
        raise NobodyKnown
    sessions.end(site.database, asking.token)
    response = RedirectResponse(site.home, 303)
    cookies.forget_session(response)
    return response
