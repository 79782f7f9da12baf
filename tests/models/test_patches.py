"""Embeddings and patches: the head on top of them is the network, on toys and on real weights."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image

from theodolite._storage.arrays import write_safetensors
from theodolite.datasets.labeled_images import cifar10_zip, cub_images
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.models.features import FeatureExtractor, Preprocessing
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.loading import load_model
from theodolite.models.patches import (
    compute_embeddings,
    compute_patch_boxes,
    compute_patch_embeddings,
    find_head_layer,
    get_head,
)

torch = pytest.importorskip("torch")
nn = torch.nn


def toy(*last: Any) -> LoadedModel:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
            nn.Linear(8, 8), nn.ReLU(), nn.Dropout(0.5), *(last or (nn.Linear(8, 5),)),
        )  # fmt: skip
    return LoadedModel("toy", network, Preprocessing((16, 12)), "0")


def drawn(n: int, rows: int = 20, columns: int = 30) -> list[Image.Image]:
    random = np.random.default_rng(0)
    return [
        Image.fromarray(random.integers(0, 256, (rows, columns, 3), dtype=np.uint8))
        for _ in range(n)
    ]


def answers(backbone: LoadedModel, images: list[Image.Image]) -> np.ndarray:
    batch = torch.from_numpy(np.stack([backbone.preprocessing(p) for p in images]))
    with torch.inference_mode():
        return np.asarray(backbone.network.eval()(batch).numpy())


def through_the_head(backbone: LoadedModel, images: list[Image.Image], batch: int) -> np.ndarray:
    weights, bias = get_head(backbone.network, backbone.preprocessing.size)
    return np.asarray(compute_embeddings(backbone, images, batch=batch) @ weights.T + bias)


@pytest.mark.parametrize("bias", [True, False])
def test_the_head_on_embeddings_is_the_network(bias: bool) -> None:
    backbone, images = toy(nn.Linear(8, 5, bias=bias)), drawn(7)
    result = through_the_head(backbone, images, 3)
    assert_allclose(result, answers(backbone, images), atol=1e-5)


def test_the_network_is_left_as_it_was() -> None:
    backbone = toy()
    backbone.network.train()
    compute_embeddings(backbone, drawn(2))
    get_head(backbone.network)
    assert backbone.network.training
    with pytest.raises(EvidenceError, match="images: got none"):
        compute_embeddings(backbone, [])
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in backbone.network.modules())


class TwoHeads(nn.Module):  # type: ignore[misc,name-defined]
    """The second head is used last, and is not the answer."""

    def __init__(self, given: str) -> None:
        super().__init__()
        self.one, self.two, self.given = nn.Linear(3, 4), nn.Linear(3, 4), given

    def forward(self, x: Any) -> Any:
        pooled = x.mean(dim=(2, 3))
        one, two = self.one(pooled), self.two(pooled)
        return {"one": one, "mean": (one + two) / 2, "both": (one, two)}[self.given]


def test_the_layer_that_answers_is_found() -> None:
    assert find_head_layer(toy().network) == "7"
    assert find_head_layer(TwoHeads("one")) == "one"


class Again(TwoHeads):
    def forward(self, x: Any) -> Any:
        self.one(x.mean(dim=(2, 3)))
        return self.one(x.amax(dim=(2, 3)))


class Tokens(TwoHeads):
    def forward(self, x: Any) -> Any:
        return self.one(x.flatten(2).transpose(1, 2))


@pytest.mark.parametrize(
    "network",
    [toy(nn.Linear(8, 5), last).network for last in (nn.Softmax(1), nn.ReLU(inplace=True))]
    + [toy(nn.Unflatten(1, (8, 1, 1)), nn.Conv2d(8, 5, 1), nn.Flatten()).network]
    + [TwoHeads("mean"), TwoHeads("both"), Again("one"), Tokens("one")],
)
def test_a_network_that_does_not_end_in_a_linear_layer_is_refused(network: Any) -> None:
    with pytest.raises(EvidenceError, match="whose output is the network's"):
        get_head(network, (8, 8))


@pytest.mark.parametrize(
    ("rows", "columns", "share", "per_side"),
    [(32, 32, 5 / 13, 3), (17, 200, 1 / 3, 3), (256, 191, 0.3, 4), (5, 3, 0.5, 2), (1, 1, 0.5, 2),
     (9, 9, 1.0, 1), (100, 50, 0.01, 100)],
)  # fmt: skip
def test_patches_cover_the_image_and_lie_inside(
    rows: int, columns: int, share: float, per_side: int
) -> None:
    boxes = compute_patch_boxes(rows, columns, share, per_side)
    assert boxes.shape == (per_side**2, 4)
    covered = np.zeros((rows, columns), bool)
    for top, left, bottom, right in boxes:
        assert 0 <= top < bottom <= rows and 0 <= left < right <= columns
        assert abs(bottom - top - share * rows) <= 1 and abs(right - left - share * columns) <= 1
        covered[top:bottom, left:right] = True
    assert covered.all()


def test_neighbors_overlap_by_a_fifth() -> None:
    first, second = compute_patch_boxes(260, 260, 5 / 13, 3)[:2]
    assert (first[3] - second[1]) / (first[3] - first[1]) == pytest.approx(0.2)


def test_a_patch_is_embedded_as_a_image() -> None:
    backbone, images = toy(), [*drawn(1), *drawn(1, 40, 26)]
    result = compute_patch_embeddings(backbone, iter(images), batch=4)
    assert result.embeddings.shape == (18, 8)
    assert result.image.tolist() == [0] * 9 + [1] * 9
    crops = [
        Image.fromarray(np.asarray(images[number])[top:bottom, left:right])
        for number, (top, left, bottom, right) in zip(result.image, result.boxes, strict=True)
    ]
    assert_allclose(result.embeddings, compute_embeddings(backbone, crops), atol=1e-5)
    assert np.array_equal(result.boxes[9:], compute_patch_boxes(40, 26, 5 / 13, 3))


@pytest.mark.parametrize(("share", "per_side"), [(0.3, 3), (1.1, 2), (0.5, 0), (np.nan, 3)])
def test_patches_with_gaps_are_refused(share: float, per_side: int) -> None:
    with pytest.raises(EvidenceError, match="as cover the image"):
        compute_patch_embeddings(toy(), drawn(1), share=share, per_side=per_side)


def test_cifar_networks_need_weights_that_fit(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match=r"none for 'cifar_resnet20'; needed a .safetensors"):
        load_model("cifar_resnet20")
    from theodolite.models.cifar_resnet import CifarResNet  # noqa: PLC0415

    arrays = {n: t.numpy().copy() for n, t in CifarResNet(3).state_dict().items()}
    write_safetensors(tmp_path / "w.safetensors", arrays)
    network = load_model("cifar_resnet20", weights=tmp_path / "w.safetensors").network
    assert sum(p.numel() for p in network.parameters()) == 269_722  # 0.27 M in the paper
    with pytest.raises(UnsafeInputError, match="tensors that do not fit"):
        load_model("cifar_resnet56", weights=tmp_path / "w.safetensors")


@pytest.mark.parametrize(("depth", "step"), [(20, 10), (56, 40)])
def test_the_real_networks_on_cifar(shared_data: Path, depth: int, step: int) -> None:
    """On the originals they reach 0.92 and 0.94; these images were saved as JPEG."""
    folder = shared_data / "cifar10_resnet20"
    backbone = load_model(
        f"cifar_resnet{depth}", weights=folder / f"resnet{depth}_cifar10.safetensors"
    )
    data = cifar10_zip(folder / "cifar10_test_4000_jpeg.zip")
    rows = range(0, 4000, step)
    images = [data.image(row) for row in rows]
    result = through_the_head(backbone, images, 128)
    assert_allclose(result[:40], answers(backbone, images[:40]), atol=1e-4)
    right = (result.argmax(axis=1) == data.labels[rows]).mean()
    assert 0.7 < right < 0.9
    maps = FeatureExtractor(backbone.network, backbone.layer)(
        np.stack([backbone.preprocessing(p) for p in images[:4]])
    )
    assert maps.shape == (4, 64, 8, 8)
    assert_allclose(maps.mean(axis=(2, 3)), compute_embeddings(backbone, images[:4]), atol=1e-5)


def test_the_real_efficientnet(shared_data: Path) -> None:
    weights = shared_data / "efficientnet_lite0" / "efficientnet_lite0_fp16.safetensors"
    backbone = load_model("efficientnet_lite0", weights=weights)
    data = cub_images(shared_data / "cub200" / "CUB_200_2011")
    images = [data.image(int(row)) for row in np.flatnonzero(data.at_hand)[:4]]
    result = through_the_head(backbone, images, 3)
    assert result.shape == (4, 1000)
    assert_allclose(result, answers(backbone, images), atol=1e-4)
