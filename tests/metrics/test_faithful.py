"""Scores of faithfulness: the worked example, naive oracles, planted cases."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from theodolite._planted.surrogates import planted_surrogates
from theodolite._runs.auditing.front import audit
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import compute_outputs
from theodolite.metrics.catalogue import catalogue
from theodolite.metrics.faithful.frame import (
    compute_surrogate_outputs,
    find_members,
    surrogate_warnings,
)
from theodolite.testing.strategies import surrogate_evidence

HEAD = np.array([[2.0, 0, 1], [0, 1, -1], [-1, 2, 0]])
BIAS = np.array([0.5, -0.25, 0])
EMBEDDINGS = np.array([[1.0, 0, 2], [0, 3, 1], [2, 1, 0], [0.5, 0.5, 0.5]])
LABELS = np.array([0, 2, 0, 1])
NORMS = np.linalg.norm(HEAD, axis=1)
OWN = (HEAD / NORMS[:, None])[:, None]
ODD = np.array([[0.0, 0, 1], [1, 0, 0], [0.6, 0.8, 0]])[:, None]
LOW = np.array([[0.25], [0.75], [0.5]])
AXES = np.eye(3)
MEASURES = (
    "surrogate_error",
    "surrogate_distance",
    "surrogate_agreement",
    "surrogate_rank_correlation",
    "surrogate_relative_error",
    "surrogate_accuracy",
)


def explained(vectors: np.ndarray, importances: np.ndarray) -> SurrogateEvidence:
    return SurrogateEvidence.per_class(
        embeddings=EMBEDDINGS, head=HEAD, bias=BIAS, labels=LABELS,
        vectors=vectors, importances=importances,
    )  # fmt: skip


def value(name: str, evidence: SurrogateEvidence, **options: str) -> float:
    return float(catalogue()[name].state.of(evidence, **options).value())


TWO = np.stack([AXES[[i, (i + 1) % 3]] for i in range(3)])
FIRST_TWO = np.stack([AXES[:2]] * 3)
WORKED = {
    "perfect": (explained(OWN, NORMS[:, None]), "linear", (0, 0, 1, 1, 0, 1)),
    "bias forgotten": (
        # what is left of the bias is in the outputs, not in the surrogate
        replace(explained(OWN, NORMS[:, None]), outputs=EMBEDDINGS @ HEAD.T + BIAS, bias=None),
        "linear",
        (0.250000, 0.040659, 1, 1, 0.305556, 1),
    ),
    "importances": (explained(OWN, LOW), "linear", (1.458114, 0.366615, 1, 1, 0.588852, 1)),
    "vectors": (explained(ODD, LOW), "linear", (1.875000, 0.511796, 0.75, 0.375, 0.991667, 0.4)),
    "rebuilt": (explained(OWN, LOW), "rebuilt", (0, 0, 1, 1, 0, 1)),
    "rebuilt from others": (
        explained(ODD, LOW),
        "rebuilt",
        (1.616667, 0.381761, 0.75, 0.5, 0.483333, 0.4),
    ),
    "two concepts": (
        explained(TWO, np.array([[2.0, 0], [1, -1], [0, -1]])),
        "linear",
        (1.041667, 0.240566, 0.75, 0.5, 0.361111, 0.4),
    ),
    "a plane": (
        explained(FIRST_TWO, HEAD[:, :2]),
        "linear",
        (0.583333, 0.063081, 1, 0.875, 0.611111, 1),
    ),
}


@pytest.mark.parametrize("case", WORKED)
def test_worked_example(case: str) -> None:
    evidence, surrogate, expected = WORKED[case]
    result = [value(name, evidence, surrogate=surrogate) for name in MEASURES]
    assert_allclose(result, expected, atol=5.1e-7)


def test_worked_outputs() -> None:
    expected = [[4.5, -2.25, -1], [1.5, 1.75, 6], [4.5, 0.75, 0], [2, -0.25, 0.5]]
    assert_allclose(compute_outputs(explained(OWN, LOW)), expected)


def test_a_plane_by_coordinates_is_the_same_as_by_dot_products() -> None:
    evidence = WORKED["a plane"][0]
    assert_allclose(
        compute_surrogate_outputs(evidence, "linear", "coordinates"),
        compute_surrogate_outputs(evidence, "linear"),
    )


def softmax(row: list[float]) -> np.ndarray:
    powers = np.exp(np.asarray(row) - max(row))
    return powers / powers.sum()


def naive_outputs(e: SurrogateEvidence, surrogate: str, projection: str) -> np.ndarray:
    """Loop over samples, classes and concepts, straight from the definitions."""
    if surrogate in ("learned", "linearized"):
        return np.asarray(getattr(e, surrogate))
    if surrogate == "rebuilt" and e.rebuilt is not None:
        return np.asarray(e.rebuilt)
    n, classes, k = len(e), len(e.classes), len(e.concepts)
    result = np.zeros((n, classes))
    for x in range(n):
        for i in range(classes):
            used = [j for j in range(k) if not np.isnan(e.importances[j, i])]
            if projection == "coordinates":
                basis = np.array([e.vectors[j] for j in used])
                codes = np.linalg.lstsq(basis.T, e.embeddings[x], rcond=None)[0] if used else []
            elif projection == "given" and e.projections is not None:
                codes = [e.projections[x, j] for j in used]
            else:
                codes = [float(np.dot(e.embeddings[x], e.vectors[j])) for j in used]
            total = 0.0 if e.bias is None else float(e.bias[i])
            if surrogate == "linear":
                total += sum(c * e.importances[j, i] for c, j in zip(codes, used, strict=True))
            else:
                built = np.zeros(e.embeddings.shape[1])
                for c, j in zip(codes, used, strict=True):
                    built += c * e.vectors[j]
                total += float(np.dot(e.head[i], built))
                total += 0.0 if e.constant is None else float(e.constant[i])
            result[x, i] = total
    return result


def naive(name: str, e: SurrogateEvidence, surrogate: str, projection: str) -> float:
    network = np.asarray(e.embeddings) @ np.asarray(e.head).T
    network = network if e.bias is None else network + e.bias
    result = naive_outputs(e, surrogate, projection)
    each = []
    for y, z, t in zip(network.tolist(), result.tolist(), e.labels.tolist(), strict=True):
        if name == "surrogate_error":
            each.append(sum(abs(a - b) for a, b in zip(y, z, strict=True)) / len(y))
        elif name == "surrogate_distance" and len(y) > 1:
            each.append(np.abs(softmax(y) - softmax(z)).sum() / 2)
        elif name == "surrogate_agreement" and len(y) > 1:
            a, b = ({i for i, v in enumerate(row) if v == max(row)} for row in (y, z))
            each.append(len(a & b) / len(a) / len(b))
        elif name == "surrogate_rank_correlation" and len(set(y)) > 1 and len(set(z)) > 1:
            each.append(float(scipy.stats.spearmanr(y, z).statistic))
        elif name == "surrogate_relative_error" and y[t] != 0:
            each.append(abs(y[t] - z[t]) / abs(y[t]))
        elif name == "attribute_agreement":
            each.append(sum((a > 0) == (b > 0) for a, b in zip(y, z, strict=True)) / len(y))
    return float(np.mean(each)) if each else float("nan")


@pytest.mark.parametrize("surrogate", ["linear", "rebuilt", "learned", "linearized"])
@pytest.mark.parametrize("name", [*MEASURES[:5], "attribute_agreement"])
@given(
    evidence=st.booleans().flatmap(lambda t: surrogate_evidence(ties=t)),
    projection=st.sampled_from(["given", "dot"]),
)
@settings(max_examples=40)
def test_against_naive_oracle(
    name: str, surrogate: str, evidence: SurrogateEvidence, projection: str
) -> None:
    result = value(name, evidence, surrogate=surrogate, projection=projection)
    assert_allclose(result, naive(name, evidence, surrogate, projection), rtol=1e-9, atol=1e-9)


@given(evidence=surrogate_evidence(), surrogate=st.sampled_from(["linear", "rebuilt"]))
@settings(max_examples=60)
def test_coordinates_against_least_squares(evidence: SurrogateEvidence, surrogate: str) -> None:
    result = compute_surrogate_outputs(evidence, surrogate, "coordinates")
    assert_allclose(result, naive_outputs(evidence, surrogate, "coordinates"), rtol=1e-6, atol=1e-8)


@given(evidence=surrogate_evidence(ties=True))
@settings(max_examples=60)
def test_accuracy_kept_against_counts(evidence: SurrogateEvidence) -> None:
    network = compute_outputs(evidence)
    result = compute_surrogate_outputs(evidence)
    rates = []
    for outputs in (result, network):
        right = [
            (row[t] == row.max()) / (row == row.max()).sum()
            for row, t in zip(outputs, evidence.labels, strict=True)
        ]
        rates.append(float(np.mean(right)) - 1 / len(evidence.classes))
    expected = rates[0] / rates[1] if rates[1] > 1e-9 else np.nan
    assert_allclose(value("surrogate_accuracy", evidence), expected, atol=1e-9)


@given(evidence=surrogate_evidence())
@settings(max_examples=60)
def test_relative_error_by_class_against_loops(evidence: SurrogateEvidence) -> None:
    network, result = compute_outputs(evidence), compute_surrogate_outputs(evidence)
    expected = np.full(len(evidence.classes), np.nan)
    for i in range(len(expected)):
        rows = np.flatnonzero(evidence.labels == i)
        if len(rows):
            errors = [abs(network[x, i] - result[x, i]) for x in rows]
            expected[i] = np.mean(errors) / abs(np.mean([network[x, i] for x in rows]))
    entry = catalogue()["surrogate_relative_error_by_class"]
    assert_allclose(entry.state.of(evidence).value(), expected, rtol=1e-9)


@pytest.mark.parametrize("way", ["deletion", "insertion"])
@given(evidence=surrogate_evidence(), of=st.sampled_from(["predicted", "label"]))
@settings(max_examples=40)
def test_removal_against_loops(way: str, evidence: SurrogateEvidence, of: str) -> None:
    e, each = evidence, []
    for x in range(len(e)):
        chosen = int(compute_outputs(e)[x].argmax()) if of == "predicted" else int(e.labels[x])
        used = [int(j) for j in np.flatnonzero(find_members(e)[:, chosen])]
        used.sort(key=lambda j: -e.importances[j, chosen])
        if not used or len(e.classes) == 1:
            continue
        heights = []
        for n in range(len(used) + 1):
            kept = used[n:] if way == "deletion" else used[:n]
            built = np.zeros(e.embeddings.shape[1])
            for j in kept:
                code = (
                    e.embeddings[x] @ e.vectors[j] if e.projections is None else e.projections[x, j]
                )
                built += code * e.vectors[j]
            outputs = e.head @ built
            outputs = outputs + sum(part for part in (e.bias, e.constant) if part is not None)
            heights.append(softmax(outputs.tolist())[chosen])
        each.append(np.mean([(a + b) / 2 for a, b in itertools.pairwise(heights)]))
    expected = np.mean(each) if each else np.nan
    assert_allclose(value(f"concept_{way}", e, of=of), expected, atol=1e-9)


def test_many_concepts_go_several_at_a_time() -> None:
    random = np.random.default_rng(0)
    evidence = SurrogateEvidence(
        importances=random.random((50, 2)), vectors=random.normal(size=(50, 4)),
        embeddings=random.normal(size=(6, 4)), head=random.normal(size=(2, 4)),
    )  # fmt: skip
    state = catalogue()["concept_deletion"].state
    coarse, fine = (float(state.of(evidence, most_steps=n).value()) for n in (10, 50))
    assert abs(coarse - fine) < 0.1
    assert coarse != fine


def test_a_single_output_has_no_distribution() -> None:
    evidence = SurrogateEvidence(
        importances=np.ones((1, 1)), vectors=np.ones((1, 1)), embeddings=np.array([[2.0], [1.0]]),
        head=np.array([[3.0]]),
    )  # fmt: skip
    assert np.isnan(value("surrogate_distance", evidence))
    assert np.isnan(value("surrogate_agreement", evidence))
    assert value("surrogate_error", evidence) == 3.0


def test_scale_between_vectors_and_importances_does_not_matter() -> None:
    evidence = explained(TWO, np.array([[2.0, 0], [1, -1], [0, -1]]))
    longer = replace(
        evidence, vectors=evidence.vectors * 3, importances=np.asarray(evidence.importances) / 3
    )
    assert_allclose(compute_surrogate_outputs(longer), compute_surrogate_outputs(evidence))


def test_half_precision_is_enough_for_large_numbers() -> None:
    evidence = replace(explained(OWN, LOW), embeddings=(EMBEDDINGS * 6e3).astype(np.float16),
                       head=(HEAD * 6e3).astype(np.float16))  # fmt: skip
    assert np.isfinite(compute_outputs(evidence)).all()


def test_messages_say_what_to_pass() -> None:
    with pytest.raises(EvidenceError, match="`outputs`, or `embeddings` and `head`"):
        SurrogateEvidence(importances=np.ones((1, 2)), projections=np.ones((3, 1)))
    with pytest.raises(EvidenceError, match="`projections`, or `embeddings` and `vectors`"):
        SurrogateEvidence(importances=np.ones((1, 2)), outputs=np.ones((3, 2)))
    with pytest.raises(EvidenceError, match="with 2 and 1, as in `importances`"):
        SurrogateEvidence.per_class(
            importances=np.ones((2, 1)), vectors=np.ones((1, 2, 3)), outputs=np.ones((3, 2))
        )
    plain = SurrogateEvidence(
        importances=np.ones((1, 2)), projections=np.ones((3, 1)), outputs=np.ones((3, 2))
    )
    with pytest.raises(EvidenceError, match="both, to rebuild with"):
        value("surrogate_error", plain, surrogate="rebuilt")


PLAIN = {"projections": np.ones((3, 1)), "outputs": np.arange(6.0).reshape(3, 2)}


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("surrogate_error", {"surrogate": "learned"}, "learned: got none"),
        ("surrogate_error", {"surrogate": "linearized"}, "linearized: got none"),
        ("surrogate_error", {"projection": "dot"}, "embeddings: got none"),
        ("surrogate_error", {"projection": "coordinates"}, "vectors: got none"),
        ("surrogate_relative_error", {}, "labels: got none"),
        ("surrogate_relative_error_by_class", {}, "labels: got none"),
        ("surrogate_accuracy", {}, "labels: got none"),
        ("concept_deletion", {}, "head: got none"),
    ],
)
def test_what_is_missing_is_said(name: str, options: dict[str, str], says: str) -> None:
    plain = SurrogateEvidence(importances=np.ones((1, 2)), **PLAIN)
    with pytest.raises(EvidenceError, match=says):
        catalogue()[name].state.of(plain, **options)


def test_importances_that_say_nothing_are_refused_at_the_door() -> None:
    with pytest.raises(EvidenceError, match="only NaN"):
        SurrogateEvidence(importances=np.full((1, 2), np.nan), **PLAIN)
    with pytest.raises(EvidenceError, match="Pad importances with NaN"):
        SurrogateEvidence.per_class(importances=[[1.0, 2.0], [1.0]], **PLAIN)


def test_doubts_about_the_arrays() -> None:
    good = explained(OWN, LOW)
    outputs = compute_outputs(good)
    assert surrogate_warnings(good) == surrogate_warnings(replace(good, outputs=outputs)) == []
    (said,) = surrogate_warnings(replace(good, outputs=outputs, bias=None))
    assert "pass that as `bias`" in said
    (said,) = surrogate_warnings(replace(good, outputs=outputs[::-1].copy()))
    assert "wrong order" in said
    shares = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
    (said,) = surrogate_warnings(replace(good, outputs=shares))
    assert "look like probabilities" in said
    bare = np.asarray(good.importances).copy()
    bare[:, 1] = np.nan
    (said,) = surrogate_warnings(replace(good, importances=bare))
    assert "1 of 3 classes have no concepts ('class 1' first)" in said


def test_a_single_output_is_judged_by_its_error() -> None:
    random = np.random.default_rng(0)
    evidence = SurrogateEvidence(
        importances=np.ones((1, 1)), vectors=np.ones((1, 1)), head=np.ones((1, 1)),
        embeddings=random.normal(size=(60, 1)) * 3,
    )  # fmt: skip
    (verdict,) = (v for v in audit(evidence).verdicts if v.question == "faithful")
    assert verdict.score.metric == "surrogate_error" and verdict.answer == "partly"
    assert np.isnan(value("concept_deletion", evidence))


@pytest.mark.parametrize("name", ["surrogate_error", "surrogate_distance"])
def test_planted_dial_orders(name: str) -> None:
    dial = [
        np.mean([value(name, planted_surrogates(faithfulness=f, seed=s)) for s in range(5)])
        for f in (1.0, 0.9, 0.7, 0.4, 0.0)
    ]
    assert dial[0] < 1e-9
    assert (np.diff(dial) > 0).all(), dial
