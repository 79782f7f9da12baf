"""Load the content of a version from the database. Used by the designer's routes."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from theodolite_study.designer.version_changes import VersionContent
from theodolite_study.desk.site import Connection, fetch_rows
from theodolite_study.model.instrument import Instrument
from theodolite_study.model.required_texts import iterate_text_keys

COLUMNS = (
    "n_votes", "quota", "least_items", "lease_seconds", "languages", "default_language",
)  # fmt: skip
"""Settings that are columns of their own."""
CONSENT = "consent"


def load_content(connection: Connection, version: Mapping[str, Any]) -> VersionContent:
    """Load everything that a version contains."""
    number = version["id"]
    texts = fetch_rows(
        connection, "select key, language, body from wording where version_id = %s", number
    )
    ways = fetch_rows(
        connection, "select * from outcome where version_id = %s order by key", number
    )
    groups = fetch_rows(
        connection, "select * from condition where version_id = %s order by id", number
    )
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


def load_last_opened(connection: Connection, study: UUID) -> dict[str, Any] | None:
    """Return the newest version that was opened, or None."""
    query = (
        "select * from version where study_id = %s and state <> 'draft' order by no desc limit 1"
    )
    versions = fetch_rows(connection, query, study)
    return versions[0] if versions else None


def get_text_keys(content: VersionContent) -> list[str]:
    """Return the keys of all texts but the consent, which has its own page."""
    keys = iterate_text_keys(content.instrument, content.outcomes)
    return [key for key in dict.fromkeys(keys) if key != CONSENT]
