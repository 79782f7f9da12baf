"""A study, and people who take its steps by the functions alone."""

import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from psycopg.types.json import Jsonb

from theodolite_study.database import migrate
from theodolite_study.local_postgres import LocalPostgres, create_database

TEMPLATE = "template"
_MADE: set[Path] = set()
CONSENT = b"<p>You can stop at any time.</p>"
INSTRUMENT = {
    "door": [], "about": [],
    "before": [{"blocks": [
        {"name": "words", "kind": "text", "least": 1, "most": 200, "required": True},
        {"name": "regions", "kind": "regions", "shapes": ["box"], "least": 0, "most": 5,
         "nothing": True, "required": False},
    ]}],
    "after": [{"blocks": [{"name": "q1", "kind": "likert", "points": 5, "required": True}]}],
    "end": [],
}  # fmt: skip
PAY = {"reward": 400, "floor": 50, "screenout": 30}
OUTCOMES = {
    "finished": "reward", "ran_out": "reward", "stopped": "part", "screened_out": "fee",
    "failed_practice": "fee", "failed_checks": "part", "declined": "none", "timed_out": "part",
}  # fmt: skip


def template_database(cluster: LocalPostgres) -> str:
    """Return the name of a database with empty tables to copy, created once per cluster."""
    if cluster.folder in _MADE:
        return TEMPLATE
    _MADE.add(cluster.folder)
    create_database(cluster, TEMPLATE)
    url = cluster.database(TEMPLATE)
    migrate(url)
    return TEMPLATE


@dataclass
class SteppedStudy:
    """A study with some explanations, open."""

    connection: psycopg.Connection[Any]
    instances: int = 4
    votes: int = 2
    quota: int = 3
    places: int = 50
    settings: dict[str, Any] = field(default_factory=dict)
    instrument: dict[str, Any] = field(default_factory=lambda: INSTRUMENT)
    lease: float = 60.0
    least_items: int = 1
    gold: int = 0
    training: int = 0
    slug: str = "s"
    languages: tuple[str, ...] = ("en", "de")

    def __post_init__(self) -> None:
        run, one = self.connection.execute, self.one
        self.study = one(
            "insert into study (id, slug, title, state, keys_id) values (%s, %s, 'T', 'open', 'k')"
            " returning id", uuid4(), self.slug,
        )  # fmt: skip
        self.version = one(
            "insert into version (study_id, no, instrument, settings, n_votes, quota, least_items,"
            " lease_seconds, languages, default_language)"
            " values (%s, 1, %s, %s, %s, %s, %s, %s, %s, 'en') returning id",
            self.study, Jsonb(self.instrument), Jsonb({"pay": PAY} | self.settings), self.votes,
            self.quota, self.least_items, self.lease, list(self.languages),
        )  # fmt: skip
        for language in self.languages:
            run("insert into consent_text (version_id, language, shown, digest) values (%s, %s, %s, sha256(%s))",
                (self.version, language, CONSENT, CONSENT))  # fmt: skip
        for key, pay in OUTCOMES.items():
            run(
                "insert into outcome (version_id, key, pay) values (%s, %s, %s)",
                (self.version, key, pay),
            )
        kinds = ["real"] * self.instances + ["gold"] * self.gold + ["training"] * self.training
        for number, kind in enumerate(kinds):
            check = {} if kind == "real" else {"check": {"ratings": {"q1": 5}}}
            instance = one(
                "insert into instance (study_id, key, image_key, technique, modality, kind, place,"
                " record, shown) values (%s, %s, %s, 'map', 'saliency', %s, %s, %s, %s) returning id",
                self.study, f"i{number}", f"p{number // 2}", kind, number, Jsonb(check),
                Jsonb({"shown": {"image": "a" * 64}, "same": None}),
            )  # fmt: skip
            if kind == "real":
                run("insert into slot (study_id, instance_id, slot_no, rnd)"
                    " select %s, %s, n, random() from generate_series(1, %s) n",
                    (self.study, instance, self.votes))  # fmt: skip
        run("insert into place (version_id, no) select %s, n from generate_series(1, %s) n",
            (self.version, self.places))  # fmt: skip
        run("insert into wording (version_id, key, language, body)"
            " select %s, key, language, key from missing_texts(%s)", (self.version, self.version))  # fmt: skip
        run("update version set state = 'open', digest = sha256('x'), opened_at = clock_timestamp()"
            " where id = %s", (self.version,))  # fmt: skip
        run("insert into door (version_id, available) values (%s, st_available(%s))",
            (self.version, self.version))  # fmt: skip

    def person(self, name: str, connection: psycopg.Connection[Any] | None = None) -> "Walker":
        return Walker(self, name, connection or self.connection)

    def one(self, query: str, *values: Any) -> Any:
        row = self.connection.execute(query, values).fetchone()
        return None if row is None else row[0]

    def broken(self) -> list[str]:
        """Rules that do not hold at this moment."""
        rules = {
            "door": "select available from door where available <> st_available(version_id)",
            "over": "select instance_id from vote where counted group by instance_id"
                    f" having count(*) > {self.votes}",
            "seat": "select s.id from slot s left join vote v on v.slot_id = s.id and v.counted"
                    " where (s.state = 'filled') <> (v.id is not null)",
            "live": "select a.id from assignment a left join slot s on s.assignment_id = a.id"
                    " where a.state in ('leased', 'revealed', 'submitted') and a.slot_id is not null"
                    " and s.id is null",
            "order": "select a.id from assignment a left join vote v on v.assignment_id = a.id"
                     " left join baseline b on b.assignment_id = a.id where v.id is not null and"
                     " not coalesce(b.at < a.revealed_at and a.revealed_at <= v.at, false)",
            "out": "select id from participant where (outcome is null) <>"
                   " (state in ('landed', 'consented', 'training', 'active'))",
        }  # fmt: skip
        return [name for name, query in rules.items() if self.connection.execute(query).fetchone()]


