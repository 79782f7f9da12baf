"""A study in plain Python, without a database: what each step must lead to."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from theodolite_study.refusals import (
    Conflict,
    NotHere,
    NothingNow,
    NotOpen,
    StudyRefusal,
    WrongStage,
)

LIVE = ("leased", "revealed")
GONE = ("withdrawn", "declined", "screened_out")


def refuse(kind: type[StudyRefusal]) -> StudyRefusal:
    return NothingNow("", 1) if kind is NothingNow else kind("")


@dataclass
class Seat:
    id: int
    instance: str
    number: int
    chance: float
    kept_for: int | None
    planned: int | None
    state: str = "open"
    holder: int | None = None
    lapsed: bool = False


@dataclass
class Item:
    instance: str
    seat: Seat | None
    place: int
    id: int = 0
    state: str = "leased"
    said: str | None = None
    seen: bool = False
    rated: dict[str, int] | None = None


@dataclass
class Person:
    name: str
    state: str = "landed"
    quota: int = 0
    row: int | None = None
    items: list[Item] = field(default_factory=list)

    @property
    def live(self) -> Item | None:
        return next((item for item in self.items if item.state in LIVE), None)


@dataclass
class Model:
    settings: dict[str, Any]
    seats: list[Seat]
    pictures: dict[str, str]
    """Of each explanation."""
    checks: list[str]
    state: str = "open"
    people: list[Person] = field(default_factory=list)
    barred: set[str] = field(default_factory=set)

    def need(self, *states: str) -> None:
        if self.state not in states:
            raise refuse(NotOpen)

    def arrive(self, name: str) -> Person:
        known = [p for p in self.people if p.name == name and p.state != "withdrawn"]
        if known:
            return known[0]
        self.need("open")
        if name in self.barred:
            raise refuse(NotOpen)
        self.people.append(Person(name, quota=self.settings["quota"]))
        return self.people[-1]

    def consent(self, who: Person) -> None:
        if who.state in GONE:
            raise refuse(WrongStage)
        if who.state == "landed":
            self.need("open")
            who.state = "consented"

    def describe(self, who: Person) -> None:
        if who.state in (*GONE, "landed"):
            raise refuse(WrongStage)
        if who.state != "consented":
            return
        self.need("open")
        if self.settings["design"] == "planned":
            taken = {p.row for p in self.people}
            rows = range(1, self.settings["panel"] + 1)
            who.row = next((row for row in rows if row not in taken), None)
            if who.row is None:
                raise refuse(NotOpen)
        who.state = "active"

    def next(self, who: Person) -> Item | str:
        if who.state == "finished":
            return "finished"
        if who.state != "active":
            raise refuse(WrongStage)
        self.need("open", "paused")
        if who.live:
            self.renew(who, who.live)
            return who.live
        self.need("open")
        if self.enough(who):
            return "quota"
        check = self.check_due(who)
        if check is not None:
            return self.begin(who, check, None)
        seats = sorted(filter(self.free, self.possible(who)), key=self.order)
        if not seats:
            if list(self.possible(who)):
                raise refuse(NothingNow)
            return "nothing left"
        for other in self.people:
            for item in other.items:
                if item.id == seats[0].holder and item.state in LIVE:
                    item.state = "lost"
        return self.begin(who, seats[0].instance, seats[0])

    def enough(self, who: Person) -> bool:
        return sum(item.state == "submitted" for item in who.items) >= who.quota

    def check_due(self, who: Person) -> str | None:
        real = sum(item.seat is not None for item in who.items)
        if len(who.items) - real >= real // self.settings["every"]:
            return None
        met = {item.instance for item in who.items}
        return next((check for check in self.checks if check not in met), None)

    def order(self, seat: Seat) -> tuple[float, ...]:
        planned = float("inf") if seat.planned is None else float(seat.planned)
        return (seat.kept_for is None, planned, seat.number, seat.chance)

    def free(self, seat: Seat) -> bool:
        return seat.state == "open" or (seat.state == "leased" and seat.lapsed)

    def possible(self, who: Person) -> list[Seat]:
        seen = [self.pictures[item.instance] for item in who.items]
        gap, most = self.settings["gap"], self.settings["most"]
        recent = seen[-gap:] if gap else []
        often = [key for key, times in Counter(seen).items() if most and times >= most]
        met = {item.instance for item in who.items}
        own = {s.instance for s in self.seats if s.state != "filled" and s.kept_for == who.row}
        return [
            seat
            for seat in self.seats
            if seat.state != "filled"
            and seat.instance not in met
            and self.pictures[seat.instance] not in {*recent, *often}
            and (seat.kept_for == who.row if seat.kept_for else who.row is None or seat.instance not in own)
        ]  # fmt: skip

    def begin(self, who: Person, instance: str, seat: Seat | None) -> Item:
        item = Item(instance, seat, len(who.items) + 1)
        if self.settings["once"]:
            same = [i for i in who.items if self.pictures[i.instance] == self.pictures[instance]]
            item.said = next((i.said for i in same if i.said is not None), None)
            item.state = "leased" if item.said is None else "revealed"
        who.items.append(item)
        if seat is not None:
            seat.state, seat.lapsed = "leased", False
        return item

    def renew(self, who: Person, item: Item) -> bool:
        held = item.seat is not None and item.seat.holder == item.id
        if held and item.seat.state == "leased":
            item.seat.lapsed = False
        return bool(held and item.seat.state == "leased")

    def say(self, who: Person, item: Item, words: str) -> None:
        if item.said is not None:
            if item.said != words:
                raise refuse(Conflict)
            return
        self.need("open", "paused")
        if item.state not in ("leased", "lost"):
            raise refuse(WrongStage)
        self.renew(who, item)
        item.said = words
        item.state = "revealed" if item.state == "leased" else item.state

    def reveal(self, who: Person, item: Item) -> None:
        if item.said is None:
            raise refuse(WrongStage)
        self.renew(who, item)
        item.seen = True

    def rate(self, who: Person, item: Item, answers: dict[str, int]) -> bool:
        if item.rated is not None:
            if item.rated != answers:
                raise refuse(Conflict)
            return item.state == "submitted"
        self.need("open", "paused")
        if item.state not in (*LIVE, "lost") or item.said is None or not item.seen:
            raise refuse(WrongStage)
        item.rated = answers
        if item.seat is None:
            item.state = "checked"
            wrong = [i for i in who.items if i.state == "checked" and i.rated["q3"] != 2]
            failed = answers["q3"] != 2 and len(wrong) > self.settings["allowed"]
            if failed and self.settings["then"] == "screen_out":
                who.state, who.row = "screened_out", None
            return False
        mine = item.seat.holder == item.id or item.seat.holder is None
        counted = who.state in ("active", "finished") and mine
        item.state = "submitted" if counted else "surplus"
        if counted:
            item.seat.state, item.seat.holder, item.seat.lapsed = "filled", item.id, False
        return counted

    def release(self, who: Person, item: Item) -> None:
        if item.state == "released":
            return
        if item.state not in LIVE:
            raise refuse(WrongStage)
        item.state = "released"
        if item.seat is not None:
            self.vacate(item.seat)
            item.seat.kept_for = None

    def vacate(self, seat: Seat) -> None:
        seat.state, seat.holder, seat.lapsed = "open", None, False

    def leave(self, who: Person) -> None:
        for item in who.items:
            if item.seat is not None and item.seat.holder == item.id:
                self.vacate(item.seat)
        who.row = None

    def withdraw(self, who: Person) -> None:
        self.leave(who)
        if who.state == "screened_out":
            self.barred.add(who.name)
        who.state, who.items = "withdrawn", []

    def invalidate(self, who: Person) -> int:
        if who.state == "withdrawn":
            raise refuse(NotHere)
        if who.state in ("landed", "declined"):
            raise refuse(WrongStage)
        self.leave(who)
        who.state = "screened_out"
        votes = sum(item.state == "submitted" for item in who.items)
        for item in who.items:
            item.state = {"submitted": "surplus", "leased": "lost", "revealed": "lost"}.get(
                item.state, item.state
            )
        return votes

    def finish(self, who: Person) -> None:
        if who.state == "finished":
            return
        if who.state != "active":
            raise refuse(WrongStage)
        over = self.state == "closed"
        if who.live is not None:
            if not over:
                raise refuse(WrongStage)
            self.release(who, who.live)
        elif not over and not self.enough(who) and any(map(self.free, self.possible(who))):
            self.need("open")
            raise refuse(WrongStage)
        for seat in self.seats:
            if who.row is not None and seat.kept_for == who.row and seat.state != "filled":
                seat.kept_for = None
        who.state = "finished"

    def become(self, state: str) -> None:
        allowed = {"open": ("paused",), "paused": ("open",), "closed": ("open", "paused")}
        if state != self.state and self.state not in allowed[state]:
            raise refuse(WrongStage)
        self.state = state

    def stuck(self) -> list[Seat]:
        """Seats that nobody, not even a newcomer, could take once all leases have lapsed."""
        found = []
        for seat in self.seats:
            whose = [p for p in self.people if seat.kept_for and p.row == seat.kept_for]
            for who in whose:
                met = any(i.instance == seat.instance and i.id != seat.holder for i in who.items)
                if seat.state != "filled" and (who.state != "active" or met):
                    found.append(seat)
        return found
