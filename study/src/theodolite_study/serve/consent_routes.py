"""Consent, and questions about the person: what comes between the first page and the items."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.locale.refusal_messages import REFUSALS
from theodolite_study.model.door import turned_away
from theodolite_study.model.instrument import STAGES, Stage
from theodolite_study.model.markdown import ticks_in
from theodolite_study.model.orders import orders_of
from theodolite_study.refusals import NotHere, Refused
from theodolite_study.serve import cookies
from theodolite_study.serve.answers import measures, payload_digest, stage_context
from theodolite_study.serve.block_forms import UnfitForm, answers_from
from theodolite_study.serve.block_views import unfit_for_script, wants_script
from theodolite_study.serve.calls import refusal
from theodolite_study.serve.door_routes import NOTHING_KEPT, device_of, site_of
from theodolite_study.serve.outcomes import way_out
from theodolite_study.serve.pages import consent_part
from theodolite_study.serve.site import form_of, onward
from theodolite_study.sessions import digest_of


async def consent_page(request: Request) -> Response:
    """The form, byte for byte as the database has it."""
    site = site_of(request)
    here = await site.calls.taken("st_here", digest_of(site.token(request)))
    if here["outcome"] is not None or (here["state"] != "landed" and here["newer"] is None):
        return onward(request, "/go")
    return await _form(request, here)


async def _form(request: Request, here: dict[str, Any], error: str = "") -> Response:
    site = site_of(request)
    session = digest_of(site.token(request))
    current = here if here["newer"] is None else here | {"version": here["newer"]}
    version = await site.version(current, session)
    language = here["language"]
    if language not in version.consent:
        raise Refused(409, REFUSALS["no consent"])
    consent, digest = version.consent[language]
    context = {
        "consent": consent_part(consent), "digest": digest.hex(), "version_id": version.id,
        "again": here["state"] != "landed", "notice": site.said(request, error) if error else "",
    }  # fmt: skip
    return site.page("consent", version, language, session, context, 409 if error else 200)


async def agree(request: Request) -> Response:
    """What was shown is what is recorded, or the newer text is shown."""
    site = site_of(request)
    session = digest_of(site.token(request))
    fields = await form_of(request, site, session)
    here = await site.calls.taken("st_here", session)
    number = _whole(fields, "version")
    version_id = here["newer"] if number == here["newer"] else here["version"]
    version = await site.version(here | {"version": version_id}, session)
    consent, _ = version.consent.get(here["language"], (b"", b""))
    if set(ticks_in(consent)) - set(fields.get("tick", [])):
        return await _form(request, here, REFUSALS["ticks"])
    code = site.keys.code_digest(site.keys.withdrawal_code(here["person"]))
    digest = _bytes(fields, "digest")
    result = await site.calls.step("st_consent", session, number, here["language"], digest, code)
    if result["word"] == "old form":
        return await _form(
            request, await site.calls.taken("st_here", session), REFUSALS["old form"]
        )
    if result["word"] == "full":
        version = await site.versions.version(result["version"])
        context = {"outcome": "full", "amount": 0, "currency": here["currency"], "code": "",
                   "way": way_out(version, "full"), "kept": NOTHING_KEPT}  # fmt: skip
        response = site.page("ended", version, here["language"], session, context)
        cookies.forget_session(response)
        return response
    if result["word"] != "ok":
        raise refusal(result)
    return onward(request, "/go")


def _whole(fields: Mapping[str, Sequence[str]], name: str) -> int:
    text = (fields.get(name) or ["0"])[0]
    return int(text) if text.isascii() and text.isdigit() and len(text) < 18 else 0


def _bytes(fields: Mapping[str, Sequence[str]], name: str) -> bytes:
    try:
        return bytes.fromhex((fields.get(name) or [""])[0])
    except ValueError:
        return b""


async def decline(request: Request) -> Response:
    """Nothing stays but a keyed fingerprint, and the page says so."""
    site = site_of(request)
    session = digest_of(site.token(request))
    await form_of(request, site, session)
    here = await site.calls.taken("st_here", session)
    version = await site.version(here, session)
    await site.calls.taken("st_decline", session)
    context = {"outcome": "declined", "amount": 0, "currency": here["currency"], "code": "",
               "way": way_out(version, "declined"), "kept": "fingerprint"}  # fmt: skip
    response = site.page("ended", version, here["language"], session, context)
    cookies.forget_session(response)
    return response


async def go(request: Request) -> Response:
    """Wherever the person is: the page that comes next."""
    site = site_of(request)
    session = digest_of(site.token(request))
    here = await site.calls.taken("st_here", session)
    if here["outcome"] is not None:
        return onward(request, "/done")
    if here["state"] == "landed":
        return onward(request, "/consent")
    if here["state"] == "consented":
        if here["missing"] in ("door", "about"):
            return onward(request, f"/stage/{here['missing']}")
        here = await site.calls.taken("st_begin", session)
    if here["state"] in ("training", "active"):
        return onward(request, "/practice" if here["state"] == "training" else "/next")
    return onward(request, "/done")


async def stage_page(request: Request) -> Response:
    """Questions about the person, before or after the items."""
    site = site_of(request)
    stage = _stage(request)
    session = digest_of(site.token(request))
    here = await site.calls.taken("st_here", session)
    if here["missing"] != stage or here["state"] == "landed":
        return onward(request, "/go")
    version = await site.version(here, session)
    context = stage_context(version, stage, here)
    return site.page("stage", version, here["language"], session, context)


async def stage_answers(request: Request) -> Response:
    """Answers of a stage. Those of the door may turn somebody away, as the version's rules say."""
    site = site_of(request)
    stage = _stage(request)
    session = digest_of(site.token(request))
    fields = await form_of(request, site, session)
    here = await site.calls.taken("st_here", session)
    version = await site.version(here, session)
    earlier = {} if stage == "door" else here["earlier"]
    try:
        answers = answers_from(version.instrument.blocks(stage), fields, earlier)
    except UnfitForm as error:
        if wants_script(request):
            return unfit_for_script(error, here["language"])
        context = stage_context(version, stage, here, fields, error.blocks)
        return site.page("stage", version, here["language"], session, context, error.status)
    orders = orders_of(version.instrument.pages(stage), version.id, here["person"], stage)
    away = turned_away(version.settings, answers | device_of(fields)) if stage == "door" else None
    await site.calls.taken(
        "st_answer", session, stage, answers, orders, payload_digest(answers), away,
        measures(fields, "client"),
    )  # fmt: skip
    return onward(request, "/go" if stage != "end" else "/finish")


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
