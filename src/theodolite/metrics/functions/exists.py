"""Is the named concept in the input?

Written by `python -m theodolite.metrics`; do not edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.metrics.compute import number, table
from theodolite.metrics.exists.concept_existence import ConceptExistence
from theodolite.metrics.exists.concept_global_importance import ConceptGlobalImportance
from theodolite.metrics.language.edit_direction import EditDirection
from theodolite.metrics.language.label_precision import LabelPrecision
from theodolite.metrics.language.latent_probe import LatentProbe

__all__ = [
    "concept_existence",
    "concept_global_importance",
    "edit_direction",
    "label_precision",
    "latent_probe",
]


def concept_existence(
    values: ArrayLike,
    truth: ArrayLike,
    *,
    top: Sequence[int] = (1, 3, 5),
    rank_by: Literal["contribution", "weight", "value"] = "contribution",
    order: Literal["signed", "absolute"] = "signed",
    population: Literal["all", "correct"] = "all",
    named: Literal["any", "positive"] = "any",
    weights: ArrayLike | None = None,
    predicted: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    known: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Share of the first :math:`l` named concepts that are in the sample (CEM).

    .. math:: \rho_l = \frac1N \sum_i \frac1l \sum_{s=1}^{l} 1[q_{is} \in \Lambda_i]

    :math:`q_i` are the concepts of sample :math:`i` in descending order of importance for the
    predicted class, :math:`\Lambda_i` those that are there. A sample without any concept scores 0.
    Where presence is unknown (``known``), the pair is left out of both counts; a sample with
    nothing known is undefined. Under ``named="positive"`` only concepts with a value above 0 are
    named, fewer than :math:`l` where there are not so many, and a sample without any is undefined:
    else a concept with a negative value and a negative weight is named because it is absent.
    Introduced in :cite:t:`aysel2025concept`, eqs. 9 and 10.

    Args:
        values: samples × concepts. The model's value of each concept: an activation, a probability,
            a projection.
        truth: samples × concepts. Whether each concept is there.
        top: How many of the first-named concepts are looked at.
        rank_by: What ranks the concepts: weight times value, the weight, or the value.
        order: Whether what speaks against the prediction ranks last or by its size.
        population: Samples that are asked: all, or those that are predicted rightly.
        named: Concepts that can be named: any, or those with a value above 0.
        weights: concepts × classes. The linear head: the weight of each concept for each class.
            Needed for rank_by=contribution or weight.
        predicted: samples. The class that the model chose. Needed for rank_by=contribution or
            weight.
        labels: samples. The true class. Needed for population=correct.
        known: samples × concepts. Where `truth` is known; everywhere if not given.

    Returns:
        An array (top), each 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import concept_existence
        >>> values = np.array([[0.9, 0.2, 0.5], [0.1, 0.8, 0.3]])
        >>> truth = np.array([[1, 0, 0], [0, 1, 1]], dtype=bool)
        >>> concept_existence(values, truth, rank_by="value", top=(1, 2))
        array([1.  , 0.75])
    """
    arrays = {
        "values": values,
        "truth": truth,
        "weights": weights,
        "predicted": predicted,
        "labels": labels,
        "known": known,
    }
    options = {
        "top": top,
        "rank_by": rank_by,
        "order": order,
        "population": population,
        "named": named,
    }
    return table(ConceptExistence, arrays, options)


def concept_global_importance(
    values: ArrayLike,
    class_truth: ArrayLike,
    weights: ArrayLike,
    labels: ArrayLike,
    predicted: ArrayLike,
    *,
    form: Sequence[Literal[1, 2, 3]] = (1, 2, 3),
    over: Literal["concepts", "classes"] = "concepts",
) -> NDArray[np.float64]:
    r"""Cosine between what the model makes of the concepts and what annotators say (CGIM 1-3).

    .. math:: \rho_j = \cos(M_{j\cdot}, V_{j\cdot}) \qquad \rho_k = \cos(M_{\cdot k}, V_{\cdot k})

    :math:`V` holds how much concept :math:`j` belongs to class :math:`k`. :math:`M` is the head's
    weights :math:`\theta` (form 1), the mean concept values :math:`U^*` of the samples of a class
    that are predicted rightly (form 2), or :math:`\theta \odot U^*` (form 3). A zero vector has no
    direction: NaN. A class without a right prediction has no mean: forms 2 and 3 are NaN for it,
    and it is left out of the cosines over classes. Introduced in :cite:t:`aysel2025concept`,
    eqs. 3 to 8, which define no aggregate; the headline is the plain mean of the defined cosines.

    Args:
        values: samples × concepts. The model's value of each concept: an activation, a probability,
            a projection.
        class_truth: concepts × classes. How much each concept belongs to each class, 0 to 1, as
            annotators said.
        weights: concepts × classes. The linear head: the weight of each concept for each class.
        labels: samples. The true class.
        predicted: samples. The class that the model chose.
        form: 1: weights; 2: mean values; 3: weights times mean values.
        over: Cosines of concepts over classes, or of classes over concepts.

    Returns:
        An array (form × one for each, by `over`), each -1 to 1, higher is better; NaN where
        undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import concept_global_importance
        >>> concept_global_importance(
        ...     np.array([[1.0, 0.0], [0.0, 2.0]]),
        ...     np.array([[1.0, 0.0], [0.0, 1.0]]),
        ...     weights=np.array([[1.0, 1.0], [0.0, 1.0]]),
        ...     labels=np.array([0, 1]),
        ...     predicted=np.array([0, 1]),
        ... ).round(4)
        array([[0.7071, 1.    ],
               [1.    , 1.    ],
               [1.    , 1.    ]])
    """
    arrays = {
        "values": values,
        "class_truth": class_truth,
        "weights": weights,
        "labels": labels,
        "predicted": predicted,
    }
    options = {"form": form, "over": over}
    return table(ConceptGlobalImportance, arrays, options)


