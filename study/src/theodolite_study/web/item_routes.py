"""One picture at a time: claim it, say what you see, see the explanation, rate it."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import JSONResponse, Response

from theodolite_study.answers import Baseline, Ratings
from theodolite_study.assignments import (
    Assignment,
    assignment,
    release,
    renew,
    reveal,
    save_draft,
    store_baseline,
)
from theodolite_study.claims import next_assignment
from theodolite_study.participants import finish
from theodolite_study.people import Participant
from theodolite_study.rankings import ranked
from theodolite_study.refusals import Invalid, NothingNow, WrongStage
from theodolite_study.votes import submit
from theodolite_study.web.asking import (
    LOOK,
    ASite,
    AVisitor,
    Fields,
    FormVisitor,
    ScriptVisitor,
    Sent,
)
from theodolite_study.web.described import json_body
from theodolite_study.web.forms import (
    BaselineForm,
    Draft,
    Nothing,
    PlainForm,
    RatingsForm,
    ReleaseForm,
    chosen,
    form_body,
    read_form,
)
from theodolite_study.web.item_views import item_view, seconds_left
from theodolite_study.web.security import wants_json
from theodolite_study.web.site import Site, Visitor, go, site_of
from theodolite_study.web.steps import Elsewhere, shown, taken, where_next
from theodolite_study.web.views import ItemPage, WaitView

router = APIRouter()
WAITING = ("leased", "revealed", "lost")
Number = Annotated[int, Path(ge=1, lt=2**63)]


@router.api_route("/next", methods=LOOK)
def show_next(site: ASite, asking: AVisitor) -> Response:
    """A button to go on. Looking takes nothing."""
    who = shown(site, asking, "next")
    address = where_next(site, who, asking.study_state)
    if address != "/next":
        raise Elsewhere(address)
    return site.page(asking, WaitView(0))


@router.post("/next", openapi_extra=form_body(PlainForm))
def take_next(request: Request, site: ASite, asking: FormVisitor, given: Fields) -> Response:
    """The picture that waits for the person, or a new one, or the end."""
    who = taken(asking, "next")
    read_form(PlainForm, given)
    try:
        return go(request, _claimed(site, who))
    except NothingNow as error:
        if wants_json(request.headers):
            raise
        response = site.page(asking, WaitView(error.retry_after), status=503)
        response.headers["retry-after"] = str(error.retry_after)
        return response


@router.post("/next/finish", openapi_extra=form_body(PlainForm))
def finish_now(request: Request, site: ASite, asking: FormVisitor, given: Fields) -> Response:
    """The last pictures are with others: nobody has to wait for them."""
    who = taken(asking, "next")
    read_form(PlainForm, given)
    try:
        finish(site.database, who.id)
    except WrongStage:  # one is there for them after all
        return go(request, where_next(site, who, asking.study_state))
    return go(request, "/finish" if ranked(site.database, who.id) else "/post")


def _claimed(site: Site, who: Participant) -> str:
    """Where the person goes on: an item, or what comes after all items."""
    found = next_assignment(site.database, who.id)
    if isinstance(found, Assignment):
        return f"/a/{found.id}"
    try:
        finish(site.database, who.id)
    except WrongStage:  # a picture came back at this very moment
        return "/next"
    return "/finish" if ranked(site.database, who.id) else "/post"


def _go_on(request: Request, site: Site, who: Participant) -> Response:
    """After an item the next one; where there is none just now, the page that waits."""
    try:
        return go(request, _claimed(site, who))
    except NothingNow:
        return go(request, "/next")
    except WrongStage:  # checks said that the person does not go on
        return go(request, "/ended")


@router.api_route("/a/{number}", methods=LOOK)
def show_item(number: Number, request: Request, site: ASite, asking: AVisitor) -> Response:
    """The item in its stage. Only after one's own answer is anything of the explanation read."""
    who = shown(site, asking, "item")
    item = assignment(site.database, who.id, number)
    if item.state not in WAITING:
        raise Elsewhere(where_next(site, who, asking.study_state))
    if request.method == "HEAD":
        return Response(media_type="text/html")
    if not item.before:
        item = reveal(site.database, who.id, number)
    return site.page(asking, ItemPage(item_view(site, item, who)))


@router.post("/a/{number}/baseline", openapi_extra=form_body(BaselineForm))
def give_baseline(
    number: Number, request: Request, site: ASite, asking: FormVisitor, given: Fields
) -> Response:
    """What the person sees. The explanation comes after it."""
    who = taken(asking, "item")
    try:
        form = read_form(BaselineForm, given)
        said = Baseline(form.text, form.boxes or (), form.client or {})
        store_baseline(site.database, who.id, number, said)
    except Invalid as error:
        return _again(request, asking, number, error, {"text": given.get("text", "")})
    return go(request, f"/a/{number}")


@router.post("/a/{number}/ratings", openapi_extra=form_body(RatingsForm))
def give_ratings(
    number: Number, request: Request, site: ASite, asking: FormVisitor, given: Fields
) -> Response:
    """A vote. The same form again has the same receipt."""
    who = taken(asking, "item")
    try:
        form = read_form(RatingsForm, given)
        ratings = Ratings(form.answers(), form.key, form.durations or {}, form.client or {})
        receipt = submit(site.database, who.id, number, ratings)
    except Invalid as error:
        return _again(request, asking, number, error, {"answers": chosen(given)})
    response = _go_on(request, site, who)
    response.headers["x-receipt"] = f"{receipt.assignment_id}.{receipt.payload_sha256}"
    return response


def _again(
    request: Request, asking: Visitor, number: int, error: Invalid, given: dict[str, object]
) -> Response:
    """The same page with what was given and what is missing."""
    if wants_json(request.headers):
        raise error
    site, who = site_of(request), taken(asking, "item")
    item = assignment(site.database, who.id, number)
    if item.state not in WAITING or ("answers" in given) == item.before:
        raise error
    if not item.before:
        item = reveal(site.database, who.id, number)
    page = ItemPage(item_view(site, item, who, given))
    return site.page(asking, page, status=422, errors=[error.message])


@router.post("/a/{number}/draft", openapi_extra=json_body(Draft))
def keep_draft(number: Number, site: ASite, asking: ScriptVisitor, given: Sent) -> Response:
    """Half an answer, so that a reload loses nothing."""
    who = taken(asking, "item")
    draft = read_form(Draft, given).model_dump(exclude_none=True)
    save_draft(site.database, who.id, number, draft)
    return JSONResponse({"saved": True})


@router.post("/a/{number}/heartbeat", openapi_extra=json_body(Nothing))
def still_there(number: Number, site: ASite, asking: ScriptVisitor, given: Sent) -> Response:
    """The page is still open: the item stays with the person."""
    who = taken(asking, "item")
    read_form(Nothing, given)
    until = renew(site.database, who.id, number)
    # hidden checks and previews have no seat: they cannot go to somebody else
    if until is None and assignment(site.database, who.id, number).state == "lost":
        return JSONResponse({"lease_seconds": 0, "lost": True})
    return JSONResponse({"lease_seconds": seconds_left(site, until)})


@router.post("/a/{number}/release", openapi_extra=form_body(ReleaseForm))
def skip(
    number: Number, request: Request, site: ASite, asking: FormVisitor, given: Fields
) -> Response:
    """Skip it: it goes back to others."""
    who = taken(asking, "item")
    release(site.database, who.id, number, read_form(ReleaseForm, given).reason)
    return _go_on(request, site, who)
