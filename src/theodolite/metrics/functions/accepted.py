"""Would people agree?

Written by `python -m theodolite.metrics`; do not edit.
"""

from __future__ import annotations

from typing import Literal

from numpy.typing import ArrayLike

from theodolite.metrics.accepted.acceptance import Acceptance
from theodolite.metrics.accepted.intraclass_correlation import IntraclassCorrelation
from theodolite.metrics.accepted.judge_agreement import JudgeAgreement
from theodolite.metrics.accepted.krippendorff_alpha import KrippendorffAlpha
from theodolite.metrics.accepted.pairwise_agreement import PairwiseAgreement
from theodolite.metrics.accepted.predicted_rating_agreement import PredictedRatingAgreement
from theodolite.metrics.accepted.predicted_rating_correlation import PredictedRatingCorrelation
from theodolite.metrics.accepted.predicted_rating_error import PredictedRatingError
from theodolite.metrics.accepted.rater_agreement import RaterAgreement
from theodolite.metrics.accepted.rater_correlation import RaterCorrelation
from theodolite.metrics.compute import number

__all__ = [
    "acceptance",
    "intraclass_correlation",
    "judge_agreement",
    "krippendorff_alpha",
    "pairwise_agreement",
    "predicted_rating_agreement",
    "predicted_rating_correlation",
    "predicted_rating_error",
    "rater_agreement",
    "rater_correlation",
]


def acceptance(
    ratings: ArrayLike,
    scale: ArrayLike,
) -> float:
    r"""Mean vote, with the lowest answer of the scale as 0 and the highest as 1.

    .. math:: \frac{1}{n} \sum_i \frac{\bar r_i - s_1}{s_k - s_1}

    Each explanation counts once, however many people rated it. One that nobody rated is left out
    and counted as undefined.

    Args:
        ratings: samples × raters. What each rater said; NaN where they were not asked or did not
            answer.
        scale: levels. All answers that raters could give, rising, also those that nobody gave: 1,
            2, 3, 4, 5.

    Returns:
        A number, 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import acceptance
        >>> acceptance(np.array([[5.0, 4.0], [3.0, np.nan]]), np.arange(1.0, 6))
        0.6875
    """
    arrays = {"ratings": ratings, "scale": scale}
    options: dict[str, object] = {}
    return number(Acceptance, arrays, options)


def intraclass_correlation(
    ratings: ArrayLike,
    scale: ArrayLike,
    *,
    form: Literal["ICC1", "ICC2", "ICC3", "ICC1k", "ICC2k", "ICC3k"] = "ICC1",
) -> float:
    r"""Intraclass correlation :cite:p:`shrout1979intraclass`, from analyses of variance.

    .. math:: \mathrm{ICC}_1 = \frac{B - W}{B + (k - 1) W} \qquad
        \mathrm{ICC}_2 = \frac{B - E}{B + (k - 1) E + \frac{k}{n} (J - E)} \qquad
        \mathrm{ICC}_3 = \frac{B - E}{B + (k - 1) E}

    :math:`B` is the mean square between :math:`n` explanations, :math:`W` that within them,
    :math:`J` that between :math:`k` raters, :math:`E` what is left.

    ``ICC1``: each explanation is rated by other people. ``ICC2``: the same people rate all, drawn
    from many; their habits count as disagreement. ``ICC3``: these people and no others, whose
    habits do not count. With ``k``: of the mean of all raters instead of one.

    With missing votes the forms ``ICC1`` and ``ICC1k`` take every explanation with a vote and the
    number of raters from an unbalanced analysis. The others take the explanations that everybody
    rated, and are undefined if fewer than two are. All are undefined where their denominator, an
    estimate of a variance, is not above 0.

    Args:
        ratings: samples × raters. What each rater said; NaN where they were not asked or did not
            answer.
        scale: levels. All answers that raters could give, rising, also those that nobody gave: 1,
            2, 3, 4, 5.
        form: Which raters the votes stand for, of one rater or (k) of their mean.

    Returns:
        A number, -inf to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import intraclass_correlation
        >>> votes = np.array([[9.0, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6],
        ...                   [10, 5, 6, 9], [6, 2, 4, 7]])
        >>> round(intraclass_correlation(votes, np.arange(1.0, 11), form="ICC2"), 6)
        0.289764
    """
    arrays = {"ratings": ratings, "scale": scale}
    options = {"form": form}
    return number(IntraclassCorrelation, arrays, options)


