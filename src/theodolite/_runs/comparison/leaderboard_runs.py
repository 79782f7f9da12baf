"""Load the runs of a folder for a leaderboard, and digest what they were scored on.

Runs with equal digests of samples share a table. Used by `leaderboard` and its page.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from theodolite._runs.comparison.loaded_runs import LoadedRun, load_run
from theodolite._runs.folder.checksums import MANIFEST
from theodolite.errors import EvidenceError, printable
from theodolite.evidence.base import Evidence
from theodolite.evidence.shards import compute_evidence_digest


@dataclass(frozen=True)
class ExcludedFolder:
    """A folder that no table contains, and the reason."""

    name: str
    why: str


def load_runs_in(folder: Path) -> tuple[list[LoadedRun], list[ExcludedFolder]]:
    """Return the runs in a folder, and the other folders in it with the reason."""
    if not folder.is_dir():
        raise EvidenceError(f"folder {str(folder)!r}", "nothing there", "a folder of run folders")
    if (folder / "run.json").is_file():
        raise EvidenceError(
            f"folder {folder.name!r}", "a run", "a folder with runs in it",
            "Give the folder above it.",
        )  # fmt: skip
    runs, excluded = [], []
    for path in sorted(folder.iterdir()):
        if not path.is_dir():
            continue
        if path.is_symlink():
            excluded.append(ExcludedFolder(path.name, "a link, which is not followed"))
            continue
        try:
            runs.append(load_run(path, must_be_sealed=False))
        except (EvidenceError, OSError) as error:
            excluded.append(ExcludedFolder(path.name, _explain_exclusion(path, error)))
    if not runs and not excluded:
        raise EvidenceError(f"folder {str(folder)!r}", "no folders in it", "run folders")
    return runs, excluded


def _explain_exclusion(path: Path, error: Exception) -> str:
    if not (path / "run.json").is_file():
        return "not a run: it has no run.json"
    if not (path / "scores.json").is_file():
        sealed = (path / MANIFEST).is_file()
        return "broken: scores.json is missing" if sealed else "unfinished: it has no scores yet"
    return printable(error, 300)


@dataclass(frozen=True)
class RowDigests:
    """Digests of the rows of one evidence bundle, whatever their order."""

    n: int
    ids: str
    labels: str
    """Of ids and labels; empty without labels."""
    named: bool
    """Whether rows have ids, and not only numbers."""


def digest_rows(bundle: Evidence) -> RowDigests:
    """Return digests of the ids of a bundle's rows, and of ids and labels."""
    samples = bundle.samples
    keys = np.asarray(samples.index if samples.ids is None else samples.ids)
    order = np.argsort(keys, kind="stable")
    digest = hashlib.sha256("\n".join(map(str, keys[order].tolist())).encode())
    ids, labels = digest.hexdigest(), getattr(bundle, "labels", None)
    if labels is not None:
        digest.update(np.asarray(labels)[order].astype(np.int64).tobytes())
    labeled = "" if labels is None else digest.hexdigest()
    return RowDigests(len(keys), ids, labeled, samples.ids is not None)


def digest_samples(run: LoadedRun) -> str:
    """Return a digest of samples and labels, which runs of one table share.

    Without evidence, it is the list of inputs. Inputs are added to the digest if samples have
    neither ids nor labels: row numbers alone identify nothing.
    """
    inputs = repr(sorted(run.made_record.inputs.items()))
    try:
        digests = list(map(digest_rows, run.evidence[0].values()))
    except EvidenceError:
        return f"inputs {inputs}"
    return min(
        rows.labels or (rows.ids if rows.named else f"{rows.ids} {inputs}") for rows in digests
    )


def digest_evidence(run: LoadedRun) -> str:
    """Return a digest of all evidence of a run; empty if the evidence is not available."""
    try:
        digests = [sorted(map(compute_evidence_digest, kinds.values())) for kinds in run.evidence]
    except EvidenceError:
        return ""
    return repr(digests)
