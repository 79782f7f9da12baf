"""Pairs of steps that may happen at the same moment, and what must come out of them."""

import copy
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb

from support.study.gates import END, Act, Connection, Gates
from support.study.stepped_study import SteppedStudy, Walker
from theodolite_study.export.data_rules import find_broken_rules
from theodolite_study.store.opening import set_study_state

_numbers = count()
Seen = list[Any]
LEFT = ("consent", "assignment", "baseline", "vote", "session", "draft", "log")
ONE: dict[str, Any] = {"instances": 1, "votes": 1, "quota": 1}
PLANNED = {"instances": 4, "votes": 2, "quota": 4, "settings": {"design": "planned", "panel": 2}}
UNSEATED = {"each explanation has its seats", "the door tells what nobody was promised"}
LAPSED = "update participant set alive_until = clock_timestamp() - interval '1 second'"
LONG_LAPSED = "update participant set alive_until = clock_timestamp() - interval '25 hours'"
OTHERS_STAY = "update participant set alive_until = 'infinity'"
"""The job looks at all studies."""
UNPAID = {"settings": {"pay": {}}, "instances": 4}
"""A study with payments that are not settled cannot be closed."""


@dataclass
class Play:
    """The study and its people before the race begins."""

    study: SteppedStudy
    people: list[Walker] = field(default_factory=list)
    items: list[int] = field(default_factory=list)
    ids: list[UUID] = field(default_factory=list)
    waited: set[int] = field(default_factory=set)

    def does(self, who: int, act: Callable[[Walker], Any]) -> Act:
        """One person's step, by the session of the race."""

        def on(session: Connection) -> Any:
            walker = copy.copy(self.people[who])
            walker.connection = session
            return act(walker)

        return on

    def next(self, who: int) -> Act:
        return self.does(who, lambda walker: walker.next())

    def rate(self, who: int, value: int = 3) -> Act:
        return self.does(who, lambda walker: walker.rates(self.items[who], value))

    def say(self, who: int, words: str) -> Act:
        return self.does(who, lambda walker: walker.says(self.items[who], words))

    def step(self, who: int, name: str, *values: Any) -> Act:
        return self.does(who, lambda walker: walker.step(name, walker.token, *values))

    def withdraw(self, who: int) -> Act:
        return self.does(who, lambda walker: walker.step("st_withdraw", walker.code, True))

    def close(self, session: Connection) -> None:
        with session.transaction():
            set_study_state(session, self.study.study, "closed")

    def state(self, who: int) -> str:
        return str(self.study.one("select state from assignment where id = %s", self.items[who]))


@dataclass(frozen=True)
class Race:
    """What is there, what happens at once, what must hold then."""

    acts: Callable[[Play], Sequence[Act]]
    holds: Callable[[Play, Seen], object] = lambda play, seen: True
    ready: int = 0
    """So many people hold an item and have seen its explanation."""
    people: int = 2
    seats: int | None = None
    """So many are left when the race begins, of one explanation each."""
    expired: bool = False
    begun: bool = True
    """Whether people have agreed; else they have only arrived."""
    before: Callable[[Play], object] = lambda play: None
    settings: dict[str, Any] = field(default_factory=dict)


def set_up(connection: Connection, race: Race) -> Play:
    """The moment before the race."""
    connection.execute(OTHERS_STAY)
    given = {"instances": max(race.people, 2), "votes": 1, "quota": 1} | race.settings
    play = Play(SteppedStudy(connection, slug=f"race{next(_numbers)}", **given))
    for name in ("ann", "bob", "cyd")[: race.people]:
        walker = play.study.person(name)
        assert walker.arrives()["word"] == "ok"
        if race.begun:
            walker.agrees()
            walker.step("st_begin", walker.token)
        play.people.append(walker)
        play.ids.append(play.study.one(
            "select participant_id from session where token_sha256 = %s", walker.token
        ))  # fmt: skip
    if race.seats is not None:
        connection.execute(
            "delete from slot where study_id = %s and id not in"
            " (select id from slot where study_id = %s order by id limit %s)",
            (play.study.study, play.study.study, race.seats),
        )
        connection.execute(
            "update door set available = st_available(version_id) where version_id = %s",
            (play.study.version,),
        )
    for walker in play.people[: race.ready]:
        item = walker.next()["item"]
        walker.says(item)
        walker.item(item)
        play.items.append(item)
    if race.expired:
        expire(play)
    race.before(play)
    return play


def expire(play: Play) -> None:
    play.study.connection.execute(
        "update slot set lease_expires_at = clock_timestamp() - interval '1 s'"
        " where state = 'leased'"
    )


