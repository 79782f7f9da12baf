"""Read activations of one module of a language model, and predict tokens with replaced
activations."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError, did_you_mean, printable

MAX_BATCH_TOKENS = 2_048
"""Largest number of tokens per batch, padding included; longer sequences run alone."""
Ids = Sequence[Sequence[int]]
Replacement = Callable[[np.ndarray], np.ndarray]
"""Function from activations (n, dimensions) to their replacements."""


class _ModuleReached(Exception):
    """Stops a forward pass after the module."""


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

    def __post_init__(self) -> None:
        names = [name for name, _ in self.model.named_modules() if name]
        if self.module not in names:
            like = [name for name in names if name.rsplit(".", 1)[-1].isdigit()][:3]
            needed = f"a module of the network, such as {', '.join(like or names[:3])}"
            hint = did_you_mean(self.module, names)
            raise EvidenceError("module", repr(printable(self.module)), needed, hint)

    def activations(self, ids: Ids) -> Float[np.ndarray, "tokens dimensions"]:
        """Return activations at every token of all sequences, without start tokens."""
        parts: dict[int, np.ndarray] = {}
        for rows, outputs in self._passes(ids, None):
            for row, number in enumerate(rows):
                parts[number] = outputs["hidden"][row, 1 : 1 + len(ids[number])]
        return np.concatenate([parts[number] for number in range(len(ids))])

    def next_tokens(
        self, ids: Ids, replace: Replacement | None = None
    ) -> list[Float[np.ndarray, "tokens vocabulary"]]:
        """Return log-probabilities of the next token, with activations replaced at all tokens but
        the start.
        """
        parts: dict[int, np.ndarray] = {}
        for rows, outputs in self._passes(ids, replace, logits=True):
            for row, number in enumerate(rows):
                parts[number] = outputs["logits"][row, 1 : 1 + len(ids[number])]
        return [parts[number] for number in range(len(ids))]

    def _passes(
        self, ids: Ids, replace: Replacement | None, *, logits: bool = False
    ) -> Iterator[tuple[list[int], dict[str, np.ndarray]]]:
        import torch  # noqa: PLC0415  an extra

        ends = [] if self.end is None else [self.end]
        for rows in _batches(ids):
            longest = max(len(ids[number]) for number in rows) + 1 + len(ends)
            tokens = torch.zeros((len(rows), longest), dtype=torch.long)
            mask = torch.zeros((len(rows), longest), dtype=torch.long)
            for row, number in enumerate(rows):
                own = [self.start, *ids[number], *ends]
                tokens[row, : len(own)] = torch.tensor(own)
                mask[row, : len(own)] = 1
            inputs = {"input_ids": tokens, "attention_mask": mask}
            with torch.inference_mode(), self._hooked(mask, replace, ends=not logits) as seen:
                if logits:
                    output = self.model(**inputs, use_cache=False).logits
                else:
                    with suppress(_ModuleReached):
                        self.model(**inputs)
            outputs = {"hidden": seen[0]}
            if logits:
                outputs["logits"] = torch.log_softmax(output.double(), dim=-1).numpy()
            yield rows, outputs

    @contextmanager
    def _hooked(
        self, mask: Any, replace: Replacement | None, *, ends: bool
    ) -> Iterator[list[np.ndarray]]:
        """Collect the module's activations; with ``ends``, stop the forward pass after it."""
        import torch  # noqa: PLC0415

        seen: list[np.ndarray] = []
        real = mask.bool().clone()
        real[:, 0] = False  # the start token stays what it is

        def look(hidden: Any) -> Any:
            shape = tuple(getattr(hidden, "shape", ()))
            if len(shape) != 3 or shape[:2] != tuple(mask.shape):
                place = "into" if self.inputs else "from"
                got = f"{type(hidden).__name__} of shape {shape} {place} {self.module}"
                raise EvidenceError("module", got, "activations (sequences, tokens, dimensions)")
            seen.append(hidden.float().cpu().numpy())
            if ends:
                raise _ModuleReached
            if replace is None:
                return None
            changed = hidden.clone()
            others = np.array(replace(hidden[real].float().cpu().numpy()))
            changed[real] = torch.as_tensor(others, dtype=hidden.dtype, device=hidden.device)
            return changed

        handle = self._register(look)
        modes = {part: part.training for part in self.model.modules()}
        self.model.eval()
        try:
            yield seen
        finally:
            handle.remove()
            for part, training in modes.items():  # each as it was: parts may be frozen
                part.training = training

    def _register(self, look: Callable[[Any], Any]) -> Any:
        """Register a hook that reads and replaces the module's input or output."""

        def after(_: Any, __: Any, output: Any) -> Any:
            several = isinstance(output, tuple)
            changed = look(output[0] if several else output)
            return (changed, *output[1:]) if several and changed is not None else changed

        def before(_: Any, inputs: tuple[Any, ...]) -> Any:
            changed = look(inputs[0] if inputs else None)
            return None if changed is None else (changed, *inputs[1:])

        module = self.model.get_submodule(self.module)
        if self.inputs:
            return module.register_forward_pre_hook(before)
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
