"""Races in many orders of their statements; after each, all that must hold."""

from collections.abc import Iterator
from random import Random
from typing import Any

from support.study.kept_state import bring_back, keep_state
from support.study.stepped import Stepped, preferring
from support.study.study_races import Play, Race
from theodolite_study.invariants import violations
from theodolite_study.refusals import StudyRefusal
from theodolite_study.votes import Receipt

END = 99


def schedules(steps: dict[int, int], seed: str, most: int) -> Iterator[tuple[int, int, int]]:
    """Who is first, after how many steps the others come, how many steps these make."""
    made = [
        (first, mine, others)
        for first in steps
        for mine in range(steps[first])
        for others in (*range(1, max(steps.values())), END)
    ]
    Random(seed).shuffle(made)  # noqa: S311
    yield from made[:most] if most else made


def must_hold(play: Play, race: Race, seen: list[Any]) -> None:
    for one in seen:
        if isinstance(one, BaseException) and not isinstance(one, StudyRefusal):
            raise one
    assert violations(play.database) == []
    withdrawn = play.all("select from participant where state = 'withdrawn'")
    for one in seen:
        if isinstance(one, Receipt) and not withdrawn:
            stored = play.all(
                "select encode(payload_sha256, 'hex') from vote "
                f"where assignment_id = {one.assignment_id}"
            )
            assert stored == [(one.payload_sha256,)]
    assert race.holds(play, seen), seen


def played(play: Play, race: Race, scheduler: Stepped, *, seed: str, most: int) -> int:
    """Many orders of one race, or all with at most three changes from one to the other."""
    keep_state(play.database)
    count, steps = 0, {}
    for first in range(len(race.acts(play))):  # one after the other
        bring_back(play.database)
        must_hold(play, race, scheduler.run(race.acts(play), preferring(first, END, END)))
        steps = {n: max(steps.get(n, 0), made) for n, made in scheduler.steps.items()}
        count += 1
    for first, mine, others in schedules(steps, seed, most):
        bring_back(play.database)
        seen = scheduler.run(race.acts(play), preferring(first, mine, others))
        try:
            must_hold(play, race, seen)
        except BaseException as error:
            said = f"{seed}: {first} after {mine} steps, the others {others}: {seen}"
            raise AssertionError(said) from error
        count += 1
    return count
