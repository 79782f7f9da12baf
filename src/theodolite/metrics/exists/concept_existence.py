"""Metrics of whether the concepts that an explanation names are present in the input."""

import numpy as np

from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric, ratio
from theodolite.metrics.option_types import Top
from theodolite.metrics.shared import nulls, ranking
from theodolite.metrics.shared.ranking import Eligible, Order, Population, RankBy


@metric(
    "concept_existence",
    paper_names=("CEM",),
    title="Concept existence (CEM)",
    version=2,
    question="exists",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("values", "truth"),
    may_use=("known",),
    uses_if=ranking.USES_IF,
    sweeps=("top",),
    nulls=(nulls.SHUFFLED_CONCEPTS, nulls.SHUFFLED_SAMPLES, nulls.MOST_COMMON),
    headline={"top": 1},
    ideal=nulls.name_present_concepts,
    ideal_options={"rank_by": "value"},
    fitting=lambda evidence: {"top": ranking.choose_top_k(len(evidence.concepts))},
    threshold=0.8,
    cite="aysel2025concept",
    card=Card(
        question="Of the concepts that the explanation names first, how many are in the image?",
        interpretation="0.8 means that four of five named concepts are there. Compare with always "
        "naming the commonest concepts: an explanation that does not beat that list tells nothing "
        "about this sample. The best possible is below 1 where samples have fewer concepts than "
        "are named. From 0.8 of the best on we would rely on it; that line is a convention. The "
        "first concept decides; where more are named, the answer may differ.",
        limitations="Presence copied from the class (as for CUB without votes per image) rewards a "
        "model for knowing the class. Ranking by the concept's value alone scores high and says "
        "little: it ignores what the prediction was made of. Not seen: one fact under several "
        "names, mistakes that were declared unknown, and concepts that were fitted to or chosen on "
        "the audited samples.",
        cost="one sort of the concepts per sample",
        template="Of the {noun_named}, {value} are there ({low}–{high}{best}). {null}{enough}.",
    ),
)
class ConceptExistence(SampleMean):
    r"""Share of the first :math:`l` named concepts that are in the sample (CEM).

    .. math:: \rho_l = \frac1N \sum_i \frac1l \sum_{s=1}^{l} 1[q_{is} \in \Lambda_i]

    :math:`q_i` are the concepts of sample :math:`i` in descending order of importance for the
    predicted class, :math:`\Lambda_i` those that are there. A sample without any concept scores 0.
    Where presence is unknown (``known``), the pair is left out of both counts; a sample with
    nothing known is undefined. Under ``named="positive"`` only concepts with a value above 0 are
    named, fewer than :math:`l` where there are not so many, and a sample without any is undefined:
    else a concept with a negative value and a negative weight is named because it is absent.
    Introduced in :cite:t:`aysel2025concept`, eqs. 9 and 10.

    Example:
        >>> from theodolite.metrics import concept_existence
        >>> values, truth = [[0.9, 0.2, 0.5], [0.1, 0.8, 0.3]], [[1, 0, 0], [0, 1, 1]]
        >>> concept_existence(values, truth, rank_by="value", top=(1, 2))
        array([1.  , 0.75])
    """

    @staticmethod
    def each(
        evidence: ConceptEvidence,
        *,
        top: Top = (1, 3, 5),
        rank_by: RankBy = "contribution",
        order: Order = "signed",
        population: Population = "all",
        named: Eligible = "any",
    ) -> PerSample:
        lengths = np.asarray(ranking.validate_top_k(top, len(evidence.concepts)))
        scores = ranking.compute_importance(evidence, rank_by, order)
        first, known = ranking.select_top_eligible(
            scores, ranking.find_eligible(evidence, named), int(lengths.max())
        )
        if evidence.known is not None:
            known &= np.take_along_axis(evidence.known, first, axis=1)
        there = np.take_along_axis(np.asarray(evidence.truth), first, axis=1) & known
        n_there = there.cumsum(axis=1)[:, lengths - 1]
        n_known = known.cumsum(axis=1)[:, lengths - 1]
        return PerSample.from_values(
            ratio(n_there, n_known), eligible=ranking.get_population_mask(evidence, population)
        )
