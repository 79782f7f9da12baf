"""Does a unit detect the concept?

Written by `python -m theodolite.metrics`; do not edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.metrics.compute import table
from theodolite.metrics.detects.detection_accuracy import DetectionAccuracy
from theodolite.metrics.detects.detection_and_accuracy import DetectionAndAccuracy
from theodolite.metrics.detects.pixel_recall import PixelRecall
from theodolite.metrics.detects.unit_iou import UnitIoU
from theodolite.metrics.language.activation_precision import ActivationPrecision
from theodolite.metrics.language.judge_detection import JudgeDetection
from theodolite.metrics.language.judge_fuzzing import JudgeFuzzing
from theodolite.metrics.language.judge_intruder import JudgeIntruder
from theodolite.metrics.language.simulation_correlation import SimulationCorrelation

__all__ = [
    "activation_precision",
    "detection_accuracy",
    "detection_and_accuracy",
    "judge_detection",
    "judge_fuzzing",
    "judge_intruder",
    "pixel_recall",
    "simulation_correlation",
    "unit_iou",
]


def activation_precision(
    tokens: ArrayLike,
    latent: ArrayLike,
    value: ArrayLike,
    holds: ArrayLike,
    explained: ArrayLike,
    predicate_of: ArrayLike,
    *,
    weight: Literal["value", "token"] = "value",
    chance_activation: ArrayLike | None = None,
    chance_on_formula: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Share of a latent's activity at tokens of which its explanation holds.

    .. math:: \frac{\sum_t a_t \, 1[g(t)]}{\sum_t a_t}

    with the latent's activity :math:`a_t > 0` at token :math:`t`, or 1 where it is active
    (``weight="token"``), and its explanation :math:`g`. Never active, or no predicate: NaN. That
    activity is specific to what a feature is named after is asked in
    :cite:t:`bricken2023monosemanticity`.

    Args:
        tokens: samples × ~tokens. Ids of the tokens of each sequence.
        latent: samples × ~tokens × ~active. The latents that are active at each token, rising.
        value: samples × ~tokens × ~active. How active each of them is there: never 0, and below 0
            only if `signed`.
        holds: samples × ~tokens × ~facts. The predicates that hold of each token, rising.
        explained: explanations. The latent that each explanation is of.
        predicate_of: explanations. What the latent is said to stand for: a predicate of tokens; -1
            for none.
        weight: What each active token counts: how active the latent is there, or 1.
        chance_activation: samples × chances × explanations. The sum over each sequence of the
            latent of such a dictionary that fits the explanation best.
        chance_on_formula: samples × chances × explanations. The part of it at tokens where the
            explanation holds.

    Returns:
        An array (explanations), each 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import activation_precision
        >>> tokens = [[0, 1, 2], [3, 1, 4, 5], [0, 6, 2]]
        >>> cat = [[[], [0], []], [[], [0], [], []], [[], [], []]]
        >>> latent = [[[], [0], []], [[], [0], [0], []], [[], [0], []]]
        >>> value = [[[], [2.0], []], [[], [1.5], [0.5], []], [[], [0.4], []]]
        >>> activation_precision(tokens, latent, value, cat, [0], [0]).round(6)
        array([0.795455])
        >>> activation_precision(tokens, latent, value, cat, [0], [0], weight="token")
        array([0.5])
    """
    arrays = {
        "tokens": tokens,
        "latent": latent,
        "value": value,
        "holds": holds,
        "explained": explained,
        "predicate_of": predicate_of,
        "chance_activation": chance_activation,
        "chance_on_formula": chance_on_formula,
    }
    options = {"weight": weight}
    return table(ActivationPrecision, arrays, options)


