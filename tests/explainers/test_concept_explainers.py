"""Explanations of concept heads: planted heads, sums that must hold, borders found by bisection."""

import sys
from itertools import combinations
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Concepts
from theodolite.evidence.concept_head import ConceptHead
from theodolite.explainers.concepts.heads import (
    GaussianHead,
    LinearHead,
    build_gaussian_head,
    fit_linear,
    fit_qda,
)
from theodolite.explainers.concepts.methods import TECHNIQUES, concept_explainer
from theodolite.models.concept_bank import ConceptBank
from theodolite.models.posthoc import fit_posthoc

WEIGHTS = np.array([[3.0, 0, 0], [0, 0.1, 0], [-2, 0, 0], [0.1, 0, 0.2], [1, 0, 0.1]])
HEAD = LinearHead(WEIGHTS, np.array([0.1, 0.2, 0.3]))
BACKGROUND = np.random.default_rng(0).normal(size=(60, 5))
SAMPLES = np.random.default_rng(1).normal(size=(4, 5)) + np.array([2.0, 0, 2, 0, 2])
LABELS = np.array([0, 0, 1, 0])
OPTIONS = {"lime_cbm": {"num_samples": 300}, "rise_cbm": {"n_masks": 200}}
ON_A_LINEAR_HEAD = [name for name in TECHNIQUES if name != "clip_qda"]


@pytest.fixture(autouse=True)
def _library(request: pytest.FixtureRequest) -> None:
    """Tests of lime's and shap's explanations need lime and shap."""
    chosen = str(getattr(request.node, "callspec", None) and request.node.callspec.params)
    for library in ("lime", "shap"):
        if f"{library}_cbm" in chosen or f"_{library}_" in request.node.name:
            pytest.importorskip(library, reason=f"no {library}: pip install 'theodolite[explain]'")


def clusters(n_classes: int = 3, n_concepts: int = 4, n: int = 120) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(3)
    labels = np.arange(n) % n_classes
    centers = random.normal(size=(n_classes, n_concepts)) * 2
    return centers[labels] + random.normal(size=(n, n_concepts)), labels


# ---- all of them


@pytest.mark.parametrize("name", TECHNIQUES)
def test_a_sample_is_explained_alike_whatever_is_beside_it(name: str) -> None:
    values, labels = clusters(n_concepts=5)
    head: ConceptHead = fit_qda(values, labels) if name == "clip_qda" else HEAD
    samples = np.abs(SAMPLES)
    explain = concept_explainer(
        name, head, background=BACKGROUND, seed=7, options=OPTIONS.get(name)
    )
    kept = samples.copy(), LABELS.copy(), BACKGROUND.copy()
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    together = explain(samples, LABELS)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    assert all((a == b).all() for a, b in zip(kept, (samples, LABELS, BACKGROUND), strict=True))
    np.random.seed(99)  # noqa: NPY002
    alone = np.concatenate([explain(samples[[k]], LABELS[[k]]) for k in (3, 2, 1, 0)])[::-1]
    assert together.shape == samples.shape
    assert_allclose(together, alone, rtol=0, atol=0)


@pytest.mark.parametrize("name", ["lime_cbm", "rise_cbm"])
def test_another_seed_draws_others(name: str) -> None:
    one, two = (
        concept_explainer(name, HEAD, background=BACKGROUND, seed=seed, options=OPTIONS.get(name))(
            SAMPLES, LABELS
        )
        for seed in (0, 1)
    )
    assert not np.allclose(one, two, rtol=1e-6)


def test_a_seed_draws_the_same_where_shap_must() -> None:
    """Fifteen concepts have too many subsets to go through."""
    random = np.random.default_rng(0)
    head = LinearHead(random.normal(size=(15, 2)), np.zeros(2))
    background, samples = random.normal(size=(5, 15)), random.normal(size=(2, 15))
    labels = np.array([1, 0])

    def explained(seed: int) -> np.ndarray:
        return concept_explainer(
            "shap_cbm", head, background=background, seed=seed, options={"nsamples": 200}
        )(samples, labels)

    assert (explained(3) == explained(3)).all()
    assert not np.allclose(explained(3), explained(4), rtol=1e-6)


@pytest.mark.parametrize("name", ["lime_cbm", "shap_cbm", "linear_head"])
def test_signs_and_ranks_of_a_planted_head(name: str) -> None:
    sample = np.array([[2.5, 2, 2.5, 2, 2.5]])
    result = concept_explainer(name, HEAD, background=BACKGROUND)(sample, np.array([0]))[0]
    assert result[0] > 0 > result[2]
    assert set(np.argsort(-np.abs(result))[:2]) == {0, 2}
    assert result[4] > 0


