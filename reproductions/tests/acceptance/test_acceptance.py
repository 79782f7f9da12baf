"""Scores that are learned from ratings: losses, splits, scoring functions."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Lasso, Ridge
from sklearn.metrics import cohen_kappa_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite_reproductions.acceptance.fitting import Known, fit_scorer
from theodolite_reproductions.acceptance.losses import (
    LossWeights,
    cosine_loss,
    cosine_of_each,
    error_loss,
    loss,
    rank_loss,
    rank_of_neighbors,
)
from theodolite_reproductions.acceptance.score_file import LearnedScore, ScoreCard
from theodolite_reproductions.acceptance.scorer import Layers, Scorer, scorer_from
from theodolite_reproductions.acceptance.settings import Kind, ScorerSettings
from theodolite_reproductions.acceptance.splits import Apart, folds, split
from theodolite_reproductions.acceptance.training import Adam, quadratic_kappa
from theodolite_reproductions.acceptance.words import words

torch = pytest.importorskip("torch")
SAID = torch.tensor([0.2, 0.7, 0.4, 0.9], dtype=torch.float64)
RATED = torch.tensor([0.25, 0.5, 0.75, 0.75], dtype=torch.float64)


def test_losses_by_hand() -> None:
    assert float(error_loss(SAID, RATED)) == pytest.approx(0.046875, abs=5e-7)
    assert float(cosine_loss(SAID, RATED)) == pytest.approx(0.063618, abs=5e-7)
    assert float(rank_loss(SAID, RATED)) == pytest.approx(0.0125, abs=5e-7)
    assert float(rank_of_neighbors(SAID, RATED)) == pytest.approx(0.1, abs=5e-7)
    assert float(cosine_of_each(SAID, RATED)) == pytest.approx(0.0, abs=5e-7)


def test_losses_together() -> None:
    weights = LossWeights(cosine=2, error=3, rank=5)
    expected = 2 * 0.063618 + 3 * 0.046875 + 5 * 0.0125
    assert float(loss(SAID, RATED, weights)) == pytest.approx(expected, abs=5e-6)
    expected = 3 * 0.046875 + 5 * 0.1
    assert float(loss(SAID, RATED, weights, "reference")) == pytest.approx(expected, abs=5e-6)
    assert LossWeights.of("reference") == LossWeights(cosine=0.01, error=10, rank=0.01)
    assert LossWeights.of("paper") == LossWeights(cosine=1, error=0.01, rank=0.1)
    with pytest.raises((EvidenceError, TypeError), match="variant"):
        loss(SAID, RATED, weights, "other")  # type: ignore[arg-type]


numbers = st.lists(st.floats(0, 1, width=32), min_size=2, max_size=8)


@given(numbers, st.randoms(use_true_random=False))
def test_losses_are_what_a_loop_says(said: list[float], random: object) -> None:
    rated = [random.choice([0, 0.25, 0.5, 1]) for _ in said]  # type: ignore[attr-defined]
    one, two = torch.tensor(said, dtype=torch.float64), torch.tensor(rated, dtype=torch.float64)
    n = len(said)
    wrong = [
        max(0.0, -(said[i] - said[j]) * (rated[i] - rated[j])) for i in range(n) for j in range(i)
    ]
    assert float(rank_loss(one, two)) == pytest.approx(sum(wrong) / len(wrong), abs=1e-12)
    near = [
        max(0.0, -(said[i] - said[i + 1]) * np.sign(rated[i] - rated[i + 1])) for i in range(n - 1)
    ]
    assert float(rank_of_neighbors(one, two)) == pytest.approx(sum(near) / len(near), abs=1e-12)


def test_gradient_of_the_order() -> None:
    said = SAID.clone().requires_grad_()
    (result,) = torch.autograd.grad(rank_loss(said, RATED), [said])
    for row in range(4):
        step = torch.zeros(4, dtype=torch.float64)
        step[row] = 1e-4
        slope = (rank_loss(SAID + step, RATED) - rank_loss(SAID - step, RATED)) / 2e-4
        assert float(result[row]) == pytest.approx(float(slope), abs=1e-9)
    assert result.abs().max() > 0.01


def test_one_sample_has_no_order() -> None:
    assert (
        float(rank_loss(SAID[:1], RATED[:1])) == float(rank_of_neighbors(SAID[:1], RATED[:1])) == 0
    )


@given(st.lists(st.integers(0, 12), min_size=30, max_size=60), st.integers(0, 9))
def test_groups_stay_together(groups: list[int], seed: int) -> None:
    images = np.array([*groups, 20, 21, 22])
    techniques = np.arange(len(images)) % 7
    for apart in ("image", "technique", "none"):
        result = split(images, techniques, apart=apart, seed=seed)  # type: ignore[arg-type]
        parts = (result.train, result.validation, result.test)
        assert np.array_equal(sum(part.astype(int) for part in parts), np.ones(len(images)))
        keys = {"image": images, "technique": techniques, "none": np.arange(len(images))}[apart]
        sets = [set(keys[part]) for part in parts]
        assert all(sets) and not (sets[0] & sets[1] or sets[1] & sets[2] or sets[0] & sets[2])
        assert len(sets[0]) == min(max(round(0.7 * len(set(keys))), 1), len(set(keys)) - 2)
        again = split(images, techniques, apart=apart, seed=seed)  # type: ignore[arg-type]
        assert np.array_equal(result.test, again.test)
    fold = folds(images, 3, seed=seed)
    assert all(len(set(fold[images == group])) == 1 for group in images)
    sizes = np.bincount(fold, minlength=3)
    assert sizes.max() - sizes.min() <= np.bincount(images).max()


def test_counts_as_published() -> None:
    images = np.repeat(np.arange(100), 22)
    result = split(images, seed=1)
    assert (result.train.sum(), result.validation.sum(), result.test.sum()) == (1540, 330, 330)
    assert not np.array_equal(result.test, split(images, seed=2).test)


def test_both_are_new() -> None:
    images, techniques = np.repeat(np.arange(20), 10), np.tile(np.arange(10), 20)
    result = split(images, techniques, apart="both", seed=4)
    seen = result.train
    for part in (result.validation, result.test):
        assert part.sum() == 9 and not part[seen].any()
        assert not set(images[part]) & set(images[seen])
        assert not set(techniques[part]) & set(techniques[seen])
    assert seen.sum() == 14 * 7


@pytest.mark.parametrize("apart", ["technique", "both"])
def test_techniques_are_needed(apart: Apart) -> None:
    with pytest.raises(EvidenceError, match="technique"):
        split(np.arange(10), apart=apart)


def planted(n: int = 600, noise: float = 0.2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Votes that lean on one direction of the features; what they would be without noise."""
    random = np.random.default_rng(5)
    features = random.normal(size=(n, 12))
    clean = 1 / (1 + np.exp(-features[:, 0] - 0.7 * features[:, 3]))
    return features, clean, np.clip(clean + noise * random.normal(size=n), 0, 1)


