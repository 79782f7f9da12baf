"""Who of the staff asks: a session of their own, apart from any participant's."""

from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias

from fastapi import Depends, Request
from starlette.responses import HTMLResponse, Response

from theodolite_study.refusals import NotHere
from theodolite_study.sessions import STAFF_LONGEST, current
from theodolite_study.staff import staff_name
from theodolite_study.web import cookies
from theodolite_study.web.asking import Fields, Refused
from theodolite_study.web.site import Errors, Site, site_of
from theodolite_study.web.steps import Elsewhere

SESSION = "__Host-theodolite-staff"
LOGIN = "/admin/login"


@dataclass(frozen=True)
class StaffVisitor:
    """Somebody of the staff, or somebody who is to log in."""

    name: str
    """Empty until they have."""
    digest: bytes = field(repr=False)
    token: str = field(default="", repr=False)
    fresh: str = field(default="", repr=False)


def staff_visitor(request: Request, site: Annotated[Site, Depends(site_of)]) -> StaffVisitor:
    """Whoever asks."""
    given = request.cookies.get(SESSION, "")
    if given and len(given) <= cookies.LONGEST and given.isascii():
        found = current(site.database, given)
        if found is not None and found.staff_id is not None:
            try:
                name = staff_name(site.database, site.protocol.slug, found.staff_id)
            except NotHere:
                name = ""
            if name:
                return StaffVisitor(name, found.digest, given)
    before = cookies.cookies_of(request).before
    fresh = "" if before else cookies.new_before()
    return StaffVisitor("", cookies.before_digest(before or fresh), fresh=fresh)


def staff(asking: Annotated[StaffVisitor, Depends(staff_visitor)]) -> StaffVisitor:
    """Somebody who has logged in; others are led there."""
    if not asking.name:
        raise Elsewhere(LOGIN)
    return asking


def staff_form(
    site: Annotated[Site, Depends(site_of)],
    asking: Annotated[StaffVisitor, Depends(staff_visitor)],
    given: Fields,
) -> StaffVisitor:
    """Whoever sends a form that is ours, logged in or not."""
    if not site.keys.csrf_matches(asking.digest, given.get("csrf", "")):
        raise Refused(403, "This form is too old. Please load the page again.")
    key = asking.digest.hex() if asking.name else "forms of no staff"
    wait = site.posts.allow(key)
    if wait:
        raise Refused(429, "This was quick. Please try again in a moment.", int(wait) + 1)
    return asking


def known_staff_form(asking: Annotated[StaffVisitor, Depends(staff_form)]) -> StaffVisitor:
    """Somebody of the staff who sends a form that is ours."""
    if not asking.name:
        raise Refused(401, "Please log in first.")
    return asking


def not_too_many_logins(site: Site, name: str) -> None:
    """Of everybody together, and as one account, whether it is there or not."""
    wait = site.posts.allow("logins") or site.logins.allow(name.casefold())
    if wait:
        raise Refused(429, "These were many attempts. Please try again later.", int(wait) + 1)


AStaff: TypeAlias = Annotated[StaffVisitor, Depends(staff)]
AnybodyOfStaff: TypeAlias = Annotated[StaffVisitor, Depends(staff_visitor)]
LoginForm: TypeAlias = Annotated[StaffVisitor, Depends(staff_form)]
StaffForm: TypeAlias = Annotated[StaffVisitor, Depends(known_staff_form)]


def staff_page(
    site: Site,
    asking: StaffVisitor,
    template: str,
    *,
    here: str = "",
    status: int = 200,
    errors: Errors = (),
    **given: Any,
) -> Response:
    """A staff page; everything in it is escaped."""
    content = site.pages.environment.get_template(template).render(
        study=site.protocol, csrf=site.keys.csrf(asking.digest), staff=asking.name, here=here,
        errors=list(errors), said="", **given,
    )  # fmt: skip
    response = HTMLResponse(content, status_code=status)
    if asking.fresh:
        cookies.keep_before(response, asking.fresh)
    return response


def keep_staff_session(response: Response, token: str) -> None:
    """Give the browser its session; it never goes along from other sites."""
    response.set_cookie(
        SESSION, token, max_age=STAFF_LONGEST, path="/", secure=True, httponly=True,
        samesite="strict",
    )  # fmt: skip


def forget_staff_session(response: Response) -> None:
    """Take the session back."""
    response.delete_cookie(SESSION, path="/", secure=True, httponly=True, samesite="strict")