def edit_direction(
    edited: ArrayLike,
    direction: ArrayLike,
    before: ArrayLike,
    after: ArrayLike,
) -> float:
    r"""Share of edits after which the edited concept's value moved to the side that was meant.

    .. math:: \frac1N \sum_i 1[\operatorname{sign}(c'_{i e_i} - c_{i e_i}) = d_i]

    with the values :math:`c` before and :math:`c'` after edit :math:`i` of concept :math:`e_i` in
    direction :math:`d_i`. A value that did not move is a miss. No edit: NaN. Edits of reviews with
    this purpose are those of :cite:t:`abraham2022cebab`.

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
        >>> from theodolite.metrics import edit_direction
        >>> before = [[0.2, 0.5], [0.6, 0.5], [0.5, 0.5]]
        >>> after = [[0.7, 0.5], [0.6, 0.5], [0.4, 0.5]]
        >>> round(edit_direction([0, 0, 0], [1, 1, -1], before, after), 6)
        0.666667
    """
    arrays = {"edited": edited, "direction": direction, "before": before, "after": after}
    options: dict[str, object] = {}
    return number(EditDirection, arrays, options)


def label_precision(
    latent: ArrayLike,
    value: ArrayLike,
    truth: ArrayLike,
    explained: ArrayLike,
    concept_of: ArrayLike,
    *,
    known: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Share of sequences with the concept among those in which its latent is active.

    .. math:: \frac{|\{s : a_l(s) > 0, c(s)\}|}{|\{s : a_l(s) > 0\}|}

    Sequences of which the concept is not known are left out. Never active: NaN. After
    :cite:t:`bricken2023monosemanticity`.

    Args:
        latent: samples × ~tokens × ~active. The latents that are active at each token, rising.
        value: samples × ~tokens × ~active. How active each of them is there: never 0, and below 0
            only if `signed`.
        truth: samples × concepts. Whether each concept is in the sequence: a topic, a language.
        explained: explanations. The latent that each explanation is of.
        concept_of: explanations. What it is said to stand for: a concept of sequences; -1 for none.
        known: samples × concepts. Where `truth` is known; everywhere if not given.

    Returns:
        An array (explanations), each 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import label_precision
        >>> latent = [[[], [0], []], [[], [0], [0], []], [[], [0], []], [[]]]
        >>> value = [[[], [2.0], []], [[], [1.5], [0.5], []], [[], [0.4], []], [[]]]
        >>> label_precision(latent, value, [[1], [1], [0], [0]], [0], [0]).round(6)
        array([0.666667])
    """
    arrays = {
        "latent": latent,
        "value": value,
        "truth": truth,
        "explained": explained,
        "concept_of": concept_of,
        "known": known,
    }
    options: dict[str, object] = {}
    return table(LabelPrecision, arrays, options)


def latent_probe(
    latent: ArrayLike,
    value: ArrayLike,
    truth: ArrayLike,
    *,
    k: int = 1,
    pooling: Literal["max", "mean", "last", "sum"] = "max",
    by: Literal["auroc", "mean_difference"] = "auroc",
    side: Literal["positive", "either"] = "positive",
    split_seed: int = 0,
    known: ArrayLike | None = None,
    chance_pooled: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""AUROC, on held-out sequences, of the latent with the largest on the others.

    .. math:: \operatorname{AUROC}_B(a_{l^*}, c), \quad
        l^* = \arg\max_l \operatorname{AUROC}_A(a_l, c)

    with the latents' values :math:`a_l` in a sequence (``pooling``), the concept :math:`c`, and two
    halves :math:`A`, :math:`B` of the clusters of sequences, cut by ``split_seed``. A latent that
    is silent where the concept is can be chosen with ``side="either"``. With ``k`` latents, those
    with the largest AUROC enter a logistic regression that is fitted to the first half, with an L2
    penalty chosen in five folds of it. One class only in either half: NaN. Choosing on some texts
    and scoring on others is done in :cite:t:`kantamneni2025sparse`.

    Args:
        latent: samples × ~tokens × ~active. The latents that are active at each token, rising.
        value: samples × ~tokens × ~active. How active each of them is there: never 0, and below 0
            only if `signed`.
        truth: samples × concepts. Whether each concept is in the sequence: a topic, a language.
        k: How many latents: with more than 1, a logistic regression.
        pooling: A latent's value in a sequence: its largest, mean, last, or summed.
        by: What chooses the latent: its AUROC, or how far its class means are apart.
        side: Whether a latent that is silent where the concept is may be chosen.
        split_seed: Which sequences a latent is chosen on.
        known: samples × concepts. Where `truth` is known; everywhere if not given.
        chance_pooled: samples × chances × latents. The largest value in each sequence of each
            latent of dictionaries that know nothing.

    Returns:
        An array (concepts), each 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import latent_probe
        >>> rows = [2.0, 1.5, 0.4, 0.0] * 4
        >>> latent = [[[0]] if v else [[]] for v in rows]
        >>> value = [[[v]] if v else [[]] for v in rows]
        >>> latent_probe(latent, value, [[1], [1], [0], [0]] * 4)
        array([1.])
    """
    arrays = {
        "latent": latent,
        "value": value,
        "truth": truth,
        "known": known,
        "chance_pooled": chance_pooled,
    }
    options = {"k": k, "pooling": pooling, "by": by, "side": side, "split_seed": split_seed}
    return table(LatentProbe, arrays, options)
