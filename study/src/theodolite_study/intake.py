"""A study folder becomes tables: the study, its pictures, its explanations, n seats for each."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
from sqlalchemy import Connection, insert, select, text

from theodolite.errors import EvidenceError, RefusedInput
from theodolite.ext.studies import (
    Instance,
    Material,
    picture_path,
    picture_size,
    read_material,
    sha256_of,
)
from theodolite_study import tables
from theodolite_study.database import Database
from theodolite_study.events import log
from theodolite_study.keys import Keys
from theodolite_study.planned import Seat, planned
from theodolite_study.protocol import Protocol, as_agreed, freeze, read_protocol
from theodolite_study.rows import Found

MIME = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp"}


def load(database: Database, folder: Path, keys: Keys) -> UUID:
    """Put a study folder into the database, as a draft; what is there already stays as it is."""
    protocol, material = read_protocol(folder), read_material(folder)
    with database.owning() as connection:
        known = _known(connection, protocol)
        if known is not None:
            _need_same(connection, known, protocol, material, keys)
            freeze(folder, Protocol.model_validate(known.protocol))
            return UUID(str(known.id))
    # what takes long, before anything is locked
    study_id = uuid4()
    pictures = _picture_rows(study_id, folder, material)
    seats = _seats(protocol, material)
    with database.owning() as connection:
        # two servers that start at once would both load it
        connection.execute(text("select pg_advisory_xact_lock(7203002)"))
        known = _known(connection, protocol)
        if known is not None:
            _need_same(connection, known, protocol, material, keys)
            return UUID(str(known.id))
        connection.execute(
            insert(tables.study).values(
                id=study_id, slug=protocol.slug, protocol=protocol.model_dump(mode="json"),
                protocol_sha256=protocol.digest(), origin=material.origin, legend=material.legend,
                n_votes=protocol.votes, lease_seconds=protocol.lease_minutes * 60,
                quota=protocol.quota, keys_id=keys.id,
            )
        )  # fmt: skip
        connection.execute(insert(tables.asset), pictures)
        _add_instances(connection, study_id, material, seats)
        log(connection, study_id, "owner", "loaded", protocol.slug)
        # without, the first claims are planned as if the tables were empty
        connection.execute(text("analyze study, asset, instance, slot"))
    freeze(folder, protocol)
    return study_id


def _known(connection: Connection, protocol: Protocol) -> Found | None:
    return connection.execute(
        select(tables.study).where(tables.study.c.slug == protocol.slug)
    ).one_or_none()


def _need_same(
    connection: Connection, known: Found, protocol: Protocol, material: Material, keys: Keys
) -> None:
    if known.keys_id != keys.id:
        raise RefusedInput(
            "keys", f"those of {keys.id}", f"those of {known.keys_id}",
            "The people of this study cannot be told apart with other keys.",
        )  # fmt: skip
    records = connection.execute(
        select(tables.instance.c.record)
        .where(tables.instance.c.study_id == known.id)
        .order_by(tables.instance.c.place)
    ).scalars()
    as_agreed(protocol, Protocol.model_validate(known.protocol))
    if [one.model_dump(mode="json") for one in material.instances] != list(records):
        raise EvidenceError(
            f"study {protocol.slug!r}", "other instances", "those of when it was first served",
            "Give the changed study another `slug`: people have agreed to the first one.",
        )  # fmt: skip


def _picture_rows(study_id: UUID, folder: Path, material: Material) -> list[dict[str, Any]]:
    rows = []
    for file in sorted({name for one in material.instances for name in one.pictures()}):
        path = picture_path(folder, file)
        if sha256_of(path) != file.split(".")[0]:
            raise RefusedInput(
                f"picture {file[:12]}…", "another content", "the content that its name tells"
            )
        height, width = picture_size(path)
        rows.append(
            {
                "study_id": study_id, "file": file, "mime": MIME[file.split(".")[1]],
                "width": width, "height": height,
            }
        )  # fmt: skip
    return rows


def _add_instances(
    connection: Connection,
    study_id: UUID,
    material: Material,
    seats: Sequence[tuple[str, dict[str, Any]]],
) -> None:
    made = connection.execute(
        insert(tables.instance).returning(tables.instance.c.id, sort_by_parameter_order=True),
        [_instance_row(study_id, place, one) for place, one in enumerate(material.instances)],
    ).scalars()
    numbers = {one.key: number for one, number in zip(material.instances, made, strict=True)}
    connection.execute(
        insert(tables.slot),
        [{"study_id": study_id, "instance_id": numbers[key], **seat} for key, seat in seats],
    )


def _seats(protocol: Protocol, material: Material) -> list[tuple[str, dict[str, Any]]]:
    """n seats for each real instance, by its key."""
    real = material.of("real")
    seats = _planned(real, protocol) if protocol.design == "planned" else {}
    random = np.random.default_rng(protocol.seed)
    rows = []
    for one in real:
        for place, order in enumerate(random.random(protocol.votes)):
            row, position = seats.get((one.key, place), (None, None))
            seat = {
                "slot_no": place, "rnd": float(order), "reserved_for": row,
                "planned_position": position,
            }  # fmt: skip
            rows.append((one.key, seat))
    return rows


def _planned(
    real: Sequence[Instance], protocol: Protocol
) -> dict[tuple[str, int], tuple[int, int]]:
    """Instance and seat to the person of the panel and the place in their order."""
    plan = planned(
        [Seat(one.key, one.picture_key, one.technique) for one in real],
        votes=protocol.votes, panel=protocol.panel or 0, quota=protocol.quota,
        gap=protocol.same_picture_gap, most=protocol.same_picture_most, seed=protocol.seed,
    ).table()  # fmt: skip
    taken: dict[str, int] = {}
    found = {}
    for row, position, key in zip(plan["row"], plan["position"], plan["instance"], strict=True):
        found[key, taken.get(key, 0)] = (int(row), int(position))
        taken[key] = taken.get(key, 0) + 1
    return found


def _instance_row(study_id: UUID, place: int, one: Instance) -> dict[str, Any]:
    return {
        "study_id": study_id,
        "key": one.key,
        "picture_key": one.picture_key,
        "technique": one.technique,
        "modality": "saliency" if one.shown.concepts is None else "concept",
        "kind": one.kind,
        "place": place,
        "record": one.model_dump(mode="json"),
    }
