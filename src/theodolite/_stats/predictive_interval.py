"""Compute error, interval and p-values of the predictive estimate of leakage."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Float, Int
from scipy.special import stdtr

from theodolite._stats.intervals import quantile
from theodolite._stats.predictive import PredictiveTerms, predictive_terms
from theodolite.results import Caveat, DefectTest

LEARNED_TOGETHER = 70.0
"""Predictions share what they were learned from, which the spread of their gains does not see: it
is moved out by the root of 1 + 70 / clusters, fitted at 30 to 500 clusters."""
FEWEST_FOR_FREE = 50
"""With fewer clusters only the lower end is quoted."""
FEWEST, FEWEST_IN_A_STRATUM = 20, 10
FEWEST_PER_DIMENSION = 3
MOST_UNDEFINED = 0.2
LEAST_CEILING = 0.5
BOUNDS = (-1.0, 1.0)


@dataclass(frozen=True)
class PredictiveMoments:
    """What interval, p-values and doubts of a predictive score are made from."""

    value: float
    """Mean over concepts of the share of the surprise that was gained; not clipped."""
    upper_value: float
    """The same, half of what learning costs given back: too high about as often as too low."""
    error: float
    """Standard error of the value from the clusters' sums, predictions taken as independent."""
    rho: float
    """Variance of the mean over concepts over that of a single concept: 1 / concepts if these are
    unrelated, 1 if they say the same."""
    surprise: float
    """Mean over concepts, in natural logarithms."""
    clusters: float
    stratum_clusters: float
    """Of the stratum that has most of them."""
    undefined: float
    """Share of the rows whose label too few clusters of their stratum have."""
    upper_error: float = 0.0
    """Error of the upper value that is there without any leak: of much that had to be learned."""
    ceiling: float = math.nan
    """What a value that is the label itself would score; NaN where that was not asked."""
    per_dimension: float = math.inf
    """Clusters of the largest stratum for each dimension of vectors."""

    @property
    def wider(self) -> float:
        """Factor by which the error is multiplied."""
        return wider_by(self.clusters)

    def arrays(self) -> dict[str, Float[np.ndarray, ""]]:
        """Return the arrays by name, to be stored and sent."""
        return {f.name: np.asarray(getattr(self, f.name), float) for f in fields(self)}

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> "PredictiveMoments":
        """Return the object from the result of ``arrays``."""
        return cls(**{f.name: float(arrays[f.name]) for f in fields(cls)})


def wider_by(clusters: float) -> float:
    """Return how much larger the error is than predictions that were learned apart would have.

    >>> round(wider_by(100), 6)
    1.30384
    """
    return math.sqrt(1 + LEARNED_TOGETHER / max(clusters, 1))


def predictive_moments(
    terms: PredictiveTerms,
    labels: Int[np.ndarray, " samples"],
    clusters: Int[np.ndarray, " samples"] | None = None,
    strata: Int[np.ndarray, "columns samples"] | None = None,
    **further: float,
) -> PredictiveMoments:
    """Moments of the mean over columns; rows count as ``row_weights`` says.

    ``further`` are fields that do not follow from the terms.
    """
    shape = terms.out.shape
    strata = np.zeros(shape, np.int64) if strata is None else np.asarray(strata)
    weights = row_weights(labels, clusters)
    rows = np.where(np.isnan(terms.out), 0.0, 1.0 if weights is None else weights)
    known, n = strata >= 0, rows.sum(axis=1, keepdims=True)
    undefined = float((known & (rows == 0)).sum() / max(known.sum(), 1))
    numbers = (
        np.arange(shape[1]) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    )
    counted, largest = _clusters(rows > 0, strata, numbers)
    numbered = {"clusters": counted, "stratum_clusters": largest, "undefined": undefined}
    columns = np.flatnonzero(n[:, 0] > 0)
    if not len(columns):
        nan = math.nan
        return PredictiveMoments(nan, nan, nan, nan, nan, **numbered, **further)
    rows, n = rows[columns], n[columns]
    out = np.where(rows > 0, terms.out[columns], 0.0)
    surprise = _means(terms.surprise[columns], rows)
    value = _means(out, rows) / surprise
    upper, upper_error = _upper(
        terms, columns, value, rows, entropies(labels, strata[columns], rows)
    )
    each = rows * (out / surprise[:, None] - value[:, None]) / n  # how a row moves each column
    mean = each.mean(axis=0)
    sums = np.bincount(numbers, mean)
    error = math.sqrt(counted / max(counted - 1, 1) * float((sums**2).sum()))
    alone = float((each**2).sum(axis=1).mean())
    rho = float((mean**2).sum()) / alone if alone > 0 else 1.0
    rho = min(1.0, max(1 / len(columns), rho))
    return PredictiveMoments(
        float(value.mean()), float(upper.mean()), error, rho, float(surprise.mean()), **numbered,
        upper_error=math.sqrt(rho) * upper_error / counted, **further,
    )  # fmt: skip


