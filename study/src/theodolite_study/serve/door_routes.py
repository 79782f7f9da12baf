"""People come in: by an open link, an invitation, or the link of a platform."""

import json
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from theodolite_study.locale.catalogue import languages as catalogue_languages
from theodolite_study.locale.preference import accepted, preferred_language
from theodolite_study.locale.refusal_messages import REFUSALS
from theodolite_study.model.door import (
    POINTER,
    WIDTH,
    Access,
    access_of,
    turned_away,
)
from theodolite_study.platforms import arrivals
from theodolite_study.platforms.arrivals import Arrival
from theodolite_study.platforms.identity import Preview
from theodolite_study.refusals import NotHere
from theodolite_study.serve import cookies
from theodolite_study.serve.newcomers import WAIT, need_patience, room_for_newcomer
from theodolite_study.serve.outcomes import way_out
from theodolite_study.serve.security import FRAMED
from theodolite_study.serve.site import StudySite, form_of, onward
from theodolite_study.serve.versions import StudyVersion
from theodolite_study.sessions import PARTICIPANT_LONGEST, digest_of

NOTHING_KEPT = "nothing"
REFUSED = {"barred": 409, "code": 422, "used link": 403, "not open": 409}
"""What is said on the first page, and its status."""


def site_of(request: Request) -> StudySite:
    """The site of the application."""
    site: StudySite = request.app.state.site
    return site


async def landing(request: Request) -> Response:
    """The welcome page, in the language that was asked for. Ids in the address leave it."""
    site, slug = site_of(request), request.path_params["slug"]
    study = await _landing(request)
    if "version" not in study:
        return _first_page(request, None, study)
    version = await site.versions.version(study["version"])
    access = access_of(version.settings)
    parameters = dict(request.query_params)
    if arrivals.names_somebody(access, parameters) and request.method != "HEAD":
        return await _named_arrival(request, version, study, parameters)
    arrival = arrivals.opened(site.keys, slug, cookies.arrival_of(request))
    if study["own"] not in (None, "landed") and arrival is None:
        return onward(request, "/go")
    return _first_page(request, version, study, arrival=arrival)


async def _landing(request: Request) -> dict[str, Any]:
    """What the first page needs; whoever takes part is told by their session."""
    token = cookies.cookies_of(request).session
    study = await site_of(request).calls.step(
        "st_landing", request.path_params["slug"], digest_of(token) if token else None
    )
    if study["word"] == "not here":
        raise NotHere
    return study


async def _named_arrival(
    request: Request, version: StudyVersion, study: dict[str, Any], parameters: dict[str, str]
) -> Response:
    """Somebody whom an address names: they are kept in a cookie until they press the button."""
    site, slug = site_of(request), request.path_params["slug"]
    access = access_of(version.settings)
    if access.kind == "mturk" and request.headers.get("sec-fetch-dest") == "iframe":
        response = _first_page(request, version, study, framed=f"?{urlencode(parameters)}")
        response.headers["content-security-policy"] = FRAMED
        return response
    address = f"{site.settings.public_origin}/s/{slug}"
    # the keys of Prolific may have to be fetched
    arrival = await run_in_threadpool(
        arrivals.from_address, access, parameters, address, site.signing_keys
    )
    if isinstance(arrival, Preview):
        return _first_page(request, version, study, looks=True)
    language = request.query_params.get("lang", "")
    query = f"?{urlencode({'lang': language})}" if language else ""
    response = RedirectResponse(f"/s/{slug}{query}", 303)
    cookies.keep_arrival(response, arrival.sealed(site.keys, slug))
    return response


def _first_page(  # noqa: PLR0913  each is a thing that the page says
    request: Request, version: StudyVersion | None, study: Mapping[str, Any], *,
    arrival: Arrival | None = None, looks: bool = False, framed: str = "", error: str = "",
    needs_code: bool = False, somebody_else: bool = False, status: int = 200,
) -> Response:  # fmt: skip
    site = site_of(request)
    fresh = cookies.cookies_of(request).before or cookies.new_before()
    languages = study.get("languages") or list(catalogue_languages())
    language = language_for(request, languages, study.get("default_language", "en"))
    access = access_of(version.settings) if version else Access()
    open_ = study["word"] == "ok"
    context: dict[str, Any] = {
        "slug": request.path_params["slug"], "study_state": study["study_state"], "open": open_,
        "full": study["word"] == "full", "languages": study.get("languages", []),
        "welcome": version.text("welcome", language) if version else "",
        "minutes": version.settings.get("minutes", 0) if version else 0,
        "needs_invite": access.kind == "invite" and arrival is None and not needs_code,
        "needs_code": needs_code, "somebody_else": somebody_else,
        "begins": not looks and not framed
        and (arrival is not None or access.kind in ("link", "invite") or needs_code),
        "looks": looks, "framed": framed, "notice": error,
        "platform": access.kind in ("prolific", "mturk"),
        "way": way_out(version, "full") if version else {},
    }  # fmt: skip
    response = site.page(
        "landing", version, language, cookies.before_digest(fresh), context, status
    )
    cookies.keep_before(response, fresh)
    return response


def language_for(request: Request, offered: list[str], default: str) -> str:
    """`?lang=`, else what the browser prefers, else the version's own."""
    preferences = [request.query_params.get("lang", ""), *accepted(request.headers)]
    return preferred_language(preferences, offered, default)


