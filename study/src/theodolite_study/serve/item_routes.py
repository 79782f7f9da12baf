"""Serve the items of a study: first the participant's own answer, then explanation and ratings."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from theodolite_study.locale.refusal_messages import REFUSALS
from theodolite_study.model.block_orders import compute_orders
from theodolite_study.refusals import Invalid, NotHere, Refused
from theodolite_study.serve.block_forms import UnfitForm, parse_answers
from theodolite_study.serve.block_views import is_script_request, make_unfit_response
from theodolite_study.serve.images import get_media_type
from theodolite_study.serve.item_pages import (
    build_item_context,
    compute_seconds_left,
    get_image_size,
    select_asked_blocks,
)
from theodolite_study.serve.landing_routes import get_site
from theodolite_study.serve.question_pages import digest_answers, parse_measures
from theodolite_study.serve.site import StudySite, parse_form, parse_json, redirect
from theodolite_study.serve.versions import StudyVersion
from theodolite_study.session_tokens import digest_session_token

MAX_DRAFT_CHARACTERS = 20_000
MAX_ITEM = 2**63
MAKES_PAGE = True
"""Argument of a step that makes a page, from which on the explanation may be visible."""
IMAGE_CACHE_CONTROL = "private, max-age=7200, immutable"


async def next_item(request: Request) -> Response:
    """Redirect to the item in progress, a new one, or the end."""
    site = get_site(request)
    session = digest_session_token(site.token(request))
    return _redirect_to_next(request, await site.calls.taken("st_next", session))


def _redirect_to_next(request: Request, result: dict[str, Any]) -> Response:
    """Redirect to the page that a step's result names."""
    if result["go"] == "item":
        return redirect(request, f"/a/{result['item']}")
    if result["go"] == "wait":
        return redirect(request, f"/wait?seconds={int(result['seconds'])}")
    places = {
        "consent": "/consent",
        "done": "/finish",
        "ran out": "/finish",
        "end": "/done",
        "stage": "/go",
    }
    return redirect(request, places.get(result["go"], "/closed"))


async def item_page(request: Request) -> Response:
    """Return the page of an item; its step records when the explanation became visible."""
    site, item = get_site(request), request.path_params["item"]
    session = digest_session_token(site.token(request))
    row = await site.calls.taken("st_item", session, item, MAKES_PAGE)
    site.remember(session, row)
    version = await site.version(row, session)
    context = build_item_context(row, version, site.addresses, session)
    return site.page("item", version, row["language"], session, context)


async def own_answer(request: Request) -> Response:
    """Store what the participant sees before the explanation."""
    site, item = get_site(request), request.path_params["item"]
    session = digest_session_token(site.token(request))
    fields = await parse_form(request, site, session)
    version, instance, row = await _load_item(site, session, item)
    blocks = select_asked_blocks(version, "before", instance)
    try:
        answers = parse_answers(blocks, fields, row["earlier"], get_image_size(instance))
    except UnfitForm as error:
        return await _asked_again(request, site, session, fields, error)
    await site.calls.taken(
        "st_baseline", session, item, answers, _orders(version, row, "before"),
        parse_measures(fields, "client"), digest_answers(answers),
    )  # fmt: skip
    return redirect(request, f"/a/{item}")


async def ratings(request: Request) -> Response:
    """Store a vote and get the next item in the same call."""
    site, item = get_site(request), request.path_params["item"]
    session = digest_session_token(site.token(request))
    fields = await parse_form(request, site, session)
    version, instance, row = await _load_item(site, session, item)
    blocks = select_asked_blocks(version, "after", instance)
    try:
        answers = parse_answers(blocks, fields, row["earlier"], get_image_size(instance))
    except UnfitForm as error:
        return await _asked_again(request, site, session, fields, error)
    try:
        key = UUID((fields.get("key") or [""])[0])
    except ValueError as error:
        raise Invalid("This form has no key. Please load the page again.") from error
    went = await site.calls.taken(
        "st_rate", session, item, answers, _orders(version, row, "after"), key,
        digest_answers(answers), parse_measures(fields, "durations"),
        parse_measures(fields, "client"),
    )  # fmt: skip
    return _redirect_to_next(request, went)


