"""What the pages of the desk share: connections, keys, templates, who asks."""

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
from theodolite_study.locale.catalogue import money
from theodolite_study.model.markdown import as_html
from theodolite_study.serve.settings import Settings

Connection = psycopg.Connection[Any]
Rows = list[dict[str, Any]]
DESK_ROLE = "theodolite_desk"
OPTIONS = (
    "-c statement_timeout=10000 -c lock_timeout=4000 -c idle_in_transaction_session_timeout=60000 "
    "-c jit=off -c timezone=UTC"
)
NOTICE = "__Host-theodolite-notice"
LONGEST_NOTICE = 500
HERE = Path(__file__).parent
PAGES = [
    ("counts", "/live", "Live"), ("design", "/design", "Design"), ("watch", "/people", "People"),
    ("pay", "/pay", "Pay"), ("aggregates", "/export", "Export"), ("open", "/close", "Close"),
    ("members", "/members", "Members"), ("watch", "/log", "Log"),
]  # fmt: skip
"""The pages of a study: the right that each needs, its address after the study's, its name."""


@dataclass(frozen=True)
class StaffAccount:
    """Somebody who has signed in."""

    id: int
    name: str
    operator: bool
    session: bytes = field(repr=False)
    """The digest of their session: forms are bound to it."""


@dataclass(frozen=True)
class DeskSite:
    """One process of the desk."""

    settings: Settings
    keys: Keys = field(repr=False)
    pool: ConnectionPool[Connection] = field(repr=False)
    pages: Environment = field(repr=False)

    def render(self, name: str, context: Mapping[str, Any]) -> str:
        """A template with what it shows; everything in it is escaped."""
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
    """What they may do in this study, or on this server where the address names none."""
    form: DeskForm = field(default_factory=DeskForm, repr=False)
    study: Mapping[str, Any] | None = None
    version: Mapping[str, Any] | None = None

    def may(self, right: str) -> bool:
        """Whether they have a right here."""
        return right in self.rights

    @property
    def study_id(self) -> UUID:
        """The study of the address."""
        assert self.study is not None  # noqa: S101
        identity: UUID = self.study["id"]
        return identity

    @property
    def slug(self) -> str:
        """The study's name in addresses."""
        assert self.study is not None  # noqa: S101
        return str(self.study["slug"])

    @property
    def study_state(self) -> str:
        """Draft, open, paused, closed or archived."""
        assert self.study is not None  # noqa: S101
        return str(self.study["state"])

    def rows(self, query: str, *values: Any) -> Rows:
        """Rows of a query, by names of columns."""
        return rows(self.connection, query, *values)

    def row(self, query: str, *values: Any) -> dict[str, Any] | None:
        """The first row, if there is one."""
        records = self.rows(query, *values)
        return records[0] if records else None

    def log(
        self, kind: str, detail: Mapping[str, Any] | None = None, *, person: UUID | None = None
    ) -> None:
        """One line about what was done, within the same transaction."""
        study = None if self.study is None else self.study["id"]
        write_log(self.connection, kind, detail, study=study, staff=self.staff.id, person=person)


def rows(connection: Connection, query: str, *values: Any) -> Rows:
    """Rows of a query, by names of columns."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query.encode(), values).fetchall()


def write_log(
    connection: Connection, kind: str, detail: Mapping[str, Any] | None = None, *,
    study: UUID | None, staff: int | None, person: UUID | None = None,
) -> None:  # fmt: skip
    """A line of the log; the kind is one of the table log_kind."""
    done = connection.execute(
        "insert into log (study_id, staff_id, participant_id, kind, detail)"
        " select %s, %s, %s, id, %s from log_kind where name = %s",
        (study, staff, person, Jsonb(dict(detail or {})), kind),
    )
    if done.rowcount != 1:
        raise LookupError(kind)


def page(
    desk: DeskRequest, name: str, context: Mapping[str, Any] | None = None, status: int = 200,
    errors: Sequence[str] = (),
) -> Response:  # fmt: skip
    """A page for somebody who has signed in: a template that extends ``desk.html.j2``."""
    csrf = desk.site.keys.csrf(desk.staff.session)
    notice = _notice(desk)
    everywhere = {
        "staff": desk.staff, "study": desk.study, "version": desk.version, "may": desk.may,
        "csrf": csrf, "path": desk.request.url.path, "errors": list(errors), "notice": notice,
        "refresh": 0,
    }  # fmt: skip
    response = HTMLResponse(desk.site.render(name, {**everywhere, **(context or {})}), status)
    if NOTICE in desk.request.cookies:
        response.delete_cookie(NOTICE, path="/", secure=True, httponly=True, samesite="strict")
    return response


def onward(desk: DeskRequest, address: str, notice: str = "") -> Response:
    """To the next page, which says what was done."""
    response = RedirectResponse(address, 303)
    if notice:
        text = notice[:LONGEST_NOTICE].encode()
        mac = desk.site.keys.csrf(desk.staff.session + text)
        value = f"{base64.urlsafe_b64encode(text).decode()}.{mac}"
        response.set_cookie(
            NOTICE, value, max_age=60, path="/", secure=True, httponly=True, samesite="strict"
        )
    return response


def _notice(desk: DeskRequest) -> str:
    """What the last form did, if it is ours and of this session."""
    text, _, mac = desk.request.cookies.get(NOTICE, "").partition(".")
    try:
        plain = base64.b64decode(text, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return ""
    ours = desk.site.keys.csrf(desk.staff.session + plain)
    same = hmac.compare_digest(ours.encode(), mac.encode(errors="replace"))
    return plain.decode(errors="replace") if same else ""


def new_pool(url: str, size: int = 8) -> ConnectionPool[Connection]:
    """Connections that work as the role of the desk; opened with the application."""

    def configured(connection: Connection) -> None:
        connection.execute(sql.SQL("set role {}").format(sql.Identifier(DESK_ROLE)))
        connection.commit()

    return ConnectionPool(
        url, min_size=1, max_size=size, timeout=3.0, open=False, configure=configured,
        kwargs={"options": OPTIONS, "connect_timeout": 5},
    )  # fmt: skip


def new_pages(folders: Sequence[Path]) -> Environment:
    """Templates of the desk, and of rooms that add pages to it."""
    pages = Environment(
        loader=FileSystemLoader(list(folders)), autoescape=True, undefined=StrictUndefined,
        auto_reload=False, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    pages.filters["markdown"] = as_html_markup
    pages.filters["day"] = lambda at: "–" if at is None else at.strftime("%Y-%m-%d %H:%M")
    pages.globals |= {"PAGES": PAGES, "HAS_DESIGNER": len(folders) > 1}
    pages.globals["many"] = many
    pages.globals["money"] = lambda minor, currency: money("en", minor, currency)
    return pages


def many(number: int, thing: str) -> str:
    """1 payment, 2 payments."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def as_html_markup(text: str) -> Any:
    """A text of the researcher's: its few marks as HTML, all else escaped."""
    return Markup(as_html(text))  # noqa: S704  as_html escapes
