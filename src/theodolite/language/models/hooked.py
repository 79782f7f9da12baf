"""Read activations of one module of a language model, and run it with replaced activations."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError, did_you_mean, printable
from theodolite.language.dictionaries.torch_codes import Tensor, to_host

MAX_BATCH_TOKENS = 2_048
"""Largest number of tokens per batch, padding included; longer sequences run alone."""
Ids = Sequence[Sequence[int]]
Replacement = Callable[[Tensor], Tensor]
"""Function from activations (n, dimensions) on the device to their replacements."""


class _ModuleReached(Exception):
    """Stops a forward pass after the module."""


class Batch(NamedTuple):
    """Texts that went through the network together, padded on the right; on its device."""

    rows: list[int]
    """Numbers of the texts."""
    tokens: Tensor
    """(texts, longest): the start token, the text, an end token if any, and padding."""
    real: Tensor
    """(texts, longest): whether a token is of the text."""
    hidden: Tensor
    """(texts, longest, dimensions)"""
    logits: Tensor | None


@dataclass(frozen=True, eq=False)
class HookedModel:
    """A language model and the module whose activations are read or replaced.

    One start token is put before every sequence and left out again: without it the first token has
    an activation many times as long as the others. Shorter sequences are padded on the right.
    """

    model: Any
    module: str
    """Name from ``model.named_modules()``, such as ``model.layers.5``."""
    start: int
    """Id of the start token."""
    inputs: bool = False
    """Whether to read the module's input instead of its output."""
    end: int | None = None
    """Id of a token put after every sequence and excluded again, as encoders need."""
    rebuilt: str | None = None
    """Module whose output is replaced, of transcoders; by default the one that is read."""

    def __post_init__(self) -> None:
        names = [name for name, _ in self.model.named_modules() if name]
        for module in {self.module, self.rebuilt or self.module}:
            if module not in names:
                like = [name for name in names if name.rsplit(".", 1)[-1].isdigit()][:3]
                needed = f"a module of the network, such as {', '.join(like or names[:3])}"
                hint = did_you_mean(module, names)
                raise EvidenceError("module", repr(printable(module)), needed, hint)

    @property
    def device(self) -> Any:
        """Device that the network is on."""
        return next(self.model.parameters()).device

    def at(self, module: str, *, inputs: bool = False) -> "HookedModel":
        """Return the same network, looked at elsewhere."""
        return replace(self, module=module, inputs=inputs, rebuilt=None)

    def activations(self, ids: Ids) -> Float[np.ndarray, "tokens dimensions"]:
        """Return activations at every token of all sequences, without start tokens."""
        parts: dict[int, np.ndarray] = {}
        for batch in self.batches(ids):
            hidden = to_host(batch.hidden)
            for row, number in enumerate(batch.rows):
                parts[number] = hidden[row, 1 : 1 + len(ids[number])]
        return np.concatenate([parts[number] for number in range(len(ids))])

    def batches(
        self, ids: Ids, change: Replacement | None = None, *, logits: bool = False
    ) -> Iterator[Batch]:
        """Run all sequences, with activations replaced at all tokens of texts."""
        for rows in _batches(ids):
            yield self.run(rows, [ids[number] for number in rows], change, logits=logits)

    def run(
        self,
        rows: list[int],
        ids: Ids,
        change: Replacement | None = None,
        *,
        logits: bool = False,
    ) -> Batch:
        """Run one batch; without logits it stops at the module."""
        import torch  # noqa: PLC0415  an extra

        ends = [] if self.end is None else [self.end]
        longest = max(map(len, ids)) + 1 + len(ends)
        tokens = np.zeros((len(ids), longest), np.int64)
        mask, real = np.zeros((2, len(ids), longest), bool)
        for row, own in enumerate(ids):
            whole = [self.start, *own, *ends]
            tokens[row, : len(whole)], mask[row, : len(whole)] = whole, True
            real[row, 1 : 1 + len(own)] = True
        numbers, attended, own_real = (
            torch.as_tensor(array).to(self.device) for array in (tokens, mask.astype(int), real)
        )
        inputs = {"input_ids": numbers, "attention_mask": attended}
        output = None
        with torch.inference_mode(), self._hooked(own_real, change, ends=not logits) as seen:
            if logits:
                output = self.model(**inputs, use_cache=False).logits
            else:
                with suppress(_ModuleReached):
                    self.model(**inputs)
        if not seen:
            needed = "a module that tokens pass through"
            raise EvidenceError(self.module, "no activation in a pass", needed)
        return Batch(rows, numbers, own_real, seen[0], output)

    def gradient(
        self, ids: Sequence[int], read: Callable[[Tensor], Tensor]
    ) -> Float[np.ndarray, "tokens dimensions"]:
        """Return the gradient, at the activations of one text, of a number that is read off its
        logits (tokens, vocabulary)."""
        import torch  # noqa: PLC0415

        seen: list[Tensor] = []

        def look(hidden: Any) -> Any:
            seen.append(hidden.detach().requires_grad_())
            return seen[0]

        tokens = torch.as_tensor([[self.start, *ids]]).to(self.device)
        handle = self._register(self.module, look, inputs=self.inputs)
        try:
            with torch.enable_grad():
                mask = torch.ones_like(tokens)
                output = self.model(input_ids=tokens, attention_mask=mask, use_cache=False)
                (slope,) = torch.autograd.grad(read(output.logits[0]), seen[0])
        finally:
            handle.remove()
        return to_host(slope[0, 1:])

    @contextmanager
    def _hooked(
        self, real: Tensor, change: Replacement | None, *, ends: bool
    ) -> Iterator[list[Tensor]]:
        seen: list[Tensor] = []

        def look(hidden: Any) -> Any:
            shape = getattr(hidden, "shape", ())
            if len(shape) != 3 or shape[:2] != real.shape:
                got = f"shape {tuple(shape)}" if shape else "no array"
                needed = "activations (sequences, tokens, dimensions)"
                raise EvidenceError(self.module, got, needed)
            seen.append(hidden)
            if ends:
                raise _ModuleReached
            return None if change is None or self.rebuilt else put_in(hidden)

        def put_in(hidden: Any) -> Any:
            import torch  # noqa: PLC0415

            source = seen[0]
            others = change(source.reshape(-1, source.shape[-1]))  # type: ignore[misc]
            others = others.to(hidden.dtype).reshape(hidden.shape)
            return torch.where(real[..., None], others, hidden)

        handles = [self._register(self.module, look, inputs=self.inputs)]
        if self.rebuilt and change is not None:
            handles.append(self._register(self.rebuilt, put_in, inputs=False))
        modes = {part: part.training for part in self.model.modules()}
        self.model.eval()
        try:
            yield seen
        finally:
            for handle in handles:
                handle.remove()
            for part, training in modes.items():  # each as it was: parts may be frozen
                part.training = training

    def _register(self, name: str, look: Callable[[Any], Any], *, inputs: bool) -> Any:
        """Register a hook that reads and replaces a module's input or output."""

        def after(_: Any, __: Any, output: Any) -> Any:
            several = isinstance(output, tuple)
            changed = look(output[0] if several else output)
            return (changed, *output[1:]) if several and changed is not None else changed

        def before(_: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
            if positional:
                changed = look(positional[0])
                return None if changed is None else ((changed, *positional[1:]), named)
            changed = look(named.get("hidden_states"))
            return None if changed is None else (positional, {**named, "hidden_states": changed})

        module = self.model.get_submodule(name)
        if inputs:
            return module.register_forward_pre_hook(before, with_kwargs=True)
        return module.register_forward_hook(after)


def _batches(ids: Ids) -> Iterator[list[int]]:
    batch: list[int] = []
    for number, own in enumerate(ids):
        if not len(own):
            raise EvidenceError("texts", f"no token in text {number}", "one or more in each")
        longest = max(len(own), *(len(ids[n]) for n in batch)) + 1 if batch else len(own) + 1
        if batch and longest * (len(batch) + 1) > MAX_BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
