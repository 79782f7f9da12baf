# mypy: disable-error-code="import-not-found"
"""Removing pixels step by step: as it is printed, and once for all thresholds in full batches.

    python benchmarks/removal.py [--images 1] [--batch 4] [--ways road black uniform gaussian]

Three things are compared, each in this one run and with the same network, images and noise:

1. How many images go through the network: thresholds done one by one, as printed, or shared.
2. Seconds for sufficiency and necessity at the thresholds 5, 10, …, 50. As printed: every threshold
   anew, one image at a time through the network, pixels filled in by a sparse factorisation.
   Ours: each step once, full batches, the kernel. What each of the three gives alone is printed
   too, for on a processor the batches alone give the least.
3. Filling in: the kernel against the sparse factorisation (with the ordering and the symmetric
   mode that suit it), and against scipy's spsolve as ROAD's own code calls it.

The network is EfficientNet-lite0 at 224 by 224 if THEODOLITE_DATA holds its weights, else a small
CNN of random weights. Times are of the processor, in one thread: others on the same machine
disturb them less than the clock on the wall. The ratios are printed last.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.ndimage import gaussian_filter

from theodolite.explainers.probing.imputation import impute_pixels
from theodolite.explainers.probing.pixel_removal import (
    Removal,
    RemovalCurves,
    compute_removal_curves,
)
from theodolite.models.loading import load_model

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.exact_imputation import impute_pixels_exactly
from support.printed_removal import PrintedScores, as_printed

PRINTED, WIDE = tuple(range(5, 51, 5)), (5, 10, 20, 50, 100)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the processor, and what was found."""
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def network() -> tuple[str, Callable[[np.ndarray], np.ndarray]]:
    """Prepared images to probabilities, without gradients."""
    folder = Path(os.environ.get("THEODOLITE_DATA", "")) / "efficientnet_lite0"
    weights = folder / "efficientnet_lite0_fp16.safetensors"
    if "THEODOLITE_DATA" in os.environ and weights.is_file():
        name, module = (
            "EfficientNet-lite0",
            load_model("efficientnet_lite0", weights=weights).network,
        )
    else:
        torch.manual_seed(0)
        sizes = ((3, 16), (16, 32), (32, 64))
        layers = [torch.nn.Conv2d(i, o, 3, 2, 1) for i, o in sizes]
        body = [part for layer in layers for part in (layer, torch.nn.ReLU())]
        pool = [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 10)]
        name, module = "a small CNN", torch.nn.Sequential(*body, *pool).eval()

    def probabilities(images: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            given = torch.from_numpy(images).contiguous(memory_format=torch.channels_last)
            return np.asarray(module(given).softmax(dim=1).numpy())

    return name, probabilities


def values(curves: RemovalCurves, thresholds: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Sufficiency and necessity at each threshold: means over the beginning of each curve."""
    out = []
    for left in (curves.least_first, curves.most_first):
        moved = np.abs(curves.clean[:, None, None] - left)
        means = [moved[..., curves.percents < t].mean(axis=-1) for t in thresholds]
        out.append(np.exp(-np.stack(means, axis=-1)))
    return out[0], 1 - out[1]


def apart(printed: PrintedScores, curves: RemovalCurves, thresholds: Sequence[int]) -> float:
    result = values(curves, thresholds)
    pairs = zip((printed.sufficiency, printed.necessity), result, strict=True)
    return max(float(np.abs(a - b).max()) for a, b in pairs)


def filling_in(image: np.ndarray, random: np.random.Generator) -> list[str]:
    """Milliseconds for one image and one step."""
    from pytorch_grad_cam.metrics.road import NoisyLinearImputer  # noqa: PLC0415

    rows, columns = image.shape[1:]
    noise = random.normal(size=(rows, columns))
    lines = []
    for name, relevance in (("scattered", noise), ("in patches", gaussian_filter(noise, 12))):
        removed = relevance >= np.quantile(relevance, 1 - 0.49)
        runs = (timed(lambda: impute_pixels(image, removed)) for _ in range(5))  # noqa: B023
        ours, result = min(runs, key=first)
        exact, wanted = timed(lambda: impute_pixels_exactly(image, removed))  # noqa: B023
        keep = torch.from_numpy((~removed).astype(np.float32))
        peer, _ = timed(lambda: NoisyLinearImputer(noise=0)(torch.from_numpy(image), keep))  # noqa: B023
        error = np.abs(result - wanted).max() / np.ptp(image)
        lines.append(
            f"49 % {name}: kernel {1e3 * ours:.1f} ms, factorisation {1e3 * exact:.0f} ms, ROAD's "
            f"own {1e3 * peer:.0f} ms; ratios {exact / ours:.1f} and {peer / ours:.1f}; largest "
            f"error {error:.1e} of the range"
        )
    return lines


def first(pair: tuple[float, Any]) -> float:
    return pair[0]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--images", type=int, default=1)
    options.add_argument("--batch", type=int, default=4)
    options.add_argument("--ways", nargs="+", default=["road", "black", "uniform", "gaussian"])
    given = options.parse_args()
    torch.set_num_threads(1)
    name, probabilities = network()
    random = np.random.default_rng(0)
    shape = (given.images, 3, 224, 224)
    images = (8 * gaussian_filter(random.normal(size=shape), (0, 0, 4, 4))).astype(np.float32)
    maps = gaussian_filter(random.normal(size=(given.images, 224, 224)), (0, 12, 12))
    targets = probabilities(images).argmax(axis=1)
    impute_pixels(images[0], maps[0] > 0)  # compiled before the clock runs
    settings = {"black": np.full(3, -1.0), "seed": 0, "ways": given.ways}
    work: dict[str, Any] = {"targets": targets}

    def ours(**changed: Any) -> RemovalCurves:
        removal = Removal(**{**settings, "batch": given.batch, **changed})
        return compute_removal_curves(probabilities, images, maps, removal=removal, **work)

    def printed(thresholds: Sequence[int], **changed: Any) -> PrintedScores:
        removal = Removal(**{**settings, **changed})
        return as_printed(
            probabilities, images, maps, removal=removal, thresholds=thresholds, **work
        )

    wide_old = printed(WIDE, ways=["black"])
    wide_new = ours(ways=["black"], percents=range(1, 100, 2))
    fast, curves = timed(ours)
    alone, _ = timed(lambda: ours(batch=1))
    slow, old = timed(lambda: printed(PRINTED, impute=impute_pixels_exactly))
    several = np.repeat(images, given.batch, axis=0)[: given.batch]
    whole = min(timed(lambda: probabilities(several))[0] for _ in range(3))
    single = min(timed(lambda: [probabilities(one[None]) for one in several])[0] for _ in range(3))
    print(f"{name}, {given.images} images of 224 by 224, {', '.join(given.ways)}, one thread")
    for line in filling_in(images[0], random):
        print(line)
    print(f"as printed {slow:.1f} s; each step once, one image a batch {alone:.1f} s; ours, "
          f"batches of {given.batch}, {fast:.1f} s")  # fmt: skip
    print(f"largest difference of a score: {apart(old, curves, PRINTED):.1e}, "
          f"{apart(wide_old, wide_new, WIDE):.1e} up to 100 %")  # fmt: skip
    print(f"forwards, thresholds 5, 10, …, 50: {old.forwards} as printed, {curves.forwards} ours")
    print(f"forwards, thresholds 5, 10, 20, 50, 100 (one way): {wide_old.forwards} as printed, "
          f"{wide_new.forwards} ours")  # fmt: skip
    print(f"ratio of forwards {old.forwards / curves.forwards:.2f} and "
          f"{wide_old.forwards / wide_new.forwards:.2f}")  # fmt: skip
    print(f"ratio of the network alone, one by one over batches: {single / whole:.2f}")
    print(f"ratio one by one over batches, each step once: {alone / fast:.2f}")
    print(f"ratio as printed over ours {slow / fast:.1f}")


if __name__ == "__main__":
    main()
