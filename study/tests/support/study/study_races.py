"""Pairs of things that may happen at the same moment, and what must come out of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import text

from support.study.small_study import active, answers_for, opened, rated, said, study_folder
from support.study.stepped import Act
from theodolite_study.answers import Ratings
from theodolite_study.assignments import (
    Assignment,
    asset,
    assignment,
    release,
    renew,
    reveal,
    save_draft,
    store_baseline,
)
from theodolite_study.claims import Done, next_assignment
from theodolite_study.database import Database
from theodolite_study.keys import Keys
from theodolite_study.lifecycle import become, lift_reservations, set_quota
from theodolite_study.participants import (
    Arrival,
    arrive,
    consent,
    describe_oneself,
    finish,
    participant,
)
from theodolite_study.platforms.identity import Identity
from theodolite_study.refusals import Conflict, NothingNow, WrongStage
from theodolite_study.sessions import begin
from theodolite_study.votes import Receipt, submit
from theodolite_study.withdrawal import invalidate, withdraw

KEY = UUID(int=7)
Seen = list[Any]


@dataclass
class Play:
    """The people and their items before the race begins."""

    database: Database
    keys: Keys
    people: list[UUID] = field(default_factory=list)
    items: list[Assignment] = field(default_factory=list)

    def next(self, who: int) -> Act:
        return lambda: next_assignment(self.database, self.people[who])

    def submit(self, who: int, **other: int) -> Act:
        item = self.items[who]
        given = Ratings(answers_for(item) | other, KEY)
        return lambda: submit(self.database, self.people[who], item.id, given)

    def release(self, who: int) -> Act:
        return lambda: release(self.database, self.people[who], self.items[who].id, "broken")

    def withdraw(self, who: int) -> Act:
        return lambda: withdraw(self.database, self.people[who])

    def state(self, who: int) -> str:
        return assignment(self.database, self.people[who], self.items[who].id).state

    def all(self, query: str) -> list[Any]:
        with self.database.owning() as connection:
            return [tuple(row) for row in connection.execute(text(query))]

    def expire(self) -> None:
        with self.database.owning() as connection:
            connection.execute(
                text("update slot set lease_expires_at = now() - interval '1 s' "
                     "where state = 'leased'")
            )  # fmt: skip


@dataclass(frozen=True)
class Race:
    """What is there, what happens at once, what must hold then."""

    acts: Callable[[Play], Sequence[Act]]
    holds: Callable[[Play, Seen], object]
    ready: int = 0
    """So many people hold an item and have seen its explanation."""
    names: tuple[str, ...] = ("ann", "bob")
    expired: bool = False
    before: Callable[[Play], None] = lambda play: None
    settings: dict[str, Any] = field(default_factory=lambda: {"instances": 1, "votes": 1})


def set_up(database: Database, folder: Path, race: Race) -> Play:
    """The moment before the race."""
    play = Play(database, opened(database, study_folder(folder, **race.settings)))
    play.people = [active(database, play.keys, name) for name in race.names]
    for who in play.people[: race.ready]:
        item = next_assignment(database, who)
        assert not isinstance(item, Done)
        store_baseline(database, who, item.id, said())
        reveal(database, who, item.id)
        play.items.append(item)
    if race.expired:
        play.expire()
    race.before(play)
    return play


def kinds(seen: Seen) -> list[str]:
    return [type(one).__name__ for one in seen]


def _one_gets_it(_: Play, seen: Seen) -> bool:
    got = [one for one in seen if isinstance(one, Assignment)]
    waits = [one for one in seen if isinstance(one, NothingNow)]
    return len(got) == 1 and len(waits) == len(seen) - 1


def _counted_or_taken(play: Play, seen: Seen) -> bool:
    taken, late = seen
    if late.counted:
        return isinstance(taken, (NothingNow, Done)) and play.state(0) == "submitted"
    return isinstance(taken, Assignment) and play.state(0) == "surplus"


def _left_nothing(play: Play, seen: Seen) -> bool:
    traces = "".join(
        f"union all select x::text from {table} x "
        for table in ("event", "draft", "baseline", "vote", "session", "assignment", "consent")
    )
    who, name = str(play.people[0]), "ann"
    rows = [row for (row,) in play.all(f"select ''::text {traces}")]
    assert participant(play.database, play.people[0]).state == "withdrawn"
    return seen[0] is None and not any(who in row or f'"{name}"' in row for row in rows)


def _same_receipt(play: Play, seen: Seen) -> bool:
    return seen[0] == seen[1] and play.all("select count(*) from vote") == [(1,)]


def _first_payload_stays(play: Play, seen: Seen) -> bool:
    return sorted(kinds(seen)) == ["Conflict", "Receipt"] and len(play.all("table vote")) == 1


def _submitted_or_released(play: Play, seen: Seen) -> bool:
    if isinstance(seen[1], Receipt):
        return isinstance(seen[0], WrongStage) and play.state(0) == "submitted"
    return isinstance(seen[1], WrongStage) and play.state(0) == "released"


def _none_counts(play: Play, seen: Seen) -> bool:
    return isinstance(seen[0], int) and not play.all("select from vote where counted")


def _nobody_is_known(play: Play, seen: Seen) -> bool:
    (come,) = play.all("select count(*) from participant where platform = 'link'")
    late = not isinstance(seen[1], Arrival)
    return come[0] == 1 - late and not play.all(
        "select from participant where sealed_id is not null"
    )


def _same_person(play: Play, seen: Seen) -> bool:
    return seen[0].participant == seen[1].participant and [one.new for one in seen].count(True) == 1


def _distinct_rows(play: Play, seen: Seen) -> bool:
    rows = play.all("select design_row from participant order by 1")
    return kinds(seen) == ["NoneType"] * 2 and rows == [(1,), (2,)]


def _all_have_new_quota(play: Play, seen: Seen) -> bool:
    return set(play.all("select quota from participant")) == {(9,)} and seen[0] is None


def _one_baseline(play: Play, seen: Seen) -> bool:
    stored = [text for (text,) in play.all("select text from baseline")]
    return len(stored) == 1 and sorted(kinds(seen)) == ["Conflict", "NoneType"]


def _come(play: Play, name: str = "new") -> Act:
    return lambda: arrive(play.database, "small", Identity("link", name), play.keys)


def _claimed(play: Play) -> None:
    item = next_assignment(play.database, play.people[0])
    assert isinstance(item, Assignment)
    play.items.append(item)


def _taken_over(play: Play) -> None:
    """Ann's item went to Bob."""
    item = next_assignment(play.database, play.people[1])
    assert isinstance(item, Assignment)
    play.items.append(item)