def played(
    connection: Connection, race: Race, gates: Gates, *, name: str, most: int, twice: bool = True
) -> int:
    """One after the other, then in `most` orders of their statements, or in all if it is 0.

    `twice`: also those in which the second stops on its way, too.
    """
    steps, done = [0], 0
    for first in range(len(race.acts(set_up(connection, race)))):
        once(connection, race, gates, (first, END, END))
        steps = [max(pair) for pair in zip(steps + [0] * 9, gates.steps, strict=False)]
        done += 1
    orders = [
        (first, mine, others)
        for first in range(len(steps))
        for mine in range(steps[first] + 1)
        for others in (END, *(range(0, max(steps), 4) if twice else ()))
    ]
    Random(name).shuffle(orders)  # noqa: S311
    orders.sort(key=lambda order: order[2] != END)  # these find the most
    for order in orders[:most] if most else orders:
        once(connection, race, gates, order)
        done += 1
    return done


def once(connection: Connection, race: Race, gates: Gates, order: tuple[int, int, int]) -> None:
    """One order, on a study of its own."""
    play = set_up(connection, race)
    seen = gates.run(race.acts(play), *order)
    play.waited = gates.waited
    for one in seen:
        assert not isinstance(one, BaseException), (order, repr(one))
    broken = {rule.rule for rule in find_broken_rules(connection, play.study.study)}
    if race.seats is not None:  # seats were taken away behind the door's back
        broken -= UNSEATED
    assert not broken, (order, broken, seen)
    assert race.holds(play, seen), (order, seen)


def words(seen: Seen) -> list[str]:
    return sorted(one["word"] for one in seen)


def _one_gets_it(_: Play, seen: Seen) -> bool:
    return sorted(one["go"] for one in seen)[:2] == ["item", "wait"]


def _counted_or_taken(play: Play, seen: Seen) -> bool:
    taken, late = seen[:2]
    state = "submitted" if late["counted"] else "surplus"
    return (taken["go"] == "item") != late["counted"] and play.state(0) == state


def _left_nothing(play: Play, seen: Seen) -> bool:
    person = play.ids[0]
    found = [
        name for name in LEFT if name not in ("baseline", "draft")
        and play.study.one(f"select 1 from {name} where participant_id = %s limit 1", person)
    ]  # fmt: skip
    state = play.study.one("select state from participant where id = %s", person)
    return state == "withdrawn" and not found


def _one_vote(play: Play, seen: Seen) -> bool:
    return play.study.one("select count(*) from vote where participant_id = %s", play.ids[0]) == 1


def _submitted_or_released(play: Play, seen: Seen) -> bool:
    return words(seen) == ["ok", "stage"] and play.state(0) in ("submitted", "released")


def _before_the_end(play: Play, seen: Seen) -> bool:
    late = play.study.one(
        "select count(*) from participant p join study s on s.id = p.study_id"
        " where p.study_id = %s and p.created_at > s.closed_at", play.study.study,
    )  # fmt: skip
    return late == 0


def _one_place(play: Play, seen: Seen) -> bool:
    return words(seen) == ["full", "ok"]


def _fair(play: Play, seen: Seen) -> bool:
    """Whoever agreed has the place, and something was promised to them."""
    agreed = play.study.one(
        "select count(*) from participant p where p.study_id = %s and p.state = 'consented' and"
        " (p.promised = 0 or not exists (select from place q where q.participant_id = p.id"
        " and q.state = 'taken'))", play.study.study,
    )  # fmt: skip
    return agreed == 0


def _same_person(play: Play, seen: Seen) -> bool:
    people = play.study.one(
        "select count(*) from participant where study_id = %s", play.study.study
    )
    return people == 1 and sorted(one["new"] for one in seen) == [False, True]


def _distinct_rows(play: Play, seen: Seen) -> bool:
    rows = play.study.one(
        "select array_agg(design_row order by design_row) from participant where study_id = %s",
        play.study.study,
    )
    return bool(rows == [1, 2])


def _paid_once(play: Play, seen: Seen) -> bool:
    return play.study.one("select count(*) from payout where study_id = %s", play.study.study) == 1


def _taken_over(play: Play) -> None:
    play.items.append(play.people[1].next()["item"])


def _claimed(play: Play) -> None:
    play.items.append(play.people[0].next()["item"])


def _said(play: Play) -> None:
    _claimed(play)
    play.people[0].says(play.items[0])


def _lapsed(play: Play) -> None:
    play.study.connection.execute(LAPSED)


