"""A study played from end to end by people whom the double of Prolific sends, in all ways out."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import psycopg

from support.study.money_study import MoneyStudy, PaidWalker, new_job
from support.study.stepped_study import INSTRUMENT
from theodolite_study.keys import Keys
from theodolite_study.money.background_job import JobTimes, hold_job_lock
from theodolite_study.money.payer import PayTimes

PEOPLE = {
    "finished": 60, "ran_out": 8, "stopped": 30, "declined": 12, "screened_out": 12,
    "wrong_device": 8, "failed_practice": 8, "failed_checks": 10, "timed_out": 16, "returned": 16,
    "withdrawn": 12, "full": 8,
}  # fmt: skip
"""200 of them."""
ENDING = ("ran_out", "full")
"""They come last: when the study is closed, and when its places are taken."""
WITH_PLACE = 60 + 8 + 30 + 10 + 8 + 8
"""People who voted and did not withdraw use up their places."""
DOOR = [{"blocks": [{"name": "device", "kind": "choice", "options": ["desk", "phone", "none"]}]}]
SETTINGS = {
    "training": {"attempts": 2, "pass_mark": 0.5},
    "checks": {"every": 2, "allowed": 0, "then": "screen_out"},
}
QUICK = JobTimes(round=0.01, reconcile=0.2, pay=PayTimes(look=0.02, grace=1.0))
RIGHT, WRONG = 5, 1
OWN = {"words": "a tower", "regions": []}


def rehearsal_study(connection: psycopg.Connection[Any], keys: Keys) -> MoneyStudy:
    """With a door, practice and checks."""
    return MoneyStudy(
        connection, instances=160, votes=3, quota=4, places=WITH_PLACE, gold=2, training=1,
        settings=SETTINGS, instrument=INSTRUMENT | {"door": DOOR}, keys=keys,
    )  # fmt: skip


class Player:
    """Plays people one after the other, each as far as their way goes."""

    def __init__(self, study: MoneyStudy, random: Random) -> None:
        self.study, self.random = study, random
        self.met: dict[str, int] = {}
        self._fixed = False

    def plays(self, way: str) -> PaidWalker:
        """Somebody comes and leaves in this way; those of `ran_out` stay until the study closes."""
        person = self.study.comes()
        came = person.arrives()
        if way == "full":
            assert came["word"] == "full", came
            return self._ends(person, "return", "full")
        assert came["word"] == "ok", came
        if way == "declined":
            assert person.step("st_decline", person.token)["word"] == "ok"
            return self._ends(person, "return", way)
        assert person.agrees()["word"] == "ok"
        getattr(self, f"_{way}")(person)
        return person

    def _ends(self, person: PaidWalker, code: str | None, way: str) -> PaidWalker:
        """Back to the platform, with the code of the outcome."""
        self.met[way] = self.met.get(way, 0) + 1
        if code is not None:
            self.study.double.submits(person.name, code)
        return person

    def _passes_door(
        self, person: PaidWalker, device: str = "desk", away: str | None = None
    ) -> Any:
        return person.step("st_answer", person.token, "door", {"device": device}, {}, b"d", away)

    def _practices(self, person: PaidWalker, value: int) -> dict[str, Any]:
        for act in (
            ("st_practice_own", 1, OWN),
            ("st_practice", 1),
            ("st_practice_rate", 1, {"q1": value}),
        ):
            assert person.step(act[0], person.token, *act[1:])["word"] == "ok"
        return person.step("st_practice_end", person.token)

    def _active(self, person: PaidWalker, votes: int, value: int = RIGHT) -> PaidWalker:
        self._passes_door(person)
        assert person.step("st_begin", person.token)["state"] == "training"
        assert self._practices(person, RIGHT)["state"] == "active"
        given = 0
        while given < votes:
            went = person.next()
            if went["go"] != "item":
                break
            rated = person.votes(went["item"], value)
            given += bool(rated.get("counted"))
        return person

    def _out(self, person: PaidWalker, outcome: str) -> None:
        found = self.study.outcome(person.name)
        assert found == outcome, (found, outcome)

    def _finished(self, person: PaidWalker) -> None:
        self._active(person, 4)
        while person.next()["go"] == "item":  # a check that comes after the last vote
            person.votes(person.next()["item"], RIGHT)
        assert person.leaves()["outcome"] == "finished"
        chance = self.random.random()
        self._ends(
            person, "approved" if chance < 0.5 else "finished" if chance < 0.9 else None, "finished"
        )
        if chance >= 0.9:  # never enters the code
            self.study.double.times_out(person.name)

    def _stopped(self, person: PaidWalker) -> None:
        self._active(person, self.random.randint(1, 3))
        assert person.leaves("stopped")["outcome"] == "stopped"
        self._ends(person, "stopped", "stopped")

    def _screened_out(self, person: PaidWalker) -> None:
        assert self._passes_door(person, "none", "screened_out")["outcome"] == "screened_out"
        self._fixed = not self._fixed
        self._ends(person, "fixed screenout" if self._fixed else "other", "screened_out")

    def _wrong_device(self, person: PaidWalker) -> None:
        assert self._passes_door(person, "phone", "wrong_device")["outcome"] == "wrong_device"
        self._ends(person, "return", "wrong_device")

    def _failed_practice(self, person: PaidWalker) -> None:
        self._passes_door(person)
        person.step("st_begin", person.token)
        assert self._practices(person, WRONG)["attempt"] == 2
        assert self._practices(person, WRONG)["outcome"] == "failed_practice"
        self._ends(person, "other", "failed_practice")

    def _failed_checks(self, person: PaidWalker) -> None:
        self._active(person, 4, WRONG)
        self._out(person, "failed_checks")
        self._ends(person, "other", "failed_checks")

    def _timed_out(self, person: PaidWalker) -> None:
        self._active(person, self._half("timed_out")).next()
        self.study.double.times_out(self._ends(person, None, "timed_out").name)

    def _returned(self, person: PaidWalker) -> None:
        self._active(person, self._half("returned")).next()
        self.study.double.returns(self._ends(person, None, "returned").name)

    def _half(self, way: str) -> int:
        """Every second one votes first."""
        return self.met.get(way, 0) % 2 * 2

    def _withdrawn(self, person: PaidWalker) -> None:
        paid = self.met.get("withdrawn", 0) % 2 == 0
        self._active(person, 2)
        assert person.step("st_withdraw", person.code, paid)["amount"] == (200 if paid else 0)
        self._ends(person, "other" if paid else "return", "withdrawn")

    def _ran_out(self, person: PaidWalker) -> None:
        self._active(person, 1)

    def closes(self, inside: list[PaidWalker]) -> None:
        """The researchers close the study; whoever is inside leaves, paid in full."""
        self.study.connection.execute(
            "update study set state = 'closed' where id = %s", (self.study.study,)
        )
        for person in inside:
            assert person.leaves()["outcome"] == "ran_out"
            self._ends(person, "finished", "ran_out")


@contextmanager
def job_beside(url: str, keys: Keys, host: str) -> Iterator[None]:
    """The job, at work beside the people."""
    ended = threading.Event()
    problems: list[BaseException] = []

    def run() -> None:
        try:
            with hold_job_lock(url) as connection:
                new_job(connection, keys, host, lambda name: None, QUICK).run(ended)
        except BaseException as error:  # noqa: BLE001  told to the test
            problems.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(60)
    assert not problems, problems
