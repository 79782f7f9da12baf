"""Acceptance and agreement against loops, and against the packages that people use."""

import warnings
from typing import Any

import krippendorff
import numpy as np
import pingouin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from pandas import DataFrame
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from theodolite._planted.ratings import planted_ratings
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.rating_summary import aggregate_ratings, by_group, mode_ties, summary
from theodolite.metrics import (
    acceptance,
    intraclass_correlation,
    krippendorff_alpha,
    predicted_rating_agreement,
    predicted_rating_correlation,
    predicted_rating_error,
    rater_agreement,
)
from theodolite.metrics.accepted._ratings import spearman
from theodolite.metrics.accepted.intraclass_correlation import IntraclassCorrelation
from theodolite.metrics.accepted.krippendorff import KrippendorffAlpha
from theodolite.metrics.accepted.raters import PairwiseAgreement, RaterAgreement, RaterCorrelation
from theodolite.metrics.catalogue import catalogue
from theodolite.testing.strategies import rating_evidence

FIVE = np.arange(1.0, 6)
LABELS = np.array([1.0, 2, 3, 4, 5, 5, 3, 2])
PREDICTED = np.array([1.2, 2.6, 2.4, 4.49, 3.5, 5, 3, 1.5])


def votes(seed: int, n: int = 14, raters: int = 4, missing: float = 0.3) -> np.ndarray:
    """Votes that agree to some degree."""
    random = np.random.default_rng(seed)
    quality = random.integers(1, 6, size=(n, 1))
    said = np.clip(quality + random.integers(-1, 2, size=(n, raters)), 1, 5).astype(float)
    said[random.random(said.shape) < missing] = np.nan
    said[0, 0] = 3.0
    return said


