"""Networks of timm: weights from a file, names of the original release, faults that are said."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from theodolite.datasets.cub import cub
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.models.features import FeatureExtractor
from theodolite.models.loading import load_model

timm = pytest.importorskip("timm")


def random_weights(name: str, path: Path) -> Path:
    arrays = {k: v.numpy() for k, v in timm.create_model(name).state_dict().items()}
    save_file({k: np.asarray(v, order="C") for k, v in arrays.items()}, path)
    return path


@pytest.mark.parametrize(
    ("name", "side"), [("test_resnet", 5), ("test_vit", 10), ("test_efficientnet", 5)]
)
def test_cnn_and_vit_give_maps(tmp_path: Path, name: str, side: int) -> None:
    weights = random_weights(name, tmp_path / "w.safetensors")
    backbone = load_model(name, weights=weights)
    size = backbone.preprocessing.size
    maps = FeatureExtractor(backbone.network, backbone.layer)(
        np.random.default_rng(0).random((2, 3, *size)).astype(np.float32)
    )
    assert (maps.shape[0], *maps.shape[2:]) == (2, side, side)


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    weights = random_weights("test_vit", tmp_path / "w.safetensors")
    with pytest.raises(UnsafeInputError, match="tensors that do not fit"):
        load_model("test_resnet", weights=weights)


def test_an_unknown_network_is_said_with_some_that_are_known() -> None:
    with pytest.raises(EvidenceError, match="a model of timm, such as"):
        load_model("resnet5000")


def test_without_weights_the_hub_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """No hub can be reached here: that the loader asks for pretrained weights is all we can see."""
    asked = {}

    def create(name: str, *, pretrained: bool) -> None:
        asked.update(name=name, pretrained=pretrained)
        raise InterruptedError

    monkeypatch.setattr(timm, "create_model", create)
    with pytest.raises(InterruptedError):
        load_model("resnet50")
    assert asked == {"name": "resnet50", "pretrained": True}


def test_the_real_network_sees_what_the_stored_features_saw(shared_data: Path) -> None:
    """The stored features come from larger copies of the images, so they agree but roughly."""
    data = cub(shared_data / "cub200" / "CUB_200_2011")
    weights = shared_data / "efficientnet_lite0" / "efficientnet_lite0_fp16.safetensors"
    backbone = load_model("efficientnet_lite0", weights=weights)
    rows = data.at_hand(np.arange(len(data)))[:16]
    batch = np.stack([backbone.preprocessing(data.image(int(r))) for r in rows])
    maps = FeatureExtractor(backbone.network, backbone.layer)(batch)
    assert maps.shape == (16, 1280, 7, 7)
    pooled = maps.mean(axis=(2, 3))
    stored = np.load(shared_data / "cub200" / "efficientnet_lite0_pooled_fp16.npy")[rows].astype(
        float
    )
    alike = (
        (pooled @ stored.T)
        / np.linalg.norm(pooled, axis=1)[:, None]
        / np.linalg.norm(stored, axis=1)
    )
    assert (alike.argmax(axis=1) == np.arange(16)).mean() > 0.8
    assert np.diag(alike).mean() > 0.85


@pytest.mark.parametrize(
    ("name", "size"), [("efficientnet_lite1", 240), ("efficientnet_lite2", 260)]
)
def test_larger_networks_of_the_release_by_their_own_names(
    tmp_path: Path, name: str, size: int
) -> None:
    """Random tensors under the names of the release come to their places in timm's network."""
    network = timm.create_model(f"tf_{name}")
    places = [
        f"blocks.{s}.{i}" for s, stage in enumerate(network.blocks) for i in range(len(stage))
    ]
    outer = {"conv_stem": "_conv_stem", "bn1": "_bn0", "conv_head": "_conv_head", "bn2": "_bn1",
             "classifier": "_fc"}  # fmt: skip
    wide = {"conv_pw": "_expand_conv", "bn1": "_bn0", "conv_dw": "_depthwise_conv", "bn2": "_bn1",
            "conv_pwl": "_project_conv", "bn3": "_bn2"}  # fmt: skip
    narrow = {"conv_dw": "_depthwise_conv", "bn1": "_bn1", "conv_pw": "_project_conv",
              "bn2": "_bn2"}  # fmt: skip
    random, state, released = np.random.default_rng(0), network.state_dict(), {}
    for key, tensor in state.items():
        head, _, rest = key.partition(".")
        if head == "blocks":
            stage, number, kind, rest = rest.split(".", 3)
            place = f"blocks.{stage}.{number}"
            inner = wide if f"{place}.conv_pwl.weight" in state else narrow
            head = f"_blocks.{places.index(place)}.{inner[kind]}"
        else:
            head = outer[head]
        released[f"{head}.{rest}"] = np.asarray(
            random.random(tuple(tensor.shape)), tensor.numpy().dtype
        )
    save_file(released, tmp_path / "released.safetensors")
    backbone = load_model(name, weights=tmp_path / "released.safetensors")
    loaded = backbone.network.state_dict()
    expected = {
        "classifier.weight": "_fc.weight",
        f"{places[-1]}.conv_pwl.weight": f"_blocks.{len(places) - 1}._project_conv.weight",
    }
    for ours, theirs in expected.items():
        assert np.array_equal(loaded[ours].numpy(), released[theirs])
    assert backbone.preprocessing.size == (size, size) and backbone.layer == "bn2"
    with pytest.raises(UnsafeInputError, match="do not fit"):
        load_model("efficientnet_lite0", weights=tmp_path / "released.safetensors")
