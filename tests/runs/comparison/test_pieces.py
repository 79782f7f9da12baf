"""Runs of stored evidence that is too large for memory: compared piece by piece, as in memory."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.runs.compared_runs import BY_CONCEPT, METRICS, spoilt
from theodolite._runs.comparison import compare_runs, loaded_runs
from theodolite._runs.comparison.aligned_samples import NotComparableError, align_shards
from theodolite._runs.comparison.loaded_runs import load_run
from theodolite._runs.folder.checksums import write_checksums
from theodolite._runs.folder.preparation import prepare_folder
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run import run
from theodolite._runs.run_inputs import RunPaths
from theodolite.evidence.axes import Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.store import stored
from theodolite.evidence.store_writer import EvidenceWriter


def store(evidence: Evidence, folder: Path) -> None:
    with EvidenceWriter(folder, 50) as writer:
        writer.add(evidence)


def run_of(evidence: Evidence, root: Path, name: str) -> Any:
    """A finished run of evidence that was stored in pieces of 50 samples."""
    store(evidence, root / "data" / name)
    metrics = [*METRICS, BY_CONCEPT]
    spec = {"name": name, "evidence": [name], "metrics": metrics, "resampling": {"resamples": 60}}
    out = root / name
    prepare_folder(out, overwrite=False)
    run(RunSpec.model_validate(spec), RunPaths(root / "data", out, out))
    (out / "report.html").write_text("<p>a report</p>")
    write_checksums(out)
    return load_run(out)


def records(first: Any, second: Any) -> list[dict[str, Any]]:
    return compare_runs.compare_runs([first, second])[0].to_records()


def test_pieces_are_compared_as_memory_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = [run_of(spoilt(share / 10), tmp_path, f"r{share}") for share in (5, 1)]
    in_memory = records(*both)
    assert in_memory[0]["better"] == "after"
    for known in both:
        known.free_evidence()
    monkeypatch.setattr(loaded_runs, "MAX_STORED", 100)
    monkeypatch.setattr(loaded_runs, "draw_samples", None)  # memory must not be asked for it
    assert all(known.is_large for known in both)
    for line, expected in zip(records(*both), in_memory, strict=True):
        for name, value in expected.items():  # sums of other pieces
            same = pytest.approx(value, rel=1e-12, nan_ok=True) if is_number(value) else value
            assert line[name] == same


def is_number(value: Any) -> bool:
    return isinstance(value, float)


def shards(evidence: Evidence, folder: Path) -> Any:
    store(evidence, folder)
    return stored(folder)


def test_only_the_same_samples_are_compared(tmp_path: Path) -> None:
    evidence = spoilt(0.2)
    first = shards(evidence, tmp_path / "first")
    assert align_shards(first, first, same_data=False).identical
    others = {
        "other samples": spoilt(0.2, ids="scan"),
        "samples and": evidence[:100],
        "another order": replace(evidence, samples=Samples(ids=evidence.samples.ids[::-1])),
        "other clusters": replace(
            evidence, samples=replace(evidence.samples, clusters=np.arange(120) // 2)
        ),
        "other labels": replace(evidence, labels=np.roll(np.asarray(evidence.labels), 1)),
    }
    for number, (reason, other) in enumerate(others.items()):
        with pytest.raises(NotComparableError, match=reason):
            align_shards(first, shards(other, tmp_path / f"{number}"), same_data=False)


def test_numbers_alone_need_labels_or_the_same_data(tmp_path: Path) -> None:
    bare = replace(spoilt(0.2), samples=Samples(np.arange(120)))
    labeled = shards(bare, tmp_path / "labeled")
    assert align_shards(labeled, labeled, same_data=False).n == 120
    without = replace(bare, labels=None, predicted=None)
    unlabeled = shards(without, tmp_path / "unlabeled")
    assert align_shards(unlabeled, unlabeled, same_data=True).n == 120
    with pytest.raises(NotComparableError, match="numbers only"):
        align_shards(unlabeled, unlabeled, same_data=False)
