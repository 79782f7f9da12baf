"""Pages to sign in and to set an account up."""

from urllib.parse import urlsplit

import segno
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from theodolite_study.desk.accounts import DeskEnrollment, enroll, enrollment
from theodolite_study.desk.rights import Visit, needs, public
from theodolite_study.desk.sessions import (
    BEFORE,
    DEVICE,
    DEVICE_SECONDS,
    LONGEST,
    SESSION,
    begin_session,
    cookie,
    end_session,
    forget_cookie,
    keep_cookie,
)
from theodolite_study.desk.sign_in import Credentials, SignedIn, new_device, sign_in
from theodolite_study.desk.site import DeskRequest
from theodolite_study.passwords import token_digest
from theodolite_study.refusals import Invalid
from theodolite_study.serve.newcomers import network


@public
def sign_in_page(visit: Visit) -> Response:
    """Name, passphrase, code."""
    return _visitor_page(visit, "sign_in")


@public
def sign_in_form(visit: Visit) -> Response:
    """Begin a session; an older one of this browser ends."""
    form = visit.form
    credentials = Credentials(
        form.text("name", 100), form.text("passphrase", 200), form.text("code", 20),
        network(visit.request, behind_proxy=visit.site.settings.behind_proxy),
        cookie(visit.request, DEVICE),
    )  # fmt: skip
    try:
        return _with_session(visit, sign_in(visit.site, credentials))
    except Invalid as refusal:
        return _visitor_page(visit, "sign_in", {}, [refusal.message])


@public
def enroll_page(visit: Visit) -> Response:
    """What a new account needs. Looking at it uses nothing up."""
    return _enrollment_page(visit, str(visit.request.path_params["token"]))


@public
def enroll_form(visit: Visit) -> Response:
    """Make the account; the link is used up."""
    form, site = visit.form, visit.site
    token = form.text("token", 100)
    names = [urlsplit(site.settings.public_origin).hostname or "", "theodolite study"]
    try:
        with site.pool.connection() as connection:
            staff_id = enroll(
                connection, site.keys, token, form.text("passphrase", 200), form.text("code", 20),
                names,
            )  # fmt: skip
            tokens = SignedIn(begin_session(connection, staff_id), new_device(connection, staff_id))
    except Invalid as refusal:
        return _enrollment_page(visit, token, refusal.message)
    return _with_session(visit, tokens)


@needs("account")
def sign_out(desk: DeskRequest) -> Response:
    """End the session; the browser stays known."""
    end_session(desk.connection, desk.staff.session)
    response = RedirectResponse("/sign-in", 303)
    forget_cookie(response, SESSION)
    return response


def _with_session(visit: Visit, tokens: SignedIn) -> Response:
    old = cookie(visit.request, SESSION)
    if old:
        with visit.site.pool.connection() as connection:
            end_session(connection, token_digest(old))
    response = RedirectResponse("/", 303)
    keep_cookie(response, SESSION, tokens.session, LONGEST)
    keep_cookie(response, DEVICE, tokens.device, DEVICE_SECONDS)
    return response


def _enrollment_page(visit: Visit, token: str, *errors: str) -> Response:
    with visit.site.pool.connection() as connection:
        who: DeskEnrollment = enrollment(connection, visit.site.keys, token)
    svg = segno.make(who.address, error="m").svg_inline(border=0, omitsize=True)
    context = {
        "enrollment": who, "token": token,
        "image": Markup(svg),  # noqa: S704  tokens of squares by segno
        "secret": " ".join(who.secret[i : i + 4] for i in range(0, len(who.secret), 4)),
    }  # fmt: skip
    return _visitor_page(visit, "enroll", context, errors)


def _visitor_page(
    visit: Visit, name: str, context: dict[str, object] | None = None, errors: object = ()
) -> Response:
    everywhere = {
        "csrf": visit.site.keys.csrf(visit.digest), "errors": errors, "staff": None, "study": None,
        "notice": "", "refresh": 0,
    }  # fmt: skip
    content = visit.site.render(name, {**everywhere, **(context or {})})
    response = HTMLResponse(content, 422 if errors else 200)
    if visit.fresh:
        keep_cookie(response, BEFORE, visit.fresh, None)
    return response


ROUTES = [
    Route("/sign-in", sign_in_page), Route("/sign-in", sign_in_form, methods=["POST"]),
    Route("/sign-out", sign_out, methods=["POST"]),
    Route("/enroll/{token}", enroll_page), Route("/enroll", enroll_form, methods=["POST"]),
]  # fmt: skip
