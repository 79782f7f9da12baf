"""Does the answer change without the tokens that are said to matter?"""

import numpy as np

from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.language.rationales._answers import Form, falls, random_tokens


@metric(
    "comprehensiveness",
    title="Comprehensiveness of rationales",
    version=1,
    question="located",
    better="higher",
    bounds=(-1.0, 1.0),
    uses=("clean", "removed"),
    may_use=("chance_removed",),
    nulls=(random_tokens("chance_removed"),),
    decides=False,
    cite="deyoung2020eraser",
    asked_as="Does the answer need the tokens that are said to matter?",
    card=Card(
        asks="How far does the probability of the answer fall without the most relevant tokens?",
        read="A difference of probabilities: 0.5 is a fall from 0.9 to 0.4. Compare with as many "
        "tokens at random.",
        misleads="Deleting tokens makes texts that nobody would write; the fall may be due to "
        "that. Give both ways, deleting and masking.",
        cost="one run of the network for each step and way",
    ),
)
class Comprehensiveness(SampleMean):
    r"""Fall of the answer's probability without the most relevant tokens, mean over steps.

    .. math:: \frac{1}{|B|} \sum_{b \in B} p(x) - p(x \setminus r_b)

    with the :math:`b` per cent of tokens that are most relevant, :math:`r_b`; mean over ways to
    remove them. With ``form="as_published"`` the sum is divided by :math:`|B| + 1`, the empty step
    being 0, as in :cite:t:`deyoung2020eraser`.

    Example:
        >>> from theodolite.metrics import comprehensiveness
        >>> curve = [[[0.85, 0.6, 0.4, 0.35, 0.3]]]
        >>> round(comprehensiveness([0.9], curve), 6)
        0.4
        >>> round(comprehensiveness([0.9], curve, form="as_published"), 6)
        0.333333
    """

    @staticmethod
    def each(evidence: TokenEvidence, *, form: Form = "mean") -> PerSample:
        """How far each answer falls."""
        return falls(evidence, np.asarray(evidence.removed), form)
