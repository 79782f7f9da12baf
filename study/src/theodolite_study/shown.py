"""Which picture plays which part in an explanation."""

from dataclasses import dataclass

from sqlalchemy import Connection, select

from theodolite.ext.studies import Explained, Instance
from theodolite_study import tables
from theodolite_study.refusals import NotHere

SERVED = "explanation served"
LOOKED_BACK = 5000
"""Lines of the log: a picture that is asked for again is asked for soon."""


@dataclass(frozen=True)
class AssetFile:
    """A picture of the study folder."""

    file: str
    mime: str


def instance_of(connection: Connection, instance_id: int) -> Instance:
    """What is shown."""
    record = connection.execute(
        select(tables.instance.c.record).where(tables.instance.c.id == instance_id)
    ).scalar_one()
    return Instance.model_validate(record)


def picture_size(connection: Connection, instance_id: int, file: str) -> tuple[int, int]:
    """Width and height of a picture of the instance's study."""
    found = connection.execute(
        select(tables.asset.c.width, tables.asset.c.height)
        .join(tables.instance, tables.instance.c.study_id == tables.asset.c.study_id)
        .where(tables.instance.c.id == instance_id, tables.asset.c.file == file)
    ).one()
    return found.width, found.height


def asset_of(connection: Connection, instance_id: int, instance: Instance, role: str) -> AssetFile:
    """The file that plays a role in an instance."""
    file = file_of(instance, role)
    if file is None:
        raise NotHere
    mime = connection.execute(
        select(tables.asset.c.mime)
        .join(tables.instance, tables.instance.c.study_id == tables.asset.c.study_id)
        .where(tables.instance.c.id == instance_id, tables.asset.c.file == file)
    ).scalar_one()
    return AssetFile(file, mime)


def file_of(instance: Instance, role: str) -> str | None:
    """Which picture it is: picture, map, same_picture, same_map, different_picture, …"""
    which, _, part = role.rpartition("_")
    shown: Explained | None = getattr(instance, which or "shown", None)
    return None if shown is None else getattr(shown, part)


def served_before(connection: Connection, assignment_id: int, role: str) -> bool:
    """Whether the log says already that this picture of an explanation was served.

    Only the last lines are read: the log has no index for it, and asking must stay cheap.
    """
    line = tables.event.c
    last = (
        select(line.kind, line.object, line.detail)
        .order_by(line.id.desc())
        .limit(LOOKED_BACK)
        .subquery()
    )
    found = select(last.c.kind).where(
        last.c.kind == SERVED,
        last.c.object == str(assignment_id),
        last.c.detail["role"].astext == role,
    )
    return connection.execute(found.limit(1)).first() is not None
