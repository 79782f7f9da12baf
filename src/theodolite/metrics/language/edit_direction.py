"""Does a concept's value move the way its edit was meant to move it?"""

import numpy as np

from theodolite.evidence.kinds.edit import EditEvidence
from theodolite.metrics.base import Card, NullModel, PerSample, SampleMean, metric
from theodolite.metrics.language._edit_nulls import DEALT_OUT, mean_of_others


def _followed(evidence: EditEvidence) -> np.ndarray:
    """Whether each concept moved to the side that was meant for the edited one."""
    return np.asarray(np.sign(evidence.moved()) == np.asarray(evidence.direction)[:, None])


def _others_followed(evidence: EditEvidence) -> PerSample:
    return mean_of_others(evidence, _followed(evidence))


ANOTHER_NAME = NullModel(
    "another concept's name",
    "whether the other concepts moved to that side, on average over them",
    expected=_others_followed,
    random=False,
)


@metric(
    "edit_direction",
    title="Direction under edits",
    version=1,
    question="exists",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("edited", "direction", "before", "after"),
    nulls=(ANOTHER_NAME, DEALT_OUT),
    reliable_from=0.8,
    cite="abraham2022cebab",
    asked_as="Does the named concept follow edits of the input?",
    card=Card(
        asks="Does the value of a concept move the way an edit of that concept was meant to?",
        read="0.8 means that four of five edits moved the concept's value to the side that was "
        "meant. Values that move alike for all concepts are seen in the null that reads another "
        "concept. From 0.8 on we would rely on it; a convention.",
        misleads="A value that moves at every edit, to any side, gets a half. Nothing is said of "
        "how far it moved.",
        cost="one comparison per edit",
        says="For {value} of the edits the value of the edited one of the {noun} moves the way "
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
        """Whether each edit moved its concept as it was meant to."""
        part = _followed(evidence)[np.arange(len(evidence)), evidence.edited].astype(float)
        return PerSample(part, np.ones(len(part)), np.ones(len(part), bool))
