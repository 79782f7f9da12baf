"""Cache opened versions of studies, which never change, in the memory of a process."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from theodolite_study.model.instrument import Instrument
from theodolite_study.refusals import NotHere
from theodolite_study.serve.database_calls import StepCalls


@dataclass(frozen=True)
class StudyVersion:
    """Instrument, texts and settings of one version."""

    id: int
    instrument: Instrument
    settings: Mapping[str, Any]
    languages: tuple[str, ...]
    wording: Mapping[tuple[str, str], str]
    consent: Mapping[str, tuple[bytes, bytes]]
    """By language: the bytes of the consent on the page, and their digest."""
    outcomes: Mapping[str, Mapping[str, Any]]
    preview: bool = False
    """Whether staff preview the version, which may be a draft and is not cached."""

    def text(self, key: str, language: str, default: str = "") -> str:
        """Return a researcher's text."""
        return self.wording.get((key, language), default)

    @cached_property
    def block_texts(self) -> Mapping[tuple[str, str], Mapping[str, str]]:
        """Texts by block and language, each by its part."""
        texts: dict[tuple[str, str], dict[str, str]] = {}
        for (key, language), body in self.wording.items():
            name, _, part = key.partition(".")
            texts.setdefault((name, language), {})[part] = body
        return texts


class VersionCache:
    """Cache of versions."""

    def __init__(self, calls: StepCalls) -> None:
        self._calls = calls
        self._versions: dict[int, StudyVersion] = {}

    async def version(self, number: int) -> StudyVersion:
        """Return a version that was opened."""
        if number not in self._versions:
            self._versions[number] = await self._read(number)
        return self._versions[number]

    async def preview(self, session: bytes) -> StudyVersion:
        """Return the current version of a preview, which may change."""
        row = await self._calls.taken("st_preview", session)
        return StudyVersion(
            id=row["id"],
            instrument=Instrument.model_validate(row["instrument"]),
            settings=row["settings"],
            languages=tuple(row["languages"]),
            wording={(key, language): body for key, language, body in row["wording"] or ()},
            consent={language: (bytes.fromhex(form), bytes.fromhex(digest))
                     for language, form, digest in row["consent"] or ()},
            outcomes={way["key"]: way for way in row["outcomes"] or ()},
            preview=True,
        )  # fmt: skip

    async def _read(self, number: int) -> StudyVersion:
        rows = self._calls.rows
        matches = await rows("select * from version_public where id = %s", number)
        if not matches:
            raise NotHere
        (row,) = matches
        texts = await rows("select * from wording_public where version_id = %s", number)
        forms = await rows("select * from consent_public where version_id = %s", number)
        ways = await rows("select * from outcome_public where version_id = %s", number)
        return StudyVersion(
            id=number,
            instrument=Instrument.model_validate(row["instrument"]),
            settings=row["settings"],
            languages=tuple(row["languages"]),
            wording={(text["key"], text["language"]): text["body"] for text in texts},
            consent={form["language"]: (form["shown"], form["digest"]) for form in forms},
            outcomes={way["key"]: way for way in ways},
        )
