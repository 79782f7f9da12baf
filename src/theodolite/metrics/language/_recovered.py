"""How much of what an ablation destroys is there again: sums, and nulls."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite.evidence.columns import with_arrays
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged, rows_of
from theodolite.metrics.base import Additive, NullModel, Weights, ratio, total

Ablation = Annotated[
    Literal["mean", "zero"],
    Field(description="What is put in for the activations: their mean, or zeros."),
]
OF = {"mean": "ablated", "zero": "zeroed"}


@dataclass(frozen=True)
class Recovered(Additive):
    """Sums over tokens of what an ablation costs, and of what is left of that."""

    cost: Float[np.ndarray, "*resamples"]
    """What the ablation costs more than the network as it is."""
    recovered: Float[np.ndarray, "*resamples"]
    """What it costs more than what the dictionary rebuilds."""
    sequences: Float[np.ndarray, "*resamples"]
    empty: Float[np.ndarray, "*resamples"]

    counts_of: ClassVar[str] = "sequences"

    @classmethod
    def of_tokens(
        cls, clean: np.ndarray, spliced: Ragged, ablated: Ragged, weights: Weights
    ) -> Any:
        """From what each token costs; tokens without a next one are left out."""
        known = ~(np.isnan(clean) | np.isnan(spliced.flat) | np.isnan(ablated.flat))

        def sums(values: np.ndarray) -> np.ndarray:
            return spliced.sums(np.where(known, np.asarray(values, float), 0.0))

        some = (sums(np.ones(len(known))) > 0).astype(float)
        return cls(
            cost=total(sums(ablated.flat) - sums(clean), weights),
            recovered=total(sums(ablated.flat) - sums(spliced.flat), weights),
            sequences=total(some, weights),
            empty=total(1.0 - some, weights),
        )

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """Sequences that entered, and those without a next token."""
        return self.sequences, self.empty

    def value(self) -> np.ndarray:
        """The share that is recovered; undefined where the ablation costs nothing."""
        return ratio(np.asarray(self.recovered), np.asarray(self.cost))


def nulls_of(measure: str) -> tuple[NullModel, NullModel]:
    """Dictionaries of random directions, and the mean activation; ``measure`` of what is put in."""

    draws = f"chance_{measure}_spliced"

    def random_dictionary(evidence: TokenEvidence, number: int) -> TokenEvidence:
        spliced, chance = f"{measure}_spliced", getattr(evidence, draws)
        own = rows_of(getattr(evidence, spliced))
        gone = np.full(len(own.flat), np.nan)  # as one that was not tried: it is left out
        flat = gone if chance is None else chance.flat[:, number % chance.flat.shape[1]]
        return with_arrays(evidence, **{spliced: Ragged(flat, own.starts)})

    def mean_activation(evidence: TokenEvidence, seed: int) -> TokenEvidence:
        del seed
        mean = getattr(evidence, f"{measure}_ablated")
        return with_arrays(evidence, **{f"{measure}_spliced": mean})

    return (
        NullModel(
            "a random dictionary",
            "what a dictionary of random directions rebuilds, the mean over those that were tried; "
            "undefined where none was",
            random_dictionary, draws_in=draws,
        ),
        NullModel(
            "the mean activation", "the same vector put in at every token", mean_activation,
            random=False,
        ),
    )  # fmt: skip
