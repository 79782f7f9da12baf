"""How far the output moves while features are removed: what necessity and sufficiency share."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.attribution import (
    ANOTHER,
    ONE_ORDER,
    RANDOM,
    AttributionEvidence,
)
from theodolite.metrics.base import NullModel, PerSample

Removals = Annotated[
    Sequence[Literal["background", "conditional"]],
    Field(min_length=1, description="Background rows: any, or those most like the sample."),
]
IN_GENERAL = (
    "These attributions say what the model uses in general; for the single case they add nothing "
    "sure."
)


def mean_change(
    evidence: AttributionEvidence, answers: Float[np.ndarray, "samples removals steps"]
) -> Float[np.ndarray, "samples removals"]:
    """How far the output is from the answers, mean over steps."""
    output = np.asarray(evidence.output, float)[:, None, None]
    return np.asarray(np.abs(output - answers).mean(axis=2))


def changes(evidence: AttributionEvidence, curve: str, removal: Sequence[str]) -> PerSample:
    """A value for each sample and way of removal."""
    moved = mean_change(evidence, np.asarray(getattr(evidence, curve)))
    return each_of(moved[:, positions(evidence, removal)])


def each_of(values: Float[np.ndarray, "samples *n"]) -> PerSample:
    """A value for each sample; NaN is undefined, and counted as that."""
    known = ~np.isnan(values)
    return PerSample(np.where(known, values, 0.0), known.astype(float), np.ones(len(values), bool))


def positions(evidence: AttributionEvidence, removal: Sequence[str]) -> list[int]:
    """Where ways of removal are; without names the first is any background row."""
    names = evidence.removals.names
    lacking = [name for name in removal if name not in names]
    if lacking and not (lacking == ["background"] and "conditional" not in names):
        raise EvidenceError(
            f"removal={lacking[0]!r}", f"{list(names)}", "it in the evidence",
            f"Make it: theodolite.attribution_plan(evidence, removal={lacking[0]!r}).",
        )  # fmt: skip
    return [names.index(name) if name in names else 0 for name in removal]


def in_evidence(evidence: AttributionEvidence) -> dict[str, Any]:
    """The ways of removal that the evidence has."""
    known = tuple(n for n in ("background", "conditional") if n in evidence.removals.names)
    return {"removal": known} if known else {}


def _expected(curve: str, order: str) -> Callable[..., PerSample]:
    """What features in another order change, mean over the draws of that order."""

    def expected(
        evidence: AttributionEvidence, *, removal: Removals = ("background",)
    ) -> PerSample:
        answers = np.asarray(getattr(evidence, curve))
        draws = [i for i, name in enumerate(evidence.chances.names) if name.startswith(order)]
        if not draws:
            return each_of(np.full((len(evidence), len(removal)), np.nan))
        moved = np.mean([mean_change(evidence, answers[:, i]) for i in draws], axis=0)
        return each_of(moved[:, positions(evidence, removal)])

    return expected


def null_orders(curve: str) -> tuple[NullModel, ...]:
    """Features in orders that know less, the hardest first; they share their background rows with
    the score."""
    return (
        NullModel(
            ONE_ORDER, "every sample's features in the order of their mean attribution",
            expected=_expected(curve, ONE_ORDER), random=False, if_not_beaten=IN_GENERAL,
        ),
        NullModel(
            ANOTHER, "the features that are named for another sample",
            expected=_expected(curve, ANOTHER), random=False, if_not_beaten=IN_GENERAL,
        ),
        NullModel(
            RANDOM, "as many features, drawn at random",
            expected=_expected(curve, RANDOM), random=False,
        ),
    )  # fmt: skip


def best_order(evidence: AttributionEvidence) -> AttributionEvidence:
    """The features that a search which asks the model found."""
    return replace(evidence, removed=evidence.best_removed)
