"""Metrics of whether concepts follow edits of a text."""

from functools import partial
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from theodolite.evidence.kinds.edit import PROBABILITIES, EditEvidence
from theodolite.metrics.base import Card, NullModel, PerSample, SampleMean, metric, ratio
from theodolite.metrics.null_model import from_another_sample

DEALT_OUT = from_another_sample(
    "permuted_edits", "what the values did under the edit of another input", "before", "after"
)
EXPLAINED_BY_OTHERS = from_another_sample(
    "permuted_edits",
    "the change that the concepts predict for the edit of another input",
    "surrogate_before",
    "surrogate_after",
)
edit_metric = partial(
    metric,
    better="higher",
    bounds=(0.0, 1.0),
    uses=("edited", "direction", "before", "after"),
    threshold=0.8,
    cite="abraham2022cebab",
)


def average_others(evidence: EditEvidence, each: np.ndarray) -> PerSample:
    """Compute the mean over the concepts that were not edited."""
    n_others = each.shape[1] - 1
    part = each.sum(axis=1) - each[np.arange(len(each)), evidence.edited]
    return PerSample.from_values(part / max(n_others, 1), np.full(len(each), n_others > 0))


def _has_followed(evidence: EditEvidence) -> np.ndarray:
    """Return whether each concept moved in the direction of the edit."""
    return np.asarray(np.sign(evidence.moved()) == np.asarray(evidence.direction)[:, None])


OTHERS_FOLLOWED = NullModel(
    "another_concept",
    "whether the other concepts moved to that side, on average over them",
    expected=lambda evidence: average_others(evidence, _has_followed(evidence)),
    random=False,
    label="another_concept",
)


@edit_metric(
    "edit_direction",
    title="Direction under edits",
    question="exists",
    nulls=(OTHERS_FOLLOWED, DEALT_OUT),
    asked_as="Does the named concept follow edits of the input?",
    card=Card(
        question="Does the value of a concept move the way an edit of that concept was meant to?",
        interpretation="0.8 means that four of five edits moved the concept's value to the side "
        "that was meant. Values that move alike for all concepts are seen in the null that reads "
        "another concept. From 0.8 on we would rely on it; a convention.",
        limitations="A value that moves at every edit, to any side, gets a half. Nothing is said "
        "of how far it moved.",
        cost="one comparison per edit",
        template="For {value} of the edits the value of the edited one of the {noun} moves the way "
        "that was meant ({low}–{high}{best}). {null}{enough}.",
    ),
)
class EditDirection(SampleMean):
    r"""Share of edits after which the edited concept's value moved to the side that was meant.

    .. math:: \frac1N \sum_i 1[\operatorname{sign}(c'_{i e_i} - c_{i e_i}) = d_i]

    with the values :math:`c` before and :math:`c'` after edit :math:`i` of concept :math:`e_i` in
    direction :math:`d_i`. A value that did not move is a miss. No edit: NaN. Edits of reviews with
    this purpose are those of :cite:t:`abraham2022cebab`.

    Example:
        >>> from theodolite.metrics import edit_direction
        >>> before = [[0.2, 0.5], [0.6, 0.5], [0.5, 0.5]]
        >>> after = [[0.7, 0.5], [0.6, 0.5], [0.4, 0.5]]
        >>> round(edit_direction([0, 0, 0], [1, 1, -1], before, after), 6)
        0.666667
    """

    @staticmethod
    def each(evidence: EditEvidence) -> PerSample:
        return PerSample.from_values(
            _has_followed(evidence)[np.arange(len(evidence)), evidence.edited]
        )


def _find_most_moved(evidence: EditEvidence) -> np.ndarray:
    """Return the concept that moved most; none if tied or unmoved."""
    far = np.abs(evidence.moved())
    most = far == far.max(axis=1, keepdims=True, initial=0)
    return np.asarray(most & (most.sum(axis=1) == 1)[:, None] & (far > 0))


OTHERS_MOVED_MOST = NullModel(
    "another_concept",
    "whether another concept moved most, on average over them",
    expected=lambda evidence: average_others(evidence, _find_most_moved(evidence)),
    random=False,
    label="another_concept",
)


