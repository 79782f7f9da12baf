"""Six traps of a published study of votes on explanations, each kept shut."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from theodolite.datasets.study_material.voting_design import image_exposure_index, votes_needed
from theodolite.errors import EvidenceError
from theodolite.evidence.rating_summary import aggregate_ratings, mode_ties
from theodolite.metrics import (
    predicted_rating_agreement,
    predicted_rating_correlation,
    rater_agreement,
)

FIVE = np.arange(1.0, 6)


def test_counts_that_do_not_meet_are_refused() -> None:
    """15 raters with 147 each are one vote per instance, not five."""
    with pytest.raises(EvidenceError, match=r"2,205 at most.*11,000.*Ask each for 734"):
        votes_needed(instances=2200, votes=5, annotators=15, quota=147)
    design = votes_needed(instances=2200, votes=5, annotators=15, quota=734)
    assert design.surplus == 10
    assert "10 more could be given" in str(design)
    assert design.per_annotator == pytest.approx(733.333, abs=1e-3)
    with pytest.raises(EvidenceError, match="one vote"):
        votes_needed(instances=10, votes=5, annotators=4, quota=100)
    assert votes_needed(instances=10, votes=5, annotators=5, quota=99).surplus == 0
    with pytest.raises(EvidenceError, match="54 at most"):
        votes_needed(instances=10, votes=6, annotators=6, quota=9)
    with pytest.raises(EvidenceError, match="quota: got 0"):
        votes_needed(instances=10, votes=1, annotators=6, quota=0)


def test_a_third_of_all_patterns_has_no_single_mode() -> None:
    patterns = np.array(list(product(FIVE, repeat=5)))
    assert (len(patterns), int(mode_ties(patterns).sum())) == (3125, 1020)
    examples = np.array([[1.0, 2, 3, 4, 5], [5, 4, 4, 5, 1]])
    assert aggregate_ratings(examples, FIVE).tolist() == [1.0, 4.0]
    assert aggregate_ratings(examples, FIVE, "mode", "median").tolist() == [3.0, 4.0]
    assert np.isnan(aggregate_ratings(examples, FIVE, "mode", "nan")).all()


def test_a_rater_agrees_with_himself() -> None:
    """Votes at random agree with a mode that they are part of."""
    said = np.random.default_rng(0).integers(1, 6, size=(20_000, 5)).astype(float)
    assert float(rater_agreement(said, FIVE, own="included")) == pytest.approx(0.31, abs=0.01)
    assert -0.02 < float(rater_agreement(said, FIVE)) < 0.005


def test_distances_are_those_of_the_full_scale() -> None:
    """Nobody says 4: kappa of the answers that were seen has other distances."""
    first = np.array([1, 2, 2, 2, 3, 5])
    second = np.array([2, 2, 2, 3, 5, 3])
    seen = cohen_kappa_score(first, second, weights="quadratic")
    full = cohen_kappa_score(first, second, weights="quadratic", labels=range(1, 6))
    assert (round(float(seen), 3), round(float(full), 3)) == (0.571, 0.412)
    ours = predicted_rating_agreement(first[:, None].astype(float), FIVE, second.astype(float))
    assert float(ours) == pytest.approx(float(full), abs=1e-12)
    same = np.full((4, 1), 3.0)
    assert np.isnan(predicted_rating_agreement(same, FIVE, same[:, 0]))


def test_a_correlation_is_not_averaged_with_its_p_value() -> None:
    random = np.random.default_rng(1)
    labels = random.integers(1, 6, 400).astype(float)
    predicted = labels + random.normal(scale=1.5, size=400)
    both = stats.spearmanr(predicted, labels)
    result = float(predicted_rating_correlation(labels[:, None], FIVE, predicted))
    assert result == pytest.approx(both.statistic, abs=1e-12)
    assert np.mean(both) == pytest.approx(result / 2, abs=1e-6)  # what the tables print
    # the short formula of rank differences holds without ties only
    apart = stats.rankdata(predicted) - stats.rankdata(labels)
    short = 1 - 6 * (apart**2).sum() / (400 * (400**2 - 1))
    assert abs(short - result) > 0.005


def test_images_come_again() -> None:
    """733 votes on 100 images: each is met seven times, and only once blindly."""
    random = np.random.default_rng(2)
    images = np.tile(np.arange(100), 8)[random.permutation(800)][:733]
    index = image_exposure_index(["ann"] * 733, images.tolist())
    assert (index == 1).sum() == len(np.unique(images))
    assert index.max() in (7, 8)
    assert image_exposure_index(["a", "b", "a"], ["x", "x", "x"]).tolist() == [1, 1, 2]
    with pytest.raises(EvidenceError, match="one for each vote"):
        image_exposure_index(["a"], [])
