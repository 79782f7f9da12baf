"""Find the layer that a map is computed from, and the layout of its output."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from theodolite.errors import EvidenceError
from theodolite.evidence.token_grid import MAX_LEADING_TOKENS, find_token_grid
from theodolite.explainers.saliency._work import ExplanationRequest, check_output

if TYPE_CHECKING:
    import torch

Seen = list[tuple[str, "torch.nn.Module", tuple[int, ...]]]
BEFORE_ATTENTION = ("norm1", "ln_1", "ln1", "layernorm_before", "layer_norm1", "pre_norm")
"""Names of the norm that opens a transformer block. Later layers have no gradients at patches,
because only the class token is read.
"""


@dataclass(frozen=True, eq=False)
class Place:
    """A layer and the layout of its spatial positions."""

    name: str
    module: "torch.nn.Module"
    leading: int | None
    """Number of tokens before the patches; None if the layer returns maps."""
    channels: int
    """Axis of the channels."""
    grid: tuple[int, int]

    def maps(self, output: "torch.Tensor") -> "torch.Tensor":
        """Return maps (samples, channels, rows, columns), copied."""
        if self.leading is not None:
            output = output[:, self.leading :].reshape(len(output), *self.grid, -1)
        return output.movedim(-1, 1).clone() if self.channels == -1 else output.clone()

    def to_output_layout(self, maps: "torch.Tensor") -> "torch.Tensor":
        """Return maps in the layer's layout, with 0 at tokens that are not patches."""
        import torch  # noqa: PLC0415

        output = maps.movedim(1, -1) if self.channels == -1 else maps
        if self.leading is None:
            return output
        patches = output.flatten(1, 2)
        before = patches.new_zeros((len(patches), self.leading, patches.shape[2]))
        return torch.cat([before, patches], dim=1)


def find_place(request: ExplanationRequest) -> Place:
    """Return the named layer, or the last with a spatial grid; runs one image."""
    rows, columns = request.images.shape[2:]
    seen = _seen(request)
    name = request.layer if request.layer is not None else _last(seen, rows / columns)
    matches = [(module, shape) for known, module, shape in seen if known == name]
    if len(matches) != 1:
        raise EvidenceError(
            "layer",
            f"{name!r}, called {len(matches)} times in one pass",
            "a layer that is used once",
        )
    module, shape = matches[0]
    if len(shape) == 4:
        channels = _channel_axis(shape, rows / columns)
        return Place(name, module, None, channels, shape[1:3] if channels == -1 else shape[2:])
    if len(shape) != 3:
        raise EvidenceError(
            "layer", f"{name!r} with shape {shape}" if shape else f"{name!r}, no single tensor",
            "(samples, channels, rows, columns) or (samples, tokens, channels)",
            "Name a layer before the pooling.",
        )  # fmt: skip
    leading, *grid = find_token_grid(shape[1], _grid(seen, shape[1], request))
    return Place(name, module, leading, -1, (grid[0], grid[1]))


def _seen(request: ExplanationRequest) -> Seen:
    """Return every called layer in order, with its output's shape."""
    import torch  # noqa: PLC0415

    if request.layer is not None:
        _exists(request.network, request.layer)
    seen: Seen = []

    def note(name: str) -> Any:
        def hook(module: "torch.nn.Module", _: Any, output: Any) -> None:
            seen.append((name, module, tuple(output.shape) if torch.is_tensor(output) else ()))

        return hook

    hooks = [
        module.register_forward_hook(note(name))
        for name, module in request.network.named_modules()
        if name
    ]
    try:
        with torch.no_grad():
            check_output(request.network(request.images[:1]), request.targets)
    finally:
        for hook in hooks:
            hook.remove()
    return seen


def _exists(network: "torch.nn.Module", layer: str) -> None:
    names = [name for name, _ in network.named_modules() if name]
    if layer not in names:
        short = [name for name in names if name.count(".") < 2]
        raise EvidenceError(
            "layer", repr(layer), f"the name of a module, such as {', '.join(short[-8:])}"
        )


def _last(seen: Seen, aspect: float) -> str:
    """Return the last spatial layer; for a transformer, the norm that opens its last block."""
    placed = [(name, shape) for name, _, shape in seen if _has_places(shape, aspect)]
    if not placed:
        raise EvidenceError(
            "layer", "a network in which no layer was seen to have places",
            "the name of one that gives maps or tokens",
            'Pass layer="...", and grid=(rows, columns) if it gives tokens.',
        )  # fmt: skip
    name, shape = placed[-1]
    if len(shape) == 4:
        return name
    opening = [n for n, s in placed if len(s) == 3 and n.split(".")[-1] in BEFORE_ATTENTION]
    if not opening:
        some = ", ".join(n for n, s in placed[-6:] if len(s) == 3)
        raise EvidenceError(
            "layer", f"tokens ({some}), and no norm that is known to open a block",
            "the name of the last layer before the last attention",
            'Pass layer="...", and grid=(rows, columns) if the patches are not a square.',
        )  # fmt: skip
    return opening[-1]


def _has_places(shape: tuple[int, ...], aspect: float) -> bool:
    if len(shape) == 4 and shape[0] == 1:
        _, a, b, c = shape
        return (a * b if _channel_axis(shape, aspect) == -1 else b * c) > 1
    return len(shape) == 3 and shape[0] == 1 and shape[1] > 3


def _channel_axis(shape: tuple[int, ...], aspect: float) -> int:
    """Return the channel axis; last (Swin) only if the axes before match the image's shape."""
    _, a, b, c = shape
    first, last = (abs(r - aspect * k) < max(1, aspect) for r, k in ((b, c), (a, b)))
    return -1 if last and not first else 1


def _grid(seen: Seen, tokens: int, request: ExplanationRequest) -> tuple[int, int] | None:
    """Return rows and columns of the patches, from the patch embedding if possible."""
    import torch  # noqa: PLC0415

    cut = [
        (shape[2], shape[3])
        for _, module, shape in seen
        if isinstance(module, torch.nn.Conv2d)
        and len(shape) == 4
        and 0 <= tokens - shape[2] * shape[3] <= MAX_LEADING_TOKENS
    ]
    if request.grid is not None:
        if cut and request.grid != cut[0]:
            raise EvidenceError(
                "grid", f"{request.grid}", f"{cut[0]}, the patches that the image is cut into"
            )
        return request.grid
    if not cut and request.images.shape[2] != request.images.shape[3]:
        raise EvidenceError(
            "grid", f"{tokens} tokens of an image that is not a square", "the patches' layout",
            "Pass grid=(rows, columns) of the patches.",
        )  # fmt: skip
    return cut[0] if cut else None
