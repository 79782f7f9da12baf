"""Classifiers of four libraries in one form: the logits are the library's own."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from safetensors.numpy import save_file

from support.networks.tiny_networks import (
    WORDS,
    a_batch,
    tiny_clip,
    tiny_open_clip,
    tiny_siglip,
    tiny_transformers_resnet,
    tiny_transformers_vit,
)
from theodolite._storage.arrays import write_safetensors
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.models.features import FeatureExtractor
from theodolite.models.image_text.loading import load_towers
from theodolite.models.image_text.zero_shot import build_zero_shot_classifier
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.loading import load_model, load_named_model
from theodolite.models.shelf import (
    Accuracy,
    DataOrigin,
    ModelCard,
    get_shelf,
    write_on_shelf,
)
from theodolite.models.spatial_layers import find_last_spatial_layer

torch = pytest.importorskip("torch")
timm = pytest.importorskip("timm")
torchvision = pytest.importorskip("torchvision")

CLASSES = ("cat", "dog", "big bird")


def logits_of(network: Any, batch: np.ndarray) -> np.ndarray:
    with torch.inference_mode():
        return network(torch.from_numpy(batch)).numpy()


def saved(network: Any, path: Path) -> Path:
    save_file({n: np.asarray(t.numpy(), order="C") for n, t in network.state_dict().items()}, path)
    return path


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits.astype(float) - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def maps_at(classifier: LoadedModel, batch: np.ndarray) -> np.ndarray:
    return FeatureExtractor(classifier.network, classifier.layer, grid=classifier.grid)(batch)


def gradient_at(classifier: LoadedModel, batch: np.ndarray) -> float:
    """How much the first logit depends on what the last layer that counts gives."""
    kept = []
    layer = classifier.network.get_submodule(find_last_spatial_layer(classifier.network))
    hook = layer.register_forward_hook(lambda _, __, given: kept.append(given))
    score = classifier.network(torch.from_numpy(batch))[:, 0].sum()
    hook.remove()
    (result,) = torch.autograd.grad(score, kept[0])
    if result.ndim == 3:
        result = result[:, -4:]  # patches, not the class token
    return float(result.abs().max())


@pytest.mark.parametrize("prefix", ["", "timm:"])
def test_timm(tmp_path: Path, prefix: str) -> None:
    network = timm.create_model("test_vit").eval()
    weights = saved(network, tmp_path / "w.safetensors")
    result = load_model(f"{prefix}test_vit", weights=weights)
    batch = a_batch(2, result.preprocessing.size[0])
    assert_allclose(logits_of(result.network, batch), logits_of(network, batch), atol=1e-5)
    assert (result.classes, result.grid) == ((), (10, 10))
    assert maps_at(result, batch).shape[2:] == (10, 10)
    assert gradient_at(result, batch) > 0


@pytest.mark.parametrize(("name", "side"), [("resnet18", 1), ("mobilenet_v3_small", 1)])
def test_torchvision(tmp_path: Path, name: str, side: int) -> None:
    torch.manual_seed(0)
    network = torchvision.models.get_model(name, weights=None).eval()
    weights = saved(network, tmp_path / "w.safetensors")
    before = torch.random.get_rng_state()
    result = load_model(
        f"torchvision:{name}", weights=weights, classes=[f"class {k}" for k in range(1000)]
    )
    assert (torch.random.get_rng_state() == before).all()
    batch = a_batch(2, 32)
    assert_allclose(logits_of(result.network, batch), logits_of(network, batch), atol=1e-5)
    assert_allclose(
        result.probabilities(batch), softmax(logits_of(network, batch)), atol=1e-6, rtol=1e-5
    )
    assert result.preprocessing.size == (224, 224)
    assert result.classes[7] == "class 7"
    assert maps_at(result, batch).shape[2:] == (side, side)
    assert gradient_at(result, batch) > 0


def test_torchvision_without_weights_asks_for_tensors_only(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def get(self: Any, *_: Any, **options: Any) -> Any:
        asked.update(options)
        return torchvision.models.resnet18(weights=None).state_dict()

    monkeypatch.setattr(torchvision.models.ResNet18_Weights, "get_state_dict", get)
    result = load_model("torchvision:resnet18")
    assert asked == {"progress": False, "check_hash": True, "weights_only": True}
    assert result.classes[:2] == ("tench", "goldfish")


def test_transformers_vit(tmp_path: Path) -> None:
    network = tiny_transformers_vit(tmp_path, CLASSES)
    result = load_model(f"hf:{tmp_path}")
    batch = a_batch(2, 32)
    assert_allclose(logits_of(result.network, batch), network(batch), atol=1e-5)
    assert result.classes == CLASSES
    assert (result.grid, result.preprocessing.size) == ((4, 4), (32, 32))
    assert result.preprocessing.mean == (0.5, 0.5, 0.5)
    assert maps_at(result, batch).shape == (2, 16, 4, 4)
    assert gradient_at(result, batch) > 0


def test_transformers_resnet(tmp_path: Path) -> None:
    network = tiny_transformers_resnet(tmp_path)
    result = load_model("hf:any", weights=tmp_path)
    batch = a_batch(2, 32)
    assert_allclose(logits_of(result.network, batch), network(batch), atol=1e-5)
    assert (result.classes, result.grid) == ((), None)
    assert maps_at(result, batch).shape == (2, 16, 4, 4)
    assert gradient_at(result, batch) > 0


def test_transformers_reads_no_pickles_and_runs_no_code(tmp_path: Path) -> None:
    tiny_transformers_resnet(tmp_path)
    torch.save({}, tmp_path / "pytorch_model.bin")
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(EvidenceError, match="safetensors"):
        load_model(f"hf:{tmp_path}")
    about = json.loads((tmp_path / "config.json").read_text())
    about |= {"model_type": "own", "auto_map": {
        "AutoConfig": "own.Own", "AutoModelForImageClassification": "own.Own"}}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(about))
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(EvidenceError):
        load_model(f"hf:{tmp_path}")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("kind", ["clip", "siglip"])
def test_zero_shot_of_transformers(tmp_path: Path, kind: str) -> None:
    """Its logits are those of the model's own forward on images and prompts."""
    own = (tiny_clip if kind == "clip" else tiny_siglip)(tmp_path)
    result = load_model(f"transformers_clip:{tmp_path}", classes=CLASSES)
    batch = a_batch(3, 32)
    expected = own(batch, [f"a photo of a {name}" for name in CLASSES])
    assert_allclose(logits_of(result.network, batch), expected, atol=1e-5, rtol=1e-5)
    assert np.ptp(expected, axis=1).min() > 1e-3  # the sentences are told apart
    towers = load_towers(f"transformers_clip:{tmp_path}")
    other = build_zero_shot_classifier(towers, CLASSES, "{} big")
    assert_allclose(
        logits_of(other.network, batch), own(batch, [f"{name} big" for name in CLASSES]), atol=1e-5
    )
    assert (result.classes, result.grid) == (CLASSES, (4, 4))
    assert result.preprocessing.mean == (0.25, 0.5, 0.75)
    assert maps_at(result, batch).shape == (3, 16, 4, 4)
    assert gradient_at(result, batch) > 0