def judge_agreement(
    ratings: ArrayLike,
    scale: ArrayLike,
    predicted: ArrayLike,
    *,
    level: Literal["ordinal", "interval", "nominal"] = "ordinal",
) -> float:
    r"""Krippendorff's alpha with the judge as one more rater, minus alpha among people.

    .. math:: \alpha(\text{people and judge}) - \alpha(\text{people})

    on the same items: those on which two or more people and the judge answered; others are left
    out and counted. The judge's answers are ``predicted``, taken to the nearest of the scale.
    Undefined where either alpha is: if only one answer was ever given. ``level`` as in
    :func:`krippendorff_alpha` :cite:p:`krippendorff2018content`.

    Args:
        ratings: samples × raters. What each rater said; NaN where they were not asked or did not
            answer.
        scale: levels. All answers that raters could give, rising, also those that nobody gave: 1,
            2, 3, 4, 5.
        predicted: samples. What a learned score expects, on the same scale; NaN where it learnt
            from the very item.
        level: What the answers are: an order, numbers, or names.

    Returns:
        A number, -2 to 2, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import judge_agreement
        >>> people = np.array([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> round(judge_agreement(people, [0.0, 1.0], [1.0, 0.0, 1.0, 0.0]), 6)
        0.263889
    """
    arrays = {"ratings": ratings, "scale": scale, "predicted": predicted}
    options = {"level": level}
    return number(JudgeAgreement, arrays, options)


def krippendorff_alpha(
    ratings: ArrayLike,
    scale: ArrayLike,
    *,
    level: Literal["ordinal", "interval", "nominal"] = "ordinal",
) -> float:
    r"""Krippendorff's alpha :cite:p:`krippendorff2018content`: one minus observed over expected.

    .. math:: \alpha = 1 - \frac{D_o}{D_e}

    :math:`D_o` is the mean distance of two votes on one explanation, :math:`D_e` that of any two
    votes. ``level`` says what the answers are: an order, numbers, or names. Missing votes are no
    trouble; an explanation with one vote says nothing. Undefined if only one answer was ever given.

    Args:
        ratings: samples × raters. What each rater said; NaN where they were not asked or did not
            answer.
        scale: levels. All answers that raters could give, rising, also those that nobody gave: 1,
            2, 3, 4, 5.
        level: What the answers are: an order, numbers, or names.

    Returns:
        A number, -1 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import krippendorff_alpha
        >>> votes = np.array([[1.0, 1.0, 2.0], [5.0, 4.0, 4.0], [3.0, 3.0, np.nan]])
        >>> round(krippendorff_alpha(votes, np.arange(1.0, 6), level="interval"), 6)
        0.882353
    """
    arrays = {"ratings": ratings, "scale": scale}
    options = {"level": level}
    return number(KrippendorffAlpha, arrays, options)


def pairwise_agreement(
    ratings: ArrayLike,
    scale: ArrayLike,
) -> float:
    r"""Mean over pairs of raters of their quadratic kappa on what both rated.

    .. math:: \kappa = 1 - \frac{\sum_{ij} w_{ij} O_{ij}}{\sum_{ij} w_{ij} E_{ij}}, \qquad
        w_{ij} = \frac{(i - j)^2}{(k - 1)^2}

    :math:`O_{ij}` counts how often answer :math:`i` of the :math:`k` meets answer :math:`j`,
    :math:`E_{ij}` how often it would if the two were independent.

    Distances are those between positions on the full scale, whether or not an answer was given:
    Cohen's kappa :cite:p:`cohen1968weighted` of the answers that happen to occur has other
    distances. A pair that rated nothing in common, or gave one and the same answer throughout, is
    undefined: left out, and counted. Each pair counts once, however much it rated.

    Args:
        ratings: samples × raters. What each rater said; NaN where they were not asked or did not
            answer.
        scale: levels. All answers that raters could give, rising, also those that nobody gave: 1,
            2, 3, 4, 5.

    Returns:
        A number, -1 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import pairwise_agreement
        >>> votes = np.array([[1.0, 1.0, 2.0], [5.0, 4.0, 4.0], [3.0, 3.0, np.nan]])
        >>> round(pairwise_agreement(votes, np.arange(1.0, 6)), 6)
        0.860073
    """
    arrays = {"ratings": ratings, "scale": scale}
    options: dict[str, object] = {}
    return number(PairwiseAgreement, arrays, options)


