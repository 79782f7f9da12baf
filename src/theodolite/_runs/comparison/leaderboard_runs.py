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


def digest_samples(run: LoadedRun) -> str:
    """Return a digest of samples and labels, which runs of one table share.

    Without evidence, it is the list of inputs. Inputs are added to the digest if samples have
    neither ids nor labels.
    """
    parts = []
    try:
        first = run.evidence[0]
    except EvidenceError:
        return f"inputs {sorted(run.made_record.inputs.items())}"
    for bundle in first.values():
        samples = bundle.samples
        keys = np.asarray(samples.index if samples.ids is None else samples.ids)
        order = np.argsort(keys, kind="stable")
        digest = hashlib.sha256("\n".join(map(str, keys[order].tolist())).encode())
        labels = getattr(bundle, "labels", None)
        if labels is not None:
            digest.update(np.asarray(labels)[order].astype(np.int64).tobytes())
        if samples.ids is None and labels is None:  # row numbers alone identify nothing
            digest.update(repr(sorted(run.made_record.inputs.items())).encode())
        parts.append(digest.hexdigest())
    return min(parts)


def digest_evidence(run: LoadedRun) -> str:
    """Return a digest of all evidence of a run; empty if the evidence is not available."""
    try:
        digests = [sorted(map(compute_evidence_digest, kinds.values())) for kinds in run.evidence]
    except EvidenceError:
        return ""
    return repr(digests)
