"""Hold what all pages of the admin console share: connections, keys, templates, the account."""

import base64
import binascii
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from psycopg_pool import ConnectionPool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from theodolite_study.desk.forms import DeskForm
from theodolite_study.keys import Keys
from theodolite_study.locale.translations import format_money
from theodolite_study.model.markdown import render_html
from theodolite_study.serve.settings import Settings

Connection = psycopg.Connection[Any]
Rows = list[dict[str, Any]]
DESK_ROLE = "theodolite_desk"
OPTIONS = (
    "-c statement_timeout=10000 -c lock_timeout=4000 -c idle_in_transaction_session_timeout=60000 "
    "-c jit=off -c timezone=UTC"
)
NOTICE_COOKIE = "__Host-theodolite-notice"
MAX_NOTICE_CHARACTERS = 500
DESK_FOLDER = Path(__file__).parent
PAGES = [
    ("counts", "/live", "Live"), ("aggregates", "/results", "Results"),
    ("design", "/design", "Design"), ("watch", "/people", "People"),
    ("pay", "/pay", "Pay"), ("aggregates", "/export", "Export"), ("open", "/close", "Close"),
    ("members", "/members", "Members"), ("watch", "/log", "Log"),
]  # fmt: skip
"""Pages of a study: the required right, the address after the study's, the title."""


@dataclass(frozen=True)
class StaffAccount:
    """Account that has signed in."""

    id: int
    name: str
    operator: bool
    session: bytes = field(repr=False)
    """Digest of the session, which forms are bound to."""


@dataclass(frozen=True)
class DeskSite:
    """State of one process of the admin console."""

    settings: Settings
    keys: Keys = field(repr=False)
    pool: ConnectionPool[Connection] = field(repr=False)
    pages: Environment = field(repr=False)

    def render(self, name: str, context: Mapping[str, Any]) -> str:
        """Render a template with everything escaped."""
        return self.pages.get_template(f"{name}.html.j2").render(context)


@dataclass(frozen=True)
class DeskRequest:
    """What an endpoint is given: who asks, of which study, in one transaction.

    ``study`` and ``version`` are rows as mappings, None where the address names none. Without a
    number in the address the version is the study's newest.
    """

    request: Request
    site: DeskSite
    connection: Connection = field(repr=False)
    staff: StaffAccount
    rights: frozenset[str]
    """Rights in this study, or on this server if the address names no study."""
    form: DeskForm = field(default_factory=DeskForm, repr=False)
    study: Mapping[str, Any] | None = None
    version: Mapping[str, Any] | None = None

    def may(self, right: str) -> bool:
        """Return whether the account has a right here."""
        return right in self.rights

    @property
    def study_id(self) -> UUID:
        """Id of the study in the address."""
        assert self.study is not None  # noqa: S101
        identity: UUID = self.study["id"]
        return identity

    @property
    def slug(self) -> str:
        """Name of the study in addresses."""
        assert self.study is not None  # noqa: S101
        return str(self.study["slug"])

    @property
    def study_state(self) -> str:
        """State of the study: draft, open, paused, closed or archived."""
        assert self.study is not None  # noqa: S101
        return str(self.study["state"])

    def rows(self, query: str, *values: Any) -> Rows:
        """Return the rows of a query as mappings."""
        return fetch_rows(self.connection, query, *values)

    def row(self, query: str, *values: Any) -> dict[str, Any] | None:
        """Return the first row, or None."""
        records = self.rows(query, *values)
        return records[0] if records else None

    def log(
        self, kind: str, detail: Mapping[str, Any] | None = None, *, person: UUID | None = None
    ) -> None:
        """Log an action within the same transaction."""
        study = None if self.study is None else self.study["id"]
        write_log(self.connection, kind, detail, study=study, staff=self.staff.id, person=person)