def _long_lapsed(play: Play) -> None:
    play.study.connection.execute(LONG_LAPSED)


def _inactive_and_expired(play: Play) -> None:
    """The first person gave no sign of life; the second one looks for a seat."""
    expire(play)
    play.study.connection.execute(f"{LAPSED} where id = %s", (play.ids[0],))


def _both_away(play: Play) -> None:
    """Both were freed by somebody who took one of the two seats."""
    _lapsed(play)
    dan = play.study.person("dan")
    assert dan.arrives()["word"] == "ok"
    dan.agrees()
    assert play.study.person("eve").arrives()["word"] == "ok"
    play.study.connection.execute(OTHERS_STAY)
    play.study.connection.execute(
        "update participant set promised = 0, away_at = clock_timestamp() where pseudonym = 'p-eve'"
    )
    play.study.connection.execute(
        "update door set available = available + 1 where version_id = %s", (play.study.version,)
    )


def _one_gets_work(play: Play, seen: Seen) -> bool:
    return sorted(one["go"] for one in seen) == ["end", "item"]


def _promises(play: Play) -> int:
    return int(play.study.one(
        "select coalesce(sum(promised), 0) from participant where study_id = %s", play.study.study
    ))  # fmt: skip


def _out_or_at_work(play: Play, seen: Seen) -> bool:
    out = play.study.one("select outcome from participant where id = %s", play.ids[0])
    return (seen[1]["go"] == "end") == (out == "timed_out")


def _freed_or_counted(play: Play, seen: Seen) -> bool:
    return (seen[0]["word"] == "ok") != seen[1]["counted"] and _promises(play) == 1


def _freed_or_alive(play: Play, seen: Seen) -> bool:
    return (seen[0]["word"] == "ok") == (play.state(0) == "lost") and _promises(play) == 1


def _freed_or_at_work(play: Play, seen: Seen) -> bool:
    return (seen[0]["word"] == "ok") == (seen[1]["go"] == "end") and _promises(play) == 1


def _agreed_only(play: Play) -> None:
    for walker in play.people:
        walker.agrees()


def _comes(play: Play, name: str) -> Act:
    return lambda session: play.study.person(name, session).arrives()


def _again(session: Connection, play: Play) -> Any:
    """Goes on with another browser."""
    token = hashlib.sha256(uuid4().bytes).digest()
    walker = play.people[0]
    return session.execute(
        "select st_again(%s, %s, %s, clock_timestamp() + interval '1 hour')",
        (play.study.slug, walker.code, token),
    ).fetchone()[0]  # type: ignore[index]


def _expires(session: Connection) -> Any:
    return session.execute("select job_expire()").fetchone()


def _taken_out(play: Play) -> Act:
    query = "select desk_take_out(%s, null, 'a machine')"
    return lambda session: session.execute(query, (play.ids[0],)).fetchone()[0]  # type: ignore[index]


def _promised(play: Play, who: int) -> Act:
    query = "select desk_promise(%s, 2)"
    return lambda session: session.execute(query, (play.ids[who],)).fetchone()[0]  # type: ignore[index]


def _returns(play: Play) -> Act:
    digest = play.study.one("select submission_digest from participant where id = %s", play.ids[0])
    return lambda session: session.execute("select job_out(%s, 'returned')", (digest,)).fetchone()


def _draft(play: Play) -> None:
    """Another study, not open, whose one text is being changed."""
    play.ids.append(uuid4())
    run = play.study.connection.execute
    run("insert into study (id, slug, title, state, keys_id) values (%s, %s, 'T', 'draft', 'k')",
        (play.ids[-1], f"draft{play.study.slug}"))  # fmt: skip
    (version,) = run(
        "insert into version (study_id, no, instrument, n_votes, quota, lease_seconds, languages,"
        " default_language) values (%s, 1, %s, 1, 1, 60, '{en}', 'en') returning id",
        (play.ids[-1], Jsonb(play.study.instrument)),
    ).fetchone()  # type: ignore[misc]  # fmt: skip
    play.items.append(version)
    run("insert into wording select %s, key, language, key from missing_texts(%s)",
        (version, version))  # fmt: skip


ALL_WORDS = "(select sha256(string_agg(key || body, '' order by key)::bytea) from wording where version_id = v.id)"


def _opens(play: Play) -> Act:
    def opens(session: Connection) -> None:
        with session.transaction():
            session.execute("select from version where id = %s for update", (play.items[0],))
            session.execute(
                f"update version v set state = 'closed', digest = {ALL_WORDS} where id = %s",
                (play.items[0],),
            )

    return opens


