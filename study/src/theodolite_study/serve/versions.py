"""Versions of studies in the memory of a process: they never change, so nothing is invalidated."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from theodolite_study.model.instrument import Instrument
from theodolite_study.refusals import NotHere
from theodolite_study.serve.calls import StepCalls

MOST_INSTANCES = 5000


@dataclass(frozen=True)
class StudyVersion:
    """What people of one version are asked and told."""

    id: int
    instrument: Instrument
    settings: Mapping[str, Any]
    languages: tuple[str, ...]
    wording: Mapping[tuple[str, str], str]
    consent: Mapping[str, tuple[bytes, bytes]]
    """By language: the bytes that the page contains, and their digest."""
    outcomes: Mapping[str, Mapping[str, Any]]

    def text(self, key: str, language: str, default: str = "") -> str:
        """A text of the researcher's."""
        return self.wording.get((key, language), default)


class KnownVersions:
    """Versions and explanations that this process has met."""

    def __init__(self, calls: StepCalls) -> None:
        self._calls = calls
        self._versions: dict[int, StudyVersion] = {}
        self._instances: OrderedDict[int, Mapping[str, Any]] = OrderedDict()

    async def version(self, number: int) -> StudyVersion:
        """One that was opened."""
        if number not in self._versions:
            self._versions[number] = await self._read(number)
        return self._versions[number]

    async def _read(self, number: int) -> StudyVersion:
        rows = self._calls.rows
        found = await rows("select * from version_public where id = %s", number)
        if not found:
            raise NotHere
        (row,) = found
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

    def knows(self, instance: int) -> bool:
        """Whether an explanation need not be sent again."""
        return instance in self._instances

    def shown(self, instance: int, came: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """What an explanation consists of: as it came just now, or as it is known."""
        if came is not None:
            self._instances[instance] = came
            if len(self._instances) > MOST_INSTANCES:
                self._instances.popitem(last=False)
        self._instances.move_to_end(instance)
        return self._instances[instance]
