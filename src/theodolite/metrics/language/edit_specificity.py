"""Does an edit of one concept move that concept most?"""

import numpy as np

from theodolite.evidence.kinds.edit import EditEvidence
from theodolite.metrics.base import Card, NullModel, PerSample, SampleMean, metric
from theodolite.metrics.language._edit_nulls import DEALT_OUT, mean_of_others


def _moved_most(evidence: EditEvidence) -> np.ndarray:
    """Which concept moved more than all others; none where two moved as far, or none moved."""
    far = np.abs(evidence.moved())
    most = far == far.max(axis=1, keepdims=True, initial=0)
    return np.asarray(most & (most.sum(axis=1) == 1)[:, None] & (far > 0))


def _other_moved_most(evidence: EditEvidence) -> PerSample:
    return mean_of_others(evidence, _moved_most(evidence))


ANOTHER_NAME = NullModel(
    "another concept's name",
    "whether another concept moved most, on average over them",
    expected=_other_moved_most,
    random=False,
)


@metric(
    "edit_specificity",
    title="Specificity under edits",
    version=1,
    question="leak_free",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("edited", "direction", "before", "after"),
    nulls=(DEALT_OUT, ANOTHER_NAME),
    reliable_from=0.8,
    cite="abraham2022cebab",
    asked_as="Does an edit of one concept leave the others alone?",
    card=Card(
        asks="Does the concept that was edited move more than every other?",
        read="0.6 means that in six of ten edits the edited concept's value moved most. Concepts "
        "that carry one another move together and come near the nulls. From 0.8 on we would rely "
        "on it; a convention.",
        misleads="A concept on a wider scale than the others moves most at every edit: put values "
        "on one scale first. An edit may really touch two concepts.",
        cost="one comparison per edit and concept",
        says="In {value} of the edits the one of the {noun} that was edited moves most "
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
        """Whether each edit moved its own concept most."""
        own = _moved_most(evidence)[np.arange(len(evidence)), evidence.edited]
        compared = np.full(len(own), float(len(evidence.concepts) > 1))
        return PerSample(own.astype(float), compared, np.ones(len(own), bool))