def _writes(play: Play) -> Act:
    def writes(session: Connection) -> str:
        try:
            with session.transaction():
                session.execute(
                    "update wording set body = 'other' where version_id = %s", (play.items[0],)
                )
                session.execute("select st_gate()")
        except Exception as error:  # noqa: BLE001  refused: it was opened
            return str(error)
        return "ok"

    return writes


def _sealed_as_written(play: Play, seen: Seen) -> bool:
    return bool(play.study.one(
        f"select digest = {ALL_WORDS} from version v where id = %s", play.items[0]
    ))  # fmt: skip


RACES: dict[str, Race] = {
    "two claim the last seat": Race(
        lambda p: [p.next(0), p.next(1)],
        lambda p, s: _one_gets_it(p, s) and not p.waited, seats=1,
    ),
    "two claim two seats": Race(
        lambda p: [p.next(0), p.next(1)], lambda p, s: [o["go"] for o in s] == ["item", "item"]
    ),
    "three claim the last seat": Race(
        lambda p: [p.next(0), p.next(1), p.next(2)], _one_gets_it, people=3, seats=1
    ),
    "two take over": Race(
        lambda p: [p.next(1), p.next(2)], _one_gets_it, ready=1, expired=True, people=3, seats=1
    ),
    "claim, late vote": Race(
        lambda p: [p.next(1), p.rate(0)], _counted_or_taken, ready=1, expired=True, seats=1
    ),
    "claim, late own answer": Race(
        lambda p: [p.next(1), p.say(0, "late")],
        lambda p, s: s[1]["word"] == "ok" and p.state(0) in ("revealed", "lost"),
        before=lambda p: (_claimed(p), expire(p)), seats=1,
    ),
    "claim, reload of the former": Race(
        lambda p: [p.next(1), p.next(0)],
        lambda p, s: [one["go"] for one in s].count("item") == 1, ready=1, expired=True, seats=1,
    ),
    "claim, sign of life": Race(
        lambda p: [p.next(1), p.step(0, "st_alive", p.items[0])],
        lambda p, s: (s[0]["go"] == "item") == (p.state(0) == "lost"),
        ready=1, expired=True, seats=1,
    ),
    "taker goes back, late vote": Race(
        lambda p: [p.step(1, "st_release", p.items[1], "x"), p.rate(0)],
        lambda p, s: words(s) == ["ok", "ok"] and s[1]["counted"] == (p.state(0) == "submitted"),
        ready=1, expired=True, seats=1, before=_taken_over,
    ),
    "withdrawal, vote": Race(lambda p: [p.withdraw(0), p.rate(0)], _left_nothing, ready=1),
    "withdrawal, look": Race(
        lambda p: [p.withdraw(0), p.step(0, "st_item", p.items[0], True)], _left_nothing,
        before=_said,
    ),
    "withdrawal, own claim": Race(lambda p: [p.withdraw(0), p.next(0)], _left_nothing),
    "withdrawal, takeover": Race(
        lambda p: [p.withdraw(0), p.next(1)], _left_nothing, ready=1, expired=True,
        settings={"instances": 2, "votes": 1, "quota": 1},
    ),
    "withdrawal, comes again": Race(
        lambda p: [p.withdraw(0), _comes(p, "ann")], _left_nothing,
        settings={"instances": 3},
    ),
    "withdrawal, another browser": Race(
        lambda p: [p.withdraw(0), lambda session: _again(session, p)], _left_nothing
    ),
    "withdrawal twice": Race(
        lambda p: [p.withdraw(0), p.withdraw(0)],
        lambda p, s: _left_nothing(p, s) and words(s) == ["not here", "ok"], ready=1,
    ),
    "the same vote twice": Race(
        lambda p: [p.rate(0), p.rate(0)],
        lambda p, s: words(s) == ["ok", "ok"] and _one_vote(p, s), ready=1,
    ),
    "two other votes": Race(
        lambda p: [p.rate(0), p.rate(0, 1)],
        lambda p, s: words(s) == ["conflict", "ok"] and _one_vote(p, s), ready=1,
    ),
    "two other own answers": Race(
        lambda p: [p.say(0, "ears"), p.say(0, "eyes")], lambda p, s: words(s) == ["conflict", "ok"],
        before=_claimed,
    ),
    "double click": Race(
        lambda p: [p.next(0), p.next(0)], lambda p, s: s[0]["item"] == s[1]["item"],
        settings={"instances": 4, "quota": 2},
    ),
    "release, vote": Race(
        lambda p: [p.step(0, "st_release", p.items[0], "x"), p.rate(0)], _submitted_or_released,
        ready=1,
    ),
    "stop, vote": Race(
        lambda p: [p.step(0, "st_leave", "stopped"), p.rate(0)],
        lambda p, s: s[0]["word"] == "ok" and s[1]["word"] in ("ok", "stage"), ready=1,
    ),
    "leaving twice": Race(
        lambda p: [p.step(0, "st_leave", "finished")] * 2,
        lambda p, s: words(s) == ["ok", "ok"] and _paid_once(p, s),
        ready=1, before=lambda p: p.people[0].rates(p.items[0]),
    ),
    "returned at the platform, vote": Race(lambda p: [_returns(p), p.rate(0)], ready=1),
    "close, vote": Race(
        lambda p: [p.close, p.rate(0)], lambda p, s: s[1]["word"] in ("ok", "not open"), ready=1,
        settings=UNPAID,
    ),
    "close, arrival": Race(
        lambda p: [p.close, _comes(p, "dan")], _before_the_end, settings=UNPAID
    ),
    "arrival twice": Race(
        lambda p: [_comes(p, "dan"), _comes(p, "dan")], _same_person, people=0
    ),
    "two come to the last place": Race(
        lambda p: [_comes(p, "dan"), _comes(p, "eve")], _one_place, people=0, settings={"places": 1}
    ),
    "two come to the last promise": Race(
        lambda p: [_comes(p, "dan"), _comes(p, "eve")], _one_place, people=0,
        settings={"instances": 1},
    ),
    "agreeing twice": Race(
        lambda p: [p.does(0, lambda w: w.agrees())] * 2, lambda p, s: words(s) == ["ok", "ok"],
        begun=False,
    ),
    "late to agree, arrival": Race(
        lambda p: [p.does(0, lambda w: w.agrees()), _comes(p, "dan")],
        lambda p, s: _fair(p, s) and _one_place(p, s),
        begun=False, people=1, before=_lapsed, settings={"places": 1},
    ),
    "late to decline, arrival": Race(
        lambda p: [p.step(0, "st_decline"), _comes(p, "dan")], _fair,
        begun=False, people=1, before=_lapsed, settings={"places": 1},
    ),
    "away for a day, returns": Race(
        lambda p: [_expires, p.next(0)], _out_or_at_work, ready=1, people=1, before=_long_lapsed,
    ),
    "away for a day, late vote": Race(
        lambda p: [_expires, p.rate(0)], ready=1, people=1, before=_long_lapsed,
    ),
    "two arrivals free one promise": Race(
        lambda p: [_comes(p, "dan"), _comes(p, "eve")], _one_place,
        begun=False, people=1, before=_lapsed, settings=ONE,
    ),
    "inactive, late vote": Race(
        lambda p: [_comes(p, "dan"), p.rate(0)], _freed_or_counted,
        people=1, ready=1, before=_lapsed, settings=ONE,
    ),
    "inactive, sign of life": Race(
        lambda p: [_comes(p, "dan"), p.step(0, "st_alive", p.items[0])], _freed_or_alive,
        people=1, ready=1, before=_lapsed, settings=ONE,
    ),
    "inactive, returns": Race(
        lambda p: [_comes(p, "dan"), p.next(0)], _freed_or_at_work,
        people=1, ready=1, before=_lapsed, settings=ONE,
    ),
    "inactive, lapsed seat taken": Race(
        lambda p: [_comes(p, "dan"), p.next(1)], ready=1, before=_inactive_and_expired,
        settings={"instances": 2, "votes": 1, "quota": 1},
    ),
    "two who return, one seat": Race(
        lambda p: [p.next(0), p.next(1)], _one_gets_work, before=_both_away,
        settings={"instances": 2, "votes": 1, "quota": 1},
    ),
    "taken out twice": Race(
        lambda p: [_taken_out(p), _taken_out(p)], lambda p, s: sorted(s) == [0, 1],
        ready=1, before=lambda p: p.people[0].rates(p.items[0]),
    ),
    "two are asked for one more": Race(
        lambda p: [_promised(p, 0), _promised(p, 1)], lambda p, s: sorted(s) == [False, True],
        settings={"instances": 3},
    ),
    "two rows of the panel": Race(
        lambda p: [p.step(0, "st_begin"), p.step(1, "st_begin")], _distinct_rows,
        begun=False, before=_agreed_only, settings=PLANNED,
    ),
    "opening, change of a text": Race(
        lambda p: [_opens(p), _writes(p)], _sealed_as_written, people=0, before=_draft
    ),
}  # fmt: skip
