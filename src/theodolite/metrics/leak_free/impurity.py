"""Do values predict other concepts than their own?"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from pydantic import Field

from theodolite._stats.grouped_weights import RowWeights
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import Card, Pooled
from theodolite.metrics.blocks import AT, COUNT, SUM, BlockContext, Blockwise
from theodolite.metrics.leak_free._terms import (
    auc_terms,
    leakage_metric,
    rows_all_known,
    weighted_means,
)
from theodolite.metrics.option_types import Seed


@dataclass(frozen=True)
class Size:
    """How large a network is and how long it is trained."""

    hidden: tuple[int, ...]
    epochs: int
    batch: int
    stops_early: bool = False


def split(n: int, seed: int) -> tuple[Int[np.ndarray, " train"], Int[np.ndarray, " test"]]:
    """A random fifth to test on."""
    order = np.random.default_rng(seed).permutation(n)
    n_test = max(n // 5, 1)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def fitted(
    inputs: Float[np.ndarray, "samples inputs"],
    targets: Bool[np.ndarray, "samples concepts"],
    *,
    size: "Size",
    seed: int,
) -> "Predictor":
    """A network that predicts all targets at once from the inputs.

    Targets with one value only cannot be learned; for these it says what it saw.
    """
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415
    from sklearn.neural_network import MLPClassifier  # noqa: PLC0415

    both = np.asarray(targets.any(axis=0) & ~targets.all(axis=0))
    if not both.any():
        return Predictor(None, both, targets[:1])
    network = MLPClassifier(
        size.hidden,
        alpha=1e-4 if size.stops_early else 0.0,
        batch_size=min(size.batch, len(inputs)),
        max_iter=size.epochs,
        random_state=seed,
        tol=1e-4 if size.stops_early else 0.0,
        n_iter_no_change=10 if size.stops_early else size.epochs + 1,
    )
    # one target is a plain classification, two or more are given as columns
    learnable_targets = targets[:, both] if both.sum() > 1 else targets[:, both][:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # as many epochs as the definition says
        network.fit(inputs, learnable_targets.astype(int))
    return Predictor(network, both, targets[:1])


class Predictor:
    """Probabilities of all targets, with those that were constant in training kept apart."""

    def __init__(self, network: object, learned: np.ndarray, seen: np.ndarray) -> None:
        self._network, self._learned, self._seen = network, learned, seen

    def __call__(
        self, inputs: Float[np.ndarray, "samples inputs"]
    ) -> Float[np.ndarray, "samples concepts"]:
        probabilities = np.repeat(self._seen.astype(float), len(inputs), axis=0)
        if self._network is not None:
            predicted = self._network.predict_proba(inputs)  # type: ignore[attr-defined]
            probabilities[:, self._learned] = (
                predicted if self._learned.sum() > 1 else predicted[:, 1:]
            )
        return probabilities


Form = Annotated[
    Literal["joint", "pairwise"],
    Field(description="One network per source for all concepts, or one per pair, as defined."),
]
impurity_metric = partial(
    leakage_metric,
    uses=("values", "truth"),
    detail=False,
    decides=False,
    opt_in=True,
    cite="espinosa2023quality",
)
JOINT, PAIRWISE = Size((32,), 50, 2048), Size((32,), 25, 512)
Matrix = Float[np.ndarray, "*rows sources concepts"]


def impurity(learned: Matrix, oracle: Matrix) -> Float[np.ndarray, "*rows"]:
    r"""The oracle impurity of two matrices of areas: :math:`\frac2k\|\pi-\pi_0\|_F`.

    >>> learned, oracle = np.array([[1, 0.7], [0.6, 1]]), np.array([[1, 0.5], [0.5, 1]])
    >>> round(float(impurity(learned, oracle)), 6)
    0.223607
    """
    return np.asarray(2 / learned.shape[-1] * np.sqrt(squared_distance(learned, oracle)))


def squared_distance(learned: Matrix, oracle: Matrix) -> Float[np.ndarray, "*rows"]:
    """Of two matrices, or of some of their rows."""
    return np.asarray(((learned - oracle) ** 2).sum(axis=(-1, -2)))


@impurity_metric(
    "oracle_impurity",
    paper_names=("OIS",),
    title="Oracle impurity (OIS)",
    bounds=(0.0, 2.0),
    card=Card(
        question="Can a concept's value predict the others better or worse than the true concept "
        "can?",
        interpretation="0 if each value predicts every concept exactly as well as the true concept "
        "does. Compare with the score without leakage, not with 0.",
        limitations="Badly learned concepts raise it (the diagonal enters), so do networks that "
        "were trained on few samples: with 50 passes in batches of 2,048 a set of a thousand "
        "samples gives 50 steps. It knows nothing about the label. A hard bottleneck without "
        "leakage scores well above 0. Another seed gives another value.",
        cost="two small networks per concept: about 0.1 s each for a thousand samples",
    ),
)
class OracleImpurity(Blockwise):
    r"""How differently values and true concepts predict the other concepts (OIS).

    .. math:: \mathrm{OIS} = \frac2k \left\|\pi(\hat c, c) - \pi(c, c)\right\|_F

    :math:`\pi_{ij}` is the area under the ROC curve, on a fifth of the samples, of a small network
    that predicts concept :math:`j` from concept :math:`i`. ``joint``: one network per source with
    an output for every concept, 50 epochs, as the published experiments called it; ``pairwise``:
    one network per pair, 25 epochs, a true concept predicting itself with 1, as defined. Both
    matrices are tested on the same fifth, drawn by the seed, where the published code draws two.
    A concept with one value in the test part counts with its accuracy, as there.
    Introduced in :cite:t:`espinosa2023quality`; eq. 4 of :cite:t:`parisini2025leakage`.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import oracle_impurity
        >>> truth = np.random.default_rng(0).random((300, 2)) < 0.5
        >>> float(oracle_impurity(truth.astype(float), truth))  # the true concepts themselves
        0.0
    """

    needs_truths = True

    @staticmethod
    def part(
        evidence: ConceptEvidence,
        weights: RowWeights,
        block: BlockContext,
        *,
        form: Form = "joint",
        seed: Seed = 0,
    ) -> Mapping[str, np.ndarray]:
        assert block.truths is not None  # noqa: S101  they are asked for
        rows = np.flatnonzero(block.common.known)
        at, n = np.zeros(1, np.int64), np.full((len(weights), 1), float(len(evidence.concepts)))
        if len(rows) < 10:
            return {AT: at, SUM: np.full(n.shape, np.nan), COUNT: n}
        parts = split(len(rows), seed)
        truth = block.truths.table(range(block.n))[rows]
        counted = weights[:, rows[parts[1]]]

        def areas(source: np.ndarray) -> np.ndarray:
            terms = _areas(np.asarray(source, np.float64)[rows], truth, parts, form, seed)
            return np.stack([weighted_means(own, counted) for own in terms], axis=1)

        learned, oracle = areas(evidence.values), areas(np.asarray(evidence.truth))
        if form == "pairwise":
            oracle[:, np.arange(len(evidence.concepts)), block.item.concepts] = 1.0
        return {AT: at, SUM: squared_distance(learned, oracle)[:, None], COUNT: n}

    @classmethod
    def whole(cls, parts: Mapping[str, np.ndarray]) -> Float[np.ndarray, " rows"]:
        return np.asarray(2 / parts[COUNT] * np.sqrt(parts[SUM]))[:, 0]


def _areas(
    sources: Float[np.ndarray, "samples sources"],
    truth: Bool[np.ndarray, "samples concepts"],
    parts: tuple[np.ndarray, np.ndarray],
    form: Form,
    seed: int,
) -> Iterator[Float[np.ndarray, "concepts test"]]:
    """For each source the terms on the test part whose means are the areas of all targets."""
    train, test = parts
    k = truth.shape[1]
    for i in range(sources.shape[1]):
        inputs = sources[:, i : i + 1]
        if form == "joint":
            predicted = fitted(inputs[train], truth[train], size=JOINT, seed=seed)(inputs[test])
        else:
            alone = [
                fitted(inputs[train], truth[train, j : j + 1], size=PAIRWISE, seed=seed)
                for j in range(k)
            ]
            predicted = np.concatenate([network(inputs[test]) for network in alone], axis=1)
        terms = np.empty((k, len(test)))
        for j in range(k):
            target_terms = auc_terms(predicted[:, j], truth[test, j])
            if np.isnan(target_terms).all():
                target_terms = ((predicted[:, j] > 0.5) == truth[test, j]).astype(float)
            terms[j] = target_terms
        yield terms


BETAS = np.linspace(0.0, 0.95, 20)
SIZE = Size((20, 20), 1000, 512, stops_early=True)
NicheForm = Annotated[
    Literal["defined", "as_published"],
    Field(description="As the paper defines niches, or as the published code computes them."),
]


@impurity_metric(
    "niche_impurity",
    paper_names=("NIS",),
    title="Niche impurity (NIS)",
    bounds=(0.0, 0.95),
    card=Card(
        question="Can a concept be predicted from the values that are hardly correlated with it?",
        interpretation="0.475 if values outside a concept's niche say nothing about it, 0.95 if "
        "all.",
        limitations="The published code integrates the area inside the niche (form as_published): "
        "it is then high for every good model, hard ones included, and says nothing about leakage; "
        "four independent hard concepts score 0.95 so, and 0.47 as defined. A network that was "
        "trained with all values is asked with some at 0, which it never saw.",
        cost="one network, then 20 predictions per concept",
    ),
)
class NicheImpurity(Pooled):
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

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import niche_impurity
        >>> truth = np.random.default_rng(0).random((2000, 3)) < 0.5
        >>> 0.45 < float(niche_impurity(truth.astype(float), truth)) < 0.5
        True
        >>> round(niche_impurity(truth.astype(float), truth, form="as_published"), 2)
        0.95
    """

    @staticmethod
    def measure(
        evidence: ConceptEvidence,
        weights: Float[np.ndarray, "rows samples"],
        *,
        form: NicheForm = "defined",
        seed: Seed = 1,
    ) -> Float[np.ndarray, " rows"]:
        truth = np.asarray(evidence.truth)
        rows = rows_all_known(evidence)
        if len(rows) < 10:
            return np.full(len(weights), np.nan)
        values, truth = np.asarray(evidence.values, np.float64)[rows], truth[rows]
        train, test = split(len(rows), seed)
        network = fitted(values[train], truth[train], size=SIZE, seed=seed)
        related = _correlations(values[train], truth[train])
        terms = np.full(len(rows), np.nan)
        terms[test] = _integrated(network, related, values[test], truth[test], form)
        return weighted_means(terms[None], weights[:, rows])[:, 0]