KINDS = ("kernel", "ridge", "lasso", "boosting", "svm", "linear", "mlp")
QUICK = {"linear": 20, "mlp": 20}


def learned(kind: Kind, features: np.ndarray, ratings: np.ndarray, seed: int = 0) -> Scorer:
    settings = ScorerSettings(scorer=kind, landmarks=60, rounds=40, epochs=QUICK.get(kind, 1),
                              hidden=(16,), learning_rate=0.01, chosen_by="correlation")  # fmt: skip
    validation = np.arange(len(features)) % 6 == 0
    return fit_scorer(Known(features, ratings), settings, validation=validation, seed=seed)


@pytest.mark.parametrize("kind", KINDS)
def test_planted_votes_are_foretold(kind: Kind) -> None:
    features, clean, rated = planted()
    before = features.copy()
    scorer = learned(kind, features[:400], rated[:400])
    said = scorer.outputs(features[400:])
    ceiling = spearmanr(clean[400:], rated[400:])[0]
    assert spearmanr(said, rated[400:])[0] > 0.8 * ceiling > 0.5
    assert np.array_equal(features, before)
    again = learned(kind, features[:400], rated[:400]).outputs(features[400:])
    assert np.array_equal(said, again)


@pytest.mark.parametrize("kind", ["kernel", "ridge", "boosting", "linear"])
def test_nothing_is_foretold_of_chance(kind: Kind) -> None:
    features = planted()[0]
    votes = np.random.default_rng(8).integers(0, 2, len(features)).astype(float)
    said = learned(kind, features[:400], votes[:400]).outputs(features[400:])
    assert abs(spearmanr(said, votes[400:])[0]) < 0.2


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_are_all_that_is_needed(kind: Kind) -> None:
    features, _, rated = planted(120)
    scorer = learned(kind, features, rated)
    again = scorer_from(scorer.kind, scorer.arrays())
    assert np.array_equal(scorer.outputs(features), again.outputs(features))