@pytest.mark.parametrize("decisive", range(4))
def test_rise_puts_the_decisive_concept_first(decisive: int) -> None:
    weights = np.full((4, 2), 0.1)
    weights[decisive, 0] = 4
    head = LinearHead(weights, np.zeros(2))
    background = np.random.default_rng(0).normal(size=(50, 4))
    result = concept_explainer("rise_cbm", head, background=background)(
        np.full((1, 4), 2.0), np.array([0])
    )[0]
    assert result.argmax() == decisive
    assert result.max() <= 1


def test_rise_is_the_mean_over_masks_that_keep() -> None:
    explain = concept_explainer(
        "rise_cbm", HEAD, background=BACKGROUND, seed=4, options={"n_masks": 9, "keep": 0.3}
    )
    masks = np.random.default_rng(4).random((9, 5)) < 0.3
    for sample, label, result in zip(SAMPLES, LABELS, explain(SAMPLES, LABELS), strict=True):
        for concept in range(5):
            kept = [m for m in masks if m[concept]]
            expected = [
                HEAD.probabilities(np.where(m, sample, BACKGROUND.mean(0))[None])[0, label]
                for m in kept
            ]
            assert_allclose(result[concept], np.mean(expected) if kept else np.nan, rtol=1e-12)


def test_a_concept_that_no_mask_kept_has_no_value() -> None:
    result = concept_explainer(
        "rise_cbm", HEAD, background=BACKGROUND, options={"n_masks": 1, "keep": 0.5}
    )(SAMPLES, LABELS)
    masks = np.random.default_rng(0).random((1, 5)) < 0.5
    assert masks.any() and not masks.all()
    assert (np.isnan(result) == ~masks).all()


def test_shap_sums_and_is_shapleys_value() -> None:
    """Against the definition, over all subsets, with every row of a small background."""
    background = BACKGROUND[:6]
    explain = concept_explainer("shap_cbm", HEAD, background=background)
    result = explain(SAMPLES, LABELS)
    for sample, label, values in zip(SAMPLES, LABELS, result, strict=True):

        def worth(some: tuple[int, ...], sample: np.ndarray = sample, label: int = label) -> float:
            known = np.isin(np.arange(5), some)
            return float(HEAD.probabilities(np.where(known, sample, background))[:, label].mean())

        assert_allclose(values.sum(), worth(tuple(range(5))) - worth(()), atol=1e-9)
        for concept in range(5):
            others = [k for k in range(5) if k != concept]
            expected = sum(
                factorial(size) * factorial(4 - size) / factorial(5)
                * (worth((*some, concept)) - worth(some))
                for size in range(5) for some in combinations(others, size)
            )  # fmt: skip
            assert_allclose(values[concept], expected, atol=1e-6)


def test_shap_keeps_more_than_ten_concepts() -> None:
    weights = np.zeros((14, 2))
    weights[:, 0] = 0.3
    head = LinearHead(weights, np.zeros(2))
    background = np.repeat([[0.0], [0.1]], 14, axis=1)
    result = concept_explainer("shap_cbm", head, background=background)(
        np.full((1, 14), 1.0), np.array([0])
    )
    assert (result > 0.005).all()


def test_linear_contributions_sum_to_the_logit() -> None:
    result = concept_explainer("linear_head", HEAD, background=BACKGROUND)(SAMPLES, LABELS)
    logits = SAMPLES @ WEIGHTS + HEAD.bias
    assert_allclose(result.sum(axis=1) + HEAD.bias[LABELS], logits[np.arange(4), LABELS])
    counts = np.array([[0.0, 2, 1, 0, 3]])
    nesyl = concept_explainer("x_nesyl", HEAD, background=BACKGROUND)(counts, np.array([0]))
    assert_allclose(nesyl[0], [0, 0, -2, 0, 3])
    with pytest.raises(EvidenceError, match="none below 0"):
        concept_explainer("x_nesyl", HEAD, background=BACKGROUND)(SAMPLES - 9, LABELS)


