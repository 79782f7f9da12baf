"""Do the concepts predict how the output changes under an edit?"""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from theodolite.evidence.kinds.edit import PROBABILITIES, EditEvidence
from theodolite.metrics.base import Card, NullModel, PerSample, SampleMean, metric
from theodolite.metrics.language._edit_nulls import EXPLAINED_BY_OTHERS

Distance = Annotated[
    Literal["cosine", "l2", "norm"],
    Field(description="Of two changes: 1 - cosine, length of the difference, or of lengths."),
]


def _changes(evidence: EditEvidence) -> tuple[np.ndarray, np.ndarray]:
    """How the output changed, and how the concepts say that it did."""
    before, after, predicted_before, predicted_after = (
        np.asarray(getattr(evidence, name), float) for name in PROBABILITIES
    )
    return after - before, predicted_after - predicted_before


def _apart(true: np.ndarray, predicted: np.ndarray, distance: Distance) -> PerSample:
    lengths = np.linalg.norm(true, axis=1), np.linalg.norm(predicted, axis=1)
    everywhere = np.ones(len(true), bool)
    if distance == "l2":
        return PerSample(np.linalg.norm(true - predicted, axis=1), np.ones(len(true)), everywhere)
    if distance == "norm":
        return PerSample(np.abs(lengths[0] - lengths[1]), np.ones(len(true)), everywhere)
    product = lengths[0] * lengths[1]
    cosine = np.einsum("ij,ij->i", true, predicted) / np.where(product > 0, product, 1.0)
    apart = np.clip(1.0 - cosine, 0.0, 2.0)
    return PerSample(np.where(product > 0, apart, 0.0), (product > 0).astype(float), everywhere)


def _no_change(evidence: EditEvidence, *, distance: Distance) -> PerSample:
    true, _ = _changes(evidence)
    if distance != "cosine":
        return _apart(true, np.zeros_like(true), distance)
    # no direction is as near to the true one as a right angle
    changed = true.any(axis=1).astype(float)
    return PerSample(changed, changed, np.ones(len(true), bool))


NO_CHANGE = NullModel(
    "no change", "the concepts say that nothing changes", expected=_no_change, random=False
)


@metric(
    "edit_effect_error",
    title="Error of effects of edits",
    version=1,
    question="faithful",
    better="lower",
    bounds=(0.0, 2.0),
    uses=("edited", "direction", *PROBABILITIES),
    nulls=(EXPLAINED_BY_OTHERS, NO_CHANGE),
    reliable_from=0.5,
    share_from="null",
    cite="abraham2022cebab",
    paper_names=("ICaCE_error",),
    asked_as="Do the concepts predict what an edit does to the output?",
    card=Card(
        asks="How far is the change that the concepts predict from the real change of the output?",
        read="0 is a change in the same direction, 1 a right angle, 2 the opposite. Both nulls lie "
        "near 1. From half of the way from the harder one to 0 on we would rely on it, a "
        "convention.",
        misleads="`l2` is small where little changes at all: saying that nothing ever changes may "
        "do nearly as well. `cosine` does not see how large a change is.",
        cost="one product per edit",
        says="Between the change that {noun} predict and the real change lies {value}, where 0 "
        "is the same direction and 1 none ({low}–{high}{best}). {null}{enough}.",
    ),
)
class EditEffectError(SampleMean):
    r"""Mean distance between the change of the output under an edit and the predicted one.

    .. math:: \frac1N \sum_i \operatorname{dist}(p'_i - p_i,\; q'_i - q_i)

    with the explained model's probabilities :math:`p` and those that the explanation makes of the
    concepts :math:`q`, before and after edit :math:`i`. ``distance``: one minus the cosine, the
    length of the difference, or the difference of the lengths. For the cosine an edit after which
    either does not change is undefined. After :cite:t:`abraham2022cebab`.

    Example:
        >>> from theodolite.metrics import edit_effect_error
        >>> output = {"output_before": [[0.5, 0.5]], "output_after": [[0.9, 0.1]]}
        >>> concepts = {"surrogate_before": [[0.5, 0.5]], "surrogate_after": [[0.7, 0.3]]}
        >>> round(edit_effect_error(**output, **concepts, edited=[0], direction=[1]), 6)
        0.0
        >>> edits = {"edited": [0], "direction": [1], "distance": "norm"}
        >>> round(edit_effect_error(**output, **concepts, **edits), 6)
        0.282843
    """

    @staticmethod
    def each(evidence: EditEvidence, *, distance: Distance = "cosine") -> PerSample:
        """How far each predicted change is from the real one."""
        return _apart(*_changes(evidence), distance)