@pytest.mark.parametrize("bias", [None, -2.0])
@pytest.mark.parametrize("how", ["name", "weights"])
def test_zero_shot_of_open_clip(tmp_path: Path, bias: float | None, how: str) -> None:
    own = tiny_open_clip(tmp_path, bias)
    name = f"open_clip:tiny@{tmp_path}" if how == "name" else "open_clip:tiny"
    before = torch.random.get_rng_state()
    result = load_model(name, weights=None if how == "name" else tmp_path, classes=CLASSES)
    assert (torch.random.get_rng_state() == before).all()
    batch = a_batch(3, 32)
    expected = own(batch, [f"a photo of a {one}" for one in CLASSES])
    assert_allclose(logits_of(result.network, batch), expected, atol=1e-5, rtol=1e-5)
    assert np.ptp(expected, axis=1).min() > 1e-3
    assert (result.grid, result.preprocessing.size) == ((4, 4), (32, 32))
    assert result.preprocessing.mean == (0.25, 0.5, 0.75)
    assert maps_at(result, batch).shape == (3, 16, 4, 4)
    assert gradient_at(result, batch) > 0


def test_open_clip_takes_no_pickles_and_no_foreign_weights(tmp_path: Path) -> None:
    tiny_open_clip(tmp_path, None)
    (tmp_path / "open_clip_model.safetensors").rename(tmp_path / "open_clip_model.bin")
    with pytest.raises(UnsafeInputError, match=r"0 \.safetensors files"):
        load_model(f"open_clip:tiny@{tmp_path}", classes=CLASSES)
    with pytest.raises(UnsafeInputError, match="program"):
        load_model(f"open_clip:RN50@{tmp_path}/open_clip_model.bin", classes=CLASSES)
    about = json.loads((tmp_path / "open_clip_config.json").read_text())
    save_file({"a": np.zeros(3, np.float32)}, tmp_path / "other.safetensors")
    with pytest.raises(UnsafeInputError, match="tensors that do not fit"):
        load_model(f"open_clip:tiny@{tmp_path}", classes=CLASSES)
    about["model_cfg"]["text_cfg"]["tokenizer_kwargs"] = {"trust_remote_code": True}
    (tmp_path / "open_clip_config.json").write_text(json.dumps(about))
    with pytest.raises(UnsafeInputError, match="a tokenizer with"):
        load_model(f"open_clip:tiny@{tmp_path}", classes=CLASSES)


