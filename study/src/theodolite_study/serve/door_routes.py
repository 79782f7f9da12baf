"""People come in: welcome, consent, questions about themselves."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.locale.preference import accepted, preferred_language
from theodolite_study.model.instrument import STAGES, Stage
from theodolite_study.platforms.identity import visitor
from theodolite_study.refusals import NotHere
from theodolite_study.serve.answers import payload_digest, stage_context
from theodolite_study.serve.block_forms import answers_from
from theodolite_study.serve.orders import orders_of
from theodolite_study.serve.pages import consent_part
from theodolite_study.serve.site import StudySite, form_of, onward
from theodolite_study.sessions import PARTICIPANT_LONGEST, digest_of
from theodolite_study.web import cookies

PREVIEW = False


def site_of(request: Request) -> StudySite:
    """The site of the application."""
    site: StudySite = request.app.state.site
    return site


async def landing(request: Request) -> Response:
    """The welcome page, in the language that was asked for."""
    site = site_of(request)
    slug = request.path_params["slug"]
    came = await site.calls.step("st_landing", slug)
    if came["word"] == "not here":
        raise NotHere
    fresh = cookies.cookies_of(request).before or cookies.new_before()
    if "version" not in came:
        context: dict[str, Any] = {"slug": slug, "open": False, "full": False, "languages": []}
        return site.page("landing", None, "en", cookies.before_digest(fresh), context)
    version = await site.versions.version(came["version"])
    language = language_for(request, came["languages"], came["default_language"])
    context = {
        "slug": slug, "open": came["word"] == "ok", "full": came["word"] == "full",
        "languages": came["languages"], "welcome": version.text("welcome", language),
        "minutes": version.settings.get("minutes", 0),
    }  # fmt: skip
    response = site.page("landing", version, language, cookies.before_digest(fresh), context)
    cookies.keep_before(response, fresh)
    return response


def language_for(request: Request, offered: list[str], default: str) -> str:
    """`?lang=`, else what the browser prefers, else the version's own."""
    wanted = [request.query_params.get("lang", ""), *accepted(request.headers)]
    return preferred_language(wanted, offered, default)


async def begin(request: Request) -> Response:
    """Somebody begins by the open link."""
    site = site_of(request)
    slug = request.path_params["slug"]
    before = cookies.before_digest(cookies.cookies_of(request).before)
    fields = await form_of(request, site, before)
    person = visitor()
    identity = (slug, person.platform, person.platform_id)
    token = secrets.token_urlsafe(32)
    ends = datetime.now(timezone.utc) + timedelta(seconds=PARTICIPANT_LONGEST)
    came = await site.calls.step(
        "st_arrive", slug, person.platform, site.keys.person(*identity), None,
        site.keys.bar(*identity), f"p{secrets.token_hex(5)}", None, None,
        (fields.get("language") or [""])[0], digest_of(token), ends, PREVIEW, None,
    )  # fmt: skip
    if came["word"] != "ok":
        return onward(request, f"/s/{slug}")
    response = onward(request, "/consent")
    cookies.keep_session(response, token)
    return response


async def consent_page(request: Request) -> Response:
    """The form, byte for byte as the database has it."""
    site = site_of(request)
    session = digest_of(site.token(request))
    here = await site.calls.taken("st_here", session)
    if here["state"] != "landed":
        return onward(request, "/go")
    version = await site.versions.version(here["version"])
    shown, digest = version.consent[here["language"]]
    context = {"consent": consent_part(shown), "digest": digest.hex(), "version_id": version.id}
    return site.page("consent", version, here["language"], session, context)


async def agree(request: Request) -> Response:
    """What was shown is what is recorded, or the newer text is shown."""
    site = site_of(request)
    session = digest_of(site.token(request))
    fields = await form_of(request, site, session)
    here = await site.calls.taken("st_here", session)
    code = site.keys.code_digest(site.keys.withdrawal_code(here["person"]))
    digest = _bytes(fields, "digest")
    await site.calls.taken(
        "st_consent",
        session,
        int((fields.get("version") or ["0"])[0]),
        here["language"],
        digest,
        code,
    )
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
    """Nothing is kept but a keyed fingerprint, and the page says so."""
    site = site_of(request)
    session = digest_of(site.token(request))
    await form_of(request, site, session)
    here = await site.calls.taken("st_here", session)
    await site.calls.taken("st_decline", session)
    version = await site.versions.version(here["version"])
    context = {"outcome": "declined", "amount": 0, "currency": here["currency"],
               "way": version.outcomes.get("declined", {}), "code": ""}  # fmt: skip
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
        came = await site.calls.taken("st_begin", session)
        return onward(request, "/practice" if came["state"] == "training" else "/next")
    return onward(request, "/practice" if here["state"] == "training" else "/next")


async def stage_page(request: Request) -> Response:
    """Questions about the person, before or after the items."""
    site = site_of(request)
    stage = _stage(request)
    session = digest_of(site.token(request))
    here = await site.calls.taken("st_here", session)
    if here["missing"] != stage:
        return onward(request, "/go")
    version = await site.versions.version(here["version"])
    context = stage_context(version, stage, here)
    return site.page("stage", version, here["language"], session, context)


async def stage_answers(request: Request) -> Response:
    """Answers of a stage."""
    site = site_of(request)
    stage = _stage(request)
    session = digest_of(site.token(request))
    fields = await form_of(request, site, session)
    here = await site.calls.taken("st_here", session)
    version = await site.versions.version(here["version"])
    earlier = {} if stage == "door" else here["earlier"]
    answers = answers_from(version.instrument.blocks(stage), fields, earlier)
    shown = orders_of(version.instrument.pages(stage), version.id, here["person"], stage)
    await site.calls.taken(
        "st_answer", session, stage, answers, shown, payload_digest(answers), None
    )
    return onward(request, "/go" if stage != "end" else "/finish")


def _stage(request: Request) -> Stage:
    stage: Stage = request.path_params["stage"]
    if stage not in STAGES or stage in ("before", "after"):
        raise NotHere
    return stage


ROUTES = [
    Route("/s/{slug}", landing),
    Route("/s/{slug}/begin", begin, methods=["POST"]),
    Route("/consent", consent_page),
    Route("/consent", agree, methods=["POST"]),
    Route("/decline", decline, methods=["POST"]),
    Route("/go", go),
    Route("/stage/{stage}", stage_page),
    Route("/stage/{stage}", stage_answers, methods=["POST"]),
]
