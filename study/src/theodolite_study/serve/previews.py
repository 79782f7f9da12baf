"""Serve previews, in which staff walk through a version without taking a seat."""

import hashlib
import hmac
import secrets
import time
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.keys import Keys
from theodolite_study.platforms.participant_identity import make_anonymous_identity
from theodolite_study.refusals import NotHere
from theodolite_study.serve import cookies
from theodolite_study.serve.database_calls import make_refusal
from theodolite_study.serve.landing_routes import compute_session_end, get_site, make_pseudonym
from theodolite_study.serve.site import parse_form, redirect
from theodolite_study.session_tokens import digest_session_token

MAX_PREVIEW_SECONDS = 24 * 3600
ADDRESS_PARTS = ("version", "condition", "language", "ends")


def make_preview_link(
    keys: Keys, slug: str, version: int, condition: str, language: str, ends: float
) -> str:
    """Return a signed address, without host, that allows a preview for a while.

    Args:
        keys: Those of the server.
        slug: The study.
        version: Its version; also a draft.
        condition: The key of a condition; empty for none.
        language: One of the version's.
        ends: In seconds since 1970; at most a day from now.
    """
    parts = {
        "version": str(version), "condition": condition, "language": language,
        "ends": str(int(ends)),
    }  # fmt: skip
    return f"/s/{slug}/preview?{urlencode(parts | {'mac': _mac(keys, slug, parts)})}"


def _mac(keys: Keys, slug: str, parts: dict[str, str]) -> str:
    message = "\0".join([slug, *(parts[name] for name in ADDRESS_PARTS)])
    return hmac.new(keys.derive_key("previews"), message.encode(), hashlib.sha256).hexdigest()


def _signed(request: Request) -> dict[str, str]:
    """Return the parameters of a valid signed address."""
    site, slug = get_site(request), request.path_params["slug"]
    parts = {name: request.query_params.get(name, "") for name in ADDRESS_PARTS}
    mac = request.query_params.get("mac", "").encode(errors="replace")
    good = hmac.compare_digest(_mac(site.keys, slug, parts).encode(), mac)
    if not good or not 0 < int(parts["ends"]) - time.time() <= MAX_PREVIEW_SECONDS:
        raise NotHere
    return parts


async def preview_page(request: Request) -> Response:
    """Return a button that begins the preview, since opening a link must not."""
    site = get_site(request)
    parts = _signed(request)
    fresh = cookies.read_cookies(request).before or cookies.make_form_cookie()
    context = {"action": f"{request.url.path}?{request.url.query}", "preview": True}
    response = site.page(
        "preview", None, parts["language"], cookies.digest_form_cookie(fresh), context
    )
    cookies.set_form_cookie(response, fresh)
    return response


async def preview_begin(request: Request) -> Response:
    """Begin a session that takes no seat, also of a version that is not open."""
    site, slug = get_site(request), request.path_params["slug"]
    parts = _signed(request)
    await parse_form(
        request, site, cookies.digest_form_cookie(cookies.read_cookies(request).before)
    )
    who, token = make_anonymous_identity(), secrets.token_urlsafe(32)
    names = (slug, who.platform, who.platform_id)
    result = await site.calls.step(
        "st_arrive", slug_=slug, platform_=who.platform, person_=site.keys.digest_person(*names),
        sealed=None, bar=site.keys.digest_barred_person(*names), pseudonym_=make_pseudonym(),
        submission_=None,
        submission_digest_=None, language_=parts["language"], tok=digest_session_token(token),
        ends=compute_session_end(), preview_=True, version_=int(parts["version"]),
        condition_=parts["condition"] or None,
    )  # fmt: skip
    if result["word"] != "ok":
        raise make_refusal(result)
    response = redirect(request, "/go")
    cookies.set_session(response, token)
    return response


ROUTES = [
    Route("/s/{slug}/preview", preview_page),
    Route("/s/{slug}/preview", preview_begin, methods=["POST"]),
]
