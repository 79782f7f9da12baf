"""Properties of an explanation method: a row of the table of explainers."""

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
    """Source of the explanation; "none" for maps that ignore the network."""
    attribution_on: Literal["images", "concepts"]
    stage: Literal["post-hoc", "ante-hoc"]
    applies_to: tuple[str, ...]
    library: str
    """Library that computes it; "ours" if theodolite does."""
    sign: Literal["positive", "signed"]
    """Whether negative relevance is kept."""
    scale: str
    """Meaning of the numbers."""
    loses: str
    """Information that the adapter or its library loses; "" if nothing."""
    cite: str
    """Key of the method's paper in the references; "" for a baseline."""
    cost: str
    paper: bool = False
    """Whether it is in Table 7 of :cite:t:`kazmierczak2024benchmarking`."""