def _means(
    terms: Float[np.ndarray, "columns samples"], rows: Float[np.ndarray, "columns samples"]
) -> Float[np.ndarray, " columns"]:
    """Over the rows of each column that count."""
    return np.asarray((rows * np.where(rows > 0, terms, 0.0)).sum(axis=1) / rows.sum(axis=1))


def _upper(
    terms: PredictiveTerms,
    columns: Int[np.ndarray, " some"],
    value: Float[np.ndarray, " some"],
    rows: Float[np.ndarray, "some samples"],
    entropy: Float[np.ndarray, " some"],
) -> tuple[Float[np.ndarray, " some"], float]:
    """The upper value of each column, and clusters times the error that learning gives it.

    Gains on what was learned from vary by half of the number of parameters, leak or not.
    """
    middle = _means((terms.out + terms.inside)[columns] / 2, rows)
    if terms.learned is None or terms.parameters is None:
        return np.maximum(value, middle / entropy), 0.0
    learned = _means(terms.learned[columns], rows)
    error = np.sqrt((terms.parameters[columns] / 2 / entropy**2).mean())
    return np.maximum(value, np.maximum(middle, learned) / entropy), float(error)


def row_weights(
    labels: Int[np.ndarray, " samples"], clusters: Int[np.ndarray, " samples"] | None
) -> Float[np.ndarray, " samples"] | None:
    """Return how much each row counts in means over rows: 1 / (1 + (rows of its cluster - 1) r).

    r is by how much more often two rows of a cluster have the same label than rows of two clusters,
    from 0 to 1. Where a cluster has one label, its rows gain or lose together, and the cluster
    counts once, however large; where labels vary within, so do gains, and each row counts. None
    where all rows count alike.

    Measured with clusters of very unequal size (Pareto 1.2; 200 and 600 rows; labels by cluster, by
    row and between; values within over between clusters 0.33, 1 and without any tie), 200 draws of
    36 settings, three concepts: clean models called partly leaking or leaking 1 of 3,493 (rows
    alike: 10, clusters alike: 0); of leaks by 0.8 standard deviations none called free, 72 % found
    (rows alike: 71 %, clusters alike: 65 %). At 600 rows with a label a cluster and a third of the
    spread within, 89 % are found (rows alike: 52 %); with labels and values by row 98 %, 77 % of
    of all as surely too much (clusters alike: 94 and 39 %).

    Rows that are all written q times over count as before.
    """
    if clusters is None or not len(clusters):
        return None
    of_row = np.unique(clusters, return_inverse=True)[1]
    sizes = np.bincount(of_row)
    if (sizes == sizes[0]).all():
        return None
    times, together = _label_agreement(np.unique(labels, return_inverse=True)[1], of_row)
    weights = 1 / (1 + (sizes / times - 1) * together)
    return np.asarray(weights[of_row])


def _label_agreement(
    labels: Int[np.ndarray, " samples"], clusters: Int[np.ndarray, " samples"]
) -> tuple[int, float]:
    """Return how many times all rows are written over, and how alike labels of a cluster are."""
    n_labels = int(labels.max()) + 1
    cells, counts = np.unique(clusters * n_labels + labels, return_counts=True)
    times = int(np.gcd.reduce(counts))
    counts, owner, label = counts // times, cells // n_labels, cells % n_labels
    sizes = np.bincount(owner, counts)
    pairs = np.bincount(owner, counts * (counts - 1.0))
    several = sizes > 1
    if not several.any():
        return times, 0.0
    within = (pairs[several] / (sizes * (sizes - 1))[several]).mean()
    shares, n = counts / sizes[owner], len(sizes)
    between = ((np.bincount(label, shares) ** 2).sum() - (shares**2).sum()) / (n * (n - 1))
    return times, float(np.clip((within - between) / max(1 - between, 1e-12), 0.0, 1.0))


def entropies(
    labels: Int[np.ndarray, " samples"],
    strata: Int[np.ndarray, "columns samples"],
    rows: Float[np.ndarray, "columns samples"],
) -> Float[np.ndarray, " columns"]:
    """Return the weighted label entropy in the strata of each column."""
    numbers = np.unique(labels, return_inverse=True)[1]
    n_labels, n_strata = int(numbers.max(initial=0)) + 1, int(strata.max(initial=0)) + 1
    result = np.empty(len(strata))
    for j, (stratum, weights) in enumerate(zip(strata, rows, strict=True)):
        cells = np.maximum(stratum, 0) * n_labels + numbers
        counts = np.bincount(cells, weights, n_strata * n_labels).reshape(n_strata, n_labels)
        whole = np.broadcast_to(counts.sum(axis=1, keepdims=True), counts.shape)
        here = counts > 0
        result[j] = -(counts[here] * np.log(counts[here] / whole[here])).sum() / counts.sum()
    return result


def _clusters(
    defined: np.ndarray, strata: Int[np.ndarray, "columns samples"], clusters: np.ndarray
) -> tuple[float, float]:
    """Return how many have a defined row at all, and in the stratum that has most of them."""
    largest = 0
    for column in range(len(strata)):
        for stratum in range(int(strata[column].max(initial=-1)) + 1):
            rows = defined[column] & (strata[column] == stratum)
            largest = max(largest, int(np.count_nonzero(np.bincount(clusters[rows]))))
    return float(len(np.unique(clusters[defined.any(axis=0)]))), float(largest)


