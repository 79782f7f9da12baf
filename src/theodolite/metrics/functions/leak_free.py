"""Do the concepts carry only what their names say?

Written by `python -m theodolite.metrics`; do not edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.metrics.compute import number, table
from theodolite.metrics.language.absorption import Absorption
from theodolite.metrics.language.edit_specificity import EditSpecificity
from theodolite.metrics.language.splitting import Splitting
from theodolite.metrics.leak_free.concept_prediction import ConceptPrediction
from theodolite.metrics.leak_free.concept_task_leakage import ConceptTaskLeakage
from theodolite.metrics.leak_free.embedding_alignment import EmbeddingAlignment
from theodolite.metrics.leak_free.embedding_interconcept_information import (
    EmbeddingInterconceptInformation,
)
from theodolite.metrics.leak_free.embedding_self_information import EmbeddingSelfInformation
from theodolite.metrics.leak_free.embedding_task_information import EmbeddingTaskInformation
from theodolite.metrics.leak_free.embedding_task_leakage_given_concept import (
    EmbeddingTaskLeakageGivenConcept,
)
from theodolite.metrics.leak_free.interconcept_leakage import InterconceptLeakage
from theodolite.metrics.leak_free.interconcept_leakage_given_concepts import (
    InterconceptLeakageGivenConcepts,
)
from theodolite.metrics.leak_free.intervention_accuracy import InterventionAccuracy
from theodolite.metrics.leak_free.intervention_score import InterventionScore
from theodolite.metrics.leak_free.niche_impurity import NicheImpurity
from theodolite.metrics.leak_free.oracle_impurity import OracleImpurity
from theodolite.metrics.leak_free.predictive_embedding_leakage import PredictiveEmbeddingLeakage
from theodolite.metrics.leak_free.predictive_interconcept_leakage import (
    PredictiveInterconceptLeakage,
)
from theodolite.metrics.leak_free.predictive_task_leakage import PredictiveTaskLeakage
from theodolite.metrics.leak_free.task_accuracy import TaskAccuracy
from theodolite.metrics.leak_free.task_leakage_given_concept import TaskLeakageGivenConcept

__all__ = [
    "absorption",
    "concept_prediction",
    "concept_task_leakage",
    "edit_specificity",
    "embedding_alignment",
    "embedding_interconcept_information",
    "embedding_self_information",
    "embedding_task_information",
    "embedding_task_leakage_given_concept",
    "interconcept_leakage",
    "interconcept_leakage_given_concepts",
    "intervention_accuracy",
    "intervention_score",
    "niche_impurity",
    "oracle_impurity",
    "predictive_embedding_leakage",
    "predictive_interconcept_leakage",
    "predictive_task_leakage",
    "splitting",
    "task_accuracy",
    "task_leakage_given_concept",
]


def absorption(
    latent: ArrayLike,
    value: ArrayLike,
    decoder: ArrayLike,
    probes: ArrayLike,
    projections: ArrayLike,
    explained: ArrayLike,
    concept_of: ArrayLike,
    *,
    kind: Literal["fraction", "full"] = "fraction",
    form: Literal["length", "as_published"] = "length",
) -> NDArray[np.float64]:
    r"""Mean share of a probe's projection that other latents carry than the concept's own.

    .. math:: \frac{a}{a + m}, \quad a = \min\Big(\sum_{l \in T} r_l,\; P - m\Big)

    at tokens where the concept is and the probe finds it, with the activation's projection
    :math:`P` on the probe, :math:`r_l` the part of it that latent :math:`l` writes, :math:`m` the
    sum over the concept's own latents, and :math:`T` the up to three largest others with a cosine
    of at least 0.1. 0 where :math:`m \ge P` or the others make up less than 0.4 of :math:`P`; 1
    where :math:`m \le 0`. ``kind="full"``: the share of tokens at which none of its own is active
    and one other makes up 0.4 of :math:`P`. No token asked: NaN. With ``form="as_published"``, rows
    of the decoder count as if their length were 1, as in :cite:t:`chanin2024absorption`.

    Args:
        latent: samples × ~tokens × ~active. The latents that are active at each token, rising.
        value: samples × ~tokens × ~active. How active each of them is there: never 0, and below 0
            only if `signed`.
        decoder: latents × dimensions. The direction that each latent writes.
        probes: concepts × dimensions. The direction of a linear probe of each concept.
        projections: samples × ~tokens × concepts. The activation along each probe, of length 1, at
            tokens where the concept is and the probe says so; NaN elsewhere.
        explained: explanations. The latent that each explanation is of.
        concept_of: explanations. What it is said to stand for: a concept of sequences; -1 for none.
        kind: How much others carry, or whether they carry it while its own are silent.
        form: Whether rows of the decoder count with their length, or as if it were 1.

    Returns:
        An array (concepts), each 0 to 1, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import absorption
        >>> rows = [[0.6, 0.8, 0.0], [0.8, -0.6, 0.0], [0.3, 0.0, 0.953939], [-0.5, 0.866025, 0.0]]
        >>> codes = {"latent": [[[0, 1, 2]]], "value": [[[0.5, 1.5, 0.4]]], "decoder": rows}
        >>> named = {"explained": [0], "concept_of": [0], "probes": [[1.0, 0.0, 0.0]]}
        >>> absorption(**codes, **named, projections=[[[1.67]]]).round(6)
        array([0.814815])
    """
    arrays = {
        "latent": latent,
        "value": value,
        "decoder": decoder,
        "probes": probes,
        "projections": projections,
        "explained": explained,
        "concept_of": concept_of,
    }
    options = {"kind": kind, "form": form}
    return table(Absorption, arrays, options)


def concept_prediction(
    values: ArrayLike,
    truth: ArrayLike,
    *,
    by: Sequence[Literal["accuracy", "f1", "auc"]] = ("accuracy", "f1", "auc"),
    threshold: float | None = None,
    known: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Accuracy, F1 score and area under the ROC curve of each concept.

    .. math:: \frac{TP + TN}{N} \qquad F_1 = \frac{2\,TP}{2\,TP + FP + FN} \qquad
        P(\hat c^{+} > \hat c^{-}) + \tfrac12 P(\hat c^{+} = \hat c^{-})

    The area is the probability that a sample with the concept has a higher value than one without.

    A concept counts as predicted where its value exceeds the threshold: 0.5 if all values lie
    between 0 and 1 (probabilities), else 0 (logits), unless it is given. F1 is undefined where a
    concept is neither there nor predicted, the area where it is always or never there.

    Args:
        values: samples × concepts. The model's value of each concept: an activation, a probability,
            a projection.
        truth: samples × concepts. Whether each concept is there.
        by: Accuracy, F1, or area under the ROC curve.
        threshold: Value above which a concept is predicted; None: 0.5, or 0 for logits.
        known: samples × concepts. Where `truth` is known; everywhere if not given.

    Returns:
        An array (by × concepts), each 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import concept_prediction
        >>> values = np.array([[0.9], [0.6], [0.4], [0.1]])
        >>> concept_prediction(values, np.array([[1], [0], [1], [0]], bool))
        array([[0.5 ],
               [0.5 ],
               [0.75]])
    """
    arrays = {"values": values, "truth": truth, "known": known}
    options = {"by": by, "threshold": threshold}
    return table(ConceptPrediction, arrays, options)


