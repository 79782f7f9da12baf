"""What the routes share: calls, versions, pages, keys, and who is asking."""

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
from theodolite_study.locale.catalogue import SOURCE, languages
from theodolite_study.locale.preference import accepted, preferred_language
from theodolite_study.platforms.prolific_keys import SigningKeys
from theodolite_study.refusals import Invalid, Refused
from theodolite_study.serve import cookies
from theodolite_study.serve.calls import NobodyHere, StepCalls
from theodolite_study.serve.images import ImageAddresses, ImageFiles
from theodolite_study.serve.pages import StudyPages, words_in
from theodolite_study.serve.settings import Settings
from theodolite_study.serve.versions import KnownVersions, StudyVersion
from theodolite_study.sessions import digest_of

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
DEEPEST = 1000
"""Brackets in what a script sends."""
MOST_FIELDS = 300
MOST_ITEMS = 5000
LONGEST_COOKIES = 4000


class ShortNumber(Convertor[int]):
    """A number in an address that an integer of the database can have."""

    regex = "[0-9]{1,9}"

    def convert(self, value: str) -> int:
        """From the address."""
        return int(value)

    def to_string(self, value: int) -> str:
        """To an address."""
        return str(value)


class LongNumber(ShortNumber):
    """The same for a large one."""

    regex = "[0-9]{1,18}"


register_url_convertor("short", ShortNumber())
register_url_convertor("long", LongNumber())


@dataclass(frozen=True)
class StudySite:
    """All studies of a database, as one process serves them."""

    calls: StepCalls
    versions: KnownVersions
    pages: StudyPages
    keys: Keys = field(repr=False)
    addresses: ImageAddresses
    images: ImageFiles
    settings: Settings
    signing_keys: SigningKeys
    """Of Prolific."""
    items: OrderedDict[tuple[bytes, int], dict[str, Any]] = field(
        default_factory=OrderedDict, repr=False
    )
    """Items whose pages this process made: a form about one needs no second question."""

    spoken: OrderedDict[bytes, str] = field(default_factory=OrderedDict, repr=False)
    """Languages of sessions whose pages this process made: for refusals, which ask nobody."""

    def language_of(self, headers: Headers) -> str:
        """The language of a session's last page, else what the browser prefers, of ours."""
        sent = cookie_parser(headers.get("cookie", "")[:LONGEST_COOKIES]).get(cookies.SESSION, "")
        known = self.spoken.get(digest_of(sent), "") if sent else ""
        return preferred_language([known, *accepted(headers)], languages(), SOURCE)

    def said(self, request: Request, message: str) -> str:
        """A sentence of ours in the language of whoever asks."""
        return words_in(self.language_of(request.headers))(message)

    def token(self, request: Request) -> str:
        """The session that a browser names; nobody without one."""
        token = cookies.cookies_of(request).session
        if not token:
            raise NobodyHere("You have not begun yet.")
        return token

    def remember(self, session: bytes, row: dict[str, Any]) -> dict[str, Any]:
        """Keep what forms of an item are read with."""
        names = ("version", "shown", "person", "position", "earlier", "language", "preview")
        self.items[session, row["item"]] = {name: row[name] for name in names}
        if len(self.items) > MOST_ITEMS:
            self.items.popitem(last=False)
        return self.items[session, row["item"]]

    async def version(self, row: Mapping[str, Any], session: bytes) -> StudyVersion:
        """What somebody is asked and told: of a preview, as it is at this moment."""
        if row.get("preview"):
            return await self.versions.preview(session)
        return await self.versions.version(row["version"])

    def page(
        self, name: str, version: StudyVersion | None, language: str, session: bytes,
        context: Mapping[str, Any], status: int = 200,
    ) -> Response:  # fmt: skip
        """A page for somebody."""
        everywhere: dict[str, Any] = {}
        if version is not None:
            everywhere["preview"] = version.preview
            everywhere["study_title"] = version.text("title", language)
            everywhere["text"] = partial(version.text, language=language)
            everywhere["contact"] = version.text("contact", language)
        self.spoken[session] = language
        self.spoken.move_to_end(session)
        if len(self.spoken) > MOST_ITEMS:
            self.spoken.popitem(last=False)
        csrf = self.keys.csrf(session)
        return HTMLResponse(
            self.pages.page(name, language, csrf, {**everywhere, **context}), status
        )


def image_key(keys: Keys) -> bytes:
    """The key that signs addresses of images; it fits nothing else."""
    return keys.derived("images")


async def form_of(request: Request, site: StudySite, session: bytes) -> dict[str, Sequence[str]]:
    """The fields of a form of ours; each with all its values."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != FORM:
        raise Refused(415, "A form was needed.")
    try:
        fields = parse_qs(
            (await request.body()).decode(), keep_blank_values=True, strict_parsing=False,
            max_num_fields=MOST_FIELDS,
        )  # fmt: skip
    except ValueError as error:
        raise Invalid("This form has a part that does not fit.") from error
    if not site.keys.csrf_matches(session, fields.get("csrf", [""])[0]):
        raise Refused(403, "This form is too old. Please load the page again.")
    return dict(fields)


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


def onward(request: Request, address: str) -> Response:
    """To the next page, for a browser or for a script of ours."""
    if request.headers.get("accept", "").startswith("application/json"):
        return JSONResponse({"next": address})
    return RedirectResponse(address, 303)
