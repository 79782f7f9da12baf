"""Serve the first page, where participants arrive by open link, invitation or platform."""

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

from theodolite_study.locale.language_choice import choose_language, parse_accepted
from theodolite_study.locale.refusal_messages import REFUSALS
from theodolite_study.locale.translations import list_languages
from theodolite_study.model.admission import (
    DEVICE_POINTER,
    DEVICE_WIDTH,
    Access,
    find_screening_outcome,
    get_access,
)
from theodolite_study.platforms import arrivals
from theodolite_study.platforms.arrivals import Arrival
from theodolite_study.platforms.participant_identity import PreviewVisitor
from theodolite_study.refusals import NotHere
from theodolite_study.serve import cookies
from theodolite_study.serve.arrival_limits import WAIT_SECONDS, admit_newcomer, limit_code_attempts
from theodolite_study.serve.outcomes import get_way_out
from theodolite_study.serve.security import FRAMED_CSP
from theodolite_study.serve.site import StudySite, parse_form, redirect
from theodolite_study.serve.versions import StudyVersion
from theodolite_study.session_tokens import MAX_SESSION_SECONDS, digest_session_token

NOTHING_KEPT = "nothing"
LOOK_SECONDS = 60
MAX_LOOKS = 15
"""How often the first page looks again for a place that became free, once a minute."""
REFUSED = {"barred": 409, "code": 422, "used link": 403, "not open": 409}
"""Result codes that are reported on the first page, with their HTTP status."""


def get_site(request: Request) -> StudySite:
    """Return the shared state of the application."""
    site: StudySite = request.app.state.site
    return site


async def landing(request: Request) -> Response:
    """Return the welcome page in the requested language, without ids in the address."""
    site, slug = get_site(request), request.path_params["slug"]
    study = await _landing(request)
    if "version" not in study:
        return _first_page(request, None, study)
    version = await site.versions.version(study["version"])
    access = get_access(version.settings)
    parameters = dict(request.query_params)
    if arrivals.has_identity(access, parameters) and request.method != "HEAD":
        return await _named_arrival(request, version, study, parameters)
    arrival = arrivals.decrypt_arrival(site.keys, slug, cookies.read_arrival(request))
    if study["own"] not in (None, "landed") and arrival is None:
        return redirect(request, "/go")
    return _first_page(request, version, study, arrival=arrival)


async def _landing(request: Request) -> dict[str, Any]:
    """Load what the first page needs; participants are recognized by their session."""
    token = cookies.read_cookies(request).session
    study = await get_site(request).calls.step(
        "st_landing", request.path_params["slug"], digest_session_token(token) if token else None
    )
    if study["word"] == "not here":
        raise NotHere
    return study


async def _named_arrival(
    request: Request, version: StudyVersion, study: dict[str, Any], parameters: dict[str, str]
) -> Response:
    """Keep a participant whom the address identifies in a cookie until they begin."""
    site, slug = get_site(request), request.path_params["slug"]
    access = get_access(version.settings)
    if access.kind == "mturk" and request.headers.get("sec-fetch-dest") == "iframe":
        response = _first_page(request, version, study, framed=f"?{urlencode(parameters)}")
        response.headers["content-security-policy"] = FRAMED_CSP
        return response
    address = f"{site.settings.public_origin}/s/{slug}"
    # the keys of Prolific may have to be fetched
    arrival = await run_in_threadpool(
        arrivals.arrive_from_address, access, parameters, address, site.signing_keys
    )
    if isinstance(arrival, PreviewVisitor):
        return _first_page(request, version, study, looks=True)
    language = request.query_params.get("lang", "")
    query = f"?{urlencode({'lang': language})}" if language else ""
    response = RedirectResponse(f"/s/{slug}{query}", 303)
    cookies.set_arrival(response, arrival.sealed(site.keys, slug))
    return response


