"""Every method on a small CNN and a small ViT: shapes, sameness, and nothing touched."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

torch = pytest.importorskip("torch")
pytest.importorskip("pytorch_grad_cam", reason="pip install 'theodolite[explain]'")

from support.networks.saliency_networks import SIDE, images, small_cnn, small_vit  # noqa: E402
from theodolite.explainers.saliency._work import seed_libraries  # noqa: E402
from theodolite.explainers.saliency.methods import OPTIONS, TECHNIQUES, explainer  # noqa: E402

SHORT: dict[str, dict[str, Any]] = {
    "lime": {"num_samples": 30, "segments": "grid", "cells": 3},
    "shap": {"max_evals": 20},
    "rise": {"masks": 20},
    "kernel_shap": {"samples": 40, "cells": 3},
    "integrated_gradients": {"steps": 8},
    "gradient_shap": {"samples": 4},
}
TARGETS = np.array([0, 3, 1])
ON_CNN = [name for name, one in TECHNIQUES.items() if "CNN" in one.applies_to]
ON_VIT = [name for name, one in TECHNIQUES.items() if "ViT" in one.applies_to]
BOTH = [("cnn", name) for name in ON_CNN] + [("vit", name) for name in ON_VIT]


def network(kind: str) -> Any:
    return small_cnn() if kind == "cnn" else small_vit()


def state(module: Any) -> list[Any]:
    """Everything of a network that an explainer could leave behind."""
    hooks = [
        (name, key, len(held))
        for name, part in module.named_modules()
        for key, held in vars(part).items()
        if "hook" in key and hasattr(held, "__len__")
    ]
    modes = [
        (name, part.training, getattr(part, "inplace", None))
        for name, part in module.named_modules()
    ]
    numbers = [(name, one.detach().numpy().tobytes()) for name, one in module.state_dict().items()]
    weights = [
        (one.requires_grad, None if one.grad is None else one.grad.numpy().tobytes())
        for one in module.parameters()
    ]
    return [hooks, modes, numbers, weights]


@pytest.mark.parametrize(("kind", "name"), BOTH)
def test_maps_are_whole_and_the_same_again_and_in_any_batch(kind: str, name: str) -> None:
    given = images()
    run = explainer(name, network(kind), seed=3, options=SHORT.get(name))
    maps = run(given, TARGETS)
    assert maps.shape == (3, SIDE, SIDE) and maps.dtype == np.float32
    assert np.isfinite(maps).all() and np.ptp(maps, axis=(1, 2)).min() > 0
    assert_array_equal(run(given, TARGETS), maps)
    assert_array_equal(given, images())
    again = explainer(name, network(kind), seed=3, options=SHORT.get(name))
    size = np.abs(maps).max()
    alone = again(given[2:], TARGETS[2:])[0]
    assert_allclose(alone / size, maps[2] / size, atol=1e-5)
    assert (maps >= 0).all() or TECHNIQUES[name].sign == "signed"


@pytest.mark.parametrize(("kind", "name"), BOTH)
def test_the_network_and_the_generators_are_left_as_they_were(kind: str, name: str) -> None:
    given = network(kind).train()
    first, *_, last = given.parameters()
    first.requires_grad_(False)
    last.grad = torch.ones_like(last)
    before = state(given)
    drawn = torch.get_rng_state(), np.random.get_state()  # noqa: NPY002
    explainer(name, given, options=SHORT.get(name))(images(1), TARGETS[:1])
    assert state(given) == before
    assert torch.equal(torch.get_rng_state(), drawn[0])
    assert_array_equal(np.random.get_state()[1], drawn[1][1])  # noqa: NPY002
    assert np.random.get_state()[2:] == drawn[1][2:]  # noqa: NPY002


@pytest.mark.parametrize("name", ["grad_cam", "rise"])
def test_hooks_of_the_owner_are_not_called(name: str) -> None:
    network, calls = small_cnn(), []
    network[0].register_forward_hook(lambda *_: calls.append("forward"))
    network[0].register_full_backward_hook(lambda *_: calls.append("backward"))
    explainer(name, network, options=SHORT.get(name))(images(1), TARGETS[:1])
    assert calls == []
    network(torch.from_numpy(images(1)))
    assert calls == ["forward"]


def test_broad_hills_are_smooth() -> None:
    noise, hills = (
        explainer(n, small_cnn())(images(), TARGETS) for n in ("random", "smooth_random")
    )
    steps = [np.abs(np.diff(maps, axis=2)).mean() / maps.std() for maps in (noise, hills)]
    assert steps[1] < 0.7 * steps[0]
    assert len({maps.tobytes() for maps in hills}) == 3


def test_state_would_notice() -> None:
    one = small_cnn()
    before = state(one)
    hook = one[0].register_forward_hook(lambda *_: None)
    assert state(one) != before
    hook.remove()
    assert state(one) == before
    one[0].register_full_backward_hook(lambda *_: None)
    assert state(one) != before


def draws() -> tuple[float, ...]:
    return random.random(), float(torch.rand(1)), float(np.random.random())  # noqa: NPY002, S311


def test_generators_are_seeded_and_put_back() -> None:
    before = random.getstate()
    with seed_libraries(5):
        first = draws()
    assert random.getstate() == before
    with seed_libraries(5):
        assert draws() == first
    with seed_libraries(6):
        assert not set(draws()) & set(first)


@pytest.mark.parametrize(
    "name", ["gradient_shap", "kernel_shap", "lime", "rise", "random", "smooth_random"]
)
def test_another_seed_draws_something_else(name: str) -> None:
    one, other = (
        explainer(name, small_cnn(), seed=seed, options=SHORT.get(name))(images(1), TARGETS[:1])
        for seed in (0, 1)
    )
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    "name", sorted(set(ON_CNN) - {"eigen_cam", "random", "smooth_random", "center"})
)
def test_another_class_has_another_map(name: str) -> None:
    run = explainer(name, small_cnn(), options=SHORT.get(name))
    maps = run(np.repeat(images(1), 2, axis=0), np.array([0, 1]))
    assert not np.allclose(maps[0], maps[1], rtol=1e-3)


@pytest.mark.parametrize("name", ["grad_cam", "saliency"])
def test_gradients_are_found_where_the_caller_has_switched_them_off(name: str) -> None:
    run = explainer(name, small_cnn().requires_grad_(False))
    expected = run(images(), TARGETS)
    with torch.inference_mode():
        assert_array_equal(run(images(), TARGETS), expected)


@pytest.mark.parametrize("name", ["grad_cam", "rise", "lime", "center"])
def test_no_images_no_maps(name: str) -> None:
    run = explainer(name, small_cnn())
    assert run(images()[:0], TARGETS[:0]).shape == (0, SIDE, SIDE)


def test_the_table_says_everything() -> None:
    assert list(OPTIONS) == [n for n in OPTIONS if n in TECHNIQUES] and len(OPTIONS) == len(
        TECHNIQUES
    )
    for name, one in TECHNIQUES.items():
        assert one.name == name and one.attribution_on == "images"
        assert one.title and one.scale and one.cost and one.applies_to
        assert one.library in {"grad-cam", "captum", "lime", "shap", "bcos", "ours"}
        assert bool(one.cite) == (one.functioning != "none")
    assert sum(one.paper for one in TECHNIQUES.values()) == 15  # RISE is there on concepts only


def test_every_method_is_in_the_list_of_references() -> None:
    listed = (Path(__file__).parents[2] / "src/theodolite/metrics/references.bib").read_text(
        "utf-8"
    )
    for one in TECHNIQUES.values():
        assert not one.cite or f"{{{one.cite}," in listed, one.cite
