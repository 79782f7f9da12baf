"""Take a dictionary that lives in memory: any object with ``encode`` and ``decode``."""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from theodolite._storage.optional import require
from theodolite.errors import EvidenceError
from theodolite.language.dictionaries.common_form import SparseDictionary, TrainingPlace
from theodolite.language.dictionaries.torch_codes import (
    MAX_DENSE_CODES,
    DeviceDictionary,
    Tensor,
    TokenDictionary,
    TopCodes,
    keep_active,
    to_host,
    widened,
)

TRIED = 8
"""Number of random activations that are tried."""
WIDTHS = ("d_in", "activation_dim", "dimensions", "dimension", "input_dim", "d_model")


@dataclass(frozen=True, eq=False)
class ObjectDictionary:
    """An object whose own functions compute codes and what they rebuild."""

    source: Any
    rows: np.ndarray
    """Decoder row of each latent, in float32."""
    dimensions: int
    tensors: bool = True
    """Whether its functions take tensors; else arrays."""
    place: TrainingPlace = TrainingPlace()
    transcodes: bool = False
    form: str = "object"
    findings: tuple[str, ...] = ()
    needs_scale: bool = False
    normalized_by: str = "none"

    @property
    def latents(self) -> int:
        """Number of latents."""
        return len(self.rows)

    def largest(self, hidden: Tensor) -> TopCodes:
        """Return the codes that are not 0, in blocks of tokens."""
        import torch  # noqa: PLC0415

        step = max(MAX_DENSE_CODES // self.latents, 1)
        with quiet(self.source):
            blocks = [
                keep_active(self.dense(hidden[at : at + step]))
                for at in range(0, len(hidden), step)
            ]
        most = max(block.values.shape[1] for block in blocks)
        both = zip(*blocks, strict=True)
        return TopCodes(*(torch.cat([widened(part, most) for part in parts]) for parts in both))

    def dense(self, hidden: Tensor) -> Tensor:
        """Return all codes of some activations."""
        return dense_codes(self._call("encode", hidden), self.latents)

    def rebuild(self, hidden: Tensor, codes: TopCodes) -> Tensor:
        """Return what its own functions rebuild of these activations."""
        import torch  # noqa: PLC0415

        step, parts = max(MAX_DENSE_CODES // self.latents, 1), []
        skip = getattr(self.source, "W_skip", None) if self.tensors else None
        with quiet(self.source):
            for at in range(0, len(hidden), step):
                some = hidden[at : at + step]
                self._call("encode", some)  # objects remember how they normalized their input
                own = torch.zeros((len(some), self.latents), device=hidden.device)
                values = codes.values[at : at + step].to(own.dtype)
                own.scatter_add_(1, codes.indices[at : at + step], values)
                rebuilt = self._call("decode", own)
                parts.append(rebuilt if skip is None else rebuilt + some.float() @ skip.T)
        return torch.cat(parts)

    def _call(self, name: str, values: Tensor) -> Any:
        import torch  # noqa: PLC0415

        function: Callable[[Any], Any] = getattr(self.source, name)
        with torch.no_grad():
            if self.tensors:
                return function(values.float())
            return torch.as_tensor(
                np.asarray(function(to_host(values)), np.float32), device=values.device
            )


def dense_codes(output: Any, latents: int) -> Tensor:
    """Return dense codes of what an ``encode`` gives: a tensor, or the largest with numbers."""
    import torch  # noqa: PLC0415

    values, indices = (getattr(output, name, None) for name in ("top_acts", "top_indices"))
    if values is not None and indices is not None:
        dense = torch.zeros((len(values), latents), device=values.device, dtype=values.dtype)
        return dense.scatter_(1, indices, values)
    return output[-1] if isinstance(output, tuple) else output


def dictionary(source: Any) -> TokenDictionary:
    """Take a dictionary in memory: an object of SAELens, dictionary_learning, sparsify or
    circuit-tracer, or any other with ``encode`` and ``decode``.

    ``encode`` takes activations (n, dimensions) and gives codes (n, latents), none below 0;
    ``decode`` takes codes. Tensors or arrays. Both are tried on random activations. What the
    object says settings itself (``cfg``, ``cfg.metadata``) is read by attribute.

    >>> import numpy as np
    >>> class Signs:
    ...     rows = np.concatenate([np.eye(2), -np.eye(2)])
    ...     def encode(self, activations):
    ...         return np.maximum(activations @ self.rows.T, 0)
    ...     def decode(self, codes):
    ...         return codes @ self.rows
    >>> theodolite.dictionary(Signs()).latents  # doctest: +SKIP
    4
    """
    if isinstance(source, TokenDictionary):
        return source
    if isinstance(source, SparseDictionary):
        return DeviceDictionary(source)
    torch = require("torch", "dictionaries", "language")
    what = f"dictionary {type(source).__name__}"
    for name in ("encode", "decode"):
        if not callable(getattr(source, name, None)):
            raise EvidenceError(what, f"no {name}", "encode(activations) and decode(codes)")
    tensors = isinstance(source, torch.nn.Module) or _has_tensors(source, torch)
    width = _find_width(source)
    random = np.random.default_rng(0).standard_normal((TRIED, width)).astype(np.float32)
    tried: Any = random
    if tensors:
        tried = torch.as_tensor(random)
        first = next(iter(getattr(source, "parameters", tuple)()), None)
        tried = tried if first is None else tried.to(first.device)
    with quiet(source), torch.no_grad():
        codes = dense_codes(source.encode(tried), _find_latents(source))
        codes = to_host(codes) if tensors else np.asarray(codes)
        if codes.ndim != 2 or len(codes) != TRIED or not np.isfinite(codes).all():
            got = f"codes of shape {codes.shape} for {TRIED} activations"
            raise EvidenceError(what, got, f"finite ones of shape ({TRIED}, latents)")
        if (codes < 0).any():
            raise EvidenceError(what, "codes below 0", "none: a latent is active or 0")
        latents = codes.shape[1]
        rows = _find_rows(source, latents, tensors=tensors)
        own = torch.as_tensor(codes).to(tried.device) if tensors else codes
        rebuilt = source.decode(own)
        rebuilt = to_host(rebuilt) if tensors else np.asarray(rebuilt)
        if rebuilt.ndim != 2 or len(rebuilt) != TRIED or not np.isfinite(rebuilt).all():
            got = f"{rebuilt.shape} rebuilt of {TRIED} activations"
            raise EvidenceError(what, got, f"finite ones of shape ({TRIED}, outputs)")
    settings = _read_settings(source)
    outside = rebuilt.shape[1] != width or "transcoder" in type(source).__name__.lower()
    return ObjectDictionary(
        source, rows, width, tensors, _place(settings), outside, type(source).__name__,
        normalized_by=str(settings.get("normalize_activations") or "none"),
    )  # fmt: skip


@contextmanager
def quiet(source: Any) -> Any:
    """Evaluate an object as it is used, not as it is trained, and leave it as it was."""
    modes = {part: part.training for part in getattr(source, "modules", tuple)()}
    try:
        if modes:
            source.eval()
        yield
    finally:
        for part, training in modes.items():
            part.training = training


def _has_tensors(source: Any, torch: Any) -> bool:
    parts = list(vars(source).values()) if hasattr(source, "__dict__") else []
    return any(isinstance(part, torch.Tensor) for part in parts)


def _find_width(source: Any) -> int:
    for owner in (source, getattr(source, "cfg", None)):
        for name in WIDTHS:
            value = getattr(owner, name, None)
            if isinstance(value, int) and value > 0:
                return value
    for name, axis in (("W_enc", 0), ("rows", 1), ("W_dec", 1)):
        shape = getattr(getattr(source, name, None), "shape", None)
        if shape is not None and len(shape) == 2:
            return int(shape[axis])
    weight = getattr(getattr(source, "encoder", None), "weight", None)
    if weight is not None and len(weight.shape) == 2:
        return int(weight.shape[1])
    what = f"dictionary {type(source).__name__}"
    raise EvidenceError(what, "no width of its activations", f"one of {', '.join(WIDTHS)}")


def _find_latents(source: Any) -> int:
    for owner in (source, getattr(source, "cfg", None)):
        for name in ("d_sae", "dict_size", "num_latents", "n_latents", "latents"):
            value = getattr(owner, name, None)
            if isinstance(value, int) and value > 0:
                return value
    return 0


def _find_rows(source: Any, latents: int, *, tensors: bool) -> np.ndarray:
    """Return the decoder's rows: as the object has them, or what each latent alone adds."""
    import torch  # noqa: PLC0415

    for matrix in (getattr(source, "W_dec", None), getattr(source, "rows", None)):
        if matrix is not None and len(matrix.shape) == 2 and len(matrix) == latents:
            rows = to_host(matrix) if isinstance(matrix, torch.Tensor) else np.asarray(matrix)
            return rows.astype(np.float32)
    weight = getattr(getattr(source, "decoder", None), "weight", None)
    if weight is not None and weight.ndim == 2 and weight.shape[1] == latents:
        return np.asarray(to_host(weight).T, np.float32)
    parts = []
    for at in range(0, latents, 1024):
        some = np.zeros((min(1024, latents - at) + 1, latents), np.float32)
        some[np.arange(1, len(some)), at + np.arange(len(some) - 1)] = 1.0
        out = source.decode(torch.as_tensor(some) if tensors else some)
        out = to_host(out) if tensors else np.asarray(out)
        parts.append(out[1:] - out[:1])
    return np.concatenate(parts).astype(np.float32)


def _read_settings(source: Any) -> dict[str, Any]:
    cfg = getattr(source, "cfg", None)
    both: dict[str, Any] = {}
    for owner in (cfg, getattr(cfg, "metadata", None)):
        for name in ("hook_name", "hook_name_out", "model_name", "prepend_bos", "context_size",
                     "normalize_activations"):  # fmt: skip
            value = owner.get(name) if isinstance(owner, dict) else getattr(owner, name, None)
            if isinstance(value, (str, bool, int)):
                both[name] = value
    return both


def _place(settings: dict[str, Any]) -> TrainingPlace:
    start, context = settings.get("prepend_bos"), settings.get("context_size")
    texts = {
        name: settings.get(name) or None for name in ("hook_name", "hook_name_out", "model_name")
    }
    return TrainingPlace(
        hook=texts["hook_name"], hook_out=texts["hook_name_out"], model=texts["model_name"],
        start_token=start if isinstance(start, bool) else None,
        context=context if isinstance(context, int) and not isinstance(context, bool) else None,
    )  # fmt: skip
