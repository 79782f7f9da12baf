"""Run a language model with changes at one place, and read the probability of a set of tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from theodolite.language.dictionaries.torch_codes import Tensor, to_host
from theodolite.language.models.hooked import HookedModel, Ids

TEXTS_TOGETHER = 64
"""Texts whose next-token distributions are in memory at once."""
Change = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class TargetReader:
    """Log-probability, at the last token of each text, that the next one is of a set."""

    network: HookedModel
    ids: Ids

    def read(
        self, target: Int[np.ndarray, " target"], rows: Sequence[int], change: Change | None = None
    ) -> Float[np.ndarray, " rows"]:
        """Return it for some texts, with activations changed at all their tokens."""
        import torch  # noqa: PLC0415  an extra

        parts = []
        for at in range(0, len(rows), TEXTS_TOGETHER):
            some = [self.ids[row] for row in rows[at : at + TEXTS_TOGETHER]]
            batch = self.network.run(list(range(len(some))), some, change, logits=True)
            assert batch.logits is not None  # noqa: S101  they were asked for
            last = torch.as_tensor([len(own) for own in some]).to(batch.logits.device)
            every = torch.arange(len(some)).to(last.device)
            log = torch.log_softmax(batch.logits[every, last].float(), dim=1)
            chosen = log[:, torch.as_tensor(target).to(log.device)]
            parts.append(to_host(chosen.logsumexp(dim=1)))
        return np.concatenate(parts).astype(np.float64)

    def gradient(
        self, target: Int[np.ndarray, " target"], row: int
    ) -> Float[np.ndarray, "tokens dimensions"]:
        """Return its gradient at the activations of one text."""
        import torch  # noqa: PLC0415

        def last(logits: Tensor) -> Tensor:
            log = torch.log_softmax(logits[-1].float(), dim=0)
            return log[torch.as_tensor(target).to(log.device)].logsumexp(dim=0)

        return self.network.gradient(self.ids[row], last)
