"""Random directions one at a time: however they are cut, and whatever is kept, nothing changes."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from theodolite._stats.sampling import select_half
from theodolite.evidence.axes import Concepts, Latents, Samples
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import compute_starts
from theodolite.language.from_arrays import dictionary_evidence
from theodolite.language.models import chance_draws
from theodolite.language.models.activation_cache import cache_activations
from theodolite.language.models.chance_draws import (
    Choosing,
    RandomRows,
    Spread,
    chosen_values,
    pooled_draw,
)
from theodolite.language.models.pooled_triples import PooledTriples, compute_triple_aurocs
from theodolite.language.models.token_evidence import SequenceLabels, TokenSettings
from theodolite.metrics.language._probes import compute_aurocs
from theodolite.metrics.language.latent_probe import LatentProbe

torch = pytest.importorskip("torch")
LATENTS, ACTIVE, WIDE = 1_300, 5, 16
RANDOM = np.random.default_rng(0)
LENGTHS = RANDOM.integers(1, 9, 200)
STARTS = compute_starts(LENGTHS)
HIDDEN = RANDOM.normal(3.0, 2.0, (int(STARTS[-1]), WIDE)).astype(np.float32)
TRUTH = RANDOM.random((200, 4)) < 0.4
SPREAD = Spread.of(HIDDEN)


def draw(**options: Any) -> PooledTriples:
    return pooled_draw(RandomRows(7, 3, LATENTS), HIDDEN, STARTS, SPREAD, ACTIVE, **options)


def by_hand() -> np.ndarray:
    rows = RandomRows(7, 3, LATENTS).block(0, LATENTS, WIDE).astype(float)
    codes = ((HIDDEN - SPREAD.mean) / SPREAD.scale) @ rows.T
    smallest = np.sort(codes, axis=1)[:, [-ACTIVE]]
    codes = np.where(codes >= smallest, codes, 0.0).clip(0)
    return np.maximum.reduceat(codes, STARTS[:-1], axis=0)


def test_a_draw_is_the_same_however_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = draw()
    assert_allclose(whole.dense(np.arange(LATENTS)), by_hand(), rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(chance_draws, "BLOCK_TOKENS", 37)
    parts = [draw(block=512), draw(block=LATENTS)]
    monkeypatch.setattr(chance_draws, "MAX_ROW_BYTES", 4 * WIDE * 512)  # tokens go by three times
    parts.append(draw(block=512))
    for other in parts:
        assert_array_equal(other.latent, whole.latent)
        assert_array_equal(other.text, whole.text)
        assert_allclose(other.value, whole.value, rtol=1e-5)


def test_directions_depend_on_their_number_only() -> None:
    rows = RandomRows(1, 2, LATENTS)
    whole = rows.block(0, LATENTS, WIDE)
    assert_array_equal(rows.block(500, 1_100, WIDE), whole[500:1_100])
    assert_allclose(np.linalg.norm(whole, axis=1), 1.0, rtol=1e-5)
    assert (RandomRows(1, 3, LATENTS).block(0, 9, WIDE) != whole[:9]).any()
    assert (RandomRows(2, 2, LATENTS).block(0, 9, WIDE) != whole[:9]).any()


def test_areas_from_triples_are_those_from_all_values() -> None:
    pooled, rows = draw(), RANDOM.random(200) < 0.5
    values = pooled.dense(np.arange(LATENTS)).round(1)  # many ties
    latent, text = np.nonzero(values.T)
    tied = PooledTriples(text, latent, values[text, latent], LATENTS, 200)
    areas = compute_triple_aurocs(tied, TRUTH, rows)
    for concept in range(4):
        own = compute_aurocs(values[rows].astype(float), TRUTH[rows, concept])
        assert_allclose(areas[:, concept], own, atol=1e-12)
    one_class = np.ones((200, 1), bool)
    assert np.isnan(compute_triple_aurocs(tied, one_class, rows)).all()


@pytest.mark.parametrize("k", [1, 3])
def test_scores_of_what_is_kept_are_scores_of_all(k: int) -> None:
    """Also where concepts are known of some texts only, of different ones each."""
    pooled, known = draw(), RANDOM.random(TRUTH.shape) < 0.8
    samples = Samples(np.arange(200))
    best, latents = chosen_values(pooled, Choosing(TRUTH, known, select_half(samples, 0)))
    assert len(latents) <= 40 and (np.diff(latents) > 0).all()
    scores = []
    for values in (pooled.dense(np.arange(LATENTS)), best):
        evidence = TokenEvidence(
            tokens=[[0]] * 200, truth=TRUTH, known=known, chance_pooled=values[:, None],
            latents=Latents.numbered(LATENTS), concepts=Concepts.numbered(4), samples=samples,
        )  # fmt: skip
        scores.append(LatentProbe.measure(evidence, np.ones((1, 200)), k=k))
    assert_allclose(scores[1], scores[0], atol=1e-12)


def test_random_texts_are_the_same_for_all() -> None:
    labels = SequenceLabels(truth=TRUTH, concepts=list("abcd"))
    settings = TokenSettings(null_texts=60, seed=3)
    some = settings.keep_null_texts(labels, 200)
    assert some.known is not None
    assert (some.known.sum(axis=0) == 60).all()
    again = settings.keep_null_texts(some, 200)
    assert_array_equal(again.known, some.known)
    assert settings.keep_null_texts(labels, 60) is labels


def test_evidence_from_arrays() -> None:
    tokens = np.split(np.arange(len(HIDDEN)) % 50, STARTS[1:-1])
    hidden = np.split(HIDDEN, STARTS[1:-1])
    codes = [np.maximum(own @ np.eye(WIDE)[:, :6] - 5, 0) for own in hidden]
    evidence = dictionary_evidence(codes, hidden, tokens, TRUTH)
    assert evidence.chance_pooled is not None and evidence.chance_pooled.shape == (200, 20, 40)
    dense = np.concatenate(codes)
    assert evidence.value is not None and len(evidence.value.flat) == (dense > 0).sum()
    active = round((dense > 0).sum() / len(dense))
    assert ((evidence.chance_pooled > 0).sum(axis=2) <= 8 * max(active, 1)).all()


class Network:
    """Activations that count how often they are asked for."""

    module, calls = "place", 0

    def activations(self, ids: Any) -> np.ndarray:
        self.calls += 1
        return np.array([[token, 2.0] for own in ids for token in own], np.float32)


@pytest.mark.parametrize("whole_file", [True, False])
def test_activations_go_on_at_the_next_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, whole_file: bool
) -> None:
    from theodolite.language.models import activation_cache  # noqa: PLC0415

    monkeypatch.setattr(activation_cache, "PIECE_TEXTS", 3)
    network, ids = Network(), [[n, n + 1] for n in range(8)]
    whole = cache_activations(network, ids, tmp_path)
    assert network.calls == 3 and whole.shape == (16, 2)
    flat = np.concatenate(ids)
    assert_array_equal(whole[0:16][:, 0], flat)
    assert_array_equal(whole[5:13][:, 0], flat[5:13])
    assert_array_equal(whole[::3][:, 0], flat[::3])
    assert_array_equal(whole[np.array([15, 0, 7])][:, 0], flat[[15, 0, 7]])
    (tmp_path / "00001.npy").unlink()
    content = (tmp_path / "00002.npy").read_bytes()  # of fewer tokens
    (tmp_path / "00001.npy").write_bytes(content if whole_file else content[:-4])
    (tmp_path / "00002.npy").unlink()
    again = cache_activations(network, ids, tmp_path)
    assert network.calls == 5
    assert_array_equal(again[0:16][:, 0], flat)


def test_numbers_leave_the_device_in_one_place() -> None:
    """Everything else would synchronize on a GPU without being seen."""
    room = Path(chance_draws.__file__).parents[1]
    wrong = []
    for path in [*(room / "models").glob("*.py"), *(room / "dictionaries").glob("*.py")]:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(r"\.cpu\(|\.numpy\(|\bnonzero\(.*Tensor|\.unique\(\)", line):
                wrong.append(f"{path.name}:{number}")
    assert sorted(line.split(":")[0] for line in wrong) == ["torch_codes.py"]
