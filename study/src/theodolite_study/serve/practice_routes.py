"""Practice: the same steps with feedback."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.refusals import NotHere
from theodolite_study.serve.block_forms import UnfitForm, answers_from
from theodolite_study.serve.block_views import unfit_for_script, wants_script
from theodolite_study.serve.door_routes import site_of
from theodolite_study.serve.items import asked_blocks, image_size, item_context
from theodolite_study.serve.site import StudySite, form_of, onward
from theodolite_study.sessions import digest_of


async def practice(request: Request) -> Response:
    """The practice item that comes next, or its feedback."""
    site = site_of(request)
    session = digest_of(site.token(request))
    number = request.path_params.get("number")
    row = await site.calls.step("st_practice", session, number)
    if row["word"] == "not here" and row.get("state") != "training":
        return onward(request, "/go")
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
    context: dict[str, Any] = item_context(as_item, version, site.addresses, session, fields, unfit)
    context |= {
        "action": f"/practice/{row['number']}", "practice": True, "passed": row["passed"],
        "feedback": row["feedback"] or "", "last": row["number"] == row["of"],
    }  # fmt: skip
    name = "item" if row["answers"] is None else "feedback"
    status = 200 if error is None else error.status
    return site.page(name, version, row["language"], session, context, status)


async def practice_own(request: Request) -> Response:
    """What somebody sees in a practice item."""
    return await _sent(request, "before", "st_practice_own")


async def practice_ratings(request: Request) -> Response:
    """Ratings of a practice item: told at once whether they were right."""
    return await _sent(request, "after", "st_practice_rate")


async def _sent(request: Request, stage: Any, step: str) -> Response:
    site, number = site_of(request), request.path_params["number"]
    session = digest_of(site.token(request))
    fields = await form_of(request, site, session)
    row = await site.calls.taken("st_practice", session, number)
    version = await site.version(row, session)
    blocks = asked_blocks(version, stage, row["shown"])
    try:
        answers = answers_from(blocks, fields, row["earlier"], image_size(row["shown"]))
    except UnfitForm as error:
        if wants_script(request):
            return unfit_for_script(error, row["language"])
        return await _page(site, session, row, fields, error)
    await site.calls.taken(step, session, number, answers)
    return onward(request, f"/practice/{number}")


async def practice_end(request: Request) -> Response:
    """After the last feedback: on, again, or out."""
    site = site_of(request)
    session = digest_of(site.token(request))
    await form_of(request, site, session)
    await site.calls.taken("st_practice_end", session)
    return onward(request, "/go")


ROUTES = [
    Route("/practice", practice),
    Route("/practice/end", practice_end, methods=["POST"]),
    Route("/practice/{number:short}", practice),
    Route("/practice/{number:short}/own", practice_own, methods=["POST"]),
    Route("/practice/{number:short}/ratings", practice_ratings, methods=["POST"]),
]
