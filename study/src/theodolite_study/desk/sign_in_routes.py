"""Serve the pages that sign staff in and set up accounts."""

from urllib.parse import urlsplit

import segno
from markupsafe import Markup
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from theodolite_study.desk.accounts import (
    DeskEnrollment,
    enroll,
    load_enrollment,
    use_local_link,
)
from theodolite_study.desk.rights import Visit, allow_visitors, require_right
from theodolite_study.desk.sessions import (
    DEVICE,
    DEVICE_SECONDS,
    FORM_COOKIE,
    MAX_SESSION_SECONDS,
    SESSION,
    begin_session,
    end_session,
    forget_cookie,
    read_cookie,
    set_cookie,
)
from theodolite_study.desk.sign_in import Credentials, SignInTokens, register_device, sign_in
from theodolite_study.desk.site import DeskRequest
from theodolite_study.passwords import digest_token
from theodolite_study.refusals import Invalid, NotHere
from theodolite_study.serve.arrival_limits import get_network
from theodolite_study.serve.settings import is_loopback


@allow_visitors
def sign_in_page(visit: Visit) -> Response:
    """Show the form for name, passphrase and code."""
    return _visitor_page(visit, "sign_in")


@allow_visitors
def sign_in_form(visit: Visit) -> Response:
    """Begin a session; an older one of this browser ends."""
    form = visit.form
    credentials = Credentials(
        form.text("name", 100), form.text("passphrase", 200), form.text("code", 20),
        get_network(visit.request, behind_proxy=visit.site.settings.behind_proxy),
        read_cookie(visit.request, DEVICE),
    )  # fmt: skip
    try:
        return _with_session(visit, sign_in(visit.site, credentials))
    except Invalid as refusal:
        return _visitor_page(visit, "sign_in", {}, [refusal.message])


@allow_visitors
def enroll_page(visit: Visit) -> Response:
    """Show what a new account needs, without using the link up."""
    return _enrollment_page(visit, str(visit.request.path_params["token"]))


@allow_visitors
def enroll_form(visit: Visit) -> Response:
    """Set up the account and use the link up."""
    form, site = visit.form, visit.site
    token = form.text("token", 100)
    names = [urlsplit(site.settings.public_origin).hostname or "", "theodolite study"]
    try:
        with site.pool.connection() as connection:
            staff_id = enroll(
                connection, site.keys, token, form.text("passphrase", 200), form.text("code", 20),
                names,
            )  # fmt: skip
            tokens = SignInTokens(
                begin_session(connection, staff_id), register_device(connection, staff_id)
            )
    except Invalid as refusal:
        return _enrollment_page(visit, token, refusal.message)
    return _with_session(visit, tokens)


@allow_visitors
def enter(visit: Visit) -> Response:
    """Sign in by a link that `study serve` printed on this machine."""
    host = urlsplit(visit.site.settings.public_origin).hostname or ""
    if not is_loopback(host) or visit.request.method != "GET":  # HEAD must not use the link up
        raise NotHere
    with visit.site.pool.connection() as connection:
        staff_id = use_local_link(connection, str(visit.request.path_params["token"]))
        tokens = SignInTokens(
            begin_session(connection, staff_id), register_device(connection, staff_id)
        )
    return _with_session(visit, tokens)


@require_right("account")
def sign_out(desk: DeskRequest) -> Response:
    """End the session; the browser stays known."""
    end_session(desk.connection, desk.staff.session)
    response = RedirectResponse("/sign-in", 303)
    forget_cookie(response, SESSION)
    return response


def _with_session(visit: Visit, tokens: SignInTokens) -> Response:
    old = read_cookie(visit.request, SESSION)
    if old:
        with visit.site.pool.connection() as connection:
            end_session(connection, digest_token(old))
    response = RedirectResponse("/", 303)
    set_cookie(response, SESSION, tokens.session, MAX_SESSION_SECONDS)
    set_cookie(response, DEVICE, tokens.device, DEVICE_SECONDS)
    return response


def _enrollment_page(visit: Visit, token: str, *errors: str) -> Response:
    with visit.site.pool.connection() as connection:
        who: DeskEnrollment = load_enrollment(connection, visit.site.keys, token)
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
        "csrf": visit.site.keys.make_form_token(visit.digest), "errors": errors,
        "staff": None, "study": None, "notice": "", "refresh": 0,
    }  # fmt: skip
    content = visit.site.render(name, {**everywhere, **(context or {})})
    response = HTMLResponse(content, 422 if errors else 200)
    if visit.fresh:
        set_cookie(response, FORM_COOKIE, visit.fresh, None)
    return response


ROUTES = [
    Route("/sign-in", sign_in_page), Route("/sign-in", sign_in_form, methods=["POST"]),
    Route("/sign-out", sign_out, methods=["POST"]),
    Route("/enter/{token}", enter),
    Route("/enroll/{token}", enroll_page), Route("/enroll", enroll_form, methods=["POST"]),
]  # fmt: skip