def _first_page(  # noqa: PLR0913  each is a thing that the page says
    request: Request, version: StudyVersion | None, study: Mapping[str, Any], *,
    arrival: Arrival | None = None, looks: bool = False, framed: str = "", error: str = "",
    needs_code: bool = False, somebody_else: bool = False, status: int = 200,
) -> Response:  # fmt: skip
    site = get_site(request)
    fresh = cookies.read_cookies(request).before or cookies.make_form_cookie()
    languages = study.get("languages") or list(list_languages())
    language = choose_page_language(request, languages, study.get("default_language", "en"))
    access = get_access(version.settings) if version else Access()
    open_ = study["word"] == "ok"
    # a page is looked at again while seats are unfilled: places may become free
    looked = _parse_looks(request)
    full = study["word"] == "full"
    looks_again = full and study.get("unfilled", False) and looked < MAX_LOOKS
    context: dict[str, Any] = {
        "slug": request.path_params["slug"], "study_state": study["study_state"], "open": open_,
        "full": full, "looks_again": looks_again, "languages": study.get("languages", []),
        "welcome": version.text("welcome", language) if version else "",
        "minutes": version.settings.get("minutes", 0) if version else 0,
        "needs_invite": access.kind == "invite" and arrival is None and not needs_code,
        "needs_code": needs_code, "somebody_else": somebody_else,
        "begins": not looks and not framed
        and (arrival is not None or access.kind in ("link", "invite") or needs_code),
        "looks": looks, "framed": framed, "notice": error,
        "platform": access.kind in ("prolific", "mturk"),
        "way": get_way_out(version, "full") if version else {},
    }  # fmt: skip
    response = site.page(
        "landing", version, language, cookies.digest_form_cookie(fresh), context, status
    )
    cookies.set_form_cookie(response, fresh)
    if looks_again:
        query = urlencode({"lang": language, "looked": looked + 1})
        response.headers["refresh"] = (
            f"{LOOK_SECONDS}; url=/s/{request.path_params['slug']}?{query}"
        )
    return response


