"""What a version says, read from the database."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from theodolite_study.designer.changes import VersionContent
from theodolite_study.desk.site import Connection, rows
from theodolite_study.model.instrument import Instrument
from theodolite_study.model.texts import text_keys

COLUMNS = (
    "n_votes", "quota", "least_items", "lease_seconds", "languages", "default_language",
)  # fmt: skip
"""Settings that are columns of their own."""
CONSENT = "consent"


def content_of(connection: Connection, version: Mapping[str, Any]) -> VersionContent:
    """Everything that a version says."""
    number = version["id"]
    texts = rows(
        connection, "select key, language, body from wording where version_id = %s", number
    )
    ways = rows(connection, "select * from outcome where version_id = %s order by key", number)
    groups = rows(connection, "select * from condition where version_id = %s order by id", number)
    return VersionContent(
        instrument=Instrument.model_validate(version["instrument"]),
        settings={**version["settings"], **{name: version[name] for name in COLUMNS}},
        texts={(text["key"], text["language"]): text["body"] for text in texts},
        outcomes={
            way["key"]: {name: way[name] for name in ("pay", "code", "redirect") if way[name]}
            for way in ways
        },
        conditions={
            group["key"]: {"weight": group["weight"], "overrides": group["overrides"]}
            for group in groups
        },
    )


def last_opened(connection: Connection, study: UUID) -> dict[str, Any] | None:
    """The newest version that people have met, or None."""
    query = (
        "select * from version where study_id = %s and state <> 'draft' order by no desc limit 1"
    )
    versions = rows(connection, query, study)
    return versions[0] if versions else None


def keys_of(content: VersionContent) -> list[str]:
    """Keys of all its texts but the consent, which has a page of its own."""
    keys = text_keys(content.instrument, content.outcomes)
    return [key for key in dict.fromkeys(keys) if key != CONSENT]
