"""A study small enough to be played through: drawn pictures, real tables."""

from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
from PIL import Image

from theodolite.io.paths import sha256_of
from theodolite.io.text import write_json
from theodolite.study_material.material import (
    PICTURES,
    Box,
    Check,
    Explained,
    Instance,
    Kind,
    Material,
    write_material,
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
from theodolite_study.protocol import STUDY, Protocol, read_protocol
from theodolite_study.votes import Receipt, submit

SIZE = (40, 30)
ANSWERS = {"q1": 4, "q2": 3, "q3": 5, "q4": 2}
TWINS = {"q5": 1, "q6": 5}


def picture(folder: Path, number: int) -> str:
    """A picture of its own colour; its name in the folder."""
    (folder / PICTURES).mkdir(exist_ok=True, parents=True)
    pixels = np.full((SIZE[1], SIZE[0], 3), [number % 256, number // 256, 90], np.uint8)
    draft = folder / PICTURES / "draft.png"
    Image.fromarray(pixels).save(draft)
    name = f"{sha256_of(draft)}.png"
    draft.rename(folder / PICTURES / name)
    return name


def instance(folder: Path, number: int, *, kind: Kind = "real", pictures: int = 10**6) -> Instance:
    """Even ones are maps with twins, odd ones concepts without."""
    one = number % pictures
    shown = picture(folder, one)
    check = (
        None if kind == "real" else Check(ratings={"q3": 2}, instruction="Give 2 to question 3.")
    )
    if number % 2:
        said = Explained(picture=shown, predicted="cat", concepts={"paw": 0.7, "beak": -0.2})
        return Instance(key=f"{kind}{number}", picture_key=f"picture{one}", technique="words",
                        shown=said, kind=kind, check=check)  # fmt: skip
    maps = [picture(folder, 20_000 + 3 * number + i) for i in range(3)]
    return Instance(
        key=f"{kind}{number}", picture_key=f"picture{one}", technique="gradcam", kind=kind,
        check=check, shown=Explained(picture=shown, predicted="dog", map=maps[0]),
        same=Explained(picture=picture(folder, 10_000 + one), predicted="dog", map=maps[1]),
        different=Explained(picture=picture(folder, 15_000 + one), predicted="cow", map=maps[2]),
    )  # fmt: skip


def study_folder(
    folder: Path, *, instances: int = 3, training: int = 0, gold: int = 0, pictures: int = 10**6,
    **settings: object,
) -> Path:  # fmt: skip
    """A study folder with keys."""
    folder.mkdir(parents=True, exist_ok=True)
    kinds: list[tuple[Kind, int]] = [("real", instances), ("training", training), ("gold", gold)]
    made = [
        instance(folder, number + 1000 * ("real", "training", "gold").index(kind), kind=kind,
                 pictures=pictures)
        for kind, count in kinds for number in range(count)
    ]  # fmt: skip
    write_material(folder, Material(instances=made))
    given = {"slug": "small", "title": "A small study", "contact": "ann@example.org", "votes": 2}
    protocol = Protocol.model_validate(given | settings)
    write_json(folder / STUDY, protocol.model_dump(mode="json"))  # JSON is YAML
    Keys.create(folder / "keys.json")
    return folder


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
