"""Load the content of a version from the database. Used by the checklist."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from theodolite_study.desk.site import Connection, fetch_rows
from theodolite_study.model.instrument import Instrument

COLUMNS = ("n_votes", "quota", "least_items", "lease_seconds", "languages", "default_language")
"""Settings that are columns of their own."""


@dataclass(frozen=True)
class VersionContent:
    """Content of a version, without its number and state."""

    instrument: Instrument
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings, with votes, quota and the other columns."""
    texts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Texts by key and language, including the consent."""
    outcomes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def load_content(connection: Connection, version: Mapping[str, Any]) -> VersionContent:
    """Load everything that a version contains."""
    number = version["id"]
    texts = fetch_rows(
        connection, "select key, language, body from wording where version_id = %s", number
    )
    ways = fetch_rows(
        connection, "select * from outcome where version_id = %s order by key", number
    )
    return VersionContent(
        instrument=Instrument.model_validate(version["instrument"]),
        settings={**version["settings"], **{name: version[name] for name in COLUMNS}},
        texts={(text["key"], text["language"]): text["body"] for text in texts},
        outcomes={way["key"]: way for way in ways},
    )
