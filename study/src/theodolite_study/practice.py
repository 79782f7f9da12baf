"""Practice before the study: the same steps, with feedback, as often as the study allows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, func, insert, select, update

from theodolite.ext.studies import Box, Instance
from theodolite_study import tables
from theodolite_study.answers import Baseline, Ratings, right
from theodolite_study.assignments import AFTER_ROLES, AT_ONCE, BEFORE_ROLES
from theodolite_study.database import Database
from theodolite_study.events import moment
from theodolite_study.participants import activate, screen_out
from theodolite_study.people import Present, present
from theodolite_study.refusals import Conflict, NotHere, WrongStage
from theodolite_study.rows import Found
from theodolite_study.shown import AssetFile, asset_of, picture_size


@dataclass(frozen=True)
class PracticeItem:
    """One practice item of the current attempt."""

    number: int
    """From 1."""
    of: int
    attempt: int
    instance: Instance
    width: int
    height: int
    baseline: Mapping[str, Any] | None
    answers: Mapping[str, int] | None
    passed: bool | None

    @property
    def before(self) -> bool:
        """Whether one's own answer is still to come."""
        return self.baseline is None


@dataclass(frozen=True)
class Progress:
    """Where somebody is in the practice."""

    attempt: int
    attempts: int
    number: int
    """The item that comes next; one more than there are when all are answered."""
    of: int
    right: int
    """Of the items of this attempt."""
    pass_mark: float


def practice_progress(database: Database, participant_id: UUID) -> Progress:
    """Which item comes next."""
    with database.transaction() as connection:
        who = present(connection, participant_id)
        return _progress(connection, who)


def practice_item(database: Database, participant_id: UUID, number: int) -> PracticeItem:
    """An item up to the current one; later ones are not here yet."""
    with database.transaction() as connection:
        who = present(connection, participant_id)
        return _item(connection, who, number)


def practice_baseline(
    database: Database, participant_id: UUID, number: int, given: Baseline
) -> None:
    """Keep what the person sees."""
    with database.transaction() as connection:
        who = present(connection, participant_id, lock=True)
        who.need("open", "paused")
        item = _item(connection, who, number)
        checked = given.checked(item.width, item.height)
        content = {"text": checked.text, "boxes": checked.plain()}
        if item.baseline is not None:
            if dict(item.baseline) != content:
                raise Conflict("Your first answer is stored already and stays as it was.")
            return
        connection.execute(
            insert(tables.practice).values(
                participant_id=participant_id, instance_id=_number(connection, who, number),
                attempt=item.attempt, baseline=content,
            )
        )  # fmt: skip


def practice_reveal(database: Database, participant_id: UUID, number: int) -> PracticeItem:
    """The explanation, after one's own answer."""
    with database.transaction() as connection:
        who = present(connection, participant_id)
        item = _item(connection, who, number)
        _stamp(connection, who, number, item)
        return item


def practice_asset(database: Database, participant_id: UUID, number: int, role: str) -> AssetFile:
    """A picture of a practice item; those of the explanation after one's own answer."""
    with database.transaction() as connection:
        who = present(connection, participant_id)
        item = _item(connection, who, number)
        if role in AFTER_ROLES:
            _stamp(connection, who, number, item)
        elif role not in BEFORE_ROLES:
            raise NotHere
        return asset_of(connection, _number(connection, who, number), item.instance, role)


def practice_answer(
    database: Database, participant_id: UUID, number: int, given: Ratings
) -> PracticeItem:
    """Grade the ratings; after the last item it is decided whether the person goes on."""
    with database.transaction() as connection:
        who = present(connection, participant_id, lock=True)
        who.need("open", "paused")
        item = _item(connection, who, number)
        checked = given.checked(who.protocol, item.instance)
        if item.answers is not None:
            if dict(item.answers) != dict(checked.answers):
                raise Conflict("Your ratings are stored already and stay as they were.")
            return item
        if item.baseline is None:
            raise WrongStage("First say what you see yourself.")
        boxes = [Box.model_validate(box) for box in item.baseline["boxes"]]
        check = item.instance.check
        passed = check is None or right(check, checked.answers, boxes)
        stored = connection.execute(
            update(tables.practice)
            .where(
                *_this(connection, who, number, item), tables.practice.c.revealed_at.is_not(None)
            )
            .values(
                answers=dict(checked.answers), passed=passed, answered_at=func.clock_timestamp()
            )
        ).rowcount
        if not stored:
            raise WrongStage("First look at the explanation.")
        return _item(connection, who, number)


