"""Check a submission to a leaderboard: a run folder without images, scored like all others.

A submission is refused if its checksums do not match, a test row is missing, a verdict used other
options than the library's, or its scores do not follow from its evidence.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from theodolite._runs.comparison.leaderboard_runs import digest_rows
from theodolite._runs.comparison.loaded_runs import LoadedRun, load_run
from theodolite._runs.folder.checksums import (
    MANIFEST,
    list_checked_files,
    verify_checksums,
    write_checksums,
)
from theodolite._runs.recomputation import recompute
from theodolite._storage.paths import sha256_of
from theodolite._storage.records import describe_first_error
from theodolite._storage.text import MEBIBYTE, read_json, read_yaml, write_json, write_yaml
from theodolite.errors import EvidenceError, UnsafeInputError, VerificationError
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.metrics.catalogue import catalogue
from theodolite.questions import Question

Level = Literal["rerun", "recomputed", "refused"]
SPLIT = "split.json"
"""The file of the test rows, beside the submissions."""
MAX_BYTES = 20 * MEBIBYTE
WITH_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".html", ".svg")
"""Files that are or may hold images of a data set."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Content = TypeVar("Content", bound=_Strict)


class SubmittedModel(_Strict):
    """The model that was explained."""

    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    url: str
    license: Annotated[str, Field(min_length=2)]


class SubmissionRecord(_Strict):
    """The file beside the run folder: its name with ``.yaml``."""

    name: Annotated[str, Field(min_length=1, max_length=80)]
    authors: Annotated[tuple[str, ...], Field(min_length=1)]
    model: SubmittedModel
    explanation: str
    division: Literal["fixed model", "open"]
    code: str
    contact: str
    cpu_minutes: Annotated[float, Field(ge=0)] | None = None
    """CPU time of the run, as its authors measured it."""


class SplitRecord(_Strict):
    """The test rows of a leaderboard: their number, and digests of their ids and labels."""

    data: str
    n: Annotated[int, Field(ge=1)]
    ids: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    labels: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]
    """Of ids and labels; evidence without labels has to have the ids."""
    rerun: dict[str, str] = {}
    """Of submissions that the maintainers ran again: the name, and the digest of its manifest."""


@dataclass(frozen=True)
class SubmissionCheck:
    """What a check found."""

    record: SubmissionRecord
    level: Level
    """``rerun``: another run of it agrees; ``recomputed``: its scores follow from its evidence."""
    refusals: tuple[str, ...]


def write_submission(run: Path, out: Path) -> Path:
    """Copy a run without its report and images, write checksums, and add the submission file.

    Returns:
        The file to fill in.
    """
    verify_checksums(run)
    if out.exists():
        raise EvidenceError(f"folder {out.name!r}", "a folder that exists", "a new one")
    ignored = shutil.ignore_patterns(MANIFEST, f"{MANIFEST}.*", *(f"*{end}" for end in WITH_IMAGES))
    shutil.copytree(run, out, ignore=ignored)
    write_checksums(out)
    stated = out.with_name(f"{out.name}.yaml")
    model = {"digest": "", "url": "", "license": ""}
    fields = dict.fromkeys(SubmissionRecord.model_fields, "")
    write_yaml(
        stated, fields | {"authors": [], "model": model, "division": "open", "cpu_minutes": None}
    )
    return stated


def write_split(run: Path, out: Path) -> Path:
    """Write the file of the test rows from a run that scored all of them."""
    loaded = load_run(run)
    digests = list(map(digest_rows, loaded.evidence[0].values()))
    most = max(digests, key=lambda rows: (rows.n, bool(rows.labels)))
    dataset = loaded.record.spec.dataset
    name = loaded.subject.data or (loaded.name if dataset is None else dataset.name)
    write_json(out, {"data": name, "n": most.n, "ids": most.ids, "labels": most.labels})
    return out


