"""Who asks, and with which form: what every route is given."""

import json
from typing import Annotated, Any, TypeAlias

from fastapi import Depends, Request
from starlette.requests import ClientDisconnect

from theodolite_study.refusals import Invalid, Refused
from theodolite_study.sessions import digest_of
from theodolite_study.visits import visit
from theodolite_study.web import cookies
from theodolite_study.web.site import Site, Visitor, site_of

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
CSRF_HEADER = "x-csrf"
LOOK = ["GET", "HEAD"]
"""Ways to look at a page: neither changes anything."""
DEEPEST = 1000
"""Brackets in what a script sends."""


def visitor(request: Request, site: Annotated[Site, Depends(site_of)]) -> Visitor:
    """Whoever asks. A value that we did not give is never taken for a session."""
    sent = cookies.cookies_of(request)
    if sent.session and request.method in LOOK:
        _not_too_fast(site.looks.allow(digest_of(sent.session).hex()))
    found = visit(site.database, sent.session, site.protocol.slug) if sent.session else None
    if found is not None:
        asking = Visitor(found.participant, found.study_state, found.digest, sent.session)
    else:
        fresh = "" if sent.before else cookies.new_before()
        asking = Visitor(None, "", cookies.before_digest(sent.before or fresh), fresh=fresh)
    request.state.visitor = asking
    return asking


async def fields(request: Request, site: Annotated[Site, Depends(site_of)]) -> dict[str, str]:
    """The fields of a form: each once, and text only."""
    if request.headers.get("content-type", FORM).split(";")[0].strip().lower() != FORM:
        raise Refused(415, "A form was needed.")
    try:
        form = await request.form(max_files=0, max_fields=site.settings.limits.fields)
    except ClientDisconnect as error:
        raise Refused(400, "The form did not arrive.") from error
    found: dict[str, str] = {}
    for name, value in form.multi_items():
        if name in found or not isinstance(value, str):
            raise Invalid("This form has a part that does not fit.")
        found[name] = value
    return found


async def sent(request: Request) -> dict[str, Any]:
    """What a script sent."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != JSON:
        raise Refused(415, "JSON was needed.")
    body = await request.body()
    if body.count(b"[") + body.count(b"{") > DEEPEST:
        raise Invalid("This has too many parts.")
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Invalid("This is no JSON.") from error
    if not isinstance(content, dict):
        raise Invalid("This has a part that does not fit.")
    return content


def _checked(request: Request, site: Site, asking: Visitor, token: str) -> Visitor:
    """The form is of a page that we made for this browser, and not one of too many."""
    if not site.keys.csrf_matches(asking.digest, token):
        known = asking.participant is not None
        status, said = (403, "This form is too old.") if known else (401, "You have not begun yet.")
        raise Refused(status, f"{said} Please load the page again and repeat what you did.")
    wait = (
        site.landings.allow("forms of nobody")
        if asking.participant is None
        else site.posts.allow(asking.digest.hex())
    )
    _not_too_fast(wait)
    return asking


def _not_too_fast(wait: float) -> None:
    if wait:
        raise Refused(429, "This was quick. Please try again in a moment.", int(wait) + 1)


def form_visitor(
    request: Request,
    site: Annotated[Site, Depends(site_of)],
    asking: Annotated[Visitor, Depends(visitor)],
    given: Annotated[dict[str, str], Depends(fields)],
) -> Visitor:
    """Whoever sends a form that is ours."""
    return _checked(request, site, asking, given.get("csrf", ""))


def script_visitor(
    request: Request,
    site: Annotated[Site, Depends(site_of)],
    asking: Annotated[Visitor, Depends(visitor)],
) -> Visitor:
    """Whoever's page sends something by itself."""
    return _checked(request, site, asking, request.headers.get(CSRF_HEADER, ""))


ASite: TypeAlias = Annotated[Site, Depends(site_of)]
AVisitor: TypeAlias = Annotated[Visitor, Depends(visitor)]
FormVisitor: TypeAlias = Annotated[Visitor, Depends(form_visitor)]
ScriptVisitor: TypeAlias = Annotated[Visitor, Depends(script_visitor)]
Fields: TypeAlias = Annotated[dict[str, str], Depends(fields)]
Sent: TypeAlias = Annotated[dict[str, Any], Depends(sent)]