def _correlations(
    values: Float[np.ndarray, "samples concepts"], truth: Bool[np.ndarray, "samples concepts"]
) -> Float[np.ndarray, "values concepts"]:
    a, b = values - values.mean(axis=0), truth - truth.mean(axis=0)
    spread = np.sqrt(np.outer((a**2).sum(axis=0), (b**2).sum(axis=0)))
    return np.asarray(np.divide(a.T @ b, spread, out=np.zeros(spread.shape), where=spread > 0))


def _integrated(
    network: Predictor,
    related: Float[np.ndarray, "values concepts"],
    values: Float[np.ndarray, "samples concepts"],
    truth: Bool[np.ndarray, "samples concepts"],
    form: NicheForm,
) -> Float[np.ndarray, " samples"]:
    """Terms whose mean is the integral over beta of the mean area, without constant concepts."""
    step = np.diff(BETAS)
    heights = (np.append(step, 0) + np.insert(step, 0, 0)) / 2  # trapezia
    targets = [j for j in range(truth.shape[1]) if truth[:, j].any() and not truth[:, j].all()]
    terms = np.full(len(truth), np.nan) if not targets else np.zeros(len(truth))
    for j in targets:
        before: dict[bytes, np.ndarray] = {}
        for beta, height in zip(BETAS, heights, strict=True):
            if form == "defined":
                mask = ~(np.abs(related[:, j]) > beta)
            else:
                mask = related[:, j] > beta
            key = mask.tobytes()
            if key not in before:
                before[key] = auc_terms(network(values * mask)[:, j], truth[:, j])
            terms += height * before[key] / len(targets)
    return terms
