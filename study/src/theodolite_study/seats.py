"""Which seats of a study somebody may take."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, and_, func, or_, select

from theodolite_study import tables
from theodolite_study.people import Present
from theodolite_study.refusals import NothingNow
from theodolite_study.rows import Found

LONGEST_WAIT = 60
BESIDE = tables.slot.join(tables.instance, tables.instance.c.id == tables.slot.c.instance_id)


def free_seat(
    connection: Connection, who: Present, own: Sequence[Found], *, lock: bool = True
) -> Found | None:
    """A free seat, of those that others do not hold just now.

    Of a plan: those kept for the person, in their order, then those that are anybody's. Without:
    breadth first, then at random.
    """
    order = [tables.slot.c.slot_no, tables.slot.c.rnd]
    if who.participant.design_row is not None:
        order.insert(0, tables.slot.c.planned_position)
    query: Select[Any] = (
        select(
            tables.slot.c.id,
            tables.slot.c.instance_id,
            tables.slot.c.assignment_id,
            tables.instance.c.picture_key,
        )
        .select_from(BESIDE)
        .where(_eligible(who), *_apart(who, own), _free())
        .order_by(*order)
        .limit(1)
    )
    if lock:
        query = query.with_for_update(of=tables.slot, skip_locked=True)
    # one after the other: each of them follows an index, both together would not
    for whose in _turns(who):
        found = connection.execute(query.where(whose)).first()
        if found is not None:
            return found
    return None


def nothing_now_if_some_may_come(
    connection: Connection, who: Present, own: Sequence[Found]
) -> None:
    """All seats with others is not the end: some may come back.

    A seat that looks open here is in somebody's hands at this very moment.
    """
    wait = func.extract("epoch", tables.slot.c.lease_expires_at - func.clock_timestamp())
    held = connection.execute(
        select(func.count(), func.min(wait))
        .select_from(BESIDE)
        .where(_eligible(who), *_apart(who, own), or_(*_turns(who)))
    ).one()
    if held[0]:
        raise NothingNow(
            "Other people are looking at the last pictures. One may come back to you: "
            "please wait a little.",
            int(min(max(float(held[1] or 1), 1), LONGEST_WAIT)),
        )


def _free() -> Any:
    return or_(
        tables.slot.c.state == "open",
        and_(
            tables.slot.c.state == "leased",
            tables.slot.c.lease_expires_at < func.clock_timestamp(),
        ),
    )


def _eligible(who: Present) -> Any:
    """Seats of explanations that the person has not met."""
    met = (
        select(tables.assignment.c.id)
        .where(
            tables.assignment.c.instance_id == tables.slot.c.instance_id,
            tables.assignment.c.participant_id == who.participant.id,
        )
        .exists()
    )
    return and_(
        tables.slot.c.study_id == who.participant.study_id, tables.slot.c.state != "filled", ~met
    )


def _turns(who: Present) -> list[Any]:
    """Seats kept for the person, then seats kept for nobody."""
    row, anybodys = who.participant.design_row, tables.slot.c.reserved_for.is_(None)
    if row is None:
        return [anybodys]
    # with another seat of that explanation their own could be taken by nobody
    kept = tables.slot.alias()
    own_seat = (
        select(kept.c.id)
        .where(
            kept.c.instance_id == tables.slot.c.instance_id,
            kept.c.reserved_for == row,
            kept.c.state != "filled",
        )
        .exists()
    )
    return [tables.slot.c.reserved_for == row, and_(anybodys, ~own_seat)]


def _apart(who: Present, own: Sequence[Found]) -> list[Any]:
    """Not a picture that was met just before, or often enough."""
    gap, most = who.protocol.same_picture_gap, who.protocol.same_picture_most
    recent = {row.picture_key for row in own[max(len(own) - gap, 0) :]}
    met = Counter(row.picture_key for row in own)
    often = {key for key, times in met.items() if most is not None and times >= most}
    avoided = sorted(recent | often)
    return [tables.instance.c.picture_key.not_in(avoided)] if avoided else []
