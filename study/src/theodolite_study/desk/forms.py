"""Forms that come in: read to the end, not too long, not too slowly, and proved to be ours."""

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
MOST_BYTES = 4 << 20
FEW_BYTES = 1 << 16
"""Of somebody who has not signed in."""
MOST_FIELDS = 5000
"""A table of all texts in all languages is one form."""
SECONDS, UPLOAD_SECONDS = 15.0, 900.0
UNFIT = "This form has a part that does not fit."


@dataclass(frozen=True)
class DeskForm:
    """The fields of a form, each with all its values, and files that were sent along."""

    fields: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, UploadFile] = field(default_factory=dict)

    def text(self, name: str, most: int = 20_000) -> str:
        """One value without spaces around it; empty if there is none."""
        value = (self.fields.get(name) or [""])[0].replace("\r\n", "\n").strip()
        if len(value) > most:
            raise Invalid(f"{name}: at most {most:,} characters.")
        if "\0" in value:
            raise Invalid(UNFIT)
        return value

    def all(self, name: str) -> Sequence[str]:
        """All values of that name."""
        return self.fields.get(name, ())

    def ticked(self, name: str) -> bool:
        """Whether a box is ticked."""
        return bool(self.text(name))

    def whole(self, name: str, least: int, most: int) -> int:
        """A whole number within limits."""
        value = self.text(name, 20)
        if not re.fullmatch(r"-?[0-9]{1,18}", value) or not least <= int(value) <= most:
            raise Invalid(f"{name}: a whole number from {least:,} to {most:,}.")
        return int(value)

    def one_of(self, name: str, options: Sequence[str]) -> str:
        """One of some words."""
        value = self.text(name)
        if value not in options:
            raise Invalid(f"{name}: one of {', '.join(options)}.")
        return value


async def read_form(request: Request, upload: int = 0, most_bytes: int = MOST_BYTES) -> DeskForm:
    """The form of a request; files only where a route takes them, at most so many bytes in all."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    most = upload or most_bytes
    length = request.headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or int(length[:20]) > most:
        raise Refused(413, f"This is too much to be taken: at most {most >> 10:,} kB.")
    if kind != PLAIN and not (kind == PARTS and upload):
        raise Refused(415, "A form was needed.")
    counted = Request(request.scope, _counted(request.receive, most))
    try:
        with anyio.fail_after(UPLOAD_SECONDS if upload else SECONDS):
            return await (_parts(counted) if kind == PARTS else _urlencoded_form(counted))
    except TimeoutError as error:
        raise Refused(408, "This took too long to arrive. Please try again.") from error
    except ClientDisconnect as error:
        raise Refused(400, "The form did not arrive.") from error


async def _urlencoded_form(request: Request) -> DeskForm:
    try:
        fields = parse_qs(
            (await request.body()).decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS
        )
    except ValueError as error:
        raise Invalid(UNFIT) from error
    return DeskForm(fields)


async def _parts(request: Request) -> DeskForm:
    """Files go to the disk while they arrive; whoever reads them finds them there."""
    try:
        form = await request.form(max_files=4, max_fields=MOST_FIELDS, max_part_size=1 << 20)
    except MultiPartException as error:
        raise Invalid(UNFIT) from error
    fields: dict[str, list[str]] = {}
    files: dict[str, UploadFile] = {}
    for name, value in form.multi_items():
        if isinstance(value, str):
            fields.setdefault(name, []).append(value)
        else:
            files[name] = value
    return DeskForm(fields, files)


def _counted(receive: Receive, most: int) -> Receive:
    """The same, refused as soon as more comes than may."""
    length = 0

    async def counted() -> Message:
        nonlocal length
        message: dict[str, Any] = dict(await receive())
        length += len(message.get("body", b""))
        if length > most:
            raise Refused(413, f"This is too much to be taken: at most {most >> 10:,} kB.")
        return message

    return counted
