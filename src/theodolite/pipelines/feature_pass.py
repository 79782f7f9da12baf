"""One pass of a network over images, cached in shards. Every image pipeline reads it.

A shard holds a layer's maps, their means over positions and the network's outputs for up to 64
images. Images are known by their digests, so any question about any of them finds them again.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

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

IMAGES_PER_SHARD = 64
BATCH = 16
CACHE_LIMIT = 10 * 2**30
"""Bytes of shards that the cache may hold; above, those not used for longest are removed."""
PARTS = ("outputs", "pooled", "maps", "images")
"""Files of a shard; the digests of its images are written last."""


@dataclass(frozen=True, eq=False)
class FeaturePass:
    """What a network made of images: maps in half precision, their means and outputs."""

    rows: Int[np.ndarray, " images"]
    """Rows of the images in the data set."""
    shards: tuple[Path, ...]
    """Shard files without their ending."""
    shard_of: Int[np.ndarray, " images"]
    """Shard of each image."""
    place_of: Int[np.ndarray, " images"]
    """Place of each image in its shard."""
    forwarded: int = 0
    """Number of images that the network was run on; the others were in the cache."""

    def __iter__(self) -> Iterator[Float[np.ndarray, "images channels height width"]]:
        for first in range(0, len(self.rows), self.step):
            yield self.part(first, min(first + self.step, len(self.rows)))

    @property
    def step(self) -> int:
        """Number of images per shard: an efficient number to read at a time."""
        return IMAGES_PER_SHARD

    def part(self, first: int, last: int) -> Float[np.ndarray, "images channels height width"]:
        """Return the maps of images ``first`` to ``last`` of these."""
        return self._read("maps", slice(first, last)).astype(np.float32)

    def pooled(self) -> Float[np.ndarray, "images channels"]:
        """Return the mean over positions."""
        return self._read("pooled", slice(None))

    def outputs(self) -> Float[np.ndarray, "images outputs"]:
        """Return the network's outputs; no columns unless they are a row per image."""
        return self._read("outputs", slice(None))

    def of(self, rows: Int[np.ndarray, " some"]) -> "FeaturePass":
        """Return the pass over some of its rows."""
        at = np.searchsorted(self.rows, rows)
        return replace(self, rows=rows, shard_of=self.shard_of[at], place_of=self.place_of[at])

    def _read(self, what: str, which: slice) -> np.ndarray:
        shard_of, place_of = self.shard_of[which], self.place_of[which]
        parts = []
        for start, end in _runs_of_equal(shard_of):
            stored = read_npy(_file(self.shards[shard_of[start]], what), mapped=True)
            parts.append(stored[place_of[start:end]])
        return np.concatenate(parts)


@runtime_checkable
class ImageFiles(Protocol):
    """Interface of a data set with images in files."""

    def path(self, row: int) -> Path:
        """Return the file of an image."""

    def image(self, row: int) -> Image.Image:
        """Return the decoded image of a row."""


def run_feature_pass(
    data: ImageFiles,
    rows: Int[np.ndarray, " n"],
    backbone: LoadedModel,
    layer: str | None,
    context: WorkContext,
) -> FeaturePass:
    """Run a network over the images that no shard in the cache holds, once.

    Shards are kept in the cache, by network, layer and preprocessing, where the next run finds
    them; workers on other machines must reach it.

    Args:
        data: The images.
        rows: Rows of the images in rising order.
        backbone: The network, and how it takes images.
        layer: Layer of the maps. Default: the network's last with spatial positions.
        context: The cache folder, workers and progress.
    """
    identity = {
        "network": backbone.digest,
        "layer": layer or backbone.layer,
        "preprocessing": asdict(backbone.preprocessing),
    }
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    folder = context.cache.resolve() / "features" / digest
    images = [sha256_of(data.path(int(row))) for row in rows]
    stored = _find_stored(folder)
    new = np.array([i for i, image in enumerate(images) if image not in stored], int)
    missing = []
    for first in range(0, len(new), IMAGES_PER_SHARD):
        part = new[first : first + IMAGES_PER_SHARD]
        contents = tuple(images[i] for i in part)
        name = hashlib.sha256("".join(contents).encode()).hexdigest()
        missing.append((rows[part], contents, folder / name))
    work = Work(
        what="features",
        do=partial(_run_network, data),
        items=missing,
        digests=[path.name for *_, path in missing],
        about=identity,
        kept=False,  # it is in the cache
        network=True,
        tool=Extracts(backbone, layer or backbone.layer),
    )
    for (*_, path), done in zip(missing, context.workers.each(work), strict=True):
        if done is None:
            raise EvidenceError("features", f"none for {path.name[:12]}…", "those of all images")
    stored = _find_stored(folder) if missing else stored
    shards = tuple(sorted({stored[image][0] for image in images}))
    _limit_cache(folder.parent, shards)
    number = {shard: k for k, shard in enumerate(shards)}
    return FeaturePass(
        rows,
        shards,
        np.array([number[stored[image][0]] for image in images], int),
        np.array([stored[image][1] for image in images], int),
        len(new),
    )


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
        backbone = self._backbone
        return _load, (backbone.name, backbone.weights, backbone.preprocessing, self._layer)


