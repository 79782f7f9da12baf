"""Serve consent and the questions about the participant, before and after the items."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.locale.refusal_messages import REFUSALS
from theodolite_study.model.admission import find_screening_outcome
from theodolite_study.model.block_orders import compute_orders
from theodolite_study.model.instrument import STAGES, Stage
from theodolite_study.model.markdown import find_ticks
from theodolite_study.refusals import NotHere, Refused
from theodolite_study.serve import cookies
from theodolite_study.serve.block_forms import UnfitForm, parse_answers
from theodolite_study.serve.block_views import is_script_request, make_unfit_response
from theodolite_study.serve.database_calls import make_refusal
from theodolite_study.serve.landing_routes import NOTHING_KEPT, get_site, parse_device
from theodolite_study.serve.outcomes import get_way_out
from theodolite_study.serve.pages import render_consent_part
from theodolite_study.serve.question_pages import (
    build_stage_context,
    digest_answers,
    parse_measures,
)
from theodolite_study.serve.site import parse_form, redirect
from theodolite_study.session_tokens import digest_session_token


async def consent_page(request: Request) -> Response:
    """Return the consent form with exactly the bytes that the database stores."""
    site = get_site(request)
    here = await site.calls.taken("st_here", digest_session_token(site.token(request)))
    if here["outcome"] is not None or (here["state"] != "landed" and here["newer"] is None):
        return redirect(request, "/go")
    return await _form(request, here)


async def _form(request: Request, here: dict[str, Any], error: str = "") -> Response:
    site = get_site(request)
    session = digest_session_token(site.token(request))
    current = here if here["newer"] is None else here | {"version": here["newer"]}
    version = await site.version(current, session)
    language = here["language"]
    if language not in version.consent:
        raise Refused(409, REFUSALS["no consent"])
    consent, digest = version.consent[language]
    context = {
        "consent": render_consent_part(consent), "digest": digest.hex(), "version_id": version.id,
        "again": here["state"] != "landed", "notice": site.said(request, error) if error else "",
    }  # fmt: skip
    return site.page("consent", version, language, session, context, 409 if error else 200)


async def agree(request: Request) -> Response:
    """Record consent to the form that was shown, or show the newer form."""
    site = get_site(request)
    session = digest_session_token(site.token(request))
    fields = await parse_form(request, site, session)
    here = await site.calls.taken("st_here", session)
    number = _whole(fields, "version")
    version_id = here["newer"] if number == here["newer"] else here["version"]
    version = await site.version(here | {"version": version_id}, session)
    consent, _ = version.consent.get(here["language"], (b"", b""))
    if set(find_ticks(consent)) - set(fields.get("tick", [])):
        return await _form(request, here, REFUSALS["ticks"])
    code = site.keys.digest_code(site.keys.make_withdrawal_code(here["person"]))
    digest = _bytes(fields, "digest")
    result = await site.calls.step("st_consent", session, number, here["language"], digest, code)
    if result["word"] == "old form":
        return await _form(
            request, await site.calls.taken("st_here", session), REFUSALS["old form"]
        )
    if result["word"] == "full":
        version = await site.versions.version(result["version"])
        context = {"outcome": "full", "amount": 0, "currency": here["currency"], "code": "",
                   "way": get_way_out(version, "full"), "kept": NOTHING_KEPT}  # fmt: skip
        response = site.page("ended", version, here["language"], session, context)
        cookies.forget_session(response)
        return response
    if result["word"] != "ok":
        raise make_refusal(result)
    return redirect(request, "/code" if here["state"] == "landed" else "/go")


def _whole(fields: Mapping[str, Sequence[str]], name: str) -> int:
    text = (fields.get(name) or ["0"])[0]
    return int(text) if text.isascii() and text.isdigit() and len(text) < 18 else 0


def _bytes(fields: Mapping[str, Sequence[str]], name: str) -> bytes:
    try:
        return bytes.fromhex((fields.get(name) or [""])[0])
    except ValueError:
        return b""


async def decline(request: Request) -> Response:
    """Delete everything except a keyed fingerprint, and confirm that."""
    site = get_site(request)
    session = digest_session_token(site.token(request))
    await parse_form(request, site, session)
    here = await site.calls.taken("st_here", session)
    version = await site.version(here, session)
    await site.calls.taken("st_decline", session)
    context = {"outcome": "declined", "amount": 0, "currency": here["currency"], "code": "",
               "way": get_way_out(version, "declined"), "kept": "fingerprint"}  # fmt: skip
    response = site.page("ended", version, here["language"], session, context)
    cookies.forget_session(response)
    return response


async def go(request: Request) -> Response:
    """Redirect the participant to their next page."""
    site = get_site(request)
    session = digest_session_token(site.token(request))
    here = await site.calls.taken("st_here", session)
    if here["outcome"] is not None:
        return redirect(request, "/done")
    if here["state"] == "landed":
        return redirect(request, "/consent")
    if here["state"] == "consented":
        if here["missing"] in ("door", "about"):
            return redirect(request, f"/stage/{here['missing']}")
        here = await site.calls.taken("st_begin", session)
    if here["state"] in ("training", "active"):
        return redirect(request, "/practice" if here["state"] == "training" else "/next")
    return redirect(request, "/done")


async def stage_page(request: Request) -> Response:
    """Return the questions about the participant of a stage."""
    site = get_site(request)
    stage = _stage(request)
    session = digest_session_token(site.token(request))
    here = await site.calls.taken("st_here", session)
    if here["missing"] != stage or here["state"] == "landed":
        return redirect(request, "/go")
    version = await site.version(here, session)
    context = build_stage_context(version, stage, here)
    return site.page("stage", version, here["language"], session, context)


async def stage_answers(request: Request) -> Response:
    """Store the answers of a stage; those before consent may screen the participant out."""
    site = get_site(request)
    stage = _stage(request)
    session = digest_session_token(site.token(request))
    fields = await parse_form(request, site, session)
    here = await site.calls.taken("st_here", session)
    version = await site.version(here, session)
    earlier = {} if stage == "door" else here["earlier"]
    try:
        answers = parse_answers(version.instrument.blocks(stage), fields, earlier)
    except UnfitForm as error:
        if is_script_request(request):
            return make_unfit_response(error, here["language"])
        context = build_stage_context(version, stage, here, fields, error.blocks)
        return site.page("stage", version, here["language"], session, context, error.status)
    orders = compute_orders(version.instrument.pages(stage), version.id, here["person"], stage)
    away = (
        find_screening_outcome(version.settings, answers | parse_device(fields))
        if stage == "door"
        else None
    )
    await site.calls.taken(
        "st_answer", session, stage, answers, orders, digest_answers(answers), away,
        parse_measures(fields, "client"),
    )  # fmt: skip
    return redirect(request, "/go" if stage != "end" else "/finish")


def _stage(request: Request) -> Stage:
    stage: Stage = request.path_params["stage"]
    if stage not in STAGES or stage in ("before", "after"):
        raise NotHere
    return stage


ROUTES = [
    Route("/consent", consent_page),
    Route("/consent", agree, methods=["POST"]),
    Route("/decline", decline, methods=["POST"]),
    Route("/go", go),
    Route("/stage/{stage}", stage_page),
    Route("/stage/{stage}", stage_answers, methods=["POST"]),
]
