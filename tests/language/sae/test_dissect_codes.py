"""Formulas of sparse codes: as the dense path finds them, certified, with intervals and a null."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from planted_maps import PlantedMaps

from support.evidence.codes import planted_codes
from theodolite._runs.engine.checkpoints import CheckpointStore
from theodolite._runs.engine.local_processes import CurrentProcess, LocalProcesses
from theodolite._runs.engine.worker_pool import WorkerPool
from theodolite._storage.stores import Store
from theodolite.dissection.counts import count
from theodolite.dissection.dissect import dissect
from theodolite.dissection.exact import optimum
from theodolite.dissection.formula import OPERATORS, Formula, from_rows
from theodolite.dissection.search import Beam, search
from theodolite.errors import EvidenceError
from theodolite.language.sae.activation_shard import SparseActivationShard
from theodolite.language.sae.dissect import dissect_sae
from theodolite.language.sae.evidence import SparseActivationEvidence
from theodolite.language.sae.result import CodeDissection
from theodolite.language.sae.writer import SparseActivationWriter


def has_concepts(evidence: SparseActivationEvidence) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Concepts, units and documents of all positions, as tables."""
    concepts, units, documents, before = [], [], [], 0
    for n in range(len(evidence)):
        piece = evidence.piece(n)
        has = np.zeros((len(piece), len(evidence.concepts)), bool)
        for p, a in enumerate(piece.atom):
            has[p, piece.set_label[piece.set_start[a] : piece.set_start[a + 1]]] = True
        active = np.zeros((len(piece), evidence.units), bool)
        active[np.repeat(np.arange(len(piece)), np.diff(piece.start)), piece.unit] = True
        concepts.append(has)
        units.append(active)
        documents.append(before + piece.document.astype(int))
        before += piece.documents
    return np.concatenate(concepts), np.concatenate(units), np.concatenate(documents)


def columns(dissection: CodeDissection) -> bytes:
    """Everything, as bytes."""
    table = dissection.columns()
    return repr({name: list(map(str, column)) for name, column in table.items()}).encode()


def test_the_same_as_the_dense_path() -> None:
    """Maps on the grid of the labels: thresholds, formulas, overlap and detection are equal."""
    planted = PlantedMaps(n_images=90, n_units=12, n_concepts=6, side_of_grid=14, shard_rows=90)
    _, labels = planted.shard(0)
    rng = np.random.default_rng(3)
    maps = np.zeros((90, 12, 14, 14), np.float32)
    for u in range(12):
        inside = (labels == 1 + u % 6).any(axis=1) & (
            rng.random((90, 14, 14)) < (0.3 if u < 6 else 0.05)
        )
        maps[:, u] = np.where(
            inside | (rng.random((90, 14, 14)) < 0.004), rng.random((90, 14, 14)), 0
        )
    maps = maps.astype(np.float16).astype(np.float32)
    whole = dissect(maps, list(labels), planted.concepts, quantile=0.99)
    proved = optimum(whole.atoms, whole.units)
    values = maps.transpose(0, 2, 3, 1).reshape(-1, 12)
    position, unit = np.nonzero(values)
    has = np.stack([(labels == c + 1).any(axis=1).ravel() for c in range(6)], axis=1)
    piece = SparseActivationShard.from_coo(
        position, unit, values[position, unit].astype(np.float16), documents=np.full(90, 196),
        labels=[np.flatnonzero(row).tolist() for row in has],
    )  # fmt: skip
    evidence = SparseActivationEvidence([piece], units=12, concepts=planted.concepts)
    sparse = dissect_sae(evidence, quantile=0.99, precision=0)
    assert (sparse.thresholds > 0).any()
    assert_array_equal(sparse.active, whole.units.sizes())
    assert_allclose(sparse.fit.iou, proved.iou, rtol=1e-9)
    counts = count(whole.atoms, whole.units, from_rows(sparse.rows))
    assert_allclose(
        sparse.fit.detection_accuracy,
        ((counts.shared > 0).sum(axis=0) / (counts.formula > 0).sum(axis=0)), rtol=1e-12,
    )  # fmt: skip
    searched = search(whole.atoms, whole.units, Beam(lengths=1))
    single = [searched.best(u) for u in range(12)]
    assert [planted.concepts[c] for c in sparse.single] == [
        s.formula.text(planted.concepts) for s in single if s is not None
    ]
    assert_allclose(sparse.single_iou, [s.iou for s in single if s is not None], rtol=1e-9)
    assert_allclose(
        sparse.single_detection_accuracy, [s.detection_accuracy for s in single if s is not None]
    )
    assert_array_equal(sparse.gap, 0)


