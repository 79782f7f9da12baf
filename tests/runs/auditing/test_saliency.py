"""Audits of saliency maps: layouts, what the model is asked, and the planted truth."""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

torch = pytest.importorskip("torch", reason="pip install 'theodolite[explain]'")

import theodolite  # noqa: E402
from theodolite._runs.auditing.result import AuditResult  # noqa: E402
from theodolite.datasets import planted_shapes  # noqa: E402
from theodolite.errors import EvidenceError  # noqa: E402

FEW = {"resamples": 40}


@cache
def case(n: int = 40) -> dict[str, Any]:
    """The trained network with gradient x input, which is exact but for the maximum."""
    net, images, masks = planted_shapes(n)
    target = net(images).argmax(1)
    return {"net": net, "images": images, "masks": masks, "target": target,
            "maps": explain(net, images, target)}  # fmt: skip


def explain(net: Any, images: Any, targets: Any) -> Any:
    given = images.clone().requires_grad_()
    net(given)[torch.arange(len(given)), targets].sum().backward()
    for weights in net.parameters():
        weights.grad = None
    return (given.grad * given).detach()


def audit(maps: Any, images: Any = None, **options: Any) -> AuditResult:
    result = theodolite.audit_saliency(maps, images, **(FEW | options))
    assert isinstance(result, AuditResult)
    return result


def answers(result: AuditResult) -> dict[str, str]:
    return {v.question: v.answer for v in result.verdicts if v.answer != "not_evaluated"}


@cache
def audited() -> dict[str, AuditResult]:
    planted, random = case(60), np.random.default_rng(0)
    methods = {
        "gradient": planted["maps"],
        "noise": random.normal(size=(60, 32, 32)),
        "edges": np.abs(np.diff(planted["images"].numpy().mean(1), axis=2, prepend=0)),
        "another image": planted["maps"].roll(1, 0),
        "wrong sign": -planted["maps"],
    }
    result = theodolite.audit_saliency(
        methods, planted["images"], model=planted["net"], masks=planted["masks"]
    )
    assert isinstance(result, dict)
    return result


def test_the_planted_truth_is_told() -> None:
    assert answers(audited()["gradient"]) == {"located": "yes", "faithful": "yes"}
    for name in ("noise", "edges", "another image", "wrong sign"):
        assert answers(audited()[name]) == {"located": "no", "faithful": "no"}, name


def test_several_methods_share_the_answers() -> None:
    bundles = [result.source.first[0] for result in audited().values()]
    assert_array_equal(bundles[0].drop, bundles[-1].drop)
    notes = " ".join(audited()["noise"].notes)
    assert "10,044 forward passes" in notes  # 60 + 64 * 60 + 12 * 512
    assert "Pass explain=" in notes and "summed" in notes


@pytest.mark.parametrize("quick", [False, True])
def test_the_model_is_asked_as_often_as_promised_and_left_as_it_was(quick: bool) -> None:
    planted, sizes = case(14), []
    net = planted["net"].train()
    net[0].eval()  # modes differ from module to module
    hook = net.register_forward_hook(lambda module, given, output: sizes.append(len(output)))
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    audit(planted["maps"], planted["images"], model=net, quick=quick, questions=["faithful"])
    hook.remove()
    assert sum(sizes) == (14 + 32 * 14 + 6 * 512 if quick else 14 + 64 * 14 + 12 * 512)
    assert [module.training for module in net] == [False] + [True] * 9
    assert all((before[name] == tensor).all() for name, tensor in net.state_dict().items())
    assert all(weights.grad is None for weights in net.parameters())
    assert not net._forward_hooks
    net.eval()


def test_a_batch_that_does_not_fit_is_halved() -> None:
    planted = case(24)
    net, sizes = planted["net"], []

    def small_memory(batch: Any) -> Any:
        if len(batch) > 20:
            message = "CUDA out of memory."
            raise RuntimeError(message)
        sizes.append(len(batch))
        with torch.no_grad():
            return net(batch)

    options = {"quick": True, "questions": ["faithful"]}
    halved = audit(planted["maps"], planted["images"], model=small_memory, **options)
    whole = audit(planted["maps"], planted["images"], model=net, **options)
    assert halved["map_fit"].value == pytest.approx(whole["map_fit"].value, abs=1e-6)
    assert max(sizes) == 16 and sum(sizes) == 24 + 32 * 24 + 6 * 512
    assert any("batches of 16" in note for note in halved.notes)

    def broken(batch: Any) -> Any:
        message = "the model's own error"
        raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="own error"):
        audit(planted["maps"], planted["images"], model=broken)


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "NCHW": lambda maps: maps,
    "NHWC": lambda maps: maps.permute(0, 2, 3, 1),
    "N1HW": lambda maps: maps.sum(1, keepdim=True),
    "NHW1": lambda maps: maps.sum(1)[..., None],
    "NHW": lambda maps: maps.sum(1),
    "captum's tuple": lambda maps: (maps,),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("numpy", [False, True])