async def begin(request: Request) -> Response:
    """Somebody begins: by the open link, with an invitation, or as the platform's link said."""
    site, slug = site_of(request), request.path_params["slug"]
    before = cookies.before_digest(cookies.cookies_of(request).before)
    fields = await form_of(request, site, before)
    study = await _landing(request)
    if "version" not in study:
        return onward(request, f"/s/{slug}")
    version = await site.versions.version(study["version"])
    access = access_of(version.settings)
    arrival = arrivals.opened(site.keys, slug, cookies.arrival_of(request))
    if "again" in fields:
        return await _again(request, version, study, fields)
    if access.kind == "invite" and arrival is None:
        arrival = arrivals.by_invitation((fields.get("code") or [""])[0])
    elif access.kind == "link":
        arrival = arrivals.by_link()
    if arrival is None or arrival.identity.platform != access.kind:
        return onward(request, f"/s/{slug}")
    if turned_away(version.settings, device_of(fields)) is not None:
        return _wrong_device(request, version)
    if not await room_for_newcomer(site, request, access.kind):
        return _waiting(request, version)
    return await _arrived(request, version, study, arrival, fields)


async def _arrived(
    request: Request, version: StudyVersion, study: dict[str, Any], arrival: Arrival,
    fields: Mapping[str, Sequence[str]],
) -> Response:  # fmt: skip
    site, slug = site_of(request), request.path_params["slug"]
    token, own = secrets.token_urlsafe(32), cookies.cookies_of(request).session
    went = await site.calls.step(
        "st_arrive", slug_=slug, pseudonym_=new_pseudonym(),
        language_=(fields.get("language") or [""])[0], tok=digest_of(token), ends=session_end(),
        preview_=False, version_=None, own_=digest_of(own) if own else None,
        instead_="instead" in fields, **arrival.values(site.keys, slug),
    )  # fmt: skip
    word = went["word"]
    if word == "ok":
        response = onward(request, "/go")
        if not went.get("own"):
            cookies.keep_session(response, token)
        cookies.forget_arrival(response)
        return response
    if word == "full":
        return _first_page(request, version, {**study, "word": "full"}, arrival=arrival)
    if word == "code needed":
        return onward(request, f"/s/{slug}/again")
    if word == "somebody else":
        return _first_page(request, version, study, arrival=arrival, somebody_else=True)
    if word == "not open":
        return onward(request, f"/s/{slug}")
    message = REFUSALS.get(word, REFUSALS["stage"])
    return _first_page(request, version, study, error=site.said(request, message),
                       status=REFUSED.get(word, 409))  # fmt: skip


def new_pseudonym() -> str:
    """A name that says nothing."""
    return f"p{secrets.token_hex(5)}"


def session_end() -> datetime:
    """When a session that begins now ends, whatever happens."""
    return datetime.now(timezone.utc) + timedelta(seconds=PARTICIPANT_LONGEST)


async def again_page(request: Request) -> Response:
    """Somebody began on another device, and nobody vouches for them."""
    study = await _landing(request)
    if study["own"] is not None:
        return onward(request, "/go")
    if "version" not in study:
        return onward(request, f"/s/{request.path_params['slug']}")
    version = await site_of(request).versions.version(study["version"])
    return _first_page(request, version, {**study, "word": "ok"}, needs_code=True)


async def _again(
    request: Request, version: StudyVersion, study: dict[str, Any],
    fields: Mapping[str, Sequence[str]],
) -> Response:  # fmt: skip
    """The code that they got is the proof."""
    site, slug = site_of(request), request.path_params["slug"]
    await need_patience(site, request)
    token = secrets.token_urlsafe(32)
    code = site.keys.code_digest((fields.get("again") or [""])[0][:200])
    went = await site.calls.step("st_again", slug, code, digest_of(token), session_end())
    if went["word"] != "ok":
        return _first_page(request, version, {**study, "word": "ok"}, needs_code=True, status=422,
                           error=site.said(request, REFUSALS["code"]))  # fmt: skip
    response = onward(request, "/go")
    cookies.keep_session(response, token)
    cookies.forget_arrival(response)
    return response


def device_of(fields: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What a page said of the device; nothing without scripts, and nobody is sent away for it."""
    text = (fields.get("client") or ["{}"])[0]
    try:
        device = json.loads(text) if len(text) < 4000 else {}
    except (ValueError, RecursionError):
        return {}
    device = device if isinstance(device, dict) else {}
    width, pointer = device.get("width"), device.get("pointer")
    known: dict[str, Any] = {}
    if isinstance(width, int) and not isinstance(width, bool) and 0 < width < 100_000:
        known[WIDTH] = width
    if pointer in ("coarse", "fine"):
        known[POINTER] = pointer
    return known


def _wrong_device(request: Request, version: StudyVersion) -> Response:
    """Told before anything is kept: they may come again with another device."""
    site = site_of(request)
    language = language_for(request, list(version.languages), version.languages[0])
    context = {"outcome": "wrong_device", "amount": 0, "currency": "", "code": "",
               "way": way_out(version, "wrong_device"), "kept": NOTHING_KEPT}  # fmt: skip
    return site.page("ended", version, language, b"", context)


def _waiting(request: Request, version: StudyVersion) -> Response:
    """Many come at once: nobody is refused, they wait for a moment."""
    site, slug = site_of(request), request.path_params["slug"]
    language = language_for(request, list(version.languages), version.languages[0])
    response = site.page("queue", version, language, b"", {"slug": slug, "seconds": WAIT}, 503)
    response.headers["retry-after"] = str(WAIT)
    response.headers["refresh"] = f"{WAIT}; url=/s/{slug}"
    return response


ROUTES = [
    Route("/s/{slug}", landing),
    Route("/s/{slug}/again", again_page),
    Route("/s/{slug}/begin", begin, methods=["POST"]),
]
