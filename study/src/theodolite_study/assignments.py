"""One picture at a time: claim it, say what you see, only then see the explanation."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, delete, func, insert, select, text, update
from sqlalchemy.dialects.postgresql import insert as insert_or_change

from theodolite.ext.studies import Instance
from theodolite_study import tables
from theodolite_study.answers import Baseline, storable
from theodolite_study.database import Database
from theodolite_study.events import log, moment
from theodolite_study.people import Present, present, staying
from theodolite_study.refusals import Conflict, Invalid, NotHere, WrongStage
from theodolite_study.rows import Found
from theodolite_study.shown import (
    SERVED,
    AssetFile,
    asset_of,
    instance_of,
    picture_size,
    served_before,
)

__all__ = [
    "AFTER_ROLES", "AT_ONCE", "BEFORE_ROLES", "LIVE", "AssetFile", "Assignment", "asset",
    "assignment", "give_back", "keep", "lease_end", "owned", "release", "renew", "reveal",
    "save_draft", "store_baseline", "viewed",
]  # fmt: skip
LIVE = ("leased", "revealed")
MOST_DRAFT = 20_000
AT_ONCE = timedelta(microseconds=1)
MOST_LEASES = 4
"""So long an item can be kept, however often its page says that somebody is there."""
BEFORE_ROLES = ("picture",)
"""What may be seen before one's own answer is stored."""
AFTER_ROLES = ("map", "same_picture", "same_map", "different_picture", "different_map")


@dataclass(frozen=True)
class Assignment:
    """A picture that waits for somebody's answers."""

    id: int
    instance: Instance
    position: int
    state: str
    image_exposure_index: int
    width: int
    height: int
    lease_expires_at: datetime | None
    baseline: Mapping[str, Any] | None
    """What they said before; None until then."""
    draft: Mapping[str, Any]

    @property
    def before(self) -> bool:
        """Whether their own answer is still to come: nothing of the explanation may be shown."""
        return self.baseline is None


def assignment(database: Database, participant_id: UUID, assignment_id: int) -> Assignment:
    """One's own; everybody else's is not here."""
    with database.transaction() as connection:
        return viewed(connection, owned(connection, participant_id, assignment_id))


def owned(connection: Connection, participant_id: UUID, assignment_id: int) -> Found:
    """The row, if it is this person's."""
    row = connection.execute(
        select(tables.assignment).where(
            tables.assignment.c.id == assignment_id,
            tables.assignment.c.participant_id == participant_id,
        )
    ).one_or_none()
    if row is None:
        raise NotHere
    return row


def viewed(connection: Connection, row: Found) -> Assignment:
    """A row with what belongs to it."""
    instance = instance_of(connection, row.instance_id)
    width, height = picture_size(connection, row.instance_id, instance.shown.picture)
    stored = connection.execute(
        select(tables.baseline).where(tables.baseline.c.assignment_id == row.id)
    ).one_or_none()
    draft = connection.execute(
        select(tables.draft.c.content).where(tables.draft.c.assignment_id == row.id)
    ).scalar()
    expires = connection.execute(
        select(tables.slot.c.lease_expires_at).where(tables.slot.c.assignment_id == row.id)
    ).scalar()
    return Assignment(
        id=row.id, instance=instance, position=row.position, state=row.state,
        image_exposure_index=row.image_exposure_index, width=width, height=height,
        lease_expires_at=expires,
        baseline=None if stored is None else {"text": stored.text, "boxes": stored.boxes},
        draft=draft or {},
    )  # fmt: skip


def store_baseline(
    database: Database, participant_id: UUID, assignment_id: int, given: Baseline
) -> None:
    """Keep what the person sees. From here on the explanation may be shown, and not before."""
    with database.transaction() as connection:
        who = present(connection, participant_id, lock=True)
        row = owned(connection, participant_id, assignment_id)
        stored = connection.execute(
            select(tables.baseline.c.payload_sha256).where(
                tables.baseline.c.assignment_id == assignment_id
            )
        ).scalar()
        item = viewed(connection, row)
        checked = given.checked(item.width, item.height)
        if stored is not None:
            if stored != checked.digest():
                raise Conflict("Your first answer is stored already and stays as it was.")
            return
        who.need("open", "paused")
        if row.state not in ("leased", "lost"):
            raise WrongStage("This picture is no longer waiting for you.")
        keep(connection, who, row)
        at = connection.execute(
            insert(tables.baseline)
            .values(
                assignment_id=assignment_id, text=checked.text, boxes=checked.plain(),
                client=storable(given.client), payload_sha256=checked.digest(),
            )
            .returning(tables.baseline.c.at)
        ).scalar_one()  # fmt: skip
        connection.execute(delete(tables.draft).where(tables.draft.c.assignment_id == row.id))
        # the state is read again by the database: meanwhile the item may have gone to another
        connection.execute(
            update(tables.assignment)
            .where(tables.assignment.c.id == row.id)
            .values(
                baseline_at=at,
                state=text("case when state = 'leased' then 'revealed' else state end"),
            )
        )


