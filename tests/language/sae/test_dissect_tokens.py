"""Latents as units: formulas of token predicates, chosen on one half and counted on the other."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from numpy.testing import assert_allclose, assert_array_equal

import theodolite
from theodolite._planted.tokens import planted_tokens
from theodolite._stats.sampling import select_half
from theodolite._storage.arrays import read_safetensors
from theodolite.dissection.counts import count
from theodolite.dissection.dissect import dissect
from theodolite.dissection.exact import optimum
from theodolite.dissection.formula import Formula
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Latents, Predicates, Samples
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged, compute_starts
from theodolite.evidence.store_writer import EvidenceWriter
from theodolite.language.sae.token_codes import TokenShard, match_other_sequences
from theodolite.language.sae.tokens import dissect_tokens
from theodolite.metrics import detection_accuracy, pixel_recall, unit_iou
from theodolite.metrics.catalogue import find_metric
from theodolite.metrics.language.latent_probe import split_halves
from theodolite.testing.strategies import token_evidence


def test_worked_numbers() -> None:
    """the cat sat / a cat ran . / the dog sat / no dogs here; A is "cat" and B is "the"."""
    active = [[[1], [0], []], [[], [0], [0], []], [[1], [0], []], [[], [], [1]]]
    holds = [[[1], [0], []], [[], [0], [], []], [[1], [], []], [[], [], []]]
    piece = TokenShard(
        Samples.numbered(4), Ragged.from_rows(active, 2), Ragged.from_rows(holds, 2, int)
    )
    counts = piece.counts([Formula(0), Formula(1)])
    assert counts[:, :, 0].tolist() == [[1, 2, 1, 0], [1, 1, 0, 0], [1, 1, 0, 0]]
    assert unit_iou(*counts) == pytest.approx([0.5, 0.666667], abs=1e-6)
    assert pixel_recall(*counts) == pytest.approx([1, 1])
    assert detection_accuracy(*counts) == pytest.approx([1, 1])
    assert np.isnan(unit_iou(*piece.counts([None]))).all(), "nothing stated, nothing scored"


Tables = tuple[list[set[int]], list[set[int]]]


def tables(evidence: TokenEvidence, row: int, source: int | None = None) -> Tables:
    """Token by token what is active, perhaps of another sequence, and what holds."""
    holds = [set(t.tolist()) for t in _tokens(evidence.holds, row)]
    active = [
        set(latent[value > 0].tolist())
        for latent, value in zip(
            _tokens(evidence.latent, row if source is None else source),
            _tokens(evidence.value, row if source is None else source), strict=True,
        )
    ]  # fmt: skip
    return (active + [set()] * len(holds))[: len(holds)], holds


def _tokens(values: Any, row: int) -> list[np.ndarray]:
    inside = values[row]
    return [inside[t] for t in range(len(inside))]


def by_hand(rows: list[Tables], latent: int, predicate: int) -> np.ndarray:
    """Tokens of the latent, of the predicate and of both, sequence by sequence."""
    return np.array([
        [sum(latent in a for a in active), sum(predicate in h for h in holds),
         sum(latent in a and predicate in h for a, h in zip(active, holds, strict=True))]
        for active, holds in rows
    ]).T.reshape(3, len(rows))  # fmt: skip


def iou_of(counts: np.ndarray) -> float:
    unit, predicate, both = counts.sum(axis=1).tolist()
    return both / (unit + predicate - both) if unit + predicate - both else math.nan


@settings(max_examples=15)
@given(evidence=token_evidence())
def test_single_predicates_by_hand(evidence: TokenEvidence) -> None:
    try:
        result = dissect_tokens(evidence, latents=None, length=1, seed=3, split_seed=1)
    except EvidenceError:
        assume(False)
        raise
    lengths = evidence.tokens.lengths
    first = select_half(evidence.samples, 1)
    assert_array_equal(first, split_halves(evidence, 1), "one cut, whoever makes it")
    for dealt, formulas in ((False, result.own), (True, result.dealt_out)):
        rows: list[list[Tables]] = []
        for half in (first, ~first):
            own = np.flatnonzero(half & (lengths > 0))
            other = (
                own[match_other_sequences(evidence.samples[own], lengths[own], 3)] if dealt else own
            )
            rows.append([tables(evidence, a, b) for a, b in zip(own, other, strict=True)])
        for at, latent in enumerate(formulas.latents.tolist()):
            each = [by_hand(rows[0], latent, p) for p in range(len(evidence.predicates))]
            best = max((iou_of(counts) for counts in each if counts[2].any()), default=math.nan)
            formula = formulas.formulas[at]
            if formula is None:
                assert math.isnan(best)
                continue
            assert len(formula) == 1
            assert formulas.choosing.iou[at] == pytest.approx(best)
            assert iou_of(each[formula.first]) == pytest.approx(best)
            assert formulas.gap[at] == 0
            counts = by_hand(rows[1], latent, formula.first)
            assert_array_equal(formulas.counts[:, :, at], counts)
            assert_allclose(formulas.iou[at], iou_of(counts))
    found = result.evidence
    assert_allclose(unit_iou(found.unit_pixels, found.formula_pixels, found.shared_pixels),
                    result.own.iou)  # fmt: skip
    expected = result.own.counts[1:]
    assert_allclose(pixel_recall(*result.own.counts), result.own.recall)
    assert_allclose(detection_accuracy(*result.own.counts), result.own.detection_accuracy)
    assert expected.shape[1] == len(result.samples)


def rectangular(n: int, length: int, seed: int = 0) -> tuple[TokenEvidence, np.ndarray, np.ndarray]:
    """Sequences of one length, with tables of what is active and what holds."""
    random = np.random.default_rng(seed)
    has = random.random((n, length, 5)) < 0.25
    fires = (has[:, :, [0, 1, 2, 0]] & (random.random((n, length, 4)) < 0.8)) | (
        random.random((n, length, 4)) < 0.05
    )
    fires[:, :, 3] |= has[:, :, 4] & ~has[:, :, 1]

    def ragged(table: np.ndarray) -> Ragged:
        flat = table.reshape(n * length, -1)
        starts = compute_starts(np.full(n, length))
        return Ragged(np.nonzero(flat)[1], starts, compute_starts(flat.sum(axis=1)))

    latent = ragged(fires)
    evidence = TokenEvidence(
        tokens=Ragged(np.zeros(n * length, int), latent.starts), latent=latent,
        value=Ragged(np.ones(len(latent.flat)), latent.starts, latent.inner_starts),
        holds=ragged(has), latents=Latents(count=4),
        predicates=Predicates(("p0", "p1", "p2", "p3", "p4")),
    )  # fmt: skip
    return evidence, fires, has


def test_the_same_as_dissection_of_images() -> None:
    """A sequence as an image of one row: formulas, overlap and detection are equal."""
    evidence, fires, has = rectangular(60, 12)
    result = dissect_tokens(evidence, precision=0.0)
    first = select_half(evidence.samples, 0)
    for half, own in ((first, True), (~first, False)):
        maps = fires[half].astype(np.float32).transpose(0, 2, 1)[:, :, None]
        masks = list(has[half].transpose(0, 2, 1)[:, :, None])
        whole = dissect(maps, masks, evidence.predicates.names, quantile=0.5)
        if own:
            assert_allclose(result.own.choosing.iou, optimum(whole.atoms, whole.units).iou)
        else:
            counts = count(whole.atoms, whole.units, result.own.formulas)
            expected = np.stack([counts.unit, counts.formula, counts.shared])
            assert_array_equal(result.own.counts, expected)
    assert max(map(len, filter(None, result.own.formulas))) == 3
    assert_array_equal(result.own.gap, 0)


def test_codes_are_dealt_to_others_of_like_length() -> None:
    random = np.random.default_rng(0)
    lengths = np.append(random.integers(1, 60, 300), 700)
    clusters = random.integers(0, 90, 301)
    samples = Samples(np.arange(301) * 7, clusters=clusters)
    other = match_other_sequences(samples, lengths, 5)
    assert_array_equal(np.sort(other), np.arange(301))
    assert (clusters[other] != clusters).mean() > 0.97
    octave = np.floor(np.log2(lengths))
    assert (octave[other] == octave)[lengths < 32].all()
    assert other[300] != 300, "alone in its octave, so it joins the one before"
    order = random.permutation(301)
    again = match_other_sequences(samples[order], lengths[order], 5)
    assert_array_equal(order[again], other[order])
    assert (other != match_other_sequences(samples, lengths, 6)).any()


def test_latents_that_follow_a_predicate_are_named_after_it() -> None:
    evidence = planted_tokens(200)
    random = np.random.default_rng(1)
    value = Ragged(np.ones(len(evidence.tokens.flat)), evidence.tokens.starts,
                   np.arange(len(evidence.tokens.flat) + 1))  # fmt: skip
    noise = TokenEvidence(
        tokens=evidence.tokens, value=value, latents=9,
        latent=Ragged(random.integers(0, 9, len(value.flat)), value.starts, value.inner_starts),
    )  # fmt: skip
    result = dissect_tokens(evidence, random=noise)
    assert result.formulas()[:3] == ["topic 0", "topic 1", "topic 2"]
    assert_allclose(result.own.iou[:3], 1.0)
    facts = result.summary()
    assert facts["random"]["iou"] < 0.3
    assert facts["dealt_out"]["iou"] < 0.3
    assert result.silent == 0
    scored = theodolite.score("unit_iou", result.evidence, resamples=20)
    (null,) = scored.nulls
    assert null.value == pytest.approx(facts["random"]["iou"], abs=1e-9)
    dealt = find_metric("unit_iou").nulls[0].made(result.evidence_against(result.dealt_out), 0)
    assert_array_equal(dealt.unit_pixels, result.dealt_out.counts[0])
    assert "held-out IoU" in repr(result)
    assert result.to_records()[0]["name"] == "latent 0"


def test_drawn_from_rare_to_frequent() -> None:
    evidence = planted_tokens(80)
    some = dissect_tokens(evidence, latents=3, seed=1, length=1)
    every = dissect_tokens(evidence, latents=None, length=1)
    rank = np.argsort(np.argsort(every.own.choosing.sums[:, 0], kind="stable"))
    third = np.sort(rank[some.own.latents] // 3)
    assert third.tolist() == [0, 1, 2]
    chosen = dissect_tokens(evidence, latents=some.own.latents.tolist(), seed=1, length=1)
    assert_array_equal(chosen.own.counts, some.own.counts)


def test_the_same_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("theodolite.evidence.shards.SHARD_SAMPLES", 32)
    evidence = planted_tokens(100)
    here = dissect_tokens(evidence)
    with EvidenceWriter(tmp_path / "tokens", 32) as writer:
        writer.add(evidence)
    there = dissect_tokens(tmp_path / "tokens")
    for name in ("own", "dealt_out"):
        assert_array_equal(getattr(here, name).counts, getattr(there, name).counts)
    assert here.formulas() == there.formulas()


def test_dense_latents_are_active_as_often_as_the_dictionary() -> None:
    evidence, fires, _ = rectangular(80, 10)
    random = np.random.default_rng(2)
    values = random.normal(size=(800, 4)) + 5 * fires.reshape(800, 4)
    dense = TokenEvidence(
        tokens=evidence.tokens, dense=Ragged(values, evidence.tokens.starts), holds=evidence.holds,
        predicates=evidence.predicates,
    )  # fmt: skip
    result = dissect_tokens(dense, active_share=0.1, length=1)
    n = 10 * int(select_half(evidence.samples, 0).sum())
    assert_array_equal(result.own.choosing.sums[:, 0], round(0.1 * n))
    assert result.formulas()[:3] == ["p0", "p1", "p2"]
    with pytest.raises(EvidenceError, match="active_share"):
        dissect_tokens(dense)


@pytest.mark.parametrize(
    "options",
    [{"latents": 0}, {"latents": True}, {"latents": [1, 1]}, {"latents": [99]}, {"latents": []},
     {"length": 4}, {"candidates": 0}, {"gap": -1.0}],
)  # fmt: skip
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(EvidenceError):
        dissect_tokens(planted_tokens(20), **options)


def test_what_is_no_evidence_for_it() -> None:
    evidence = planted_tokens(20)
    with pytest.raises(EvidenceError, match="holds"):
        dissect_tokens(TokenEvidence(
            tokens=evidence.tokens, latent=evidence.latent, value=evidence.value,
            latents=evidence.latents, predicates=evidence.predicates,
        ))  # fmt: skip
    with pytest.raises(EvidenceError, match="latent"):
        dissect_tokens(TokenEvidence(tokens=evidence.tokens))
    with pytest.raises(EvidenceError, match="sequences"):
        dissect_tokens(evidence[:1])
    with pytest.raises(EvidenceError, match="random"):
        dissect_tokens(evidence, random=planted_tokens(19))


def test_the_anchor_of_the_pack(shared_data: Path) -> None:
    """Token id 30: its best latent is 656, active at 1,520 tokens and at 1,216 of its 2,063."""
    pack = shared_data / "lm_features"
    if not pack.is_dir():
        pytest.skip("no codes of a language model in the data")
    codes = read_safetensors(pack / "codes.safetensors")
    starts = codes["token_starts"].astype(np.int64)
    inner = codes["trained.active_starts"].astype(np.int64)
    is_it = codes["tokens"] == 30
    piece = TokenShard(
        Samples.numbered(len(starts) - 1),
        Ragged(codes["trained.latent"].astype(np.int32), starts, inner),
        Ragged(np.zeros(is_it.sum(), int), starts, compute_starts(is_it)),
    )
    unit, formula, shared = piece.counts([Formula(0)] * 1152).sum(axis=1)
    iou = shared / (unit + formula - shared)
    best = int(iou.argmax())
    assert (best, unit[best], formula[best], shared[best]) == (656, 1520, 2063, 1216)
    assert iou[best] == pytest.approx(0.513730, abs=1e-6)