def test_weights_of_a_tag_are_fetched_by_open_clip_and_read_by_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No hub can be reached here: what the library would have fetched is put in its place."""
    own = tiny_open_clip(tmp_path, None)
    from open_clip import factory, pretrained  # noqa: PLC0415

    about = json.loads((tmp_path / "open_clip_config.json").read_text())
    file = tmp_path / "open_clip_model.safetensors"
    tag = {"hf_hub": "some/where/", "mean": [0.1, 0.2, 0.3], "std": [0.4, 0.5, 0.6]}
    monkeypatch.setitem(factory._MODEL_CONFIGS, "tiny", about["model_cfg"])
    monkeypatch.setitem(pretrained._PRETRAINED, "tiny", {"first": tag})
    monkeypatch.setattr(pretrained, "download_pretrained_from_hf", lambda *_, **__: str(file))
    result = load_model("open_clip:tiny@first", classes=CLASSES)
    batch = a_batch(2, 32)
    expected = own(batch, [f"a photo of a {one}" for one in CLASSES])
    assert_allclose(logits_of(result.network, batch), expected, atol=1e-5, rtol=1e-5)
    assert result.preprocessing.mean == (0.1, 0.2, 0.3)
    file.rename(tmp_path / "w.bin")
    monkeypatch.setattr(
        pretrained, "download_pretrained_from_hf", lambda *_, **__: str(tmp_path / "w.bin")
    )
    with pytest.raises(UnsafeInputError, match="may be a program"):
        load_model("open_clip:tiny@first", classes=CLASSES)


@pytest.mark.parametrize(
    ("name", "classes", "said"),
    [
        ("keras:resnet50", (), "one of timm, torchvision"),
        ("torchvision:resnet5000", (), "a model of torchvision, such as"),
        ("open_clip:ViT-B-3200@x", CLASSES, "a model of it, such as"),
        ("open_clip:ViT-B-32", CLASSES, "a file, a folder or a tag"),
    ],
)
def test_what_is_not_known_is_said(name: str, classes: tuple[str, ...], said: str) -> None:
    with pytest.raises(EvidenceError, match=said):
        load_model(name, classes=classes)


def test_names_must_be_as_many_as_outputs(tmp_path: Path) -> None:
    tiny_transformers_resnet(tmp_path)
    with pytest.raises(EvidenceError, match="4 names; needed 3"):
        load_model(f"hf:{tmp_path}", classes=WORDS[:4])
    tiny_clip(tmp_path / "clip")
    with pytest.raises(EvidenceError, match="the names to choose from"):
        load_model(f"transformers_clip:{tmp_path / 'clip'}")


def test_probabilities_in_parts_leave_all_as_it_was(tmp_path: Path) -> None:
    network = tiny_transformers_resnet(tmp_path)
    result = load_model(f"hf:{tmp_path}")
    result.network.train()  # its norms would take the batch's own mean
    batch = a_batch(70, 32)
    before = batch.copy()
    chances = result.probabilities(batch)
    assert_allclose(chances, softmax(network(batch)), atol=1e-6)
    assert_allclose(chances.sum(axis=1), 1, atol=1e-12)
    assert (batch == before).all() and result.network.training
    with pytest.raises(EvidenceError, match="no images"):
        result.probabilities(batch[:0])


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("resnet18", "layer4"),
        ("vgg11", "features"),
        ("densenet121", "features"),
        ("convnext_tiny", "features"),
        ("vit_b_16", "encoder.layers.encoder_layer_11.ln_1"),
        ("swin_t", "features"),
    ],
)
def test_the_last_layer_with_places(name: str, layer: str) -> None:
    with torch.device("meta"):
        assert find_last_spatial_layer(torchvision.models.get_model(name, weights=None)) == layer


def test_merged_patches_have_no_layer_that_we_name() -> None:
    """A Swin's patches are merged from stage to stage: the grid at the start is not that at the end."""
    transformers = pytest.importorskip("transformers")
    about = transformers.SwinConfig(
        image_size=32, patch_size=4, embed_dim=8, depths=[1, 1], num_heads=[1, 2], window_size=2
    )
    assert find_last_spatial_layer(transformers.SwinForImageClassification(about)) == ""


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("export:net.pt2", "--trust-model"),
        ("python:nets:build", "--trust-model"),
        ("shelf:no_such", "theodolite models train no_such"),
        ("shelf:../../etc", "no card"),
        ("onnx:net.onnx", "size, mean and std, which onnx: does not store"),
        ("timm:", "a name after timm:"),
    ],
)
def test_load_named_model_refusal_is_one_sentence(
    name: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEODOLITE_CACHE", str(tmp_path))
    with pytest.raises(EvidenceError) as refused:
        load_named_model(name)
    assert says in str(refused.value) and "\n" not in str(refused.value)


def test_load_model_export_of_fixed_batch_refused(tmp_path: Path) -> None:
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 2, 3), torch.nn.Flatten())
    program = torch.export.export(network, (torch.zeros(2, 3, 8, 8),))
    torch.export.save(program, tmp_path / "net.pt2")
    with pytest.raises(EvidenceError, match="batches of 2 only"):
        load_model(f"export:{tmp_path / 'net.pt2'}", preprocessing={"size": 8})
    (tmp_path / "broken.pt2").write_bytes(b"PK")
    with pytest.raises(UnsafeInputError, match=r"a file of torch\.export\.save"):
        load_model(f"export:{tmp_path / 'broken.pt2'}", preprocessing={"size": 8})


