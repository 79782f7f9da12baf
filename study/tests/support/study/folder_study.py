"""A study folder with drawn images, and people who take part in the study that it describes."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import psycopg
from PIL import Image

from support.study.stepped_study import SteppedStudy, Walker, digest
from theodolite._storage.paths import sha256_of
from theodolite._storage.text import write_json
from theodolite.datasets.study_material.material import (
    IMAGES,
    Check,
    Explained,
    Instance,
    Kind,
    Material,
    write_material,
)
from theodolite_study.folder_import import import_folder
from theodolite_study.keys import Keys
from theodolite_study.new_study import DEMO_ETHICS, DEMO_TEXTS
from theodolite_study.protocol import STUDY_FILE, Protocol
from theodolite_study.store.opening import open_version

SIZE = (40, 30)
ANSWERS = {"q1": 4, "q2": 3, "q3": 5, "q4": 2}
TWINS = {"q5": ("same", 1), "q6": ("different", 5)}


def image(folder: Path, number: int) -> str:
    """An image of its own color; its name in the folder."""
    (folder / IMAGES).mkdir(exist_ok=True, parents=True)
    pixels = np.full((SIZE[1], SIZE[0], 3), [number % 256, number // 256, 90], np.uint8)
    draft = folder / IMAGES / "draft.png"
    Image.fromarray(pixels).save(draft)
    name = f"{sha256_of(draft)}.png"
    draft.rename(folder / IMAGES / name)
    return name


def instance(folder: Path, number: int, *, kind: Kind = "real", images: int = 10**6) -> Instance:
    """Even ones are maps with twins, odd ones concepts without."""
    one = number % images
    shown = image(folder, one)
    check = None if kind == "real" else Check(task="rating", ratings={"q3": 2})
    if number % 2:
        said = Explained(image=shown, predicted="cat", concepts={"paw": 0.7, "beak": -0.2})
        return Instance(key=f"{kind}{number}", image_key=f"image{one}", technique="words",
                        shown=said, kind=kind, check=check)  # fmt: skip
    maps = [image(folder, 20_000 + 3 * number + i) for i in range(3)]
    return Instance(
        key=f"{kind}{number}", image_key=f"image{one}", technique="gradcam", kind=kind,
        check=check, shown=Explained(image=shown, predicted="dog", map=maps[0]),
        same=Explained(image=image(folder, 10_000 + one), predicted="dog", map=maps[1]),
        different=Explained(image=image(folder, 15_000 + one), predicted="cow", map=maps[2]),
    )  # fmt: skip


def study_folder(
    folder: Path, *, instances: int = 3, training: int = 0, gold: int = 0, images: int = 10**6,
    **settings: object,
) -> Path:  # fmt: skip
    """A study folder with keys."""
    folder.mkdir(parents=True, exist_ok=True)
    kinds: list[tuple[Kind, int]] = [("real", instances), ("training", training), ("gold", gold)]
    made = [
        instance(folder, number + 1000 * ("real", "training", "gold").index(kind), kind=kind,
                 images=images)
        for kind, count in kinds for number in range(count)
    ]  # fmt: skip
    write_material(folder, Material(instances=made))
    given = {"slug": "small", "title": "A small study", "contact": "ann@example.org", "votes": 2,
             "pay": "none", "minutes": 40, "ethics": DEMO_ETHICS, "texts": DEMO_TEXTS}  # fmt: skip
    protocol = Protocol.model_validate(given | settings)
    write_json(folder / STUDY_FILE, protocol.model_dump(mode="json"))  # JSON is YAML
    Keys.create(folder / "keys.json")
    return folder


class FolderStudy(SteppedStudy):
    """The study of a folder, put into a database and open."""

    def __init__(self, connection: psycopg.Connection[Any], folder: Path) -> None:
        self.connection, self.folder = connection, folder
        imported = import_folder(connection, folder, Keys.read(folder))
        self.study, self.version = imported.id, imported.version
        open_version(connection, self.version)
        self.slug = self.one("select slug from study where id = %s", self.study)
        self.votes = self.one("select n_votes from version where id = %s", self.version)

    def __repr__(self) -> str:
        return f"FolderStudy({self.slug})"

    def taken_part(self, *names: str) -> list["FolderWalker"]:
        """People who do all that there is for them, one after the other."""
        return [FolderWalker(self, name, self.connection).takes_part() for name in names]


class FolderWalker(Walker):
    """Somebody who takes part in the version that is open; all questions are those of `pasta`."""

    def arrives(self) -> dict[str, Any]:
        came = super().arrives()
        self.keys = Keys.read(self.study.folder)  # type: ignore[attr-defined]
        self.person = self.one(
            "select participant_id from session where token_sha256 = %s", self.token
        )
        if self.person is not None:
            self.code = self.keys.digest_code(self.keys.make_withdrawal_code(self.person))
        return came

    def one(self, query: str, *values: Any) -> Any:
        row = self.connection.execute(query, values).fetchone()
        return None if row is None else row[0]

    def agrees(self) -> dict[str, Any]:
        query = "select version_id from participant where id = %s"
        version = self.one(query, self.person)
        form = self.one("select digest from consent_text where version_id = %s and language = 'en'",
                        version)  # fmt: skip
        agreed = self.step("st_consent", self.token, version, "en", form, self.code)
        self.step("st_answer", self.token, "about", {}, {}, digest({}), None)
        return agreed

    def rates(self, item: int, value: int = 3) -> dict[str, Any]:
        shown = self.one("select i.shown from assignment a join instance i on i.id = a.instance_id"
                         " where a.id = %s", item)  # fmt: skip
        asked = self.one("select jsonb_path_query_array(v.instrument, '$.after[*].blocks[*].name')"
                         " from version v join assignment a on a.version_id = v.id"
                         " where a.id = %s", item)  # fmt: skip
        twins = {name: rating for name, (part, rating) in TWINS.items() if shown.get(part)}
        answers = {name: n for name, n in (ANSWERS | twins).items() if name in asked}
        return self.step(
            "st_rate", self.token, item, answers, {}, uuid4(), digest(answers), {"after": 9.0}, {}
        )

    def takes_part(self) -> "FolderWalker":
        self.begins()
        step = self.next()
        while step["go"] == "item":
            step = self.votes(step["item"])
        return self
