"""Answers while concepts are corrected one after the other."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from theodolite.evidence.axes import Policies
from theodolite.evidence.base import Evidence, array


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class InterventionEvidence(Evidence):
    """Whether the model's answer is right while its concepts are corrected one after the other."""

    kind = "intervention"
    version = 1

    right_after: Bool[np.ndarray, "samples policies steps"] = array(
        "samples", "policies", "steps", content="flag"
    )
    """Right after 0, 1, 2, … concepts were replaced by the truth, in the order of each policy."""
    right_reference: Bool[np.ndarray, " samples"] | None = array(
        "samples", content="flag", optional=True
    )
    """Whether a head of the same kind, trained on the true concepts, is right."""
    policies: Policies = Policies()