def every_formula(n: int) -> list[Formula]:
    """All of up to three distinct concepts."""
    formulas = [Formula(a) for a in range(n)]
    for a, b in product(range(n), repeat=2):
        if a != b:
            formulas += [Formula(a, ((op, b),)) for op in OPERATORS]
    for a, b, c in product(range(n), repeat=3):
        if len({a, b, c}) == 3:
            formulas += [Formula(a, ((p, b), (q, c))) for p in OPERATORS for q in OPERATORS]
    return formulas


@pytest.mark.parametrize("precision", [0.0, 0.02])
def test_no_formula_is_better_by_more_than_the_gap(precision: float) -> None:
    evidence = planted_codes(2, units=60, concepts=7)
    has, active, _ = has_concepts(evidence)
    sparse = dissect_sae(
        evidence, quantile=0.01, candidates=4, gap=1.0, precision=precision, null_units=0
    )
    masks = np.stack([f.holds(lambda c: has[:, c]) for f in every_formula(7)]).astype(np.int64)
    shared = masks @ active
    iou = shared / (masks.sum(axis=1)[:, None] + active.sum(axis=0) - shared)
    best = iou.max(axis=0)
    assert (best <= sparse.fit.iou + sparse.gap + 1e-9).all()
    assert (best > sparse.fit.iou + 1e-9).any(), "four candidates of seven are too few for some"
    assert 0 < np.median(sparse.gap) < 0.5
    all_candidates = dissect_sae(evidence, quantile=0.01, candidates=7, precision=0, null_units=0)
    assert_allclose(all_candidates.fit.iou, best, rtol=1e-9)
    assert_array_equal(all_candidates.gap, 0)
    doubled = dissect_sae(evidence, quantile=0.01, candidates=4, gap=0.0, precision=0, null_units=0)
    assert_allclose(doubled.fit.iou[doubled.candidates == 7], best[doubled.candidates == 7])
    assert (doubled.candidates == 7).sum() > 30


def test_the_gap_covers_what_candidates_leave_out() -> None:
    """Three concepts that lie apart, of which two are candidates; a concept that should be taken
    away, and is none."""
    labels = [[0]] * 10 + [[1]] * 10 + [[2]] * 10 + [[3]] * 10 + [[3, 4]] * 10
    apart, removed = [0] * 30, [1] * 10
    unit = np.array([[u] for u in [*apart, *removed, *[2] * 10]])
    piece = SparseActivationShard.from_top(unit, documents=[5] * 10, labels=labels)
    evidence = SparseActivationEvidence([piece], units=3, concepts=list("abcde"))
    some = dissect_sae(evidence, candidates=2, gap=1.0, precision=0, null_units=0)
    assert_allclose(some.fit.iou[0], 2 / 3)
    assert_allclose(some.gap[0], 1 / 3)
    single = dissect_sae(evidence, candidates=1, gap=1.0, precision=0, null_units=0)
    assert_allclose((single.fit.iou[1], single.gap[1]), (0.5, 0.5))
    full = dissect_sae(evidence, candidates=1, gap=0.0, precision=0, null_units=0)
    assert_array_equal(full.fit.iou, 1)
    assert full.formulas()[1] == "(d AND (NOT e))"