def test_every_layout_gives_the_same_score(layout: str, numpy: bool) -> None:
    planted = case()
    maps = LAYOUTS[layout](planted["maps"])
    if numpy:
        maps = maps[0].numpy() if isinstance(maps, tuple) else maps.numpy()
    scored = audit(maps, masks=planted["masks"], questions=["located"])
    usual = audit(planted["maps"], masks=planted["masks"], questions=["located"])
    assert scored["relevance_top"].value == pytest.approx(usual["relevance_top"].value, abs=1e-6)


def test_images_go_back_to_the_model_as_they_came() -> None:
    planted, shapes = case(), set()
    images = planted["images"].permute(0, 2, 3, 1).numpy()

    def model(batch: Any) -> Any:
        assert isinstance(batch, np.ndarray) and batch.dtype == np.float32
        shapes.add(batch.shape[1:])
        with torch.no_grad():
            logits = planted["net"](torch.from_numpy(batch).permute(0, 3, 1, 2))
            return logits.double().softmax(1).numpy()

    options = {"quick": True, "questions": ["faithful"]}
    last = audit(planted["maps"], images, model=model, **options)
    first = audit(planted["maps"], planted["images"], model=planted["net"], **options)
    assert shapes == {(32, 32, 3)}
    assert last["map_fit"].value == pytest.approx(first["map_fit"].value, abs=1e-6)


def test_small_maps_are_enlarged_and_objects_come_in_several_forms() -> None:
    planted = case()
    masks = planted["masks"].numpy()
    small = masks.reshape(-1, 8, 4, 8, 4).mean(axis=(2, 4))
    by_mask = audit(small, planted["images"], masks=masks)
    top, left = masks.any(2).argmax(1), masks.any(1).argmax(1)
    boxes = np.stack([left, top, left + 8, top + 8], axis=1)
    labels = np.where(masks, 7, 2)
    assert by_mask["relevance_top"].value > 0.8
    for objects, more in (
        (boxes, {}),
        (labels, {"mask_label": 7}),
        (labels, {"mask_label": [7] * 40}),
    ):
        other = audit(small, planted["images"], masks=objects, **more)
        assert other["relevance_top"].value == by_mask["relevance_top"].value


def test_channels_are_named_and_matter() -> None:
    maps = np.zeros((30, 3, 5, 5))
    maps[:, 0, 0, 0], maps[:, 1, 0, 0], maps[:, 2, 3, 3] = 2.0, -2.0, 1.0
    masks = np.zeros((30, 5, 5), bool)
    masks[:, 3, 3] = True
    values = {
        c: audit(maps, masks=masks, channels=c)["relevance_top"].value
        for c in ("sum", "abs", "max")
    }
    assert values == {"sum": 1.0, "abs": 0.0, "max": 0.0}


def test_explain_tests_weights_and_noise() -> None:
    planted = case(24)
    options = {"model": planted["net"], "quick": True}
    result = audit(planted["maps"], planted["images"], explain=explain, **options)
    assert abs(result["randomization_similarity"].value) < 0.6
    assert 0 < result["max_sensitivity"].value < 1
    assert not any("pass explain=" in note for note in result.notes)

    def color(model: Any, images: Any, targets: Any) -> Any:
        return images.amax(1) - images.amin(1)

    blind = audit(planted["maps"], planted["images"], explain=color, **options)
    assert blind["randomization_similarity"].value == pytest.approx(1)
    verdict = blind.verdicts["faithful"]
    assert verdict.answer == "no" and "Random weights" in verdict.summary


def test_a_captum_attribution_is_an_explainer() -> None:
    attr = pytest.importorskip("captum.attr")
    planted = case(20)
    method = attr.LayerGradCam(planted["net"], planted["net"][6])
    maps = method.attribute(planted["images"], target=planted["target"])
    result = audit(
        maps, planted["images"], model=planted["net"], explain=method, quick=True
    )  # fmt: skip
    assert abs(result["randomization_similarity"].value) < 0.8
    assert method.forward_func is planted["net"]


