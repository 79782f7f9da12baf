"""Read what is to be audited from files, folders and addresses."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite._runs.auditing.sources import EvidenceSource
from theodolite._runs.folder.file_names import is_run
from theodolite._runs.missing_shards import BUCKETS, missing_shards_error
from theodolite._storage.paths import sha256_of
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import from_arrays, load, load_all, load_arrays
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.sources.table_columns import is_table, table_arrays
from theodolite.evidence.subject import Claim

if TYPE_CHECKING:
    from theodolite._runs.folder_reader import RunFolder


def read_sources(places: Sequence[str | Path], columns: Mapping[str, Any]) -> list[EvidenceSource]:
    """Read several; ``columns`` says what the columns of a table among them are."""
    tables = [str(place) for place in places if is_table(place)]
    if len(tables) > 1 or (columns and not tables):
        got = f"{tables[0]!r} and {tables[1]!r}" if tables else f"{next(iter(columns))!r}, no table"
        raise EvidenceError("columns", got, "one .csv, .parquet or Arrow file that has them")
    return [
        _of_table(Path(place).resolve(), columns) if is_table(place) else read_source(place)
        for place in places
    ]


def _of_table(path: Path, columns: Mapping[str, Any]) -> EvidenceSource:
    arrays, pairing = table_arrays(path, columns)
    return _local_source(path, from_arrays(arrays, repr(path.name)), pairing)


def read_source(place: str | Path) -> EvidenceSource:
    """Read evidence from a file, a folder of any of the known forms, or an address."""
    path = Path(place)
    if "://" in str(place) or path.is_dir():
        return _read_folder(str(place))
    evidence = load_arrays(path.resolve())
    return _local_source(path.resolve(), evidence)


def _read_folder(place: str) -> EvidenceSource:
    from theodolite._storage.stores import Store  # noqa: PLC0415  clients of object stores
    from theodolite.evidence.store import is_stored  # noqa: PLC0415  reads Zarr

    local = Store.at(place).local
    address = place.rstrip("/") if local is None else str(local.resolve())
    if is_stored(address):
        folders = () if local is None else (local.resolve(),)
        return EvidenceSource(Path(address).name, stored=(address,), local=folders)
    if local is None or "://" in place:
        raise missing_shards_error(place)
    path = local.resolve()
    if is_run(path):
        return _read_run(path)
    if (path / "votes.parquet").is_file() and (path / "instances.parquet").is_file():
        return _of_study(path)
    return _local_source(path, load(path))


def _local_source(path: Path, evidence: Evidence, *notes: str) -> EvidenceSource:
    return EvidenceSource(
        path.name, [[evidence]], local=(path,), inputs=_digests(path), notes=notes
    )


def _read_run(path: Path) -> EvidenceSource:
    """Read a finished run, whose bytes are still those that were written."""
    from theodolite._runs.folder.checksums import verify_checksums  # noqa: PLC0415  loads the engine
    from theodolite._runs.folder_reader import RunFolder  # noqa: PLC0415

    verify_checksums(path)
    run = RunFolder(path)
    made_record = run.made_record
    for address in made_record.stored:
        if address.startswith(BUCKETS):  # never asked with the user's keys without consent
            raise EvidenceError(
                f"run {path.name!r}", f"evidence at {address}", "evidence at hand",
                "Give that address instead of the run, if you trust it.",
            )  # fmt: skip
    if made_record.stored:
        stored = tuple(made_record.stored)
        return EvidenceSource(path.name, stored=stored, local=(path,), subject=run.subject)
    evidence, needs = zip(*map(load_all, run.seed_folders()), strict=True)
    if not evidence[0]:
        raise UnsafeInputError(f"run {path.name!r}", "; ".join(needs[0]), "its package")
    explained = made_record.explained
    samples = explained.counts[0][0] if explained.counts else "samples"
    return EvidenceSource(
        path.name,
        evidence,
        local=(path,),
        inputs={
            **made_record.inputs,
            f"{path.name}/manifest.json": sha256_of(path / "manifest.json"),
        },
        notes=(*made_record.notes, *_left_out(run, itertools.chain(*needs))),
        facts=tuple(made_record.facts),
        runs=(run,),
        subject=run.subject,
        claim=Claim(explained.claim, explained.noun, samples=samples),
    )


def _left_out(run: "RunFolder", needs: Iterable[str]) -> list[str]:
    """Say what the run has, and its audit does not look at."""
    notes = [f"{need}. It is left out." for need in dict.fromkeys(needs)]
    compared = run.folder / "compared"
    if n := sum(path.is_dir() for path in compared.iterdir()) if compared.is_dir() else 0:
        notes.append(
            f"The run compares {n} further models. This audit is of the one of its verdicts."
        )
    return notes


def _of_study(path: Path) -> EvidenceSource:
    """Votes on the first question of a study that was exported."""
    from theodolite.datasets.votes.method_comparison import describe_planned  # noqa: PLC0415
    from theodolite.datasets.votes.study import (  # noqa: PLC0415  few have one
        read_comparison,
        study_votes,
    )

    study, comparison = study_votes(path), read_comparison(path)
    compared = describe_planned(comparison) if comparison is not None else []
    question = next(iter(study.questions))
    evidence: RatingEvidence = study.questions[question]
    note = (
        f"Accepted: the answers to {question} of the study {path.name!r}, of all methods together."
    )
    return EvidenceSource(
        path.name, [[evidence]], local=(path,), inputs=study.digests(),
        notes=(*compared, *study.notes, note),
    )  # fmt: skip


def _digests(path: Path) -> dict[str, str]:
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    named = ((file.relative_to(path.parent).as_posix(), file) for file in files)
    return {name: sha256_of(file) for name, file in named if file.is_file()}