async def _asked_again(
    request: Request, site: StudySite, session: bytes, fields: Mapping[str, Sequence[str]],
    error: UnfitForm,
) -> Response:  # fmt: skip
    """Return the page with the sent fields and their errors."""
    if is_script_request(request):
        return make_unfit_response(error, site.language_of(request.headers))
    item = request.path_params["item"]
    row = await site.calls.taken("st_item", session, item, not MAKES_PAGE)
    version = await site.version(row, session)
    context = build_item_context(row, version, site.addresses, session, fields, error.blocks)
    return site.page("item", version, row["language"], session, context, error.status)


async def _load_item(
    site: StudySite, session: bytes, item: int
) -> tuple[StudyVersion, dict[str, Any], dict[str, Any]]:
    """Return the item of a form, from memory if this process made its page."""
    remembered = site.items.get((session, item))
    if remembered is None:
        row = await site.calls.taken("st_item", session, item, not MAKES_PAGE)
        remembered = site.remember(session, row)
    version = await site.version(remembered, session)
    return version, remembered["shown"], remembered


def _orders(version: StudyVersion, row: dict[str, Any], stage: Any) -> dict[str, Any]:
    pages = version.instrument.pages(stage)
    return compute_orders(pages, version.id, row["person"], row["position"])


async def parse_script_json(request: Request, site: StudySite, session: bytes) -> dict[str, Any]:
    """Read the JSON that a script of ours sent."""
    if not site.keys.is_form_token(session, request.headers.get("x-csrf", "")):
        raise Refused(403, "This page is too old. Please load it again.")
    if len(await request.body()) > MAX_DRAFT_CHARACTERS:
        raise Invalid("This is too much to be kept.")
    return await parse_json(request)


async def draft(request: Request) -> Response:
    """Store a draft, so that a reload loses nothing."""
    site, item = get_site(request), request.path_params["item"]
    session = digest_session_token(site.token(request))
    content = await parse_script_json(request, site, session)
    result = await site.calls.taken("st_draft", session, item, content)
    return _lease(result)


async def alive(request: Request) -> Response:
    """Record that somebody is at a page, and extend the reservation of the item that it shows."""
    site = get_site(request)
    session = digest_session_token(site.token(request))
    item = (await parse_script_json(request, site, session)).get("item")
    if item is None:
        await site.calls.taken("st_alive", session, None)
        return JSONResponse({})
    if not isinstance(item, int) or not 0 < item < MAX_ITEM:
        raise Invalid(REFUSALS["form"])
    return _lease(await site.calls.taken("st_alive", session, item))


def _lease(result: dict[str, Any]) -> Response:
    lost = result.get("lease") is None
    return JSONResponse({"lease_seconds": compute_seconds_left(result.get("lease")), "lost": lost})


async def release(request: Request) -> Response:
    """Skip the item."""
    site, item = get_site(request), request.path_params["item"]
    session = digest_session_token(site.token(request))
    fields = await parse_form(request, site, session)
    reason = (fields.get("reason") or ["skipped"])[0][:200]
    return _redirect_to_next(request, await site.calls.taken("st_release", session, item, reason))


async def image(request: Request) -> Response:
    """Return an image to the session that its address was signed for."""
    site = get_site(request)
    session = digest_session_token(site.token(request))
    expiry, mac, file = (request.path_params[name] for name in ("expiry", "mac", "file"))
    if not site.addresses.good(expiry, mac, file, session):
        raise NotHere
    content = site.images.content(file)
    if content is None:
        raise NotHere
    headers = {"cache-control": IMAGE_CACHE_CONTROL, "content-type": get_media_type(file)}
    return Response(content, headers=headers)


ROUTES = [
    Route("/next", next_item),
    Route("/a/{item:long}", item_page),
    Route("/a/{item:long}/own", own_answer, methods=["POST"]),
    Route("/a/{item:long}/ratings", ratings, methods=["POST"]),
    Route("/a/{item:long}/draft", draft, methods=["POST"]),
    Route("/alive", alive, methods=["POST"]),
    Route("/a/{item:long}/release", release, methods=["POST"]),
    Route("/p/{expiry}/{mac}/{file}", image),
]