@edit_metric(
    "edit_specificity",
    title="Specificity under edits",
    question="leak_free",
    nulls=(DEALT_OUT, OTHERS_MOVED_MOST),
    asked_as="Does an edit of one concept leave the others alone?",
    card=Card(
        question="Does the concept that was edited move more than every other?",
        interpretation="0.6 means that in six of ten edits the edited concept's value moved most. "
        "Concepts that carry one another move together and come near the nulls. From 0.8 on we "
        "would rely on it; a convention.",
        limitations="A concept on a wider scale than the others moves most at every edit: put "
        "values on one scale first. An edit may really touch two concepts. Nothing is said of how "
        "much less the others move.",
        cost="one comparison per edit and concept",
        template="In {value} of the edits the one of the {noun} that was edited moves most "
        "({low}–{high}{best}). {null}{enough}.",
    ),
)
class EditSpecificity(SampleMean):
    r"""Share of edits after which the edited concept's value moved more than any other.

    .. math:: \frac1N \sum_i 1[|\delta_{i e_i}| > \max_{j \ne e_i} |\delta_{ij}|]

    with :math:`\delta` the values after minus those before edit :math:`i` of concept :math:`e_i`.
    A tie, or no movement at all, is a miss. Fewer than two concepts: NaN. The edits are meant to be
    of one concept each, as those of :cite:t:`abraham2022cebab`.

    Example:
        >>> from theodolite.metrics import edit_specificity
        >>> before = [[0.2, 0.5], [0.6, 0.5], [0.5, 0.5]]
        >>> after = [[0.7, 0.4], [0.6, 0.5], [0.4, 0.9]]
        >>> round(edit_specificity([0, 0, 0], [1, 1, -1], before, after), 6)
        0.333333
    """

    @staticmethod
    def each(evidence: EditEvidence) -> PerSample:
        own = _find_most_moved(evidence)[np.arange(len(evidence)), evidence.edited]
        return PerSample.from_values(own, np.full(len(own), len(evidence.concepts) > 1))


Distance = Annotated[
    Literal["cosine", "l2", "norm"],
    Field(description="Of two changes: 1 - cosine, length of the difference, or of lengths."),
]


def _compute_changes(evidence: EditEvidence) -> tuple[np.ndarray, np.ndarray]:
    """Return the change of the output, and the change that the concepts predict."""
    before, after, predicted_before, predicted_after = (
        np.asarray(getattr(evidence, name), float) for name in PROBABILITIES
    )
    return after - before, predicted_after - predicted_before


def _apart(true: np.ndarray, predicted: np.ndarray, distance: Distance) -> PerSample:
    lengths = np.linalg.norm(true, axis=1), np.linalg.norm(predicted, axis=1)
    if distance == "l2":
        return PerSample.from_values(np.linalg.norm(true - predicted, axis=1))
    if distance == "norm":
        return PerSample.from_values(np.abs(lengths[0] - lengths[1]))
    cosine = ratio(np.einsum("ij,ij->i", true, predicted), lengths[0] * lengths[1])
    return PerSample.from_values(np.clip(1.0 - cosine, 0.0, 2.0))


def _no_change(evidence: EditEvidence, *, distance: Distance) -> PerSample:
    true, _ = _compute_changes(evidence)
    if distance != "cosine":
        return _apart(true, np.zeros_like(true), distance)
    # no direction is as near to the true one as a right angle
    changed = true.any(axis=1).astype(float)
    return PerSample.from_values(changed, changed)


NO_CHANGE = NullModel(
    "no_change", "the concepts say that nothing changes", expected=_no_change, random=False
)


@edit_metric(
    "edit_effect_error",
    title="Error of effects of edits",
    question="faithful",
    better="lower",
    bounds=(0.0, 2.0),
    uses=("edited", "direction", *PROBABILITIES),
    nulls=(EXPLAINED_BY_OTHERS, NO_CHANGE),
    threshold=0.5,
    threshold_from="null",
    paper_names=("ICaCE_error",),
    asked_as="Do the concepts predict what an edit does to the output?",
    card=Card(
        question="How far is the change that the concepts predict from the real change of the "
        "output?",
        interpretation="0 is a change in the same direction, 1 a right angle, 2 the opposite. Both "
        "nulls lie near 1. From half of the way from the harder one to 0 on we would rely on it, a "
        "convention.",
        limitations="`l2` is small where little changes at all: saying that nothing ever changes "
        "may do nearly as well. `cosine` does not see how large a change is.",
        cost="one product per edit",
        template="Between the change that {noun} predict and the real change lies {value}, where 0 "
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
        return _apart(*_compute_changes(evidence), distance)
