"""Baseline maps that do not use the network: random, smooth random and center."""

import zlib

import numpy as np

from theodolite.explainers.saliency._work import ExplanationRequest, Maps


def random(request: ExplanationRequest) -> Maps:
    """Return uniform noise that depends on the image and the seed."""
    rows, columns = request.images.shape[2:]
    maps = [
        np.random.default_rng([request.seed, zlib.crc32(image.cpu().numpy().tobytes())]).random(
            (rows, columns), dtype=np.float32
        )
        for image in request.images
    ]
    return np.stack(maps)


def smooth_random(request: ExplanationRequest) -> Maps:
    """Return smooth random hills, which imputation does not undo."""
    from PIL import Image  # noqa: PLC0415

    rows, columns = request.images.shape[2:]
    cells = request.options["cells"]
    maps = []
    for image in request.images:
        own = np.random.default_rng([request.seed, 1, zlib.crc32(image.cpu().numpy().tobytes())])
        coarse = Image.fromarray(own.random((cells, cells), dtype=np.float32))
        maps.append(np.asarray(coarse.resize((columns, rows), Image.Resampling.BILINEAR)))
    return np.stack(maps).astype(np.float32)


def center(request: ExplanationRequest) -> Maps:
    """Return a Gaussian bell at the image center."""
    rows, columns = request.images.shape[2:]
    down, across = ((np.arange(size) + 0.5) / size - 0.5 for size in (rows, columns))
    width = request.options["width"]
    bell = np.exp(-(down[:, None] ** 2 + across**2) / (2 * width**2))
    return np.repeat(bell[None].astype(np.float32), len(request.images), axis=0)