def test_images_beyond_the_limit_are_drawn_by_the_seed() -> None:
    planted = case()
    options = {"model": planted["net"], "quick": True, "max_images": 25, "masks": planted["masks"]}
    result = audit(planted["maps"], planted["images"], ids=[f"i{n}" for n in range(40)], **options)
    assert result["relevance_top"].n == result["map_fit"].n == 25
    assert any("25 of 40 images" in note for note in result.notes)
    again = audit(planted["maps"], planted["images"], **options)
    assert again["map_fit"].value == result["map_fit"].value


def test_several_fills_are_all_scored() -> None:
    planted = case(24)
    result = audit(
        planted["maps"], planted["images"], model=planted["net"], fill=("mean", "blur"), quick=True,
        questions=["faithful"],
    )  # fmt: skip
    fits = {score.options["fill"]: score.value for score in result if score.metric == "map_fit"}
    assert set(fits) == {"mean", "blur"} and min(fits.values()) > 0.3


def test_audit_calls_it_for_maps_beside_images() -> None:
    planted = case()
    typed = audit(planted["maps"], planted["images"], masks=planted["masks"])
    general = theodolite.audit(
        maps=planted["maps"], images=planted["images"], masks=planted["masks"], **FEW
    )
    assert general.scores == typed.scores
    parameters = inspect.signature(theodolite.audit_saliency).parameters
    assert {"questions", "metrics", "names", "ids", "clusters", "claim", "seed"} <= set(parameters)


MAPS = np.ones((4, 6, 6))
IMAGES = np.ones((4, 3, 6, 6), np.float32)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"maps": np.ones((4, 3, 3, 3))}, 'layout="NCHW"'),
        ({"maps": np.ones((4, 5, 6, 6))}, 'layout="NCHW"'),
        ({"maps": np.full((4, 6, 6), np.nan)}, "NaN"),
        ({"maps": np.ones((4, 9, 9)), "images": IMAGES}, "at most 6 by 6"),
        ({"maps": MAPS, "images": IMAGES[:3]}, "one for each map"),
        ({"maps": MAPS, "model": len}, "images"),
        ({"maps": MAPS, "images": IMAGES, "explain": len}, "model"),
        ({"maps": MAPS, "channels": "mean"}, "channels"),
        ({"maps": MAPS, "fill": "black"}, "fill"),
        ({"maps": MAPS, "fill": ()}, "fill"),
        ({"maps": MAPS, "batch_size": 0}, "batch_size"),
        ({"maps": MAPS, "max_images": 0}, "max_images"),
        ({"maps": MAPS, "layout": "HWC", "images": IMAGES}, "layout"),
        ({"maps": MAPS, "masks": np.full((4, 6, 6), 3)}, "mask_label"),
        ({"maps": MAPS, "masks": np.ones((4, 5, 6))}, "boxes"),
        ({"maps": MAPS, "images": IMAGES, "model": "net"}, "torch module"),
        ({"maps": MAPS, "images": IMAGES, "model": np.ones_like}, "classes"),
        (
            {"maps": MAPS, "images": IMAGES, "model": lambda b: np.eye(4)[: len(b)], "target": 9},
            "target",
        ),
        (
            {
                "maps": MAPS,
                "images": IMAGES,
                "model": lambda b: np.eye(4)[: len(b)],
                "target": [0.5] * 4,
            },
            "target",
        ),
    ],
)
def test_what_does_not_fit_is_refused(arguments: dict[str, Any], what: str) -> None:
    with pytest.raises(EvidenceError) as error:
        theodolite.audit_saliency(**arguments)
    assert what in str(error.value)


def test_names_of_quantus_are_taken() -> None:
    planted = case()
    result = audit(planted["maps"], masks=planted["masks"], metrics=["PointingGame", "Sparseness"])
    assert result["PointingGame"].metric == "relevance_peak"
    assert "PointingGame is relevance_peak, Sparseness is sparseness" in " ".join(result.notes)
    with pytest.raises(EvidenceError, match="nearest is removal_faithfulness"):
        audit(planted["maps"], masks=planted["masks"], metrics=["ROAD"])


def test_inputs_are_left_as_they_were() -> None:
    planted = case(24)
    maps, images = planted["maps"].numpy().copy(), planted["images"].numpy().copy()
    audit(planted["maps"], planted["images"], model=planted["net"], quick=True, fill="other")
    assert_allclose(planted["maps"].numpy(), maps, atol=0)
    assert_allclose(planted["images"].numpy(), images, atol=0)