def reveal(database: Database, participant_id: UUID, assignment_id: int) -> Assignment:
    """The explanation may be shown now; the first time is kept."""
    with database.transaction() as connection:
        who = staying(connection, participant_id)
        row = owned(connection, participant_id, assignment_id)
        _need_own_answer(row)
        keep(connection, who, row)
        _stamp(connection, who, row)
        return viewed(connection, row)


def _need_own_answer(row: Found) -> None:
    if row.baseline_at is None:
        raise WrongStage("First say what you see yourself.")


def _stamp(connection: Connection, who: Present, row: Found) -> None:
    first = connection.execute(
        update(tables.assignment)
        .where(tables.assignment.c.id == row.id, tables.assignment.c.revealed_at.is_(None))
        .values(revealed_at=moment(tables.assignment.c.baseline_at + AT_ONCE))
        .returning(tables.assignment.c.revealed_at)
    ).scalar()
    if first is not None:
        log(
            connection, who.participant.study_id, str(who.participant.id), "revealed", row.id,
            not_before=first,
        )  # fmt: skip


def asset(database: Database, participant_id: UUID, assignment_id: int, role: str) -> AssetFile:
    """A picture of one's own item; those of the explanation only after one's own answer."""
    with database.transaction() as connection:
        who = staying(connection, participant_id)
        row = owned(connection, participant_id, assignment_id)
        instance = instance_of(connection, row.instance_id)
        if role in AFTER_ROLES:
            _need_own_answer(row)
            _stamp(connection, who, row)
            if not served_before(connection, row.id, role):
                log(
                    connection, who.participant.study_id, str(participant_id), SERVED, row.id,
                    {"role": role}, not_before=row.baseline_at + AT_ONCE,
                )  # fmt: skip
        elif role not in BEFORE_ROLES:
            raise NotHere
        return asset_of(connection, row.instance_id, instance, role)


def keep(connection: Connection, who: Present, row: Found) -> None:
    """Whoever is at work keeps the item: its lease begins anew, up to a longest time."""
    if row.slot_id is None:
        return
    connection.execute(
        update(tables.slot)
        .where(
            tables.slot.c.id == row.slot_id,
            tables.slot.c.assignment_id == row.id,
            tables.slot.c.state == "leased",
        )
        .values(lease_expires_at=lease_end(who, row))
    )


def lease_end(who: Present, row: Found | None = None) -> Any:
    """The database's clock decides, not the server's. What somebody has is not kept for ever."""
    end = func.clock_timestamp() + func.make_interval(0, 0, 0, 0, 0, 0, who.lease_seconds)
    if row is None:
        return end
    return func.least(end, row.leased_at + timedelta(seconds=MOST_LEASES * who.lease_seconds))


def renew(database: Database, participant_id: UUID, assignment_id: int) -> datetime | None:
    """The page is still open: keep the item. None if it went to somebody else meanwhile."""
    with database.transaction() as connection:
        who = staying(connection, participant_id)
        row = owned(connection, participant_id, assignment_id)
        keep(connection, who, row)
        return connection.execute(
            select(tables.slot.c.lease_expires_at).where(tables.slot.c.assignment_id == row.id)
        ).scalar()


def save_draft(
    database: Database, participant_id: UUID, assignment_id: int, content: Mapping[str, Any]
) -> None:
    """Half an answer, so that a reload loses nothing."""
    if len(str(content)) > MOST_DRAFT:
        raise Invalid("This is too long to be kept.")
    with database.transaction() as connection:
        who = staying(connection, participant_id)
        row = owned(connection, participant_id, assignment_id)
        if row.state not in (*LIVE, "lost"):
            return
        keep(connection, who, row)
        values = insert_or_change(tables.draft).values(
            assignment_id=row.id, content=storable(content), at=func.clock_timestamp()
        )
        connection.execute(
            values.on_conflict_do_update(
                index_elements=["assignment_id"],
                set_={"content": values.excluded.content, "at": values.excluded.at},
            )
        )


def release(database: Database, participant_id: UUID, assignment_id: int, reason: str) -> None:
    """The person skips it, or it is broken: it goes back, and they do not meet it again."""
    with database.transaction() as connection:
        who = present(connection, participant_id, lock=True)
        row = owned(connection, participant_id, assignment_id)
        if row.state == "released":
            return
        if row.state not in LIVE:
            raise WrongStage("This picture is no longer waiting for you.")
        give_back(connection, who, row, reason)


def give_back(connection: Connection, who: Present, row: Found, reason: str) -> None:
    """The seat is free, and for everybody: whoever gave it back does not meet it again."""
    connection.execute(
        update(tables.slot)
        .where(tables.slot.c.id == row.slot_id, tables.slot.c.assignment_id == row.id)
        .values(state="open", assignment_id=None, lease_expires_at=None, reserved_for=None)
    )
    connection.execute(
        update(tables.assignment)
        .where(tables.assignment.c.id == row.id, tables.assignment.c.state.in_(LIVE))
        .values(state="released", reason=storable(reason)[:500], finished_at=func.clock_timestamp())
    )
    connection.execute(delete(tables.draft).where(tables.draft.c.assignment_id == row.id))
    log(connection, who.participant.study_id, str(who.participant.id), "released", row.id)
