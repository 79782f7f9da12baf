"""A small study that scripted people took part in, and what they said, kept beside the database."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
import pytest

from support.study.small_study import opened, study_folder
from theodolite.io.text import write_json
from theodolite.study_material.material import Box
from theodolite_study import export_agreement
from theodolite_study.answers import Baseline, Ratings, questions_of
from theodolite_study.assignments import Assignment, reveal, store_baseline
from theodolite_study.claims import Done, next_assignment
from theodolite_study.database import Database
from theodolite_study.keys import Keys
from theodolite_study.participants import arrive, consent, describe_oneself, participant
from theodolite_study.platforms.identity import Identity
from theodolite_study.protocol import read_protocol
from theodolite_study.votes import submit

Answers = Callable[[int, Assignment, str], int]
"""Number of the person, item, question to an answer."""


@dataclass(frozen=True)
class Played:
    """A study that was taken part in."""

    database: Database
    folder: Path
    keys: Keys
    people: dict[str, UUID] = field(default_factory=dict)
    """By the id that a platform knows them by."""
    said: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """Instance, pseudonym and question to the answer."""
    texts: dict[tuple[str, str], str] = field(default_factory=dict)

    def pseudonym(self, name: str) -> str:
        return participant(self.database, self.people[name]).pseudonym


def at_random(seed: int = 0) -> Answers:
    """Explanations are better or worse, and people see it more or less."""

    def answer(person: int, item: Assignment, question: str) -> int:
        number = int("".join(c for c in item.instance.key if c.isdigit()))
        random = np.random.default_rng([seed, person, number, int(question[1])])
        good = np.random.default_rng([seed, 99, number, int(question[1])]).normal()
        return int(np.clip(round(3 + good + random.normal() * 0.8), 1, 5))

    return answer


def begun(database: Database, folder: Path, **settings: object) -> Played:
    """A study that is open and has nobody in it yet."""
    keys = opened(database, study_folder(folder, **settings))  # type: ignore[arg-type]
    return Played(database, folder, keys)


def arrived(
    played: Played, name: str, about: dict[str, str | None], platform: str = "link"
) -> UUID:
    """Somebody comes, agrees, and tells about themselves."""
    slug = read_protocol(played.folder).slug
    who = arrive(played.database, slug, Identity(platform, name), played.keys).participant.id
    played.people[name] = who
    consent(played.database, who, played.keys)
    describe_oneself(played.database, who, about)
    return who


def taken_part(played: Played, names: Sequence[str], answers: Answers, *, text: str = "") -> None:
    """People do all that there is for them, one after the other."""
    for number, name in enumerate(names):
        who = played.people[name] if name in played.people else arrived(played, name, {})
        while not isinstance(item := next_assignment(played.database, who), Done):
            rated_by(played, name, number, item, answers, text=text)


def rated_by(
    played: Played, name: str, number: int, item: Assignment, answers: Answers, *, text: str = ""
) -> None:
    """All steps of one item, remembered."""
    who, pseudonym = played.people[name], played.pseudonym(name)
    said = f"{text or 'something'} of {item.instance.key} by {number}"
    if item.before:
        boxes = (Box(x=1, y=2, width=5 + number, height=6), Box(x=0, y=0, width=1, height=1))
        store_baseline(played.database, who, item.id, Baseline(said, boxes[: 1 + number % 2]))
    reveal(played.database, who, item.id)
    asked = questions_of(read_protocol(played.folder), item.instance)
    given = {question: answers(number, item, question) for question in asked}
    submit(played.database, who, item.id, Ratings(given, uuid4()))
    if item.instance.kind == "real":
        played.texts[item.instance.key, pseudonym] = said
        for question, answer in given.items():
            played.said[item.instance.key, pseudonym, question] = answer


@contextmanager
def few_resamples() -> Iterator[None]:
    """Exports without much resampling: what it gives is tested where agreement is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export_agreement, "RESAMPLES", 30)
        patch.setattr(export_agreement, "MOST_DRAWS", 1)
        yield


def forged(folder: Path) -> None:
    """Digests in the manifest made to fit whatever was changed, as a careful liar would."""
    from theodolite.io.text import read_json  # noqa: PLC0415
    from theodolite_study.export import digests  # noqa: PLC0415

    manifest = read_json(folder / "manifest.json")
    manifest["files"] = dict(digests(folder))
    write_json(folder / "manifest.json", manifest)