def test_sums_over_documents_and_intervals() -> None:
    evidence = planted_codes(2)
    has, active, document = has_concepts(evidence)
    sparse = dissect_sae(evidence, quantile=0.01, null_units=0)
    n = document[-1] + 1
    for u in (0, 1, 7, 59):
        formula = sparse.formula(u)
        assert formula is not None
        holds = formula.holds(lambda c: has[:, c])
        s, f, own = (
            np.bincount(document, mask, n) for mask in (holds & active[:, u], holds, active[:, u])
        )
        either = own + f - s
        sums = [own.sum(), f.sum(), s.sum(), (f > 0).sum(), (s > 0).sum(), s @ s, s @ either,
                either @ either]  # fmt: skip
        assert sparse.fit.sums[u].tolist() == sums
        draws = np.random.default_rng(u).multinomial(n, np.full(n, 1 / n), 4000)
        spread = np.quantile((draws @ s) / (draws @ either), [0.025, 0.975])
        low, high = (side[u] for side in sparse.fit.iou_interval)
        assert_allclose([low, high], spread, atol=0.25 * (high - low))
    least, most = sparse.fit.detection_interval
    accuracy = sparse.fit.detection_accuracy
    assert ((least <= accuracy + 1e-12) & (accuracy <= most + 1e-12)).all()


def test_units_that_follow_a_concept_beat_chance() -> None:
    sparse = dissect_sae(planted_codes(), quantile=0.01)
    follows = np.arange(60) % 3 > 0
    low = sparse.fit.iou_interval[0]
    assert (low > sparse.chance.iou)[follows].mean() > 0.9
    blind = (low > sparse.chance.iou)[~follows]
    assert blind.mean() < 0.3
    assert [
        f"concept {u % 12}" == sparse.concepts[sparse.single[u]] for u in np.flatnonzero(follows)
    ]
    facts = sparse.summary()
    assert facts["mean_iou"] > 2 * facts["mean_chance_iou"]
    some = dissect_sae(planted_codes(), quantile=0.01, null_units=20)
    assert np.isfinite(some.chance.iou).sum() == 20
    kept = np.isfinite(some.chance.iou)
    assert_array_equal(some.chance.iou[kept], sparse.chance.iou[kept])


def test_units_that_are_silent_have_no_formula() -> None:
    evidence = planted_codes()
    more = SparseActivationEvidence(
        [evidence.piece(n) for n in range(3)], units=70, concepts=evidence.concepts
    )
    sparse = dissect_sae(more, quantile=0.01)
    assert sparse.formulas()[60:] == [""] * 10
    assert np.isnan(sparse.fit.iou[60:]).all()
    assert sparse.summary()["never_active"] == 10
    assert sparse.to_frame().shape == (70, 18)


def test_the_same_bytes_here_in_processes_and_after_a_stop(tmp_path: Path) -> None:
    evidence = planted_codes(5)
    with SparseActivationWriter(
        tmp_path / "codes", units=60, concepts=evidence.concepts, positions=300
    ) as writer:
        for n in range(5):
            writer.add(evidence.piece(n))
    stored = SparseActivationEvidence.open(tmp_path / "codes")
    evidence = SparseActivationEvidence(
        [stored.piece(n) for n in range(len(stored))], units=60, concepts=evidence.concepts
    )
    expected = columns(dissect_sae(evidence))
    assert columns(dissect_sae(stored)) == expected
    assert columns(dissect_sae(evidence, device="cpu")) == expected

    def through(pool: CurrentProcess | LocalProcesses) -> tuple[bytes, int]:
        crew = WorkerPool(pool, CheckpointStore(Store.at(tmp_path / "pieces")))
        dissected = columns(dissect_sae(stored, workers=crew))
        assert not crew.failed
        return dissected, crew.computed

    pool = LocalProcesses(2)
    try:
        first, computed = through(pool)
    finally:
        pool.close()
    assert first == expected
    files = sorted((tmp_path / "pieces").glob("*.safetensors"))
    assert len(files) == computed
    for path in files[::2]:  # as if it had been killed before these
        path.unlink()
    assert through(CurrentProcess()) == (expected, len(files[::2]))


@pytest.mark.parametrize(
    "options",
    [{"length": 4}, {"candidates": 0}, {"candidates": 300}, {"gap": -1.0}, {"precision": 1.0},
     {"quantile": 1.0}, {"null_units": 61}, {"min_documents": 1000}],
)  # fmt: skip
def test_options_are_checked(options: dict[str, float]) -> None:
    with pytest.raises(EvidenceError):
        dissect_sae(planted_codes(), **options)  # type: ignore[arg-type]
