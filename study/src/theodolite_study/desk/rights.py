"""Define roles and rights, and check them on every route of the admin console."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from psycopg.errors import IntegrityError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from theodolite_study.desk.forms import MAX_VISITOR_BYTES, DeskForm, read_form
from theodolite_study.desk.sessions import FORM_COOKIE, find_account, read_cookie
from theodolite_study.desk.site import Connection, DeskRequest, DeskSite, StaffAccount, fetch_rows
from theodolite_study.passwords import digest_token
from theodolite_study.refusals import NotHere, Refused, StudyError

Right: TypeAlias = Literal[
    "account", "design", "open", "pause", "watch", "counts", "pay", "export", "aggregates",
    "members", "server",
]  # fmt: skip
VIEWER: frozenset[str] = frozenset({"counts", "aggregates"})
RESEARCHER = VIEWER | {"design", "open", "pause", "watch", "export"}
RIGHTS: dict[str, frozenset[str]] = {
    "viewer": VIEWER,
    "researcher": RESEARCHER,
    "owner": RESEARCHER | {"pay", "members"},
}
"""Rights in a study by role. Every signed-in person also has the right `account`."""
OPERATOR: frozenset[str] = frozenset({"server", "pause"})
"""Rights of server operators: they can pause any study and see none of it."""
SAFE_METHODS = ("GET", "HEAD")

Endpoint: TypeAlias = Callable[[DeskRequest], Response]
Route: TypeAlias = Callable[[Request], Awaitable[Response]]


class NotSignedIn(StudyError):
    """Request without a recent sign-in."""

    status = 401


def require_right(right: Right, *, upload: int = 0) -> Callable[[Endpoint], Route]:
    """Return a decorator that requires a right and passes the request, in one transaction.

    The study is the ``slug`` of the address, the version its ``no``. A form is ours or refused;
    files are taken only where ``upload`` says how many bytes at most.
    """

    def named(endpoint: Endpoint) -> Route:
        async def route(request: Request) -> Response:
            form = DeskForm()
            if request.method not in SAFE_METHODS:
                # who may not send anything is told before it is read
                await run_in_threadpool(_answered, request, right, form, None)
                form = await read_form(request, upload)
            try:
                return await run_in_threadpool(_answered, request, right, form, endpoint)
            finally:
                for file in form.files.values():
                    await file.close()

        route.__name__, route.__doc__ = endpoint.__name__, endpoint.__doc__
        route.__dict__["right"] = right
        return route

    return named


@dataclass(frozen=True)
class Visit:
    """Request of a visitor who has not signed in, with their form if it is ours."""

    request: Request
    site: DeskSite
    form: DeskForm
    digest: bytes = field(repr=False)
    """Digest that forms are bound to, and the browser by a cookie."""
    fresh: str = field(default="", repr=False)
    """Cookie to set if the browser has none yet."""


def allow_visitors(endpoint: Callable[[Visit], Response]) -> Route:
    """Return a route for visitors who have not signed in."""

    async def route(request: Request) -> Response:
        site: DeskSite = request.app.state.site
        before = read_cookie(request, FORM_COOKIE)
        fresh = "" if before else secrets.token_urlsafe(32)
        digest = digest_token(f"before {before or fresh}")
        form = DeskForm()
        if request.method not in SAFE_METHODS:
            form = await read_form(request, most_bytes=MAX_VISITOR_BYTES)
            if not site.keys.is_form_token(digest, form.text("csrf")):
                raise Refused(403, "This form is too old. Please load the page again.")
        return await run_in_threadpool(endpoint, Visit(request, site, form, digest, fresh))

    route.__name__, route.__doc__ = endpoint.__name__, endpoint.__doc__
    route.__dict__["right"] = "public"
    return route


def _answered(
    request: Request, right: Right, form: DeskForm, endpoint: Endpoint | None
) -> Response:
    site: DeskSite = request.app.state.site
    with site.pool.connection() as connection:
        desk = _permitted(site, connection, request, right, form)
        if endpoint is None:
            return Response()
        if request.method not in SAFE_METHODS and not site.keys.is_form_token(
            desk.staff.session, form.text("csrf")
        ):
            raise Refused(403, "This form is too old. Please load the page again.")
        try:
            return endpoint(desk)
        except IntegrityError as error:
            raise Refused(
                409, f"The database refused this: {error.diag.message_primary}"
            ) from error


def _permitted(
    site: DeskSite, connection: Connection, request: Request, right: Right, form: DeskForm
) -> DeskRequest:
    staff = find_account(connection, request)
    if staff is None:
        raise NotSignedIn("Please sign in.")
    if "slug" not in request.path_params:
        rights = frozenset({"account"}) | (OPERATOR if staff.operator else frozenset())
        if right not in rights:
            raise NotHere
        return DeskRequest(request, site, connection, staff, rights, form)
    study, rights = _study(connection, staff, str(request.path_params["slug"]))
    if right not in rights:
        raise Refused(403, "Your role in this study does not allow this.")
    version = _version(connection, study, request.path_params.get("no"))
    return DeskRequest(request, site, connection, staff, rights, form, study, version)


def _study(
    connection: Connection, staff: StaffAccount, slug: str
) -> tuple[dict[str, Any], frozenset[str]]:
    records = fetch_rows(
        connection,
        "select s.id, s.slug, s.title, s.state, s.currency, s.keys_id, s.created_at, s.opened_at,"
        " s.closed_at, m.role from study s"
        " left join member m on m.study_id = s.id and m.staff_id = %s where s.slug = %s",
        staff.id, slug,
    )  # fmt: skip
    if not records or (records[0]["role"] is None and not staff.operator):
        raise NotHere
    of_role = RIGHTS.get(records[0]["role"] or "", frozenset())
    return records[0], of_role | ({"pause"} if staff.operator else set())


def _version(
    connection: Connection, study: dict[str, Any], number: object
) -> dict[str, Any] | None:
    requested = None if number is None else int(str(number))
    records = fetch_rows(
        connection,
        "select * from version where study_id = %s and (%s::int is null or no = %s)"
        " order by no desc limit 1", study["id"], requested, requested,
    )  # fmt: skip
    if not records and requested is not None:
        raise NotHere
    return records[0] if records else None