def test_ridge_and_trees_and_support_vectors_equal_scikit_learn() -> None:
    features, _, rated = planted(200)
    scaled = StandardScaler().fit_transform(features)
    expected = Ridge(20).fit(scaled, rated).predict(scaled)
    assert learned("ridge", features, rated).outputs(features) == pytest.approx(expected, abs=1e-10)
    trees = HistGradientBoostingRegressor(
        max_iter=40, learning_rate=0.05, max_leaf_nodes=15, l2_regularization=1.0,
        early_stopping=False, random_state=0,
    ).fit(features, rated)  # fmt: skip
    said = learned("boosting", features, rated).outputs(features)
    assert said == pytest.approx(trees.predict(features), abs=1e-12)
    few = Lasso(0.003).fit(scaled, rated)
    assert (few.coef_ == 0).any()
    said = learned("lasso", features, rated).outputs(features)
    assert said == pytest.approx(few.predict(scaled), abs=1e-10)
    clipped = np.clip(scaled, -5, 5)
    machine = SVR(gamma=0.3 / 12, C=1.0).fit(clipped, rated).predict(clipped)
    assert learned("svm", features, rated).outputs(features) == pytest.approx(machine, abs=1e-10)


def test_kernel_is_kernel_ridge_with_a_line() -> None:
    """With all explanations as landmarks there is nothing approximate about it."""
    features, _, rated = planted(80)
    settings = ScorerSettings(landmarks=80, penalty=0.5, straight_penalty=0.1)
    said = fit_scorer(Known(features, rated, straight=4), settings).outputs(features)
    scaled = (features - features.mean(0)) / features.std(0)
    bent, line = np.clip(scaled[:, :8], -5, 5), scaled[:, 8:]
    apart = ((bent[:, None] - bent[None]) ** 2).sum(2)
    # the same by its dual: one kernel is the sum of the two, each over its penalty
    kernel = np.exp(-0.3 / 8 * apart) / 0.5 + line @ line.T / (0.1 * 80)
    middle = np.eye(80) - 1 / 80
    centered = middle @ kernel @ middle
    weights = np.linalg.solve(centered + np.eye(80), rated - rated.mean())
    assert said == pytest.approx(centered @ weights + rated.mean(), abs=1e-6)


