"""Metrics of rationales: do the marked tokens matter to the model, and did people mark them too?"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.evidence.ragged import Ragged, require_ragged
from theodolite.metrics.base import Card, NullModel, PerSample, SampleMean, metric, ratio

Form = Annotated[
    Literal["mean", "as_published"],
    Field(description="Over steps: their mean, or as published with the empty step as 0."),
]


def compute_falls(evidence: TokenEvidence, answers: np.ndarray, form: Form) -> PerSample:
    """Return the mean fall of the output from that of the whole text, over ways and steps."""
    far = np.asarray(evidence.clean, float)[:, None, None] - np.asarray(answers, float)
    known = ~np.isnan(far)
    n = known.sum(axis=(1, 2))
    mean = np.where(known, far, 0.0).sum(axis=(1, 2)) / np.maximum(n, 1)
    if form == "as_published":
        steps = far.shape[2]
        mean = mean * steps / (steps + 1)
    return PerSample.from_values(mean, n > 0)


def compute_random_falls(chance: str) -> NullModel:
    """Return the mean fall for equally many random tokens."""

    def expected(evidence: TokenEvidence, *, form: Form) -> PerSample:
        answers = getattr(evidence, chance)
        if answers is None:
            return PerSample.from_values(np.full(len(evidence), np.nan))
        shape = (len(answers), answers.shape[1] * answers.shape[2], answers.shape[3])
        return compute_falls(evidence, answers.reshape(shape), form)

    return NullModel(
        "random_tokens",
        "equally many tokens at random, in runs of the same lengths; undefined where these were "
        "not tried",
        expected=expected,
        random=False,
    )


erasure_metric = partial(
    metric, question="located", bounds=(-1.0, 1.0), decides=False, cite="deyoung2020eraser"
)


class ErasedTokens(SampleMean):
    """Mean over sequences of how far the answer falls without some of the tokens."""

    answers: ClassVar[str]
    """The array with the answers."""

    @classmethod
    def each(cls, evidence: TokenEvidence, *, form: Form = "mean") -> PerSample:
        """Measure how far each answer falls."""
        return compute_falls(evidence, np.asarray(getattr(evidence, cls.answers)), form)


@erasure_metric(
    "comprehensiveness",
    title="Comprehensiveness of rationales",
    better="higher",
    uses=("clean", "removed"),
    may_use=("chance_removed",),
    nulls=(compute_random_falls("chance_removed"),),
    asked_as="Does the answer need the tokens that are said to matter?",
    card=Card(
        question="How far does the probability of the answer fall without the most relevant "
        "tokens?",
        interpretation="A difference of probabilities: 0.5 is a fall from 0.9 to 0.4. Compare with "
        "as many tokens at random.",
        limitations="Deleting tokens makes texts that nobody would write; the fall may be due to "
        "that. Give both ways, deleting and masking.",
        cost="one run of the network for each step and way",
    ),
)
class Comprehensiveness(ErasedTokens):
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

    answers = "removed"


@erasure_metric(
    "sufficiency",
    title="Sufficiency of rationales",
    better="lower",
    uses=("clean", "only"),
    may_use=("chance_only",),
    nulls=(compute_random_falls("chance_only"),),
    asked_as="Do the tokens that are said to matter suffice?",
    card=Card(
        question="How far does the probability of the answer fall with nothing but the most "
        "relevant tokens?",
        interpretation="A difference of probabilities; 0 means that these tokens alone do. Compare "
        "with as many tokens at random.",
        limitations="A few words alone are no text that the network has learned from. Below 0, the "
        "rest of the text spoke against the answer.",
        cost="one run of the network for each step and way",
    ),
)
class Sufficiency(ErasedTokens):
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

    answers = "only"


def compute_marked_share(evidence: TokenEvidence) -> tuple[np.ndarray, np.ndarray]:
    """Return the marked fraction of each sequence's tokens, and whether it is neither 0 nor 1."""
    rationale = require_ragged(evidence.rationale)
    marked, n = rationale.sums(), rationale.lengths
    return marked / np.maximum(n, 1), (marked > 0) & (marked < n)


def by_relevance(relevance: Ragged) -> np.ndarray:
    """Positions of all tokens, sequence by sequence, the most relevant first; of equals the
    earlier."""
    return np.lexsort((np.arange(len(relevance.flat)), -relevance.flat, relevance.row))


def _first_tokens(evidence: TokenEvidence, seed: int) -> TokenEvidence:
    del seed
    own = require_ragged(evidence.relevance)
    place = np.arange(len(own.flat)) - own.starts[:-1][own.row]
    # falls by halves: the first token has about half of all relevance
    return replace_arrays(evidence, relevance=Ragged(0.5**place, own.starts))


def _counts(evidence: TokenEvidence) -> dict[str, np.ndarray]:
    return {"counts": np.bincount(_ids(evidence), minlength=VOCABULARY)}


def _ids(evidence: TokenEvidence) -> np.ndarray:
    return np.asarray(np.minimum(require_ragged(evidence.tokens).flat, VOCABULARY - 1))


VOCABULARY = 1 << 18
"""Ids that are told apart; those beyond, if there are any, count as one."""


def _rare_tokens(
    evidence: TokenEvidence, seed: int, sums: Mapping[str, np.ndarray]
) -> TokenEvidence:
    del seed
    tokens, counts = require_ragged(evidence.tokens), sums["counts"]
    share = np.maximum(counts[_ids(evidence)], 1) / max(counts.sum(), 1)
    rare = Ragged(-np.log(share), tokens.starts)
    return replace_arrays(evidence, relevance=rare)


