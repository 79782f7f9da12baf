"""Pages for those who run the study: progress, people, the log, a look as a participant."""

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from theodolite.errors import EvidenceError
from theodolite_study.lifecycle import FROM, become, lift_reservations, set_quota
from theodolite_study.participants import PREVIEW, arrive, by_pseudonym
from theodolite_study.platforms.identity import Identity
from theodolite_study.progress import progress
from theodolite_study.quality import quality
from theodolite_study.refusals import Invalid, NotHere, NothingNow, StudyRefusal
from theodolite_study.sessions import begin, end
from theodolite_study.staff import enrol, enrolling, log_in
from theodolite_study.staff_log import log_lines
from theodolite_study.web import cookies
from theodolite_study.web.asking import LOOK, ASite, Fields
from theodolite_study.web.forms import PlainForm, form_body, read_form
from theodolite_study.web.site import Site
from theodolite_study.web.staff_asking import (
    LOGIN,
    AnybodyOfStaff,
    AStaff,
    LoginForm,
    StaffForm,
    StaffVisitor,
    forget_staff_session,
    keep_staff_session,
    not_too_many_logins,
    staff_page,
)
from theodolite_study.web.staff_forms import (
    EnrolForm,
    InvalidateForm,
    LiftForm,
    LogInForm,
    QuotaForm,
    StateForm,
)
from theodolite_study.withdrawal import invalidate

HOME = "/admin"
LINES = 100
NAMES = {"open": "Open the study", "paused": "Give it a break", "closed": "Close the study",
         "archived": "Archive it"}  # fmt: skip

router = APIRouter(prefix=HOME)


@router.api_route("/login", methods=LOOK)
def login_page(site: ASite, asking: AnybodyOfStaff) -> Response:
    """Name, passphrase, code."""
    return RedirectResponse(HOME, 303) if asking.name else _login(site, asking)


def _login(site: Site, asking: StaffVisitor, *errors: str) -> Response:
    status = 422 if errors else 200
    return staff_page(site, asking, "staff_login.html.j2", status=status, errors=errors)


@router.post("/login", openapi_extra=form_body(LogInForm))
def login(site: ASite, asking: LoginForm, given: Fields) -> Response:
    """Begin a session; an older one of this browser ends."""
    form = read_form(LogInForm, given)
    not_too_many_logins(site, form.name)
    try:
        slug = site.protocol.slug
        number = log_in(site.database, slug, form.name, form.passphrase, form.code, site.keys)
    except Invalid as refusal:
        return _login(site, asking, refusal.message)
    return _begun(site, asking, number)


def _begun(site: Site, asking: StaffVisitor, number: int) -> Response:
    if asking.token:
        end(site.database, asking.token)
    response = RedirectResponse(HOME, 303)
    keep_staff_session(response, begin(site.database, staff_id=number))
    return response


@router.api_route("/enrol/{token}", methods=LOOK)
def enrol_page(site: ASite, asking: AnybodyOfStaff, token: str) -> Response:
    """What a new account needs. Looking at it uses nothing up."""
    return _enrolling(site, asking, token)


def _enrolling(site: Site, asking: StaffVisitor, token: str, *errors: str) -> Response:
    who = enrolling(site.database, site.protocol.slug, token, site.keys)
    groups = " ".join(who.secret[i : i + 4] for i in range(0, len(who.secret), 4))
    return staff_page(
        site, asking, "staff_enrol.html.j2", status=422 if errors else 200, errors=errors,
        enrolling=who, token=token, secret_in_groups=groups,
    )  # fmt: skip


@router.post("/enrol", openapi_extra=form_body(EnrolForm))
def set_up(site: ASite, asking: LoginForm, given: Fields) -> Response:
    """Make the account; the link is used up."""
    form = read_form(EnrolForm, given)
    try:
        slug = site.protocol.slug
        number = enrol(site.database, slug, form.token, form.passphrase, form.code, site.keys)
    except (NotHere, NothingNow):
        raise
    except (EvidenceError, StudyRefusal) as error:
        said = getattr(error, "message", "") or f"{error}"
        return _enrolling(site, asking, form.token, said)
    return _begun(site, asking, number)


