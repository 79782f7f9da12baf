"""Networks whose right map is known, and the libraries called directly."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

torch = pytest.importorskip("torch")
grad_cam = pytest.importorskip("pytorch_grad_cam", reason="pip install 'theodolite[explain]'")
captum = pytest.importorskip("captum.attr", reason="pip install 'theodolite[explain]'")

from timm.layers import BatchNormAct2d  # noqa: E402

from support.networks.saliency_networks import (  # noqa: E402
    SIDE,
    Quadrant,
    QuadrantOfTokens,
    images,
    linear,
    quadrant_images,
    small_cnn,
    small_swin,
    small_vit,
)
from theodolite.explainers.saliency._cams import CLASSES  # noqa: E402
from theodolite.explainers.saliency._places import find_place  # noqa: E402
from theodolite.explainers.saliency._work import ExplanationRequest, seed_libraries  # noqa: E402
from theodolite.explainers.saliency.methods import TECHNIQUES, explainer  # noqa: E402

USE_THE_CLASS = sorted(
    name
    for name, one in TECHNIQUES.items()
    if one.functioning != "none" and name not in {"eigen_cam", "bcos", "rise"}
)
FAIR: dict[str, dict[str, Any]] = {
    "eigen_grad_cam": {"side": "sum"},
    "lime": {"segments": "grid", "cells": 4, "num_samples": 200, "hidden": "zero"},
    "kernel_shap": {"cells": 4, "samples": 200},
    "shap": {"max_evals": 100, "background": "zero"},
    "occlusion": {"window": 4, "stride": 2},
}


def inside(maps: np.ndarray) -> np.ndarray:
    """The share of what speaks for the class that is in the upper right quarter."""
    maps = np.maximum(maps, 0)
    rows, columns = maps.shape[1] // 2, maps.shape[2] // 2
    return maps[:, :rows, columns:].sum(axis=(1, 2)) / maps.sum(axis=(1, 2))


@pytest.mark.parametrize("name", USE_THE_CLASS)
def test_the_map_is_where_the_answer_comes_from(name: str) -> None:
    run = explainer(name, Quadrant(), options=FAIR.get(name))
    given = quadrant_images()
    assert inside(run(given, np.array([1, 1]))).min() > 0.85
    assert inside(run(given, np.array([0, 0]))).max() < 0.15


def test_rise_ranks_the_quarter_first() -> None:
    maps = explainer("rise", Quadrant(), options={"masks": 300, "cells": 4})(
        quadrant_images(), np.array([1, 1])
    )
    half = SIDE // 2
    corners = [
        maps[:, r : r + half, c : c + half].mean(axis=(1, 2)) for r in (0, half) for c in (0, half)
    ]
    assert (np.argmax(corners, axis=0) == 1).all()
    # the mean over masks, done slowly: a constant answer leaves the masks' own mean, about 1
    flat = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * SIDE * SIDE, 2))
    flat[1].weight.data[:] = 0
    flat[1].bias.data[:] = 1
    same = explainer("rise", flat, options={"masks": 400, "score": "logit"})(
        images(1), np.array([0])
    )
    assert_allclose(same.mean(), 1, atol=0.05)


@pytest.mark.parametrize("name", [*CLASSES, "deep_feature_factorization"])
@pytest.mark.parametrize(("leading", "rows", "columns"), [(1, 16, 16), (0, 16, 24), (5, 24, 16)])
def test_tokens_are_laid_out_as_the_patches_were(
    name: str, leading: int, rows: int, columns: int
) -> None:
    options = {"side": "sum"} if "eigen" in name else None
    run = explainer(name, QuadrantOfTokens(leading), options=options)
    maps = run(quadrant_images(1, rows, columns), np.array([1]))
    assert maps.shape == (1, rows, columns)
    if name == "eigen_cam":  # it knows of no class, and here of no side: red and green are alike
        quarter = np.zeros((rows, columns))
        quarter[: rows // 2, columns // 2 :] = 1
        assert abs(np.corrcoef(maps.ravel(), quarter.ravel())[0, 1]) > 0.8
        return
    assert inside(maps).min() > 0.6  # bilinear stretching spills over the edge
    assert inside(run(quadrant_images(1, rows, columns), np.array([0]))).max() < 0.25


@pytest.mark.parametrize(
    ("network", "size", "found"),
    [
        (small_cnn(), (16, 24), ("4", None, 1, (8, 12))),
        (QuadrantOfTokens(0), (16, 24), ("norm1", 0, -1, (4, 6))),
        (QuadrantOfTokens(5), (24, 16), ("norm1", 5, -1, (6, 4))),
        # 16 patches and 9 other tokens are not 25 patches
        (small_vit(reg_tokens=8), (16, 16), ("blocks.1.norm1", 9, -1, (4, 4))),
        (small_vit(img_size=(16, 24)), (16, 24), ("blocks.1.norm1", 1, -1, (4, 6))),
        (small_swin(), (32, 32), ("norm", None, -1, (4, 4))),
    ],
)
def test_the_layer_and_its_layout_are_found(
    network: Any, size: tuple[int, int], found: tuple[Any, ...]
) -> None:
    one = torch.zeros(1, 3, *size)
    place = find_place(ExplanationRequest(network.eval(), one, (0,), None, None, 0, {}))
    assert (place.name, place.leading, place.channels, tuple(place.grid)) == found


GIVEN = images(2, side=8, seed=4)
ONES = np.array([1, 1])


def products() -> np.ndarray:
    return (GIVEN * linear()[1][1]).sum(axis=1)


def summed(maps: np.ndarray, size: int) -> np.ndarray:
    n, rows, columns = maps.shape
    return maps.reshape(n, rows // size, size, columns // size, size).sum(axis=(2, 4))


def test_integrated_gradients_of_a_linear_model() -> None:
    maps = explainer("integrated_gradients", linear()[0], options={"steps": 5})(GIVEN, ONES)
    assert_allclose(maps, products(), atol=1e-6)
    moved = explainer("integrated_gradients", linear()[0], options={"steps": 5, "baseline": 0.5})
    assert_allclose(moved(GIVEN, ONES), ((GIVEN - 0.5) * linear()[1][1]).sum(axis=1), atol=1e-6)
    largest = explainer("integrated_gradients", linear()[0], options={"channels": "largest"})
    values = GIVEN * linear()[1][1]
    pick = np.abs(values).argmax(axis=1)[:, None]
    expected = np.take_along_axis(values, pick, axis=1)[:, 0]
    assert_allclose(largest(GIVEN, ONES), expected, atol=1e-6)


def test_gradient_shap_of_a_linear_model_without_noise() -> None:
    run = explainer("gradient_shap", linear()[0], options={"noise": 1e-9})
    # the points are drawn along the line, and the gradient is the same at each
    assert_allclose(run(GIVEN, ONES), products(), atol=1e-6)


def test_saliency_of_a_linear_model() -> None:
    maps = explainer("saliency", linear()[0])(GIVEN, np.array([0, 1]))
    assert_allclose(maps, np.abs(linear()[1]).max(axis=1), atol=1e-7)


def test_occlusion_of_a_linear_model() -> None:
    run = explainer("occlusion", linear()[0], options={"window": 2, "stride": 2})
    expected = summed(products(), 2).repeat(2, axis=1).repeat(2, axis=2)
    assert_allclose(run(GIVEN, ONES), expected, atol=1e-5)


def test_kernel_shap_of_a_linear_model() -> None:
    run = explainer("kernel_shap", linear()[0], options={"cells": 2, "samples": 60})
    expected = summed(products(), 4).repeat(4, axis=1).repeat(4, axis=2)
    assert_allclose(run(GIVEN, ONES), expected, atol=1e-3)


def test_shap_of_a_linear_model() -> None:
    options = {"max_evals": 400, "background": "zero"}
    maps = explainer("shap", linear()[0], options=options)(GIVEN, ONES)
    assert_allclose(summed(maps, 4), summed(products(), 4), atol=1e-5)


def test_lime_of_a_linear_model() -> None:
    """Hidden segments get their mean color, so a segment is worth what it is above its mean."""
    options = {"segments": "grid", "cells": 4, "num_samples": 2000, "score": "logit"}
    model, weights = linear()
    maps = explainer("lime", model, options=options)(GIVEN, ONES)
    cut = GIVEN.reshape(2, 3, 4, 2, 4, 2)
    above = (cut - cut.mean(axis=(3, 5), keepdims=True)).reshape(GIVEN.shape)
    expected = summed((above * weights[1]).sum(axis=1), 2)
    assert_allclose(maps[:, ::2, ::2], expected, atol=0.05 * np.abs(expected).max())
    for one, least in ((maps, 0.0),):
        assert (one < least).any()
    top = explainer("lime", model, options={**options, "top": 3})(GIVEN, ONES)
    assert (
        set(np.unique(top)) <= {-1.0, 0.0, 1.0}
        and (np.abs(top[:, ::2, ::2]).sum(axis=(1, 2)) == 3).all()
    )
    assert_array_equal(top * maps >= 0, np.ones_like(top, bool))


@pytest.mark.parametrize("segments", ["quickshift", "slic", "felzenszwalb"])
def test_lime_is_constant_on_its_segments(segments: str) -> None:
    options = {"segments": segments, "num_samples": 20}
    maps = explainer("lime", Quadrant(), options=options)(quadrant_images(1), np.array([1]))
    assert len(np.unique(maps)) <= 100 and np.isfinite(maps).all()


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("kind", ["cnn", "vit"])
def test_cams_are_those_of_the_library(name: str, kind: str) -> None:
    network = (small_cnn() if kind == "cnn" else small_vit()).eval()
    given, targets = images(2), np.array([0, 2])
    layer = network[4] if kind == "cnn" else network.blocks[-1].norm1
    more: dict[str, Any] = {"ablated": "library"} if name == "ablation_cam" else {}

    def tokens(found: Any) -> Any:
        return found[:, 1:].reshape(len(found), 4, 4, -1).permute(0, 3, 1, 2)

    extra = {}
    if name == "ablation_cam" and kind == "vit":
        extra["ablation_layer"] = grad_cam.ablation_layer.AblationLayerVit()
    wanted = [grad_cam.utils.model_targets.ClassifierOutputTarget(int(t)) for t in targets]
    made = getattr(grad_cam, CLASSES[name])(
        network, [layer], reshape_transform=tokens if kind == "vit" else None, **extra
    )
    expected = made(torch.from_numpy(given), wanted)
    library = explainer(name, network, options={"values": "library", **more})(given, targets)
    assert_allclose(library, expected, atol=1e-5)
    if name == "ablation_cam":
        return  # the sign of a logit below 0 is undone in ours
    ours = explainer(name, network, options={"values": "rectified"})(given, targets)
    least, largest = (f(ours, axis=(1, 2), keepdims=True) for f in (np.min, np.max))
    assert_allclose((ours - least) / (largest - least + 1e-7), expected, atol=2e-3)


def test_grad_cam_keeps_what_it_measured() -> None:
    network = small_cnn().eval()
    given = torch.from_numpy(images(1))
    maps = network[:5](given).detach().requires_grad_()
    network[5:](maps)[0, 2].backward()
    raw = (maps.grad.mean(dim=(2, 3), keepdim=True) * maps).sum(dim=1, keepdim=True)
    expected = torch.nn.functional.interpolate(raw, (SIDE, SIDE), mode="bilinear")[0, 0]
    result = explainer("grad_cam", network)(images(1), np.array([2]))[0]
    assert_allclose(result, expected.detach().numpy(), rtol=1e-4, atol=1e-7)
    assert result.min() < 0 < result.max()


def test_ablation_cam_drops_channels_to_zero() -> None:
    network = small_cnn().eval()
    maps = network[:5](torch.from_numpy(images(1))).detach()
    whole = network[5:](maps)[0]
    target = int(whole.argmin())
    assert whole[target] < 0
    raw = torch.zeros_like(maps[0, 0])
    for channel in range(8):
        without = maps.clone()
        without[:, channel] = 0
        raw += (
            (whole[target] - network[5:](without)[0, target])
            / whole[target].abs()
            * maps[0, channel]
        )
    expected = torch.nn.functional.interpolate(raw[None, None], (SIDE, SIDE), mode="bilinear")[0, 0]
    result = explainer("ablation_cam", network)(images(1), np.array([target]))[0]
    assert_allclose(result, expected.detach().numpy(), rtol=1e-3, atol=1e-5)


def test_factorisation_sums_to_what_its_concepts_are_worth() -> None:
    """Without all concepts only each channel's least value is left, nearly."""
    network = Quadrant()
    given = quadrant_images(1)
    maps = explainer("deep_feature_factorization", network, options={"concepts": 2})(
        given, np.array([1])
    )
    with torch.no_grad():
        answer = float(network(torch.from_numpy(given))[0, 1])
    assert_allclose(maps.sum(), answer, rtol=0.05)