def test_load_model_onnx_broken_refused(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    (tmp_path / "net.onnx").write_bytes(b"no protobuf")
    with pytest.raises(UnsafeInputError, match="an ONNX file"):
        load_model(f"onnx:{tmp_path / 'net.onnx'}", preprocessing={"size": 8})


def test_load_model_fewer_classes_follow_weights(tmp_path: Path) -> None:
    torch.manual_seed(0)
    own = timm.create_model("test_resnet", num_classes=3).eval()
    (tmp_path / "names.txt").write_text("cat\ndog\n\nowl\n")
    result = load_model(
        "test_resnet",
        weights=saved(own, tmp_path / "w.safetensors"),
        classes=tmp_path / "names.txt",
    )
    batch = a_batch(2, 64)
    assert_allclose(result.forward(batch), logits_of(own, batch), atol=1e-5)
    assert result.classes == ("cat", "dog", "owl") and result.head == "fc"


def test_shelf_changed_weights_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEODOLITE_CACHE", str(tmp_path))
    own = timm.create_model("test_resnet", num_classes=2).eval()
    card = ModelCard(
        name="tiny", architecture="test_resnet", factory="timm", base="", sha256="", bytes=0,
        classes=("cat", "dog"), concepts=(), layer="layer4",
        preprocessing={"size": (64, 64), "mean": (0.5,), "std": (0.5,)},
        data=DataOrigin(name="none", digest="", license="CC0"), split={}, split_digest="",
        recipe={}, recipe_digest="", seed=0, cpu_minutes=0.1, images_per_second=1.0,
        accuracy=Accuracy(value=0.5, low=0.4, high=0.6, n=10), concept_accuracy={}, concept_auc={},
        license="CC0", papers=(),
    )  # fmt: skip
    arrays = {n: np.asarray(t.numpy(), order="C") for n, t in own.state_dict().items()}
    write_on_shelf(get_shelf() / "tiny", card, arrays)
    result = load_model("shelf:tiny")
    batch = a_batch(1, 64)
    assert_allclose(result.forward(batch), logits_of(own, batch), atol=1e-5)
    assert (result.name, result.preprocessing.size) == ("shelf:tiny", (64, 64))
    write_safetensors(
        get_shelf() / "tiny" / "weights.safetensors", arrays | {"fc.bias": arrays["fc.bias"] + 1}
    )
    with pytest.raises(UnsafeInputError, match="digest"):
        load_model("shelf:tiny")
