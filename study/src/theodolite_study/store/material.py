"""Store the explanations and images of a study: rows, and files named by their digest."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Jsonb

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.ext.studies import (
    Explained,
    Instance,
    Material,
    image_path,
    image_size,
    keep_image,
    sha256_of,
)

MIME = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp"}


def add_material(
    connection: Connection[Any], study: UUID, material: Material, images_folder: Path,
    store: Path | None = None,
) -> int:  # fmt: skip
    """Store the explanations of a study: replace them before it has seats, then only add.

    Args:
        connection: The caller's transaction.
        study: Whose material it is.
        material: The explanations.
        images_folder: A folder with ``images/`` in it, where the files are now.
        store: The server's folder of images, where they are copied to; None: they are there.

    Returns:
        How many explanations are new.

    Raises:
        EvidenceError: An explanation of this key is there already and is another one.
        UnsafeInputError: An image's bytes are not those that its name tells.
    """
    sizes = _store_images(connection, material, images_folder, store or images_folder)
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
    new = [instance for instance in material.instances if not _is_same(instance, known)]
    with connection.cursor() as cursor:
        cursor.executemany(
            "insert into instance (study_id, key, image_key, technique, modality, kind, place,"
            " record, shown) values (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
            (
                _make_row(study, len(known) + place, instance, sizes)
                for place, instance in enumerate(new)
            ),
        )
    connection.execute(
        "update study set origin = %s, legend = %s where id = %s",
        (Jsonb(material.origin), material.legend, study),
    )
    return len(new)


def _is_same(instance: Instance, known: dict[str, Any]) -> bool:
    record = known.get(instance.key)
    if record is None:
        return False
    if Instance.model_validate(record) != instance:  # as read now: kinds of explanations were added
        raise EvidenceError(
            f"explanation {instance.key!r}", "another content", "the one that people may have met",
            "Give the changed explanation another key.",
        )  # fmt: skip
    return True


def _make_row(
    study: UUID, place: int, instance: Instance, sizes: dict[str, list[int]]
) -> tuple[Any, ...]:
    record = instance.model_dump(mode="json")
    visible = {name: value for name, value in record.items() if name != "check"}
    visible["task"] = _describe_task(instance)
    visible["sizes"] = {file: sizes[file] for file in instance.images()}
    return (
        study, instance.key, instance.image_key, instance.technique,
        get_modality(instance.shown), instance.kind, place, Jsonb(record), Jsonb(visible),
    )  # fmt: skip


def _describe_task(instance: Instance) -> dict[str, Any] | None:
    """Return what a practice item or a check asks for, as far as its page says it."""
    check = instance.check
    if check is None:
        return None
    if check.task is None:
        return {"instruction": check.instruction} if check.instruction else None
    if check.task == "rating":
        ((question, rating),) = check.ratings.items()
        return {"kind": "rating", "question": question, "rating": rating}
    if check.task == "frame":
        return {"kind": "frame", "object": check.object}
    # a hidden pair is not announced
    return {"kind": "pair", "question": "q5"} if instance.kind == "training" else None


def get_modality(part: Explained) -> str:
    """Return the kind of an explanation: saliency, concept, text or table."""
    names = {"map": "saliency", "concepts": "concept", "tokens": "text", "table": "table"}
    return next(word for name, word in names.items() if getattr(part, name) is not None)


def _store_images(
    connection: Connection[Any], material: Material, source: Path, store: Path
) -> dict[str, list[int]]:
    """Copy the images into the store and return width and height of each."""
    sizes = {}
    for file in sorted(set(_list_files(material))):
        path = image_path(source, file)
        digest, _, suffix = file.partition(".")
        if not path.is_file() or sha256_of(path) != digest:
            raise UnsafeInputError(
                f"image {file[:12]}…", "another content", "the content that its name tells"
            )
        height, width = image_size(path)
        if store != source:
            keep_image(store, path.read_bytes(), suffix)
        connection.execute(
            "insert into image (sha256, mime, width, height, bytes) values (%s, %s, %s, %s, %s)"
            " on conflict (sha256) do update set bytes = excluded.bytes where image.bytes = 0",
            (bytes.fromhex(digest), MIME[suffix], width, height, path.stat().st_size),
        )
        sizes[file] = [width, height]
    return sizes


def _list_files(material: Material) -> Iterable[str]:
    return (file for instance in material.instances for file in instance.images())
