"""JSON records: validated when read, and byte-identical for equal content."""

import json
import re
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from theodolite._storage.text import format_json, read_json, write_json
from theodolite.errors import EvidenceError, UnsafeInputError

FORMAT_VERSION = 3
"""Format of the files of a run folder."""
READING = {"reading": True}
"""The context in which files of a run folder are validated."""


class Strict(BaseModel):
    """A part of a spec: a misspelt key is an error, not an option that silently does nothing.

    Read from a run folder, what is unknown was added by a newer theodolite, and is left out.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _known_fields(cls, content: Any, info: Any) -> Any:
        if info.context is not READING or not isinstance(content, dict):
            return content
        return {name: value for name, value in content.items() if name in cls.model_fields}


def _open(schema: dict[str, Any]) -> None:
    """Readers that use the schema also accept fields that were added later."""
    schema.pop("additionalProperties", None)


class Record(Strict, BaseModel):
    """A file that we write and check when we read it again.

    Fields that a newer version of the same format added are left out in reading.
    """

    model_config = ConfigDict(json_schema_extra=_open)


AnyRecord = TypeVar("AnyRecord", bound=Record)


def read_record(path: Path, kind: type[AnyRecord]) -> AnyRecord:
    """Read one of these files, or say what is wrong with it."""
    try:
        content = check_format(read_json(path, "record"), path)
        return kind.model_validate(content, context=READING)
    except ValidationError as error:
        raise UnsafeInputError(
            f"record {path.name!r}", describe_first_error(error), "what theodolite wrote"
        ) from error


def write_record(path: Path, record: Record) -> None:
    """Write one: equal content is equal bytes."""
    write_json(path, record.model_dump(mode="json"))


def normalize_record(record: AnyRecord) -> AnyRecord:
    """The record as it would be read from its file, in which names are in order."""
    return type(record).model_validate(json.loads(format_json(record.model_dump(mode="json"))))


def describe_first_error(error: ValidationError) -> str:
    """The first thing that is wrong, in one line."""
    fault = error.errors()[0]
    place = ".".join(str(part) for part in fault["loc"]) or "the whole"
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{place}: {fault['msg']}{more}"


def check_format(content: Any, path: Path) -> Any:
    """Return the content of a file, or refuse another format in words."""
    if not isinstance(content, dict) or "format_version" not in content:
        return content  # a manifest
    version = content["format_version"]
    if type(version) is not int or version < FORMAT_VERSION:
        got = f"format version {version}"[:60]
        raise UnsafeInputError(f"record {path.name!r}", got, f"{FORMAT_VERSION}")
    if version > FORMAT_VERSION:
        raise UnsafeInputError(
            f"record {path.name!r}, written by a newer theodolite (format {version}); this one "
            f"reads up to {FORMAT_VERSION}",
            hint=_get_writer_version(path),
        )
    return content


def _get_writer_version(path: Path) -> str:
    """The version that wrote the folder, if its run.json says so."""
    try:
        version = read_json(path.with_name("run.json"))["packages"]["theodolite"]
    except (EvidenceError, KeyError, TypeError, ValueError):
        version = ""
    if not isinstance(version, str) or not re.fullmatch(r"[0-9][0-9A-Za-z.+-]{0,30}", version):
        return "Install a newer theodolite."
    return f"Install theodolite {version} or newer."
