"""Do the tokens that are said to matter suffice for the answer?"""

import numpy as np

from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.language.rationales._answers import Form, falls, random_tokens


@metric(
    "sufficiency",
    title="Sufficiency of rationales",
    version=1,
    question="located",
    better="lower",
    bounds=(-1.0, 1.0),
    uses=("clean", "only"),
    may_use=("chance_only",),
    nulls=(random_tokens("chance_only"),),
    decides=False,
    cite="deyoung2020eraser",
    asked_as="Do the tokens that are said to matter suffice?",
    card=Card(
        asks="How far does the probability of the answer fall with nothing but the most relevant "
        "tokens?",
        read="A difference of probabilities; 0 means that these tokens alone do. Compare with as "
        "many tokens at random.",
        misleads="A few words alone are no text that the network has learnt from. Below 0, the "
        "rest of the text spoke against the answer.",
        cost="one run of the network for each step and way",
    ),
)
class Sufficiency(SampleMean):
    r"""Fall of the answer's probability with only the most relevant tokens, mean over steps.

    .. math:: \frac{1}{|B|} \sum_{b \in B} p(x) - p(r_b)

    with the :math:`b` per cent of tokens that are most relevant, :math:`r_b`; mean over ways to
    remove the others. With ``form="as_published"`` divided by :math:`|B| + 1`, as in
    :cite:t:`deyoung2020eraser`.

    Example:
        >>> from theodolite.metrics import sufficiency
        >>> round(sufficiency([0.9], [[[0.75]]]), 6)
        0.15
    """

    @staticmethod
    def each(evidence: TokenEvidence, *, form: Form = "mean") -> PerSample:
        """How far each answer falls."""
        return falls(evidence, np.asarray(evidence.only), form)
