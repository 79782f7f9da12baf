"""Samples for questions 5 and 6: against searches one by one, and predictors that are planted."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image

from theodolite.errors import EvidenceError
from theodolite.explainers.perturbations import perturb_image
from theodolite.explainers.perturbed_samples import (
    MIX_UP,
    _shuffle_perturbations,
    find_different_prediction,
    find_same_prediction,
    mix_up,
)

pytest.importorskip("torch", reason="no torch here: pip install 'theodolite[torch]'")


def image(seed: int = 0, high: int = 160) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, high, (16, 16, 3), np.uint8))


def array(of: Image.Image) -> np.ndarray:
    return np.asarray(of).astype(int)


class Predictor:
    """Classes by some rule; counts calls and images."""

    def __init__(self, rule: Callable[[np.ndarray], int]) -> None:
        self.rule, self.calls = rule, []

    def __call__(self, images: Sequence[Image.Image]) -> np.ndarray:
        self.calls.append(len(images))
        return np.array([self.rule(array(one)) for one in images])


def fickle(pixels: np.ndarray) -> int:
    """Changes with small differences of mean or contrast."""
    return int(pixels.mean() / 4) * 100 + int(pixels.std() / 4)


def picky(original: Image.Image) -> Callable[[np.ndarray], int]:
    """The original's class only within a small distance of it."""
    return lambda pixels: int(np.abs(pixels - array(original)).mean() > 6)


def one_by_one_same(original: Image.Image, rule: Callable, seed: int, tries: int):
    looked_at = 0
    for number, key in _shuffle_perturbations(seed):
        m = 1.0
        for _ in range(tries):
            changed = perturb_image(original, number, magnitude=m, seed=key)
            looked_at += 1
            if rule(array(changed)) == rule(array(original)):
                return changed, number, m, looked_at
            m *= 0.9
    return None


@pytest.mark.parametrize("rule", ["fickle", "picky"])
@pytest.mark.parametrize("seed", range(12))
def test_same_prediction_is_the_search_one_by_one(rule: str, seed: int) -> None:
    original = image(seed)
    predict = Predictor(fickle if rule == "fickle" else picky(original))
    result = find_same_prediction(original, predict, seed=seed)
    changed, number, m, looked_at = one_by_one_same(original, predict.rule, seed, 11)
    assert result is not None
    assert_array_equal(array(result.image), array(changed))
    assert (result.number, result.tries) == (number, looked_at)
    assert result.magnitude == pytest.approx(m, rel=1e-12)
    assert result.predicted == predict.rule(array(original))
    assert result.changed == (array(changed) != array(original)).any()
    # the image, then two calls for each perturbation at most
    assert len(predict.calls) <= 1 + 2 * -(-looked_at // 11)


def test_the_searches_above_went_past_the_first_try_and_the_first_perturbation() -> None:
    tries = [
        one_by_one_same(image(seed), rule, seed, 11)[3]
        for seed in range(12)
        for rule in (fickle, picky(image(seed)))
    ]
    assert min(tries) == 1
    assert any(1 < n <= 11 for n in tries)
    assert max(tries) > 11


def test_masks_below_one_are_found_but_called_unchanged() -> None:
    """A predictor that knows the very image: only no change keeps its class."""
    original = image()
    exact = Predictor(lambda pixels: int((pixels != array(original)).any()))
    result = find_same_prediction(original, exact, seed=0)
    assert result is not None and not result.changed
    assert result.magnitude < 1


def test_none_if_every_change_is_seen() -> None:
    answers = iter(range(10_000))
    assert (
        find_same_prediction(image(), lambda p: np.array([next(answers) for _ in p]), seed=0)
        is None
    )
    never = Predictor(lambda pixels: 0)
    assert find_different_prediction(image(), never, [image(1)], seed=0) is None
    assert never.calls == [2, 10]  # no other class to mix with


def test_different_prediction_is_the_search_one_by_one() -> None:
    kinds = set()
    for seed in range(12):
        original, others = image(seed), [image(90 + k, 256) for k in range(3)]
        rule = (lambda pixels: int(pixels.mean() > 95)) if seed % 2 else picky(original)
        result = find_different_prediction(original, Predictor(rule), others, seed=seed)
        assert result is not None and result.changed
        assert result.predicted != rule(array(original))
        if result.number == MIX_UP:
            kinds.add("mixed")
            assert result.magnitude in [k / 10 for k in range(1, 10)]
            assert result.tries == 10 + round(result.magnitude * 10)
            mixes = [
                mix_up(original, other, k / 10)
                for other in others
                for k in range(1, round(result.magnitude * 10) + 1)
            ]
            same = [(array(mix) == array(result.image)).all() for mix in mixes]
            assert sum(same) == 1
            chain = same.index(True) // round(result.magnitude * 10) * round(result.magnitude * 10)
            assert all(
                rule(array(m)) == rule(array(original)) for m in mixes[chain : same.index(True)]
            )
            continue
        kinds.add("perturbed")
        number, key = _shuffle_perturbations(seed)[0]
        assert result.number == number and result.tries == result.magnitude
        for m in range(1, 11):
            changed = perturb_image(original, number, magnitude=m, seed=key)
            if rule(array(changed)) != rule(array(original)):
                assert m == result.magnitude
                assert_array_equal(array(changed), array(result.image))
                break
    assert kinds == {"mixed", "perturbed"}


def test_mix_up_is_a_weighted_mean_at_the_images_size() -> None:
    black, white = Image.new("RGB", (20, 10)), Image.new("RGB", (7, 9), (200, 100, 50))
    mixed = mix_up(black, white, 0.3)
    assert mixed.size == (20, 10)
    assert (array(mixed) == [60, 30, 15]).all()


def test_a_seed_gives_the_same_sample_and_another_one_another() -> None:
    original = image()
    rule = picky(original)
    one, two = (find_same_prediction(original, Predictor(rule), seed=4) for _ in range(2))
    assert one is not None and two is not None
    assert (one.number, one.magnitude, one.tries) == (two.number, two.magnitude, two.tries)
    assert_array_equal(array(one.image), array(two.image))
    more = {find_same_prediction(original, Predictor(rule), seed=seed).number for seed in range(12)}
    assert len(more) > 3


def test_wrong_answers_and_settings_are_refused() -> None:
    with pytest.raises(EvidenceError, match="predict: got 0 classes; needed 1"):
        find_same_prediction(image(), lambda _: np.empty(0, int), seed=0)
    with pytest.raises(EvidenceError, match="tries"):
        find_same_prediction(image(), Predictor(fickle), seed=0, tries=0)