def test_a_posthoc_bottleneck_is_a_head_that_shap_explains() -> None:
    random = np.random.default_rng(0)
    bank = ConceptBank(Concepts(("a", "b", "c")), random.normal(size=(3, 6)), np.zeros(3))
    labels = np.arange(90) % 3
    features = random.normal(size=(3, 6))[labels] * 3 + random.normal(size=(90, 6))
    model = fit_posthoc(bank, (features, labels), 4)
    assert isinstance(model, ConceptHead)
    values = model.concepts(features)
    chances = model.probabilities(values)
    assert (chances.argmax(axis=1) == model.predict(values)).all()
    assert_allclose(chances.sum(axis=1), 1)
    assert (chances[:, 3] == 0).all()  # the class that was never seen
    for name in ("linear_head", "shap_cbm", "rise_cbm"):
        result = concept_explainer(name, model, background=values[:20], options=OPTIONS.get(name))(
            values[:2], labels[:2]
        )
        assert np.isfinite(result).all()


# ---- the Gaussian head and its counterfactual


def test_the_gaussian_head_is_scikit_learns() -> None:
    values, labels = clusters()
    head = fit_qda(values, labels)
    theirs = QuadraticDiscriminantAnalysis().fit(values, labels)
    if hasattr(theirs, "scalings_") and np.isclose(  # older releases divide by n - 1
        np.sum(theirs.scalings_[0]), np.trace(np.cov(values[labels == 0].T, bias=True))
    ):
        assert_allclose(head.probabilities(values), theirs.predict_proba(values), atol=1e-9)
    assert (head.probabilities(values).argmax(axis=1) == theirs.predict(values)).mean() > 0.98
    assert isinstance(head, ConceptHead) and head.weights is None


def test_few_samples_need_shrinkage() -> None:
    values, labels = clusters(n_concepts=9, n=12)
    with pytest.raises(EvidenceError, match=r"do not vary freely.*Pass shrinkage"):
        fit_qda(values, labels)
    assert (fit_qda(values, labels, shrinkage=0.5).probabilities(values).argmax(1) == labels).all()


@st.composite
def heads_and_samples(draw: st.DrawFn) -> tuple[GaussianHead, np.ndarray]:
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    n_classes, n_concepts = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    roots = random.normal(size=(n_classes, n_concepts, n_concepts))
    covariances = roots @ roots.transpose(0, 2, 1) + 0.3 * np.eye(n_concepts)
    if draw(st.booleans()):
        covariances[:] = covariances[0]  # linear borders: the quadratic's first number is 0
    means = random.normal(size=(n_classes, n_concepts)) * 2
    head = build_gaussian_head(means, covariances, random.dirichlet(np.ones(n_classes) * 5))
    return head, random.normal(size=n_concepts) * 2


def first_flip(head: GaussianHead, sample: np.ndarray, concept: int, label: int) -> float:
    """Walk away in small steps both ways until the decision changes, then halve."""

    def is_class(move: np.ndarray) -> np.ndarray:
        moved = np.repeat(sample[None], len(move), axis=0)
        moved[:, concept] += move
        return head.scores(moved).argmax(axis=1) == label

    here = is_class(np.zeros(1))[0]
    best = np.nan
    for sign in (1, -1):
        steps = sign * np.linspace(0, 30, 6001)
        changed = np.flatnonzero(is_class(steps) != here)
        if not len(changed):
            continue
        low, high = steps[changed[0] - 1], steps[changed[0]]
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if is_class(np.array([middle]))[0] == here else (low, middle)
        if not abs(high) > abs(best):
            best = high
    return best


@settings(max_examples=40)
@given(heads_and_samples())
def test_the_counterfactual_is_where_bisection_finds_it(
    drawn: tuple[GaussianHead, np.ndarray],
) -> None:
    head, sample = drawn
    scores = head.scores(sample[None])[0]
    for label in range(len(scores)):  # to lose the class, or to win it
        result = concept_explainer("clip_qda", head, background=sample[None])(
            sample[None], np.array([label])
        )[0]
        chosen = scores.argmax() == label
        for concept, move in enumerate(result):
            expected = first_flip(head, sample, concept, label)
            if np.isnan(expected):
                assert np.isnan(move) or abs(move) > 29.99
                continue
            # a flip and back within one of the walker's steps is not seen by it
            assert abs(move) <= abs(expected) * (1 + 1e-6)
            if abs(move) > abs(expected) - 0.01:
                assert_allclose(abs(move), abs(expected), rtol=1e-6)
            for share, flips in ((1 + 1e-6, True), (0.999, False)):
                moved = sample.copy()
                moved[concept] += share * move
                is_class = head.scores(moved[None])[0].argmax() == label
                assert (is_class != chosen) == flips


