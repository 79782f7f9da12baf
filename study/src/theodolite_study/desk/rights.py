"""Who may do what. Every route names its right; what belongs to another study is not there."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from psycopg.errors import IntegrityError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from theodolite_study.desk.forms import FEW_BYTES, DeskForm, read_form
from theodolite_study.desk.sessions import BEFORE, cookie, signed_in
from theodolite_study.desk.site import Connection, DeskRequest, DeskSite, StaffAccount, rows
from theodolite_study.passwords import token_digest
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
"""In a study, by role. Everybody who signed in also has the right `account`."""
OPERATOR: frozenset[str] = frozenset({"server", "pause"})
"""Of those who run the server: any study can be paused, and nothing of it is seen."""
SAFE = ("GET", "HEAD")

Endpoint: TypeAlias = Callable[[DeskRequest], Response]
Route: TypeAlias = Callable[[Request], Awaitable[Response]]


class NotSignedIn(StudyError):
    """Nobody has signed in, or not recently."""

    status = 401


def needs(right: Right, *, upload: int = 0) -> Callable[[Endpoint], Route]:
    """The right that a route needs; it is called with who asks, in one transaction.

    The study is the ``slug`` of the address, the version its ``no``. A form is ours or refused;
    files are taken only where ``upload`` says how many bytes at most.
    """

    def named(endpoint: Endpoint) -> Route:
        async def route(request: Request) -> Response:
            form = DeskForm()
            if request.method not in SAFE:
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
    """Somebody who has not signed in, with a form of ours if they sent one."""

    request: Request
    site: DeskSite
    form: DeskForm
    digest: bytes = field(repr=False)
    """Forms are bound to it, and it to the browser by a cookie."""
    fresh: str = field(default="", repr=False)
    """The cookie, if the browser has none yet."""


def public(endpoint: Callable[[Visit], Response]) -> Route:
    """A route for people who have not signed in."""

    async def route(request: Request) -> Response:
        site: DeskSite = request.app.state.site
        before = cookie(request, BEFORE)
        fresh = "" if before else secrets.token_urlsafe(32)
        digest = token_digest(f"before {before or fresh}")
        form = DeskForm()
        if request.method not in SAFE:
            form = await read_form(request, most_bytes=FEW_BYTES)
            if not site.keys.csrf_matches(digest, form.text("csrf")):
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
        if request.method not in SAFE and not site.keys.csrf_matches(
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
    staff = signed_in(connection, request)
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
    records = rows(
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
    records = rows(
        connection,
        "select * from version where study_id = %s and (%s::int is null or no = %s)"
        " order by no desc limit 1", study["id"], requested, requested,
    )  # fmt: skip
    if not records and requested is not None:
        raise NotHere
    return records[0] if records else None
