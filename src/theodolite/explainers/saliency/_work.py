"""Request that every saliency method receives, and shared helpers to run the network."""

import contextlib
import copy
import importlib
import io
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError

if TYPE_CHECKING:
    import torch

Maps = Float[np.ndarray, "samples rows columns"]


@dataclass(frozen=True, eq=False)
class ExplanationRequest:
    """Images to explain, with network, targets, layer, seed and options."""

    network: "torch.nn.Module"
    """Private copy of the network, which may be hooked."""
    images: "torch.Tensor"
    targets: tuple[int, ...]
    layer: str | None
    grid: tuple[int, int] | None
    seed: int
    options: Mapping[str, Any]


def copy_network(network: "torch.nn.Module") -> "torch.nn.Module":
    """Return a copy in evaluation mode, without weight gradients and in-place layers.

    A layer that writes over its input would change what a hook has kept of the layer before.
    """
    import torch  # noqa: PLC0415

    try:
        with torch.inference_mode(mode=False):
            copied = copy.deepcopy(network)
    except (RuntimeError, TypeError) as error:
        raise EvidenceError(
            "network", f"one that cannot be copied ({error})", "one that copy.deepcopy takes",
            "Load it again, and explain before anything is computed with gradients.",
        ) from error  # fmt: skip
    copied.eval().float().requires_grad_(requires_grad=False)
    _unhooked(copied)
    for weights in copied.parameters():
        weights.grad = None
    for module in copied.modules():
        if getattr(module, "inplace", False) is True:
            module.inplace = False  # type: ignore[assignment]
    return copied


def _unhooked(copied: "torch.nn.Module") -> None:
    """Remove the hooks that were copied, since they belong to the caller."""
    for module in copied.modules():
        for name in (
            "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks",
        ):  # fmt: skip
            getattr(module, name).clear()


@contextlib.contextmanager
def seed_libraries(seed: int) -> Iterator[None]:
    """Seed the global generators that libraries use, and restore them."""
    import torch  # noqa: PLC0415

    python, numbers = random.getstate(), np.random.get_state()  # noqa: NPY002
    devices = range(torch.cuda.device_count())  # seeding seeds them as well
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.set_state(np.random.RandomState(seed).get_state())  # noqa: NPY002
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numbers)  # noqa: NPY002


def _no_lock_between_processes() -> None:
    """Prevent a hidden progress bar from creating a semaphore that would leak."""
    with contextlib.suppress(ImportError):
        bars = importlib.import_module("tqdm").tqdm
        if not hasattr(bars, "_lock"):
            bars.set_lock(threading.RLock())


@contextlib.contextmanager
def hide_progress_bars() -> Iterator[None]:
    """Hide the progress bars that some libraries draw."""
    _no_lock_between_processes()
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        yield


def check_output(output: Any, targets: tuple[int, ...]) -> None:
    """Raise unless outputs are rows of class scores that contain the targets."""
    shape = tuple(getattr(output, "shape", ()))
    if len(shape) != 2:
        got = f"shape {shape}" if shape else type(output).__name__
        raise EvidenceError("network", got, "one row of class scores per image")
    wrong = [target for target in targets if not 0 <= target < shape[1]]
    if wrong:
        raise EvidenceError("targets", f"class {wrong[0]}", f"0 to {shape[1] - 1}")


def check_network(request: ExplanationRequest) -> None:
    """Run one image to raise early what would fail late."""
    import torch  # noqa: PLC0415

    with torch.no_grad():
        check_output(request.network(request.images[:1]), request.targets)


Scores = Callable[["torch.Tensor"], "torch.Tensor"]


def make_scorer(request: ExplanationRequest) -> Scores:
    """Return the function from images to probabilities or logits, as the options say."""
    if request.options["score"] == "logit":
        return lambda images: request.network(images)
    return lambda images: request.network(images).softmax(dim=1)


def enlarge_maps(maps: "torch.Tensor", rows: int, columns: int) -> Maps:
    """Return maps at the size of the image, by bilinear interpolation."""
    import torch  # noqa: PLC0415

    large = torch.nn.functional.interpolate(
        maps[:, None].float(), (rows, columns), mode="bilinear", align_corners=False
    )
    return np.asarray(large[:, 0].detach().cpu().numpy(), np.float32)


def number_cells(rows: int, columns: int, number: int) -> np.ndarray:
    """Return the grid cell number of each pixel, row by row; at most one cell per pixel.

    >>> number_cells(2, 4, 2)
    array([[0, 0, 1, 1],
           [2, 2, 3, 3]])
    """
    down, across = min(number, rows), min(number, columns)
    row = np.arange(rows)[:, None] * down // rows
    return np.asarray(row * across + np.arange(columns) * across // columns)