def predicted_rating_agreement(
    ratings: ArrayLike,
    scale: ArrayLike,
    predicted: ArrayLike,
    *,
    against: Literal["mode", "mean", "median"] = "mode",
) -> float:
    r"""Quadratic kappa of the nearest answer to the prediction with the votes.

    .. math:: \kappa = 1 - \frac{\sum_{ij} w_{ij} O_{ij}}{\sum_{ij} w_{ij} E_{ij}}, \qquad
        w_{ij} = \frac{(i - j)^2}{(k - 1)^2}

    :math:`O_{ij}` counts how often answer :math:`i` of the :math:`k` meets answer :math:`j`,
    :math:`E_{ij}` how often it would if the two were independent.

    Halves go up, to the higher answer, and so do means and medians of votes that are no answer.
    Distances are those on the full scale. Undefined if all are one and the same answer.

    Args:
        ratings: samples × raters. What each rater said; NaN where they were not asked or did not
            answer.
        scale: levels. All answers that raters could give, rising, also those that nobody gave: 1,
            2, 3, 4, 5.
        predicted: samples. What a learned score expects, on the same scale; NaN where it learnt
            from the very item.
        against: What the people's votes on an explanation are summed up by.

    Returns:
        A number, -1 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import predicted_rating_agreement
        >>> agreement = predicted_rating_agreement(
        ...     np.array([[1.0], [2], [3], [4], [5], [5], [3], [2]]),
        ...     np.arange(1.0, 6),
        ...     np.array([1.2, 2.6, 2.4, 4.49, 3.5, 5, 3, 1.5]),
        ... )
        >>> round(agreement, 6)
        0.888889
    """
    arrays = {"ratings": ratings, "scale": scale, "predicted": predicted}
    options = {"against": against}
    return number(PredictedRatingAgreement, arrays, options)


def predicted_rating_correlation(
    ratings: ArrayLike,
    scale: ArrayLike,
    predicted: ArrayLike,
    *,
    against: Literal["mode", "mean", "median"] = "mode",
    rounded: Literal["no", "yes"] = "no",
) -> float:
    r"""Spearman's correlation of predictions and votes.

    .. math:: \rho = \mathrm{corr}\bigl(\mathrm{rank}(\hat r), \mathrm{rank}(r)\bigr)

    ``rounded="yes"`` takes the nearest answers instead, halves going up, as the code of
    :cite:t:`kazmierczak2024benchmarking` does. Their tables print the mean of the correlation
    and its p-value, about half of it. Undefined if all predictions, or all votes, are the same.

    Args:
        ratings: samples × raters. What each rater said; NaN where they were not asked or did not
            answer.
        scale: levels. All answers that raters could give, rising, also those that nobody gave: 1,
            2, 3, 4, 5.
        predicted: samples. What a learned score expects, on the same scale; NaN where it learnt
            from the very item.
        against: What the people's votes on an explanation are summed up by.
        rounded: Whether predictions and votes are rounded to the nearest answer first.

    Returns:
        A number, -1 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import predicted_rating_correlation
        >>> correlation = predicted_rating_correlation(
        ...     np.array([[1.0], [2], [3], [4], [5], [5], [3], [2]]),
        ...     np.arange(1.0, 6),
        ...     np.array([1.2, 2.6, 2.4, 4.49, 3.5, 5, 3, 1.5]),
        ...     rounded="yes",
        ... )
        >>> round(correlation, 6)
        0.882716
    """
    arrays = {"ratings": ratings, "scale": scale, "predicted": predicted}
    options = {"against": against, "rounded": rounded}
    return number(PredictedRatingCorrelation, arrays, options)