def test_a_worked_counterfactual() -> None:
    """Two unit Gaussians at 0 and 4: the border is at 2; the other concept never helps."""
    head = build_gaussian_head(
        np.array([[0.0, 0], [4, 0]]), np.stack([np.eye(2)] * 2), np.array([0.5, 0.5])
    )
    explain = concept_explainer("clip_qda", head, background=np.zeros((1, 2)))
    samples = np.array([[0.5, 1.0], [3.0, 1.0], [0.5, 1.0]])
    result = explain(samples, np.array([0, 1, 1]))
    assert_allclose(result, [[1.5, np.nan], [-1, np.nan], [1.5, np.nan]])
    assert TECHNIQUES["clip_qda"].scale.startswith("a distance, so SMALL is important")


def test_a_narrow_class_can_be_left_on_both_sides_and_a_wide_one_entered() -> None:
    """Standard deviations 1 and 2, same mean, same prior: even where t² = 8 ln 2 / 3."""
    head = build_gaussian_head(np.zeros((2, 1)), np.array([[[1.0]], [[4.0]]]), np.array([0.5, 0.5]))
    border = np.sqrt(8 * np.log(2) / 3)
    explain = concept_explainer("clip_qda", head, background=np.zeros((1, 1)))
    result = explain(np.array([[0.5], [-0.5], [3.0]]), np.array([0, 0, 1]))[:, 0]
    assert_allclose(result, [border - 0.5, 0.5 - border, border - 3])


# ---- fits and faults


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_linear_fit_is_scikit_learns_on_standard_values(n_classes: int) -> None:
    values, labels = clusters(n_classes)
    values = values * [1, 10, 0.1, 1] + [5, 0, 0, 0]
    values[:, 3] = 2.0  # never varies
    head = fit_linear(values, labels)
    spread = np.where(values.std(0) > 0, values.std(0), 1)
    standard = (values - values.mean(0)) / spread
    theirs = LogisticRegression(max_iter=5000).fit(standard, labels)
    assert_allclose(head.probabilities(values), theirs.predict_proba(standard), atol=1e-9)
    assert head.weights.shape == (4, n_classes) and np.isfinite(head.weights).all()


@pytest.mark.parametrize(
    "labels", [np.zeros(4, int), np.array([0, 0, 2, 2]), np.array([-1, 0, 0, 1])]
)
def test_labels_that_cannot_be_fitted(labels: np.ndarray) -> None:
    for fit in (fit_qda, fit_linear):
        with pytest.raises(EvidenceError, match="at least two classes"):
            fit(np.random.default_rng(0).random((4, 2)), labels)


def test_faults_are_said() -> None:
    gaussian = fit_qda(*clusters(n_concepts=5))
    with pytest.raises(EvidenceError, match="one of lime_cbm, shap_cbm"):
        concept_explainer("tcav", HEAD, background=BACKGROUND)
    with pytest.raises(EvidenceError, match="Fit it with fit_qda"):
        concept_explainer("clip_qda", HEAD, background=BACKGROUND)
    with pytest.raises(EvidenceError, match="not linear"):
        concept_explainer("linear_head", gaussian, background=BACKGROUND)
    with pytest.raises(EvidenceError, match="nothing to choose"):
        concept_explainer("linear_head", HEAD, background=BACKGROUND, options={"n_masks": 3})
    with pytest.raises(EvidenceError, match="at least one"):
        concept_explainer("linear_head", HEAD, background=BACKGROUND[:0])
    explain = concept_explainer("linear_head", HEAD, background=BACKGROUND)
    with pytest.raises(EvidenceError, match="classes 0 to 2"):
        explain(SAMPLES, LABELS + 2)
    with pytest.raises(EvidenceError, match="finite"):
        explain(SAMPLES * np.nan, LABELS)
    with pytest.raises(EvidenceError, match="as in the background"):
        explain(SAMPLES[:, :3], LABELS)
    for wrong in ({"keep": 1.0}, {"n_masks": 0}, {"masks": 3}):
        with pytest.raises(EvidenceError, match="n_masks of 1 or more"):
            concept_explainer("rise_cbm", HEAD, background=BACKGROUND, options=wrong)(
                SAMPLES, LABELS
            )


@pytest.mark.parametrize("name", ["lime", "shap"])
def test_a_missing_library_is_said(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, f"{name}.{name}_tabular", None)
    explain = concept_explainer(f"{name}_cbm", HEAD, background=BACKGROUND)
    with pytest.raises(EvidenceError, match=f"no {name}; needed it. Install it"):
        explain(SAMPLES, LABELS)


def test_the_table_says_what_each_is() -> None:
    assert list(TECHNIQUES) == [row.name for row in TECHNIQUES.values()]
    assert {row.attribution_on for row in TECHNIQUES.values()} == {"concepts"}
    assert all(row.scale and row.cost and row.paper for row in TECHNIQUES.values())