def _parse_looks(request: Request) -> int:
    """Return how often this page was looked at while no place was free."""
    text = request.query_params.get("looked", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0


def choose_page_language(request: Request, offered: list[str], default: str) -> str:
    """Return the language of `?lang=`, else of the browser, else of the version."""
    preferences = [request.query_params.get("lang", ""), *parse_accepted(request.headers)]
    return choose_language(preferences, offered, default)


async def begin(request: Request) -> Response:
    """Begin a participation by open link, invitation or platform link."""
    site, slug = get_site(request), request.path_params["slug"]
    before = cookies.digest_form_cookie(cookies.read_cookies(request).before)
    fields = await parse_form(request, site, before)
    study = await _landing(request)
    if "version" not in study:
        return redirect(request, f"/s/{slug}")
    version = await site.versions.version(study["version"])
    access = get_access(version.settings)
    arrival = arrivals.decrypt_arrival(site.keys, slug, cookies.read_arrival(request))
    if "again" in fields:
        return await _again(request, version, study, fields)
    if access.kind == "invite" and arrival is None:
        arrival = arrivals.arrive_by_invitation((fields.get("code") or [""])[0])
    elif access.kind == "link":
        arrival = arrivals.arrive_by_link()
    if arrival is None or arrival.identity.platform != access.kind:
        return redirect(request, f"/s/{slug}")
    if find_screening_outcome(version.settings, parse_device(fields)) is not None:
        return _wrong_device(request, version)
    if not await admit_newcomer(site, request, access.kind):
        return _waiting(request, version)
    return await _arrived(request, version, study, arrival, fields)


async def _arrived(
    request: Request, version: StudyVersion, study: dict[str, Any], arrival: Arrival,
    fields: Mapping[str, Sequence[str]],
) -> Response:  # fmt: skip
    site, slug = get_site(request), request.path_params["slug"]
    token, own = secrets.token_urlsafe(32), cookies.read_cookies(request).session
    went = await site.calls.step(
        "st_arrive", slug_=slug, pseudonym_=make_pseudonym(),
        language_=(fields.get("language") or [""])[0], tok=digest_session_token(token),
        ends=compute_session_end(), preview_=False, version_=None,
        own_=digest_session_token(own) if own else None,
        instead_="instead" in fields, **arrival.values(site.keys, slug),
    )  # fmt: skip
    word = went["word"]
    if word == "ok":
        response = redirect(request, "/go")
        if not went.get("own"):
            cookies.set_session(response, token)
        cookies.forget_arrival(response)
        return response
    if word == "full":
        return _first_page(request, version, {**study, "word": "full"}, arrival=arrival)
    if word == "code needed":
        return redirect(request, f"/s/{slug}/again")
    if word == "somebody else":
        return _first_page(request, version, study, arrival=arrival, somebody_else=True)
    if word == "not open":
        return redirect(request, f"/s/{slug}")
    message = REFUSALS.get(word, REFUSALS["stage"])
    return _first_page(request, version, study, error=site.said(request, message),
                       status=REFUSED.get(word, 409))  # fmt: skip


def make_pseudonym() -> str:
    """Return a random pseudonym."""
    return f"p{secrets.token_hex(5)}"


def compute_session_end() -> datetime:
    """Return the time when a session that begins now ends."""
    return datetime.now(timezone.utc) + timedelta(seconds=MAX_SESSION_SECONDS)


async def again_page(request: Request) -> Response:
    """Ask for the withdrawal code of a participant who began on another device."""
    study = await _landing(request)
    if study["own"] is not None:
        return redirect(request, "/go")
    if "version" not in study:
        return redirect(request, f"/s/{request.path_params['slug']}")
    version = await get_site(request).versions.version(study["version"])
    return _first_page(request, version, {**study, "word": "ok"}, needs_code=True)


async def _again(
    request: Request, version: StudyVersion, study: dict[str, Any],
    fields: Mapping[str, Sequence[str]],
) -> Response:  # fmt: skip
    """Resume a participation with the withdrawal code as proof."""
    site, slug = get_site(request), request.path_params["slug"]
    await limit_code_attempts(site, request)
    token = secrets.token_urlsafe(32)
    code = site.keys.digest_code((fields.get("again") or [""])[0][:200])
    went = await site.calls.step(
        "st_again", slug, code, digest_session_token(token), compute_session_end()
    )
    if went["word"] != "ok":
        return _first_page(request, version, {**study, "word": "ok"}, needs_code=True, status=422,
                           error=site.said(request, REFUSALS["code"]))  # fmt: skip
    response = redirect(request, "/go")
    cookies.set_session(response, token)
    cookies.forget_arrival(response)
    return response


def parse_device(fields: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the facts about the device; nothing without scripts, which excludes nobody."""
    text = (fields.get("client") or ["{}"])[0]
    try:
        device = json.loads(text) if len(text) < 4000 else {}
    except (ValueError, RecursionError):
        return {}
    device = device if isinstance(device, dict) else {}
    width, pointer = device.get("width"), device.get("pointer")
    known: dict[str, Any] = {}
    if isinstance(width, int) and not isinstance(width, bool) and 0 < width < 100_000:
        known[DEVICE_WIDTH] = width
    if pointer in ("coarse", "fine"):
        known[DEVICE_POINTER] = pointer
    return known


def _wrong_device(request: Request, version: StudyVersion) -> Response:
    """Ask for another device before anything is stored."""
    site = get_site(request)
    language = choose_page_language(request, list(version.languages), version.languages[0])
    context = {"outcome": "wrong_device", "amount": 0, "currency": "", "code": "",
               "way": get_way_out(version, "wrong_device"), "kept": NOTHING_KEPT}  # fmt: skip
    return site.page("ended", version, language, b"", context)


def _waiting(request: Request, version: StudyVersion) -> Response:
    """Ask to wait for a moment while too many arrive at once."""
    site, slug = get_site(request), request.path_params["slug"]
    language = choose_page_language(request, list(version.languages), version.languages[0])
    response = site.page(
        "queue", version, language, b"", {"slug": slug, "seconds": WAIT_SECONDS}, 503
    )
    response.headers["retry-after"] = str(WAIT_SECONDS)
    response.headers["refresh"] = f"{WAIT_SECONDS}; url=/s/{slug}"
    return response


ROUTES = [
    Route("/s/{slug}", landing),
    Route("/s/{slug}/again", again_page),
    Route("/s/{slug}/begin", begin, methods=["POST"]),
]
