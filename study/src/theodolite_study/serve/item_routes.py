"""One image at a time: say what you see, then see the explanation and rate it."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from theodolite_study.model.orders import orders_of
from theodolite_study.refusals import Invalid, NotHere, Refused
from theodolite_study.serve.answers import measures, payload_digest
from theodolite_study.serve.block_forms import UnfitForm, answers_from
from theodolite_study.serve.block_views import unfit_for_script, wants_script
from theodolite_study.serve.door_routes import site_of
from theodolite_study.serve.images import kind_of
from theodolite_study.serve.items import asked_blocks, image_size, item_context, seconds_left
from theodolite_study.serve.site import StudySite, form_of, onward, sent
from theodolite_study.serve.versions import StudyVersion
from theodolite_study.sessions import digest_of

MOST_DRAFT = 20_000
LOOKING = True
"""A page is made, which may show the explanation from then on; forms do not look."""
KEEP = "private, max-age=7200, immutable"


async def next_item(request: Request) -> Response:
    """The item that waits, a new one, or the end."""
    site = site_of(request)
    session = digest_of(site.token(request))
    return _went(request, await site.calls.taken("st_next", session))


def _went(request: Request, result: dict[str, Any]) -> Response:
    """From what a step says comes next to the page for it."""
    if result["go"] == "item":
        return onward(request, f"/a/{result['item']}")
    if result["go"] == "wait":
        return onward(request, f"/wait?seconds={int(result['seconds'])}")
    places = {
        "consent": "/consent",
        "done": "/finish",
        "ran out": "/finish",
        "end": "/done",
        "stage": "/go",
    }
    return onward(request, places.get(result["go"], "/closed"))


async def item_page(request: Request) -> Response:
    """The page of an item. Its step stamps the moment from which the explanation may be seen."""
    site, item = site_of(request), request.path_params["item"]
    session = digest_of(site.token(request))
    row = await site.calls.taken("st_item", session, item, LOOKING)
    site.remember(session, row)
    version = await site.version(row, session)
    context = item_context(row, version, site.addresses, session)
    return site.page("item", version, row["language"], session, context)


async def own_answer(request: Request) -> Response:
    """What somebody sees before anything is explained."""
    site, item = site_of(request), request.path_params["item"]
    session = digest_of(site.token(request))
    fields = await form_of(request, site, session)
    version, instance, row = await _known(site, session, item)
    blocks = asked_blocks(version, "before", instance)
    try:
        answers = answers_from(blocks, fields, row["earlier"], image_size(instance))
    except UnfitForm as error:
        return await _asked_again(request, site, session, fields, error)
    await site.calls.taken(
        "st_baseline", session, item, answers, _orders(version, row, "before"),
        measures(fields, "client"), payload_digest(answers),
    )  # fmt: skip
    return onward(request, f"/a/{item}")


async def ratings(request: Request) -> Response:
    """A vote, and the next item in the same call."""
    site, item = site_of(request), request.path_params["item"]
    session = digest_of(site.token(request))
    fields = await form_of(request, site, session)
    version, instance, row = await _known(site, session, item)
    blocks = asked_blocks(version, "after", instance)
    try:
        answers = answers_from(blocks, fields, row["earlier"], image_size(instance))
    except UnfitForm as error:
        return await _asked_again(request, site, session, fields, error)
    try:
        key = UUID((fields.get("key") or [""])[0])
    except ValueError as error:
        raise Invalid("This form has no key. Please load the page again.") from error
    went = await site.calls.taken(
        "st_rate", session, item, answers, _orders(version, row, "after"), key,
        payload_digest(answers), measures(fields, "durations"), measures(fields, "client"),
    )  # fmt: skip
    return _went(request, went)


async def _asked_again(
    request: Request, site: StudySite, session: bytes, fields: Mapping[str, Sequence[str]],
    error: UnfitForm,
) -> Response:  # fmt: skip
    """The page with what was sent, and what does not fit in it."""
    if wants_script(request):
        return unfit_for_script(error, site.language_of(request.headers))
    item = request.path_params["item"]
    row = await site.calls.taken("st_item", session, item, not LOOKING)
    version = await site.version(row, session)
    context = item_context(row, version, site.addresses, session, fields, error.blocks)
    return site.page("item", version, row["language"], session, context, error.status)


async def _known(
    site: StudySite, session: bytes, item: int
) -> tuple[StudyVersion, dict[str, Any], dict[str, Any]]:
    """The item that a form is about: from memory where its page was made by this process."""
    remembered = site.items.get((session, item))
    if remembered is None:
        row = await site.calls.taken("st_item", session, item, not LOOKING)
        remembered = site.remember(session, row)
    version = await site.version(remembered, session)
    return version, remembered["shown"], remembered


def _orders(version: StudyVersion, row: dict[str, Any], stage: Any) -> dict[str, Any]:
    pages = version.instrument.pages(stage)
    return orders_of(pages, version.id, row["person"], row["position"])


async def sent_json(request: Request, site: StudySite, session: bytes) -> dict[str, Any]:
    """What a script of ours sent."""
    if not site.keys.csrf_matches(session, request.headers.get("x-csrf", "")):
        raise Refused(403, "This page is too old. Please load it again.")
    if len(await request.body()) > MOST_DRAFT:
        raise Invalid("This is too much to be kept.")
    return await sent(request)


async def draft(request: Request) -> Response:
    """Half an answer, so that a reload loses nothing."""
    site, item = site_of(request), request.path_params["item"]
    session = digest_of(site.token(request))
    content = await sent_json(request, site, session)
    result = await site.calls.taken("st_draft", session, item, content)
    return _lease(result)


async def heartbeat(request: Request) -> Response:
    """The page is open: the item stays."""
    site, item = site_of(request), request.path_params["item"]
    session = digest_of(site.token(request))
    await sent_json(request, site, session)
    return _lease(await site.calls.taken("st_beat", session, item))


def _lease(result: dict[str, Any]) -> Response:
    lost = result.get("lease") is None
    return JSONResponse({"lease_seconds": seconds_left(result.get("lease")), "lost": lost})


async def release(request: Request) -> Response:
    """The person skips it."""
    site, item = site_of(request), request.path_params["item"]
    session = digest_of(site.token(request))
    fields = await form_of(request, site, session)
    reason = (fields.get("reason") or ["skipped"])[0][:200]
    return _went(request, await site.calls.taken("st_release", session, item, reason))


async def image(request: Request) -> Response:
    """An image, for the session that was given its address."""
    site = site_of(request)
    session = digest_of(site.token(request))
    expiry, mac, file = (request.path_params[name] for name in ("expiry", "mac", "file"))
    if not site.addresses.good(expiry, mac, file, session):
        raise NotHere
    content = site.images.content(file)
    if content is None:
        raise NotHere
    headers = {"cache-control": KEEP, "content-type": kind_of(file)}
    return Response(content, headers=headers)


ROUTES = [
    Route("/next", next_item),
    Route("/a/{item:long}", item_page),
    Route("/a/{item:long}/own", own_answer, methods=["POST"]),
    Route("/a/{item:long}/ratings", ratings, methods=["POST"]),
    Route("/a/{item:long}/draft", draft, methods=["POST"]),
    Route("/a/{item:long}/heartbeat", heartbeat, methods=["POST"]),
    Route("/a/{item:long}/release", release, methods=["POST"]),
    Route("/p/{expiry}/{mac}/{file}", image),
]