def test_random_states_are_left_alone() -> None:
    features, _, rated = planted(60)
    torch.manual_seed(3)
    np.random.seed(3)  # noqa: NPY002
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    learned("mlp", features, rated)
    learned("boosting", features, rated)
    assert torch.equal(before[0], torch.get_rng_state())
    assert np.array_equal(before[1], np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adam_is_that_of_torch(decay: float) -> None:
    start = torch.linspace(-1, 1, 6, dtype=torch.float64)
    ours, theirs = start.clone().requires_grad_(), start.clone().requires_grad_()
    adam, other = Adam([ours], 0.05, decay), torch.optim.Adam([theirs], lr=0.05, weight_decay=decay)
    for _ in range(20):
        adam.step(torch.autograd.grad((ours**3 - ours).sum(), [ours]))
        other.zero_grad()
        (theirs**3 - theirs).sum().backward()
        other.step()
    assert torch.allclose(ours, theirs, rtol=0, atol=1e-12)
    assert not torch.allclose(ours, start, atol=0.1)


def test_reference_is_never_below_zero() -> None:
    features, _, rated = planted(120)
    settings = ScorerSettings(scorer="mlp", variant="reference", epochs=3, learning_rate=1e-3)
    assert settings.steps.batch == 256 and settings.steps.weight_decay == 1e-6
    validation = np.arange(120) % 4 == 0
    scorer = fit_scorer(Known(features, rated), settings, validation=validation)
    assert [len(weight) for weight in scorer.weights] == [512, 64, 1]  # type: ignore[attr-defined]
    assert scorer.outputs(features * 50).min() >= 0
    assert np.array_equal(scorer.arrays()["center"], np.zeros(12))


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=20))
def test_agreement_that_picks_the_epoch(pairs: list[tuple[float, float]]) -> None:
    said, rated = np.array(pairs).T
    bins = [np.floor(one * 4 + 0.5).astype(int) for one in (said, rated)]
    result = quadratic_kappa(said, rated, 5)
    if len(set(bins[0]) | set(bins[1])) == 1:
        assert result == -np.inf
    else:
        expected = cohen_kappa_score(*bins, weights="quadratic", labels=range(5))
        assert result == pytest.approx(expected, abs=1e-12)


def test_agreement_by_hand() -> None:
    """Halves go up: 3.5 is taken for 4 and 1.5 for 2."""
    rated = np.array([1, 2, 3, 4, 5, 5, 3, 2.0])
    said = np.array([1.2, 2.6, 2.4, 4.49, 3.5, 5, 3, 1.5])
    result = quadratic_kappa((said - 1) / 4, (rated - 1) / 4, 5)
    assert result == pytest.approx(0.888889, abs=5e-7)


@pytest.mark.parametrize(
    ("features", "ratings", "match"),
    [
        (np.full((4, 2), np.nan), np.ones(4), "features"),
        (np.ones((4, 2)), np.full(4, 2.0), "ratings"),
        (np.ones((4, 2)), np.full(4, np.nan), "ratings"),
    ],
)
def test_refused(features: np.ndarray, ratings: np.ndarray, match: str) -> None:
    with pytest.raises(EvidenceError, match=match):
        Known(features, ratings)


def test_refused_settings() -> None:
    with pytest.raises((EvidenceError, TypeError), match="scorer"):
        ScorerSettings(scorer="forest")  # type: ignore[arg-type]
    with pytest.raises(EvidenceError, match="epochs"):
        ScorerSettings(epochs=0)
    with pytest.raises(EvidenceError, match="validation"):
        fit_scorer(Known(np.ones((4, 2)), np.ones(4)), ScorerSettings(scorer="linear"))
    with pytest.raises(EvidenceError, match="straight"):
        fit_scorer(Known(np.ones((4, 2)), np.ones(4), straight=2), ScorerSettings())
    with pytest.raises(EvidenceError, match="folds"):
        folds(np.zeros(4, int), 2)