def _landed(play: Play) -> None:
    play.people = [_come(play, name)().participant.id for name in ("dan", "eve")]


def _consented(play: Play) -> None:
    _landed(play)
    for who in play.people:
        consent(play.database, who, play.keys)


def _rated_all(play: Play) -> None:
    for who in play.people:
        while not isinstance(item := next_assignment(play.database, who), Done):
            rated(play.database, who, item)


def _baseline(play: Play, words: str) -> Act:
    item = play.items[0]
    return lambda: store_baseline(play.database, play.people[0], item.id, said(words))


def _close(play: Play) -> None:
    become(play.database, "small", "closed", staff="eve")


def _quota(play: Play) -> None:
    set_quota(play.database, "small", 9, staff="eve")


PLANNED = {"instances": 4, "votes": 2, "design": "planned", "panel": 2, "quota": 4}
RACES: dict[str, Race] = {
    "two claim the last seat": Race(lambda p: [p.next(0), p.next(1)], _one_gets_it),
    "two claim two seats": Race(
        lambda p: [p.next(0), p.next(1)], lambda p, s: kinds(s) == ["Assignment"] * 2,
        settings={"instances": 2, "votes": 1},
    ),
    "three claim the last seat": Race(
        lambda p: [p.next(0), p.next(1), p.next(2)], _one_gets_it, names=("ann", "bob", "cyd")
    ),
    "two take over": Race(
        lambda p: [p.next(1), p.next(2)], _one_gets_it, ready=1, expired=True,
        names=("ann", "bob", "cyd"),
    ),
    "claim, late vote": Race(
        lambda p: [p.next(1), p.submit(0)], _counted_or_taken, ready=1, expired=True
    ),
    "claim, late first answer": Race(
        lambda p: [p.next(1), _baseline(p, "late")],
        lambda p, s: s[1] is None and p.state(0) in ("revealed", "lost"),
        before=lambda p: (_claimed(p), p.expire())[1],
    ),
    "claim, reload of the former": Race(
        lambda p: [p.next(1), p.next(0)], lambda p, s: kinds(s).count("Assignment") == 1,
        ready=1, expired=True,
    ),
    "claim, renewal": Race(
        lambda p: [p.next(1), lambda: renew(p.database, p.people[0], p.items[0].id)],
        lambda p, s: isinstance(s[0], Assignment) == (p.state(0) == "lost"),
        ready=1, expired=True,
    ),
    "taker goes back, late vote": Race(
        lambda p: [p.release(1), p.submit(0)],
        lambda p, s: s[0] is None and s[1].counted == (p.state(0) == "submitted"),
        ready=1, expired=True, before=_taken_over,
    ),
    "takeover, late vote, a third": Race(
        lambda p: [p.next(1), p.submit(0), p.next(2)],
        lambda p, s: s[1].counted == (kinds(s).count("Assignment") == 0),
        ready=1, expired=True, names=("ann", "bob", "cyd"),
    ),
    "withdrawal, vote": Race(lambda p: [p.withdraw(0), p.submit(0)], _left_nothing, ready=1),
    "withdrawal, picture": Race(
        lambda p: [
            p.withdraw(0), lambda: asset(p.database, p.people[0], p.items[0].id, "map")
        ], _left_nothing, ready=1,
    ),
    "withdrawal, explanation": Race(
        lambda p: [p.withdraw(0), lambda: reveal(p.database, p.people[0], p.items[0].id)],
        _left_nothing, before=lambda p: (_claimed(p), _baseline(p, "x")())[1],
    ),
    "withdrawal, draft": Race(
        lambda p: [
            p.withdraw(0), lambda: save_draft(p.database, p.people[0], p.items[0].id, {"q1": 1})
        ], _left_nothing, ready=1,
    ),
    "withdrawal, login": Race(
        lambda p: [p.withdraw(0), lambda: begin(p.database, participant_id=p.people[0])],
        _left_nothing,
    ),
    "withdrawal, own claim": Race(lambda p: [p.withdraw(0), p.next(0)], _left_nothing),
    "withdrawal, claim": Race(
        lambda p: [p.withdraw(0), p.next(1)],
        lambda p, s: _left_nothing(p, s) and isinstance(s[1], (Assignment, NothingNow)), ready=1,
    ),
    "withdrawal, takeover": Race(
        lambda p: [p.withdraw(0), p.next(1)],
        lambda p, s: _left_nothing(p, s) and isinstance(s[1], (Assignment, NothingNow)),
        ready=1, expired=True,
    ),
    "withdrawal twice": Race(
        lambda p: [p.withdraw(0), p.withdraw(0)],
        lambda p, s: _left_nothing(p, s)
        and p.all("select count(*) from event where kind = 'withdrawn'") == [(1,)], ready=1,
    ),
    "the same vote twice": Race(lambda p: [p.submit(0), p.submit(0)], _same_receipt, ready=1),
    "two other votes": Race(
        lambda p: [p.submit(0), p.submit(0, q1=1)], _first_payload_stays, ready=1
    ),
    "two other first answers": Race(
        lambda p: [_baseline(p, "ears"), _baseline(p, "eyes")], _one_baseline, before=_claimed
    ),
    "double click": Race(
        lambda p: [p.next(0), p.next(0)], lambda p, s: s[0].id == s[1].id,
        settings={"instances": 2, "votes": 2},
    ),
    "release, vote": Race(
        lambda p: [p.release(0), p.submit(0)], _submitted_or_released, ready=1
    ),
    "draft, vote": Race(
        lambda p: [
            p.submit(0), lambda: save_draft(p.database, p.people[0], p.items[0].id, {"q1": 1})
        ],
        lambda p, s: not p.all("table draft"), ready=1,
    ),
    "taken out, vote": Race(
        lambda p: [
            lambda: invalidate(p.database, p.people[0], staff="eve", reason="a machine"),
            p.submit(0),
        ], _none_counts, ready=1,
    ),
    "close, vote": Race(
        lambda p: [lambda: _close(p), p.submit(0)],
        lambda p, s: kinds(s) in (["NoneType", "Receipt"], ["NoneType", "NotOpen"]), ready=1,
    ),
    "close, withdrawal": Race(
        lambda p: [p.withdraw(0), lambda: _close(p)], _left_nothing, ready=1
    ),
    "close, arrival": Race(lambda p: [lambda: _close(p), _come(p)], _nobody_is_known, names=()),
    "quota, vote": Race(lambda p: [lambda: _quota(p), p.submit(0)], _all_have_new_quota, ready=1),
    "quota, arrival": Race(lambda p: [lambda: _quota(p), _come(p)], _all_have_new_quota),
    "quota, claim": Race(lambda p: [lambda: _quota(p), p.next(0)], _all_have_new_quota),
    "reservations, withdrawal": Race(
        lambda p: [lambda: lift_reservations(p.database, "small", 1, staff="eve"), p.withdraw(0)],
        lambda p, s: kinds(s) == ["int", "NoneType"], before=_rated_all, settings=PLANNED,
    ),
    "consent twice": Race(
        lambda p: [lambda: consent(p.database, p.people[0], p.keys)] * 2,
        lambda p, s: s == [None, None] and p.all("select count(*) from consent") == [(1,)],
        before=_landed, names=(),
    ),
    "arrival twice": Race(lambda p: [_come(p), _come(p)], _same_person),
    "two places of the panel": Race(
        lambda p: [
            lambda who=who: describe_oneself(p.database, who, {}) for who in p.people
        ], _distinct_rows, before=_consented, names=(), settings=PLANNED,
    ),
    "end, claim": Race(
        lambda p: [lambda: finish(p.database, p.people[0]), p.next(0)],
        lambda p, s: isinstance(s[0], WrongStage) and isinstance(s[1], Assignment),
    ),
}  # fmt: skip
__all__ = ["RACES", "Conflict", "Play", "Race", "set_up"]
