"""A study with paper 004's questions that scripted people took part in, and what they said."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import psycopg
from psycopg.types.json import Jsonb

from support.study.folder_study import SIZE, image
from support.study.stepped_study import SteppedStudy, Walker, digest
from theodolite_study.model.blocks import CommentBlock
from theodolite_study.model.pasta import NEEDS, RANKED, build_pasta

Rating = Callable[[int, str, str], int]
"""Number of the person, key of the explanation, question to an answer."""
CLIENT = {"width": 390, "height": 844, "pointer": "coarse", "pasted": True, "moves": 0}


def at_random(seed: int = 0) -> Rating:
    """Explanations are better or worse, and people see it more or less."""

    def answer(person: int, key: str, question: str) -> int:
        number = int(key[1:])
        noise = np.random.default_rng([seed, person, number, int(question[1])]).normal()
        good = np.random.default_rng([seed, 99, number, int(question[1])]).normal()
        return int(np.clip(round(3 + good + noise * 0.8), 1, 5))

    return answer


@dataclass
class RatedStudy:
    """A study and a record of what was said, kept beside the database."""

    connection: psycopg.Connection[Any]
    folder: Path
    instances: int = 6
    votes: int = 4
    gold: int = 1
    quota: int = 6
    settings: dict[str, Any] = field(default_factory=dict)
    ratings: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """Explanation, pseudonym and question to the answer."""
    texts: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        instrument = build_pasta()
        instrument.after[0].blocks.append(CommentBlock(name="remark"))
        self.study = SteppedStudy(
            self.connection, instances=self.instances, votes=self.votes, quota=self.quota,
            gold=self.gold, instrument=instrument.stored(),
            settings={"needs": NEEDS, "checks": {"every": 3}} | self.settings,
        )  # fmt: skip
        rows = self.connection.execute("select id, key from instance order by place").fetchall()
        for number, (row, _) in enumerate(rows):
            self.connection.execute(
                "update instance set shown = %s, modality = %s where id = %s",
                [Jsonb(self._shown(number)), ("saliency", "concept")[number % 2], row],
            )
        self.keys = dict(rows)

    def _shown(self, number: int) -> dict[str, Any]:
        """Even ones are maps with twins, odd ones concepts without."""
        files = [image(self.folder, 3 * number + n) for n in range(2)]
        shown: dict[str, Any] = {"image": files[0], "predicted": ("dog", "cat")[number % 2]}
        if number % 2:
            shown["concepts"] = {"paw": 0.7, "beak": -0.2}
        else:
            shown["map"] = files[1]
        twin = None if number % 2 else {"image": files[0], "map": files[1]}
        sizes = {file: list(SIZE) for file in files}
        return {"shown": shown, "same": twin, "different": twin, "sizes": sizes}

    def comes(self, name: str, about: dict[str, str] | None = None) -> Walker:
        """Somebody comes, agrees, and tells about themselves."""
        person = self.study.person(name)
        assert person.arrives()["word"] == "ok"
        assert person.agrees()["word"] == "ok"
        told = about or {}
        person.step("st_answer", person.token, "about", told, {}, digest(told), None)
        assert person.step("st_begin", person.token)["state"] == "active"
        return person

    def rates(self, person: Walker, number: int, rating: Rating, most: int = 100) -> None:
        """Somebody answers all that there is for them, or so many items."""
        for _ in range(most):
            found = person.next()
            if found["go"] != "item":
                return
            self.item(person, number, found["item"], rating)

    def item(self, person: Walker, number: int, item: int, rating: Rating) -> None:
        """All steps of one item, remembered."""
        shown = person.item(item)
        key = self.keys[shown["instance"]]
        text = f"something of {key} by {number}"
        boxes = [{"x": 1, "y": 2, "width": 5 + number, "height": 6}] * (1 + number % 2)
        own = {"words": text, "regions": boxes}
        person.step("st_baseline", person.token, item, own, {}, {"seconds": 2.5}, digest(own))
        person.item(item)
        asked = [f"q{n}" for n in range(1, 7 if shown["shown"]["same"] else 5)]
        given: dict[str, Any] = {name: rating(number, key, name) for name in asked}
        answers = given | ({"remark": f"=odd {key}"} if number == 0 else {})
        sent = person.step(
            "st_rate", person.token, item, answers, {"q1": ["a"]}, uuid4(), digest(answers),
            {"visible": 7.25}, CLIENT if number == 0 else {},
        )  # fmt: skip
        assert sent["word"] == "ok"
        if int(key[1:]) < self.instances:
            self.texts[key, f"p-{person.name}"] = text
            self.ratings |= {(key, f"p-{person.name}", name): n for name, n in given.items()}

    def ends(self, person: Walker) -> None:
        """The last questions, and the way out."""
        orders = {name: [f"i{n}" for n in range(items)][::-1] for name, items in RANKED.items()}
        person.step("st_answer", person.token, "end", orders, {}, digest(orders), None)
        assert person.leaves()["word"] == "ok"
