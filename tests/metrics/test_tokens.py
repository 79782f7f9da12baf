"""Scores of latents: worked numbers, loops that say the same, and nulls."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

from theodolite._planted.tokens import planted_tokens
from theodolite._runs.auditing.single_score import score
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged
from theodolite.metrics import (
    absorption,
    activation_precision,
    attribution_effect,
    comprehensiveness,
    divergence_recovered,
    label_precision,
    latent_probe,
    loss_recovered,
    rationale_mass,
    rationale_peak,
    rationale_rank,
    sufficiency,
)
from theodolite.metrics.catalogue import find_metric
from theodolite.metrics.language.latent_probe import split_halves
from theodolite.testing.strategies import token_evidence

# the cat sat / a cat ran . / the dog sat / no dogs here
TOKENS = [[0, 1, 2], [3, 1, 4, 5], [0, 6, 2], [7, 8, 9]]
LATENT = [[[1], [0], []], [[], [0], [0], []], [[1], [0], []], [[], [], [1]]]
VALUE = [[[1.0], [2.0], []], [[], [1.5], [0.5], []], [[1.2], [0.4], []], [[], [], [0.3]]]
HOLDS = [[[1], [0], []], [[], [0], [], []], [[1], [], []], [[], [], []]]
ROWS = [[0.6, 0.8, 0.0], [0.8, -0.6, 0.0], [0.3, 0.0, 0.953939], [-0.5, 0.866025, 0.0]]


def value(name: str, evidence: TokenEvidence, **options: Any) -> np.ndarray:
    return np.asarray(find_metric(name).state.of(evidence, **options).value())


def close(left: Any, right: Any) -> None:
    np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9)


def test_worked_precision() -> None:
    arrays = (TOKENS, LATENT, VALUE, HOLDS, [0, 1], [0, 1])
    assert activation_precision(*arrays) == pytest.approx([0.795455, 0.88], abs=1e-6)
    by_token = activation_precision(*arrays, weight="token")
    assert by_token == pytest.approx([0.5, 0.666667], abs=1e-6)
    of_labels = label_precision(LATENT, VALUE, [[1], [1], [0], [0]], [0, 1], [0, 0])
    assert of_labels == pytest.approx([0.666667, 0.333333], abs=1e-6)


def test_worked_recovery() -> None:
    assert loss_recovered([[3.0]], [[3.2]], [[5.0]]) == pytest.approx(0.9, abs=1e-6)
    zeroed = loss_recovered([[3.0]], [[3.2]], [[5.0]], ablation="zero", loss_zeroed=[[8.0]])
    assert zeroed == pytest.approx(0.96, abs=1e-6)
    p, spliced, ablated = np.array([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [1 / 3] * 3])
    to_spliced, to_ablated = ((p * np.log(p / q)).sum() for q in (spliced, ablated))
    assert (to_spliced, to_ablated) == pytest.approx((0.026812, 0.296794), abs=1e-6)
    assert divergence_recovered([[to_spliced]], [[to_ablated]]) == pytest.approx(0.909660, abs=1e-6)
    assert math.isnan(loss_recovered([[3.0]], [[3.2]], [[3.0]]))


def test_worked_attribution() -> None:
    claims, effects = [0.3, -0.1, 0.05, 0.0, 0.2], [0.25, -0.05, 0.1, 0.02, 0.1]
    pair = [[[c] for c in claims]], [[[e] for e in effects]]
    assert attribution_effect(*pair) == pytest.approx(0.974679, abs=1e-6)
    assert attribution_effect(*pair, agreement="pearson") == pytest.approx(0.939861, abs=1e-6)
    assert attribution_effect(*pair, agreement="sign") == pytest.approx(0.8, abs=1e-6)


def test_worked_rationales() -> None:
    arrays = [[0.1, 0.5, -0.2, 0.3]], [[0, 1, 0, 1]]
    assert rationale_peak(*arrays) == pytest.approx(1.0, abs=1e-6)
    assert rationale_mass(*arrays) == pytest.approx(0.888889, abs=1e-6)
    assert rationale_rank(*arrays) == pytest.approx(1.0, abs=1e-6)
    assert comprehensiveness([0.9], [[[0.4]]]) == pytest.approx(0.5, abs=1e-6)
    assert sufficiency([0.9], [[[0.75]]]) == pytest.approx(0.15, abs=1e-6)


def test_worked_absorption() -> None:
    named = {"decoder": ROWS, "probes": [[2.0, 0.0, 0.0]], "explained": [0], "concept_of": [0]}
    codes = {"latent": [[[0, 1, 2]]], "value": [[[0.5, 1.5, 0.4]]]}
    own = absorption(**codes, **named, projections=[[[1.67]]])
    assert own == pytest.approx([0.814815], abs=1e-6)
    silent = {"latent": [[[1, 2]]], "value": [[[1.5, 0.4]]], "projections": [[[1.37]]]}
    assert absorption(**silent, **named, kind="full") == pytest.approx([1.0])
    assert absorption(**codes, **named, projections=[[[1.67]]], kind="full") == pytest.approx([0.0])
    assert np.isnan(absorption(**codes, **named, projections=[[[-1.0]]])).all()
    twice = {**named, "decoder": 2 * np.array(ROWS)}
    halved = {"latent": [[[0, 1, 2]]], "value": [[[0.25, 0.75, 0.2]]]}
    again = absorption(**halved, **twice, projections=[[[1.67]]])
    assert again == pytest.approx(own)
    published = absorption(**halved, **twice, projections=[[[1.67]]], form="as_published")
    assert published == pytest.approx([0.0])  # shares of less than 0.4


def test_worked_probe() -> None:
    truth = [[1], [1], [0], [0]]
    a, b = [2.0, 1.5, 0.4, 0.0], [1.0, 0.0, 1.2, 0.3]
    for values, expected in ((a, 1.0), (b, 0.25)):
        latent = [[[0]] if v else [[]] for v in values * 6]
        rows = [[[v]] if v else [[]] for v in values * 6]
        evidence = TokenEvidence(
            tokens=[[0]] * 24, latent=latent, value=rows, truth=truth * 6, latents=1
        )
        held_out = ~split_halves(evidence, 0)
        score_of = np.array(values * 6)[held_out]
        there = np.array(truth * 6)[held_out, 0].astype(bool)
        pairs = [(x > y) + 0.5 * (x == y) for x in score_of[there] for y in score_of[~there]]
        close(latent_probe(latent, rows, truth * 6), [np.mean(pairs)])
        whole = [(x > y) + 0.5 * (x == y) for x in values[:2] for y in values[2:]]
        assert np.mean(whole) == pytest.approx(expected, abs=1e-6)


def tokens_of(evidence: TokenEvidence) -> list[tuple[int, dict[int, float], set[int]]]:
    """Token by token: the sequence, what is active, what holds."""
    rows = []
    for row in range(len(evidence)):
        latent, values, holds = evidence.latent[row], evidence.value[row], evidence.holds[row]
        for t in range(len(latent)):
            active = dict(zip(latent[t].tolist(), values[t].tolist(), strict=True))
            rows.append((row, active, set(holds[t].tolist())))
    return rows


@settings(max_examples=15)
@given(evidence=token_evidence())
def test_precision_by_hand(evidence: TokenEvidence) -> None:
    by_value, by_token, of_labels = [], [], []
    known = np.ones(evidence.truth.shape) if evidence.known is None else evidence.known
    for e in range(len(evidence.explanations)):
        latent, predicate = int(evidence.explained[e]), int(evidence.predicate_of[e])
        own = [(a[latent], predicate in h, row) for row, a, h in tokens_of(evidence) if latent in a]
        total = sum(v for v, _, _ in own)
        by_value.append(sum(v for v, ok, _ in own if ok) / total if own else math.nan)
        by_token.append(sum(ok for _, ok, _ in own) / len(own) if own else math.nan)
        rows = {row for _, _, row in own if known[row, e]}
        hits = sum(bool(evidence.truth[row, e]) for row in rows)
        of_labels.append(hits / len(rows) if rows else math.nan)
    close(value("activation_precision", evidence), by_value)
    close(value("activation_precision", evidence, weight="token"), by_token)
    close(value("label_precision", evidence), of_labels)


@settings(max_examples=15)
@given(evidence=token_evidence())
def test_recovery_by_hand(evidence: TokenEvidence) -> None:
    for name, clean in (("loss", evidence.loss.flat), ("divergence", None)):
        spliced, ablated = (
            getattr(evidence, f"{name}_{how}").flat.tolist() for how in ("spliced", "ablated")
        )
        zeros = [0.0] * len(spliced) if clean is None else clean.tolist()
        rows = [r for r in zip(zeros, spliced, ablated, strict=True) if not np.isnan(r).any()]
        cost = sum(c - a for a, _, c in rows)
        expected = sum(c - b for _, b, c in rows) / cost if cost > 0 else math.nan
        close(value(f"{name}_recovered", evidence), expected)


@settings(max_examples=15)
@given(evidence=token_evidence())
def test_attribution_as_scipy_has_it(evidence: TokenEvidence) -> None:
    claims, effects = evidence.importance.flat, evidence.effect.flat
    tried = ~(np.isnan(claims) | np.isnan(effects))
    x, y = claims[tried], effects[tried]
    spread = tried.sum() >= 3 and len(set(x)) > 1 and len(set(y)) > 1
    for agreement, of in (("spearman", stats.spearmanr), ("pearson", stats.pearsonr)):
        expected = of(x, y).statistic if spread else math.nan
        close(value("attribution_effect", evidence, agreement=agreement), expected)
    same = [a * b > 0 for a, b in zip(x, y, strict=True)]
    expected = np.mean(same) if len(same) >= 3 else math.nan
    close(value("attribution_effect", evidence, agreement="sign"), expected)


@settings(max_examples=15)
@given(evidence=token_evidence())
def test_rationales_by_hand(evidence: TokenEvidence) -> None:
    peaks, masses, ranks = [], [], []
    for row in range(len(evidence)):
        relevance, marked = evidence.relevance[row].tolist(), evidence.rationale[row].tolist()
        if not any(marked) or all(marked):
            continue
        order = sorted(range(len(marked)), key=lambda t: (-relevance[t], t))
        peaks.append(marked[order[0]])
        ranks.append(np.mean([marked[t] for t in order[: sum(marked)]]))
        whole = sum(max(r, 0) for r in relevance)
        if whole > 0:
            inside = sum(max(r, 0) for r, m in zip(relevance, marked, strict=True) if m)
            masses.append(inside / whole)
    for name, each in (("peak", peaks), ("mass", masses), ("rank", ranks)):
        close(value(f"rationale_{name}", evidence), np.mean(each) if each else math.nan)


@settings(max_examples=10)
@given(evidence=token_evidence())
def test_absorption_by_hand(evidence: TokenEvidence) -> None:
    fractions: list[list[float]] = [[] for _ in evidence.concepts.names]
    lengths = np.linalg.norm(evidence.decoder, axis=1)
    for at, (_, active, _) in enumerate(tokens_of(evidence)):
        for c, own in enumerate(fractions):
            along = evidence.projections.flat[at, c]
            if not along > 0:
                continue
            probe = evidence.probes[c] / np.linalg.norm(evidence.probes[c])
            cosine = evidence.decoder @ probe / lengths
            mine = {int(x) for x in evidence.explained[evidence.concept_of == c]}
            part = {x: v * cosine[x] * lengths[x] for x, v in active.items()}
            main = sum(r for x, r in part.items() if x in mine)
            others = [r for x, r in part.items() if x not in mine and r > 0 and cosine[x] >= 0.1]
            absorbers = sum(sorted(others, reverse=True)[:3])
            if main >= along or absorbers / along < 0.4:
                own.append(0.0)
            elif main <= 0:
                own.append(1.0)
            else:
                amount = min(absorbers, along - main)
                own.append(amount / (amount + main))
    close(value("absorption", evidence), [np.mean(own) if own else math.nan for own in fractions])


@settings(max_examples=10)
@given(evidence=token_evidence())
def test_probe_by_hand(evidence: TokenEvidence) -> None:
    n, k = len(evidence), len(evidence.latents)
    pooled = np.zeros((n, k))
    for row, active, _ in tokens_of(evidence):
        for latent, v in active.items():
            pooled[row, latent] = max(pooled[row, latent], v)
    choosing = split_halves(evidence, 0)
    known = np.ones(evidence.truth.shape, bool) if evidence.known is None else evidence.known

    def auroc(values: np.ndarray, there: np.ndarray) -> float:
        pairs = [(x > y) + 0.5 * (x == y) for x in values[there] for y in values[~there]]
        return float(np.mean(pairs)) if pairs else math.nan

    expected = []
    for c in range(len(evidence.concepts)):
        first, rest = known[:, c] & choosing, known[:, c] & ~choosing
        merit = [auroc(pooled[first, x], evidence.truth[first, c]) for x in range(k)]
        if np.isnan(merit[0]):
            expected.append(math.nan)
            continue
        best = max(range(k), key=lambda x: (round(merit[x], 12), -x))
        expected.append(auroc(pooled[rest, best], evidence.truth[rest, c]))
    close(value("latent_probe", evidence), expected)


def test_halves_share_no_cluster_and_know_no_order() -> None:
    evidence = planted_tokens(60)
    clusters = np.arange(60) // 4
    object.__setattr__(evidence.samples, "clusters", clusters)
    first = split_halves(evidence, 3)
    assert 0 < first.sum() < 60
    assert not set(clusters[first]) & set(clusters[~first])
    order = np.random.default_rng(0).permutation(60)
    assert (split_halves(evidence[order], 3) == first[order]).all()
    assert (split_halves(evidence, 4) != first).any()


def test_without_a_random_dictionary_that_null_is_undefined() -> None:
    whole = planted_tokens(80)
    names = ("tokens", "latent", "value", "truth", "holds", "explained", "predicate_of")
    arrays = {name: getattr(whole, name) for name in names}
    bare = TokenEvidence(**arrays, predicates=whole.predicates, latents=whole.latents)
    for name in ("latent_probe", "activation_precision"):
        with_it, without = (
            {null.name: null.value for null in score(name, e, resamples=20).nulls}
            for e in (whole, bare)
        )
        assert not math.isnan(with_it["random_sae"])
        assert math.isnan(without.pop("random_sae"))
        assert without and not any(map(math.isnan, without.values()))


def test_tokens_in_any_order_change_no_count() -> None:
    whole = planted_tokens(30)
    order = np.lexsort((np.random.default_rng(0).random(len(whole.tokens.flat)), whole.tokens.row))

    def moved(name: str) -> Ragged:
        own = getattr(whole, name)
        alone = Ragged(own.flat, own.inner_starts)[order]
        return Ragged(alone.flat, own.starts, alone.starts)

    tokens = Ragged(whole.tokens.flat[order], whole.tokens.starts)
    codes = {name: moved(name) for name in ("latent", "value", "holds")}
    other = TokenEvidence(
        tokens=tokens,
        **codes,
        truth=whole.truth,
        explained=whole.explained,
        predicate_of=whole.predicate_of,
        concept_of=whole.concept_of,
        predicates=whole.predicates,
        latents=whole.latents,
    )
    for name in ("activation_precision", "label_precision", "latent_probe"):
        close(value(name, other), value(name, whole))
