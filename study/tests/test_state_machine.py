"""A random life of a study on a real PostgreSQL, beside a model of it in plain Python."""

import os
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import text

from support.study.kept_state import NAMES, bring_back, keep_state
from support.study.small_study import ANSWERS, TWINS, opened, said, study_folder
from support.study.study_model import Item, Model, Person, Seat
from theodolite_study.answers import Ratings
from theodolite_study.assignments import (
    AFTER_ROLES,
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
from theodolite_study.invariants import violations
from theodolite_study.keys import Keys
from theodolite_study.lifecycle import become, set_quota
from theodolite_study.participants import arrive, consent, describe_oneself, finish
from theodolite_study.platforms.identity import Identity
from theodolite_study.refusals import NotHere, StudyRefusal, WrongStage
from theodolite_study.sessions import begin
from theodolite_study.votes import submit
from theodolite_study.withdrawal import invalidate, withdraw

EXAMPLES = int(os.environ.get("THEODOLITE_STUDY_EXAMPLES", "8"))
STEPS = 40
NAMED = ("ann", "bob", "cyd", "dan")
CHECKS = {"every": 2, "allowed": 0, "then": "screen_out"}
STUDIES: dict[str, dict[str, Any]] = {
    "plain": {"instances": 3},
    "once": {"instances": 4, "votes": 1, "pictures": 2, "baseline": "once_per_image"},
    "apart": {"instances": 5, "votes": 1, "pictures": 2, "same_picture_gap": 1},
    "seldom": {"instances": 4, "pictures": 2, "same_picture_most": 1, "quota": 2},
    "planned": {"instances": 6, "design": "planned", "panel": 3, "quota": 4},
    "checked": {"instances": 5, "votes": 1, "gold": 2, "checks": CHECKS},
    "all": {
        "instances": 6, "design": "planned", "panel": 3, "quota": 4, "gold": 1, "pictures": 4,
        "baseline": "once_per_image", "checks": CHECKS | {"then": "flag"},
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def studies(one_database: Database, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Keys]:
    folder = tmp_path_factory.mktemp("studies")
    made = {
        slug: opened(one_database, study_folder(folder / slug, slug=slug, **given))
        for slug, given in STUDIES.items()
    }
    keep_state(one_database)
    return made


def settings_of(slug: str) -> dict[str, Any]:
    given = STUDIES[slug]
    checks = given.get("checks", {"every": 20, "allowed": 1, "then": "flag"})
    return {
        "quota": given.get("quota", 20), "design": given.get("design", "dynamic"),
        "panel": given.get("panel"), "gap": given.get("same_picture_gap", 0),
        "most": given.get("same_picture_most"), "once": "baseline" in given, **checks,
    }  # fmt: skip


class StudyLife(RuleBasedStateMachine):
    database: Database
    keys: dict[str, Keys]

    @initialize(slug=st.sampled_from(sorted(STUDIES)))
    def opens(self, slug: str) -> None:
        bring_back(self.database)
        self.slug, self.ids, self.receipts = slug, {}, {}
        self.gone: list[str] = []
        rows = self.rows(
            "select s.id, i.key, s.slot_no, s.rnd, s.reserved_for, s.planned_position from slot s "
            "join instance i on i.id = s.instance_id join study t on t.id = i.study_id "
            f"where t.slug = '{slug}'"
        )
        instances = self.rows(
            "select i.key, i.picture_key, i.kind from instance i join study t "
            f"on t.id = i.study_id where t.slug = '{slug}' order by i.place"
        )
        self.model = Model(
            settings_of(slug), [Seat(*row) for row in rows],
            {key: picture for key, picture, _ in instances},
            [key for key, _, kind in instances if kind == "gold"],
        )  # fmt: skip

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.database.owning() as connection:
            return [tuple(row) for row in connection.execute(text(query))]

    def agree(self, real: Callable[[], Any], model: Callable[[], Any]) -> tuple[Any, Any]:
        """Both do it, or both refuse it in the same way."""
        expected: Any = None
        refused: type | None = None
        try:
            expected = model()
        except StudyRefusal as error:
            refused = type(error)
        try:
            got = real()
        except StudyRefusal as error:
            assert type(error) is refused, f"{error!r}, model: {refused or expected}"
            return None, None
        assert refused is None, f"{got}, model: {refused}"
        return got, expected

    def person(self, draw: int) -> tuple[Person, UUID]:
        who = self.model.people[draw % len(self.model.people)]
        return who, self.ids[id(who)]

    def item(self, draw: int, which: int) -> tuple[Person, UUID, Item]:
        """Mostly the newest: the older ones are closed in most ways."""
        having = [p for p in self.model.people if p.items] or self.model.people
        who = having[draw % len(having)]
        item = who.items[-1 - (which % min(2, len(who.items)))] if who.items else Item("", None, 0)
        return who, self.ids[id(who)], item

    # people

    @rule(name=st.sampled_from(NAMED))
    def comes(self, name: str) -> None:
        identity = Identity("link", f"raw-{name}")
        got, who = self.agree(
            lambda: arrive(self.database, self.slug, identity, self.keys[self.slug]),
            lambda: self.model.arrive(name),
        )
        if got is not None:
            self.ids.setdefault(id(who), got.participant.id)
            if got.new:  # who comes again after withdrawing is known again
                known = self.rows("select encode(person, 'hex') from participant")
                self.gone = [trace for trace in self.gone if (trace,) not in known]
            assert self.ids[id(who)] == got.participant.id

    @rule(name=st.sampled_from(NAMED))
    def joins(self, name: str) -> None:
        self.comes(name)
        if self.model.people and self.model.people[-1].name == name:
            self.agrees(len(self.model.people) - 1)
            self.describes(len(self.model.people) - 1)

    @precondition(lambda self: self.model.people)
    @rule(draw=st.integers(0, 9))
    def agrees(self, draw: int) -> None:
        who, number = self.person(draw)
        self.agree(
            lambda: consent(self.database, number, self.keys[self.slug]),
            lambda: self.model.consent(who),
        )

    @precondition(lambda self: self.model.people)
    @rule(draw=st.integers(0, 9))
    def describes(self, draw: int) -> None:
        who, number = self.person(draw)
        about = {"country": "CH", "age_band": "25–34"}
        self.agree(
            lambda: describe_oneself(self.database, number, about),
            lambda: self.model.describe(who),
        )

    @precondition(lambda self: self.model.people)
    @rule(draw=st.integers(0, 9))
    def logs_in(self, draw: int) -> None:
        who, number = self.person(draw)
        if who.state != "withdrawn":
            begin(self.database, participant_id=number)

    @precondition(lambda self: self.model.people)
    @rule(draw=st.integers(0, 9))
    def ends(self, draw: int) -> None:
        who, number = self.person(draw)
        self.agree(lambda: finish(self.database, number), lambda: self.model.finish(who))

    @precondition(lambda self: self.model.people)
    @rule(draw=st.integers(0, 9), often=st.integers(0, 3))
    def withdraws(self, draw: int, often: int) -> None:
        who, number = self.person(draw)
        if often or who.state == "withdrawn":  # not too often, or nothing else is seen
            return
        self.gone += [str(number), *self.rows(
            f"select pseudonym, encode(person, 'hex') from participant where id = '{number}'"
        )[0], f"words of {who.name} {number}"]  # fmt: skip
        withdraw(self.database, number)
        withdraw(self.database, number)
        self.model.withdraw(who)

    @precondition(lambda self: self.model.people)
    @rule(draw=st.integers(0, 9), often=st.integers(0, 3))
    def is_taken_out(self, draw: int, often: int) -> None:
        who, number = self.person(draw)
        if not often:
            got, votes = self.agree(
                lambda: invalidate(self.database, number, staff="eve", reason="a machine"),
                lambda: self.model.invalidate(who),
            )
            assert got == votes

    # items

    @precondition(lambda self: self.model.people)
    @rule(draw=st.integers(0, 9))
    def next(self, draw: int) -> None:
        who, number = self.person(draw)
        got, expected = self.agree(
            lambda: next_assignment(self.database, number), lambda: self.model.next(who)
        )
        if isinstance(expected, Item):
            assert (got.instance.key, got.position) == (expected.instance, expected.place)
            assert got.before == (expected.said is None)
            expected.id = expected.id or got.id
            assert expected.id == got.id
            if expected.seat is not None:
                expected.seat.holder = got.id
        elif expected is not None:
            assert got == Done(expected)

    @precondition(lambda self: any(p.items for p in self.model.people))
    @rule(draw=st.integers(0, 9), which=st.integers(0, 3), other=st.integers(0, 3))
    def says(self, draw: int, which: int, other: int) -> None:
        who, number, item = self.item(draw, which)
        words = f"words of {who.name} {number}" + ("" if other else " again")
        self.agree(
            lambda: store_baseline(self.database, number, item.id, said(words)),
            lambda: self.model.say(who, item, words),
        )

    @precondition(lambda self: any(p.items for p in self.model.people))
    @rule(draw=st.integers(0, 9), which=st.integers(0, 3))
    def looks(self, draw: int, which: int) -> None:
        who, number, item = self.item(draw, which)
        got, _ = self.agree(
            lambda: reveal(self.database, number, item.id), lambda: self.model.reveal(who, item)
        )
        assert got is None or got.baseline["text"] == item.said

    @precondition(lambda self: any(p.items for p in self.model.people))
    @rule(draw=st.integers(0, 9), which=st.integers(0, 3), role=st.sampled_from(AFTER_ROLES))
    def peeks(self, draw: int, which: int, role: str) -> None:
        _, number, item = self.item(draw, which)
        if item.said is None:
            with pytest.raises(WrongStage):
                asset(self.database, number, item.id, role)
            assert asset(self.database, number, item.id, "picture").mime == "image/png"

    @precondition(lambda self: any(p.items for p in self.model.people))
    @rule(draw=st.integers(0, 9), which=st.integers(0, 3), value=st.sampled_from([2, 2, 4]))
    def rates(self, draw: int, which: int, value: int) -> None:
        who, number, item = self.item(draw, which)
        twins = TWINS if int(item.instance.lstrip("realgodtin")) % 2 == 0 else {}
        answers = ANSWERS | twins | {"q3": value}
        got, counted = self.agree(
            lambda: submit(self.database, number, item.id, Ratings(answers, uuid4())),
            lambda: self.model.rate(who, item, answers),
        )
        if got is not None:
            assert got.counted == counted
            known = self.receipts.setdefault(item.id, (number, got.payload_sha256, got.at))
            assert known == (number, got.payload_sha256, got.at)

    @precondition(lambda self: self.model.people)
    @rule(draw=st.integers(0, 9), value=st.sampled_from([2, 2, 4]))
    def does_one(self, draw: int, value: int) -> None:
        """All steps of one item, so that studies come to their end."""
        self.next(draw)
        who, _ = self.person(draw)
        having = [p for p in self.model.people if p.items]
        if who.live is not None:
            at = having.index(who)
            self.says(at, 0, 1)
            self.looks(at, 0)
            self.rates(at, 0, value)

    @precondition(lambda self: any(p.items for p in self.model.people))
    @rule(draw=st.integers(0, 9), which=st.integers(0, 3))
    def gives_back(self, draw: int, which: int) -> None:
        who, number, item = self.item(draw, which)
        self.agree(
            lambda: release(self.database, number, item.id, f"words of {who.name} {number}"),
            lambda: self.model.release(who, item),
        )

    @precondition(lambda self: any(p.items for p in self.model.people))
    @rule(draw=st.integers(0, 9), which=st.integers(0, 3))
    def stays_or_drafts(self, draw: int, which: int) -> None:
        who, number, item = self.item(draw, which)
        until = renew(self.database, number, item.id)
        assert (until is not None) == self.model.renew(who, item)
        save_draft(self.database, number, item.id, {"text": f"words of {who.name} {number}"})

    @precondition(lambda self: any(p.items for p in self.model.people))
    @rule(draw=st.integers(0, 9), other=st.integers(0, 9))
    def tries_anothers(self, draw: int, other: int) -> None:
        who, _, item = self.item(draw, 0)
        stranger, number = self.person(other)
        if stranger is not who:
            for call in (assignment, reveal, renew):
                with pytest.raises(NotHere):
                    call(self.database, number, item.id)
            with pytest.raises(NotHere):
                submit(self.database, number, item.id, Ratings(ANSWERS, uuid4()))
            with pytest.raises(NotHere):
                asset(self.database, number, item.id, "picture")

    # the study

    @rule()
    def leases_lapse(self) -> None:
        with self.database.owning() as connection:
            connection.execute(
                text("update slot set lease_expires_at = now() - interval '1 s' "
                     "where state = 'leased'")
            )  # fmt: skip
        for seat in self.model.seats:
            seat.lapsed = seat.state == "leased"

    @rule(state=st.sampled_from(["open", "open", "paused", "closed"]), often=st.integers(0, 4))
    def changes(self, state: str, often: int) -> None:
        if state == "open" or not often:
            self.agree(
                lambda: become(self.database, self.slug, state, staff="eve"),
                lambda: self.model.become(state),
            )

    @rule(quota=st.sampled_from([0, 1, 3, 20]), draw=st.integers(0, 9), one=st.booleans())
    def quota_changes(self, quota: int, draw: int, one: bool) -> None:
        name = None
        people = self.model.people
        if one and people:
            who, number = self.person(draw)
            people = [who]
            name = self.rows(f"select pseudonym from participant where id = '{number}'")[0][0]
        elif not one:
            self.model.settings["quota"] = quota
        if people or not one:
            set_quota(self.database, self.slug, quota, staff="eve", pseudonym=name)
            for who in people:
                who.quota = quota

    @rule()
    def starts_anew(self) -> None:
        """The server ends and another one begins."""
        self.database.close()
        type(self).database = Database(self.database.url)

    # what must hold

    @invariant()
    def nothing_is_broken(self) -> None:
        assert violations(self.database) == []

    @invariant()
    def is_as_the_model_says(self) -> None:
        if not hasattr(self, "model"):
            return
        study = f"(select id from study where slug = '{self.slug}')"
        people = {
            row[0]: row[1:]
            for row in self.rows(f"select id, state, quota, design_row from participant where study_id = {study}")
        }  # fmt: skip
        assert people == {
            self.ids[id(p)]: (p.state, p.quota, p.row) for p in self.model.people
        }  # fmt: skip
        items = self.rows(
            "select a.id, a.state, b.text, a.revealed_at is not null from assignment a "
            "left join baseline b on b.assignment_id = a.id order by 1"
        )
        assert items == sorted(
            (i.id, i.state, i.said, i.seen) for p in self.model.people for i in p.items
        )
        seats = self.rows(
            f"select id, state, assignment_id, reserved_for from slot where study_id = {study} "
            "order by 1"
        )
        assert seats == sorted((s.id, s.state, s.holder, s.kept_for) for s in self.model.seats)

    @invariant()
    def what_was_acknowledged_is_stored(self) -> None:
        stored = dict(self.rows(
            "select assignment_id, encode(payload_sha256, 'hex') from vote union all "
            "select assignment_id, encode(payload_sha256, 'hex') from gold_result"
        ))  # fmt: skip
        here = {self.ids[id(p)] for p in self._people() if p.state != "withdrawn"}
        for number, (who, digest, _) in getattr(self, "receipts", {}).items():
            assert stored.get(number) == (digest if who in here else None)

    def _people(self) -> list[Person]:
        return self.model.people if hasattr(self, "model") else []

    @invariant()
    def every_seat_can_be_taken_by_somebody(self) -> None:
        if hasattr(self, "model"):
            assert self.model.stuck() == []

    @invariant()
    def whoever_withdrew_is_nowhere(self) -> None:
        for number, row in self._everything():
            for trace in self.gone:
                allowed = number == "participant" and row.startswith(f"({trace},")
                assert allowed or trace not in row, f"{trace} in {number}: {row}"

    def _everything(self) -> Iterator[tuple[str, str]]:
        if getattr(self, "gone", []):
            every = " union all ".join(f"select '{t}', {t}::text from {t}" for t in NAMES)
            yield from ((name, row) for name, row in self.rows(every))

    def teardown(self) -> None:
        """Once all leases have lapsed newcomers can do all that is left."""
        if getattr(self, "slug", "") in ("plain", "once", "apart", "checked"):
            self.leases_lapse()
            self.quota_changes(20, 0, one=False)
            if self.model.state == "paused":
                self.changes("open", 0)
            for n in range(8 * (self.model.state == "open")):
                if all(seat.state == "filled" for seat in self.model.seats):
                    break
                self.joins(f"new{n}")
                newest = len(self.model.people) - 1
                while isinstance(self._last_done(newest), Item):
                    self.is_as_the_model_says()
            assert self.model.state == "closed" or {s.state for s in self.model.seats} == {"filled"}
            assert violations(self.database) == []

    def _last_done(self, draw: int) -> Item | None:
        who, _ = self.person(draw)
        before = len(who.items)
        self.does_one(draw, 2)
        return who.items[-1] if len(who.items) > before else None


def test_a_study_lives_as_the_model_says(one_database: Database, studies: dict[str, Keys]) -> None:
    StudyLife.database, StudyLife.keys = Database(one_database.url), studies
    try:
        run_state_machine_as_test(
            StudyLife,
            settings=settings(
                max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None,
                suppress_health_check=list(HealthCheck), derandomize=EXAMPLES < 100,
                phases=[Phase.generate] if EXAMPLES < 100 else list(Phase),  # shrinking is slow
            ),
        )  # fmt: skip
    finally:
        StudyLife.database.close()
