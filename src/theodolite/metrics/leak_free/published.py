"""Do concepts tell more than the true concepts do, by the published scores?"""

from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite._stats.grouped_weights import RowWeights
from theodolite._stats.information import (
    is_discrete,
    plug_in_entropy,
    plug_in_terms,
    ross_columns,
    self_information,
)
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import Card
from theodolite.metrics.blocks import BlockContext, Blockwise, many_whole_numbers
from theodolite.metrics.leak_free._terms import (
    WIDER,
    ConceptTerms,
    estimator_inputs,
    leakage_metric,
    rows_known,
    share,
    true_counts,
    true_pair_terms,
    value_pair_terms,
    weighted_means,
)
from theodolite.metrics.option_types import ConceptsOrPairs, Neighbors, TieSeed

AS_CATEGORIES = (
    "Whole numbers are counted as categories, as published; codes of a number (percent, int8, "
    "uint16) are not: with more than 20 distinct values the score is near its limit whatever the "
    "model does."
)


def leakage_warnings(evidence: ConceptEvidence) -> list[str]:
    """Warn if concept values are not what the published scores take them for."""
    values = np.asarray(evidence.values, np.float64)
    if not is_discrete(values) or not many_whole_numbers(values):
        return []
    return [f"Concept-task and interconcept leakage: {AS_CATEGORIES}"]


@leakage_metric(
    "concept_task_leakage",
    paper_names=("CTL",),
    title="Concepts-task leakage (CTL)",
    bounds=(0.0, 1.0),
    decides=False,
    warns=leakage_warnings,
    card=Card(
        question="Does a concept's value tell more about the answer than the true concept does?",
        interpretation="0.1 means that, on average, a concept's value tells a tenth of what there "
        "is to know about the label more than the true concept. Compare with the score without "
        "leakage: what is above that is leakage.",
        limitations=f"{AS_CATEGORIES} "
        "Blind to leakage into a concept that is learned badly: what the value fails to "
        "say about the label through the concept hides what it says beside it (a dial of planted "
        "leakage that starts at 0 and stays there is in docs/leakage.md). The estimate can exceed "
        "the entropy of the labels. Values that saturate are told apart by noise of 1e-10. "
        "task_leakage_given_concept does not have the first fault.",
        cost="one sort per concept: 0.1 s for 112 concepts, 200 labels and 5,794 samples",
    ),
)
class ConceptTaskLeakage(Blockwise):
    r"""How much more a concept's value tells about the label than the true concept (CTL).

    .. math:: \mathrm{CTL}_i = \max\left(0, \frac{I(\hat c_i; y) - I(c_i; y)}{H(y)}\right)

    Information by Ross's estimator with ``k`` neighbors where values are numbers, from counts
    where all are whole; the entropy of the labels from counts. Estimates can exceed what there is
    to know: the score is cut off at 1. Undefined where there is only one label. Introduced in
    :cite:t:`parisini2025leakage`, eqs. 6 and 7.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import concept_task_leakage
        >>> c = np.repeat([0, 1, 0, 1], 25).astype(bool)
        >>> y = np.repeat([0, 0, 1, 1], 25)
        >>> wiggle = np.linspace(0, 0.1, 100) ** 2
        >>> concept_task_leakage((c + 0.3 * y + wiggle)[:, None], c[:, None], y).round(2)
        array([1.])
    """

    @staticmethod
    def part(
        evidence: ConceptEvidence,
        weights: RowWeights,
        block: BlockContext,
        *,
        over: Literal["concepts"] = "concepts",
        k: Neighbors = 3,
        tie_seed: TieSeed = 0,
    ) -> Mapping[str, np.ndarray]:
        del over
        inputs = estimator_inputs(evidence, block.common, tie_seed)
        labels = np.asarray(evidence.labels)
        shape = (inputs.values.shape[1], len(labels))
        learned, true, entropy = np.full((3, *shape), np.nan)
        if not inputs.discrete and inputs.known is None:
            learned = ross_columns(inputs.values, labels, k=k)
        for j in range(shape[0]):
            rows = rows_known(inputs, j)
            if inputs.discrete:
                learned[j, rows] = plug_in_terms(inputs.values[rows, j].astype(int), labels[rows])
            elif inputs.known is not None:
                learned[j, rows] = ross_columns(inputs.values[rows, j : j + 1], labels[rows], k=k)[
                    0
                ]
            true[j, rows] = plug_in_terms(inputs.truth[rows, j], labels[rows])
            entropy[j, rows] = plug_in_terms(labels[rows], labels[rows])
        wider = 1.0 if inputs.discrete else WIDER
        learned_mean = np.maximum(weighted_means(learned, weights, wider=wider), 0.0)
        more = learned_mean - weighted_means(true, weights)
        return block.of_concepts(share(more, weighted_means(entropy, weights)))


Normalizer = Annotated[
    Literal["reference", "truth"],
    Field(description="What information is divided by: as published, or entropies of the truth."),
]


