"""Read submitted forms with limits of size and time, and check their tokens."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import anyio
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive

from theodolite_study.refusals import Invalid, Refused

PLAIN, PARTS = "application/x-www-form-urlencoded", "multipart/form-data"
MAX_BYTES = 4 << 20
MAX_VISITOR_BYTES = 1 << 16
"""Maximum size of a form before sign-in."""
MAX_FIELDS = 5000
"""Maximum number of fields; a table of all texts in all languages is one form."""
MAX_SECONDS, MAX_UPLOAD_SECONDS = 15.0, 900.0
UNFIT_MESSAGE = "This form has a part that does not fit."


@dataclass(frozen=True)
class DeskForm:
    """Fields of a form with all their values, and uploaded files."""

    fields: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, UploadFile] = field(default_factory=dict)

    def text(self, name: str, most: int = 20_000) -> str:
        """Return one value without surrounding spaces; empty if there is none."""
        value = (self.fields.get(name) or [""])[0].replace("\r\n", "\n").strip()
        if len(value) > most:
            raise Invalid(f"{name}: at most {most:,} characters.")
        if "\0" in value:
            raise Invalid(UNFIT_MESSAGE)
        return value

    def all(self, name: str) -> Sequence[str]:
        """Return all values of a field."""
        return self.fields.get(name, ())

    def ticked(self, name: str) -> bool:
        """Return whether a box is ticked."""
        return bool(self.text(name))

    def whole(self, name: str, least: int, most: int) -> int:
        """Return an integer within limits."""
        value = self.text(name, 20)
        if not re.fullmatch(r"-?[0-9]{1,18}", value) or not least <= int(value) <= most:
            raise Invalid(f"{name}: a whole number from {least:,} to {most:,}.")
        return int(value)

    def one_of(self, name: str, options: Sequence[str]) -> str:
        """Return a value that is one of the options."""
        value = self.text(name)
        if value not in options:
            raise Invalid(f"{name}: one of {', '.join(options)}.")
        return value


async def read_form(request: Request, upload: int = 0, most_bytes: int = MAX_BYTES) -> DeskForm:
    """Read the form of a request; files only where a route allows them, up to a total size."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    most = upload or most_bytes
    length = request.headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or int(length[:20]) > most:
        raise Refused(413, f"This is too much to be taken: at most {most >> 10:,} kB.")
    if kind != PLAIN and not (kind == PARTS and upload):
        raise Refused(415, "A form was needed.")
    counted = Request(request.scope, _limit_bytes(request.receive, most))
    try:
        with anyio.fail_after(MAX_UPLOAD_SECONDS if upload else MAX_SECONDS):
            return await (_parts(counted) if kind == PARTS else _urlencoded_form(counted))
    except TimeoutError as error:
        raise Refused(408, "This took too long to arrive. Please try again.") from error
    except ClientDisconnect as error:
        raise Refused(400, "The form did not arrive.") from error


async def _urlencoded_form(request: Request) -> DeskForm:
    try:
        fields = parse_qs(
            (await request.body()).decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS
        )
    except ValueError as error:
        raise Invalid(UNFIT_MESSAGE) from error
    return DeskForm(fields)


async def _parts(request: Request) -> DeskForm:
    """Read a multipart form, with files on disk."""
    try:
        form = await request.form(max_files=4, max_fields=MAX_FIELDS, max_part_size=1 << 20)
    except MultiPartException as error:
        raise Invalid(UNFIT_MESSAGE) from error
    fields: dict[str, list[str]] = {}
    files: dict[str, UploadFile] = {}
    for name, value in form.multi_items():
        if isinstance(value, str):
            fields.setdefault(name, []).append(value)
        else:
            files[name] = value
    return DeskForm(fields, files)


def _limit_bytes(receive: Receive, most: int) -> Receive:
    """Limit the bytes that a receive function may return."""
    length = 0

    async def counted() -> Message:
        nonlocal length
        message: dict[str, Any] = dict(await receive())
        length += len(message.get("body", b""))
        if length > most:
            raise Refused(413, f"This is too much to be taken: at most {most >> 10:,} kB.")
        return message

    return counted
