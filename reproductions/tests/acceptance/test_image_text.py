"""Vectors of sentences and images: the library's own, alone as among others, named for what they are."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image

from support.networks.tiny_networks import tiny_clip, tiny_open_clip, tiny_siglip
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.models.features import Preprocessing
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.loading import load_model
from theodolite_reproductions.acceptance.image_text import ImageTextEmbedding, load_embedding
from theodolite_reproductions.acceptance.sentence_embedding import MiniLM, load_minilm

torch = pytest.importorskip("torch")

SENTENCES = ("a photo of a cat", "a dog", "a big red bird of a church")


def a_image(seed: int) -> Image.Image:
    numbers = np.random.default_rng(seed).integers(0, 256, (40, 30, 3), np.uint8)
    return Image.fromarray(numbers)


@pytest.fixture(scope="module")
def minilm(shared_data: Path) -> MiniLM:
    pytest.importorskip("onnxruntime", reason="no onnxruntime: pip install 'theodolite[embed]'")
    return load_minilm(shared_data / "minilm_int8")


@pytest.fixture(scope="module")
def classifier(shared_data: Path) -> LoadedModel:
    folder = shared_data / "efficientnet_lite0"
    names = json.loads((folder / "imagenet1k_class_names.json").read_text())
    return load_model(
        "efficientnet_lite0", weights=folder / "efficientnet_lite0_fp16.safetensors", classes=names
    )


# ---- sentences


def many_sentences(n: int) -> list[str]:
    random = np.random.default_rng(0)
    words = (
        "the",
        "a",
        "cat",
        "dog",
        "church",
        "sky",
        "runs",
        "falls",
        "red",
        "old",
        "arch",
        "on",
        "under",
        "market",
        "explains",
        "why",
    )
    return [" ".join(random.choice(words, random.integers(1, 30))) for _ in range(n)]


def test_sentences_of_like_meaning_are_near(minilm: MiniLM) -> None:
    near = minilm.texts(["A cat sits on the mat.", "A kitten is sitting on a rug."])
    far = minilm.texts(["The stock market fell sharply on Monday."])
    assert near.shape == (2, minilm.dimensions) == (2, 384)
    assert near[0] @ near[1] > 0.6 > 0.2 > near[0] @ far[0]
    assert_allclose(np.linalg.norm(near, axis=1), 1, atol=1e-6)
    assert isinstance(minilm, ImageTextEmbedding) and minilm.normalized


def test_a_sentence_alone_and_among_others(minilm: MiniLM) -> None:
    """Padding or company would change it if activations were rounded over the whole batch."""
    sentences = many_sentences(70)
    together = minilm.texts(sentences)
    alone = np.concatenate([minilm.texts([one]) for one in sentences])
    assert_allclose(together, alone, atol=1e-5)
    assert_allclose(minilm.texts(sentences[::-1])[::-1], together, atol=1e-5)
    assert (minilm.texts(sentences) == together).all()
    assert minilm.texts([]).shape == (0, 384)


def test_what_comes_after_256_tokens_is_not_read(minilm: MiniLM) -> None:
    long = "cat " * 254  # and a start and an end
    first, second = minilm.texts([long, long + "market falls " * 50])
    assert_allclose(first, second, atol=1e-6)
    assert np.abs(minilm.texts(["cat " * 253 + "market"])[0] - first).max() > 1e-4


def test_it_has_never_seen_a_image(minilm: MiniLM) -> None:
    with pytest.raises(EvidenceError, match=r"text only.*'stand_in'"):
        minilm.images([a_image(0)])


def test_other_files_are_refused(tmp_path: Path, shared_data: Path) -> None:
    pytest.importorskip("onnxruntime")
    with pytest.raises(UnsafeInputError, match=r"0 \.onnx files"):
        load_minilm(tmp_path)
    good = (shared_data / "minilm_int8" / "tokenizer.json").read_text()
    network = tmp_path / "n.onnx"
    network.write_bytes(b"no network")
    with pytest.raises(UnsafeInputError, match="tokenizer"):
        load_minilm(tmp_path)
    (tmp_path / "tokenizer.json").write_text(good)
    with pytest.raises(UnsafeInputError, match="does not load"):
        load_minilm(tmp_path)
    network.write_bytes(b"x\x0a\x08location\x12\x0b/etc/passwd")
    with pytest.raises(UnsafeInputError, match="numbers in other files"):
        load_minilm(tmp_path)
    real = next((shared_data / "minilm_int8").glob("*.onnx"))
    network.write_bytes(real.read_bytes())
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UnsafeInputError, match="broken"):
        load_minilm(tmp_path)


# ---- the stand-in


def test_the_stand_in_is_probabilities_times_names(minilm: MiniLM, shared_data: Path) -> None:
    folder = shared_data / "minilm_int8"
    few = planted_classifier(("cat", "church", "dog"))
    result = load_embedding("stand_in", weights=folder, classifier=few)
    images = [a_image(k) for k in range(3)]
    batch = np.stack([few.preprocessing(one) for one in images])
    expected = few.probabilities(batch) @ minilm.texts(few.classes)
    assert_allclose(result.images(images), expected, atol=1e-6)
    assert_allclose(result.texts(SENTENCES), minilm.texts(SENTENCES), atol=1e-6)
    assert "OFFLINE STAND-IN" in result.says
    assert (result.normalized, result.dimensions, result.name) == (False, 384, "stand_in")
    assert isinstance(result, ImageTextEmbedding)


def test_the_stand_in_knows_a_cat_from_a_dog(classifier: LoadedModel, shared_data: Path) -> None:
    result = load_embedding("stand_in", weights=shared_data / "minilm_int8", classifier=classifier)
    words = result.texts(["a photo of a cat", "a photo of a dog"])
    files = sorted((shared_data / "oxford_pets").rglob("*.jpg"))
    cats = [f for f in files if f.name.startswith(("Siamese", "Persian", "Egyptian"))][:8]
    dogs = [f for f in files if f.name.startswith(("beagle", "pug", "samoyed"))][:8]
    assert len(cats) == len(dogs) == 8
    vectors = result.images([Image.open(f).convert("RGB") for f in (*cats, *dogs)])
    right = (vectors @ words.T).argmax(axis=1) == np.repeat([0, 1], 8)
    assert right.mean() >= 0.9


def planted_classifier(classes: tuple[str, ...]) -> LoadedModel:
    """Logits are the mean colors of an image."""

    class Colors(torch.nn.Module):
        def forward(self, batch: Any) -> Any:
            return batch.mean(dim=(2, 3))

    return LoadedModel("colors", Colors(), Preprocessing((32, 32)), "", classes)


# ---- CLIP and SigLIP


@pytest.mark.parametrize("kind", ["clip", "siglip", "open_clip", "open_clip_siglip"])
def test_two_towers_give_the_models_own_logits(tmp_path: Path, kind: str) -> None:
    """Scaled cosines of the vectors are what the model's own forward gives."""
    if kind.startswith("open_clip"):
        own = tiny_open_clip(tmp_path, -2.0 if kind.endswith("siglip") else None)
        name = f"open_clip:tiny@{tmp_path}"
    else:
        own = (tiny_clip if kind == "clip" else tiny_siglip)(tmp_path)
        name = f"transformers_clip:{tmp_path}"
    result = load_embedding(name)
    siglip = kind.endswith("siglip")
    assert ("SigLIP" in result.says, result.normalized) == (siglip, not siglip)
    images = [a_image(k) for k in range(35)]
    seen, said = result.images(images), result.texts(SENTENCES)
    assert seen.shape[1] == said.shape[1] == result.dimensions
    lengths = np.linalg.norm(seen, axis=1)
    assert np.allclose(lengths, 1, atol=1e-6) == (not siglip)
    prepare = Preprocessing((32, 32), (0.25, 0.5, 0.75), (0.5, 0.25, 0.5))
    batch = np.stack([prepare(one) for one in images])
    expected = own(batch, SENTENCES)
    unit = load_embedding(name, normalized=True)
    cosines = unit.images(images) @ unit.texts(SENTENCES).T
    scale, bias = result.towers.scale, result.towers.bias  # type: ignore[attr-defined]
    assert_allclose(scale * cosines + bias, expected, atol=1e-4, rtol=1e-5)
    assert_allclose(seen / lengths[:, None], unit.images(images), atol=1e-6)
    assert unit.texts([]).shape == (0, result.dimensions)


# ---- faults


def test_faults_are_said(shared_data: Path) -> None:
    with pytest.raises(EvidenceError, match="minilm, stand_in, or a model of"):
        load_embedding("word2vec")
    with pytest.raises(EvidenceError, match="the folder of all-MiniLM"):
        load_embedding("minilm")
    with pytest.raises(EvidenceError, match="names its classes"):
        load_embedding(
            "stand_in", weights=shared_data / "minilm_int8", classifier=planted_classifier(())
        )
