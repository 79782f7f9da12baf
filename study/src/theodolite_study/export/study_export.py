"""Export a study as files; equal database content gives equal bytes. Used by `study export`."""

import hashlib
import json
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import pyarrow as pa

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.ext.studies import (
    IMAGES,
    concepts_text,
    existing,
    image_path,
    read_columns,
)
from theodolite_study.export.agreement import compute_agreement
from theodolite_study.export.answer_columns import CellKind, get_answer_columns, get_people_columns
from theodolite_study.export.datasheet import format_datasheet
from theodolite_study.export.manifest import (
    MANIFEST,
    Manifest,
    TextsHow,
    count_votes,
    list_notes,
    load_study_facts,
    load_version_records,
)
from theodolite_study.export.queries import MATERIAL, MOMENTS_OF_LOG, build_table_queries
from theodolite_study.export.snapshot import Moments, StudySnapshot, read_snapshot
from theodolite_study.export.table_files import (
    BATCH_ROWS,
    CSV_NOTE,
    TYPES,
    TableFiles,
    stream_batches,
    stream_rows,
)
from theodolite_study.export.table_query import TableQuery
from theodolite_study.export.vote_counts import VoteCounts, iterate_summaries
from theodolite_study.results import RESULTS, StudyResults, compare_export, digest_plan

VERSIONS, AGREEMENT, DATASHEET, MATERIAL_LINES = (
    "versions.json", "agreement.json", "DATASHEET.md", "material.jsonl",
)  # fmt: skip
LOOKS_QUERY = """
    select l.id from log l join log_kind k on k.id = l.kind
     where l.study_id = %(study)s and k.name = 'results looked at'"""
IMAGE_NAME = re.compile(rb'"([0-9a-f]{64}\.(?:png|jpg|webp))"')
RAW_COPY_OPTIONS = "format csv, quote e'\\x01', delimiter e'\\x02'"
"""COPY options that leave a column unchanged: the database's JSON has no such characters."""
GROUP_COLUMNS = ("age_band", "gender")
TRAIT_COLUMNS = ["instance", "technique", "image_key"]


