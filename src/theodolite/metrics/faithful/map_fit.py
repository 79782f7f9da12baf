"""Metric of whether a relevance map predicts what removing patches of the image changes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from jaxtyping import Bool, Float
from pydantic import Field

from theodolite._stats.sampling import POOLED, draw_other_rows
from theodolite._stats.subset_fits import correlate_rows, sum_removed
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.base import Card, NullModel, PerSample, SampleMean, metric
from theodolite.metrics.shared.map_nulls import pool_maps, use_center, use_edges, use_saturation

OTHER_MAPS = 8
_OTHER_SEED = 0x70617463
Fill = Literal["mean", "blur", "other"]
FillOption = Annotated[
    Sequence[Fill], Field(min_length=1, description="What removed patches are filled with.")
]
Compared = Annotated[
    Literal["map", "best"],
    Field(description="Sums of the map over patches, or the best sums that there are."),
]
Maps = Float[np.ndarray, "samples height width"]
Removed = Bool[np.ndarray, "samples subsets patch_rows patch_columns"]


def sum_patches(maps: Maps, rows: int, columns: int) -> Float[np.ndarray, "samples rows columns"]:
    """Return the sum of maps over a grid of patches.

    >>> sum_patches(np.ones((1, 4, 5)), 2, 2)[0].tolist()
    [[4.0, 6.0], [4.0, 6.0]]
    """
    down, across = (
        np.rint(np.linspace(0, side, n + 1))[:-1].astype(int)
        for side, n in zip(maps.shape[1:], (rows, columns), strict=True)
    )
    sums = np.add.reduceat(np.asarray(maps, float), down, axis=1)
    return np.asarray(np.add.reduceat(sums, across, axis=2))


def fit_patches(
    maps: Maps, removed: Removed, drop: Float[np.ndarray, "samples subsets"]
) -> Float[np.ndarray, " samples"]:
    """Return the correlation of removed relevance and fall over the subsets of each image.

    0 where all sums are equal, NaN where no fall differs.
    """
    n, subsets, rows, columns = removed.shape
    if not n:
        return np.zeros(0)
    patches = sum_patches(maps, rows, columns).reshape(n, -1)
    sums = sum_removed(patches, removed.reshape(n, subsets, -1))
    return correlate_rows(sums, np.asarray(drop), np.full((n, subsets), 1 / subsets))


def _fit_each(evidence: SaliencyEvidence, fill: Sequence[str], maps: Sequence[Maps]) -> PerSample:
    """Return the mean fit of maps of each image, for each fill; undefined without maps."""
    removed, drop, names = np.asarray(evidence.removed), np.asarray(evidence.drop), evidence.fills
    fits = np.full((len(removed), len(fill)), np.nan)
    for column, name in enumerate(fill):
        falls = drop[:, _position(names.names, name)]
        each = [fit_patches(own, removed, falls) for own in maps]
        fits[:, column] = np.mean(each, axis=0) if each else np.nan
    return PerSample.from_values(fits)


def _position(names: Sequence[str], fill: str) -> int:
    if fill not in names:
        raise EvidenceError(f"fill={fill!r}", f"{list(names)}", "it in the evidence")
    return names.index(fill)


def _fit_of(make: Callable[[SaliencyEvidence], np.ndarray | None]) -> Callable[..., PerSample]:
    """Return the fit of one map of each image that knows nothing of the model."""

    def expected(
        evidence: SaliencyEvidence, *, fill: FillOption = ("mean",), **options: Any
    ) -> PerSample:
        del options
        maps = make(evidence)
        return _fit_each(evidence, fill, [] if maps is None else [maps])

    return expected


def _fit_others(
    evidence: SaliencyEvidence,
    sums: Mapping[str, np.ndarray],
    *,
    fill: FillOption = ("mean",),
    **options: Any,
) -> PerSample:
    del options
    samples = evidence.samples
    rows = draw_other_rows(
        sums, np.asarray(samples.index), (OTHER_MAPS,), _OTHER_SEED, samples.clusters
    )
    alone = not len(rows) or (rows < 0).any()
    maps = [] if alone else [sums[POOLED + "maps"][rows[:, i]] for i in range(OTHER_MAPS)]
    return _fit_each(evidence, fill, maps)


@metric(
    "map_fit",
    title="Fit of the map to what removal changes",
    question="faithful",
    asked_as="Does the map predict how the output changes when parts of the image are removed?",
    better="higher",
    bounds=(-1.0, 1.0),
    uses=("maps", "removed", "drop"),
    nulls_use=("best_fit",),
    may_use=("best_fit", "edges", "saturation"),
    sweeps=("fill",),
    headline={"fill": "mean"},
    fitting=lambda evidence: {"fill": evidence.fills.names},
    judged_with=("map_fit",),
    ideal=lambda evidence: evidence,
    ideal_options={"compared": "best"},
    best_varies=False,
    threshold=0.8,
    threshold_from="null",
    share_from=("another_image", "center", "edges", "saturation"),
    nulls=(
        NullModel(
            "another_image", "the maps of eight other images, mean fit",
            expected=_fit_others, sums=pool_maps, random=False, label="another image's map",
        ),
        NullModel(
            "center", "one hill in the middle of every image",
            expected=_fit_of(use_center), random=False, label="center baseline",
        ),
        NullModel(
            "edges", "the strength of edges in the image; undefined without images",
            expected=_fit_of(use_edges), random=False,
        ),
        NullModel(
            "saturation", "the color saturation of the image; undefined without images",
            expected=_fit_of(use_saturation), random=False, label="color saturation",
        ),
    ),
    cite="bhatt2020evaluating",
    card=Card(
        question="Does the map predict how the output changes when parts of the image are removed?",
        interpretation="1 if sums of the map over removed patches go exactly with the fall of the "
        "output, 0 if they say nothing about it. Of the way from the strongest map that never saw "
        "the model to the best possible sum over patches, 80 % is enough; a convention.",
        limitations="Images without patches are unlike any that the model knows. What patches are "
        "filled with matters: of several fills the lowest answer counts. Only the sum in each "
        "patch is read, with its sign: a map of absolute values says less. The best possible is "
        "measured on a few images and taken as known. It tests what a map predicts, not where it "
        "comes from: the map of a similar model passes.",
        cost="one answer of the model for each image and subset, asked once for all maps",
        template="Sums over removed patches go with the fall of the output: correlation {value} "
        "({low}–{high}{best}). {null}{enough}.",
    ),
)  # fmt: skip
class MapFit(SampleMean):
    r"""Correlation of removed relevance with the fall of the output, mean over images.

    .. math:: \frac1N \sum_i \mathrm{corr}_{S}\Bigl(\sum_{p \in S} e_i(p),\;
        \ell(x_i) - \ell(x_i^{\setminus S})\Bigr)

    Over subsets S of half of the patches of an image; :math:`\ell` is the log-odds of the explained
    class. Of one size, so that a larger sum is not more patches. 0 where the map has the same sum
    in each subset; undefined where no subset changes the answer more than another. The
    sensitivity-n of Ancona et al. over patches, a faithfulness correlation of
    :cite:t:`bhatt2020evaluating`.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import map_fit
        >>> maps = [[[2.0, 0.0], [1.0, -1.0]]]
        >>> pairs = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
        >>> removed = np.array([[np.isin(range(4), pair).reshape(2, 2) for pair in pairs]])
        >>> drop = [[[2.0, 3.0, 1.0, 1.0, -1.0, 1.0]]]
        >>> map_fit(maps, removed, drop).round(4)
        array([0.9576])
    """

    @staticmethod
    def each(
        evidence: SaliencyEvidence,
        *,
        fill: FillOption = ("mean",),
        compared: Compared = "map",
    ) -> PerSample:
        """Correlate over the subsets of each image."""
        if compared == "map":
            return _fit_each(evidence, fill, [evidence.maps])
        if evidence.best_fit is None:
            return PerSample.from_values(np.full((len(evidence), len(fill)), np.nan))
        positions = [_position(evidence.fills.names, name) for name in fill]
        return PerSample.from_values(np.asarray(evidence.best_fit, float)[:, positions])