def _uniform(evidence: TokenEvidence) -> PerSample:
    return PerSample.from_values(*compute_marked_share(evidence))


NULLS = (
    NullModel(
        "rare_tokens",
        "minus the logarithm of how often a token occurs: rare words are content words",
        _rare_tokens, sums=_counts, random=False,
    ),
    NullModel("first_tokens", "the earlier, the more relevant", _first_tokens, random=False),
    NullModel(
        "uniform_relevance", "every token as relevant as every other",
        expected=_uniform, random=False,
    ),
)  # fmt: skip
rationale_metric = partial(
    metric,
    question="located",
    asked_as="Are the tokens that are said to matter those that people marked?",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("relevance", "rationale"),
    nulls_use=("tokens",),
    threshold=0.8,
    nulls=NULLS,
    cite="deyoung2020eraser",
)
rationale_card = partial(
    Card,
    limitations="A network may go by other words than people would mark; a faithful relevance "
    "then lies elsewhere. Rare words are content words, so a map of rarity looks like an "
    "explanation: beat that first. Relevance that is always highest at the end of a text scores "
    "high where rationales are always there; no baseline does that.",
    cost="one pass over the tokens",
)


class InRationale(SampleMean):
    """Mean over sequences of a share of marked tokens; undefined where none or all are marked."""

    share: ClassVar[Callable[..., np.ndarray]]
    """(relevance, rationale) -> the share of each sequence, NaN where undefined"""

    @classmethod
    def each(cls, evidence: TokenEvidence) -> PerSample:
        """Measure the share of each sequence."""
        share = cls.share(require_ragged(evidence.relevance), require_ragged(evidence.rationale))
        return PerSample.from_values(np.where(compute_marked_share(evidence)[1], share, np.nan))


@rationale_metric(
    "rationale_mass",
    title="Relevance in the rationale",
    decides=False,
    card=rationale_card(
        question="How much of the relevance lies on tokens that people marked?",
        interpretation="A share of the relevance. From 0.8 on we would rely on it; a convention.",
    ),
)
class RationaleMass(InRationale):
    r"""Share of the positive relevance that lies on marked tokens, mean over sequences.

    .. math:: \frac{\sum_{t \in M} r^+_t}{\sum_t r^+_t}

    Relevance below 0 counts as 0. No token marked, all marked, or no relevance above 0:
    undefined. Rationales of this kind: :cite:t:`deyoung2020eraser`.

    Example:
        >>> from theodolite.metrics import rationale_mass
        >>> round(rationale_mass([[0.1, 0.5, -0.2, 0.3]], [[0, 1, 0, 1]]), 6)
        0.888889
    """

    @staticmethod
    def share(relevance: Ragged, rationale: Ragged) -> np.ndarray:
        positive = np.maximum(relevance.flat.astype(float), 0.0)
        inside = relevance.sums(positive * rationale.flat)
        return np.asarray(np.minimum(ratio(inside, relevance.sums(positive)), 1.0))


@rationale_metric(
    "rationale_peak",
    title="Peak in the rationale",
    decides=False,
    card=rationale_card(
        question="Is the most relevant token among those that people marked?",
        interpretation="A share of the sequences. From 0.8 on we would rely on it; a convention.",
    ),
)
class RationalePeak(InRationale):
    r"""Share of sequences whose most relevant token is marked.

    .. math:: \frac1N \sum_s 1[\arg\max_t r_{st} \in M_s]

    Of equally relevant tokens the earliest. No token marked, or all: undefined.
    Rationales of this kind: :cite:t:`deyoung2020eraser`.

    Example:
        >>> from theodolite.metrics import rationale_peak
        >>> round(rationale_peak([[0.1, 0.5, -0.2, 0.3]], [[0, 1, 0, 1]]), 6)
        1.0
    """

    @staticmethod
    def share(relevance: Ragged, rationale: Ragged) -> np.ndarray:
        order, some = by_relevance(relevance), relevance.lengths > 0
        marked = np.full(len(some), np.nan)
        marked[some] = rationale.flat[order[relevance.starts[:-1][some]]]
        return marked


@rationale_metric(
    "rationale_rank",
    title="Most relevant tokens in the rationale",
    card=rationale_card(
        question="Of as many most relevant tokens as people marked, how many did they mark?",
        interpretation="A share of the marked tokens. From 0.8 on we would rely on it; a "
        "convention.",
        template="Of the tokens that are said to matter most, people marked {value} "
        "({low}–{high}{best}). {null}{enough}.",
    ),
)
class RationaleRank(InRationale):
    r"""Share of marked tokens among as many most relevant ones, mean over sequences.

    .. math:: \frac{|M \cap \operatorname{top}_{|M|}(r)|}{|M|}

    Of equally relevant tokens the earlier. No token marked, or all: undefined.
    Rationales of this kind: :cite:t:`deyoung2020eraser`.

    Example:
        >>> from theodolite.metrics import rationale_rank
        >>> round(rationale_rank([[0.1, 0.5, -0.2, 0.3]], [[0, 1, 0, 1]]), 6)
        1.0
    """

    @staticmethod
    def share(relevance: Ragged, rationale: Ragged) -> np.ndarray:
        order, n_marked = by_relevance(relevance), rationale.sums()
        place = np.arange(len(order)) - relevance.starts[:-1][relevance.row]
        first = place < n_marked[relevance.row]
        return ratio(relevance.sums(first & rationale.flat[order]), n_marked)