def detection_accuracy(
    unit_pixels: ArrayLike,
    formula_pixels: ArrayLike,
    shared_pixels: ArrayLike,
) -> NDArray[np.float64]:
    r"""Of the pictures that show the formula, the share in which the unit marks a pixel of it.

    .. math:: \frac{\#\{x : M_u(x) \cap G(x) \neq \emptyset\}}{\#\{x : G(x) \neq \emptyset\}}

    Introduced in :cite:t:`makinwa2022detection`, eq. 4. The published code rounds to four digits
    and returns 0 for a formula that is nowhere; here nothing is rounded and that is undefined, so
    NaN. Another project gives the name to what is ``pixel_recall`` here.

    Args:
        unit_pixels: samples × units. Pixels that the unit marks.
        formula_pixels: samples × units. Pixels at which the unit's formula holds.
        shared_pixels: samples × units. Pixels in both.

    Returns:
        An array (units), each 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import detection_accuracy
        >>> detection_accuracy(np.array([[2], [2]]), np.array([[1], [4]]), np.array([[0], [2]]))
        array([0.5])
    """
    arrays = {
        "unit_pixels": unit_pixels,
        "formula_pixels": formula_pixels,
        "shared_pixels": shared_pixels,
    }
    options: dict[str, object] = {}
    return table(DetectionAccuracy, arrays, options)


def detection_and_accuracy(
    unit_pixels: ArrayLike,
    formula_pixels: ArrayLike,
    shared_pixels: ArrayLike,
    right: ArrayLike,
    *,
    meeting: Literal["overlap", "present"] = "overlap",
    which: Sequence[Literal["union", "intersection"]] = ("union", "intersection"),
    by: Sequence[Literal["detection_accuracy", "iou"]] = ("detection_accuracy", "iou"),
    fires: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Correlation over units of a unit's score with the model's accuracy on the unit's pictures.

    .. math:: r = \frac{\sum_u (s_u - \bar s)(a_u - \bar a)}
        {\sqrt{\sum_u (s_u - \bar s)^2 \, \sum_u (a_u - \bar a)^2}}

    :math:`s_u` is the score of unit :math:`u`, :math:`a_u` the accuracy on its pictures.

    The *union* are pictures in which the unit fires or its formula is there; the *intersection*
    those in which they share a pixel (``meeting="overlap"``, as the published code has it) or both
    are somewhere (``"present"``, as the paper says). Pearson's correlation; a unit without pictures
    or without a score is left out, where the published code puts 0.5 and 0. Introduced in
    :cite:t:`makinwa2022detection`, section 4.2.

    Args:
        unit_pixels: samples × units. Pixels that the unit marks.
        formula_pixels: samples × units. Pixels at which the unit's formula holds.
        shared_pixels: samples × units. Pixels in both.
        right: samples. Whether the model classifies the picture rightly.
        meeting: When a picture is in the intersection: a shared pixel, or both somewhere.
        which: Pictures where unit or formula is, or where both are.
        by: The score of a unit that is correlated.
        fires: samples × units. Whether the unit exceeds its threshold before upsampling; after it,
            if not given.

    Returns:
        An array (which × by), each -1 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import detection_and_accuracy
        >>> unit, formula = np.eye(4, 3, dtype=int), np.ones((4, 3), int)
        >>> shared = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]])
        >>> right = np.array([True, True, False, True])
        >>> detection_and_accuracy(unit, formula, shared, right, which=["intersection"])
        array([[nan, nan]])
    """
    arrays = {
        "unit_pixels": unit_pixels,
        "formula_pixels": formula_pixels,
        "shared_pixels": shared_pixels,
        "right": right,
        "fires": fires,
    }
    options = {"meeting": meeting, "which": which, "by": by}
    return table(DetectionAndAccuracy, arrays, options)


def judge_detection(
    latent: ArrayLike,
    sequence: ArrayLike,
    active: ArrayLike,
    answer: ArrayLike,
    *,
    by: Sequence[Literal["balanced", "accuracy", "f1", "auroc"]] = ("balanced", "accuracy", "f1"),
    over: Literal["latents", "judges"] = "latents",
    judge: ArrayLike | None = None,
    task: ArrayLike | None = None,
    explanation: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Balanced accuracy of a judge who says in which sequences a latent is active.

    .. math:: \frac12 \left( \frac{TP}{TP + FN} + \frac{TN}{TN + FP} \right)

    of each latent; the headline is the mean over latents. An answer above a half is a yes. ``by``
    adds accuracy and F1, or the area under the ROC curve of the answers as they are. A latent
    without sequences of both kinds is undefined (of accuracy: without any answer; of F1: neither
    active nor called so anywhere). Answers that could not be read are left out, and counted.

    Published code :cite:p:`paulo2025automatically` pools the answers about all latents in one
    table, which ``over="judges"`` does, calls the balanced accuracy accuracy, and has 0 for what
    is undefined. The accuracy over 14 windows of which 4 are active starts at 10/14 for a judge
    who says no to all.

    Args:
        latent: samples. Which latent the question is about.
        sequence: samples. The number of the sequence of tokens.
        active: samples. What is true: whether the latent is active there; of marks, whether they
            are the right ones; of a round of intruders, 0.
        answer: samples. From 0 (no) to 1 (yes); NaN where no answer could be read. Of a round of
            intruders, 1 where the judge named it, and a share where several were named.
        by: Balanced accuracy, accuracy, F1, or area under the ROC.
        over: A table for each latent; or for each judge, all latents in one table.
        judge: samples. Who answered. Needed for over=judges.
        task: samples. What was asked, by name or as a number (detection, fuzzing, fuzzing across,
            intruder); where it is not said, whether the latent is active (`detection`).
        explanation: samples. Whose explanation the judge saw: the latent's own where it is not
            said. With that of another latent a question is one of the null.

    Returns:
        An array (by × one for each, by `over`), each 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import judge_detection
        >>> texts = {"latent": [0, 0, 0, 0], "sequence": [0, 1, 2, 3], "active": [1, 1, 1, 0]}
        >>> judge_detection(**texts, answer=[1.0, 1.0, 0.0, 0.0]).round(6)
        array([[0.833333],
               [0.75    ],
               [0.8     ]])
    """
    arrays = {
        "latent": latent,
        "sequence": sequence,
        "active": active,
        "answer": answer,
        "judge": judge,
        "task": task,
        "explanation": explanation,
    }
    options = {"by": by, "over": over}
    return table(JudgeDetection, arrays, options)


