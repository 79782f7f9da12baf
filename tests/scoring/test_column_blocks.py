"""Scores of all samples, some concepts at a time: the same bytes wherever the columns lie."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from theodolite._runs.engine.checkpoints import CheckpointStore
from theodolite._runs.engine.local_processes import CurrentProcess, LocalProcesses
from theodolite._runs.engine.worker_pool import WorkerPool
from theodolite._scoring.column_blocks import uses_column_blocks
from theodolite._scoring.evaluate import MetricRequest, MetricRun, Resampling, evaluate_all
from theodolite._scoring.plan import Plan
from theodolite._scoring.subsamples import SubsampleDrawer
from theodolite._stats.grouped_weights import GroupedWeights
from theodolite._storage.stores import Store
from theodolite._verdicts.scores_file import score_record
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.evidence.plain_arrays import (
    from_sample_arrays,
    join_concept_blocks,
    select_concepts,
    to_sample_arrays,
)
from theodolite.evidence.shards import InMemoryShards, compute_evidence_digest, count_clusters
from theodolite.evidence.store import stored
from theodolite.evidence.store_writer import EvidenceWriter
from theodolite.evidence.workers import SerialWorkers, Work
from theodolite.metrics.blocks import BLOCK, Blockwise, Truths
from theodolite.metrics.catalogue import catalogue, find_metric
from theodolite.results import Score

FEW = Resampling(resamples=20, most_null_draws=1)


def concepts(n: int = 60, k: int = BLOCK + 4, *, clusters: bool = False) -> ConceptEvidence:
    """Values that share something, in more concepts than a block; some truths are not known."""
    random = np.random.default_rng(n + k)
    truth = random.random((n, k)) < 0.4
    values = truth + 0.5 * random.normal(size=(n, k)) + 0.3 * random.normal(size=(n, 1))
    groups = random.integers(0, n // 3, n) if clusters else None
    return ConceptEvidence(
        values=values,
        truth=truth,
        known=random.random((n, k)) < 0.97,
        labels=random.integers(0, 3, n),
        samples=Samples(np.arange(n), None, groups),
    )


def embeddings(n: int = 50, k: int = 10) -> EmbeddingEvidence:
    random = np.random.default_rng(1)
    explained = replace(concepts(n, k), known=None)
    vectors = explained.truth[..., None] + random.normal(size=(n, k, 2))
    other = random.normal(size=(2, n, k, 2))
    return EmbeddingEvidence(
        explained=explained, vectors=vectors, positive=other[0], negative=other[1]
    )


def records(shards: Any, names: list[str], workers: Any, resampling: Resampling = FEW) -> list[Any]:
    runs = [MetricRun(MetricRequest(find_metric(name)), [shards]) for name in names]
    groups: list[list[Score]] = evaluate_all(runs, resampling, workers)
    return [score_record(score).model_dump_json() for group in groups for score in group]


def in_pieces(evidence: Any, folder: Path, rows: int) -> Any:
    with EvidenceWriter(folder, rows) as writer:
        writer.add(evidence)
    return stored(folder)


BLOCKWISE = [entry for entry in catalogue().values() if issubclass(entry.state, Blockwise)]
QUICK = ["interconcept_leakage", "concept_task_leakage", "concept_prediction"]


def test_all_scores_of_columns_and_their_nulls_are_measured_in_blocks() -> None:
    assert len(BLOCKWISE) == 12
    assert all(uses_column_blocks(MetricRequest(entry)) for entry in BLOCKWISE)


@pytest.mark.parametrize("clusters", [False, True])
def test_memory_pieces_and_processes_give_the_same_bytes(tmp_path: Path, clusters: bool) -> None:
    evidence = concepts(clusters=clusters)
    names = [*QUICK, "interconcept_leakage_given_concepts", "task_leakage_given_concept"]
    whole = records(InMemoryShards(evidence), names, SerialWorkers())
    cut = in_pieces(evidence, tmp_path / "evidence", 25)
    pool: Any = CurrentProcess() if clusters else LocalProcesses(2)
    try:
        workers = WorkerPool(pool, CheckpointStore(Store.at(tmp_path / "pieces")))
        assert records(cut, names, workers) == whole
        again = WorkerPool(CurrentProcess(), CheckpointStore(Store.at(tmp_path / "pieces")))
        assert records(cut, names, again) == whole
        assert again.computed == 0
    finally:
        pool.close()


def test_vectors_too(tmp_path: Path) -> None:
    evidence = embeddings()
    names = ["embedding_interconcept_information", "embedding_alignment"]
    whole = records(InMemoryShards(evidence), names, SerialWorkers())
    cut = in_pieces(evidence, tmp_path / "evidence", 20)
    workers = WorkerPool(CurrentProcess(), CheckpointStore(Store.at(tmp_path / "pieces")))
    assert records(cut, names, workers) == whole


def test_a_run_that_was_cut_off_does_only_what_is_missing(tmp_path: Path) -> None:
    cut = in_pieces(concepts(), tmp_path / "evidence", 25)
    ledger = CheckpointStore(Store.at(tmp_path / "pieces"))
    first = WorkerPool(CurrentProcess(), ledger)
    whole = records(cut, QUICK, first)
    for key in sorted(ledger.done())[::3]:
        ledger.store.remove(f"{key}.safetensors")
    lost = len(first.keys) - len(ledger.done())
    again = WorkerPool(CurrentProcess(), ledger)
    assert records(cut, QUICK, again) == whole
    assert again.computed == lost


def test_rows_are_drawn_by_workers_as_they_are_in_memory(tmp_path: Path) -> None:
    evidence, most = concepts(300, 5), Resampling(resamples=20, most_null_draws=1, most_pooled=90)
    cut = in_pieces(evidence, tmp_path / "evidence", 40)
    workers = WorkerPool(CurrentProcess(), CheckpointStore(Store.at(tmp_path / "pieces")))
    assert records(cut, QUICK, workers, most) == records(
        InMemoryShards(evidence), QUICK, SerialWorkers(), most
    )
    drawn = SubsampleDrawer({}, workers).draw(cut, 90, 0)
    assert len(drawn.shards) == 2  # four pieces of the evidence each
    assert len(drawn.load()) == 90


class TestNulls:
    @pytest.mark.parametrize("clusters", [False, True])
    def test_of_some_concepts_are_those_of_all(self, clusters: bool) -> None:
        evidence = concepts(40, 7, clusters=clusters)
        truths = Truths.of(evidence)
        for name in QUICK:
            (null,) = find_metric(name).nulls
            assert null.of_columns is not None
            whole = null.made(evidence, 3)
            some = null.of_columns(select_concepts(evidence, range(4, 7)), 3, truths, 4)
            assert compute_evidence_digest(some) == compute_evidence_digest(
                select_concepts(whole, range(4, 7))
            )


class TestWeights:
    def test_up_to_a_thousand_samples_each_is_its_own(self) -> None:
        evidence = concepts(1000, 1)
        plan = Plan(find_metric(QUICK[0]), 1000, None, FEW)
        weights = plan.grouped_weights(evidence, slice(0, 21))
        assert isinstance(weights, np.ndarray)
        np.testing.assert_array_equal(weights, plan.weights(evidence, slice(0, 21)))

    def test_groups_give_the_error_of_samples(self) -> None:
        many = Resampling(resamples=800)
        evidence = concepts(4000, 1)
        plan = Plan(find_metric(QUICK[0]), 4000, None, many)
        weights = plan.grouped_weights(evidence, slice(0, 801))
        assert isinstance(weights, GroupedWeights)
        terms = np.random.default_rng(0).exponential(size=(1, 4000))
        sums = weights.times(weights.sums(terms)) / weights.times(weights.sums(np.ones((1, 4000))))
        assert sums[0, 0] == pytest.approx(terms.mean())
        assert sums[1:].std() == pytest.approx(terms.std() / np.sqrt(4000), rel=0.12)

    def test_few_clusters_are_their_own_groups(self) -> None:
        evidence = concepts(3000, 1, clusters=True)
        own = replace(evidence, samples=Samples(np.arange(3000), None, np.arange(3000) % 50))
        plan = Plan(find_metric(QUICK[0]), 3000, count_clusters(InMemoryShards(own)), FEW)
        weights = plan.grouped_weights(own, slice(0, 21))
        assert isinstance(weights, GroupedWeights)
        np.testing.assert_array_equal(
            weights.rows[:, weights.groups], plan.weights(own, slice(0, 21))
        )


def test_columns_side_by_side_are_the_evidence() -> None:
    evidence = embeddings(8, 5)
    template = evidence[:1]
    blocks = [to_sample_arrays(select_concepts(evidence, own)) for own in (range(2), range(2, 5))]
    assert compute_evidence_digest(
        join_concept_blocks(template, blocks)
    ) == compute_evidence_digest(evidence)
    again = from_sample_arrays(template, to_sample_arrays(evidence))
    assert compute_evidence_digest(again) == compute_evidence_digest(evidence)


def test_an_entry_that_is_gone_says_what_to_do(tmp_path: Path) -> None:
    workers = WorkerPool(CurrentProcess(), CheckpointStore(Store.at(tmp_path)))
    work = Work(what="x", do=_numbers, items=[1], digests=["1"], about={})
    (entry,) = workers.entries(work)
    assert entry is not None
    assert entry.read()["n"].tolist() == [1]
    workers.checkpoints.store.remove(f"{entry.digest}.safetensors")
    with pytest.raises(EvidenceError, match="same command again"):
        entry.read()


def _numbers(n: int) -> dict[str, np.ndarray]:
    return {"n": np.array([n])}