def check_submission(
    folder: Path, split: Path, *, rerun: Path | None = None, progress: Progress = silent
) -> SubmissionCheck:
    """Check a submission against the test rows of its leaderboard.

    Args:
        folder: The run folder. Beside it lies a file with its name and ``.yaml``.
        split: The file of the test rows.
        rerun: A second run of the same submission, made by the maintainers.
        progress: Called for each score that is computed again.
    """
    folder = folder.resolve()
    record = _read(SubmissionRecord, read_yaml(folder.parent / f"{folder.name}.yaml", "submission"))
    rows = _read(SplitRecord, read_json(split, "split"))
    refusals: list[str] = []
    try:
        run = load_run(folder)
        refusals += [*_find_files(folder), *_find_missing_rows(run, rows), *_find_overrides(run)]
        run.free_evidence()
        recompute(folder, progress)
    except (EvidenceError, VerificationError) as error:
        return SubmissionCheck(record, "refused", (*refusals, str(error)))
    if rerun is not None:
        refusals += _find_differences(run, load_run(rerun))
    if refusals:
        return SubmissionCheck(record, "refused", tuple(refusals))
    again = rerun is not None or rows.rerun.get(folder.name) == sha256_of(folder / MANIFEST)
    return SubmissionCheck(record, "rerun" if again else "recomputed", ())


def find_split(folder: Path) -> Path | None:
    """Return the file of the test rows of a folder of submissions; None if it holds other runs."""
    return folder / SPLIT if (folder / SPLIT).is_file() else None


def _read(kind: type[Content], content: object) -> Content:
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise UnsafeInputError(kind.__name__, describe_first_error(error), "all fields") from error


def _find_files(folder: Path) -> Iterator[str]:
    files = [folder / name for name in list_checked_files(folder)]
    images = [path.name for path in files if path.suffix.lower() in WITH_IMAGES]
    if images:
        yield f"Remove {images[0]}: a submission holds ids of images, and no images."
    size = sum(path.stat().st_size for path in files)
    if size > MAX_BYTES:
        yield f"The folder has {size / MEBIBYTE:.1f} MiB. At most {MAX_BYTES // MEBIBYTE} MiB fit."


def _find_missing_rows(run: LoadedRun, split: SplitRecord) -> Iterator[str]:
    digests = list(map(digest_rows, run.evidence[0].values()))
    n = max(rows.n for rows in digests)
    if split.ids not in {rows.ids for rows in digests}:
        yield f"The run scored {n:,} rows that are not the {split.n:,} test rows of {split.data}."
    elif {rows.labels for rows in digests if rows.labels} - {split.labels}:
        yield f"The labels are not those of the test rows of {split.data}."


def _find_overrides(run: LoadedRun) -> Iterator[str]:
    """Verdicts that were read from a score with other options than the library quotes."""
    bundles = run.evidence[0]
    for question, verdict in run.verdicts.items():
        metric = catalogue().get(verdict.metric)
        if metric is None or metric.question != question:
            if verdict.metric:
                yield f"“{question}” is answered by {verdict.metric}, which does not decide it."
            continue
        evidence = next((own for kind, own in bundles.items() if kind is metric.needs), None)
        usual = metric.headline if evidence is None else metric.headline_for(evidence)
        for name, choice in usual.items():
            if verdict.options.get(name) != choice:
                yield (
                    f"“{question}” is answered with {name} = {verdict.options.get(name)}. "
                    f"Score it with {name} = {choice}."
                )


def _find_differences(run: LoadedRun, again: LoadedRun) -> Iterator[str]:
    """Headline scores that lie outside the interval of the other run."""
    for question in run.verdicts:
        named: Question = question
        own, other = run.headline(named), again.headline(named)
        if own is None:
            continue
        interval = None if other is None else other.interval
        if interval is None or not interval.low <= own.value <= interval.high:
            yield f"“{question}” differs from the run of the maintainers."