class TwoPaths(torch.nn.Module):
    """Its layers are used in another order than they are defined in."""

    def __init__(self, turned: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        one, two = torch.nn.Conv2d(3, 3, 3, padding=1), torch.nn.Conv2d(3, 3, 3, padding=1)
        if turned:
            self.two, self.one = two, one
        else:
            self.one, self.two = one, two

    def forward(self, x: Any) -> Any:
        return self.two(self.one(x).relu()).relu().mean(dim=(2, 3))


def test_full_grad_pairs_a_layer_with_its_own_bias() -> None:
    one, other = (
        explainer("full_grad", TwoPaths(turned))(images(1), np.array([1]))
        for turned in (True, False)
    )
    assert_allclose(one, other, atol=1e-6)


def test_full_grad_sees_norms_that_have_their_activation_in_them() -> None:
    def built(*after: Any) -> Any:
        torch.manual_seed(0)
        return torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3), *after, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()
        )

    norm = BatchNormAct2d(4)
    norm.bias.data = torch.tensor([1.0, -0.5, 2.0, 0.3])
    plain = torch.nn.BatchNorm2d(4)
    plain.load_state_dict(norm.state_dict())
    one, other = (
        explainer("full_grad", net)(images(1), np.array([1]))
        for net in (built(norm), built(plain, torch.nn.ReLU()))
    )
    assert_allclose(one, other, atol=1e-6)