def judge_fuzzing(
    latent: ArrayLike,
    sequence: ArrayLike,
    active: ArrayLike,
    answer: ArrayLike,
    task: ArrayLike,
    *,
    by: Sequence[Literal["balanced", "accuracy", "f1", "auroc"]] = ("balanced", "accuracy", "f1"),
    form: Literal["within", "across"] = "within",
    over: Literal["latents", "judges"] = "latents",
    judge: ArrayLike | None = None,
    explanation: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Balanced accuracy of a judge who says whether the marked tokens are the active ones.

    .. math:: \frac12 \left( \frac{TP}{TP + FN} + \frac{TN}{TN + FP} \right)

    of each latent, read as :func:`judge_detection`. Wrong marks are as many inactive tokens of a
    sequence in which the latent is active (``form="within"``), or of one in which it is not
    (``form="across"``, the default of the published code, :cite:p:`paulo2025automatically`).

    Args:
        latent: samples. Which latent the question is about.
        sequence: samples. The number of the sequence of tokens.
        active: samples. What is true: whether the latent is active there; of marks, whether they
            are the right ones; of a round of intruders, 0.
        answer: samples. From 0 (no) to 1 (yes); NaN where no answer could be read. Of a round of
            intruders, 1 where the judge named it, and a share where several were named.
        task: samples. What was asked, by name or as a number (detection, fuzzing, fuzzing across,
            intruder); where it is not said, whether the latent is active (`detection`).
        by: Balanced accuracy, accuracy, F1, or area under the ROC.
        form: Wrong marks in a sequence in which the latent is active, or is not.
        over: A table for each latent; or for each judge, all latents in one table.
        judge: samples. Who answered. Needed for over=judges.
        explanation: samples. Whose explanation the judge saw: the latent's own where it is not
            said. With that of another latent a question is one of the null.

    Returns:
        An array (by × one for each, by `over`), each 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import judge_fuzzing
        >>> marks = {"latent": [0, 0, 0, 0], "sequence": [0, 1, 0, 1], "active": [1, 1, 0, 0]}
        >>> judge_fuzzing(**marks, answer=[1.0, 0.0, 0.0, 0.0], task=["fuzzing"] * 4, by=["f1"])
        array([[0.66666667]])
    """
    arrays = {
        "latent": latent,
        "sequence": sequence,
        "active": active,
        "answer": answer,
        "task": task,
        "judge": judge,
        "explanation": explanation,
    }
    options = {"by": by, "form": form, "over": over}
    return table(JudgeFuzzing, arrays, options)


def judge_intruder(
    latent: ArrayLike,
    sequence: ArrayLike,
    active: ArrayLike,
    answer: ArrayLike,
    task: ArrayLike,
    *,
    over: Literal["latents", "judges"] = "latents",
    judge: ArrayLike | None = None,
    explanation: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Share of rounds in which a judge names the sequence in which the latent is not active.

    .. math:: \frac1R \sum_r 1[\text{named}_r = \text{intruder}_r]

    of each latent; the headline is the mean over latents. A judge who names several gets a share.
    A latent without a round that was answered is undefined. After
    :cite:t:`paulo2025automatically`.

    Args:
        latent: samples. Which latent the question is about.
        sequence: samples. The number of the sequence of tokens.
        active: samples. What is true: whether the latent is active there; of marks, whether they
            are the right ones; of a round of intruders, 0.
        answer: samples. From 0 (no) to 1 (yes); NaN where no answer could be read. Of a round of
            intruders, 1 where the judge named it, and a share where several were named.
        task: samples. What was asked, by name or as a number (detection, fuzzing, fuzzing across,
            intruder); where it is not said, whether the latent is active (`detection`).
        over: A table for each latent; or for each judge, all latents in one table.
        judge: samples. Who answered. Needed for over=judges.
        explanation: samples. Whose explanation the judge saw: the latent's own where it is not
            said. With that of another latent a question is one of the null.

    Returns:
        An array (one for each, by `over`), each 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import judge_intruder
        >>> rounds = {"latent": [0, 0, 1], "sequence": [0, 1, 2], "active": [0, 0, 0]}
        >>> judge_intruder(**rounds, answer=[1.0, 0.0, 0.5], task=["intruder"] * 3)
        array([0.5, 0.5])
    """
    arrays = {
        "latent": latent,
        "sequence": sequence,
        "active": active,
        "answer": answer,
        "task": task,
        "judge": judge,
        "explanation": explanation,
    }
    options = {"over": over}
    return table(JudgeIntruder, arrays, options)


def pixel_recall(
    unit_pixels: ArrayLike,
    formula_pixels: ArrayLike,
    shared_pixels: ArrayLike,
) -> NDArray[np.float64]:
    r"""Share of the formula's pixels that the unit marks.

    .. math:: \frac{\sum_x |M_u(x) \cap G(x)|}{\sum_x |G(x)|}

    Called detection accuracy by :cite:t:`larosa2023towards`; that name belongs to another score
    here. A formula that is nowhere: NaN.

    Args:
        unit_pixels: samples × units. Pixels that the unit marks.
        formula_pixels: samples × units. Pixels at which the unit's formula holds.
        shared_pixels: samples × units. Pixels in both.

    Returns:
        An array (units), each 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import pixel_recall
        >>> pixel_recall(np.array([[2], [2]]), np.array([[1], [4]]), np.array([[0], [2]]))
        array([0.4])
    """
    arrays = {
        "unit_pixels": unit_pixels,
        "formula_pixels": formula_pixels,
        "shared_pixels": shared_pixels,
    }
    options: dict[str, object] = {}
    return table(PixelRecall, arrays, options)


def simulation_correlation(
    latent: ArrayLike,
    value: ArrayLike,
    explained: ArrayLike,
    simulated: ArrayLike,
    *,
    sequences: Literal["random", "top+random", "all"] = "random",
    agreement: Literal["pearson", "squared", "spearman"] = "pearson",
    picked: ArrayLike | None = None,
    chance_simulated: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Correlation over tokens of simulated with real activation.

    .. math:: r(\hat a_t, a_t)

    with the latent's activity :math:`a_t` (0 where it is not active) and the activity
    :math:`\hat a_t` that a simulator expects at token :math:`t` from the explanation.
    ``agreement``: Pearson's correlation, its square, or Spearman's, in which ties share their mean
    rank. Either constant, or fewer than three tokens: NaN. After :cite:t:`bills2023language`, who
    take sequences in which the latent is most active together with random ones
    (``sequences="top+random"``).

    Args:
        latent: samples × ~tokens × ~active. The latents that are active at each token, rising.
        value: samples × ~tokens × ~active. How active each of them is there: never 0, and below 0
            only if `signed`.
        explained: explanations. The latent that each explanation is of.
        simulated: samples × ~tokens × explanations. How active a simulator that knows the
            explanation expects the latent to be; NaN where it was not asked.
        sequences: Whose tokens: of random sequences, with those of most activity, or all.
        agreement: Of values, the same squared, or of ranks.
        picked: samples × explanations. Why a sequence was simulated: 0 drawn at random, 1 as the
            latent is most active in it, 2 for another reason. At random everywhere, if not given.
        chance_simulated: samples × ~tokens × explanations. The same from the token alone, by its
            mean in other sequences: no explanation is known.

    Returns:
        An array (explanations), each -1 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import simulation_correlation
        >>> latent = [[[], [0], []], [[], [0], [0], []], [[], [0], []], [[], [], []]]
        >>> value = [[[], [2.0], []], [[], [1.5], [0.5], []], [[], [0.4], []], [[], [], []]]
        >>> guess = [[[0], [10], [0]], [[0], [8], [1], [0]], [[0], [2], [0]], [[0], [0], [1]]]
        >>> simulation_correlation(latent, value, [0], guess).round(6)
        array([0.986731])
    """
    arrays = {
        "latent": latent,
        "value": value,
        "explained": explained,
        "simulated": simulated,
        "picked": picked,
        "chance_simulated": chance_simulated,
    }
    options = {"sequences": sequences, "agreement": agreement}
    return table(SimulationCorrelation, arrays, options)


def unit_iou(
    unit_pixels: ArrayLike,
    formula_pixels: ArrayLike,
    shared_pixels: ArrayLike,
    *,
    denominator: Literal["all", "category"] = "all",
    annotated: ArrayLike | None = None,
    chance_annotated: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Intersection over union of a unit's mask and its formula's, over all places of all samples.

    .. math:: \frac{\sum_x |M_u(x) \cap G(x)|}{\sum_x |M_u(x) \cup G(x)|}

    Places are pixels of pictures, or tokens of sequences (``theodolite.dissect_tokens``).
    Network Dissection :cite:p:`bau2017network` counts in the union only the unit's pixels in
    pictures that are annotated with the concept's category (``denominator="category"``, needs
    ``annotated``). The published codes return 0 where both masks are empty everywhere; here that
    is undefined, so NaN.

    Args:
        unit_pixels: samples × units. Pixels that the unit marks.
        formula_pixels: samples × units. Pixels at which the unit's formula holds.
        shared_pixels: samples × units. Pixels in both.
        denominator: Pictures whose pixels count in the union: all, or the annotated ones.
        annotated: samples × units. Whether the picture is annotated with the formula's category.
            Needed for denominator=category.
        chance_annotated: samples × units. The same for the formula of the masks that were dealt
            out. Needed for denominator=category.

    Returns:
        An array (units), each 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import unit_iou
        >>> unit_iou(np.array([[2], [2]]), np.array([[1], [4]]), np.array([[1], [2]])).round(6)
        array([0.5])
    """
    arrays = {
        "unit_pixels": unit_pixels,
        "formula_pixels": formula_pixels,
        "shared_pixels": shared_pixels,
        "annotated": annotated,
        "chance_annotated": chance_annotated,
    }
    options = {"denominator": denominator}
    return table(UnitIoU, arrays, options)
