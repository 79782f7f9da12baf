"""Hold what all routes share: database calls, versions, pages, keys; and parse forms and JSON."""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import parse_qs

from starlette.convertors import Convertor, register_url_convertor
from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from theodolite_study.keys import Keys
from theodolite_study.locale.language_choice import choose_language, parse_accepted
from theodolite_study.locale.translations import SOURCE_LANGUAGE, list_languages
from theodolite_study.platforms.prolific_keys import SigningKeys
from theodolite_study.refusals import Invalid, Refused
from theodolite_study.serve import cookies
from theodolite_study.serve.database_calls import NoSession, StepCalls
from theodolite_study.serve.images import ImageAddresses, ImageFiles
from theodolite_study.serve.pages import StudyPages, get_translator
from theodolite_study.serve.settings import Settings
from theodolite_study.serve.versions import StudyVersion, VersionCache
from theodolite_study.session_tokens import digest_session_token

FORM_TYPE = "application/x-www-form-urlencoded"
JSON_TYPE = "application/json"
MAX_JSON_BRACKETS = 1000
"""Maximum number of brackets in JSON from a script."""
MAX_FIELDS = 300
MAX_CACHED_ITEMS = 5000
MAX_COOKIE_CHARACTERS = 4000


class ShortNumber(Convertor[int]):
    """Route parameter that fits a database integer."""

    regex = "[0-9]{1,9}"

    def convert(self, value: str) -> int:
        """Parse the number in an address."""
        return int(value)

    def to_string(self, value: int) -> str:
        """Format the number for an address."""
        return str(value)


class LongNumber(ShortNumber):
    """Route parameter that fits a database bigint."""

    regex = "[0-9]{1,18}"


register_url_convertor("short", ShortNumber())
register_url_convertor("long", LongNumber())


@dataclass(frozen=True)
class StudySite:
    """State of one server process that serves all studies of a database."""

    calls: StepCalls
    versions: VersionCache
    pages: StudyPages
    keys: Keys = field(repr=False)
    addresses: ImageAddresses
    images: ImageFiles
    settings: Settings
    signing_keys: SigningKeys
    """Public keys of Prolific."""
    items: OrderedDict[tuple[bytes, int], dict[str, Any]] = field(
        default_factory=OrderedDict, repr=False
    )
    """Items whose pages this process made, so that their forms need no further query."""

    spoken: OrderedDict[bytes, str] = field(default_factory=OrderedDict, repr=False)
    """Languages of recent sessions, for refusals without a query."""

    def language_of(self, headers: Headers) -> str:
        """Return the language of a session's last page, else of the browser."""
        sent = cookie_parser(headers.get("cookie", "")[:MAX_COOKIE_CHARACTERS]).get(
            cookies.SESSION, ""
        )
        known = self.spoken.get(digest_session_token(sent), "") if sent else ""
        return choose_language([known, *parse_accepted(headers)], list_languages(), SOURCE_LANGUAGE)

    def said(self, request: Request, message: str) -> str:
        """Translate a text of ours for the client."""
        return get_translator(self.language_of(request.headers))(message)

    def token(self, request: Request) -> str:
        """Return the session token of a browser, or raise if there is none."""
        token = cookies.read_cookies(request).session
        if not token:
            raise NoSession("You have not begun yet.")
        return token

    def remember(self, session: bytes, row: dict[str, Any]) -> dict[str, Any]:
        """Keep what the forms of an item need."""
        names = ("version", "shown", "person", "position", "earlier", "language", "preview")
        self.items[session, row["item"]] = {name: row[name] for name in names}
        if len(self.items) > MAX_CACHED_ITEMS:
            self.items.popitem(last=False)
        return self.items[session, row["item"]]

    async def version(self, row: Mapping[str, Any], session: bytes) -> StudyVersion:
        """Return the version of a participant; of a preview, in its current state."""
        if row.get("preview"):
            return await self.versions.preview(session)
        return await self.versions.version(row["version"])

    def page(
        self, name: str, version: StudyVersion | None, language: str, session: bytes,
        context: Mapping[str, Any], status: int = 200,
    ) -> Response:  # fmt: skip
        """Return a rendered page."""
        everywhere: dict[str, Any] = {}
        if version is not None:
            everywhere["preview"] = version.preview
            everywhere["paid"] = version.settings.get("paid", True)
            everywhere["study_title"] = version.text("title", language)
            everywhere["text"] = partial(version.text, language=language)
            everywhere["contact"] = version.text("contact", language)
        self.spoken[session] = language
        self.spoken.move_to_end(session)
        if len(self.spoken) > MAX_CACHED_ITEMS:
            self.spoken.popitem(last=False)
        csrf = self.keys.make_form_token(session)
        return HTMLResponse(
            self.pages.page(name, language, csrf, {**everywhere, **context}), status
        )


def derive_image_key(keys: Keys) -> bytes:
    """Return the key that signs image addresses and nothing else."""
    return keys.derive_key("images")


async def parse_form(request: Request, site: StudySite, session: bytes) -> dict[str, Sequence[str]]:
    """Parse a form of ours into all values by field."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != FORM_TYPE:
        raise Refused(415, "A form was needed.")
    try:
        fields = parse_qs(
            (await request.body()).decode(), keep_blank_values=True, strict_parsing=False,
            max_num_fields=MAX_FIELDS,
        )  # fmt: skip
    except ValueError as error:
        raise Invalid("This form has a part that does not fit.") from error
    if not site.keys.is_form_token(session, fields.get("csrf", [""])[0]):
        raise Refused(403, "This form is too old. Please load the page again.")
    return dict(fields)


async def parse_json(request: Request) -> dict[str, Any]:
    """Parse the JSON that a script sent."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != JSON_TYPE:
        raise Refused(415, "JSON was needed.")
    body = await request.body()
    if body.count(b"[") + body.count(b"{") > MAX_JSON_BRACKETS:
        raise Invalid("This has too many parts.")
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Invalid("This is no JSON.") from error
    if not isinstance(content, dict):
        raise Invalid("This has a part that does not fit.")
    return content


def redirect(request: Request, address: str) -> Response:
    """Redirect to the next page, for a browser or for a script of ours."""
    if request.headers.get("accept", "").startswith("application/json"):
        return JSONResponse({"next": address})
    return RedirectResponse(address, 303)
