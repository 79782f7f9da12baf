"""Serve the practice items, which have the steps of rated items, with feedback."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.locale.task_messages import describe_feedback
from theodolite_study.refusals import NotHere
from theodolite_study.serve.block_forms import UnfitForm, parse_answers
from theodolite_study.serve.block_views import is_script_request, make_unfit_response
from theodolite_study.serve.item_pages import (
    build_item_context,
    get_image_size,
    select_asked_blocks,
)
from theodolite_study.serve.landing_routes import get_site
from theodolite_study.serve.pages import get_translator
from theodolite_study.serve.site import StudySite, parse_form, redirect
from theodolite_study.session_tokens import digest_session_token


async def practice(request: Request) -> Response:
    """Return the next practice item, or the feedback on the last."""
    site = get_site(request)
    session = digest_session_token(site.token(request))
    number = request.path_params.get("number")
    row = await site.calls.step("st_practice", session, number)
    if row["word"] == "not here" and row.get("state") != "training":
        return redirect(request, "/go")
    if row["word"] != "ok":
        raise NotHere
    return await _page(site, session, row)


async def _page(
    site: StudySite, session: bytes, row: Mapping[str, Any],
    fields: Mapping[str, Sequence[str]] | None = None, error: UnfitForm | None = None,
) -> Response:  # fmt: skip
    version = await site.version(row, session)
    as_item = {
        **row, "item": row["number"], "done": row["number"] - 1, "promised": row["of"],
        "draft": {}, "lease": None, "person": row["instance"], "position": row["number"],
    }  # fmt: skip
    unfit = () if error is None else error.blocks
    context: dict[str, Any] = build_item_context(
        as_item, version, site.addresses, session, fields, unfit
    )
    context |= {
        "action": f"/practice/{row['number']}", "practice": True, "passed": row["passed"],
        "feedback": describe_feedback(
            context["task"], context["blocks"], get_translator(row["language"]),
            row["feedback"] or "",
        ),
        "last": row["number"] == row["of"],
    }  # fmt: skip
    name = "item" if row["answers"] is None else "feedback"
    status = 200 if error is None else error.status
    return site.page(name, version, row["language"], session, context, status)


async def practice_own(request: Request) -> Response:
    """Store the own answer to a practice item."""
    return await _sent(request, "before", "st_practice_own")


async def practice_ratings(request: Request) -> Response:
    """Store the ratings of a practice item and say whether they were correct."""
    return await _sent(request, "after", "st_practice_rate")


async def _sent(request: Request, stage: Any, step: str) -> Response:
    site, number = get_site(request), request.path_params["number"]
    session = digest_session_token(site.token(request))
    fields = await parse_form(request, site, session)
    row = await site.calls.taken("st_practice", session, number)
    version = await site.version(row, session)
    blocks = select_asked_blocks(version, stage, row["shown"])
    try:
        answers = parse_answers(blocks, fields, row["earlier"], get_image_size(row["shown"]))
    except UnfitForm as error:
        if is_script_request(request):
            return make_unfit_response(error, row["language"])
        return await _page(site, session, row, fields, error)
    await site.calls.taken(step, session, number, answers)
    return redirect(request, f"/practice/{number}")


async def practice_end(request: Request) -> Response:
    """Continue, repeat or end after the last feedback."""
    site = get_site(request)
    session = digest_session_token(site.token(request))
    await parse_form(request, site, session)
    await site.calls.taken("st_practice_end", session)
    return redirect(request, "/go")


ROUTES = [
    Route("/practice", practice),
    Route("/practice/end", practice_end, methods=["POST"]),
    Route("/practice/{number:short}", practice),
    Route("/practice/{number:short}/own", practice_own, methods=["POST"]),
    Route("/practice/{number:short}/ratings", practice_ratings, methods=["POST"]),
]
