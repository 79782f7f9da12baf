"""Extract feature maps from any layer of a torch network, convolutional or transformer."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float
from PIL import Image

from theodolite.errors import EvidenceError
from theodolite.evidence.token_grid import find_token_grid

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Preprocessing:
    """Size, mean and spread that a network expects of its images."""

    size: tuple[int, int] = (224, 224)
    """Rows and columns; images are stretched, so that relative positions stay."""
    mean: tuple[float, float, float] = (0.485, 0.456, 0.406)
    spread: tuple[float, float, float] = (0.229, 0.224, 0.225)

    def __call__(self, image: Image.Image) -> Float[np.ndarray, "3 rows columns"]:
        scaled = image.convert("RGB").resize(self.size[::-1], Image.Resampling.BICUBIC)
        numbers = np.asarray(scaled, np.float32) / 255
        center, spread = np.array([self.mean, self.spread], np.float32)
        return np.ascontiguousarray(((numbers - center) / spread).transpose(2, 0, 1))


def as_preprocessing(preprocessing: Any) -> Preprocessing | None:
    """Return how a network wants its images, from some of "size", "mean" and "std"."""
    if preprocessing is None or isinstance(preprocessing, Preprocessing):
        return preprocessing
    try:
        settings = dict(preprocessing)
        size = np.broadcast_to(np.asarray(settings.pop("size", 224), int), 2)
        if size.min() < 1:
            raise ValueError
        numbers = {
            name: tuple(np.broadcast_to(np.asarray(settings.pop(old), float), 3).tolist())
            for name, old in (("mean", "mean"), ("spread", "std"))
            if old in settings
        }
    except (TypeError, ValueError) as error:
        raise _no_preprocessing(preprocessing) from error
    if settings or 0.0 in numbers.get("spread", ()):
        raise _no_preprocessing(preprocessing)
    return Preprocessing(size=(int(size[0]), int(size[1])), **numbers)


def _no_preprocessing(preprocessing: Any) -> EvidenceError:
    return EvidenceError(
        "preprocessing", repr(preprocessing)[:80], 'some of "size", "mean" and "std"',
        'e.g. {"size": (32, 32), "mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}.',
    )  # fmt: skip


class FeatureExtractor:
    """Runs a network and returns the output of one layer as maps.

    Args:
        network: Any torch module that takes a batch of images.
        layer: The layer's name (``blocks.6``), or the module itself.
        grid: Rows and columns of a transformer's patches, where they are not a square.
        channels: Whether a layer's channels come "first" or "last" (Swin); "auto" takes them to
            be last where the two axes before the last are alike and the last is not.

    A layer that gives maps is taken as it is. One that gives tokens, (samples, tokens, channels),
    is laid out as a grid; class and register tokens, which come first, are left out.
    """

    def __init__(
        self,
        network: "torch.nn.Module",
        layer: "str | torch.nn.Module",
        *,
        grid: tuple[int, int] | None = None,
        channels: Literal["auto", "first", "last"] = "auto",
    ) -> None:
        self.network = network
        self.layer = find_module(network, layer) if isinstance(layer, str) else layer
        self.grid = grid
        self.channels = channels

    def __call__(
        self, batch: Float[np.ndarray, "samples 3 rows columns"]
    ) -> Float[np.ndarray, "samples channels height width"]:
        """Return the layer's maps; the network's mode is restored and hooks are removed."""
        return self.run(batch)[0]

    def run(
        self, batch: Float[np.ndarray, "samples 3 rows columns"]
    ) -> tuple[
        Float[np.ndarray, "samples channels height width"], Float[np.ndarray, "samples outputs"]
    ]:
        """Return the layer's maps and the network's outputs.

        Outputs have no columns unless they are a row per image.
        """
        import torch  # noqa: PLC0415

        captured: list[Any] = []
        with set_evaluation_mode(self.network), torch.inference_mode():
            hook = self.layer.register_forward_hook(
                lambda _, __, output: captured.append(_copy(output))
            )
            try:
                first = next(self.network.parameters(), None)
                device = "cpu" if first is None else first.device
                images = torch.from_numpy(np.ascontiguousarray(batch)).to(device)
                answer = self.network(images.contiguous(memory_format=torch.channels_last))
            finally:
                hook.remove()
        if len(captured) != 1:
            raise EvidenceError(
                "layer", f"called {len(captured)} times in one pass", "a layer that is used once"
            )
        layer_output = captured[0]
        if not isinstance(layer_output, torch.Tensor):
            got = type(layer_output).__name__
            raise EvidenceError("layer", got, "a layer that gives one tensor")
        answer = getattr(answer, "logits", answer)
        outputs = np.zeros((len(batch), 0), np.float32)
        if isinstance(answer, torch.Tensor) and answer.shape[:-1] == (len(batch),):
            outputs = answer.float().cpu().numpy()
        return self._as_maps(layer_output.float().cpu().numpy()), outputs

    def _as_maps(self, output: np.ndarray) -> Float[np.ndarray, "samples channels height width"]:
        if output.ndim == 4:
            _, a, b, c = output.shape
            last = self.channels == "last" or (self.channels == "auto" and a == b != c)
            return np.ascontiguousarray(output.transpose(0, 3, 1, 2) if last else output)
        if output.ndim != 3:
            raise EvidenceError(
                "layer",
                f"shape {output.shape}",
                "(samples, channels, rows, columns) or (samples, tokens, channels)",
                "Name a layer before the pooling.",
            )
        n, tokens, channels = output.shape
        leading, rows, columns = find_token_grid(tokens, self.grid)
        patches = output[:, leading:].reshape(n, rows, columns, channels)
        return np.ascontiguousarray(patches.transpose(0, 3, 1, 2))


def _copy(output: Any) -> Any:
    """Copy a layer's output, since a later layer may overwrite it in place."""
    # a ModelOutput of transformers has several tensors
    first = getattr(output, "last_hidden_state", output)
    first = first[0] if isinstance(first, tuple) else first
    return first.clone() if hasattr(first, "clone") else first


def find_module(network: "torch.nn.Module", name: str) -> "torch.nn.Module":
    try:
        if not name:
            raise AttributeError(name)  # the whole network is no layer with places
        module = network.get_submodule(name)
    except AttributeError as error:
        known = [n for n, _ in network.named_modules() if n and n.count(".") < 2]
        raise EvidenceError(
            "layer", repr(name), f"the name of a module, such as {', '.join(known[-8:])}"
        ) from error
    from torch import nn  # noqa: PLC0415

    # a list of layers is never called itself; its last element is
    return module[-1] if isinstance(module, nn.ModuleList) else module


@contextmanager
def set_evaluation_mode(network: "torch.nn.Module") -> Iterator[None]:
    """Switch a network to evaluation, and restore each module's mode afterwards."""
    modes = [(module, module.training) for module in network.modules()]
    network.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