CAPTUM: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "integrated_gradients": ("IntegratedGradients", {"steps": 9}, {"n_steps": 9, "baselines": 0.0}),
    "gradient_shap": (
        "GradientShap",
        {"samples": 6, "noise": 0.2},
        {"n_samples": 6, "stdevs": 0.2, "baselines": torch.zeros(1, 3, SIDE, SIDE)},
    ),
    "occlusion": (
        "Occlusion",
        {"window": 5, "stride": 3},
        {"sliding_window_shapes": (3, 5, 5), "strides": (3, 3, 3), "baselines": 0.0},
    ),
}


@pytest.mark.parametrize("name", CAPTUM)
def test_the_same_as_captum_called_directly(name: str) -> None:
    kind, ours, theirs = CAPTUM[name]
    network = small_cnn().eval()
    given = torch.from_numpy(images(1))
    with seed_libraries(7):
        direct = getattr(captum, kind)(network).attribute(given, target=2, **theirs)
    expected = direct[:, 0] if name == "occlusion" else direct.sum(dim=1)
    result = explainer(name, network, seed=7, options=ours)(images(1), np.array([2]))
    assert_allclose(result, expected.detach().numpy(), rtol=1e-3, atol=1e-7)


def test_bcos_contributions_sum_to_the_answer() -> None:
    bcos = pytest.importorskip("bcos", reason="pip install 'theodolite[bcos]'")

    class Small(bcos.BcosUtilMixin, torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first = bcos.modules.BcosConv2d(6, 8, 3, padding=1)
            self.second = bcos.modules.BcosConv2d(8, 4, 1)

        def forward(self, x: Any) -> Any:
            return self.second(self.first(x)).mean(dim=(2, 3))

    torch.manual_seed(0)
    network = Small().train()
    given = np.random.default_rng(0).random((3, 3, SIDE, SIDE)).astype(np.float32)
    run = explainer("bcos", network)
    maps = run(given, np.array([0, 1, 3]))
    six = torch.from_numpy(np.concatenate([given, 1 - given], axis=1))
    answers = network(six).detach().numpy()[np.arange(3), [0, 1, 3]]
    assert maps.shape == (3, SIDE, SIDE) and maps.dtype == np.float32 and network.training
    assert_allclose(maps.sum(axis=(1, 2)), answers, rtol=1e-4)
    assert_array_equal(run(given[1:2], np.array([1]))[0], maps[1])
    with pytest.raises(ValueError, match="0 to 1"):
        run(given - 0.5, np.array([0, 1, 3]))
