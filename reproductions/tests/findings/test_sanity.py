"""Scores of faithfulness: the worked example, naive oracles, planted cases."""

import numpy as np
import pytest
import scipy.stats

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import compute_outputs, make_perfect
from theodolite_reproductions.findings.cost import surrogate_operations
from theodolite_reproductions.findings.sanity import judged, sanity_check

AXES = np.eye(3)
TWO = np.stack([AXES[[i, (i + 1) % 3]] for i in range(3)])


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


def test_costs_of_the_paper() -> None:
    costs = {
        s: surrogate_operations(s, classes=101, concepts=1, dimensions=2048)
        for s in ("linear", "rebuilt", "learned")
    }
    assert costs == {"linear": 202, "rebuilt": 620_544, "learned": 207_362_696}


class TestSanity:
    """Measure over measure."""

    def found(self) -> dict[tuple[str, str], object]:
        random = np.random.default_rng(0)
        head = random.normal(size=(12, 30)) * random.uniform(0.5, 2.0, size=(12, 1))
        check = sanity_check(
            random.normal(size=(60, 30)), head, labels=random.integers(0, 12, 60),
            learned=lambda evidence, seed: compute_outputs(evidence) + seed * 1e-9,
        )  # fmt: skip
        return {(one.measure, one.options.get("surrogate", "")): one for one in check.measures}

    def test_linear_passes_rebuilt_is_blind_and_a_surrogate_that_fits_anything_fails(self) -> None:
        result = self.found()
        for measure in ("surrogate_error", "surrogate_distance", "surrogate_rank_correlation"):
            linear, rebuilt = result[measure, "linear"], result[measure, "rebuilt"]
            learned = result[measure, "learned"]
            assert linear.outcome == "passes" and all(step.holds for step in linear.planted), str(
                linear
            )
            assert rebuilt.outcome == "fails"
            assert rebuilt.order[0].found == "the same"  # blind to importances
            assert rebuilt.order[1].found == "worse"
            assert learned.outcome == "fails"
            assert str(linear).startswith("passes") and str(rebuilt).startswith("fails")

    def test_a_measure_that_prefers_random_concepts_fails(self) -> None:
        values = {
            "perfect": (0.1, 0.1, 0.1),
            "random_importances": (0.5, 0.6, 0.5),
            "random_concepts": (0.9, 0.8, 0.9),
        }
        assert judged("m", {}, "higher", values).outcome == "fails"
        assert judged("m", {}, "higher", values).order[0].found == "better"
        assert judged("m", {}, "lower", values).outcome == "passes"

    def test_rounding_beside_a_perfect_score_is_no_difference(self) -> None:
        values = {
            "perfect": (1e-7, 1e-7, 1e-7),
            "random_importances": (0.5, 0.6, 0.5),
            "random_concepts": (0.9, 0.8, 0.9),
            "longer and shorter vectors": (2e-7, 3e-7, 2e-7),
        }
        (step,) = judged("m", {}, "lower", values).planted
        assert step.found == "the same" and step.holds

    def test_seeds_that_disagree_are_not_told_apart(self) -> None:
        values = {
            "perfect": (0.0, 0.0, 0.0),
            "random_importances": (0.5, -0.6, 0.2),
            "random_concepts": (2.0, 2.1, 2.2),
        }
        result = judged("m", {}, "lower", values)
        assert result.order[0].found == "too few repeats" and result.outcome == "undecided"

    def test_one_seed_decides_nothing(self) -> None:
        values = {"perfect": (0.0,), "random_importances": (1.0,), "random_concepts": (2.0,)}
        assert judged("m", {}, "lower", values).outcome == "undecided"

    def test_without_seeds_or_classes_it_says_so(self) -> None:
        with pytest.raises(EvidenceError, match="0 seeds and 2 outputs"):
            sanity_check(np.ones((3, 2)), np.ones((2, 2)), seeds=[])
        with pytest.raises(EvidenceError, match="1 outputs"):
            sanity_check(np.ones((3, 2)), np.ones((1, 2)))


def test_perfect_needs_the_last_layer() -> None:
    plain = SurrogateEvidence(
        importances=np.ones((1, 2)), projections=np.ones((3, 1)), outputs=np.ones((3, 2))
    )
    with pytest.raises(EvidenceError, match="no last layer"):
        make_perfect(plain)