def predicted_rating_error(
    ratings: ArrayLike,
    scale: ArrayLike,
    predicted: ArrayLike,
    *,
    against: Literal["mode", "mean", "median"] = "mode",
) -> float:
    r"""Mean squared difference of prediction and votes, on the scale and not rounded.

    .. math:: \frac1n \sum_i (\hat r_i - r_i)^2

    Predictions beyond the ends of the scale are moved to them. Votes are put together by their
    mode (the lowest, where it is not unique), mean or median.

    Args:
        ratings: samples × raters. What each rater said; NaN where they were not asked or did not
            answer.
        scale: levels. All answers that raters could give, rising, also those that nobody gave: 1,
            2, 3, 4, 5.
        predicted: samples. What a learned score expects, on the same scale; NaN where it learnt
            from the very item.
        against: What the people's votes on an explanation are summed up by.

    Returns:
        A number, 0 to inf, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import predicted_rating_error
        >>> error = predicted_rating_error(
        ...     np.array([[1.0], [2], [3], [4], [5], [5], [3], [2]]),
        ...     np.arange(1.0, 6),
        ...     np.array([1.2, 2.6, 2.4, 4.49, 3.5, 5, 3, 1.5]),
        ... )
        >>> round(error, 6)
        0.437513
    """
    arrays = {"ratings": ratings, "scale": scale, "predicted": predicted}
    options = {"against": against}
    return number(PredictedRatingError, arrays, options)


def rater_agreement(
    ratings: ArrayLike,
    scale: ArrayLike,
    *,
    own: Literal["left out", "included"] = "left out",
    ties: Literal["lowest", "median", "nan"] = "lowest",
) -> float:
    r"""Quadratic kappa of each vote with the mode of the votes on the same explanation.

    .. math:: \kappa = 1 - \frac{\sum_{ij} w_{ij} O_{ij}}{\sum_{ij} w_{ij} E_{ij}}, \qquad
        w_{ij} = \frac{(i - j)^2}{(k - 1)^2}

    :math:`O_{ij}` counts how often answer :math:`i` of the :math:`k` meets answer :math:`j`,
    :math:`E_{ij}` how often it would if the two were independent.

    ``own="included"`` takes the mode of all votes, the rater's own among them, as
    :cite:t:`kazmierczak2024benchmarking` do: with five votes at random on five answers that
    gives 0.31, not 0; explanations with a single vote, which is its own mode, are left out. By
    default the mode is that of the others. The authors draw one rater for each explanation; here
    every vote is compared, which is what their number varies around.

    Undefined if all votes and all modes are the same answer. A vote without another one beside it,
    or with a tied mode under ``ties="nan"``, is left out and counted.

    Args:
        ratings: samples × raters. What each rater said; NaN where they were not asked or did not
            answer.
        scale: levels. All answers that raters could give, rising, also those that nobody gave: 1,
            2, 3, 4, 5.
        own: Whether a rater's own vote counts in the mode it is compared with.
        ties: Of answers that are equally common: the lowest, the median, or none.

    Returns:
        A number, -1 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import rater_agreement
        >>> votes = np.array([[1.0, 1.0, 2.0], [5.0, 5.0, 4.0], [3.0, 3.0, 3.0]])
        >>> round(rater_agreement(votes, np.arange(1.0, 6)), 6)
        0.888889
    """
    arrays = {"ratings": ratings, "scale": scale}
    options = {"own": own, "ties": ties}
    return number(RaterAgreement, arrays, options)


def rater_correlation(
    ratings: ArrayLike,
    scale: ArrayLike,
) -> float:
    r"""Spearman's correlation of one rater with the mean of the others, the mean over raters.

    .. math:: \frac1R \sum_a \mathrm{corr}\bigl(\mathrm{rank}(r_a), \mathrm{rank}(\bar r_{-a})\bigr)

    :math:`r_a` are the votes of rater :math:`a`, :math:`\bar r_{-a}` the means of the others'.

    Each rater is compared over the explanations that somebody else rated, too. Raters for whom it
    is undefined (fewer than two explanations, or one and the same answer always) are left out. It
    is what a predictor of votes has as its human ceiling.

    Args:
        ratings: samples × raters. What each rater said; NaN where they were not asked or did not
            answer.
        scale: levels. All answers that raters could give, rising, also those that nobody gave: 1,
            2, 3, 4, 5.

    Returns:
        A number, -1 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import rater_correlation
        >>> votes = np.array([[1.0, 2.0, 1.0], [4.0, 4.0, 5.0], [3.0, 5.0, 2.0], [2.0, 1.0, 3.0]])
        >>> round(rater_correlation(votes, np.arange(1.0, 6)), 6)
        0.587814
    """
    arrays = {"ratings": ratings, "scale": scale}
    options: dict[str, object] = {}
    return number(RaterCorrelation, arrays, options)