def export_study(  # noqa: PLR0913  each is a choice of its own
    database: psycopg.Connection[Any] | str,
    study: UUID | str,
    folder: Path,
    *,
    images: Path | None = None,
    csv: bool = False,
    public: bool = False,
    reviewed: bool = False,
    round: int | None = None,
) -> Manifest:
    """Write a study as tables, material, agreement and a data sheet, with digests of all of it.

    There are no ids of platforms, no addresses and no times of day in it, and nobody who did not
    agree. It is not anonymous for that: texts and habits may be known to somebody. Staff who looked
    at their own study are not in it. All of it is read in one transaction, a part at a time.

    Args:
        database: A connection that is in no transaction, or the address of the database.
        study: Its id, or its slug.
        folder: A folder that is not there yet, or is empty.
        images: The folder of the server's images; without it they are left out.
        csv: Also as CSV.
        public: It is to be published: what people wrote is left out unless it was reviewed, the
            order of moments is told of each person alone, and seconds are whole ones.
        reviewed: Somebody read what people wrote, and nothing in it is personal.
        round: Which round of seats; None: the last one. Others are told in the manifest.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise EvidenceError("folder", f"{folder.name!r}, which is there", "a new folder")
    how: TextsHow = "reviewed" if reviewed else "left out" if public else "not reviewed"
    partial = folder.with_name(f".{folder.name}.partial-{secrets.token_hex(6)}")
    partial.mkdir(parents=True)
    try:
        with _connect(database) as connection:
            with read_snapshot(connection, study, round) as now:
                writer = _Writer(
                    now,
                    TableFiles(partial, csv),
                    how,
                    "of each person" if public else "of the study",
                )
                manifest = writer.written(images)
            connection.execute(
                "insert into export_run (study_id, manifest_sha256) values (%s, %s)",
                (now.study["id"], bytes.fromhex(manifest.sha256)),
            )
        partial.rename(folder)  # an empty folder of that name gives way
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return Manifest(folder, manifest.sha256, manifest.content)


@contextmanager
def _connect(
    database: psycopg.Connection[Any] | str,
) -> Iterator[psycopg.Connection[Any]]:
    if not isinstance(database, str):
        yield database
        return
    with psycopg.connect(database, autocommit=True) as connection:
        yield connection


@dataclass
class _Writer:
    """Writer of one export."""

    study: StudySnapshot
    files: TableFiles
    texts: TextsHow
    moments: Moments
    traits: pa.Table = field(
        default_factory=lambda: pa.table(
            {name: pa.array([], pa.string()) for name in TRAIT_COLUMNS}
        )
    )
    """Columns of each explanation that other tables repeat."""

    def written(self, images: Path | None) -> Manifest:
        """Write all files and return the manifest."""
        points = {
            column.name: column.points
            for column in get_answer_columns(self.study.instruments, "after")
            if column.points is not None
        }
        queries = build_table_queries(
            self.study, texts=self.texts != "left out", moments=self.moments
        )
        queries_by_name = {query.name: query for query in queries}
        instance_facts = self._instances(queries_by_name.pop("instances"))
        hidden, groups = self._participants(queries_by_name.pop("participants"))
        people = self.files.rows["participants"]
        counts = VoteCounts(points, self.files.rows["instances"], people)
        for query in queries_by_name.values():
            self._table(query, counts.add if query.name == "votes" else None)
        self._aggregates(counts, instance_facts)
        content = self._content(counts, people, hidden)
        agreed = compute_agreement(counts, np.asarray(instance_facts["_image"]), groups)
        self._small(AGREEMENT, agreed)
        self._small(RESULTS, self._results(content))
        versions = load_version_records(self.study)
        self._small(VERSIONS, versions)
        self._material(images)
        sheet = format_datasheet(versions[-1], content, agreed, self._traps(counts, instance_facts))
        self.files.content(DATASHEET, sheet.encode())
        content["files"] = dict(sorted(self.files.digests.items()))
        self._small(MANIFEST, content)
        return Manifest(self.files.folder, self.files.digests[MANIFEST], content)

    def _results(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return the planned comparisons; none while votes are missing."""
        settings, votes = self.study.newest["settings"], content["votes"]
        opened, questions = self.study.newest["opened_at"], list(content["questions"])
        comparison = None
        if votes["complete"] and questions:
            comparison = compare_export(self.files.folder, questions, settings)
        return StudyResults(
            votes["counted"], votes["wanted"], len(self.study.fetch(LOOKS_QUERY)),
            digest_plan(settings), "" if opened is None else opened.date().isoformat(), comparison,
        ).to_dict()  # fmt: skip

    def _content(self, counts: VoteCounts, people: int, hidden: int) -> dict[str, Any]:
        bands = [
            column.name for column in get_people_columns(self.study.instruments) if not column.open
        ]
        content = load_study_facts(self.study, people, hidden, bands) | {
            "votes": count_votes(counts, self.study.wanted),
            "questions": dict(counts.questions),
            "texts": self.texts,
            "moments": self.moments,
            "csv": CSV_NOTE if self.files.csv else None,
            "tables": dict(self.files.rows),
            "log": self._log(),
        }
        return content | {"notes": list_notes(content)}

    def _table(self, query: TableQuery, look: Any = None) -> None:
        rows = stream_batches(self.study.connection, query.text(self.study), query.kinds)
        with self.files.table(query.name, query.kinds) as table:
            for batch in rows:
                if look is not None:
                    look(batch)
                table.put(batch)

    def _instances(self, query: TableQuery) -> dict[str, np.ndarray]:
        """Write the explanations, and keep a few numbers of each."""
        parts: dict[str, list[np.ndarray]] = {
            name: [] for name in query.kinds if name.startswith("_")
        }
        traits: list[pa.RecordBatch] = []
        with self.files.table(query.name, query.kinds) as table:
            for batch in stream_batches(self.study.connection, query.text(self.study), query.kinds):
                traits.append(batch.select(TRAIT_COLUMNS))
                for name, part in parts.items():
                    part.append(batch[name].to_numpy(zero_copy_only=False))
                concepts = [
                    text and concepts_text(json.loads(text))
                    for text in batch["concepts"].to_pylist()
                ]
                at = batch.schema.get_field_index("concepts")
                table.put(batch.set_column(at, "concepts", pa.array(concepts, pa.string())))
        if traits:
            self.traits = pa.Table.from_batches(traits).combine_chunks()
        return {
            name: np.concatenate(part) if part else np.zeros(0, np.int64)
            for name, part in parts.items()
        }

    def _participants(self, query: TableQuery) -> tuple[int, Mapping[str, list[Any]]]:
        """Write the participants; return the number of hidden answers, and groups."""
        hidden = 0
        groups: dict[str, list[Any]] = {name: [] for name in GROUP_COLUMNS if name in query.kinds}

        def look(batch: pa.RecordBatch) -> None:
            nonlocal hidden
            hidden += int(batch["_hidden"].to_numpy(zero_copy_only=False).sum())
            for name, values in groups.items():
                values += batch[name].to_pylist()

        self._table(query, look)
        return hidden, groups

    def _aggregates(self, counts: VoteCounts, instance_facts: Mapping[str, np.ndarray]) -> None:
        """Write a row for each explanation and question asked about it, with or without votes."""
        most = max(counts.questions.values(), default=0)
        levels = [f"n_{level + 1}" for level in range(most)]
        kinds: dict[str, CellKind] = {
            "instance": "text", "technique": "text", "image_key": "text", "question": "text",
            "n": "whole", "mode": "whole", "mode_tie": "flag", "median": "number", "mean": "number",
            **dict.fromkeys(levels, "whole"),
        }  # fmt: skip
        tables_of = {name: counts.histogram(name) for name in counts.questions}
        with self.files.table("aggregates", kinds) as table:
            step = max(BATCH_ROWS // max(len(counts.questions), 1), 1)
            for at in range(0, self.traits.num_rows, step):
                rows = list(
                    _summarize(self.traits.slice(at, step), tables_of, instance_facts, at, most)
                )
                columns = list(zip(*rows, strict=True)) or [()] * len(kinds)
                arrays = [
                    pa.array(column, TYPES[kind])
                    for column, kind in zip(columns, kinds.values(), strict=True)
                ]
                table.put(pa.RecordBatch.from_arrays(arrays, names=list(kinds)))

    def _traps(
        self, counts: VoteCounts, instance_facts: Mapping[str, np.ndarray]
    ) -> dict[str, Any]:
        """Return the numbers for the data sheet."""
        ties = self._read("aggregates", "mode_tie")["mode_tie"]
        techniques = self.traits["technique"]
        return {
            "modes": len(ties),
            "ties": sum(chunk.true_count for chunk in ties.chunks),
            "exposures": counts.exposures.tolist(),
            "images": len(np.unique(instance_facts["_image"])),
            "techniques": sorted(set(techniques.unique().to_pylist())),
        }

    def _read(self, table: str, *names: str) -> dict[str, Any]:
        return read_columns(self.files.folder / f"{table}.parquet", names, f"table {table}")

    def _material(self, images: Path | None) -> None:
        names: set[bytes] = set()

        def lines() -> Iterator[bytes]:
            for line in stream_rows(
                self.study.connection, self.study.filled(MATERIAL), RAW_COPY_OPTIONS
            ):
                if images is not None:
                    names.update(IMAGE_NAME.findall(line))
                yield line

        self.files.lines(MATERIAL_LINES, lines())
        if images is None:
            return
        (self.files.folder / IMAGES).mkdir()
        for name in sorted(name.decode() for name in names):
            content = existing(image_path(images, name), "image").read_bytes()
            if hashlib.sha256(content).hexdigest() != name.split(".")[0]:
                raise UnsafeInputError(
                    f"image {name[:12]}…", "another content", "the content that its name tells"
                )
            self.files.content(f"{IMAGES}/{name}", content)

    def _log(self) -> dict[str, Any]:
        digest, lines = hashlib.sha256(), 0
        for line in stream_rows(
            self.study.connection, self.study.filled(MOMENTS_OF_LOG), "format csv"
        ):
            digest.update(line)
            lines += 1
        return {"lines": lines, "sha256": digest.hexdigest()}

    def _small(self, name: str, content: Any) -> None:
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
        self.files.content(name, text.encode() + b"\n")


def _summarize(
    batch: pa.Table,
    counts: Mapping[str, np.ndarray],
    instance_facts: Mapping[str, np.ndarray],
    first: int,
    most: int,
) -> Iterator[tuple[Any, ...]]:
    last = first + batch.num_rows
    of_question = {
        name: list(iterate_summaries(table[first:last])) for name, table in counts.items()
    }
    for i, row in enumerate(batch.to_pylist()):
        for name, table in counts.items():
            asks = instance_facts.get(f"_asks_{name}")
            if asks is None or asks[first + i]:
                often = table[first + i].tolist()
                own = (row["instance"], row["technique"], row["image_key"], name)
                yield (*own, *of_question[name][i], *often, *[None] * (most - len(often)))
