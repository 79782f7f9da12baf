"""Guards that are lines of code: what happens without one of them."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any
from uuid import uuid4

import pytest

from support.study.small_study import answers_for, said
from support.study.stepped import preferring, stepped
from support.study.study_races import RACES, Play, Race, set_up
from theodolite_study import (
    assignments,
    claims,
    lifecycle,
    participants,
    people,
    practice,
    seats,
    sessions,
    votes,
    withdrawal,
)
from theodolite_study.answers import Ratings
from theodolite_study.assignments import asset, release, reveal, store_baseline
from theodolite_study.claims import next_assignment
from theodolite_study.database import Database
from theodolite_study.lifecycle import become
from theodolite_study.refusals import Conflict, NotHere, NotOpen, WrongStage
from theodolite_study.votes import submit
from theodolite_study.withdrawal import invalidate

ONE = Race(lambda play: [], lambda play, seen: True, names=("ann", "bob"))


@contextmanager
def mutated(module: ModuleType, old: str, new: str) -> Iterator[None]:
    """Every function of the module as if the source had `new` instead of `old`."""
    source = Path(str(module.__file__)).read_text()
    assert source.count(old) == 1, f"{source.count(old)} times in {module.__name__}: {old}"
    space: dict[str, Any] = dict(vars(module))
    exec(compile(source.replace(old, new), str(module.__file__), "exec"), space)  # noqa: S102
    before: list[tuple[FunctionType, CodeType]] = []
    for name, made in space.items():
        for there, fresh in _pairs(getattr(module, name, None), made):
            if there.__code__.co_code != fresh.__code__.co_code or (
                there.__code__.co_consts != fresh.__code__.co_consts
            ):
                before.append((there, there.__code__))
                there.__code__ = fresh.__code__
    try:
        assert before, "nothing changed"
        yield
    finally:
        for there, code in before:
            there.__code__ = code


def _pairs(there: Any, fresh: Any) -> Iterator[tuple[FunctionType, FunctionType]]:
    if inspect.isclass(there) and inspect.isclass(fresh):
        for name in vars(fresh):
            yield from _pairs(vars(there).get(name), vars(fresh)[name])
        return
    there, fresh = (inspect.unwrap(one) if callable(one) else one for one in (there, fresh))
    if isinstance(there, FunctionType) and isinstance(fresh, FunctionType) and there is not fresh:
        yield there, fresh


def _claimed(play: Play) -> None:
    play.items.append(next_assignment(play.database, play.people[0]))


def _ann(play: Play) -> tuple[Database, Any, int]:
    return play.database, play.people[0], play.items[0].id


def _given(play: Play, **other: int) -> Ratings:
    return Ratings(answers_for(play.items[0]) | other, uuid4())


def no_look_before(play: Play) -> None:
    _claimed(play)
    with pytest.raises(WrongStage):
        reveal(*_ann(play))


def no_picture_before(play: Play) -> None:
    _claimed(play)
    with pytest.raises(WrongStage):
        asset(*_ann(play), "map")


def no_vote_before_own_answer(play: Play) -> None:
    _claimed(play)
    with pytest.raises(WrongStage, match="yourself"):
        submit(*_ann(play), _given(play))


def no_vote_before_look(play: Play) -> None:
    _claimed(play)
    store_baseline(*_ann(play), said())
    with pytest.raises(WrongStage, match="look"):
        submit(*_ann(play), _given(play))


def first_look_is_kept(play: Play) -> None:
    _claimed(play)
    store_baseline(*_ann(play), said())
    reveal(*_ann(play))
    first = play.all("select revealed_at from assignment")
    reveal(*_ann(play))
    assert play.all("select revealed_at from assignment") == first


def first_answer_stays(play: Play) -> None:
    _claimed(play)
    store_baseline(*_ann(play), said("ears"))
    with pytest.raises(Conflict):
        store_baseline(*_ann(play), said("eyes"))


def no_answer_to_given_back(play: Play) -> None:
    _claimed(play)
    store_baseline(*_ann(play), said())
    reveal(*_ann(play))
    release(*_ann(play), "broken")
    with pytest.raises(WrongStage):
        submit(*_ann(play), _given(play))


def no_vote_when_over(play: Play) -> None:
    _claimed(play)
    store_baseline(*_ann(play), said())
    reveal(*_ann(play))
    become(play.database, "small", "closed", staff="eve")
    with pytest.raises(NotOpen):
        submit(*_ann(play), _given(play))


def no_claim_in_a_break(play: Play) -> None:
    become(play.database, "small", "paused", staff="eve")
    with pytest.raises(NotOpen):
        next_assignment(play.database, play.people[0])


def votes_stay(play: Play) -> None:
    _claimed(play)
    store_baseline(*_ann(play), said())
    reveal(*_ann(play))
    submit(*_ann(play), _given(play))
    with pytest.raises(Conflict):
        submit(*_ann(play), _given(play, q1=1))


def others_are_not_here(play: Play) -> None:
    _claimed(play)
    for call in (reveal, assignments.assignment, assignments.renew):
        with pytest.raises(NotHere):
            call(play.database, play.people[1], play.items[0].id)


def taken_out_counts_no_more(play: Play) -> None:
    """Ann's item went to Bob, who gave it back; Ann's votes were taken out meanwhile."""
    _claimed(play)
    store_baseline(*_ann(play), said())
    reveal(*_ann(play))
    play.expire()
    bobs = next_assignment(play.database, play.people[1])
    release(play.database, play.people[1], bobs.id, "broken")
    invalidate(play.database, play.people[0], staff="eve", reason="a machine")
    assert not submit(*_ann(play), _given(play)).counted


def claims_do_not_wait(play: Play) -> None:
    with stepped(play.database) as scheduler:
        scheduler.run([play.next(0), play.next(1)], preferring(0, 8, 99))
        assert not scheduler.waited


@dataclass(frozen=True)
class Mutation:
    module: ModuleType
    old: str
    new: str
    scene: Callable[[Play], None] | str
    """Played in person, or the name of a race."""


NONE = ""
MUTATIONS = {
    "own answer before the explanation": Mutation(
        assignments, "if row.baseline_at is None:", "if False:", no_look_before
    ),
    "own answer before its pictures": Mutation(
        assignments, "            _need_own_answer(row)\n            _stamp", "            _stamp",
        no_picture_before,
    ),
    "own answer before the vote": Mutation(
        votes, "if row.baseline_at is None:", "if False:", no_vote_before_own_answer
    ),
    "the explanation before the vote": Mutation(
        votes, "if row.revealed_at is None:", "if False:", no_vote_before_look
    ),
    "the first look is kept": Mutation(
        assignments, ", tables.assignment.c.revealed_at.is_(None))", ")", first_look_is_kept
    ),
    "the first answer stays": Mutation(
        assignments, "if stored != checked.digest():", "if False:", first_answer_stays
    ),
    "the vote stays": Mutation(
        votes, "if known.payload_sha256 != checked.digest():", "if False:", votes_stay
    ),
    "no vote for what was given back": Mutation(
        votes, 'if row.state not in (*LIVE, "lost"):', "if False:", no_answer_to_given_back
    ),
    "no vote when it is over": Mutation(
        votes, 'who.need("open", "paused")', "pass", no_vote_when_over
    ),
    "no claim in a break": Mutation(claims, 'who.need("open")', "pass", no_claim_in_a_break),
    "states are looked at": Mutation(
        people, "if self.study_state not in states and", "if False and", no_vote_when_over
    ),
    "one's own only": Mutation(
        assignments, "tables.assignment.c.participant_id == participant_id,", NONE,
        others_are_not_here,
    ),
    "taken out counts no more": Mutation(
        votes, "if who.participant.state not in TAKING_PART:", "if False:",
        taken_out_counts_no_more,
    ),
    "the person is locked": Mutation(
        people, "        person = person.with_for_update()\n", "        pass\n",
        "double click",
    ),
    "the study is held": Mutation(
        people, "lock = func.pg_advisory_xact_lock if alone else func.pg_advisory_xact_lock_shared",
        "lock = func.abs", "close, vote",
    ),
    "who stays is held": Mutation(
        people, "person.with_for_update(read=True)", "person", "withdrawal, picture"
    ),
    "who leaves is locked": Mutation(
        people, "row = connection.execute(person.with_for_update())",
        "row = connection.execute(person)", "withdrawal, vote",
    ),
    "the seat is locked for a vote": Mutation(
        votes, ".where(tables.slot.c.id == row.slot_id).with_for_update()",
        ".where(tables.slot.c.id == row.slot_id)", "claim, late vote",
    ),
    "the seat is locked for a claim": Mutation(
        seats, "query = query.with_for_update(of=tables.slot, skip_locked=True)", "pass",
        "two claim the last seat",
    ),
    "claims do not wait for each other": Mutation(
        seats, "skip_locked=True", "skip_locked=False", claims_do_not_wait
    ),
    "a seat in somebody's hands is not gone": Mutation(
        seats, "or_(*_turns(who)))", 'or_(*_turns(who)), tables.slot.c.state == "leased")',
        "two claim the last seat",
    ),
    "seats are locked by who withdraws": Mutation(
        withdrawal, "        .with_for_update()\n", NONE, "withdrawal, takeover"
    ),
    "arrivals hold the study": Mutation(
        participants, "connection.execute(select(held(tables.study.c.id)).where(named))", "pass",
        "close, arrival",
    ),
    "places of the panel are given one by one": Mutation(
        participants, '''text("select pg_advisory_xact_lock(hashtextextended(:study, 0))")''',
        '''text("select :study")''', "two places of the panel",
    ),
    "staff lock no more than they need": Mutation(
        lifecycle, "with_for_update(key_share=True)", "with_for_update()", "close, withdrawal"
    ),
    "no login of who withdraws": Mutation(
        sessions, "        .with_for_update(read=True)\n", NONE, "withdrawal, login"
    ),
    "reload sees the takeover": Mutation(
        claims, "    return live_item(connection, who)\n\n\ndef _seated", "    return row\n\n\ndef _seated",
        "claim, reload of the former",
    ),
}  # fmt: skip


def prepared(database: Database, folder: Path, name: str) -> tuple[Play, Race | None]:
    scene = MUTATIONS[name].scene
    race = RACES[scene] if isinstance(scene, str) else ONE
    return set_up(database, folder, race), race if isinstance(scene, str) else None


__all__ = ["MUTATIONS", "mutated", "practice", "prepared"]
