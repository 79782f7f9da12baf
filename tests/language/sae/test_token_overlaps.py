"""Single predicates of latents, held against plain loops."""

from dataclasses import replace

import numpy as np
import pytest

from support.evidence.feature_texts import drawn_codes
from theodolite.errors import EvidenceError
from theodolite.evidence import shards as cut
from theodolite.evidence.axes import Predicates, Samples
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged
from theodolite.evidence.shards import InMemoryShards
from theodolite.language.sae import token_overlaps as overlaps_module
from theodolite.language.sae.token_overlaps import compute_token_overlaps, select_second_half

LATENTS, PREDICATES = 30, 7


def with_facts(seed: int = 0) -> TokenEvidence:
    random = np.random.default_rng(seed)
    evidence = drawn_codes(random.integers(0, 9, 60), LATENTS, 3, 9, seed)
    n = len(evidence.tokens.flat)
    facts = [np.flatnonzero(random.random(PREDICATES) < 0.3) for _ in range(n)]
    inner = np.cumsum([0, *(len(own) for own in facts)])
    names = tuple(f"{'token' if i < 3 else 'word'} {i}" for i in range(PREDICATES))
    return replace(
        evidence,
        holds=Ragged(np.concatenate(facts).astype(np.int32), evidence.tokens.starts, inner),
        predicates=Predicates(names),
    )


def plain(evidence: TokenEvidence, latent: int, predicate: int, half: bool) -> float:
    """Tokens in both over tokens in either, in one half of the texts."""
    both = either = active = 0
    second = select_second_half(evidence, 0)
    for row in np.flatnonzero(second == half):
        for at in range(len(evidence.tokens[row])):
            a = latent in evidence.latent[row][at]
            b = predicate in evidence.holds[row][at]
            both, either, active = both + (a and b), either + (a or b), active + a
    return both / either if active and either else (np.nan if half else 0.0)


def test_overlaps_are_those_of_plain_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = with_facts()
    result = compute_token_overlaps(InMemoryShards(evidence))
    for latent in (0, 5, 7, 11):
        chosen = [plain(evidence, latent, p, half=False) for p in range(PREDICATES)]
        best = int(np.argmax(chosen))
        if chosen[best] == 0:
            assert result.predicate[latent] == -1 and np.isnan(result.overlap[latent])
            continue
        assert result.predicate[latent] == best
        assert result.chosen[latent] == pytest.approx(chosen[best])
        np.testing.assert_allclose(result.overlap[latent], plain(evidence, latent, best, half=True))
        word = int(np.argmax(chosen[:3]))
        np.testing.assert_allclose(
            result.token_overlap[latent], plain(evidence, latent, word, half=True)
        )
    monkeypatch.setattr(cut, "SHARD_SAMPLES", 7)
    in_pieces = compute_token_overlaps(InMemoryShards(evidence))
    for name in ("predicate", "chosen", "overlap", "token_overlap", "others", "rate"):
        np.testing.assert_array_equal(getattr(in_pieces, name), getattr(result, name))
    monkeypatch.setattr(overlaps_module, "MAX_COUNTS", 22 * PREDICATES)
    some = compute_token_overlaps(InMemoryShards(evidence))  # 22 latents, then 8
    np.testing.assert_array_equal(some.overlap, result.overlap)


def test_like_features_have_other_formulas_and_fire_as_often() -> None:
    evidence = with_facts(1)
    result = compute_token_overlaps(InMemoryShards(evidence))
    latent = int(np.flatnonzero(result.predicate >= 0)[0])
    like = [
        other
        for other in range(LATENTS)
        if result.predicate[other] not in (-1, result.predicate[latent])
        and 1 / 1.25 <= result.rate[latent] / result.rate[other] <= 1.25
    ]
    expected = sorted(plain(evidence, latent, result.predicate[other], half=True) for other in like)
    seen = result.others[latent]
    seen = seen[~np.isnan(seen)]
    assert len(seen) == min(len(expected), 20)
    assert all(min(abs(value - e) for e in expected) < 1e-12 for value in seen)


def test_dealt_out_codes_share_no_text_with_what_holds() -> None:
    evidence = drawn_codes(np.full(200, 5), 8, 1, 9)
    inner = evidence.latent.inner_starts
    same = replace(
        evidence,
        holds=Ragged(evidence.latent.flat.copy(), evidence.tokens.starts, inner),
        predicates=Predicates(tuple(f"token {i}" for i in range(8))),
    )
    own = compute_token_overlaps(InMemoryShards(same))
    dealt = compute_token_overlaps(InMemoryShards(same), dealt_out=True)
    alive = own.rate > 0
    assert (own.overlap[alive] == 1).all() and (dealt.overlap[alive] < 0.3).all()
    assert (own.rate == dealt.rate).all()


def test_documents_are_not_cut_and_what_lacks_is_refused() -> None:
    evidence = with_facts()
    clusters = np.arange(60) // 6
    whole = replace(evidence, samples=Samples(np.arange(60), clusters=clusters))
    second = select_second_half(whole, 3)
    assert all(len(set(second[clusters == c])) == 1 for c in range(10)) and 0 < second.sum() < 60
    with pytest.raises(EvidenceError, match="holds"):
        compute_token_overlaps(InMemoryShards(replace(evidence, holds=None)))
