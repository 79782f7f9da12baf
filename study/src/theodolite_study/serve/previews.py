"""Previews: somebody of the staff walks through a version, which takes no seat and no place."""

import hashlib
import hmac
import secrets
import time
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.keys import Keys
from theodolite_study.platforms.identity import visitor
from theodolite_study.refusals import NotHere
from theodolite_study.serve import cookies
from theodolite_study.serve.calls import refusal
from theodolite_study.serve.door_routes import new_pseudonym, session_end, site_of
from theodolite_study.serve.site import form_of, onward
from theodolite_study.sessions import digest_of

LONGEST = 24 * 3600
PARTS = ("version", "condition", "language", "ends")


def preview_link(
    keys: Keys, slug: str, version: int, condition: str, language: str, ends: float
) -> str:
    """An address, without the host, by which whoever has it may look at a version for a while.

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
    message = "\0".join([slug, *(parts[name] for name in PARTS)])
    return hmac.new(keys.derived("previews"), message.encode(), hashlib.sha256).hexdigest()


def _signed(request: Request) -> dict[str, str]:
    """The parts of an address that we made and that still holds."""
    site, slug = site_of(request), request.path_params["slug"]
    parts = {name: request.query_params.get(name, "") for name in PARTS}
    mac = request.query_params.get("mac", "").encode(errors="replace")
    good = hmac.compare_digest(_mac(site.keys, slug, parts).encode(), mac)
    if not good or not 0 < int(parts["ends"]) - time.time() <= LONGEST:
        raise NotHere
    return parts


async def preview_page(request: Request) -> Response:
    """A button: looking at a link begins nothing."""
    site = site_of(request)
    parts = _signed(request)
    fresh = cookies.cookies_of(request).before or cookies.new_before()
    context = {"action": f"{request.url.path}?{request.url.query}", "preview": True}
    response = site.page("preview", None, parts["language"], cookies.before_digest(fresh), context)
    cookies.keep_before(response, fresh)
    return response


async def preview_begin(request: Request) -> Response:
    """A session that takes no seat, also of a version that is not open."""
    site, slug = site_of(request), request.path_params["slug"]
    parts = _signed(request)
    await form_of(request, site, cookies.before_digest(cookies.cookies_of(request).before))
    who, token = visitor(), secrets.token_urlsafe(32)
    names = (slug, who.platform, who.platform_id)
    result = await site.calls.step(
        "st_arrive", slug_=slug, platform_=who.platform, person_=site.keys.person(*names),
        sealed=None, bar=site.keys.bar(*names), pseudonym_=new_pseudonym(), submission_=None,
        submission_digest_=None, language_=parts["language"], tok=digest_of(token),
        ends=session_end(), preview_=True, version_=int(parts["version"]),
        condition_=parts["condition"] or None,
    )  # fmt: skip
    if result["word"] != "ok":
        raise refusal(result)
    response = onward(request, "/go")
    cookies.keep_session(response, token)
    return response


ROUTES = [
    Route("/s/{slug}/preview", preview_page),
    Route("/s/{slug}/preview", preview_begin, methods=["POST"]),
]
