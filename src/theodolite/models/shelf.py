"""The model shelf: folders of trained networks with a card, which ``shelf:NAME`` loads."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from theodolite._storage.arrays import write_safetensors
from theodolite._storage.cache_folder import get_default_cache
from theodolite._storage.paths import sha256_of
from theodolite._storage.text import read_json, write_json
from theodolite.errors import EvidenceError, UnsafeInputError

CARD, WEIGHTS = "card.json", "weights.safetensors"


class Accuracy(BaseModel):
    """Accuracy on test images with its 95 % interval (Wilson)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: float
    low: float
    high: float
    n: int


class ModelCard(BaseModel):
    """What is known of a network on the shelf, as its ``card.json`` says it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    architecture: str
    """Architecture as `load_model` takes it, such as efficientnet_lite0."""
    sha256: str
    """Digest of the weights."""
    classes: tuple[str, ...]
    preprocessing: dict[str, tuple[float, ...]]
    """Size, mean and std."""
    layer: str
    data: dict[str, str]
    """Digest of each table of the data set, by name."""
    split: dict[str, int]
    """Number of images in each part of the data set."""
    recipe: dict[str, Any]
    """Settings of the training."""
    seed: int
    cpu_minutes: float
    accuracy: Accuracy


def get_shelf() -> Path:
    """Return the folder that holds the networks trained on this machine."""
    return get_default_cache() / "shelf"


def find_on_shelf(name: str) -> Path:
    """Return the folder of a network: by its name on the shelf, or the path of a folder."""
    folder = Path(name) if Path(name, CARD).is_file() else get_shelf() / name
    if (Path(name).name != name and folder != Path(name)) or not (folder / CARD).is_file():
        known = [card.name for card in list_shelf()]
        raise EvidenceError(
            f"model 'shelf:{name}'", "no card", f"one of {', '.join(known)}" if known else "a card",
            f"Train it: theodolite models train {Path(name).name} --data DATA.",
        )  # fmt: skip
    return folder


def list_shelf() -> list[ModelCard]:
    """Return the cards of all networks on the shelf."""
    return [read_card(path.parent) for path in sorted(get_shelf().glob(f"*/{CARD}"))]


def read_card(folder: Path) -> ModelCard:
    """Return the card in a folder."""
    try:
        return ModelCard.model_validate(read_json(folder / CARD, "model card"))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise UnsafeInputError(f"model card of {folder.name!r}", f"{field}: {first['msg']}",
                               "the fields of a card") from error  # fmt: skip


def check_weights(folder: Path, card: ModelCard) -> Path:
    """Return the file of the weights, whose digest must be the card's."""
    digest = sha256_of(folder / WEIGHTS)
    if digest != card.sha256:
        raise UnsafeInputError(
            f"weights of {folder.name!r}", f"digest {digest[:12]}…", f"{card.sha256[:12]}…"
        )
    return folder / WEIGHTS


def write_on_shelf(folder: Path, card: ModelCard, arrays: Mapping[str, np.ndarray]) -> ModelCard:
    """Write weights and card into a folder; return the card with the digest of the weights."""
    write_safetensors(folder / WEIGHTS, arrays)
    card = card.model_copy(update={"sha256": sha256_of(folder / WEIGHTS)})
    write_json(folder / CARD, card.model_dump())
    return card