def test_broken_arrays_are_refused() -> None:
    features, _, rated = planted(60)
    for kind in ("kernel", "ridge", "boosting"):
        scorer = learned(kind, features, rated)  # type: ignore[arg-type]
        good = scorer.arrays()
        for name, array in good.items():
            for broken in ({**good, name: array[:-1] if array.ndim else np.array(np.nan)},
                           {k: v for k, v in good.items() if k != name}):  # fmt: skip
                if name in broken and name in ("roots", "straight"):
                    continue  # fewer trees are trees, there is no line
                with pytest.raises(UnsafeInputError):
                    scorer_from(scorer.kind, broken)
    trees = learned("boosting", features, rated).arrays()
    loops = {**trees, "below": np.zeros_like(trees["below"])}
    with pytest.raises(UnsafeInputError, match="trees"):
        scorer_from("trees", loops)
    with pytest.raises(UnsafeInputError, match="learned score"):
        scorer_from("magic", trees)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("boosting", {"feature": lambda old: np.where(old >= 0, 99, -1)}), ("boosting", {"below": -7}), ("boosting", {"width": 1}),
        ("boosting", {"base": np.array(["x"])}), ("boosting", {"value": np.inf}),
        ("kernel", {"gamma": -1e9}), ("kernel", {"gamma": np.array([1.0, 2.0])}),
        ("kernel", {"spread": 1e-300}), ("kernel", {"landmarks": np.array(1.0)}),
        ("ridge", {"spread": 0.0}), ("ridge", {"spread": 1e-300}), ("ridge", {"center": np.nan}),
        ("ridge", {"weight 0": np.array([True])}), ("ridge", {"weight 0": np.zeros(12, complex)}),
        ("ridge", {"bias 0": np.array(0.5)}), ("ridge", {"rectified": np.array(["a", "b"])}),
    ],
)  # fmt: skip
def test_hostile_arrays_are_refused(kind: Kind, changes: dict[str, Any]) -> None:
    features, _, rated = planted(60)
    scorer = learned(kind, features, rated)
    arrays = scorer.arrays()
    for name, change in changes.items():
        given = change(arrays[name]) if callable(change) else change
        given = given if isinstance(given, np.ndarray) else np.full_like(arrays[name], given)
        with pytest.raises(UnsafeInputError) as refused:
            scorer_from(scorer.kind, {**arrays, name: given})
        assert "\n" not in str(refused.value)


def test_a_score_takes_as_many_features_as_it_learned_from() -> None:
    features, _, rated = planted(60)
    card = ScoreCard(name="n", kind="k", trained_on="t", question="q", explanations=1, groups=None,
                     scale=(1.0, 5.0), aggregate="mean", features=("f",))  # fmt: skip
    for kind in ("kernel", "ridge", "boosting"):
        score = LearnedScore(learned(kind, features, rated), card, np.linspace(1, 5, 101))
        assert len(score.ratings(features)) == 60
        for other in (features[:, :1], np.hstack([features, features])):
            with pytest.raises(UnsafeInputError, match="features"):
                score.ratings(other)
    huge = Layers(center=np.zeros(1), spread=np.ones(1), biases=(np.zeros(1),) * 3,
                  weights=(np.full((1, 1), 1e200),) * 3)  # fmt: skip
    with pytest.raises(UnsafeInputError, match="no number"):
        LearnedScore(huge, card, np.linspace(1, 5, 101)).ratings(np.ones((2, 1)) * np.inf)


def test_percentiles_with_ties() -> None:
    card = ScoreCard(name="n", kind="k", trained_on="t", question="q", explanations=1, groups=None,
                     scale=(1.0, 5.0), aggregate="mean", features=("f",))  # fmt: skip
    scorer = learned("ridge", *planted(60)[::2])
    constant = LearnedScore(scorer, card, np.full(101, 3.0))
    assert constant.percentile(np.array([2.0, 3.0, 4.0])).tolist() == [0, 0, 100]
    halves = LearnedScore(scorer, card, np.repeat([2.0, 4.0], [50, 51]))
    assert halves.percentile(np.array([2.0, 4.0, 5.0])).tolist() == [0, 50, 100]
    steady = LearnedScore(scorer, card, np.linspace(1, 5, 101))
    assert steady.percentile(np.array([1.0, 2.5, 3.01, 5])) == pytest.approx([0, 37.5, 50.25, 100])


def test_words_of_other_languages() -> None:
    assert words("L’été, 3 Äpfel_und") == ["l'été", "3", "äpfel", "und"]
