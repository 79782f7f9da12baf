"""A study small enough to be played through: drawn pictures, real tables."""

from pathlib import Path
from uuid import UUID, uuid4

from theodolite.study_material.material import (
    Box,
)
from theodolite_study.answers import Baseline, Ratings
from theodolite_study.assignments import Assignment, reveal, store_baseline
from theodolite_study.claims import Done, next_assignment
from theodolite_study.database import Database
from theodolite_study.intake import load
from theodolite_study.keys import Keys
from theodolite_study.lifecycle import become
from theodolite_study.participants import arrive, consent, describe_oneself
from theodolite_study.platforms.identity import Identity
from theodolite_study.protocol import read_protocol
from theodolite_study.votes import Receipt, submit

SIZE = (40, 30)
ANSWERS = {"q1": 4, "q2": 3, "q3": 5, "q4": 2}
TWINS = {"q5": 1, "q6": 5}


def opened(database: Database, folder: Path) -> Keys:
    """Load and open a study folder."""
    keys = Keys.read(folder)
    load(database, folder, keys)
    become(database, read_protocol(folder).slug, "open", staff="test")
    return keys


def active(database: Database, keys: Keys, name: str, slug: str = "small") -> UUID:
    """Somebody who came and agreed; the study has no practice."""
    who = arrive(database, slug, Identity("link", name), keys).participant.id
    consent(database, who, keys)
    describe_oneself(database, who, {})
    return who


def answers_for(item: Assignment) -> dict[str, int]:
    """Ratings for what is asked of an item."""
    twins = {
        k: v
        for k, v in TWINS.items()
        if (item.instance.same if k == "q5" else item.instance.different)
    }
    return ANSWERS | twins


def said(text: str = "its ears") -> Baseline:
    return Baseline(text, (Box(x=1, y=2, width=5, height=6),))


def rated(database: Database, who: UUID, item: Assignment) -> Receipt:
    """All steps of one item."""
    store_baseline(database, who, item.id, said())
    reveal(database, who, item.id)
    return submit(database, who, item.id, Ratings(answers_for(item), uuid4()))


def all_rated(database: Database, who: UUID) -> list[Receipt]:
    """Everything that one person can do."""
    receipts = []
    while not isinstance(item := next_assignment(database, who), Done):
        receipts.append(rated(database, who, item))
    return receipts