@leakage_metric(
    "interconcept_leakage",
    paper_names=("ICL",),
    title="Interconcept leakage (ICL)",
    bounds=(0.0, 1.0),
    uses=("values", "truth"),
    decides=False,
    card=Card(
        question="Do concepts' values tell more about each other than the true concepts do?",
        interpretation="0 means that two concepts' values are no more related than the concepts "
        "are; 1 that one gives the other. Compare only at equal numbers of samples, and soft "
        "values only with soft ones.",
        limitations=f"{AS_CATEGORIES} "
        "The published normalizer is no entropy but psi(N) - psi(4): the score falls with "
        "the number of samples, and a bit shared by values counts a tenth of a bit shared by the "
        "true concepts. Where true concepts are related the score therefore goes to 0 however much "
        "leaks (two equal concepts up to 10 % flips, with a shared signal added: 0.0000). "
        "interconcept_leakage_given_concepts has neither fault.",
        cost="all pairs of concepts: about 5 s for 112 concepts and 5,794 samples on two cores",
    ),
)
class InterconceptLeakage(Blockwise):
    r"""How much more two concepts' values tell about each other than the true concepts (ICL).

    .. math:: \mathrm{ICL}_{ij} = \max\left(0,
        \frac{I(\hat c_i; \hat c_j)}{\sqrt{H(\hat c_i) H(\hat c_j)}}
        - \frac{I(c_i; c_j)}{\sqrt{H(c_i) H(c_j)}}\right)

    A concept's score is the mean over the others. Information by the KSG estimator with ``k``
    neighbors where values are numbers, from counts where all are whole. ``normalizer``:
    ``reference`` takes for the entropy of numbers what the published code takes, which without
    ties is psi(N) - psi(k + 1) whatever the numbers; ``truth`` divides both terms by the entropies
    of the true concepts, so that a shared bit weighs the same in both. Introduced in
    :cite:t:`parisini2025leakage`, eqs. 8 and 9.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import interconcept_leakage
        >>> truth = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10, dtype=bool)
        >>> shared = np.sin(np.arange(40))[:, None]
        >>> interconcept_leakage(truth + 0.3 * shared, truth, over="pairs").round(2)
        array([0.39])
        >>> interconcept_leakage(truth.astype(float), truth)  # hard concepts: counted
        array([0., 0.])
    """

    pairs = True

    @staticmethod
    def part(  # noqa: PLR0913  options are keywords
        evidence: ConceptEvidence,
        weights: RowWeights,
        block: BlockContext,
        *,
        over: ConceptsOrPairs = "concepts",
        normalizer: Normalizer = "reference",
        k: Neighbors = 3,
        tie_seed: TieSeed = 0,
    ) -> Mapping[str, np.ndarray]:
        inputs = estimator_inputs(evidence, block.common, tie_seed)
        pairs = block.pairs
        columns = range(inputs.values.shape[1])
        of_truth = np.array(
            [plug_in_entropy(inputs.truth[rows_known(inputs, j), j]) for j in columns]
        )
        of_values = np.where(of_truth > 0, of_truth, np.nan)
        if normalizer == "reference":
            of_values = _entropies(inputs, evidence, k, tie_seed)
        wider = 1.0 if inputs.discrete else WIDER
        counts = true_counts(inputs)
        pair_scores = np.full((len(weights), len(pairs)), np.nan)
        for some, learned in value_pair_terms(inputs, pairs, k=k):
            true = true_pair_terms(inputs, counts, pairs[some])
            whole = _together(of_values, pairs[some])
            # a column and itself would tell a little more than what is called its entropy
            learned_share = np.clip(weighted_means(learned, weights, wider=wider) / whole, 0.0, 1.0)
            true_share = weighted_means(true, weights) / _together(of_truth, pairs[some])
            pair_scores[:, some] = learned_share - true_share
        return block.of_pairs(np.clip(pair_scores, 0.0, 1.0), over)


def _together(entropies: Float[np.ndarray, " concepts"], pairs: np.ndarray) -> np.ndarray:
    """Geometric mean of two entropies; NaN where there is none to divide by."""
    both = np.sqrt(np.maximum(entropies[pairs], 0.0).prod(axis=1))
    return np.where(np.isnan(both), np.nan, both + 1e-10)


def _entropies(
    inputs: ConceptTerms, evidence: ConceptEvidence, k: int, tie_seed: int
) -> Float[np.ndarray, " concepts"]:
    """Entropies of the values by the published convention; NaN where it gives nothing above 0."""
    entropies = []
    for j in range(inputs.values.shape[1]):
        rows = rows_known(inputs, j)
        if inputs.discrete:
            entropies.append(plug_in_entropy(inputs.values[rows, j].astype(int)))
            continue
        keys = np.asarray(evidence.samples.index)[rows]
        values = np.asarray(evidence.values, np.float64)[rows, j : j + 1]
        entropy = self_information(
            values, keys, evidence.concepts.names[j : j + 1], k=k, seed=tie_seed
        )
        entropies.append(float(entropy[0]) if entropy[0] > 0 else float("nan"))
    return np.array(entropies)
