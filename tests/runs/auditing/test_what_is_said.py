"""What is said of the usual mistakes, and the usual ways to name things."""

import inspect
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import theodolite
from theodolite._planted.concepts import planted_concepts
from theodolite._planted.ratings import planted_ratings
from theodolite._runs.auditing.result import AuditResult
from theodolite._scoring.evaluate import Resampling
from theodolite.errors import EvidenceError

audit = inspect.unwrap(theodolite.audit)
RANDOM = np.random.default_rng(0)
VALUES = RANDOM.random((12, 4))
TRUTH = RANDOM.random((12, 4)) < 0.5
LABELS = np.arange(12) % 3
BOTH = {"values": VALUES, "truth": TRUTH}


def digits(result: AuditResult) -> str:
    """All numbers of the scores: their own ``repr`` is rounded."""
    return repr([asdict(score) for score in result.scores])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (BOTH | {"labels": LABELS[:, None]}, "Pass labels.ravel()."),
        (BOTH | {"labels": LABELS[:, None].astype(float)}, "Pass labels.ravel()."),
        (BOTH | {"predicted": RANDOM.random((12, 3))}, "e.g. predicted.argmax(axis=1)."),
        (BOTH | {"labels": RANDOM.random((12, 3))}, "e.g. labels.argmax(axis=1)."),
        (BOTH | {"labels": LABELS, "weights": np.ones((3, 4))}, "head.weight.T"),
        ({"values": VALUES, "truth": TRUTH.T}, "truth.T"),
        ({"evidence": VALUES}, "Name them: theodolite.audit(values=..., truth=...)."),
        ({"evidence": VALUES, "resampling": TRUTH}, "Name them: theodolite.audit(values="),
        ({"evidence": VALUES.tolist()}, "Name them: theodolite.audit(values="),
        ({"evidence": [VALUES, TRUTH]}, "Name them: theodolite.audit(values="),
        (BOTH | {"resampling": 100}, "Resampling(resamples=1000, seed=0)"),
        (BOTH | {"samples": theodolite.Samples(), "ids": list("abcdefghijkl")}, "`samples` alone"),
        (BOTH | {"samples": 3}, "Samples(ids=..., clusters=...)"),
        (BOTH | {"ids": np.arange(12)}, "ids.astype(str)"),
    ],
)
def test_mistakes_say_what_to_do(given: dict[str, object], says: str) -> None:
    with pytest.raises(EvidenceError) as refused:
        audit(**given)
    assert says in str(refused.value)


def test_seed_and_resamples_are_those_of_resampling() -> None:
    result = audit(**BOTH, seed=3, resamples=20)
    assert result.resampling == Resampling(20, seed=3)
    assert digits(result) == digits(audit(**BOTH, resampling=Resampling(20, seed=3)))


def test_samples_or_ids_and_clusters_and_names_of_clusters() -> None:
    ids, patients = np.array([f"p{i}" for i in range(12)]), np.array(list("bbbaaacccddd"))
    few = {"resamples": 20}
    one = audit(**BOTH, ids=ids, clusters=patients, **few)
    other = audit(**BOTH, samples=theodolite.Samples(ids=ids, clusters=list(patients)), **few)
    (bundle,), (same,) = one.source.first, other.source.first
    assert bundle.samples.clusters.tolist() == [1, 1, 1, 0, 0, 0, 2, 2, 2, 3, 3, 3]
    assert same.samples.clusters.tolist() == bundle.samples.clusters.tolist()
    assert same.samples.ids.tolist() == ids.tolist()
    assert digits(one) == digits(other)


@pytest.mark.parametrize(("n", "says"), [(20, "30 and 20 samples"), (30, "row by row")])
def test_votes_that_may_be_of_other_samples_are_noted(n: int, says: str) -> None:
    result = audit([planted_concepts(30), planted_ratings(n)], resamples=20)
    assert any(says in note and "give `ids`" in note for note in result.notes)


def test_one_class_is_noted() -> None:
    result = audit(**BOTH, labels=np.ones(12, int), resamples=20)
    assert any("All labels are one class" in note for note in result.notes)
    assert not any("one class" in n for n in audit(**BOTH, labels=LABELS, resamples=20).notes)


def test_names_kept_as_objects(tmp_path: Path) -> None:
    np.savez(tmp_path / "said.npz", **BOTH, concepts=np.array(list("abcd"), dtype=object))
    with pytest.raises(EvidenceError, match=r"np\.array\(names, dtype=str\)"):
        audit(tmp_path / "said.npz")


def test_saved_twice_and_shown(tmp_path: Path) -> None:
    result = audit(**BOTH, resamples=20)
    assert str(result).startswith("Concept scores: ") and repr(result).startswith("AuditResult: ")
    result.save(tmp_path / "run")
    with pytest.raises(EvidenceError, match="overwrite=True"):
        result.save(tmp_path / "run")
