"""Practice: the same steps as in the study, with feedback."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from theodolite_study.answers import Baseline, Ratings
from theodolite_study.participants import participant
from theodolite_study.practice import (
    practice_answer,
    practice_baseline,
    practice_end,
    practice_item,
    practice_progress,
    practice_reveal,
)
from theodolite_study.refusals import Invalid
from theodolite_study.web.asking import LOOK, ASite, AVisitor, Fields, FormVisitor
from theodolite_study.web.forms import (
    BaselineForm,
    PlainForm,
    RatingsForm,
    chosen,
    form_body,
    read_form,
)
from theodolite_study.web.item_views import practice_view
from theodolite_study.web.security import wants_json
from theodolite_study.web.site import Visitor, go, site_of
from theodolite_study.web.steps import Elsewhere, shown, taken, where_next
from theodolite_study.web.views import FeedbackView, ItemPage, PracticeView

router = APIRouter(prefix="/training")
Number = Annotated[int, Path(ge=1, le=1000)]


@router.api_route("", methods=LOOK)
def show_practice(site: ASite, asking: AVisitor) -> Response:
    """What practice is, and which item comes next."""
    who = shown(site, asking, "training")
    progress = practice_progress(site.database, who.id)
    if progress.number > progress.of:
        raise Elsewhere(f"/training/{progress.of}/feedback")
    return site.page(asking, PracticeView(progress))


@router.post("/end", openapi_extra=form_body(PlainForm))
def end(request: Request, site: ASite, asking: FormVisitor, given: Fields) -> Response:
    """After the last item: on to the study, or once more, or not."""
    who = taken(asking, "training")
    read_form(PlainForm, given)
    practice_end(site.database, who.id)
    now = participant(site.database, who.id)
    return go(request, where_next(site, now, asking.study_state))


@router.api_route("/{number}", methods=LOOK)
def show_item(number: Number, request: Request, site: ASite, asking: AVisitor) -> Response:
    """An item in its stage."""
    who = shown(site, asking, "training")
    item = practice_item(site.database, who.id, number)
    if item.answers is not None:
        raise Elsewhere(f"/training/{number}/feedback")
    if request.method == "HEAD":
        return Response(media_type="text/html")
    if not item.before:
        item = practice_reveal(site.database, who.id, number)
    return site.page(asking, ItemPage(practice_view(site, item)))


@router.api_route("/{number}/feedback", methods=LOOK)
def feedback(number: Number, site: ASite, asking: AVisitor) -> Response:
    """Whether it was right, and why."""
    who = shown(site, asking, "training")
    item = practice_item(site.database, who.id, number)
    if item.answers is None:
        raise Elsewhere(f"/training/{number}")
    check = item.instance.check
    view = FeedbackView(
        item=practice_view(site, item),
        passed=bool(item.passed),
        feedback="" if check is None else check.feedback,
        last=item.number == item.of,
    )
    return site.page(asking, view)


@router.post("/{number}/baseline", openapi_extra=form_body(BaselineForm))
def give_baseline(
    number: Number, request: Request, site: ASite, asking: FormVisitor, given: Fields
) -> Response:
    """What the person sees."""
    who = taken(asking, "training")
    try:
        form = read_form(BaselineForm, given)
        said = Baseline(form.text, form.boxes or (), form.client or {})
        practice_baseline(site.database, who.id, number, said)
    except Invalid as error:
        return _again(request, asking, number, error, {"text": given.get("text", "")})
    return go(request, f"/training/{number}")


@router.post("/{number}/ratings", openapi_extra=form_body(RatingsForm))
def give_ratings(
    number: Number, request: Request, site: ASite, asking: FormVisitor, given: Fields
) -> Response:
    """Answers, which are graded."""
    who = taken(asking, "training")
    try:
        form = read_form(RatingsForm, given)
        ratings = Ratings(form.answers(), form.key, form.durations or {}, form.client or {})
        practice_answer(site.database, who.id, number, ratings)
    except Invalid as error:
        return _again(request, asking, number, error, {"answers": chosen(given)})
    return go(request, f"/training/{number}/feedback")


def _again(
    request: Request, asking: Visitor, number: int, error: Invalid, given: dict[str, object]
) -> Response:
    """The same page with what was given and what is missing."""
    if wants_json(request.headers):
        raise error
    site, who = site_of(request), taken(asking, "training")
    item = practice_item(site.database, who.id, number)
    if item.answers is not None or ("answers" in given) == item.before:
        raise error
    return site.page(
        asking, ItemPage(practice_view(site, item, given)), status=422, errors=[error.message]
    )