@lru_cache(maxsize=1)
def _load(name: str, weights: Path | None, preprocessing: Preprocessing, layer: str) -> "Extracts":
    return Extracts(load_model(name, weights=weights, preprocessing=preprocessing), layer)


def _run_network(
    data: ImageFiles,
    piece: tuple[np.ndarray, tuple[str, ...], Path],
    tool: tuple[FeatureExtractor, Preprocessing],
) -> dict[str, np.ndarray]:
    """Write the maps, means and outputs of some images into the cache."""
    rows, contents, path = piece
    extract, preprocessing = tool
    parts: dict[str, list[np.ndarray]] = {name: [] for name in PARTS}
    parts["images"].append(np.array([list(bytes.fromhex(image)) for image in contents], np.uint8))
    for at in range(0, len(rows), BATCH):
        batch = [preprocessing(data.image(int(row))) for row in rows[at : at + BATCH]]
        maps, outputs = extract.run(np.stack(batch))
        parts["maps"].append(maps.astype(np.float16))
        parts["pooled"].append(maps.mean(axis=(2, 3)))
        parts["outputs"].append(outputs)
    for name in PARTS:
        write_npy(_file(path, name), np.concatenate(parts[name]))
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


def _file(shard: Path, what: str) -> Path:
    return shard.with_name(f"{shard.name}.{what}.npy")


def _find_stored(folder: Path) -> dict[str, tuple[Path, int]]:
    """Return the shard and place of each image by its digest; damaged shards are left out."""
    stored: dict[str, tuple[Path, int]] = {}
    for file in sorted(folder.glob("*.images.npy")):
        shard = file.with_name(file.name.removesuffix(".images.npy"))
        try:
            arrays = {name: read_npy(_file(shard, name), mapped=True) for name in PARTS}
        except UnsafeInputError:
            continue
        if len({len(array) for array in arrays.values()}) == 1:
            images = [bytes(row).hex() for row in arrays["images"]]
            stored |= {image: (shard, place) for place, image in enumerate(images)}
    return stored


def _limit_cache(features: Path, used: tuple[Path, ...]) -> None:
    """Remove the shards not used for longest while there are too many bytes, but none in use."""
    ends = [_file(shard, "images") for shard in used]
    for file in ends:
        file.touch()
    by_use = sorted(features.glob("*/*.images.npy"), key=lambda file: file.stat().st_mtime)
    shards = [file.with_name(file.name.removesuffix(".images.npy")) for file in by_use]
    files = [[_file(shard, name) for name in reversed(PARTS)] for shard in shards]
    sizes = [sum(file.stat().st_size for file in own if file.exists()) for own in files]
    total = sum(sizes)
    for own, size in zip(files, sizes, strict=True):
        if total <= CACHE_LIMIT:
            return
        if own[0] not in ends:
            total -= size
            for file in own:  # without its digests a shard is not found
                file.unlink(missing_ok=True)


def _runs_of_equal(numbers: Int[np.ndarray, " n"]) -> Iterator[tuple[int, int]]:
    """Yield the first and last place of each run of equal numbers."""
    edges = np.flatnonzero(np.diff(numbers)) + 1
    yield from zip([0, *edges], [*edges, len(numbers)], strict=True)
