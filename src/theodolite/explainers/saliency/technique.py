"""What a way of explaining is: how it works, what it applies to, what its numbers mean."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Technique:
    """One row of the table of explainers."""

    name: str
    title: str
    functioning: Literal[
        "gradient",
        "perturbation",
        "factorisation",
        "gradient and factorisation",
        "interpretable latent space",
        "counterfactual",
        "none",
    ]
    """What the explanation is computed from; "none" for maps that do not look at the network."""
    attribution_on: Literal["images", "concepts"]
    stage: Literal["post-hoc", "ante-hoc"]
    applies_to: tuple[str, ...]
    library: str
    """Who computes it; "ours" where no library is called."""
    sign: Literal["positive", "signed"]
    """Whether relevance against the class is kept."""
    scale: str
    """What the numbers are."""
    loses: str
    """What the adapter or its library loses; "" if nothing."""
    cite: str
    """The key of the method's paper in the list of references; "" for a null."""
    cost: str
    paper: bool = False
    """Whether it is in Table 7 of :cite:t:`kazmierczak2024benchmarking`."""
