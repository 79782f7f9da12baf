"""Pictures and explanations of a study: rows, and files named by the digest of their bytes."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Jsonb

from theodolite.errors import EvidenceError, RefusedInput
from theodolite.ext.studies import (
    Explained,
    Instance,
    Material,
    keep_picture,
    picture_path,
    picture_size,
    sha256_of,
)

MIME = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp"}


def add_material(
    connection: Connection[Any], study: UUID, material: Material, pictures_folder: Path,
    store: Path | None = None,
) -> int:  # fmt: skip
    """What a study shows. Until it has seats, all of it is replaced; afterwards only added to.

    Args:
        connection: The caller's transaction.
        study: Whose material it is.
        material: The explanations.
        pictures_folder: A folder with ``pictures/`` in it, where the files are now.
        store: The server's folder of pictures, where they are copied to; None: they are there.

    Returns:
        How many explanations are new.

    Raises:
        EvidenceError: An explanation of this key is there already and is another one.
        RefusedInput: A picture's bytes are not those that its name tells.
    """
    sizes = _stored_pictures(connection, material, pictures_folder, store or pictures_folder)
    connection.execute("select from study where id = %s for update", (study,))
    seated = connection.execute("select from slot where study_id = %s limit 1", (study,)).fetchone()
    if seated is None:
        connection.execute(
            "delete from instance i where study_id = %s and not exists"
            " (select from assignment where instance_id = i.id)"
            " and not exists (select from practice where instance_id = i.id)",
            (study,),
        )
    known = dict(
        connection.execute(
            "select key, record from instance where study_id = %s", (study,)
        ).fetchall()
    )
    new = [one for one in material.instances if not _same(one, known)]
    with connection.cursor() as cursor:
        cursor.executemany(
            "insert into instance (study_id, key, picture_key, technique, modality, kind, place,"
            " record, shown) values (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
            (_row(study, len(known) + place, one, sizes) for place, one in enumerate(new)),
        )
    connection.execute(
        "update study set origin = %s, legend = %s where id = %s",
        (Jsonb(material.origin), material.legend, study),
    )
    return len(new)


def _same(one: Instance, known: dict[str, Any]) -> bool:
    record = known.get(one.key)
    if record is None:
        return False
    if Instance.model_validate(record) != one:  # as read now: kinds of explanations were added
        raise EvidenceError(
            f"explanation {one.key!r}", "another content", "the one that people may have met",
            "Give the changed explanation another key.",
        )  # fmt: skip
    return True


def _row(study: UUID, place: int, one: Instance, sizes: dict[str, list[int]]) -> tuple[Any, ...]:
    record = one.model_dump(mode="json")
    shown = {name: value for name, value in record.items() if name != "check"}
    shown["instruction"] = one.check.instruction if one.check else None
    shown["sizes"] = {file: sizes[file] for file in one.pictures()}
    return (
        study, one.key, one.picture_key, one.technique, modality_of(one.shown), one.kind, place,
        Jsonb(record), Jsonb(shown),
    )  # fmt: skip


def modality_of(part: Explained) -> str:
    """How an explanation says what it says."""
    names = {"map": "saliency", "concepts": "concept", "tokens": "text", "table": "table"}
    return next(word for name, word in names.items() if getattr(part, name) is not None)


def _stored_pictures(
    connection: Connection[Any], material: Material, source: Path, store: Path
) -> dict[str, list[int]]:
    """Width and height of each file, after its bytes and its row are where they belong."""
    sizes = {}
    for file in sorted(set(_files(material))):
        path = picture_path(source, file)
        digest, _, suffix = file.partition(".")
        if not path.is_file() or sha256_of(path) != digest:
            raise RefusedInput(
                f"picture {file[:12]}…", "another content", "the content that its name tells"
            )
        height, width = picture_size(path)
        if store != source:
            keep_picture(store, path.read_bytes(), suffix)
        connection.execute(
            "insert into picture (sha256, mime, width, height, bytes) values (%s, %s, %s, %s, %s)"
            " on conflict (sha256) do update set bytes = excluded.bytes where picture.bytes = 0",
            (bytes.fromhex(digest), MIME[suffix], width, height, path.stat().st_size),
        )
        sizes[file] = [width, height]
    return sizes


def _files(material: Material) -> Iterable[str]:
    return (file for one in material.instances for file in one.pictures())
