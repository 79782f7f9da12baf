"""A study as files: the same tables give the same bytes."""

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import insert

from theodolite.errors import EvidenceError, RefusedInput
from theodolite.ext.studies import (
    INSTANCES,
    PICTURES,
    Material,
    Table,
    checked_together,
    existing,
    picture_path,
    sha256_of,
    write_json,
    write_parquet,
    write_yaml,
)
from theodolite_study import tables
from theodolite_study.database import Database
from theodolite_study.datasheet import datasheet
from theodolite_study.export_aggregates import aggregates_table
from theodolite_study.export_agreement import agreement
from theodolite_study.export_checks import verify_export
from theodolite_study.export_csv import NOTE, csv_bytes
from theodolite_study.export_manifest import (
    LEFT_OUT,
    MANIFEST,
    Manifest,
    Texts,
    about_study,
    counts,
    notes,
)
from theodolite_study.export_order import Moments
from theodolite_study.export_people import Bands, bands_of, participants_table
from theodolite_study.export_rows import Snapshot, snapshot
from theodolite_study.export_tables import (
    checks_table,
    core_tables,
    design_table,
    order_table,
    rankings_table,
)

__all__ = ["Manifest", "export", "verify_export"]

PROTOCOL, AGREEMENT, DATASHEET = "protocol.yaml", "agreement.json", "DATASHEET.md"
SECRET_SETTINGS = ("audience",)
"""Of `access`: the platform's own id of the study."""


def export(  # noqa: PLR0913  each is a choice of its own
    database: Database,
    slug: str,
    folder: Path,
    *,
    out: Path,
    csv: bool = False,
    public: bool = False,
    reviewed: bool = False,
) -> Manifest:
    """Write a study as tables, pictures, agreement and a data sheet, with digests of all of it.

    There are no ids of platforms, no addresses and no times of day in it, and nobody who did not
    agree. It is not anonymous for that: texts and habits may be known to somebody. Staff who looked
    at their own study are not in it.

    Args:
        database: Where the study is.
        slug: Which study.
        folder: The study folder, for the pictures.
        out: A folder that is not there yet, or is empty.
        csv: Also as CSV.
        public: It is to be published: what people wrote is left out unless it was reviewed, the
            order of moments is told of each person alone, and seconds are whole ones.
        reviewed: Somebody read what people wrote, and nothing in it is personal.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise EvidenceError("out", f"{out.name!r}, which is there", "a new folder")
    texts: Texts = "reviewed" if reviewed else "left out" if public else "not reviewed"
    told = _Told(texts, "of each person" if public else "of the study")
    study = snapshot(database, slug)
    partial = out.with_name(f".{out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        made = _written(study, folder, partial, csv=csv, told=told)
        if out.exists():
            out.rmdir()
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    with database.transaction() as connection:
        connection.execute(
            insert(tables.export_run).values(
                study_id=study.study.id, manifest_sha256=bytes.fromhex(made.sha256)
            )
        )
    return Manifest(out, made.sha256, made.content)


@dataclass(frozen=True)
class _Told:
    """How much is told."""

    texts: Texts
    moments: Moments


def _written(study: Snapshot, folder: Path, out: Path, *, csv: bool, told: _Told) -> Manifest:
    bands = bands_of(study)
    made = _tables(study, bands, told)
    for name, table in made.items():
        write_parquet(out / f"{name}.parquet", table)
        if csv:
            (out / f"{name}.csv").write_bytes(csv_bytes(table))
    agreed = agreement(made["votes"], study.protocol.questions, bands)
    write_json(out / AGREEMENT, agreed)
    plain, left_out = _protocol(study)
    write_yaml(out / PROTOCOL, plain)
    shown = Material(
        origin=study.study.origin, legend=study.study.legend, instances=study.material()
    )
    write_json(out / INSTANCES, shown.model_dump(mode="json", exclude_none=True))
    _pictures(study, folder, out)
    content = about_study(study, bands, left_out) | {
        "votes": counts(study, made["votes"]),
        "texts": told.texts,
        "moments": told.moments,
        "csv": NOTE if csv else None,
        "tables": {name: len(next(iter(table.values()))) for name, table in made.items()},
    }
    content["notes"] = notes(content)
    (out / DATASHEET).write_text(datasheet(study, content, agreed, made), encoding="utf-8")
    content["files"] = digests(out)
    write_json(out / MANIFEST, content)
    return Manifest(out, sha256_of(out / MANIFEST), content)


def _tables(study: Snapshot, bands: Bands, told: _Told) -> dict[str, Table]:
    texts = told.texts != "left out"
    core = checked_together(core_tables(study, texts=texts, moments=told.moments))
    return {
        **{str(name): table for name, table in core.items()},
        "participants": participants_table(study, bands),
        "checks": checks_table(study),
        "rankings": rankings_table(study),
        "aggregates": aggregates_table(study, core["votes"]),
        "design": design_table(study),
        "order": order_table(study, told.moments),
    }


def _protocol(study: Snapshot) -> tuple[dict[str, Any], list[str]]:
    """The protocol as it was frozen, without what lets a stranger in or claim to have finished."""
    plain = study.protocol.model_dump(mode="json")
    access: dict[str, Any] = plain["access"]
    left_out = []
    secret: list[tuple[dict[str, Any], str, str]] = [
        (access, name, f"access.{name}") for name in SECRET_SETTINGS
    ]
    secret += [(access["codes"], name, f"access.codes.{name}") for name in access["codes"]]
    for settings, name, where in secret:
        if settings[name] is not None:
            settings[name] = LEFT_OUT
            left_out.append(where)
    return plain, left_out


def _pictures(study: Snapshot, folder: Path, out: Path) -> None:
    (out / PICTURES).mkdir()
    for name in study.pictures:
        content = existing(picture_path(folder, name), "picture").read_bytes()
        if hashlib.sha256(content).hexdigest() != name.split(".")[0]:
            raise RefusedInput(
                f"picture {name[:12]}…", "another content", "the content that its name tells"
            )
        (out / PICTURES / name).write_bytes(content)


def digests(folder: Path) -> Mapping[str, str]:
    """SHA-256 of each file of a folder but the manifest, by its name from there."""
    return {
        path.relative_to(folder).as_posix(): sha256_of(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }
