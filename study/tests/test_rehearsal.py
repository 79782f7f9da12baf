"""The rehearsal: 200 people leave in every way, and the books agree to the penny."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import psycopg
import pytest

from support.study.money_study import SOON, MoneyStudy, new_job
from support.study.prolific_double import doubled
from support.study.rehearsed import ENDING, PEOPLE, Player, job_beside, rehearsal_study
from theodolite_study.keys import Keys
from theodolite_study.money.background_job import hold_job_lock
from theodolite_study.money.rehearsal import compute_balance


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys.create(Path(tmp_path_factory.mktemp("keys")) / "keys.json")


def _trouble(random: Random) -> Callable[[str, str], str | None]:
    def trouble(method: str, path: str) -> str | None:
        chance = random.random()
        kinds = ("429", "500 before", "500 after")
        return kinds[int(chance * 30)] if chance < 0.1 else None

    return trouble


def _until(ready: Callable[[], bool], seconds: float = 60.0) -> None:
    ends = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_200_people_and_the_books_agree(database_url: str, keys: Keys) -> None:
    random = Random(25)  # noqa: S311
    with psycopg.connect(database_url, autocommit=True) as connection:
        study = rehearsal_study(connection, keys)
        study.double.delay = 0.05
        study.double.trouble = _trouble(Random(26))  # noqa: S311
        player = Player(study, random)
        with doubled(study.double) as host, job_beside(database_url, keys, host):
            ways = [way for way, n in PEOPLE.items() if way not in ENDING for _ in range(n)]
            random.shuffle(ways)
            for number, way in enumerate(ways):
                player.plays(way)
                if number % 7 == 0:
                    study.hears(random, late=0.4, lost=0.1)
            _until(lambda: not study.one("select count(*) from participant where outcome is null"))
            inside = [player.plays("ran_out") for _ in range(PEOPLE["ran_out"])]
            for _ in range(PEOPLE["full"]):
                player.plays("full")
            player.closes(inside)
            study.hears(random)
            _until(lambda: study.ledger().keys() <= {"confirmed"})
            for submission in study.double.submissions.values():
                if submission.return_requested:
                    study.double.returns(submission.id)
            _until(lambda: not any(study.one("select difference from platform_link").values()))
        books = compute_balance(connection, keys, study.study, study.double.paid())
        assert player.met == PEOPLE and min(PEOPLE.values()) >= 5 and sum(PEOPLE.values()) == 200
        left = Counter(PEOPLE) - Counter({"declined": 12, "full": 8})
        assert books.outcomes == left, "declined people leave no row"
        assert books.holds() and books.ledger == sum(study.double.paid().values()) > 0, books
        assert study.broken() == []


POINTS = ("events applied", "lapsed", "taken", "read", "return asked", "approved", "marked", "set up",
          "batch stored", "paying", "paid", "batch marked", "settled", "reconciled")  # fmt: skip


def _killed_at(point: str, database_url: str, keys: Keys, host: str) -> int:
    """A job of its own, ended by SIGKILL at a point; how it ended."""
    child = os.fork()
    if child == 0:

        def end(name: str) -> None:
            if name == point:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            with hold_job_lock(database_url) as connection:
                for _ in range(4):
                    new_job(connection, keys, host, end, SOON).round()
        finally:
            os._exit(1)
    return os.WTERMSIG(os.waitpid(child, 0)[1])


@pytest.fixture
def study(database_url: str, keys: Keys) -> Iterator[MoneyStudy]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        made = MoneyStudy(connection, instances=100, votes=3, quota=2, places=200, keys=keys)
        made.double.delay = 0.05
        yield made


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_job_that_is_killed_loses_and_doubles_nothing(
    study: MoneyStudy, database_url: str, keys: Keys
) -> None:
    random = Random(27)  # noqa: S311
    expected = 0
    with doubled(study.double) as host:
        for point in POINTS:
            for way in ("finished", "stopped", "timed out"):
                person = study.comes().begins().works(1)
                if way == "finished":
                    person.finishes()
                elif way == "stopped":
                    person.leaves("stopped")
                if way == "timed out":
                    study.double.times_out(person.name)
                else:
                    study.double.submits(person.name, way)
                expected += 400 if way == "finished" else 200
            study.hears(random)
            assert _killed_at(point, database_url, keys, host) == signal.SIGKILL, point
            with hold_job_lock(database_url) as connection:
                job = new_job(connection, keys, host, lambda name: None, SOON)
                _until(lambda job=job: job.round() == 0 and study.ledger().keys() <= {"confirmed"})  # type: ignore[misc]
            books = compute_balance(study.connection, keys, study.study, study.double.paid())
            assert books.holds() and books.ledger == expected, (point, books, study.ledger())
            assert study.broken() == []
    assert books.outcomes == dict.fromkeys(("finished", "stopped", "timed_out"), len(POINTS))
