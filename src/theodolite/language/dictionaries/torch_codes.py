"""Codes of dictionaries on a device, the largest of each token only.

Everything here stays on the device; :func:`to_host` is the one place where numbers leave it.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from theodolite._storage.optional import require
from theodolite.errors import EvidenceError
from theodolite.language.dictionaries.common_form import EPSILON, SparseDictionary

Tensor = Any
MAX_DENSE_CODES = 1 << 25
"""Largest number of dense codes on the device at once."""
DTYPES = ("float32", "bfloat16", "float16")


def to_host(tensor: Tensor) -> np.ndarray:
    """Copy a tensor to the host; half precision becomes float32."""
    import torch  # noqa: PLC0415  an extra

    if tensor.dtype in (torch.bfloat16, torch.float16):
        tensor = tensor.float()
    return np.asarray(tensor.detach().cpu().numpy())


def find_device(name: str) -> str:
    """Return the device that is meant by a name, which may be ``auto``."""
    torch = require("torch", "language models", "language")
    if name == "auto":
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        there = {"cpu": True, "cuda": torch.cuda.is_available(),
                 "mps": torch.backends.mps.is_available()}  # fmt: skip
        if there.get(device.type, False):
            return name
    except RuntimeError:
        pass
    raise EvidenceError("device", repr(name), "cpu, cuda, cuda:N or mps of this machine, or auto")


class TopCodes(NamedTuple):
    """The largest codes of each token; 0 where a token has fewer."""

    values: Tensor
    """(tokens, most)"""
    indices: Tensor
    """(tokens, most): numbers of latents"""


@runtime_checkable
class TokenDictionary(Protocol):
    """What a pipeline needs of a dictionary: on a device, codes of tokens and what they rebuild."""

    @property
    def latents(self) -> int: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def rows(self) -> np.ndarray:
        """Decoder row of each latent."""

    def largest(self, hidden: Tensor) -> TopCodes:
        """Return the codes of activations (tokens, dimensions), all that are not 0."""

    def rebuild(self, hidden: Tensor, codes: TopCodes) -> Tensor:
        """Return what the codes of these activations rebuild."""


@dataclass(frozen=True, eq=False)
class DeviceDictionary:
    """A dictionary in the common form, on a device."""

    source: SparseDictionary
    device: str = "cpu"
    dtype: str = "float32"

    def __post_init__(self) -> None:
        import torch  # noqa: PLC0415

        own = self.source
        tensors = {
            name: torch.as_tensor(array).to(self.device, getattr(torch, self.dtype))
            for name in ("w_enc", "w_dec", "b_enc", "b_dec", "subtracted", "threshold", "w_skip")
            if (array := getattr(own, name)) is not None
        }
        if own.magnitude is not None:
            for name, array in zip(("r_mag", "b_mag"), own.magnitude, strict=True):
                tensors[name] = torch.as_tensor(array).to(self.device, getattr(torch, self.dtype))
        object.__setattr__(self, "tensors", tensors)

    tensors: Any = None

    @property
    def latents(self) -> int:
        return self.source.latents

    @property
    def dimensions(self) -> int:
        return self.source.dimensions

    @property
    def rows(self) -> np.ndarray:
        """Decoder row of each latent."""
        return self.source.w_dec

    def largest(self, hidden: Tensor) -> TopCodes:
        """Return the codes that are not 0, in blocks of tokens."""
        import torch  # noqa: PLC0415

        step = max(MAX_DENSE_CODES // self.latents, 1)
        blocks = [self._largest(hidden[at : at + step]) for at in range(0, len(hidden), step)]
        most = max(block.values.shape[1] for block in blocks)
        both = zip(*blocks, strict=True)
        return TopCodes(*(torch.cat([widened(part, most) for part in parts]) for parts in both))

    def _largest(self, hidden: Tensor) -> TopCodes:
        import torch  # noqa: PLC0415

        own, values = self.tensors, hidden.to(self.tensors["w_enc"].dtype)
        values, _, _ = _normalize(values, self.source.normalized_by)
        values = values - own["subtracted"] if "subtracted" in own else values
        if self.source.activation == "gated":
            turned = values @ own["w_enc"]
            strength = (turned * own["r_mag"].exp() + own["b_mag"]).relu()
            return keep_active(strength * (turned + own["b_enc"] > 0))
        codes = torch.addmm(own["b_enc"], values, own["w_enc"])
        if self.source.activation == "topk":
            values, indices = codes.topk(self.source.active or 1, dim=1)
            return TopCodes(values.relu(), indices)
        if self.source.activation == "jumprelu":
            codes = codes * (codes > own["threshold"])
        return keep_active(codes.relu())

    def rebuild(self, hidden: Tensor, codes: TopCodes) -> Tensor:
        """Return what the codes rebuild, in the scale of the activations."""
        import torch  # noqa: PLC0415

        own = self.tensors
        rebuilt = torch.nn.functional.embedding_bag(
            codes.indices, own["w_dec"], per_sample_weights=codes.values.to(own["w_dec"].dtype),
            mode="sum",
        )  # fmt: skip
        rebuilt = rebuilt + own["b_dec"]
        if "w_skip" in own:
            rebuilt = rebuilt + hidden.to(rebuilt.dtype) @ own["w_skip"].T
        if self.source.transcodes:
            return rebuilt
        _, scale, mean = _normalize(hidden.to(rebuilt.dtype), self.source.normalized_by)
        return rebuilt * scale + mean


def keep_active(codes: Tensor) -> TopCodes:
    """Return the codes above 0 of dense codes; as many columns as the fullest token needs."""
    most = max(int(to_host((codes > 0).sum(dim=1).max())), 1) if len(codes) else 1
    return TopCodes(*codes.topk(most, dim=1))


def widened(part: Tensor, most: int) -> Tensor:
    """Return codes with columns of 0 behind them."""
    import torch  # noqa: PLC0415

    return torch.nn.functional.pad(part, (0, most - part.shape[1]))


def _normalize(values: Tensor, how: str) -> tuple[Tensor, Tensor | float, Tensor | float]:
    """Return normalized activations, and the factor and constant that undo it."""
    if how == "layer_norm":
        mean = values.mean(dim=1, keepdim=True)
        scale = (values - mean).std(dim=1, keepdim=True)
        return (values - mean) / (scale + EPSILON), scale, mean
    if how == "constant_norm_rescale":
        scale = values.norm(dim=1, keepdim=True) / values.shape[1] ** 0.5
        return values / scale, scale, 0.0
    return values, 1.0, 0.0