def concept_task_leakage(
    values: ArrayLike,
    truth: ArrayLike,
    labels: ArrayLike,
    *,
    k: int = 3,
    tie_seed: int = 0,
    known: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""How much more a concept's value tells about the label than the true concept (CTL).

    .. math:: \mathrm{CTL}_i = \max\left(0, \frac{I(\hat c_i; y) - I(c_i; y)}{H(y)}\right)

    Information by Ross's estimator with ``k`` neighbours where values are numbers, from counts
    where all are whole; the entropy of the labels from counts. Estimates can exceed what there is
    to know: the score is cut off at 1. Undefined where there is only one label. Introduced in
    :cite:t:`parisini2025leakage`, eqs. 6 and 7.

    Args:
        values: samples × concepts. The model's value of each concept: an activation, a probability,
            a projection.
        truth: samples × concepts. Whether each concept is there.
        labels: samples. The true class.
        k: Neighbours that the estimator looks at.
        tie_seed: Seed of the tiny noise that tells equal values apart.
        known: samples × concepts. Where `truth` is known; everywhere if not given.

    Returns:
        An array (concepts), each 0 to 1, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import concept_task_leakage
        >>> c = np.repeat([0, 1, 0, 1], 25).astype(bool)
        >>> y = np.repeat([0, 0, 1, 1], 25)
        >>> wiggle = np.linspace(0, 0.1, 100) ** 2
        >>> concept_task_leakage((c + 0.3 * y + wiggle)[:, None], c[:, None], y).round(2)
        array([1.])
    """
    arrays = {"values": values, "truth": truth, "labels": labels, "known": known}
    options = {"k": k, "tie_seed": tie_seed}
    return table(ConceptTaskLeakage, arrays, options)


def edit_specificity(
    edited: ArrayLike,
    direction: ArrayLike,
    before: ArrayLike,
    after: ArrayLike,
) -> float:
    r"""Share of edits after which the edited concept's value moved more than any other.

    .. math:: \frac1N \sum_i 1[|\delta_{i e_i}| > \max_{j \ne e_i} |\delta_{ij}|]

    with :math:`\delta` the values after minus those before edit :math:`i` of concept :math:`e_i`.
    A tie, or no movement at all, is a miss. Fewer than two concepts: NaN. The edits are meant to be
    of one concept each, as those of :cite:t:`abraham2022cebab`.

    Args:
        edited: samples. Which concept was edited.
        direction: samples. Where the edit was meant to move its value: -1 or 1.
        before: samples × concepts. The concepts' values for the original.
        after: samples × concepts. The concepts' values for the edited input.

    Returns:
        A number, 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import edit_specificity
        >>> before = [[0.2, 0.5], [0.6, 0.5], [0.5, 0.5]]
        >>> after = [[0.7, 0.4], [0.6, 0.5], [0.4, 0.9]]
        >>> round(edit_specificity([0, 0, 0], [1, 1, -1], before, after), 6)
        0.333333
    """
    arrays = {"edited": edited, "direction": direction, "before": before, "after": after}
    options: dict[str, object] = {}
    return number(EditSpecificity, arrays, options)


def embedding_alignment(
    positive: ArrayLike,
    negative: ArrayLike,
    truth: ArrayLike,
    labels: ArrayLike,
    *,
    form: Literal["paper", "reference"] = "paper",
    k: int = 3,
    known: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""How much more aligned vectors tell about the label than unaligned ones.

    .. math:: I^{(align)} = I^{(CT)}(c^+_{al}) - I^{(CT)}(c^+_{un})
        + I^{(CT)}(c^-_{al}) - I^{(CT)}(c^-_{un})

    Positive vectors are aligned where the concept is there, negative ones where it is not.
    ``paper`` takes all samples of a side; ``reference``, the published code, only the first of each
    up to the size of the smaller side. Each term is normalised by the entropy of the label among
    its own samples; undefined where that is 0. Introduced in :cite:t:`parisini2025leakage`, eq. 13.

    Args:
        positive: samples × concepts × dimensions. The vector that stands for the concept being
            there.
        negative: samples × concepts × dimensions. The vector that stands for the concept not being
            there.
        truth: samples × concepts. Whether each concept is there.
        labels: samples. The true class.
        form: All samples of a side, as in the paper, or cut to the smaller, as in the code.
        k: Neighbours that the estimator looks at.
        known: samples × concepts. Where `truth` is known; everywhere if not given.

    Returns:
        An array (concepts), each -2 to 2, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import embedding_alignment
        >>> truth = np.tile([[0], [1]], (20, 1)).astype(bool)
        >>> labels = np.arange(40) // 2 % 2
        >>> class_vectors = (labels + np.arange(40) / 1e4)[:, None, None]
        >>> none = (np.arange(40) * 7 % 40)[:, None, None] / 40
        >>> aligned = np.where(truth[:, :, None], class_vectors, none)
        >>> unaligned = np.where(truth[:, :, None], none, class_vectors)
        >>> embedding_alignment(aligned, unaligned, truth, labels).round(1)
        array([2.])
    """
    arrays = {
        "positive": positive,
        "negative": negative,
        "explained.truth": truth,
        "explained.labels": labels,
        "explained.known": known,
    }
    options = {"form": form, "k": k}
    return table(EmbeddingAlignment, arrays, options)


def embedding_interconcept_information(
    vectors: ArrayLike,
    truth: ArrayLike,
    *,
    form: Literal["reference", "paper"] = "reference",
    k: int = 3,
    known: ArrayLike | None = None,
) -> float:
    r"""Information of a concept's vectors about another true concept, mean over pairs.

    .. math:: I^{(IC)} = \frac{2}{k(k-1)} \sum_i \sum_{j<i} \frac{I(w_i; c_j)}{H(c_j)}

    That is the ``paper``; it takes each pair once although the two directions differ, so it changes
    with the order of the concepts. ``reference``, the published code, takes all ordered pairs.
    Samples in which some concept is not known are left out. Introduced in
    :cite:t:`parisini2025leakage`, eq. 11.

    Args:
        vectors: samples × concepts × dimensions. What the head sees: the positive and negative
            vector, mixed by the concept's probability.
        truth: samples × concepts. Whether each concept is there.
        form: All ordered pairs, as the published code, or each pair once, as the paper.
        k: Neighbours that the estimator looks at.
        known: samples × concepts. Where `truth` is known; everywhere if not given.

    Returns:
        A number, 0 to 2, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import embedding_interconcept_information
        >>> truth = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10, dtype=bool)
        >>> both = np.repeat(truth[:, None, :] + np.arange(40)[:, None, None] / 1e4, 2, axis=1)
        >>> round(embedding_interconcept_information(both, truth), 2)
        1.02
    """
    arrays = {"vectors": vectors, "explained.truth": truth, "explained.known": known}
    options = {"form": form, "k": k}
    return number(EmbeddingInterconceptInformation, arrays, options)


def embedding_self_information(
    vectors: ArrayLike,
    truth: ArrayLike,
    *,
    k: int = 3,
    known: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Information of each concept's vectors about the concept, as a share of its entropy.

    .. math:: I^{(self)} = \frac1k \sum_i \frac{I(w_i; c_i)}{H(c_i)}

    Undefined for a concept that is always or never there. Introduced in
    :cite:t:`parisini2025leakage`, eq. 12.

    Args:
        vectors: samples × concepts × dimensions. What the head sees: the positive and negative
            vector, mixed by the concept's probability.
        truth: samples × concepts. Whether each concept is there.
        k: Neighbours that the estimator looks at.
        known: samples × concepts. Where `truth` is known; everywhere if not given.

    Returns:
        An array (concepts), each 0 to 2, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import embedding_self_information
        >>> truth = np.tile([[0], [1]], (20, 1)).astype(bool)
        >>> vectors = np.stack([truth[:, 0], np.arange(40) / 1e4], axis=1)[:, None, :]
        >>> embedding_self_information(vectors, truth).round(2)
        array([1.02])
    """
    arrays = {"vectors": vectors, "explained.truth": truth, "explained.known": known}
    options = {"k": k}
    return table(EmbeddingSelfInformation, arrays, options)


def embedding_task_information(
    vectors: ArrayLike,
    labels: ArrayLike,
    *,
    k: int = 3,
    known: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Information of each concept's vectors about the label, as a share of its entropy.

    .. math:: I^{(CT)} = \frac1k \sum_i \frac{I(w_i; y)}{H(y)}

    Ross's estimator with Euclidean distances. Estimates can exceed 1; they are cut off at 2.
    Introduced in :cite:t:`parisini2025leakage`, eq. 10.

    Args:
        vectors: samples × concepts × dimensions. What the head sees: the positive and negative
            vector, mixed by the concept's probability.
        labels: samples. The true class.
        k: Neighbours that the estimator looks at.
        known: samples × concepts. Where `truth` is known; everywhere if not given.

    Returns:
        An array (concepts), each 0 to 2, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import embedding_task_information
        >>> truth = np.tile([[0], [1]], (20, 1)).astype(bool)
        >>> vectors = np.stack([truth[:, 0], np.arange(40) / 1e4], axis=1)[:, None, :]
        >>> embedding_task_information(vectors, truth[:, 0].astype(int)).round(2)
        array([1.02])
    """
    arrays = {"vectors": vectors, "explained.labels": labels, "explained.known": known}
    options = {"k": k}
    return table(EmbeddingTaskInformation, arrays, options)


def embedding_task_leakage_given_concept(
    vectors: ArrayLike,
    truth: ArrayLike,
    labels: ArrayLike,
    *,
    k: int = 3,
    known: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""What a concept's vectors tell about the label beyond the true concept.

    .. math:: T_i = \frac{I(w_i; y \mid c_i)}{H(y \mid c_i)}

    As for single values, with Euclidean distances. Ours: the
    embedding scores of :cite:t:`parisini2025leakage` have no true concept to compare with.

    Args:
        vectors: samples × concepts × dimensions. What the head sees: the positive and negative
            vector, mixed by the concept's probability.
        truth: samples × concepts. Whether each concept is there.
        labels: samples. The true class.
        k: Neighbours that the estimator looks at.
        known: samples × concepts. Where `truth` is known; everywhere if not given.

    Returns:
        An array (concepts), each -1 to 1, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import embedding_task_leakage_given_concept
        >>> truth = np.tile([[0], [1]], (20, 1)).astype(bool)
        >>> labels = np.repeat([0, 1], 20)
        >>> vectors = np.stack([truth[:, 0], labels + np.arange(40) / 1e4], axis=1)[:, None, :]
        >>> embedding_task_leakage_given_concept(vectors, truth, labels).round(2)
        array([1.])
    """
    arrays = {
        "vectors": vectors,
        "explained.truth": truth,
        "explained.labels": labels,
        "explained.known": known,
    }
    options = {"k": k}
    return table(EmbeddingTaskLeakageGivenConcept, arrays, options)


def interconcept_leakage(
    values: ArrayLike,
    truth: ArrayLike,
    *,
    over: Literal["concepts", "pairs"] = "concepts",
    normaliser: Literal["reference", "truth"] = "reference",
    k: int = 3,
    tie_seed: int = 0,
    known: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""How much more two concepts' values tell about each other than the true concepts (ICL).

    .. math:: \mathrm{ICL}_{ij} = \max\left(0,
        \frac{I(\hat c_i; \hat c_j)}{\sqrt{H(\hat c_i) H(\hat c_j)}}
        - \frac{I(c_i; c_j)}{\sqrt{H(c_i) H(c_j)}}\right)

    A concept's score is the mean over the others. Information by the KSG estimator with ``k``
    neighbours where values are numbers, from counts where all are whole. ``normaliser``:
    ``reference`` takes for the entropy of numbers what the published code takes, which without
    ties is psi(N) - psi(k + 1) whatever the numbers; ``truth`` divides both terms by the entropies
    of the true concepts, so that a shared bit weighs the same in both. Introduced in
    :cite:t:`parisini2025leakage`, eqs. 8 and 9.

    Args:
        values: samples × concepts. The model's value of each concept: an activation, a probability,
            a projection.
        truth: samples × concepts. Whether each concept is there.
        over: One number per concept, its mean over the others, or one per pair.
        normaliser: What information is divided by: as published, or entropies of the truth.
        k: Neighbours that the estimator looks at.
        tie_seed: Seed of the tiny noise that tells equal values apart.
        known: samples × concepts. Where `truth` is known; everywhere if not given.

    Returns:
        An array (one for each, by `over`), each 0 to 1, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

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
    arrays = {"values": values, "truth": truth, "known": known}
    options = {"over": over, "normaliser": normaliser, "k": k, "tie_seed": tie_seed}
    return table(InterconceptLeakage, arrays, options)


def interconcept_leakage_given_concepts(
    values: ArrayLike,
    truth: ArrayLike,
    *,
    over: Literal["concepts", "pairs"] = "concepts",
    k: int = 3,
    known: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""What two concepts' values tell about each other beyond the true concepts.

    .. math:: G_{ij} = 1 - \exp\left(-2\, I(\hat c_i; \hat c_j \mid c_i, c_j)\right)

    The information is estimated among samples that agree on both concepts (KSG with ties counted
    and each cluster counted once; from counts where all values are whole numbers, of which no
    concept has more than 20) and put on a scale from 0 to 1 on which jointly normal values score
    their squared correlation :cite:p:`linfoot1957informational`; estimates around 0 may lie below.
    It needs no entropy of numbers, so it does not change with the number of samples beyond about 25
    for each combination of two concepts. Ours, to mend the interconcept score of
    :cite:t:`parisini2025leakage`.

    Args:
        values: samples × concepts. The model's value of each concept: an activation, a probability,
            a projection.
        truth: samples × concepts. Whether each concept is there.
        over: One number per concept, its mean over the others, or one per pair.
        k: Neighbours that the estimator looks at.
        known: samples × concepts. Where `truth` is known; everywhere if not given.

    Returns:
        An array (one for each, by `over`), each -1 to 1, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import interconcept_leakage_given_concepts
        >>> truth = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 30, dtype=bool)
        >>> shared = np.sin(np.arange(120))[:, None]
        >>> interconcept_leakage_given_concepts(truth + 0.3 * shared, truth, over="pairs").round(1)
        array([1.])
    """
    arrays = {"values": values, "truth": truth, "known": known}
    options = {"over": over, "k": k}
    return table(InterconceptLeakageGivenConcepts, arrays, options)


def intervention_accuracy(
    right_after: ArrayLike,
    *,
    corrected: Sequence[float] = (0.0, 0.5, 1.0),
    policy: int = 0,
) -> NDArray[np.float64]:
    r"""Accuracy after a share of the concepts was replaced by the truth: the intervention curve.

    .. math:: a_s = \frac1N \sum_i 1[\hat y(\tilde c_i^{(s)}) = y_i]

    :math:`\tilde c_i^{(s)}` are the concepts of sample :math:`i` with a share :math:`s` of them
    replaced.

    ``policy`` is the number of the policy in the evidence. Shares are rounded to whole concepts.

    Args:
        right_after: samples × policies × steps. Right after 0, 1, 2, … concepts were replaced by
            the truth, in the order of each policy.
        corrected: Shares of the concepts that are corrected.
        policy: Number of the policy in the evidence.

    Returns:
        An array (corrected), each 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import intervention_accuracy
        >>> right = np.array([[[1, 0, 0]], [[0, 1, 1]], [[0, 0, 1]], [[1, 1, 1]]], bool)
        >>> intervention_accuracy(right)
        array([0.5 , 0.5 , 0.75])
    """
    arrays = {"right_after": right_after}
    options = {"corrected": corrected, "policy": policy}
    return table(InterventionAccuracy, arrays, options)


def intervention_score(
    right_after: ArrayLike,
    *,
    reference: Literal["head", "one"] = "head",
    right_reference: ArrayLike | None = None,
) -> float:
    r"""Accuracy lost when all concepts are replaced by the truth (:math:`S_{int}`).

    .. math:: S_{int} = a_{ref} - a_{int}

    Accuracy of a head of the same kind trained on the true concepts, minus accuracy of the model's
    own head given the true concepts. ``reference="one"`` takes 1 for the former, as the published
    script does. Introduced in :cite:t:`parisini2025leakage`, eq. 5.

    Args:
        right_after: samples × policies × steps. Right after 0, 1, 2, … concepts were replaced by
            the truth, in the order of each policy.
        reference: Accuracy to compare with: of a head trained on the true concepts, or 1.
        right_reference: samples. Whether a head trained on true concepts is right, one of the same
            kind. Needed for reference=head.

    Returns:
        A number, -1 to 1, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import intervention_score
        >>> right = np.array([[[1, 0]], [[1, 1]], [[0, 1]], [[1, 0]]], bool)
        >>> intervention_score(right, right_reference=np.array([1, 1, 1, 0], bool))
        0.25
    """
    arrays = {"right_after": right_after, "right_reference": right_reference}
    options = {"reference": reference}
    return number(InterventionScore, arrays, options)


def niche_impurity(
    values: ArrayLike,
    truth: ArrayLike,
    *,
    form: Literal["defined", "as_published"] = "defined",
    seed: int = 1,
    known: ArrayLike | None = None,
) -> float:
    r"""How well a concept is predicted from values outside its niche (NIS).

    .. math:: \mathrm{NIS} = \int_0^{0.95} \frac1k \sum_j
        \mathrm{AUC}\bigl(c_j,\, g_j(\hat c_{\notin N_j(\beta)})\bigr)\, d\beta, \qquad
        N_j(\beta) = \{i : |\mathrm{corr}(\hat c_i, c_j)| > \beta\}

    The niche of concept :math:`j` at :math:`\beta` are the values whose correlation with it exceeds
    :math:`\beta` in size. One network is trained to predict all concepts from all values; then the
    values in the niche are put to 0, and the area under the ROC curve is averaged over concepts and
    integrated over :math:`\beta` from 0 to 0.95. Nothing predictable gives 0.475, everything 0.95.
    ``as_published``: what the published code computes for one number per concept: the area with
    only the values *inside* the niche, by signed correlation. Introduced in
    :cite:t:`espinosa2023quality`.

    Args:
        values: samples × concepts. The model's value of each concept: an activation, a probability,
            a projection.
        truth: samples × concepts. Whether each concept is there.
        form: As the paper defines niches, or as the published code computes them.
        seed: Seed of the folds and of the fitted predictors.
        known: samples × concepts. Where `truth` is known; everywhere if not given.

    Returns:
        A number, 0 to 0.95, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import niche_impurity
        >>> truth = np.random.default_rng(0).random((2000, 3)) < 0.5
        >>> 0.45 < float(niche_impurity(truth.astype(float), truth)) < 0.5
        True
        >>> round(niche_impurity(truth.astype(float), truth, form="as_published"), 2)
        0.95
    """
    arrays = {"values": values, "truth": truth, "known": known}
    options = {"form": form, "seed": seed}
    return number(NicheImpurity, arrays, options)


def oracle_impurity(
    values: ArrayLike,
    truth: ArrayLike,
    *,
    form: Literal["joint", "pairwise"] = "joint",
    seed: int = 0,
    known: ArrayLike | None = None,
) -> float:
    r"""How differently values and true concepts predict the other concepts (OIS).

    .. math:: \mathrm{OIS} = \frac2k \left\|\pi(\hat c, c) - \pi(c, c)\right\|_F

    :math:`\pi_{ij}` is the area under the ROC curve, on a fifth of the samples, of a small network
    that predicts concept :math:`j` from concept :math:`i`. ``joint``: one network per source with
    an output for every concept, 50 epochs, as the published experiments called it; ``pairwise``:
    one network per pair, 25 epochs, a true concept predicting itself with 1, as defined. Both
    matrices are tested on the same fifth, drawn by the seed, where the published code draws two.
    A concept with one value in the test part counts with its accuracy, as there.
    Introduced in :cite:t:`espinosa2023quality`; eq. 4 of :cite:t:`parisini2025leakage`.

    Args:
        values: samples × concepts. The model's value of each concept: an activation, a probability,
            a projection.
        truth: samples × concepts. Whether each concept is there.
        form: One network per source for all concepts, or one per pair, as defined.
        seed: Seed of the folds and of the fitted predictors.
        known: samples × concepts. Where `truth` is known; everywhere if not given.

    Returns:
        A number, 0 to 2, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import oracle_impurity
        >>> truth = np.random.default_rng(0).random((300, 2)) < 0.5
        >>> float(oracle_impurity(truth.astype(float), truth))  # the true concepts themselves
        0.0
    """
    arrays = {"values": values, "truth": truth, "known": known}
    options = {"form": form, "seed": seed}
    return number(OracleImpurity, arrays, options)


def predictive_embedding_leakage(
    vectors: ArrayLike,
    truth: ArrayLike,
    labels: ArrayLike,
    *,
    known: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""What a concept's vectors add to predicting the label, beyond the true concept.

    .. math:: T_j = \frac{\sum_i \log p(y_i \mid w_{ij}, c_{ij}) - \log p(y_i \mid c_{ij})}
        {- \sum_i \log p(y_i \mid c_{ij})}

    As for single values, with linear discriminants in place of tables, learnt in ten folds of
    clusters among the samples that agree on the concept. Ours: the embedding scores of
    :cite:t:`parisini2025leakage` have no true concept to compare with.

    Args:
        vectors: samples × concepts × dimensions. What the head sees: the positive and negative
            vector, mixed by the concept's probability.
        truth: samples × concepts. Whether each concept is there.
        labels: samples. The true class.
        known: samples × concepts. Where `truth` is known; everywhere if not given.

    Returns:
        An array (concepts), each -1 to 1, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import predictive_embedding_leakage
        >>> truth = np.tile([[0], [1]], (40, 1)).astype(bool)
        >>> labels = np.repeat([0, 1], 40)
        >>> vectors = np.stack([truth[:, 0], labels + np.arange(80) / 1e4], axis=1)[:, None, :]
        >>> predictive_embedding_leakage(vectors, truth, labels).round(2)
        array([1.])
    """
    arrays = {
        "vectors": vectors,
        "explained.truth": truth,
        "explained.labels": labels,
        "explained.known": known,
    }
    options: dict[str, object] = {}
    return table(PredictiveEmbeddingLeakage, arrays, options)


def predictive_interconcept_leakage(
    values: ArrayLike,
    truth: ArrayLike,
    *,
    over: Literal["concepts", "pairs"] = "concepts",
    known: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""What two concepts' values gain on each other beyond the true concepts.

    .. math:: G_{ij} = 1 - \exp\left(-2\, I_{ij}\right), \quad I_{ij} = \frac1N \sum_n \log
        \frac{p(\hat c_{in}, \hat c_{jn} \mid c_{in}, c_{jn})}
        {p(\hat c_{in} \mid c_{in}, c_{jn})\, p(\hat c_{jn} \mid c_{in}, c_{jn})}

    Densities of ranks are learnt without the cluster that sample n belongs to, among the samples
    that agree on both concepts; a cluster counts once. On this scale jointly normal values score
    their squared correlation :cite:p:`linfoot1957informational`. 0 where values tell nothing about
    each other, below 0 where what seemed to help did not. Ours, to mend the interconcept score of
    :cite:t:`parisini2025leakage`.

    Args:
        values: samples × concepts. The model's value of each concept: an activation, a probability,
            a projection.
        truth: samples × concepts. Whether each concept is there.
        over: One number per concept, its mean over the others, or one per pair.
        known: samples × concepts. Where `truth` is known; everywhere if not given.

    Returns:
        An array (one for each, by `over`), each -1 to 1, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import predictive_interconcept_leakage
        >>> truth = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 30, dtype=bool)
        >>> shared = np.sin(np.arange(120))[:, None]
        >>> predictive_interconcept_leakage(truth + 0.3 * shared, truth, over="pairs").round(1)
        array([1.])
    """
    arrays = {"values": values, "truth": truth, "known": known}
    options = {"over": over}
    return table(PredictiveInterconceptLeakage, arrays, options)


def predictive_task_leakage(
    values: ArrayLike,
    truth: ArrayLike,
    labels: ArrayLike,
    *,
    known: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""What a concept's value adds to predicting the label, beyond the true concept.

    .. math:: T_j = \frac{\sum_i \log p(y_i \mid \hat c_{ij}, c_{ij}) - \log p(y_i \mid c_{ij})}
        {- \sum_i \log p(y_i \mid c_{ij})}

    Both probabilities are learnt without the cluster that sample i belongs to, from the ranks of
    the values among the samples that agree on the concept. Labels that fewer than two clusters
    have are left out. Rows of a cluster count as one together as far as they share their label. 0
    where the value tells nothing more, below 0 where what seemed to help did not; at most 1.
    Undefined where the concept settles the label. Ours, to mend the concepts-task
    score of :cite:t:`parisini2025leakage`.

    Args:
        values: samples × concepts. The model's value of each concept: an activation, a probability,
            a projection.
        truth: samples × concepts. Whether each concept is there.
        labels: samples. The true class.
        known: samples × concepts. Where `truth` is known; everywhere if not given.

    Returns:
        An array (concepts), each -1 to 1, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import predictive_task_leakage
        >>> c = np.repeat([0, 1, 0, 1], 25).astype(bool)
        >>> y = np.repeat([0, 0, 1, 1], 25)
        >>> wiggle = np.linspace(0, 0.1, 100) ** 2
        >>> predictive_task_leakage((c + 0.3 * y + wiggle)[:, None], c[:, None], y).round(2)
        array([0.94])
    """
    arrays = {"values": values, "truth": truth, "labels": labels, "known": known}
    options: dict[str, object] = {}
    return table(PredictiveTaskLeakage, arrays, options)


def splitting(
    latent: ArrayLike,
    value: ArrayLike,
    truth: ArrayLike,
    *,
    most: int = 10,
    pooling: Literal["max", "mean", "last", "sum"] = "max",
    by: Literal["auroc", "mean_difference"] = "auroc",
    side: Literal["positive", "either"] = "positive",
    split_seed: int = 0,
    known: ArrayLike | None = None,
    chance_pooled: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Latents that a probe goes on to use beyond the best: as long as each adds to F1.

    .. math:: \max \{k : F_j - F_{j-1} > 0.03 \text{ for all } 1 < j \le k\} - 1

    with :math:`F_k` the F1 on held-out sequences of a logistic regression on the :math:`k` latents
    with the largest AUROC, chosen and fitted on the other half, as ``latent_probe`` does with
    ``k``; up to ``most`` are tried. A whole number for each concept. One class only in either half,
    or no sequence that is or is called positive: NaN. As in :cite:t:`chanin2024absorption`, there
    without halves.

    Args:
        latent: samples × ~tokens × ~active. The latents that are active at each token, rising.
        value: samples × ~tokens × ~active. How active each of them is there: never 0, and below 0
            only if `signed`.
        truth: samples × concepts. Whether each concept is in the sequence: a topic, a language.
        most: The most latents that are tried.
        pooling: A latent's value in a sequence: its largest, mean, last, or summed.
        by: What chooses the latent: its AUROC, or how far its class means are apart.
        side: Whether a latent that is silent where the concept is may be chosen.
        split_seed: Which sequences a latent is chosen on.
        known: samples × concepts. Where `truth` is known; everywhere if not given.
        chance_pooled: samples × chances × latents. The largest value in each sequence of each
            latent of dictionaries that know nothing.

    Returns:
        An array (concepts), each 0 to inf, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import splitting
        >>> rows = [{0: 1.0}, {1: 1.0}, {}, {}] * 8
        >>> latent = [[list(row)] for row in rows]
        >>> value = [[list(row.values())] for row in rows]
        >>> splitting(latent, value, [[1], [1], [0], [0]] * 8)
        array([1.])
    """
    arrays = {
        "latent": latent,
        "value": value,
        "truth": truth,
        "known": known,
        "chance_pooled": chance_pooled,
    }
    options = {"most": most, "pooling": pooling, "by": by, "side": side, "split_seed": split_seed}
    return table(Splitting, arrays, options)


def task_accuracy(
    predicted: ArrayLike,
    labels: ArrayLike,
) -> float:
    r"""Share of samples whose predicted class is the true one.

    .. math:: \frac1N \sum_i 1[\hat y_i = y_i]

    Args:
        predicted: samples. The class that the model chose.
        labels: samples. The true class.

    Returns:
        A number, 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import task_accuracy
        >>> task_accuracy(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))
        0.75
    """
    arrays = {"predicted": predicted, "labels": labels}
    options: dict[str, object] = {}
    return number(TaskAccuracy, arrays, options)


def task_leakage_given_concept(
    values: ArrayLike,
    truth: ArrayLike,
    labels: ArrayLike,
    *,
    k: int = 3,
    known: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""What a concept's value tells about the label beyond the true concept.

    .. math:: T_i = \frac{I(\hat c_i; y \mid c_i)}{H(y \mid c_i)}

    The information is estimated among the samples that have the concept and among those that do
    not, each by Ross's estimator with ties counted and each cluster counted once (from counts where
    all values are whole numbers, of which no concept has more than 20). Slightly below 0 where
    nothing is told. Undefined where the concept settles the label: then nothing is left to leak.
    Ours, to mend the concepts-task score
    of :cite:t:`parisini2025leakage`.

    Args:
        values: samples × concepts. The model's value of each concept: an activation, a probability,
            a projection.
        truth: samples × concepts. Whether each concept is there.
        labels: samples. The true class.
        k: Neighbours that the estimator looks at.
        known: samples × concepts. Where `truth` is known; everywhere if not given.

    Returns:
        An array (concepts), each -1 to 1, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import task_leakage_given_concept
        >>> c = np.repeat([0, 1, 0, 1], 25).astype(bool)
        >>> y = np.repeat([0, 0, 1, 1], 25)
        >>> wiggle = np.linspace(0, 0.1, 100) ** 2
        >>> task_leakage_given_concept((c + 0.3 * y + wiggle)[:, None], c[:, None], y).round(2)
        array([1.])
    """
    arrays = {"values": values, "truth": truth, "labels": labels, "known": known}
    options = {"k": k}
    return table(TaskLeakageGivenConcept, arrays, options)