@dataclass
class Walker:
    """Somebody who takes part."""

    study: SteppedStudy
    name: str
    connection: psycopg.Connection[Any]

    def __post_init__(self) -> None:
        self.token = hashlib.sha256(f"session {self.study.slug} {self.name}".encode()).digest()
        self.code = hashlib.sha256(f"code {self.study.slug} {self.name}".encode()).digest()

    def step(self, function: str, *values: Any) -> dict[str, Any]:
        marks = ", ".join(["%s"] * len(values))
        packed = [Jsonb(v) if isinstance(v, dict) else v for v in values]
        row = self.connection.execute(f"select {function}({marks})", packed).fetchone()
        answer: dict[str, Any] = {} if row is None else row[0]
        return answer

    def arrives(self) -> dict[str, Any]:
        token = hashlib.sha256(f"{uuid4()}".encode()).digest()
        ends = datetime.now(timezone.utc) + timedelta(hours=1)
        person = hashlib.sha256(self.name.encode()).digest()
        came = self.step(
            "st_arrive", self.study.slug, "link", person, b"sealed", person, f"p-{self.name}",
            self.name.encode(), person, "en", token, ends, False, None,
        )  # fmt: skip
        if came["word"] == "ok":
            self.token = token
        return came

    def agrees(self) -> dict[str, Any]:
        digest = hashlib.sha256(CONSENT).digest()
        return self.step("st_consent", self.token, self.study.version, "en", digest, self.code)

    def begins(self) -> "Walker":
        assert self.arrives()["word"] == "ok"
        assert self.agrees()["word"] == "ok"
        assert self.step("st_begin", self.token)["state"] == "active"
        return self

    def next(self) -> dict[str, Any]:
        return self.step("st_next", self.token)

    def item(self, item: int) -> dict[str, Any]:
        return self.step("st_item", self.token, item, True)

    def says(self, item: int, words: str = "a horn") -> dict[str, Any]:
        answers = {"words": words, "regions": []}
        return self.step("st_baseline", self.token, item, answers, {}, {}, digest(answers))

    def rates(self, item: int, value: int = 3) -> dict[str, Any]:
        answers = {"q1": value}
        return self.step(
            "st_rate", self.token, item, answers, {}, uuid4(), digest(answers), {"after": 3.2}, {}
        )

    def votes(self, item: int, value: int = 3) -> dict[str, Any]:
        """The whole of an item."""
        assert self.says(item)["word"] == "ok"
        assert self.item(item)["own"] is not None
        return self.rates(item, value)

    def leaves(self, how: str = "finished") -> dict[str, Any]:
        return self.step("st_leave", self.token, how)


def digest(answers: dict[str, Any]) -> bytes:
    return hashlib.sha256(json.dumps(answers, sort_keys=True).encode()).digest()
