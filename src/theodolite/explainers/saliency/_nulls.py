"""Maps that know nothing of the network: what any method has to beat."""

import zlib

import numpy as np

from theodolite.explainers.saliency._work import ExplanationRequest, Maps


def random(request: ExplanationRequest) -> Maps:
    """Uniform noise, of the image and the seed: another image has other noise."""
    rows, columns = request.images.shape[2:]
    maps = [
        np.random.default_rng([request.seed, zlib.crc32(image.cpu().numpy().tobytes())]).random(
            (rows, columns), dtype=np.float32
        )
        for image in request.images
    ]
    return np.stack(maps)


def smooth_random(request: ExplanationRequest) -> Maps:
    """Broad random hills: noise that filling in from the neighbors does not undo."""
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
    """A bell in the middle: where photographers put things."""
    rows, columns = request.images.shape[2:]
    down, across = ((np.arange(size) + 0.5) / size - 0.5 for size in (rows, columns))
    width = request.options["width"]
    bell = np.exp(-(down[:, None] ** 2 + across**2) / (2 * width**2))
    return np.repeat(bell[None].astype(np.float32), len(request.images), axis=0)
