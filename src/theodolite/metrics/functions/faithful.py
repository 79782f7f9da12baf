"""Do concepts and importances add up to the output?

Written by `python -m theodolite.metrics`; do not edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.metrics.compute import number, table
from theodolite.metrics.faithful.attribute_agreement import AttributeAgreement
from theodolite.metrics.faithful.completeness import Completeness
from theodolite.metrics.faithful.concept_deletion import ConceptDeletion
from theodolite.metrics.faithful.concept_insertion import ConceptInsertion
from theodolite.metrics.faithful.linearisation_error import LinearisationError
from theodolite.metrics.faithful.max_sensitivity import MaxSensitivity
from theodolite.metrics.faithful.randomisation_similarity import RandomisationSimilarity
from theodolite.metrics.faithful.removal_faithfulness import RemovalFaithfulness
from theodolite.metrics.faithful.removal_necessity import RemovalNecessity
from theodolite.metrics.faithful.removal_sufficiency import RemovalSufficiency
from theodolite.metrics.faithful.surrogate_accuracy import SurrogateAccuracy
from theodolite.metrics.faithful.surrogate_agreement import SurrogateAgreement
from theodolite.metrics.faithful.surrogate_distance import SurrogateDistance
from theodolite.metrics.faithful.surrogate_error import SurrogateError
from theodolite.metrics.faithful.surrogate_rank_correlation import SurrogateRankCorrelation
from theodolite.metrics.faithful.surrogate_relative_error import SurrogateRelativeError
from theodolite.metrics.faithful.surrogate_relative_error_by_class import (
    SurrogateRelativeErrorByClass,
)
from theodolite.metrics.language.attribution_effect import AttributionEffect
from theodolite.metrics.language.divergence_recovered import DivergenceRecovered
from theodolite.metrics.language.edit_effect_error import EditEffectError
from theodolite.metrics.language.loss_recovered import LossRecovered
from theodolite.metrics.tables.additivity_gap import AdditivityGap
from theodolite.metrics.tables.attribution_randomisation import AttributionRandomisation
from theodolite.metrics.tables.attribution_stability import AttributionStability
from theodolite.metrics.tables.feature_necessity import FeatureNecessity
from theodolite.metrics.tables.feature_sufficiency import FeatureSufficiency
from theodolite.metrics.tables.method_agreement import MethodAgreement

__all__ = [
    "additivity_gap",
    "attribute_agreement",
    "attribution_effect",
    "attribution_randomisation",
    "attribution_stability",
    "completeness",
    "concept_deletion",
    "concept_insertion",
    "divergence_recovered",
    "edit_effect_error",
    "feature_necessity",
    "feature_sufficiency",
    "linearisation_error",
    "loss_recovered",
    "max_sensitivity",
    "method_agreement",
    "randomisation_similarity",
    "removal_faithfulness",
    "removal_necessity",
    "removal_sufficiency",
    "surrogate_accuracy",
    "surrogate_agreement",
    "surrogate_distance",
    "surrogate_error",
    "surrogate_rank_correlation",
    "surrogate_relative_error",
    "surrogate_relative_error_by_class",
]


def additivity_gap(
    values: ArrayLike,
    output: ArrayLike,
    base: ArrayLike,
) -> float:
    r"""What base and attributions miss of the output, as a share of its spread.

    .. math:: \frac{\frac1N \sum_i |a_{i0} + \sum_j a_{ij} - f(x_i)|}{\sqrt{\mathrm{Var}_i f(x_i)}}

    :math:`a_{i0}` is the base and :math:`a_{ij}` the attribution to feature :math:`j`. Undefined
    where all outputs are the same. Adding up is the axiom of local accuracy of
    :cite:t:`lundberg2017unified`.

    Args:
        values: samples × features. Attribution of the output to each feature, with its sign.
        output: samples. The explained output of the model for each row.
        base: samples. Where attributions start from: with their sum it should be the output. One
            number will do.

    Returns:
        A number, 0 to inf, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import additivity_gap
        >>> additivity_gap([[1.0, 0.0], [0.0, 0.5]], [1.0, 0.0], [0.0, 0.0])
        0.5
    """
    arrays = {"values": values, "output": output, "base": base}
    options: dict[str, object] = {}
    return number(AdditivityGap, arrays, options)


def attribute_agreement(
    importances: ArrayLike,
    *,
    surrogate: Literal["linear", "rebuilt", "learned", "linearised"] = "linear",
    projection: Literal["given", "dot", "coordinates"] = "given",
    learned: ArrayLike | None = None,
    linearised: ArrayLike | None = None,
    embeddings: ArrayLike | None = None,
    vectors: ArrayLike | None = None,
    head: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    outputs: ArrayLike | None = None,
    projections: ArrayLike | None = None,
    rebuilt: ArrayLike | None = None,
    constant: ArrayLike | None = None,
) -> float:
    r"""Share of outputs that explanation and network put on the same side of 0.

    .. math:: \frac{1}{NC} \sum_{x,i} 1[(y_i > 0) = (\hat y_i > 0)]

    For networks whose outputs are attributes, each there or not there. The paper states no
    threshold; an output above 0 is a probability above one half.

    Args:
        importances: concepts × classes. How much of each concept goes into each class; NaN where it
            does not explain that class.
        surrogate: What stands for the explanation: the sum, or rebuilt or fitted outputs.
        projection: How much of a concept is in a sample: as given, dot products, or coordinates.
        learned: samples × classes. What a surrogate with parameters of its own puts out, fitted to
            the network. Needed for surrogate=learned.
        linearised: samples × classes. As `rebuilt`, by the slope of the network at each sample
            instead of the network itself. Needed for surrogate=linearised.
        embeddings: samples × dimensions. What the last layer of the network sees. Needed for
            projection=dot or coordinates.
        vectors: concepts × dimensions. The direction of each concept. Needed for projection=dot or
            coordinates.
        head: classes × dimensions. Weights of the last layer.
        bias: classes. Bias of the last layer; added to what concepts and importances make up. None
            is 0.
        outputs: samples × classes. What the network puts out, before any softmax; from `embeddings`
            and `head` if absent.
        projections: samples × concepts. How much of each concept is in each sample; the dot product
            with `vectors` if absent.
        rebuilt: samples × classes. What the network puts out for embeddings that were rebuilt from
            the concepts.
        constant: classes. What a method adds to each output when it rebuilds embeddings, whatever
            the concepts.

    Returns:
        A number, 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import attribute_agreement
        >>> attribute_agreement(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ... )
        1.0
    """
    arrays = {
        "importances": importances,
        "learned": learned,
        "linearised": linearised,
        "embeddings": embeddings,
        "vectors": vectors,
        "head": head,
        "bias": bias,
        "outputs": outputs,
        "projections": projections,
        "rebuilt": rebuilt,
        "constant": constant,
    }
    options = {"surrogate": surrogate, "projection": projection}
    return number(AttributeAgreement, arrays, options)


def attribution_effect(
    importance: ArrayLike,
    effect: ArrayLike,
    *,
    agreement: Literal["spearman", "pearson", "sign"] = "spearman",
) -> float:
    r"""Correlation of claimed contributions with measured effects, over pairs that were tried.

    .. math:: r(\operatorname{rank} c, \operatorname{rank} e)

    with the claimed contribution :math:`c` of a latent at a token and the change :math:`e` of the
    output when it is ablated there; ties share their mean rank. ``agreement``: of ranks (Spearman),
    of values (Pearson), or the share of pairs with the same sign, where 0 agrees with nothing.
    Fewer than three pairs, or no spread: NaN. Attributions that stand in for ablations:
    :cite:t:`syed2024attribution`.

    Args:
        importance: samples × ~tokens × ~active. What each active latent is said to contribute to
            the output there; NaN where not tried.
        effect: samples × ~tokens × ~active. How the output changes when it is ablated there; NaN
            where not tried.
        agreement: Of ranks, of values, or whether both have the same sign.

    Returns:
        A number, -1 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import attribution_effect
        >>> claims, effects = [0.3, -0.1, 0.05, 0.0, 0.2], [0.25, -0.05, 0.1, 0.02, 0.1]
        >>> round(attribution_effect([[[c] for c in claims]], [[[e] for e in effects]]), 6)
        0.974679
    """
    arrays = {"importance": importance, "effect": effect}
    options = {"agreement": agreement}
    return number(AttributionEffect, arrays, options)


def attribution_randomisation(
    values: ArrayLike,
    randomised_values: ArrayLike,
    *,
    groups: ArrayLike | None = None,
) -> float:
    r"""Rank correlation with attributions of a model of shuffled labels, mean over samples.

    .. math:: \frac1N \sum_i \rho\bigl(|a_i|, |a_i^{\mathrm{shuffled}}|\bigr)

    Over the features of a sample; equal ones share their rank. Undefined where all features of a
    sample have one attribution. The data randomisation test of :cite:t:`adebayo2018sanity`.

    Args:
        values: samples × features. Attribution of the output to each feature, with its sign.
        randomised_values: samples × features. Attributions of a model that was trained on shuffled
            labels.
        groups: features. The group of each feature, by name or number: columns of one group are
            removed together.

    Returns:
        A number, -1 to 1, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import attribution_randomisation
        >>> attribution_randomisation([[3.0, 2.0, 1.0]], [[1.0, 2.0, -3.0]])
        -1.0
    """
    arrays = {"values": values, "randomised_values": randomised_values, "groups": groups}
    options: dict[str, object] = {}
    return number(AttributionRandomisation, arrays, options)


def attribution_stability(
    values: ArrayLike,
    repeat_values: ArrayLike,
    *,
    groups: ArrayLike | None = None,
) -> float:
    r"""Overlap of the first five features of two explanations of one model, mean over samples.

    .. math:: \frac1N \sum_i \frac{|T_i \cap T'_i|}{5}

    :math:`T_i` are the five features of highest absolute attribution. The top-k feature agreement
    of :cite:t:`krishna2024disagreement`, between two runs of one method.

    Args:
        values: samples × features. Attribution of the output to each feature, with its sign.
        repeat_values: samples × features. Attributions of the same model, made again: another seed,
            background or sampling.
        groups: features. The group of each feature, by name or number: columns of one group are
            removed together.

    Returns:
        A number, 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import attribution_stability
        >>> attribution_stability([[6.0, 5, 4, 3, 2, 1]], [[6.0, 5, 4, 3, 1, 2]])
        0.8
    """
    arrays = {"values": values, "repeat_values": repeat_values, "groups": groups}
    options: dict[str, object] = {}
    return number(AttributionStability, arrays, options)


def completeness(
    importances: ArrayLike,
    learned: ArrayLike,
    labels: ArrayLike,
    *,
    chance: float | None = None,
    outputs: ArrayLike | None = None,
    embeddings: ArrayLike | None = None,
    head: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    vectors: ArrayLike | None = None,
    projections: ArrayLike | None = None,
) -> float:
    r"""Accuracy above chance of the best predictor on the concepts, as a share of the network's.

    .. math:: \eta = \frac{\sup_g a(f(g(P(h)))) - a_r}{a(f(h)) - a_r}

    Introduced in :cite:t:`yeh2020completeness`. The best predictor is approached by a network
    :math:`g` that is fitted to turn projections back into embeddings; ``learned`` is what the last
    layer puts out for these, on samples that :math:`g` was not fitted on.

    Args:
        importances: concepts × classes. How much of each concept goes into each class; NaN where it
            does not explain that class.
        learned: samples × classes. What a surrogate with parameters of its own puts out, fitted to
            the network.
        labels: samples. The true class.
        chance: Accuracy by chance; None: one over the number of classes.
        outputs: samples × classes. What the network puts out, before any softmax; from `embeddings`
            and `head` if absent.
        embeddings: samples × dimensions. What the last layer of the network sees.
        head: classes × dimensions. Weights of the last layer.
        bias: classes. Bias of the last layer; added to what concepts and importances make up. None
            is 0.
        vectors: concepts × dimensions. The direction of each concept.
        projections: samples × concepts. How much of each concept is in each sample; the dot product
            with `vectors` if absent.

    Returns:
        A number, -inf to inf, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import completeness
        >>> completeness(
        ...     np.ones((1, 2)),
        ...     learned=np.array([[2.0, 1.0], [2.0, 1.0], [0.0, 1.0], [0.0, 1.0]]),
        ...     outputs=np.array([[3.0, 0.0], [3.0, 0.0], [0.0, 3.0], [2.0, 3.0]]),
        ...     projections=np.ones((4, 1)),
        ...     labels=np.array([0, 0, 1, 0]),
        ... )
        1.0
    """
    arrays = {
        "importances": importances,
        "learned": learned,
        "labels": labels,
        "outputs": outputs,
        "embeddings": embeddings,
        "head": head,
        "bias": bias,
        "vectors": vectors,
        "projections": projections,
    }
    options = {"chance": chance}
    return number(Completeness, arrays, options)


def concept_deletion(
    importances: ArrayLike,
    head: ArrayLike,
    vectors: ArrayLike,
    *,
    of: Literal["predicted", "label"] = "predicted",
    most_steps: int = 20,
    labels: ArrayLike | None = None,
    embeddings: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    outputs: ArrayLike | None = None,
    projections: ArrayLike | None = None,
    rebuilt: ArrayLike | None = None,
    constant: ArrayLike | None = None,
) -> float:
    r"""Mean probability of a class while its concepts are taken away, the most important first.

    .. math:: \frac{1}{N} \sum_x \frac{1}{K} \sum_{s=1}^{K} \frac{p_{s-1} + p_s}{2}

    :math:`p_s` is the probability of the class without the first :math:`s` of its :math:`K`
    concepts.

    The embedding is rebuilt from the projections that are left, and the last layer's probability of
    the class is read after each step; the value is the mean height of that curve. Nothing is
    normalised. With more than ``most_steps`` concepts several go at a time. As proposed in
    :cite:t:`fel2023craft`, which reads the output before softmax instead of the probability. A
    class without concepts is undefined.

    Args:
        importances: concepts × classes. How much of each concept goes into each class; NaN where it
            does not explain that class.
        head: classes × dimensions. Weights of the last layer.
        vectors: concepts × dimensions. The direction of each concept.
        of: The class whose probability is read: the predicted or the true one.
        most_steps: Steps of the curve; with more concepts several go at a time.
        labels: samples. The true class. Needed for of=label.
        embeddings: samples × dimensions. What the last layer of the network sees.
        bias: classes. Bias of the last layer; added to what concepts and importances make up. None
            is 0.
        outputs: samples × classes. What the network puts out, before any softmax; from `embeddings`
            and `head` if absent.
        projections: samples × concepts. How much of each concept is in each sample; the dot product
            with `vectors` if absent.
        rebuilt: samples × classes. What the network puts out for embeddings that were rebuilt from
            the concepts.
        constant: classes. What a method adds to each output when it rebuilds embeddings, whatever
            the concepts.

    Returns:
        A number, 0 to 1, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import concept_deletion
        >>> value = concept_deletion(
        ...     np.array([[2.0, np.nan], [1.0, np.nan], [np.nan, 1.0]]),
        ...     embeddings=np.array([[2.0, 1.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]),
        ... )
        >>> round(value, 4)
        0.4976
    """
    arrays = {
        "importances": importances,
        "head": head,
        "vectors": vectors,
        "labels": labels,
        "embeddings": embeddings,
        "bias": bias,
        "outputs": outputs,
        "projections": projections,
        "rebuilt": rebuilt,
        "constant": constant,
    }
    options = {"of": of, "most_steps": most_steps}
    return number(ConceptDeletion, arrays, options)


def concept_insertion(
    importances: ArrayLike,
    head: ArrayLike,
    vectors: ArrayLike,
    *,
    of: Literal["predicted", "label"] = "predicted",
    most_steps: int = 20,
    labels: ArrayLike | None = None,
    embeddings: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    outputs: ArrayLike | None = None,
    projections: ArrayLike | None = None,
    rebuilt: ArrayLike | None = None,
    constant: ArrayLike | None = None,
) -> float:
    r"""Mean probability of a class while its concepts are put in, the most important first.

    .. math:: \frac{1}{N} \sum_x \frac{1}{K} \sum_{s=1}^{K} \frac{p_{s-1} + p_s}{2}

    :math:`p_s` is the probability of the class with only the first :math:`s` of its :math:`K`
    concepts.

    The embedding is rebuilt from the projections that are left, and the last layer's probability of
    the class is read after each step; the value is the mean height of that curve. Nothing is
    normalised. With more than ``most_steps`` concepts several go at a time. As proposed in
    :cite:t:`fel2023craft`, which reads the output before softmax instead of the probability. A
    class without concepts is undefined.

    Args:
        importances: concepts × classes. How much of each concept goes into each class; NaN where it
            does not explain that class.
        head: classes × dimensions. Weights of the last layer.
        vectors: concepts × dimensions. The direction of each concept.
        of: The class whose probability is read: the predicted or the true one.
        most_steps: Steps of the curve; with more concepts several go at a time.
        labels: samples. The true class. Needed for of=label.
        embeddings: samples × dimensions. What the last layer of the network sees.
        bias: classes. Bias of the last layer; added to what concepts and importances make up. None
            is 0.
        outputs: samples × classes. What the network puts out, before any softmax; from `embeddings`
            and `head` if absent.
        projections: samples × concepts. How much of each concept is in each sample; the dot product
            with `vectors` if absent.
        rebuilt: samples × classes. What the network puts out for embeddings that were rebuilt from
            the concepts.
        constant: classes. What a method adds to each output when it rebuilds embeddings, whatever
            the concepts.

    Returns:
        A number, 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import concept_insertion
        >>> value = concept_insertion(
        ...     np.array([[2.0, np.nan], [1.0, np.nan], [np.nan, 1.0]]),
        ...     embeddings=np.array([[2.0, 1.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]),
        ... )
        >>> round(value, 4)
        0.8542
    """
    arrays = {
        "importances": importances,
        "head": head,
        "vectors": vectors,
        "labels": labels,
        "embeddings": embeddings,
        "bias": bias,
        "outputs": outputs,
        "projections": projections,
        "rebuilt": rebuilt,
        "constant": constant,
    }
    options = {"of": of, "most_steps": most_steps}
    return number(ConceptInsertion, arrays, options)


def divergence_recovered(
    divergence_spliced: ArrayLike,
    divergence_ablated: ArrayLike,
    *,
    ablation: Literal["mean", "zero"] = "mean",
    divergence_zeroed: ArrayLike | None = None,
    chance_divergence_spliced: ArrayLike | None = None,
) -> float:
    r"""Share of the divergence of an ablation that is recovered.

    .. math:: 1 - \frac{\sum_t KL(p_t, p^{spl}_t)}{\sum_t KL(p_t, p^{abl}_t)}

    with the next token's distribution :math:`p` as it is, with what the dictionary rebuilds, and
    with the layer ablated to its mean (or ``ablation="zero"``). Unlike the loss it cannot be better
    than the network by luck of the next token. An ablation that changes nothing: NaN. The loss in
    its place: :cite:t:`bricken2023monosemanticity`.

    Args:
        divergence_spliced: samples × ~tokens. Divergence (KL) of the next token's distribution with
            what the dictionary rebuilds, from the distribution as it is.
        divergence_ablated: samples × ~tokens. The same with the mean activation.
        ablation: What is put in for the activations: their mean, or zeros.
        divergence_zeroed: samples × ~tokens. The same with zeros. Needed for ablation=zero.
        chance_divergence_spliced: samples × ~tokens × chances. As `divergence_spliced`, of
            dictionaries that know nothing.

    Returns:
        A number, -inf to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import divergence_recovered
        >>> round(divergence_recovered([[0.026812]], [[0.296794]]), 5)
        0.90966
    """
    arrays = {
        "divergence_spliced": divergence_spliced,
        "divergence_ablated": divergence_ablated,
        "divergence_zeroed": divergence_zeroed,
        "chance_divergence_spliced": chance_divergence_spliced,
    }
    options = {"ablation": ablation}
    return number(DivergenceRecovered, arrays, options)


def edit_effect_error(
    edited: ArrayLike,
    direction: ArrayLike,
    output_before: ArrayLike,
    output_after: ArrayLike,
    surrogate_before: ArrayLike,
    surrogate_after: ArrayLike,
    *,
    distance: Literal["cosine", "l2", "norm"] = "cosine",
) -> float:
    r"""Mean distance between the change of the output under an edit and the predicted one.

    .. math:: \frac1N \sum_i \operatorname{dist}(p'_i - p_i,\; q'_i - q_i)

    with the explained model's probabilities :math:`p` and those that the explanation makes of the
    concepts :math:`q`, before and after edit :math:`i`. ``distance``: one minus the cosine, the
    length of the difference, or the difference of the lengths. For the cosine an edit after which
    either does not change is undefined. After :cite:t:`abraham2022cebab`.

    Args:
        edited: samples. Which concept was edited.
        direction: samples. Where the edit was meant to move its value: -1 or 1.
        output_before: samples × classes. The explained model's probabilities for the original.
        output_after: samples × classes. The explained model's probabilities for the edited input.
        surrogate_before: samples × classes. What the explanation makes of the concepts of the
            original.
        surrogate_after: samples × classes. What the explanation makes of the concepts of the edited
            input.
        distance: Of two changes: 1 - cosine, length of the difference, or of lengths.

    Returns:
        A number, 0 to 2, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

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
    arrays = {
        "edited": edited,
        "direction": direction,
        "output_before": output_before,
        "output_after": output_after,
        "surrogate_before": surrogate_before,
        "surrogate_after": surrogate_after,
    }
    options = {"distance": distance}
    return number(EditEffectError, arrays, options)


def feature_necessity(
    output: ArrayLike,
    removed: ArrayLike,
    *,
    removal: Sequence[Literal["background", "conditional"]] = ("background",),
    removals: Sequence[str] | None = None,
) -> NDArray[np.float64]:
    r"""Change of the output without the features of highest attribution, mean over samples.

    .. math:: \frac1N \sum_i \frac{1}{|K|} \sum_{k \in K}
        \Bigl| f(x_i) - \frac1B \sum_b f\bigl(x_i^{(k \leftarrow b)}\bigr) \Bigr|

    :math:`x^{(k \leftarrow b)}` is the sample with the values of its :math:`k` features of highest
    absolute attribution taken from background row :math:`b`; :math:`K` is 1, 2, 3, 5 and 8 as far
    as there are more features, and of equals the first feature counts first. Score and nulls share
    the background rows. Features of one group are removed together. A removal-based explanation in
    the sense of :cite:t:`covert2021explaining`, used as a test.

    Args:
        output: samples. The explained output of the model for each row.
        removed: samples × removals × steps. Mean output of the model without the features of
            highest attribution.
        removal: Background rows: any, or those most like the sample.
        removals: Names of the removals.

    Returns:
        An array (removal), each 0 to inf, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import feature_necessity
        >>> feature_necessity([1.0], [[[0.5, 0.5]]])
        array([0.5])
    """
    arrays = {"output": output, "removed": removed, "removals": removals}
    options = {"removal": removal}
    return table(FeatureNecessity, arrays, options)


def feature_sufficiency(
    output: ArrayLike,
    only: ArrayLike,
    *,
    removal: Sequence[Literal["background", "conditional"]] = ("background",),
    removals: Sequence[str] | None = None,
) -> NDArray[np.float64]:
    r"""Change of the output with only the features of highest attribution, mean over samples.

    .. math:: \frac1N \sum_i \frac{1}{|K|} \sum_{k \in K}
        \Bigl| f(x_i) - \frac1B \sum_b f\bigl(b^{(k \leftarrow x_i)}\bigr) \Bigr|

    As :func:`~theodolite.metrics.functions.faithful.feature_necessity`, with all but the first
    :math:`k` features taken from background rows.

    Args:
        output: samples. The explained output of the model for each row.
        only: samples × removals × steps. Mean output with these features alone, and all others
            removed.
        removal: Background rows: any, or those most like the sample.
        removals: Names of the removals.

    Returns:
        An array (removal), each 0 to inf, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import feature_sufficiency
        >>> feature_sufficiency([1.0], [[[0.5, 1.0]]])
        array([0.25])
    """
    arrays = {"output": output, "only": only, "removals": removals}
    options = {"removal": removal}
    return table(FeatureSufficiency, arrays, options)


def linearisation_error(
    importances: ArrayLike,
    linearised: ArrayLike,
    *,
    embeddings: ArrayLike | None = None,
    head: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    outputs: ArrayLike | None = None,
    vectors: ArrayLike | None = None,
    projections: ArrayLike | None = None,
    rebuilt: ArrayLike | None = None,
    constant: ArrayLike | None = None,
) -> float:
    r"""Mean absolute difference between the rest of a network and its slope, at what concepts say.

    .. math:: \frac{1}{NC} \sum_{x,i} |F_i(\hat h) - F_i(h) - J_i(h)(\hat h - h)|

    :math:`F` is the network after the layer, :math:`J` its Jacobian at the sample's embedding
    :math:`h`, and :math:`\hat h` is rebuilt from the concepts. 0 at the last, linear layer.

    Args:
        importances: concepts × classes. How much of each concept goes into each class; NaN where it
            does not explain that class.
        linearised: samples × classes. As `rebuilt`, by the slope of the network at each sample
            instead of the network itself.
        embeddings: samples × dimensions. What the last layer of the network sees.
        head: classes × dimensions. Weights of the last layer.
        bias: classes. Bias of the last layer; added to what concepts and importances make up. None
            is 0.
        outputs: samples × classes. What the network puts out, before any softmax; from `embeddings`
            and `head` if absent.
        vectors: concepts × dimensions. The direction of each concept.
        projections: samples × concepts. How much of each concept is in each sample; the dot product
            with `vectors` if absent.
        rebuilt: samples × classes. What the network puts out for embeddings that were rebuilt from
            the concepts.
        constant: classes. What a method adds to each output when it rebuilds embeddings, whatever
            the concepts.

    Returns:
        A number, 0 to inf, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import linearisation_error
        >>> linearisation_error(
        ...     np.ones((1, 2)),
        ...     rebuilt=np.array([[1.0, 2.0]]),
        ...     linearised=np.array([[1.5, 2.0]]),
        ...     outputs=np.array([[1.0, 2.5]]),
        ...     projections=np.ones((1, 1)),
        ... )
        0.25
    """
    arrays = {
        "importances": importances,
        "linearised": linearised,
        "embeddings": embeddings,
        "head": head,
        "bias": bias,
        "outputs": outputs,
        "vectors": vectors,
        "projections": projections,
        "rebuilt": rebuilt,
        "constant": constant,
    }
    options: dict[str, object] = {}
    return number(LinearisationError, arrays, options)


def loss_recovered(
    loss: ArrayLike,
    loss_spliced: ArrayLike,
    loss_ablated: ArrayLike,
    *,
    ablation: Literal["mean", "zero"] = "mean",
    loss_zeroed: ArrayLike | None = None,
    chance_loss_spliced: ArrayLike | None = None,
) -> float:
    r"""Share of the loss of an ablation that is recovered.

    .. math:: \frac{\sum_t L^{abl}_t - L^{spl}_t}{\sum_t L^{abl}_t - L_t}

    with the cross-entropy :math:`L` of the next token as it is, with what the dictionary rebuilds,
    and with the layer ablated to its mean (or ``ablation="zero"``), over tokens that have a next
    one. An ablation that costs nothing: NaN. It may exceed 1, where the dictionary does better than
    the layer. As in :cite:t:`bricken2023monosemanticity`, there with zeros.

    Args:
        loss: samples × ~tokens. Cross-entropy of the next token; NaN where there is none.
        loss_spliced: samples × ~tokens. The same with what the dictionary rebuilds put in for the
            activations.
        loss_ablated: samples × ~tokens. The same with the mean activation put in.
        ablation: What is put in for the activations: their mean, or zeros.
        loss_zeroed: samples × ~tokens. The same with zeros put in. Needed for ablation=zero.
        chance_loss_spliced: samples × ~tokens × chances. As `loss_spliced`, of dictionaries that
            know nothing.

    Returns:
        A number, -inf to inf, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import loss_recovered
        >>> round(loss_recovered([[3.0]], [[3.2]], [[5.0]]), 6)
        0.9
    """
    arrays = {
        "loss": loss,
        "loss_spliced": loss_spliced,
        "loss_ablated": loss_ablated,
        "loss_zeroed": loss_zeroed,
        "chance_loss_spliced": chance_loss_spliced,
    }
    options = {"ablation": ablation}
    return number(LossRecovered, arrays, options)


def max_sensitivity(
    norms: ArrayLike,
    changes: ArrayLike,
    *,
    form: Literal["relative", "absolute"] = "relative",
    noise: Literal["first", "uniform", "gaussian"] = "first",
    noises: Sequence[str] | None = None,
) -> float:
    r"""The largest change of a map under noise, mean over pictures.

    .. math:: \max_r \frac{\lVert e(x) - e(x + \varepsilon_r) \rVert_2}{\lVert e(x) \rVert_2}

    over the draws :math:`r` of the noise, the class that is explained being kept. ``absolute``
    leaves the denominator out, as :cite:t:`kazmierczak2024benchmarking` print it; their numbers are
    of the relative form. A map of nothing but zeros has no relative change: NaN. See
    :cite:t:`yeh2019infidelity`.

    Args:
        norms: samples. Length of each map as a vector of pixels.
        changes: samples × noises × draws. Distance between the map and that of the picture with
            noise, for each draw of the noise; NaN where it was not tried.
        form: Change as a share of the map's size, or as it is.
        noise: Which noise is read; first: the first in the evidence.
        noises: Names of the noises.

    Returns:
        A number, 0 to inf, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import max_sensitivity
        >>> changes = [[[0.5, 1.0]]]
        >>> max_sensitivity([2.0], changes), max_sensitivity([2.0], changes, form="absolute")
        (0.5, 1.0)
    """
    arrays = {"norms": norms, "changes": changes, "noises": noises}
    options = {"form": form, "noise": noise}
    return number(MaxSensitivity, arrays, options)


def method_agreement(
    values: ArrayLike,
    other_method_values: ArrayLike,
    *,
    groups: ArrayLike | None = None,
) -> float:
    r"""Overlap of the first five features that two methods name, mean over samples.

    .. math:: \frac1N \sum_i \frac{|T_i \cap T'_i|}{5}

    :math:`T_i` are the five features of highest absolute attribution. The top-k feature agreement
    of :cite:t:`krishna2024disagreement`.

    Args:
        values: samples × features. Attribution of the output to each feature, with its sign.
        other_method_values: samples × features. Attributions of the same model by another method.
        groups: features. The group of each feature, by name or number: columns of one group are
            removed together.

    Returns:
        A number, 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import method_agreement
        >>> method_agreement([[6.0, 5, 4, 3, 2, 1]], [[1.0, 2, 3, 4, 5, 6]])
        0.8
    """
    arrays = {"values": values, "other_method_values": other_method_values, "groups": groups}
    options: dict[str, object] = {}
    return number(MethodAgreement, arrays, options)


def randomisation_similarity(
    randomised_similarity: ArrayLike,
    *,
    randomised: ArrayLike | None = None,
) -> float:
    r"""Rank correlation of maps before and after the weights are drawn anew, mean over pictures.

    .. math:: \frac{1}{N} \sum_i \rho\bigl(|e_i|, |e_i^{\mathrm{random}}|\bigr)

    A map that stays as it was cannot tell what the network learnt. Undefined where a map is the
    same everywhere. See :cite:t:`adebayo2018sanity`.

    Args:
        randomised_similarity: samples. Rank correlation of the map with that of the same network
            with random weights; NaN where one of them is the same everywhere, or where it was not
            tried.
        randomised: samples. Where that was tried; everywhere if not given.

    Returns:
        A number, -1 to 1, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import randomisation_similarity
        >>> randomisation_similarity([0.1, 0.5])
        0.3
    """
    arrays = {"randomised_similarity": randomised_similarity, "randomised": randomised}
    options: dict[str, object] = {}
    return number(RandomisationSimilarity, arrays, options)


def removal_faithfulness(
    clean: ArrayLike,
    percents: ArrayLike,
    most_first: ArrayLike,
    least_first: ArrayLike,
    *,
    thresholds: tuple[float, ...] = (5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0),
    removal: Literal["first", "road", "black", "uniform", "gaussian"] = "first",
    across: Literal["best", "mean"] = "best",
    removals: Sequence[str] | None = None,
) -> float:
    r"""Harmonic mean of sufficiency and necessity, mean over pictures.

    .. math:: F = \frac{2 S N}{S + N}, \qquad
        S = \max_t e^{-\overline{d}^{\,\mathrm{least}}_t}, \quad
        N = \max_t \bigl(1 - e^{-\overline{d}^{\,\mathrm{most}}_t}\bigr)

    :math:`\overline{d}_t` is the mean of :math:`|p(\hat y|x) - p(\hat y|x')|` over all pictures
    :math:`x'` with less than :math:`t` per cent of the pixels removed, the least or the most
    relevant first. Thresholds below the first step have no such picture and are left out. Follows
    algorithm 1 of :cite:t:`kazmierczak2024benchmarking`, which prints the maximum over the last
    list of changes where that over thresholds is meant.

    Args:
        clean: samples. Probability of the explained class for the picture as it is.
        percents: steps. How many per cent of the pixels are removed in each step, rising.
        most_first: samples × removals × steps. The same after the most relevant pixels were
            removed: so many per cent of them, in each of several ways.
        least_first: samples × removals × steps. The same after the least relevant were removed.
        thresholds: Per cent of the pixels up to which removals are averaged.
        removal: Which way of removing pixels is read; first: the first in the evidence.
        across: How thresholds are summed up: the best of them, or their mean.
        removals: Names of the removals.

    Returns:
        A number, 0 to 0.7746, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import removal_faithfulness
        >>> most_first, least_first = [[[0.6, 0.2]]], [[[0.9, 0.8]]]
        >>> round(removal_faithfulness([0.9], [1, 3], most_first, least_first), 4)
        0.5567
    """
    arrays = {
        "clean": clean,
        "percents": percents,
        "most_first": most_first,
        "least_first": least_first,
        "removals": removals,
    }
    options = {"thresholds": thresholds, "removal": removal, "across": across}
    return number(RemovalFaithfulness, arrays, options)


def removal_necessity(
    clean: ArrayLike,
    percents: ArrayLike,
    most_first: ArrayLike,
    *,
    thresholds: tuple[float, ...] = (5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0),
    removal: Literal["first", "road", "black", "uniform", "gaussian"] = "first",
    across: Literal["best", "mean"] = "best",
    removals: Sequence[str] | None = None,
) -> float:
    r"""How much the answer changes without the most relevant pixels, mean over pictures.

    .. math:: N = \max_t \bigl(1 - \exp(-\overline{d}_t)\bigr)

    with changes :math:`\overline{d}_t` as in
    :func:`~theodolite.metrics.functions.faithful.removal_faithfulness`. See algorithm 1 of
    :cite:t:`kazmierczak2024benchmarking`.

    Args:
        clean: samples. Probability of the explained class for the picture as it is.
        percents: steps. How many per cent of the pixels are removed in each step, rising.
        most_first: samples × removals × steps. The same after the most relevant pixels were
            removed: so many per cent of them, in each of several ways.
        thresholds: Per cent of the pixels up to which removals are averaged.
        removal: Which way of removing pixels is read; first: the first in the evidence.
        across: How thresholds are summed up: the best of them, or their mean.
        removals: Names of the removals.

    Returns:
        A number, 0 to 0.632121, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import removal_necessity
        >>> round(removal_necessity([0.9], [1, 3], most_first=[[[0.6, 0.2]]]), 4)
        0.3935
    """
    arrays = {"clean": clean, "percents": percents, "most_first": most_first, "removals": removals}
    options = {"thresholds": thresholds, "removal": removal, "across": across}
    return number(RemovalNecessity, arrays, options)


def removal_sufficiency(
    clean: ArrayLike,
    percents: ArrayLike,
    least_first: ArrayLike,
    *,
    thresholds: tuple[float, ...] = (5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0),
    removal: Literal["first", "road", "black", "uniform", "gaussian"] = "first",
    across: Literal["best", "mean"] = "best",
    removals: Sequence[str] | None = None,
) -> float:
    r"""How little the answer changes without the least relevant pixels, mean over pictures.

    .. math:: S = \max_t \exp(-\overline{d}_t)

    with changes :math:`\overline{d}_t` as in
    :func:`~theodolite.metrics.functions.faithful.removal_faithfulness`. See algorithm 1 of
    :cite:t:`kazmierczak2024benchmarking`.

    Args:
        clean: samples. Probability of the explained class for the picture as it is.
        percents: steps. How many per cent of the pixels are removed in each step, rising.
        least_first: samples × removals × steps. The same after the least relevant were removed.
        thresholds: Per cent of the pixels up to which removals are averaged.
        removal: Which way of removing pixels is read; first: the first in the evidence.
        across: How thresholds are summed up: the best of them, or their mean.
        removals: Names of the removals.

    Returns:
        A number, 0.367879 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import removal_sufficiency
        >>> round(removal_sufficiency([0.9], [1, 3], least_first=[[[0.8, 0.7]]]), 4)
        0.8607
    """
    arrays = {
        "clean": clean,
        "percents": percents,
        "least_first": least_first,
        "removals": removals,
    }
    options = {"thresholds": thresholds, "removal": removal, "across": across}
    return number(RemovalSufficiency, arrays, options)


def surrogate_accuracy(
    importances: ArrayLike,
    labels: ArrayLike,
    *,
    surrogate: Literal["linear", "rebuilt", "learned", "linearised"] = "linear",
    projection: Literal["given", "dot", "coordinates"] = "given",
    chance: float | None = None,
    learned: ArrayLike | None = None,
    linearised: ArrayLike | None = None,
    embeddings: ArrayLike | None = None,
    vectors: ArrayLike | None = None,
    head: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    outputs: ArrayLike | None = None,
    projections: ArrayLike | None = None,
    rebuilt: ArrayLike | None = None,
    constant: ArrayLike | None = None,
) -> float:
    r"""Accuracy of the explanation above chance, as a share of the network's.

    .. math:: \frac{a(\hat y) - a_r}{a(y) - a_r}

    :math:`a_r` is the accuracy of a random answer, 1 / classes unless ``chance`` says otherwise.
    As printed (CSHAP\ :sub:`1`, eq. 8 of :cite:t:`kumar2026unfaithfulness`) the formula subtracts
    the rate from counts; here all are rates. Undefined for a network that is no better than chance.

    Args:
        importances: concepts × classes. How much of each concept goes into each class; NaN where it
            does not explain that class.
        labels: samples. The true class.
        surrogate: What stands for the explanation: the sum, or rebuilt or fitted outputs.
        projection: How much of a concept is in a sample: as given, dot products, or coordinates.
        chance: Accuracy by chance; None: one over the number of classes.
        learned: samples × classes. What a surrogate with parameters of its own puts out, fitted to
            the network. Needed for surrogate=learned.
        linearised: samples × classes. As `rebuilt`, by the slope of the network at each sample
            instead of the network itself. Needed for surrogate=linearised.
        embeddings: samples × dimensions. What the last layer of the network sees. Needed for
            projection=dot or coordinates.
        vectors: concepts × dimensions. The direction of each concept. Needed for projection=dot or
            coordinates.
        head: classes × dimensions. Weights of the last layer.
        bias: classes. Bias of the last layer; added to what concepts and importances make up. None
            is 0.
        outputs: samples × classes. What the network puts out, before any softmax; from `embeddings`
            and `head` if absent.
        projections: samples × concepts. How much of each concept is in each sample; the dot product
            with `vectors` if absent.
        rebuilt: samples × classes. What the network puts out for embeddings that were rebuilt from
            the concepts.
        constant: classes. What a method adds to each output when it rebuilds embeddings, whatever
            the concepts.

    Returns:
        A number, -inf to inf, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import surrogate_accuracy
        >>> surrogate_accuracy(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ...     labels=np.array([0, 1]),
        ... )
        0.0
    """
    arrays = {
        "importances": importances,
        "labels": labels,
        "learned": learned,
        "linearised": linearised,
        "embeddings": embeddings,
        "vectors": vectors,
        "head": head,
        "bias": bias,
        "outputs": outputs,
        "projections": projections,
        "rebuilt": rebuilt,
        "constant": constant,
    }
    options = {"surrogate": surrogate, "projection": projection, "chance": chance}
    return number(SurrogateAccuracy, arrays, options)


def surrogate_agreement(
    importances: ArrayLike,
    *,
    surrogate: Literal["linear", "rebuilt", "learned", "linearised"] = "linear",
    projection: Literal["given", "dot", "coordinates"] = "given",
    learned: ArrayLike | None = None,
    linearised: ArrayLike | None = None,
    embeddings: ArrayLike | None = None,
    vectors: ArrayLike | None = None,
    head: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    outputs: ArrayLike | None = None,
    projections: ArrayLike | None = None,
    rebuilt: ArrayLike | None = None,
    constant: ArrayLike | None = None,
) -> float:
    r"""Share of samples for which explanation and network have the same highest output.

    .. math:: \frac1N \sum_x 1\bigl[\arg\max_i y_i = \arg\max_i \hat y_i\bigr]

    Agreement with the network, not with the label. Where several outputs are highest, the chance
    that a random choice among them agrees: two thirds, say, is then the best that can be had, and
    it is what the network's outputs score against themselves. Called ICE\ :sub:`2` in
    :cite:t:`kumar2026unfaithfulness`, eq. 6.

    Args:
        importances: concepts × classes. How much of each concept goes into each class; NaN where it
            does not explain that class.
        surrogate: What stands for the explanation: the sum, or rebuilt or fitted outputs.
        projection: How much of a concept is in a sample: as given, dot products, or coordinates.
        learned: samples × classes. What a surrogate with parameters of its own puts out, fitted to
            the network. Needed for surrogate=learned.
        linearised: samples × classes. As `rebuilt`, by the slope of the network at each sample
            instead of the network itself. Needed for surrogate=linearised.
        embeddings: samples × dimensions. What the last layer of the network sees. Needed for
            projection=dot or coordinates.
        vectors: concepts × dimensions. The direction of each concept. Needed for projection=dot or
            coordinates.
        head: classes × dimensions. Weights of the last layer.
        bias: classes. Bias of the last layer; added to what concepts and importances make up. None
            is 0.
        outputs: samples × classes. What the network puts out, before any softmax; from `embeddings`
            and `head` if absent.
        projections: samples × concepts. How much of each concept is in each sample; the dot product
            with `vectors` if absent.
        rebuilt: samples × classes. What the network puts out for embeddings that were rebuilt from
            the concepts.
        constant: classes. What a method adds to each output when it rebuilds embeddings, whatever
            the concepts.

    Returns:
        A number, 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import surrogate_agreement
        >>> surrogate_agreement(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ... )
        0.5
    """
    arrays = {
        "importances": importances,
        "learned": learned,
        "linearised": linearised,
        "embeddings": embeddings,
        "vectors": vectors,
        "head": head,
        "bias": bias,
        "outputs": outputs,
        "projections": projections,
        "rebuilt": rebuilt,
        "constant": constant,
    }
    options = {"surrogate": surrogate, "projection": projection}
    return number(SurrogateAgreement, arrays, options)


def surrogate_distance(
    importances: ArrayLike,
    *,
    surrogate: Literal["linear", "rebuilt", "learned", "linearised"] = "linear",
    projection: Literal["given", "dot", "coordinates"] = "given",
    learned: ArrayLike | None = None,
    linearised: ArrayLike | None = None,
    embeddings: ArrayLike | None = None,
    vectors: ArrayLike | None = None,
    head: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    outputs: ArrayLike | None = None,
    projections: ArrayLike | None = None,
    rebuilt: ArrayLike | None = None,
    constant: ArrayLike | None = None,
) -> float:
    r"""Share of the probability that an explanation puts elsewhere than the network (SURF).

    .. math:: d = \frac{1}{2N} \sum_x \sum_i |p_i - \hat p_i|, \qquad p = \mathrm{softmax}(y)

    An earth mover's distance in which all classes are equally far apart; that is, total variation.
    Outputs are made as in :func:`~theodolite.metrics.functions.faithful.surrogate_error`. A single
    output has no distribution: undefined. Introduced in :cite:t:`kumar2026unfaithfulness`, eq. 12.

    Args:
        importances: concepts × classes. How much of each concept goes into each class; NaN where it
            does not explain that class.
        surrogate: What stands for the explanation: the sum, or rebuilt or fitted outputs.
        projection: How much of a concept is in a sample: as given, dot products, or coordinates.
        learned: samples × classes. What a surrogate with parameters of its own puts out, fitted to
            the network. Needed for surrogate=learned.
        linearised: samples × classes. As `rebuilt`, by the slope of the network at each sample
            instead of the network itself. Needed for surrogate=linearised.
        embeddings: samples × dimensions. What the last layer of the network sees. Needed for
            projection=dot or coordinates.
        vectors: concepts × dimensions. The direction of each concept. Needed for projection=dot or
            coordinates.
        head: classes × dimensions. Weights of the last layer.
        bias: classes. Bias of the last layer; added to what concepts and importances make up. None
            is 0.
        outputs: samples × classes. What the network puts out, before any softmax; from `embeddings`
            and `head` if absent.
        projections: samples × concepts. How much of each concept is in each sample; the dot product
            with `vectors` if absent.
        rebuilt: samples × classes. What the network puts out for embeddings that were rebuilt from
            the concepts.
        constant: classes. What a method adds to each output when it rebuilds embeddings, whatever
            the concepts.

    Returns:
        A number, 0 to 1, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import surrogate_distance
        >>> value = surrogate_distance(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ... )
        >>> round(value, 4)
        0.1768
    """
    arrays = {
        "importances": importances,
        "learned": learned,
        "linearised": linearised,
        "embeddings": embeddings,
        "vectors": vectors,
        "head": head,
        "bias": bias,
        "outputs": outputs,
        "projections": projections,
        "rebuilt": rebuilt,
        "constant": constant,
    }
    options = {"surrogate": surrogate, "projection": projection}
    return number(SurrogateDistance, arrays, options)


def surrogate_error(
    importances: ArrayLike,
    *,
    surrogate: Literal["linear", "rebuilt", "learned", "linearised"] = "linear",
    projection: Literal["given", "dot", "coordinates"] = "given",
    learned: ArrayLike | None = None,
    linearised: ArrayLike | None = None,
    embeddings: ArrayLike | None = None,
    vectors: ArrayLike | None = None,
    head: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    outputs: ArrayLike | None = None,
    projections: ArrayLike | None = None,
    rebuilt: ArrayLike | None = None,
    constant: ArrayLike | None = None,
) -> float:
    r"""Mean absolute difference between the outputs of a network and of its explanation (SURF).

    .. math:: \hat y_i = b_i + \sum_k \alpha_{ik} P(h; V_i)_k, \qquad
              d = \frac{1}{NC} \sum_{x,i} |y_i - \hat y_i|

    The explanation of class :math:`i` are concepts :math:`V_i` with importances :math:`\alpha_i`;
    the network's bias :math:`b` is added. Nothing is fitted. Introduced in
    :cite:t:`kumar2026unfaithfulness`, eqs. 10 and 11. ``surrogate`` may be another than the
    paper's.

    Args:
        importances: concepts × classes. How much of each concept goes into each class; NaN where it
            does not explain that class.
        surrogate: What stands for the explanation: the sum, or rebuilt or fitted outputs.
        projection: How much of a concept is in a sample: as given, dot products, or coordinates.
        learned: samples × classes. What a surrogate with parameters of its own puts out, fitted to
            the network. Needed for surrogate=learned.
        linearised: samples × classes. As `rebuilt`, by the slope of the network at each sample
            instead of the network itself. Needed for surrogate=linearised.
        embeddings: samples × dimensions. What the last layer of the network sees. Needed for
            projection=dot or coordinates.
        vectors: concepts × dimensions. The direction of each concept. Needed for projection=dot or
            coordinates.
        head: classes × dimensions. Weights of the last layer.
        bias: classes. Bias of the last layer; added to what concepts and importances make up. None
            is 0.
        outputs: samples × classes. What the network puts out, before any softmax; from `embeddings`
            and `head` if absent.
        projections: samples × concepts. How much of each concept is in each sample; the dot product
            with `vectors` if absent.
        rebuilt: samples × classes. What the network puts out for embeddings that were rebuilt from
            the concepts.
        constant: classes. What a method adds to each output when it rebuilds embeddings, whatever
            the concepts.

    Returns:
        A number, 0 to inf, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import surrogate_error
        >>> surrogate_error(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ... )
        0.375
    """
    arrays = {
        "importances": importances,
        "learned": learned,
        "linearised": linearised,
        "embeddings": embeddings,
        "vectors": vectors,
        "head": head,
        "bias": bias,
        "outputs": outputs,
        "projections": projections,
        "rebuilt": rebuilt,
        "constant": constant,
    }
    options = {"surrogate": surrogate, "projection": projection}
    return number(SurrogateError, arrays, options)


def surrogate_rank_correlation(
    importances: ArrayLike,
    *,
    surrogate: Literal["linear", "rebuilt", "learned", "linearised"] = "linear",
    projection: Literal["given", "dot", "coordinates"] = "given",
    learned: ArrayLike | None = None,
    linearised: ArrayLike | None = None,
    embeddings: ArrayLike | None = None,
    vectors: ArrayLike | None = None,
    head: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    outputs: ArrayLike | None = None,
    projections: ArrayLike | None = None,
    rebuilt: ArrayLike | None = None,
    constant: ArrayLike | None = None,
) -> float:
    r"""Mean over samples of Spearman's correlation between the outputs of network and explanation.

    .. math:: \frac1N \sum_x \mathrm{corr}\bigl(\mathrm{rank}(y), \mathrm{rank}(\hat y)\bigr)

    Over the outputs of one sample; equal outputs share their rank. Undefined for a sample whose
    outputs, or the explanation's, are all equal: counted, and left out.

    Args:
        importances: concepts × classes. How much of each concept goes into each class; NaN where it
            does not explain that class.
        surrogate: What stands for the explanation: the sum, or rebuilt or fitted outputs.
        projection: How much of a concept is in a sample: as given, dot products, or coordinates.
        learned: samples × classes. What a surrogate with parameters of its own puts out, fitted to
            the network. Needed for surrogate=learned.
        linearised: samples × classes. As `rebuilt`, by the slope of the network at each sample
            instead of the network itself. Needed for surrogate=linearised.
        embeddings: samples × dimensions. What the last layer of the network sees. Needed for
            projection=dot or coordinates.
        vectors: concepts × dimensions. The direction of each concept. Needed for projection=dot or
            coordinates.
        head: classes × dimensions. Weights of the last layer.
        bias: classes. Bias of the last layer; added to what concepts and importances make up. None
            is 0.
        outputs: samples × classes. What the network puts out, before any softmax; from `embeddings`
            and `head` if absent.
        projections: samples × concepts. How much of each concept is in each sample; the dot product
            with `vectors` if absent.
        rebuilt: samples × classes. What the network puts out for embeddings that were rebuilt from
            the concepts.
        constant: classes. What a method adds to each output when it rebuilds embeddings, whatever
            the concepts.

    Returns:
        A number, -1 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import surrogate_rank_correlation
        >>> surrogate_rank_correlation(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ... )
        0.0
    """
    arrays = {
        "importances": importances,
        "learned": learned,
        "linearised": linearised,
        "embeddings": embeddings,
        "vectors": vectors,
        "head": head,
        "bias": bias,
        "outputs": outputs,
        "projections": projections,
        "rebuilt": rebuilt,
        "constant": constant,
    }
    options = {"surrogate": surrogate, "projection": projection}
    return number(SurrogateRankCorrelation, arrays, options)


def surrogate_relative_error(
    importances: ArrayLike,
    labels: ArrayLike,
    *,
    surrogate: Literal["linear", "rebuilt", "learned", "linearised"] = "linear",
    projection: Literal["given", "dot", "coordinates"] = "given",
    learned: ArrayLike | None = None,
    linearised: ArrayLike | None = None,
    embeddings: ArrayLike | None = None,
    vectors: ArrayLike | None = None,
    head: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    outputs: ArrayLike | None = None,
    projections: ArrayLike | None = None,
    rebuilt: ArrayLike | None = None,
    constant: ArrayLike | None = None,
) -> float:
    r"""Mean over samples of :math:`|y_t - \hat y_t| / |y_t|` at the true class :math:`t`.

    .. math:: \frac1N \sum_x \frac{|y_t - \hat y_t|}{|y_t|}

    Called ICE\ :sub:`1` in :cite:t:`kumar2026unfaithfulness`, eq. 5. Undefined where
    :math:`y_t = 0`. The code of :cite:t:`zhang2021invertible` computes another quantity, a ratio of
    means: :func:`~theodolite.metrics.functions.faithful.surrogate_relative_error_by_class`.

    Args:
        importances: concepts × classes. How much of each concept goes into each class; NaN where it
            does not explain that class.
        labels: samples. The true class.
        surrogate: What stands for the explanation: the sum, or rebuilt or fitted outputs.
        projection: How much of a concept is in a sample: as given, dot products, or coordinates.
        learned: samples × classes. What a surrogate with parameters of its own puts out, fitted to
            the network. Needed for surrogate=learned.
        linearised: samples × classes. As `rebuilt`, by the slope of the network at each sample
            instead of the network itself. Needed for surrogate=linearised.
        embeddings: samples × dimensions. What the last layer of the network sees. Needed for
            projection=dot or coordinates.
        vectors: concepts × dimensions. The direction of each concept. Needed for projection=dot or
            coordinates.
        head: classes × dimensions. Weights of the last layer.
        bias: classes. Bias of the last layer; added to what concepts and importances make up. None
            is 0.
        outputs: samples × classes. What the network puts out, before any softmax; from `embeddings`
            and `head` if absent.
        projections: samples × concepts. How much of each concept is in each sample; the dot product
            with `vectors` if absent.
        rebuilt: samples × classes. What the network puts out for embeddings that were rebuilt from
            the concepts.
        constant: classes. What a method adds to each output when it rebuilds embeddings, whatever
            the concepts.

    Returns:
        A number, 0 to inf, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import surrogate_relative_error
        >>> surrogate_relative_error(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ...     labels=np.array([0, 1]),
        ... )
        0.25
    """
    arrays = {
        "importances": importances,
        "labels": labels,
        "learned": learned,
        "linearised": linearised,
        "embeddings": embeddings,
        "vectors": vectors,
        "head": head,
        "bias": bias,
        "outputs": outputs,
        "projections": projections,
        "rebuilt": rebuilt,
        "constant": constant,
    }
    options = {"surrogate": surrogate, "projection": projection}
    return number(SurrogateRelativeError, arrays, options)


def surrogate_relative_error_by_class(
    importances: ArrayLike,
    labels: ArrayLike,
    *,
    surrogate: Literal["linear", "rebuilt", "learned", "linearised"] = "linear",
    projection: Literal["given", "dot", "coordinates"] = "given",
    learned: ArrayLike | None = None,
    linearised: ArrayLike | None = None,
    embeddings: ArrayLike | None = None,
    vectors: ArrayLike | None = None,
    head: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    outputs: ArrayLike | None = None,
    projections: ArrayLike | None = None,
    rebuilt: ArrayLike | None = None,
    constant: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Mean error of a class's own output over the size of its mean, for each class.

    .. math:: d_i = \frac{\sum_{x \in X_i} |y_i - \hat y_i|}{|\sum_{x \in X_i} y_i|}

    :math:`X_i` are the samples of class :math:`i`. This is what the code of
    :cite:t:`zhang2021invertible` computes, without the small number that it adds below the line: a
    class whose mean output is 0, or that has no samples, is undefined. The mean of ratios of
    :func:`~theodolite.metrics.functions.faithful.surrogate_relative_error` is another quantity.

    Args:
        importances: concepts × classes. How much of each concept goes into each class; NaN where it
            does not explain that class.
        labels: samples. The true class.
        surrogate: What stands for the explanation: the sum, or rebuilt or fitted outputs.
        projection: How much of a concept is in a sample: as given, dot products, or coordinates.
        learned: samples × classes. What a surrogate with parameters of its own puts out, fitted to
            the network. Needed for surrogate=learned.
        linearised: samples × classes. As `rebuilt`, by the slope of the network at each sample
            instead of the network itself. Needed for surrogate=linearised.
        embeddings: samples × dimensions. What the last layer of the network sees. Needed for
            projection=dot or coordinates.
        vectors: concepts × dimensions. The direction of each concept. Needed for projection=dot or
            coordinates.
        head: classes × dimensions. Weights of the last layer.
        bias: classes. Bias of the last layer; added to what concepts and importances make up. None
            is 0.
        outputs: samples × classes. What the network puts out, before any softmax; from `embeddings`
            and `head` if absent.
        projections: samples × concepts. How much of each concept is in each sample; the dot product
            with `vectors` if absent.
        rebuilt: samples × classes. What the network puts out for embeddings that were rebuilt from
            the concepts.
        constant: classes. What a method adds to each output when it rebuilds embeddings, whatever
            the concepts.

    Returns:
        An array (classes), each 0 to inf, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import surrogate_relative_error_by_class
        >>> surrogate_relative_error_by_class(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ...     labels=np.array([0, 1]),
        ... )
        array([0. , 0.5])
    """
    arrays = {
        "importances": importances,
        "labels": labels,
        "learned": learned,
        "linearised": linearised,
        "embeddings": embeddings,
        "vectors": vectors,
        "head": head,
        "bias": bias,
        "outputs": outputs,
        "projections": projections,
        "rebuilt": rebuilt,
        "constant": constant,
    }
    options = {"surrogate": surrogate, "projection": projection}
    return table(SurrogateRelativeErrorByClass, arrays, options)
