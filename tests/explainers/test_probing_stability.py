"""Maps under noise and under random weights: plain loops, captum, Quantus, and planted explainers."""

import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr

from theodolite.errors import EvidenceError
from theodolite.explainers.probing.randomization import compute_map_similarity, randomize_weights
from theodolite.explainers.probing.stability import (
    StabilitySettings,
    compute_chance_changes,
    draw_noise,
    measure_map_changes,
)

torch = pytest.importorskip("torch", reason="no torch here: pip install 'theodolite[torch]'")


def network(seed: int = 0) -> "torch.nn.Module":
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return torch.nn.Sequential(
            torch.nn.Conv2d(3, 6, 3, 2, 1), torch.nn.BatchNorm2d(6), torch.nn.Tanh(),
            torch.nn.Conv2d(6, 4, 3, 2, 1), torch.nn.Tanh(),
            torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(16, 5),
        ).eval()  # fmt: skip


def gradients(of: "torch.nn.Module", images: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Sum over the channels of the score's gradient: a map with signs."""
    given = torch.from_numpy(np.asarray(images, np.float32)).requires_grad_()
    scores = of(given)[torch.arange(len(given)), torch.from_numpy(np.asarray(targets))]
    (result,) = torch.autograd.grad(scores.sum(), given)
    return result.sum(dim=1).numpy()


def sample(n: int = 3, side: int = 16) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    images = random.normal(size=(n, 3, side, side)).astype(np.float32)
    targets = random.integers(0, 5, n)
    return images, gradients(network(), images, targets), targets


def explain(images: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return gradients(network(), images, targets)


def test_changes_are_those_of_a_plain_loop_in_any_batch() -> None:
    images, maps, targets = sample()
    copies = images.copy(), maps.copy()
    settings = StabilitySettings(draws=4, seed=3)
    result = measure_map_changes(explain, images, maps, targets=targets, settings=settings)
    assert_allclose(result.norms, [np.linalg.norm(one) for one in maps], rtol=1e-6)
    for i, kind, draw in np.ndindex(3, 2, 4):
        noise = draw_noise(settings, images.shape[1:], i, 4 * kind + draw)
        again = explain((images[i] + noise)[None].astype(np.float32), targets[i : i + 1])[0]
        assert_allclose(result.changes[i, kind, draw], np.linalg.norm(again - maps[i]), rtol=1e-4)
    for batch in (1, 5, 100):
        other = StabilitySettings(draws=4, seed=3, batch=batch)
        again = measure_map_changes(explain, images, maps, targets=targets, settings=other)
        assert_allclose(again.changes, result.changes, rtol=1e-4)
    part = measure_map_changes(
        explain, images[2:], maps[2:], targets=targets[2:], settings=settings, numbers=np.array([2])
    )
    assert_allclose(part.changes, result.changes[2:], rtol=1e-4)
    assert len(np.unique(result.changes)) == result.changes.size
    assert_array_equal(images, copies[0])
    assert_array_equal(maps, copies[1])


def test_noise_is_of_the_kind_and_size_that_was_asked_for() -> None:
    settings = StabilitySettings(draws=2, seed=1, radius=0.5)
    uniform, normal = (draw_noise(settings, (3, 60, 60), 0, place) for place in (0, 2))
    assert np.abs(uniform).max() <= 0.5
    assert_allclose(uniform.std(), 0.5 / 3**0.5, rtol=0.03)
    assert_allclose(normal.std(), 0.5, rtol=0.03)
    assert_allclose([uniform.mean(), normal.mean()], 0, atol=0.02)
    other = StabilitySettings(draws=2, seed=2, radius=0.5)
    drawn = [
        float(draw_noise(how, (3, 2, 2), number, place).sum())
        for how in (settings, other)
        for number in range(2)
        for place in range(4)
    ]
    assert len(set(drawn)) == 16  # none is used twice
    reordered = StabilitySettings(draws=2, seed=1, radius=0.5, noises=["gaussian"])
    assert_array_equal(draw_noise(reordered, (3, 60, 60), 0, 0), normal)


def test_a_map_that_does_not_look_never_changes_and_one_that_is_the_image_does() -> None:
    images, _, targets = sample()
    settings = StabilitySettings(draws=3, seed=0, noises=["uniform"])
    fixed = np.ones((3, 16, 16))
    still = measure_map_changes(
        lambda p, _: np.ones((len(p), 16, 16)), images, fixed, targets=targets, settings=settings
    )
    assert_array_equal(still.changes, np.zeros((3, 1, 3)))
    moved = measure_map_changes(
        lambda p, _: p[:, 0], images, images[:, 0], targets=targets, settings=settings
    )
    # root of 256 pixels times the spread of the noise
    assert_allclose(moved.changes, 16 * 0.2 / 3**0.5, rtol=0.1)


def test_the_class_asked_for_stays_the_same() -> None:
    images, _, targets = sample()
    maps = targets[:, None, None] * np.ones((1, 16, 16))
    result = measure_map_changes(
        lambda p, t: t[:, None, None] * np.ones((1, 16, 16)), images, maps,
        targets=targets, settings=StabilitySettings(draws=3, seed=0, batch=4),
    )  # fmt: skip
    assert_array_equal(result.changes, np.zeros((3, 2, 3)))


@given(st.integers(2, 12), st.integers(0, 1000))
def test_chance_is_the_distance_to_another_image(n: int, seed: int) -> None:
    maps = np.arange(n, dtype=float)[:, None, None] * np.ones((1, 2, 2))
    result = compute_chance_changes(maps, seed=seed) / 2
    assert (result >= 1).all()  # never its own
    assert_array_equal(result, result.round())
    assert_array_equal(result, compute_chance_changes(maps, seed=seed) / 2)


def test_chance_draws_all_others_and_needs_one() -> None:
    maps = np.array([0.0, 1, 10, 100])[:, None, None] * np.ones((1, 1, 1))
    seen = {float(compute_chance_changes(maps, seed=seed)[0]) for seed in range(40)}
    assert seen == {1, 10, 100}
    assert np.isnan(compute_chance_changes(maps[:1], seed=0)).all()
    assert compute_chance_changes(maps[:0], seed=0).shape == (0,)


def test_wrong_settings_are_refused() -> None:
    for wrong in (
        {"draws": 0},
        {"batch": 0},
        {"radius": 0.0},
        {"radius": np.nan},
        {"noises": ["salt"]},
        {"noises": []},
    ):
        with pytest.raises(EvidenceError, match=next(iter(wrong))):
            StabilitySettings(**{"draws": 1, "seed": 0, **wrong})


def test_as_captums_largest_sensitivity() -> None:
    metrics = pytest.importorskip("captum.metrics", reason="no captum here")
    images, maps, targets = sample()
    settings = StabilitySettings(draws=6, seed=2, noises=["uniform"])
    result = measure_map_changes(explain, images, maps, targets=targets, settings=settings)

    def ours(given: "torch.Tensor") -> "torch.Tensor":  # every image six times in a row
        noises = [draw_noise(settings, images.shape[1:], *divmod(k, 6)) for k in range(len(given))]
        return given + torch.from_numpy(np.stack(noises)).float()

    def theirs(given: "torch.Tensor | tuple", target: "torch.Tensor") -> "torch.Tensor | tuple":
        if isinstance(given, tuple):
            return (theirs(given[0], target),)
        with torch.enable_grad():
            return torch.from_numpy(explain(given.numpy(), target.numpy()))

    wanted = metrics.sensitivity_max(
        theirs,
        torch.from_numpy(images),
        ours,
        n_perturb_samples=6,
        target=torch.from_numpy(targets),
    )
    assert_allclose(result.changes.max(axis=(1, 2)) / result.norms, wanted.numpy(), rtol=1e-4)


@pytest.fixture
def quantus() -> Iterator[object]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own and of the libraries that it imports
        yield pytest.importorskip("quantus", reason="no quantus here")


def test_as_quantus_largest_sensitivity(quantus: object) -> None:
    images, maps, targets = sample()
    settings = StabilitySettings(draws=5, seed=2, noises=["uniform"])
    result = measure_map_changes(explain, images, maps, targets=targets, settings=settings)
    draw = iter(range(5))

    def ours(arr: np.ndarray, **_: object) -> np.ndarray:
        k = next(draw)
        noises = np.stack([draw_noise(settings, images.shape[1:], i, k) for i in range(3)])
        return arr + noises.reshape(arr.shape).astype(arr.dtype)

    metric = quantus.MaxSensitivity(
        nr_samples=5, perturb_func=ours, abs=False, normalise=False, disable_warnings=True
    )
    wanted = metric(
        model=network(), x_batch=images, y_batch=targets, a_batch=maps[:, None], channel_first=True,
        explain_func=lambda model, inputs, targets, **_: explain(inputs, targets)[:, None],
    )  # fmt: skip
    assert_allclose(result.changes.max(axis=(1, 2)) / result.norms, wanted, rtol=1e-4)


def test_quantus_sparseness_is_the_gini_index_of_the_definition(quantus: object) -> None:
    """Theirs adds 1e-7 to each value; the worked numbers are without."""
    maps = np.array([[1.0, 2, 3, 4], [0, 0, 0, 1], [1, 1, 1, 1], [-3, 0.5, 2, 0]]).reshape(
        4, 1, 2, 2
    )
    sizes = np.sort(np.abs(maps.reshape(4, 4)), axis=1)
    ours = (sizes * (2 * np.arange(1, 5) - 5)).sum(axis=1) / (4 * sizes.sum(axis=1))
    assert_allclose(ours, [0.25, 0.75, 0, 0.477273], atol=5e-7)
    metric = quantus.Sparseness(abs=True, normalise=False, disable_warnings=True)
    images = np.zeros((4, 3, 2, 2), np.float32)
    wanted = metric(
        model=torch.nn.Flatten(), x_batch=images, y_batch=np.zeros(4, int), a_batch=maps.copy(),
        channel_first=True,
    )  # fmt: skip
    assert_allclose(ours, wanted, atol=1e-6)


@given(st.integers(0, 2**31), st.booleans())
def test_similarity_is_spearmans_of_the_magnitudes(seed: int, ties: bool) -> None:
    random = np.random.default_rng(seed)
    maps, others = random.normal(size=(2, 3, 5, 6))
    if ties:
        maps, others = (np.round(2 * one) for one in (maps, others))
    wanted = [
        spearmanr(np.abs(a).ravel(), np.abs(b).ravel()).statistic
        for a, b in zip(maps, others, strict=True)
    ]
    assert_allclose(compute_map_similarity(maps, others), wanted, atol=1e-12)
    assert_allclose(compute_map_similarity(maps, -3 * maps), 1)


def test_similarity_of_opposites_and_of_maps_that_say_nothing() -> None:
    one = np.arange(12.0).reshape(1, 3, 4)
    assert_allclose(compute_map_similarity(one, 20 - one), -1)
    assert np.isnan(compute_map_similarity(one, np.ones((1, 3, 4)))).all()
    assert np.isnan(compute_map_similarity(one, np.full((1, 3, 4), np.nan))).all()


def test_random_weights_keep_the_scale_and_lose_what_was_learned() -> None:
    trained = network()
    before = {name: value.clone() for name, value in trained.state_dict().items()}
    state = torch.random.get_rng_state()
    one, again, other = (randomize_weights(trained, seed=seed) for seed in (1, 1, 2))
    assert_array_equal(torch.random.get_rng_state(), state)
    for name, value in trained.state_dict().items():
        assert_array_equal(value, before[name])
    assert not one.training
    for (name, new), same, different in zip(
        one.named_parameters(), again.parameters(), other.parameters(), strict=True
    ):
        assert_array_equal(new.detach(), same.detach())
        old = before[name]
        if old.std() == 0:  # normalization that was never trained
            assert_array_equal(new.detach(), old)
            continue
        assert (new != old).all() and (new != different).all()
        if new.numel() > 80:
            assert_allclose(new.detach().std(), old.std(), rtol=0.25)
    for name, value in one.named_buffers():
        assert_array_equal(value, before[name])
    images, maps, targets = sample()
    result = compute_map_similarity(maps, gradients(one, images, targets))
    assert np.abs(result).max() < 0.6
    assert_allclose(compute_map_similarity(maps, gradients(trained, images, targets)), 1)


def test_the_signal_gets_through_a_deep_network_of_random_weights() -> None:
    """With a layer's usual first values, gradients of this network would be smaller than 1e-10."""
    layers = []
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for _ in range(30):
            conv = torch.nn.Conv2d(8, 8, 3, padding=1, bias=False)
            torch.nn.init.kaiming_normal_(conv.weight)
            layers += [conv, torch.nn.BatchNorm2d(8), torch.nn.ReLU()]
    deep = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 1), *layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()
    ).eval()
    given = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0)).requires_grad_()

    def steepness(of: "torch.nn.Module") -> float:
        (result,) = torch.autograd.grad(of(given).sum(), given)
        return float(result.abs().mean())

    for part in deep.modules():
        assert not isinstance(part, torch.nn.BatchNorm2d) or part.running_var.eq(1).all()
    assert steepness(randomize_weights(deep, seed=0)) > 1e-6
    usual = randomize_weights(deep, seed=0)
    with torch.random.fork_rng():
        for part in usual.modules():
            if isinstance(part, torch.nn.Conv2d):
                part.reset_parameters()
    assert steepness(usual) < 1e-9