@router.post("/logout", openapi_extra=form_body(PlainForm))
def logout(site: ASite, asking: StaffForm, given: Fields) -> Response:
    """End the session."""
    read_form(PlainForm, given)
    end(site.database, asking.token)
    response = RedirectResponse(LOGIN, 303)
    forget_staff_session(response)
    return response


@router.api_route("", methods=LOOK)
def progress_page(site: ASite, asking: AStaff) -> Response:
    """How far the study is."""
    now = progress(site.database, site.protocol.slug)
    possible = [(state, NAMES[state]) for state, before in FROM.items() if now.state in before]
    return staff_page(
        site, asking, "staff_progress.html.j2", here=HOME, now=now, possible=possible,
        share=now.filled / now.seats if now.seats else 0.0,
        planned=site.protocol.design == "planned",
    )  # fmt: skip


@router.api_route("/people", methods=LOOK)
def people_page(site: ASite, asking: AStaff) -> Response:
    """How people work."""
    works = sorted(quality(site.database, site.protocol.slug), key=lambda work: not work.signs)
    flagged = sum(bool(work.signs) for work in works)
    return staff_page(
        site, asking, "staff_people.html.j2", here=f"{HOME}/people", works=works, flagged=flagged
    )


@router.api_route("/log", methods=LOOK)
def log_page(site: ASite, asking: AStaff, before: int | None = None) -> Response:
    """What happened, the newest first."""
    lines = log_lines(site.database, site.protocol.slug, before=before, most=LINES)
    older = lines[-1].number if len(lines) == LINES else None
    return staff_page(
        site, asking, "staff_log.html.j2", here=f"{HOME}/log", lines=lines, older=older
    )


@router.post("/state", openapi_extra=form_body(StateForm))
def change_state(site: ASite, asking: StaffForm, given: Fields) -> Response:
    """Open, pause, close."""
    form = read_form(StateForm, given)
    become(site.database, site.protocol.slug, form.state, staff=asking.name)
    return RedirectResponse(HOME, 303)


@router.post("/quota", openapi_extra=form_body(QuotaForm))
def change_quota(site: ASite, asking: StaffForm, given: Fields) -> Response:
    """Explanations for each person."""
    form = read_form(QuotaForm, given)
    set_quota(site.database, site.protocol.slug, form.quota, staff=asking.name)
    return RedirectResponse(HOME, 303)


@router.post("/lift", openapi_extra=form_body(LiftForm))
def lift(site: ASite, asking: StaffForm, given: Fields) -> Response:
    """Somebody of the panel left: their items are for everybody."""
    form = read_form(LiftForm, given)
    lift_reservations(site.database, site.protocol.slug, form.row, staff=asking.name)
    return RedirectResponse(HOME, 303)


@router.post("/invalidate", openapi_extra=form_body(InvalidateForm))
def take_out(site: ASite, asking: StaffForm, given: Fields) -> Response:
    """Somebody's votes no longer count."""
    form = read_form(InvalidateForm, given)
    who = by_pseudonym(site.database, site.protocol.slug, form.pseudonym)
    invalidate(site.database, who, staff=asking.name, reason=form.reason)
    return RedirectResponse(f"{HOME}/people", 303)


@router.post("/preview", openapi_extra=form_body(PlainForm))
def preview(site: ASite, asking: StaffForm, given: Fields) -> Response:
    """Take part oneself, without any seat: a new test participant each time."""
    read_form(PlainForm, given)
    identity = Identity(PREVIEW, cookies.new_before())
    arrived = arrive(site.database, site.protocol.slug, identity, site.keys)
    response = RedirectResponse(site.home, 303)
    cookies.keep_session(response, begin(site.database, participant_id=arrived.participant.id))
    return response
