"""A study whose people come from the double of Prolific, and the job that pays them."""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import psycopg

from support.study.prolific_double import SECRET, STUDY, TOKEN, ProlificDouble
from support.study.stepped_study import SteppedStudy, Walker
from theodolite_study.keys import Keys
from theodolite_study.money.background_job import Job, JobTimes, do_nothing
from theodolite_study.money.ledger import sum_by_state
from theodolite_study.money.payer import PayTimes
from theodolite_study.money.platform_link import PlatformLink, digest_submission, link_study
from theodolite_study.money.prolific import Prolific
from theodolite_study.money.webhook_events import store_event, verify_event

SOON = JobTimes(round=0.01, reconcile=0.0, pay=PayTimes(look=0.0, grace=0.4))


@dataclass
class MoneyStudy(SteppedStudy):
    """Linked to the double."""

    keys: Keys = field(default=None)  # type: ignore[assignment]
    double: ProlificDouble = field(default_factory=ProlificDouble)
    partial_codes: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.connection.execute(
            "update study set keys_id = %s where id = %s", (self.keys.id, self.study)
        )
        link = PlatformLink(self.study, self.slug, STUDY, TOKEN, SECRET, self.partial_codes)
        link_study(self.connection, self.keys, link)

    def comes(self, connection: psycopg.Connection[Any] | None = None) -> "PaidWalker":
        """Somebody whom the platform sent."""
        name = self.double.reserve()
        assert name is not None
        self.double.starts(name)
        return PaidWalker(self, name, connection or self.connection)

    def job(self, host: str, point: Any = do_nothing, times: JobTimes = SOON) -> Job:
        return new_job(self.connection, self.keys, host, point, times)

    def hears(self, random: Any, late: float = 0.0, lost: float = 0.0) -> list[str]:
        """The webhooks so far, stored an hour after they were signed."""
        return [
            store_event(self.connection, self.keys, *verify_event(headers, body, SECRET, now))
            for headers, body in self.double.deliveries(random, late, lost)
            for now in [float(headers["X-Prolific-Request-Timestamp"]) + 3600]
        ]

    def ledger(self) -> dict[str, tuple[int, int]]:
        return {
            s: (n.count, n.amount) for s, n in sum_by_state(self.connection, self.study).items()
        }

    def outcome(self, name: str) -> str | None:
        digest = digest_submission(self.keys, name)
        outcome: str | None = self.one(
            "select outcome from participant where submission_digest = %s", digest
        )
        return outcome


def new_job(
    connection: psycopg.Connection[Any], keys: Keys, host: str, point: Any, times: JobTimes
) -> Job:
    """With a client that does not sleep."""
    return Job(
        connection, keys, times,
        client_of=lambda link: Prolific(link.token, host, pause=lambda seconds: None), point=point,
    )  # fmt: skip


class PaidWalker(Walker):
    """Somebody with a submission."""

    study: MoneyStudy

    def arrives(self) -> dict[str, Any]:
        keys, slug = self.study.keys, self.study.slug
        self.token = hashlib.sha256(f"{uuid4()}".encode()).digest()
        ends = datetime.now(timezone.utc) + timedelta(hours=1)
        person = keys.digest_person(slug, "prolific", self.name)
        return self.step(
            "st_arrive", slug, "prolific", person, keys.encrypt(self.name, slug),
            keys.digest_barred_person(slug, "prolific", self.name), f"p-{self.name}", keys.encrypt(self.name, slug),
            digest_submission(keys, self.name), "en", self.token, ends, False, None,
        )  # fmt: skip

    def works(self, votes: int) -> "PaidWalker":
        """That many items, if there are."""
        for _ in range(votes):
            went = self.next()
            if went["go"] != "item":
                break
            self.votes(went["item"])
        return self

    def finishes(self) -> str:
        """All that was promised, and out."""
        self.works(100)
        left = self.leaves()
        assert left["word"] == "ok", left
        return str(left["outcome"])