def kappa(x: Any, y: Any, scale: np.ndarray) -> float:
    """By scikit-learn, with all answers as labels."""
    place = {float(level): i for i, level in enumerate(scale)}
    x, y = ([place[float(v)] for v in side] for side in (x, y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(cohen_kappa_score(x, y, labels=range(len(scale)), weights="quadratic"))


def lone_mode(said: list[float], ties: str) -> float:
    """The mode by counting."""
    if not said:
        return np.nan
    often = {v: said.count(v) for v in said}
    top = sorted(v for v, c in often.items() if c == max(often.values()))
    if len(top) == 1 or ties == "lowest":
        return top[0]
    return sorted(said)[(len(said) - 1) // 2] if ties == "median" else np.nan


@given(rating_evidence(), st.sampled_from(["lowest", "median", "nan"]))
@settings(max_examples=60)
def test_one_number_for_the_votes(evidence: RatingEvidence, ties: Any) -> None:
    ratings = evidence.ratings
    rows = [row[~np.isnan(row)].tolist() for row in ratings]
    modes = [lone_mode(said, ties) for said in rows]
    assert_array_equal(aggregate_ratings(ratings, evidence.scale, "mode", ties), modes)
    mean = [np.mean(said) if said else np.nan for said in rows]
    assert_allclose(aggregate_ratings(ratings, evidence.scale, "mean"), mean, rtol=1e-14)
    median = [np.median(said) if said else np.nan for said in rows]
    assert_array_equal(aggregate_ratings(ratings, evidence.scale, "median"), median)
    assert_array_equal(
        mode_ties(ratings), [len(s) > 0 and np.isnan(lone_mode(s, "nan")) for s in rows]
    )
    told = summary(evidence)
    assert_array_equal(told.votes, [len(said) for said in rows])
    assert_array_equal(told.histogram.sum(1), told.votes)
    assert_array_equal(told.mode, [lone_mode(said, "lowest") for said in rows])


def test_mode_is_that_of_scipy() -> None:
    said = votes(3, n=300, missing=0.0)
    assert_array_equal(aggregate_ratings(said, FIVE), stats.mode(said, axis=1).mode)


@given(rating_evidence(), st.sampled_from(["lowest", "median", "nan"]), st.booleans())
@settings(max_examples=60)
def test_agreement_with_the_mode(evidence: RatingEvidence, ties: Any, left_out: bool) -> None:
    own, modes, alone = [], [], 0
    for row in evidence.ratings:
        for rater, vote in enumerate(row):
            others = np.delete(row, rater) if left_out else row
            mode = lone_mode(others[~np.isnan(others)].tolist(), ties)
            if np.isnan(vote):
                continue
            if np.isnan(mode) or np.isfinite(row).sum() < 2:  # a vote agrees with itself
                alone += 1
                continue
            own.append(vote)
            modes.append(mode)
    state = RaterAgreement.of(evidence, own="left out" if left_out else "included", ties=ties)
    expected = kappa(own, modes, evidence.scale) if own else np.nan
    assert_allclose(state.value(), expected, rtol=0, atol=1e-12)
    assert [int(part) for part in state.counted()] == [len(own), alone]


@given(rating_evidence())
@settings(max_examples=60)
def test_agreement_of_pairs(evidence: RatingEvidence) -> None:
    ratings, each = evidence.ratings, []
    for i in range(ratings.shape[1]):
        for j in range(i):
            both = ~np.isnan(ratings[:, i]) & ~np.isnan(ratings[:, j])
            x, y = ratings[both, i], ratings[both, j]
            each.append(kappa(x, y, evidence.scale) if both.any() else np.nan)
    state = PairwiseAgreement.of(evidence)
    defined = [k for k in each if not np.isnan(k)]
    assert_allclose(state.value(), np.mean(defined) if defined else np.nan, rtol=0, atol=1e-12)
    assert [int(part) for part in state.counted()] == [len(defined), len(each) - len(defined)]


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(5))
def test_alpha_is_that_of_krippendorff(level: Any, missing: float, seed: int) -> None:
    said = votes(seed, missing=missing)
    expected = krippendorff.alpha(said.T, level_of_measurement=level)
    assert_allclose(krippendorff_alpha(said, FIVE, level=level), expected, rtol=0, atol=1e-12)
    assert abs(expected) < 0.99


def test_alpha_counts_votes_without_another() -> None:
    said = np.array([[1.0, np.nan], [2.0, 3.0], [np.nan, np.nan]])
    state = KrippendorffAlpha.of(RatingEvidence(ratings=said, scale=FIVE))
    assert [float(part) for part in state.counted()] == [2.0, 1.0]


TYPES = {
    "ICC1": "ICC(1,1)", "ICC2": "ICC(A,1)", "ICC3": "ICC(C,1)", "ICC1k": "ICC(1,k)",
    "ICC2k": "ICC(A,k)", "ICC3k": "ICC(C,k)",
}  # fmt: skip


def by_pingouin(said: np.ndarray) -> dict[str, float]:
    n, k = said.shape
    table = DataFrame(
        {"item": np.repeat(np.arange(n), k), "by": np.tile(np.arange(k), n), "said": said.ravel()}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = pingouin.intraclass_corr(table, "item", "by", "said", nan_policy="omit")
    return dict(zip(result["Type"], result["ICC"], strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_intraclass_correlation_is_that_of_pingouin(seed: int) -> None:
    said = votes(seed, missing=0.0)
    expected = by_pingouin(said)
    for form, theirs in TYPES.items():
        result = float(intraclass_correlation(said, FIVE, form=form))
        assert result == pytest.approx(expected[theirs], abs=1e-12), form


def test_forms_with_raters_take_what_all_rated() -> None:
    said = votes(1, n=30, missing=0.1)
    expected = by_pingouin(said)
    assert 5 < (~np.isnan(said)).all(1).sum() < 30
    for form in ("ICC2", "ICC3", "ICC2k", "ICC3k"):
        result = float(intraclass_correlation(said, FIVE, form=form))
        assert result == pytest.approx(expected[TYPES[form]], abs=1e-12), form
    nobody = np.array([[1.0, np.nan, 2.0], [np.nan, 3.0, 4.0], [5.0, 5.0, np.nan]])
    evidence = RatingEvidence(ratings=nobody, scale=FIVE)
    state = IntraclassCorrelation.of(evidence, form="ICC2")
    assert np.isnan(state.value())
    assert [int(part) for part in state.counted()] == [0, 3]
    state = IntraclassCorrelation.of(evidence, form="ICC1")
    assert [int(part) for part in state.counted()] == [3, 0]
    assert not np.isnan(intraclass_correlation(nobody, FIVE, form="ICC1"))


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_unbalanced_intraclass_correlation(seed: int) -> None:
    said = votes(seed, missing=0.4)
    rows = [row[~np.isnan(row)] for row in said if not np.isnan(row).all()]
    everything = np.concatenate(rows)
    n, total = len(rows), len(everything)
    between = sum(len(r) * (r.mean() - everything.mean()) ** 2 for r in rows) / (n - 1)
    within = sum(((r - r.mean()) ** 2).sum() for r in rows) / (total - n)
    k = (total - sum(len(r) ** 2 for r in rows) / total) / (n - 1)
    expected = (between - within) / (between + (k - 1) * within)
    assert float(intraclass_correlation(said, FIVE, form="ICC1")) == pytest.approx(expected, 1e-10)
    averaged = (between - within) / between
    assert float(intraclass_correlation(said, FIVE, form="ICC1k")) == pytest.approx(averaged, 1e-10)


def test_numbers_of_the_definitions() -> None:
    given_ = (LABELS[:, None], FIVE, PREDICTED)
    assert float(predicted_rating_agreement(*given_)) == pytest.approx(0.888889, abs=5e-7)
    assert float(predicted_rating_error(*given_)) == pytest.approx(0.437513, abs=6e-7)
    rounded = predicted_rating_correlation(*given_, rounded="yes")
    assert float(rounded) == pytest.approx(0.882716, abs=5e-7)
    plain = stats.spearmanr(PREDICTED, LABELS).statistic
    assert float(predicted_rating_correlation(*given_)) == pytest.approx(plain, abs=1e-12)
    assert abs(float(rounded) - plain) > 0.01


@given(rating_evidence(), st.sampled_from(["mode", "mean", "median"]))
@settings(max_examples=60)
def test_predictions(evidence: RatingEvidence, against: Any) -> None:
    scale, predicted = evidence.scale, np.asarray(evidence.predicted)
    target = aggregate_ratings(evidence.ratings, scale, against)
    known = ~np.isnan(target) & ~np.isnan(predicted)
    said, voted = np.clip(predicted[known], scale[0], scale[-1]), target[known]
    given_: Any = {"ratings": evidence.ratings, "scale": scale, "predicted": predicted}
    error = ((said - voted) ** 2).mean() if known.any() else np.nan
    assert_allclose(predicted_rating_error(**given_, against=against), error, atol=1e-12)

    def rounded(values: np.ndarray) -> list[float]:
        far = np.abs(values[:, None] - scale[None, ::-1])
        return [float(scale[::-1][i]) for i in far.argmin(1)]

    expected = kappa(rounded(said), rounded(voted), scale) if known.any() else np.nan
    result = predicted_rating_agreement(**given_, against=against)
    assert_allclose(result, expected, rtol=0, atol=1e-12)
    varies = known.sum() > 1 and np.ptp(predicted[known]) > 0 and np.ptp(voted) > 1e-9
    rho = stats.spearmanr(predicted[known], voted.round(9)).statistic if varies else np.nan
    result = predicted_rating_correlation(**given_, against=against)
    assert_allclose(result, rho, rtol=0, atol=1e-12)


def test_one_rater_against_the_others() -> None:
    said = votes(5, n=40)
    each = []
    for rater in range(said.shape[1]):
        others = np.delete(said, rater, 1)
        rows = ~np.isnan(said[:, rater]) & ~np.isnan(others).all(1)
        mean = np.nanmean(others[rows], axis=1)
        each.append(stats.spearmanr(said[rows, rater], mean.round(9)).statistic)
    state = RaterCorrelation.of(RatingEvidence(ratings=said, scale=FIVE))
    assert float(state.value()) == pytest.approx(np.mean(each), abs=1e-12)


def test_only_known_explanations_are_counted() -> None:
    nan = np.nan
    votes = np.array([[1.0, 2], [nan, nan], [3, nan], [4, 5], [2, 2]])
    said = np.array([1.0, 2, nan, 4, 2])
    evidence = RatingEvidence(ratings=votes, scale=np.arange(1.0, 6), predicted=said)
    weights = np.array([[1.0, 1, 1, 1, 1], [2, 1, 3, 0, 1]])
    foretold = catalogue()["predicted_rating_correlation"].state
    people = catalogue()["rater_correlation"].state
    for state, known in ((foretold, [[3, 2], [3, 4]]), (people, [[3, 2], [3, 4]])):
        result = np.stack(state.of(evidence, weights).counted(), axis=1)
        assert result.tolist() == known
        assert np.stack(state.of(evidence).counted(), axis=1).tolist() == known[:1]


def test_weights_repeat_ranked_samples() -> None:
    random = np.random.default_rng(0)
    x, y = random.integers(0, 4, 20).astype(float), random.integers(0, 4, 20).astype(float)
    times = random.integers(0, 4, 20)
    result = spearman(x, y, times[None].astype(float))[0]
    twice = np.repeat(np.arange(20), times)
    assert result == pytest.approx(stats.spearmanr(x[twice], y[twice]).statistic, abs=1e-12)


def test_acceptance_counts_each_explanation_once() -> None:
    said = np.array([[5.0, 5.0, 5.0], [1.0, np.nan, np.nan], [np.nan, np.nan, np.nan]])
    assert float(acceptance(said, FIVE)) == pytest.approx(0.5)
    state = catalogue()["acceptance"].state.of(RatingEvidence(ratings=said, scale=FIVE))
    assert [float(part) for part in state.counted()] == [2.0, 1.0]


AGREEMENTS = ("rater_agreement", "pairwise_agreement", "krippendorff_alpha",
              "intraclass_correlation", "rater_correlation")  # fmt: skip


def of(name: str, evidence: RatingEvidence) -> float:
    return float(catalogue()[name].state.of(evidence).value())


@pytest.mark.parametrize("name", AGREEMENTS)
def test_planted_agreement_is_found(name: str) -> None:
    result = [of(name, planted_ratings(600, agreement=a, missing=0.0)) for a in (0.0, 0.5, 1.0)]
    assert result[2] == pytest.approx(1.0)
    assert abs(result[0]) < 0.08
    assert 0.1 < result[1] < 0.8


@pytest.mark.parametrize("name", AGREEMENTS)
def test_one_answer_from_everybody_is_undefined(name: str) -> None:
    evidence = RatingEvidence(ratings=np.full((6, 3), 4.0), scale=FIVE)
    assert np.isnan(of(name, evidence))


def test_contradicting_raters_are_below_chance() -> None:
    said = np.array([[1.0, 5.0], [5.0, 1.0], [1.0, 5.0], [5.0, 1.0]])
    assert float(rater_agreement(said, FIVE)) == pytest.approx(-1.0)
    assert float(krippendorff_alpha(said, FIVE)) < -0.5
    assert of("pairwise_agreement", RatingEvidence(ratings=said, scale=FIVE)) == pytest.approx(-1)


@pytest.mark.parametrize("name", AGREEMENTS[:-1])
def test_nulls_depend_on_sample_numbers_alone(name: str) -> None:
    whole = planted_ratings(50)
    (baseline,) = catalogue()[name].nulls
    sums = () if baseline.sums is None else (baseline.sums(whole),)
    made = baseline.make(whole, 3, *sums).ratings
    order = np.random.default_rng(0).permutation(50)
    for rows in (slice(20, 50), order):
        assert_array_equal(baseline.make(whole[rows], 3, *sums).ratings, made[rows])
    assert_array_equal(np.isnan(made), np.isnan(whole.ratings))
    assert (baseline.make(whole, 4, *sums).ratings != made)[~np.isnan(made)].any()


def test_votes_dealt_out_keep_each_raters_habits() -> None:
    said = np.where(np.arange(4000)[:, None] % 4 == 0, [1.0, 5.0], [2.0, 5.0])
    evidence = RatingEvidence(ratings=said, scale=FIVE)
    (baseline,) = catalogue()["pairwise_agreement"].nulls
    made = baseline.made(evidence, 1).ratings
    assert_array_equal(np.unique(made[:, 0]), [1.0, 2.0])
    assert_array_equal(np.unique(made[:, 1]), [5.0])
    assert abs((made[:, 0] == 1.0).mean() - 0.25) < 0.03


def test_null_of_a_shard_without_votes() -> None:
    said = np.array([[1.0, 2.0], [np.nan, np.nan], [4.0, 5.0]])
    evidence = RatingEvidence(ratings=said, scale=FIVE, predicted=np.array([1.0, np.nan, 4.0]))
    for name in ("acceptance", "krippendorff_alpha", "predicted_rating_error"):
        for baseline in catalogue()[name].nulls:
            if baseline.expected is not None:
                assert np.isnan(catalogue()[name].null_state(baseline, evidence[1:2]).value())
                continue
            sums = None if baseline.sums is None else baseline.sums(evidence)
            assert len(baseline.made(evidence[1:2], 1, sums)) == 1


def test_groups_are_columns() -> None:
    whole = planted_ratings(20)
    parts = by_group(whole)
    assert list(parts) == ["group 0", "group 1"]
    assert_array_equal(parts["group 1"].ratings, whole.ratings[:, 1::2])
    assert parts["group 1"].raters.names == ("rater 1", "rater 3")
    assert of("krippendorff_alpha", parts["group 0"]) == pytest.approx(1.0)
    with pytest.raises(EvidenceError, match="group of each rater"):
        by_group(RatingEvidence(ratings=np.ones((2, 2)), scale=FIVE))


def test_resampling_by_image_widens_nothing_it_should_not() -> None:
    """The states of two rows of weights are those of the repeated samples."""
    evidence = RatingEvidence(ratings=votes(2), scale=FIVE, samples=Samples(index=np.arange(14)))
    times = np.random.default_rng(1).integers(0, 3, 14)
    for state in (PairwiseAgreement, KrippendorffAlpha, IntraclassCorrelation, RaterAgreement):
        weighted = state.of(evidence, np.stack([np.ones(14), times.astype(float)])).value()
        again = state.of(evidence[np.repeat(np.arange(14), times)]).value()
        assert_allclose(weighted, [state.of(evidence).value(), again], rtol=1e-12)