def fetch_rows(connection: Connection, query: str, *values: Any) -> Rows:
    """Return the rows of a query as mappings."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query.encode(), values).fetchall()


def write_log(
    connection: Connection, kind: str, detail: Mapping[str, Any] | None = None, *,
    study: UUID | None, staff: int | None, person: UUID | None = None,
) -> None:  # fmt: skip
    """Write an entry of the log; its kind is one of the table log_kind."""
    done = connection.execute(
        "insert into log (study_id, staff_id, participant_id, kind, detail)"
        " select %s, %s, %s, id, %s from log_kind where name = %s",
        (study, staff, person, Jsonb(dict(detail or {})), kind),
    )
    if done.rowcount != 1:
        raise LookupError(kind)


def render_page(
    desk: DeskRequest, name: str, context: Mapping[str, Any] | None = None, status: int = 200,
    errors: Sequence[str] = (),
) -> Response:  # fmt: skip
    """Return a page for a signed-in account: a template that extends ``desk.html.j2``."""
    csrf = desk.site.keys.make_form_token(desk.staff.session)
    notice = _notice(desk)
    everywhere = {
        "staff": desk.staff, "study": desk.study, "version": desk.version, "may": desk.may,
        "csrf": csrf, "path": desk.request.url.path, "errors": list(errors), "notice": notice,
        "refresh": 0,
    }  # fmt: skip
    response = HTMLResponse(desk.site.render(name, {**everywhere, **(context or {})}), status)
    if NOTICE_COOKIE in desk.request.cookies:
        response.delete_cookie(
            NOTICE_COOKIE, path="/", secure=True, httponly=True, samesite="strict"
        )
    return response


def redirect(desk: DeskRequest, address: str, notice: str = "") -> Response:
    """Redirect to the next page, which shows what was done."""
    response = RedirectResponse(address, 303)
    if notice:
        text = notice[:MAX_NOTICE_CHARACTERS].encode()
        mac = desk.site.keys.make_form_token(desk.staff.session + text)
        value = f"{base64.urlsafe_b64encode(text).decode()}.{mac}"
        response.set_cookie(
            NOTICE_COOKIE,
            value,
            max_age=60,
            path="/",
            secure=True,
            httponly=True,
            samesite="strict",
        )
    return response


def _notice(desk: DeskRequest) -> str:
    """Return the notice about the last form, if it is ours and of this session."""
    text, _, mac = desk.request.cookies.get(NOTICE_COOKIE, "").partition(".")
    try:
        plain = base64.b64decode(text, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return ""
    ours = desk.site.keys.make_form_token(desk.staff.session + plain)
    same = hmac.compare_digest(ours.encode(), mac.encode(errors="replace"))
    return plain.decode(errors="replace") if same else ""


def make_pool(url: str, size: int = 8) -> ConnectionPool[Connection]:
    """Return a pool of connections with the role of the admin console, not opened yet."""

    def configured(connection: Connection) -> None:
        connection.execute(sql.SQL("set role {}").format(sql.Identifier(DESK_ROLE)))
        connection.commit()

    return ConnectionPool(
        url, min_size=1, max_size=size, timeout=3.0, open=False, configure=configured,
        kwargs={"options": OPTIONS, "connect_timeout": 5},
    )  # fmt: skip


def make_environment(folders: Sequence[Path]) -> Environment:
    """Return the templates of the admin console and of packages that add pages."""
    pages = Environment(
        loader=FileSystemLoader(list(folders)), autoescape=True, undefined=StrictUndefined,
        auto_reload=False, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    pages.filters["markdown"] = render_markdown
    pages.filters["day"] = lambda at: "–" if at is None else at.strftime("%Y-%m-%d %H:%M")
    pages.globals |= {"PAGES": PAGES, "HAS_DESIGNER": len(folders) > 1}
    pages.globals["many"] = format_count
    pages.globals["money"] = lambda minor, currency: format_money("en", minor, currency)
    return pages


def format_count(number: int, thing: str) -> str:
    """Format a count with its noun: 1 payment, 2 payments."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def render_markdown(text: str) -> Any:
    """Render a researcher's text as HTML, with everything else escaped."""
    return Markup(render_html(text))  # noqa: S704  as_html escapes
