"""Cut images into patches and embed them: the inputs of a network's last linear layer."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int
from PIL import Image

from theodolite.errors import EvidenceError
from theodolite.models.features import set_evaluation_mode
from theodolite.models.loaded_model import LoadedModel

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Patches:
    """Crops of images with their embeddings."""

    embeddings: Float[np.ndarray, "patches dimensions"]
    image: Int[np.ndarray, " patches"]
    """Number of the image of each patch."""
    boxes: Int[np.ndarray, "patches 4"]
    """First row, first column, end row and end column, in pixels."""


def compute_patch_embeddings(
    backbone: LoadedModel,
    images: Iterable[Image.Image],
    *,
    share: float = 5 / 13,
    per_side: int = 3,
    batch: int = 64,
) -> Patches:
    """Cut each image into overlapping patches, and embed each as an image.

    These are the patches of CRAFT (Fel et al., 2023), but for two things: they reach the right and
    the lower edge, and they are cut from the image as it is and not from the network's input.

    Args:
        backbone: The network, and how it wants its images.
        images: Any number of them, of any size; one is in memory at a time.
        share: A patch's side, as a share of the image's. With three a side, this one makes
            neighbors overlap by a fifth.
        per_side: Patches a row and a column, at equal distances from edge to edge.
        batch: How many patches the network is given at a time.
    """
    if not (per_side >= 1 and 1 / per_side <= share <= 1):
        got = f"{per_side} patches a side, each {share:.3g} of it"
        raise EvidenceError("patches", got, "as many, or as large, as cover the image")
    origin: list[int] = []
    boxes: list[np.ndarray] = []

    def crops() -> Iterator[Image.Image]:
        for number, image in enumerate(images):
            for box in compute_patch_boxes(image.height, image.width, share, per_side):
                origin.append(number)
                boxes.append(box)
                yield image.crop((box[1], box[0], box[3], box[2]))

    embeddings = compute_embeddings(backbone, crops(), batch=batch)
    return Patches(embeddings, np.array(origin), np.stack(boxes))


def compute_patch_boxes(
    rows: int, columns: int, share: float, per_side: int
) -> Int[np.ndarray, "patches 4"]:
    """Return the patch boxes of an image of this size, row by row.

    >>> compute_patch_boxes(10, 20, 0.5, 2).tolist()
    [[0, 0, 5, 10], [0, 10, 5, 20], [5, 0, 10, 10], [5, 10, 10, 20]]
    """
    side = np.ceil(np.array([rows, columns]) * share - 1e-9).astype(int)
    starts = np.linspace([0, 0], [rows, columns] - side, per_side).round().astype(int)
    down, across = (grid.ravel() for grid in np.meshgrid(*starts.T, indexing="ij"))
    return np.stack([down, across, down + side[0], across + side[1]], axis=1)


def compute_embeddings(
    backbone: LoadedModel, images: Iterable[Image.Image], *, batch: int = 64
) -> Float[np.ndarray, "images dimensions"]:
    """Return the input of the network's last linear layer: usually pooled features."""
    import torch  # noqa: PLC0415

    network, size = backbone.network, backbone.preprocessing.size
    layer: Any = network.get_submodule(find_head_layer(network, size))
    device = layer.weight.device
    embeddings: list[np.ndarray] = []
    with set_evaluation_mode(network), torch.inference_mode():
        hook = layer.register_forward_pre_hook(
            lambda _, x: embeddings.append(x[0].float().cpu().numpy())
        )
        try:
            for some in _batches((backbone.preprocessing(p) for p in images), batch):
                tensor = torch.from_numpy(np.stack(some)).to(device)
                network(tensor.contiguous(memory_format=torch.channels_last))
        finally:
            hook.remove()
    if not embeddings:
        raise EvidenceError("images", "none", "at least one")
    return np.concatenate(embeddings)


def _batches(items: Iterable[np.ndarray], size: int) -> Iterator[list[np.ndarray]]:
    some: list[np.ndarray] = []
    for item in items:
        some.append(item)
        if len(some) == size:
            yield some
            some = []
    if some:
        yield some


def get_head(
    network: "torch.nn.Module", size: tuple[int, int] | None = None
) -> tuple[Float[np.ndarray, "classes dimensions"], Float[np.ndarray, " classes"]]:
    """Return weights and bias of the network's last linear layer."""
    layer: Any = network.get_submodule(find_head_layer(network, size))
    weights = layer.weight.detach().float().cpu().numpy().copy()
    if layer.bias is None:
        return weights, np.zeros(len(weights), np.float32)
    return weights, layer.bias.detach().float().cpu().numpy().copy()


def find_head_layer(network: "torch.nn.Module", size: tuple[int, int] | None = None) -> str:
    """Return the name of the linear layer whose output is the network's.

    The network is run on blank images of this size (without: the size that timm says, or
    224 x 224) while linear layers answer with numbers of their own, no two with the same: what
    the network gives must be exactly the numbers of one of them.
    """
    import torch  # noqa: PLC0415

    shape = size or getattr(network, "pretrained_cfg", {}).get("input_size", (3, 224, 224))[1:]
    device = next((p.device for p in network.parameters()), "cpu")
    signatures: list[tuple[Any, torch.Tensor]] = []

    def emit_signature(layer: Any, _: Any, output: "torch.Tensor") -> "torch.Tensor":
        # on both sides of 0, and far: nothing that bends or cuts would pass them on as they are
        most = 1e4 + len(signatures)
        signatures.append(
            (layer, torch.linspace(-most, most, output.numel()).view(output.shape).to(output))
        )
        return signatures[-1][1].clone()

    linear = torch.nn.Linear
    names: dict[Any, str] = {m: n for n, m in network.named_modules() if isinstance(m, linear)}
    with set_evaluation_mode(network), torch.inference_mode():
        hooks = [layer.register_forward_hook(emit_signature) for layer in names]
        try:
            answer = network(torch.zeros((2, 3, *shape), device=device))
        finally:
            for hook in hooks:
                hook.remove()
    used = [layer for layer, _ in signatures]
    flat = isinstance(answer, torch.Tensor) and answer.ndim == 2
    ends = [layer for layer, numbers in signatures if flat and torch.equal(answer, numbers)]
    if not ends or used.count(ends[0]) > 1:
        raise EvidenceError(
            "network", "no linear layer that is used once and whose output is the network's",
            "one", "Take off what comes after it, such as a softmax.",
        )  # fmt: skip
    return names[ends[0]]
