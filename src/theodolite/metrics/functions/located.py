"""Does the explanation look where the concept is?

Written by `python -m theodolite.metrics`; do not edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theodolite.metrics.compute import number, table
from theodolite.metrics.language.rationales.comprehensiveness import Comprehensiveness
from theodolite.metrics.language.rationales.rationale_mass import RationaleMass
from theodolite.metrics.language.rationales.rationale_peak import RationalePeak
from theodolite.metrics.language.rationales.rationale_rank import RationaleRank
from theodolite.metrics.language.rationales.sufficiency import Sufficiency
from theodolite.metrics.located.concept_location import ConceptLocation
from theodolite.metrics.located.pointing_game import PointingGame
from theodolite.metrics.located.relevance_mass import RelevanceMass
from theodolite.metrics.located.relevance_peak import RelevancePeak
from theodolite.metrics.located.relevance_rank import RelevanceRank
from theodolite.metrics.located.sparseness import Sparseness

__all__ = [
    "comprehensiveness",
    "concept_location",
    "pointing_game",
    "rationale_mass",
    "rationale_peak",
    "rationale_rank",
    "relevance_mass",
    "relevance_peak",
    "relevance_rank",
    "sparseness",
    "sufficiency",
]


def comprehensiveness(
    clean: ArrayLike,
    removed: ArrayLike,
    *,
    form: Literal["mean", "as_published"] = "mean",
    chance_removed: ArrayLike | None = None,
) -> float:
    r"""Fall of the answer's probability without the most relevant tokens, mean over steps.

    .. math:: \frac{1}{|B|} \sum_{b \in B} p(x) - p(x \setminus r_b)

    with the :math:`b` per cent of tokens that are most relevant, :math:`r_b`; mean over ways to
    remove them. With ``form="as_published"`` the sum is divided by :math:`|B| + 1`, the empty step
    being 0, as in :cite:t:`deyoung2020eraser`.

    Args:
        clean: samples. Probability of the explained answer for the text as it is.
        removed: samples × removals × steps. The same without the most relevant tokens: so many per
            cent, in each of several ways.
        form: Over steps: their mean, or as published with the empty step as 0.
        chance_removed: samples × chances × removals × steps. As `removed`, with equally many tokens
            in runs of the same lengths, at random.

    Returns:
        A number, -1 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import comprehensiveness
        >>> curve = [[[0.85, 0.6, 0.4, 0.35, 0.3]]]
        >>> round(comprehensiveness([0.9], curve), 6)
        0.4
        >>> round(comprehensiveness([0.9], curve, form="as_published"), 6)
        0.333333
    """
    arrays = {"clean": clean, "removed": removed, "chance_removed": chance_removed}
    options = {"form": form}
    return number(Comprehensiveness, arrays, options)


def concept_location(
    values: ArrayLike,
    maps: ArrayLike,
    sizes: ArrayLike,
    part_of: ArrayLike,
    points: ArrayLike,
    *,
    top: Sequence[int] = (1, 3, 5),
    alpha: Sequence[float] = (1, 3, 6),
    rank_by: Literal["contribution", "weight", "value"] = "contribution",
    order: Literal["signed", "absolute"] = "signed",
    population: Literal["all", "correct"] = "all",
    among: Literal["localisable", "all"] = "localisable",
    invisible: Literal["skip", "miss"] = "skip",
    sides: Literal["either", "every", "share"] = "either",
    ties: Literal["stable", "share"] = "stable",
    average: Literal["pictures", "pairs"] = "pictures",
    regions: int = 12,
    weights: ArrayLike | None = None,
    predicted: ArrayLike | None = None,
    labels: ArrayLike | None = None,
) -> NDArray[np.float64]:
    r"""Share of the first :math:`l` named concepts whose region holds the annotated point (CLM).

    .. math:: \rho_l = \frac1N \sum_i \frac1l \sum_{s=1}^{l} 1[p_{iq_{is}} \in \Omega_{iq_{is}}]

    :math:`\Omega_{ij}` are the :math:`n = \alpha M_1 M_2 / 12` pixels (rounded half up) with the
    highest values of concept :math:`j`'s map, upsampled bilinearly with half-pixel centres to the
    picture of :math:`M_1 \times M_2`; :math:`p_{ij}` is where the concept is. Introduced in
    :cite:t:`aysel2025concept`, eq. 11, whose sum over "j = 1..l" must run over the ranked
    concepts. The choices that the paper leaves open, with our defaults:

    - ``among="localisable"``: rank only concepts tied to a part, so that :math:`l` are named
      ("all": rank all, then leave out those without a part);
    - ``invisible="skip"``: leave out a concept whose part is not visible ("miss": count it as
      missed); a picture with nothing left is undefined;
    - ``sides="either"``: of two wings one inside is enough ("every", "share");
    - ``ties="stable"``: of equal pixels the first in reading order comes first ("share": they have
      equal claims);
    - ``average="pictures"``: mean over pictures ("pairs": over all evaluated concepts);
    - ``regions=12``: the number of parts that the picture is divided by.

    Args:
        values: samples × concepts. The model's value of each concept: an activation, a probability,
            a projection.
        maps: samples × concepts × height × width. Where each concept is active, at any resolution;
            never upsampled here.
        sizes: samples × 2. Rows and columns of each picture.
        part_of: concepts. The part that each concept is tied to; -1 for none.
        points: samples × parts × places × 2. Where the concepts are: row and column of each place.
        top: How many of the first-named concepts are looked at.
        alpha: Sizes of the region, in parts of the picture.
        rank_by: What ranks the concepts: weight times value, the weight, or the value.
        order: Whether what speaks against the prediction ranks last or by its size.
        population: Samples that are asked: all, or those that are predicted rightly.
        among: Concepts that can be named: those tied to a part, or all of them.
        invisible: A named concept whose part is not visible: left out, or missed.
        sides: Of a part at several places: either inside, every one, or their share.
        ties: Equal pixels: in reading order, or with equal claims.
        average: Mean over pictures, or over all pairs of picture and concept.
        regions: Parts that the picture is divided into.
        weights: concepts × classes. The linear head: the weight of each concept for each class.
            Needed for rank_by=contribution or weight.
        predicted: samples. The class that the model chose. Needed for rank_by=contribution or
            weight.
        labels: samples. The true class. Needed for population=correct.

    Returns:
        An array (alpha × top), each 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import concept_location
        >>> maps = np.array([[[[9.0, 0], [0, 0]], [[0, 0], [0, 9.0]]]])
        >>> points = np.array([[[[0.0, 0.0]], [[0.0, 0.0]]]])
        >>> concept_location(
        ...     [[1.0, 0.5]], maps, [[6, 4]], [0, 1], points,
        ...     top=(1, 2), alpha=(3,), rank_by="value",
        ... )
        array([[1. , 0.5]])
    """
    arrays = {
        "explained.values": values,
        "maps": maps,
        "sizes": sizes,
        "part_of": part_of,
        "points": points,
        "explained.weights": weights,
        "explained.predicted": predicted,
        "explained.labels": labels,
    }
    options = {
        "top": top,
        "alpha": alpha,
        "rank_by": rank_by,
        "order": order,
        "population": population,
        "among": among,
        "invisible": invisible,
        "sides": sides,
        "ties": ties,
        "average": average,
        "regions": regions,
    }
    return table(ConceptLocation, arrays, options)


def pointing_game(
    maps: ArrayLike,
    sizes: ArrayLike,
    part_of: ArrayLike,
    *,
    target: Literal["auto", "points", "boxes", "masks"] = "auto",
    tolerance: float | None = None,
    pairs: Literal["present", "all"] = "present",
    average: Literal["pictures", "pairs"] = "pairs",
    truth: ArrayLike | None = None,
    points: ArrayLike | None = None,
    boxes: ArrayLike | None = None,
    masks: ArrayLike | None = None,
    known: ArrayLike | None = None,
) -> float:
    r"""Share of pairs of picture and concept whose map peaks at the concept.

    .. math:: \frac{\#\{(i, j) : \text{the peak of } F_{ij} \text{ hits } j\}}{\#\{(i, j)\}}

    over the concepts :math:`j` that are present in picture :math:`i` and have a place there. The
    peak hits a mask or a box when it lies inside, with ``tolerance`` around boxes; it hits a point
    when it is within ``tolerance`` of it, with height and width of the picture counted as 1 each.
    Where masks are given they are used, else boxes, else points. No pair: NaN. After
    :cite:t:`zhang2018top`, whose tolerance is 15 pixels around a mask.

    Args:
        maps: samples × concepts × height × width. Where each concept is active, at any resolution;
            never upsampled here.
        sizes: samples × 2. Rows and columns of each picture.
        part_of: concepts. The part that each concept is tied to; -1 for none.
        target: What must be hit; auto: what the evidence has, masks before boxes and points.
        tolerance: Share of the sides by which a place may be missed; None: 0.2, boxes 0.
        pairs: Pairs of picture and concept that count: where the concept is there, or all.
        average: Mean over pictures, or over all pairs of picture and concept.
        truth: samples × concepts. Whether each concept is there. Needed for pairs=present.
        points: samples × parts × places × 2. Where the concepts are: row and column of each place.
        boxes: samples × parts × boxes × 4. First row, first column, last row, last column.
        masks: samples × parts × mask_rows × mask_columns. One grid for all pictures, stretched over
            each.
        known: samples × concepts. Where `truth` is known; everywhere if not given.

    Returns:
        A number, 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import pointing_game
        >>> maps = np.zeros((1, 2, 4, 4))
        >>> maps[0, 0, 0, 0] = maps[0, 1, 3, 3] = 1.0
        >>> points = np.array([[[[5.0, 6.0]], [[5.0, 6.0]]]])
        >>> pointing_game(maps, [[40, 40]], [0, 1], truth=[[1, 1]], points=points)
        0.5
    """
    arrays = {
        "maps": maps,
        "sizes": sizes,
        "part_of": part_of,
        "explained.truth": truth,
        "points": points,
        "boxes": boxes,
        "masks": masks,
        "explained.known": known,
    }
    options = {"target": target, "tolerance": tolerance, "pairs": pairs, "average": average}
    return number(PointingGame, arrays, options)


def rationale_mass(
    relevance: ArrayLike,
    rationale: ArrayLike,
) -> float:
    r"""Share of the positive relevance that lies on marked tokens, mean over sequences.

    .. math:: \frac{\sum_{t \in M} r^+_t}{\sum_t r^+_t}

    Relevance below 0 counts as 0. No token marked, all marked, or no relevance above 0:
    undefined. Rationales of this kind: :cite:t:`deyoung2020eraser`.

    Args:
        relevance: samples × ~tokens. How much each token is said to matter for the output.
        rationale: samples × ~tokens. The tokens that annotators marked.

    Returns:
        A number, 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import rationale_mass
        >>> round(rationale_mass([[0.1, 0.5, -0.2, 0.3]], [[0, 1, 0, 1]]), 6)
        0.888889
    """
    arrays = {"relevance": relevance, "rationale": rationale}
    options: dict[str, object] = {}
    return number(RationaleMass, arrays, options)


def rationale_peak(
    relevance: ArrayLike,
    rationale: ArrayLike,
) -> float:
    r"""Share of sequences whose most relevant token is marked.

    .. math:: \frac1N \sum_s 1[\arg\max_t r_{st} \in M_s]

    Of equally relevant tokens the earliest. No token marked, or all: undefined.
    Rationales of this kind: :cite:t:`deyoung2020eraser`.

    Args:
        relevance: samples × ~tokens. How much each token is said to matter for the output.
        rationale: samples × ~tokens. The tokens that annotators marked.

    Returns:
        A number, 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import rationale_peak
        >>> round(rationale_peak([[0.1, 0.5, -0.2, 0.3]], [[0, 1, 0, 1]]), 6)
        1.0
    """
    arrays = {"relevance": relevance, "rationale": rationale}
    options: dict[str, object] = {}
    return number(RationalePeak, arrays, options)


def rationale_rank(
    relevance: ArrayLike,
    rationale: ArrayLike,
) -> float:
    r"""Share of marked tokens among as many most relevant ones, mean over sequences.

    .. math:: \frac{|M \cap \operatorname{top}_{|M|}(r)|}{|M|}

    Of equally relevant tokens the earlier. No token marked, or all: undefined.
    Rationales of this kind: :cite:t:`deyoung2020eraser`.

    Args:
        relevance: samples × ~tokens. How much each token is said to matter for the output.
        rationale: samples × ~tokens. The tokens that annotators marked.

    Returns:
        A number, 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import rationale_rank
        >>> round(rationale_rank([[0.1, 0.5, -0.2, 0.3]], [[0, 1, 0, 1]]), 6)
        1.0
    """
    arrays = {"relevance": relevance, "rationale": rationale}
    options: dict[str, object] = {}
    return number(RationaleRank, arrays, options)


def relevance_mass(
    maps: ArrayLike,
    objects: ArrayLike,
    *,
    sign: Literal["positive", "absolute"] = "positive",
) -> float:
    r"""Share of the relevance that lies on the object, mean over pictures.

    .. math:: \frac{\sum_{p \in O} e^+_p}{\sum_p e^+_p}

    Only what speaks for the class counts, or with ``sign="absolute"`` what speaks for or against
    it. Undefined without an object and for maps of zeros. See :cite:t:`arras2022clevr`.

    Args:
        maps: samples × height × width. How much each pixel is said to matter; below 0 what speaks
            against the class.
        objects: samples × height × width. The pixels of the object: what the class is about.
        sign: Relevance that counts: the positive part, or its size whatever the sign.

    Returns:
        A number, 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import relevance_mass
        >>> marked = np.array([[[3.0, 1.0], [0.0, -2.0]]])
        >>> relevance_mass(marked, marked > 2)
        0.75
    """
    arrays = {"maps": maps, "objects": objects}
    options = {"sign": sign}
    return number(RelevanceMass, arrays, options)


def relevance_peak(
    maps: ArrayLike,
    objects: ArrayLike,
) -> float:
    r"""Share of pictures whose map is highest on the object: the pointing game.

    .. math:: \frac{\#\{i : \arg\max_p e_i(p) \in O_i\}}{\#\{i\}}

    Where several pixels are highest, the share of them that are on the object. Undefined without
    an object and for maps in which all pixels are alike. See :cite:t:`zhang2018excitation`.

    Args:
        maps: samples × height × width. How much each pixel is said to matter; below 0 what speaks
            against the class.
        objects: samples × height × width. The pixels of the object: what the class is about.

    Returns:
        A number, 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import relevance_peak
        >>> relevance_peak(np.array([[[3.0, 1.0]]]), np.array([[[True, False]]]))
        1.0
    """
    arrays = {"maps": maps, "objects": objects}
    options: dict[str, object] = {}
    return number(RelevancePeak, arrays, options)


def relevance_rank(
    maps: ArrayLike,
    objects: ArrayLike,
    *,
    sign: Literal["positive", "absolute"] = "positive",
) -> float:
    r"""Of as many most relevant pixels as the object has, the share that are its own.

    .. math:: \frac{|\mathrm{top}_{|O|}(e) \cap O|}{|O|}

    Where equal pixels straddle the line, the mean over all ways to take some of them. Undefined
    without an object and for maps of zeros. See :cite:t:`arras2022clevr`.

    Args:
        maps: samples × height × width. How much each pixel is said to matter; below 0 what speaks
            against the class.
        objects: samples × height × width. The pixels of the object: what the class is about.
        sign: Relevance that counts: the positive part, or its size whatever the sign.

    Returns:
        A number, 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import relevance_rank
        >>> marked = np.array([[[3.0, 1.0], [0.5, 0.0]]])
        >>> relevance_rank(marked, np.array([[[True, False], [True, False]]]))
        0.5
    """
    arrays = {"maps": maps, "objects": objects}
    options = {"sign": sign}
    return number(RelevanceRank, arrays, options)


def sparseness(
    maps: ArrayLike,
    *,
    form: Literal["defined", "reference"] = "defined",
) -> float:
    r"""Gini index of the relevance, signs left out, mean over pictures.

    .. math:: G = \frac{\sum_i (2i - n - 1)\, a_{(i)}}{n \sum_i a_{(i)}}, \qquad a = |e|

    with the :math:`n` pixels in rising order. It is 0 where all pixels are alike and
    :math:`1 - 1/n` where one alone matters. A map of nothing but zeros is undefined; ``reference``
    adds 1e-7 to every pixel, as published code does, and gives 0. See
    :cite:t:`chalasani2020concise`.

    Args:
        maps: samples × height × width. How much each pixel is said to matter; below 0 what speaks
            against the class.
        form: As defined, or with 1e-7 added to every pixel, as published code does.

    Returns:
        A number, 0 to 1, higher is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import sparseness
        >>> sparseness(np.array([[[1.0, 2.0], [3.0, 4.0]]]))
        0.25
    """
    arrays = {"maps": maps}
    options = {"form": form}
    return number(Sparseness, arrays, options)


def sufficiency(
    clean: ArrayLike,
    only: ArrayLike,
    *,
    form: Literal["mean", "as_published"] = "mean",
    chance_only: ArrayLike | None = None,
) -> float:
    r"""Fall of the answer's probability with only the most relevant tokens, mean over steps.

    .. math:: \frac{1}{|B|} \sum_{b \in B} p(x) - p(r_b)

    with the :math:`b` per cent of tokens that are most relevant, :math:`r_b`; mean over ways to
    remove the others. With ``form="as_published"`` divided by :math:`|B| + 1`, as in
    :cite:t:`deyoung2020eraser`.

    Args:
        clean: samples. Probability of the explained answer for the text as it is.
        only: samples × removals × steps. The same with nothing but these tokens.
        form: Over steps: their mean, or as published with the empty step as 0.
        chance_only: samples × chances × removals × steps. As `only`, with these.

    Returns:
        A number, -1 to 1, lower is better; NaN where undefined.

    Raises:
        EvidenceError: Where an array or an option cannot be used.

    Example:
        >>> from theodolite.metrics import sufficiency
        >>> round(sufficiency([0.9], [[[0.75]]]), 6)
        0.15
    """
    arrays = {"clean": clean, "only": only, "chance_only": chance_only}
    options = {"form": form}
    return number(Sufficiency, arrays, options)
