"""Feature maps of images, computed once and kept."""

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
from theodolite.models.backbones import Backbone, load_backbone
from theodolite.models.features import FeatureExtractor, Preprocessing

if TYPE_CHECKING:
    import torch

SHARD = 64
BATCH = 16


@dataclass(frozen=True, eq=False)
class FeatureMaps:
    """The maps of some images, in shards on disk, half precision."""

    rows: Int[np.ndarray, " images"]
    shards: tuple[Path, ...]

    def __iter__(self) -> Iterator[Float[np.ndarray, "images channels height width"]]:
        for shard in self.shards:
            yield read_npy(shard, mapped=True).astype(np.float32)

    @property
    def step(self) -> int:
        """How many images lie in one shard: a good number to read at a time."""
        return SHARD

    def part(self, first: int, last: int) -> Float[np.ndarray, "images channels height width"]:
        """The maps of some images in a row."""
        parts = []
        for number in range(first // SHARD, (last - 1) // SHARD + 1):
            shard = read_npy(self.shards[number], mapped=True)
            parts.append(shard[max(first - number * SHARD, 0) : last - number * SHARD])
        return np.concatenate(parts).astype(np.float32)

    def pooled(self) -> Float[np.ndarray, "images channels"]:
        """The mean over places."""
        return np.concatenate([maps.mean(axis=(2, 3)) for maps in self])


@runtime_checkable
class ImageFiles(Protocol):
    """Images in files, by row."""

    def path(self, row: int) -> Path:
        """The file."""

    def image(self, row: int) -> Image.Image:
        """The image, decoded."""


def feature_maps(
    data: ImageFiles,
    rows: Int[np.ndarray, " n"],
    backbone: Backbone,
    layer: str | None,
    context: WorkContext,
) -> FeatureMaps:
    """Maps of the images. A shard is named by the network, its layer and what it looked at.

    They are kept in the cache, where the next run finds them; workers on other machines must reach
    it.
    """
    identity = {
        "network": network_digest(backbone.name, backbone.network),
        "layer": layer or backbone.layer,
        "preprocessing": asdict(backbone.preprocessing),
    }
    parts = [rows[start : start + SHARD] for start in range(0, len(rows), SHARD)]
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
    """A network with its layer. Where it is sent to, it is loaded from its file, once."""

    def __init__(self, backbone: Backbone, layer: str) -> None:
        self._backbone, self._layer = backbone, layer

    def __call__(self) -> tuple[FeatureExtractor, Preprocessing]:
        import torch  # noqa: PLC0415  only where a network is run

        network = self._backbone.network
        if torch.cuda.is_available():
            network = network.to("cuda")
        return FeatureExtractor(network, self._layer), self._backbone.preprocessing

    def __reduce__(self) -> tuple[Any, ...]:
        return _load, (self._backbone.name, self._backbone.weights, self._layer)


@lru_cache(maxsize=1)
def _load(name: str, weights: Path | None, layer: str) -> Extracts:
    return Extracts(load_backbone(name, weights), layer)


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


def checked_pooled(features: np.ndarray, n: int, name: str) -> Float[np.ndarray, "n channels"]:
    """Pooled features from a file: a row of finite numbers for each image."""
    if features.ndim != 2 or len(features) != n or features.dtype.kind != "f":
        raise EvidenceError(
            f"features {name!r}", f"{features.dtype} {features.shape}", f"numbers, {n} rows"
        )
    if not np.isfinite(features).all():
        raise EvidenceError(f"features {name!r}", "NaN or infinite values", "finite numbers")
    return np.asarray(features, np.float32)


def weights_digest(weights: Path | None) -> dict[str, str]:
    """The digests of a network's weights, by file; none where they come from a hub."""
    if weights is None:
        return {}
    files = sorted(p for p in weights.rglob("*") if p.is_file()) if weights.is_dir() else [weights]
    return {path.name: sha256_of(path) for path in files if not path.name.startswith(".")}


def _usable(path: Path) -> bool:
    """A shard that is there but broken (a full disk, a copy cut off) is made again."""
    try:
        return path.is_file() and read_npy(path, mapped=True).ndim == 4
    except UnsafeInputError:
        return False


def network_digest(description: str, network: "torch.nn.Module") -> str:
    """A digest of what is said of a network and of all its weights, wherever they came from."""
    digest = hashlib.sha256(description.encode())
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(name.encode() + tensor.cpu().numpy().tobytes())
    return digest.hexdigest()
