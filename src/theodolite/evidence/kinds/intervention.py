"""Evidence about test-time interventions: whether predictions are correct after correcting
concepts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool

from theodolite.evidence.axes import Policies
from theodolite.evidence.base import Evidence, array
from theodolite.questions import Question


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class InterventionEvidence(Evidence):
    """Whether the model's answer is right while its concepts are corrected one after the other."""

    kind = "intervention"
    version = 1
    marker = "right_after"
    ways: ClassVar[Mapping[Question, str]] = {
        "leak_free": "whether the answer is right as concepts are corrected (`right_after`)"
    }

    right_after: Bool[np.ndarray, "samples policies steps"] = array(
        "samples", "policies", "steps", content="flag"
    )
    """Right after 0, 1, 2, … concepts were replaced by the truth, in the order of each policy."""
    right_reference: Bool[np.ndarray, " samples"] | None = array(
        "samples", content="flag", optional=True
    )
    """Whether a head trained on true concepts is right, one of the same kind."""
    policies: Policies = Policies()