def practice_end(database: Database, participant_id: UUID) -> str:
    """After the feedback of the last item: what the person is now.

    Enough right: active. Not enough: the practice begins anew, or, after the last attempt, the
    person does not go on.
    """
    with database.transaction() as connection:
        who = present(connection, participant_id, lock=True)
        if who.participant.state != "training":
            return who.participant.state
        who.need("open", "paused")
        at = _progress(connection, who)
        if at.number <= at.of:
            raise WrongStage("There is more to practise.")
        if at.right >= at.pass_mark * at.of:
            activate(connection, who)
        elif at.attempt >= at.attempts:
            screen_out(connection, who, "practice")
        else:
            _begin_anew(connection, who, at.attempt + 1)
        return present(connection, participant_id).participant.state


def _begin_anew(connection: Connection, who: Present, attempt: int) -> None:
    """The flag says which attempt runs: rows of attempts come only with answers."""
    connection.execute(
        update(tables.participant)
        .where(tables.participant.c.id == who.participant.id)
        .values(flags=[f"practice {attempt}"])
    )


def _attempt(connection: Connection, who: Present) -> int:
    flags = connection.execute(
        select(tables.participant.c.flags).where(tables.participant.c.id == who.participant.id)
    ).scalar_one()
    return next((int(flag.split()[1]) for flag in flags if flag.startswith("practice ")), 1)


def _instances(connection: Connection, who: Present) -> list[Found]:
    return list(
        connection.execute(
            select(tables.instance)
            .where(
                tables.instance.c.study_id == who.participant.study_id,
                tables.instance.c.kind == "training",
            )
            .order_by(tables.instance.c.place)
        )
    )


def _number(connection: Connection, who: Present, number: int) -> int:
    return int(_instances(connection, who)[number - 1].id)


def _rows(connection: Connection, who: Present, attempt: int) -> dict[int, Found]:
    return {
        row.instance_id: row
        for row in connection.execute(
            select(tables.practice).where(
                tables.practice.c.participant_id == who.participant.id,
                tables.practice.c.attempt == attempt,
            )
        )
    }


def _progress(connection: Connection, who: Present) -> Progress:
    attempt = _attempt(connection, who)
    instances, rows = _instances(connection, who), _rows(connection, who, attempt)
    answered = [rows[one.id] for one in instances if one.id in rows and rows[one.id].answers]
    return Progress(
        attempt=attempt, attempts=who.protocol.training.attempts, number=len(answered) + 1,
        of=len(instances), right=sum(bool(row.passed) for row in answered),
        pass_mark=who.protocol.training.pass_mark,
    )  # fmt: skip


def _item(connection: Connection, who: Present, number: int) -> PracticeItem:
    if who.participant.state not in ("training", "active", "finished"):
        raise WrongStage("There is something to do before.")
    instances = _instances(connection, who)
    attempt = _attempt(connection, who)
    rows = _rows(connection, who, attempt)
    answered = sum(one.id in rows and rows[one.id].answers is not None for one in instances)
    if not 1 <= number <= min(answered + 1, len(instances)):
        raise NotHere
    row = instances[number - 1]
    instance = Instance.model_validate(row.record)
    width, height = picture_size(connection, row.id, instance.shown.picture)
    said = rows.get(row.id)
    return PracticeItem(
        number=number, of=len(instances), attempt=attempt, instance=instance, width=width,
        height=height, baseline=None if said is None else said.baseline,
        answers=None if said is None else said.answers,
        passed=None if said is None else said.passed,
    )  # fmt: skip


def _this(connection: Connection, who: Present, number: int, item: PracticeItem) -> list[Any]:
    return [
        tables.practice.c.participant_id == who.participant.id,
        tables.practice.c.instance_id == _number(connection, who, number),
        tables.practice.c.attempt == item.attempt,
    ]


def _stamp(connection: Connection, who: Present, number: int, item: PracticeItem) -> None:
    if item.baseline is None:
        raise WrongStage("First say what you see yourself.")
    connection.execute(
        update(tables.practice)
        .where(*_this(connection, who, number, item), tables.practice.c.revealed_at.is_(None))
        .values(revealed_at=moment(tables.practice.c.baseline_at + AT_ONCE))
    )
