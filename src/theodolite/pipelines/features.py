"""Compute feature maps of images once, and cache them in shards. Used by most image pipelines."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from PIL import Image

from theodolite._storage.arrays import read_npy, write_npy
from theodolite._storage.paths import sha256_of
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.pipeline_output import WorkContext
from theodolite.evidence.workers import Work
from theodolite.models.features import FeatureExtractor, Preprocessing
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.loading import load_model

if TYPE_CHECKING:
    pass

IMAGES_PER_SHARD = 64
BATCH = 16


@dataclass(frozen=True, eq=False)
class FeatureMaps:
    """Cached maps of images in half precision, stored in shards."""

    rows: Int[np.ndarray, " images"]
    shards: tuple[Path, ...]

    def __iter__(self) -> Iterator[Float[np.ndarray, "images channels height width"]]:
        for shard in self.shards:
            yield read_npy(shard, mapped=True).astype(np.float32)

    @property
    def step(self) -> int:
        """Number of images per shard: an efficient number to read at a time."""
        return IMAGES_PER_SHARD

    def part(self, first: int, last: int) -> Float[np.ndarray, "images channels height width"]:
        """Return the maps of consecutive images."""
        parts = []
        for number in range(first // IMAGES_PER_SHARD, (last - 1) // IMAGES_PER_SHARD + 1):
            shard = read_npy(self.shards[number], mapped=True)
            parts.append(
                shard[max(first - number * IMAGES_PER_SHARD, 0) : last - number * IMAGES_PER_SHARD]
            )
        return np.concatenate(parts).astype(np.float32)

    def pooled(self) -> Float[np.ndarray, "images channels"]:
        """Return the mean over positions."""
        return np.concatenate([maps.mean(axis=(2, 3)) for maps in self])


@runtime_checkable
class ImageFiles(Protocol):
    """Interface of a data set with images in files."""

    def path(self, row: int) -> Path:
        """Return the file of an image."""

    def image(self, row: int) -> Image.Image:
        """Return the decoded image of a row."""


def compute_feature_maps(
    data: ImageFiles,
    rows: Int[np.ndarray, " n"],
    backbone: LoadedModel,
    layer: str | None,
    context: WorkContext,
) -> FeatureMaps:
    """Compute maps of images; shards are named by network, layer and images.

    They are kept in the cache, where the next run finds them; workers on other machines must reach
    it.
    """
    identity = {
        "network": backbone.digest,
        "layer": layer or backbone.layer,
        "preprocessing": asdict(backbone.preprocessing),
    }
    parts = [
        rows[start : start + IMAGES_PER_SHARD] for start in range(0, len(rows), IMAGES_PER_SHARD)
    ]
    shards, missing = [], []
    for part in parts:
        images = [sha256_of(data.path(int(row))) for row in part]
        key = hashlib.sha256(json.dumps([identity, images], sort_keys=True).encode()).hexdigest()
        shards.append(context.cache.resolve() / "features" / f"{key}.npy")
        if not _usable(shards[-1]):
            missing.append((part, shards[-1]))
    work = Work(
        what="features",
        do=partial(_capture, data),
        items=missing,
        digests=[path.stem for _, path in missing],
        about=identity,
        kept=False,  # it is in the cache
        network=True,
        tool=Extracts(backbone, layer or backbone.layer),
    )
    for (_, path), done in zip(missing, context.workers.each(work), strict=True):
        if done is None or not _usable(path):
            raise EvidenceError("features", f"none for {path.stem[:12]}…", "those of all images")
    return FeatureMaps(rows, tuple(shards))


class Extracts:
    """A network with its layer; loaded from its file once per process."""

    def __init__(self, backbone: LoadedModel, layer: str) -> None:
        self._backbone, self._layer = backbone, layer

    def __call__(self) -> tuple[FeatureExtractor, Preprocessing]:
        import torch  # noqa: PLC0415  only where a network is run

        network = self._backbone.network
        if torch.cuda.is_available():
            network = network.to("cuda")
        return FeatureExtractor(network, self._layer), self._backbone.preprocessing

    def __reduce__(self) -> tuple[Any, ...]:
        model = self._backbone
        return _load, (model.name, model.weights, self._layer, model.preprocessing)


@lru_cache(maxsize=1)
def _load(name: str, weights: Path | None, layer: str, preprocessing: Preprocessing) -> Extracts:
    return Extracts(load_model(name, weights=weights, preprocessing=preprocessing), layer)


def _capture(
    data: ImageFiles, piece: tuple[np.ndarray, Path], tool: tuple[FeatureExtractor, Preprocessing]
) -> dict[str, np.ndarray]:
    """Write the maps of some images into the cache."""
    rows, path = piece
    extract, preprocessing = tool
    maps = []
    for at in range(0, len(rows), BATCH):
        batch = [preprocessing(data.image(int(row))) for row in rows[at : at + BATCH]]
        maps.append(extract(np.stack(batch)).astype(np.float16))
    write_npy(path, np.concatenate(maps))
    return {"images": np.array(len(rows))}


def check_pooled(features: np.ndarray, n: int, name: str) -> Float[np.ndarray, "n channels"]:
    """Return pooled features from a file: a row of finite numbers for each image."""
    if features.ndim != 2 or len(features) != n or features.dtype.kind != "f":
        raise EvidenceError(
            f"features {name!r}", f"{features.dtype} {features.shape}", f"numbers, {n} rows"
        )
    if not np.isfinite(features).all():
        raise EvidenceError(f"features {name!r}", "NaN or infinite values", "finite numbers")
    return np.asarray(features, np.float32)


def compute_weights_digest(weights: Path | None) -> dict[str, str]:
    """Return the digests of weight files; empty if weights come from a hub."""
    if weights is None:
        return {}
    files = sorted(p for p in weights.rglob("*") if p.is_file()) if weights.is_dir() else [weights]
    return {path.name: sha256_of(path) for path in files if not path.name.startswith(".")}


def _usable(path: Path) -> bool:
    """Return whether a shard exists and is intact; damaged ones are computed again."""
    try:
        return path.is_file() and read_npy(path, mapped=True).ndim == 4
    except UnsafeInputError:
        return False