def ceiling_of(
    labels: Int[np.ndarray, " samples"],
    clusters: Int[np.ndarray, " samples"] | None,
    strata: Int[np.ndarray, "columns samples"],
    estimate: Callable[..., PredictiveTerms] = predictive_terms,
) -> float:
    """What values would score that are the label's number itself: no leak could be seen better.

    The column of the most even strata has the least to learn from. Only where it falls short are
    all columns tried.
    """
    numbers = np.unique(labels, return_inverse=True)[1].astype(float)[:, None]
    smaller = np.minimum((strata > 0).sum(axis=1), (strata == 0).sum(axis=1))

    def share(group: Int[np.ndarray, "columns samples"]) -> float:
        values = np.broadcast_to(numbers, (len(numbers), len(group)))
        terms = estimate(values, labels, clusters, group)
        return predictive_moments(terms, labels, clusters, group).value

    if not strata.size:
        return math.nan
    hardest = int(np.argmax(smaller))
    least = share(strata[hardest : hardest + 1])
    return least if least >= LEAST_CEILING else share(strata)


def fault_interval(moments: PredictiveMoments, tolerance: float, level: float) -> DefectTest:
    """Return where the leak lies, and p-values of its being nothing, acceptable, or too much.

    Close to 0 the spread of gains vanishes with their mean, and an interval from it would say
    "free" too readily. Gains of mean I have variance of about 2 I; the upper end is the largest
    leak that the value does not contradict, its own error taken. With fewer than 50 clusters only
    the lower end is told.
    """
    clusters = moments.clusters
    if clusters < 2 or math.isnan(moments.value):
        return DefectTest(*BOUNDS, 1.0, 1.0, 1.0, math.nan, max(clusters - 1, 0.0))
    df, error = clusters - 1, moments.wider * moments.error
    reach = 2 * moments.rho / (moments.surprise * clusters)
    upper_error = math.hypot(error, moments.upper_error)
    accepted = max(upper_error, math.hypot(math.sqrt(tolerance * reach), moments.upper_error))
    high, p_below_tolerance = BOUNDS[1], 1.0
    if clusters >= FEWEST_FOR_FREE:
        t = quantile(df, level)
        high = max(
            moments.upper_value + t * upper_error,
            _largest(moments.upper_value, t * math.sqrt(reach), t * moments.upper_error),
        )
        p_below_tolerance = _one_side(tolerance - moments.upper_value, accepted, df)
    return DefectTest(
        low=moments.value - quantile(df, level) * error,
        high=high,
        p_below_tolerance=p_below_tolerance,
        p_nonzero=_one_side(moments.value, error, df),
        p_above_tolerance=_one_side(moments.value - tolerance, error, df),
        error=accepted,
        df=df,
    )


def p_above(moments: PredictiveMoments, test: DefectTest, share: float) -> float:
    """Return the p-value of a leak of this share, or smaller."""
    return _one_side(moments.value - share, moments.wider * moments.error, test.df)


def _largest(value: float, reach: float, apart: float) -> float:
    """The largest share that comes down to the value by its own error, ``reach`` times its root,
    and by one that does not depend on it."""
    middle = max(value, 0.0) + reach**2 / 2
    return middle + math.sqrt(middle**2 - max(value, 0.0) ** 2 + apart**2)


def _one_side(above: float, error: float, df: float) -> float:
    """Twice the chance that nothing but error puts a value so far above; at most 1."""
    if not error > 0:
        return float(above <= 0)
    return float(min(2 * stdtr(df, -above / error), 1.0))


def doubt(moments: PredictiveMoments) -> Caveat | None:
    """Return why the estimate allows no answer; None if it does."""
    if math.isnan(moments.value):
        return Caveat("undefined", "no stratum has four clusters and two labels that recur")
    if moments.clusters < FEWEST:
        because = f"{moments.clusters:.0f} samples or clusters; {FEWEST} are needed"
        return Caveat("underpowered", because)
    if moments.stratum_clusters < FEWEST_IN_A_STRATUM:
        because = (
            f"at most {moments.stratum_clusters:.0f} samples or clusters agree on a concept; "
            f"{FEWEST_IN_A_STRATUM} are needed"
        )
        return Caveat("underpowered", because)
    if moments.undefined > MOST_UNDEFINED:
        because = f"{moments.undefined:.0%} of the rows have labels that do not recur among samples"
        return Caveat("undefined", f"{because} that agree on a concept: too many labels")
    if moments.per_dimension < FEWEST_PER_DIMENSION:
        because = f"{moments.per_dimension:.1f} samples or clusters that agree on a concept"
        return Caveat(
            "underpowered",
            f"{because} for each dimension of the vectors; {FEWEST_PER_DIMENSION} are needed",
        )
    if moments.ceiling < LEAST_CEILING:
        because = f"the label itself would score {max(moments.ceiling, 0):.2f}"
        return Caveat("underpowered", f"even a perfect leak would not be seen: {because}")
    return None
