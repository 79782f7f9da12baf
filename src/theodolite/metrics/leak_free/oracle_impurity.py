"""Can one concept's value predict the others better than the true concept could?"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float
from pydantic import Field

from theodolite._stats.grouped_weights import RowWeights
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import Card, metric
from theodolite.metrics.blocks import AT, COUNT, SUM, BlockContext, Blockwise
from theodolite.metrics.leak_free._nulls import CLEAN
from theodolite.metrics.leak_free._predictors import Size, fitted, split
from theodolite.metrics.leak_free._terms import auc_terms, weighted_means
from theodolite.metrics.option_types import Seed

Form = Annotated[
    Literal["joint", "pairwise"],
    Field(description="One network per source for all concepts, or one per pair, as defined."),
]
JOINT, PAIRWISE = Size((32,), 50, 2048), Size((32,), 25, 512)
Matrix = Float[np.ndarray, "*rows sources concepts"]


def impurity(learnt: Matrix, oracle: Matrix) -> Float[np.ndarray, "*rows"]:
    r"""The oracle impurity of two matrices of areas: :math:`\frac2k\|\pi-\pi_0\|_F`.

    >>> learnt, oracle = np.array([[1, 0.7], [0.6, 1]]), np.array([[1, 0.5], [0.5, 1]])
    >>> round(float(impurity(learnt, oracle)), 6)
    0.223607
    """
    return np.asarray(2 / learnt.shape[-1] * np.sqrt(squared_distance(learnt, oracle)))


def squared_distance(learnt: Matrix, oracle: Matrix) -> Float[np.ndarray, "*rows"]:
    """Of two matrices, or of some of their rows."""
    return np.asarray(((learnt - oracle) ** 2).sum(axis=(-1, -2)))


@metric(
    "oracle_impurity",
    paper_names=("OIS",),
    title="Oracle impurity (OIS)",
    version=1,
    question="leak_free",
    better="lower",
    bounds=(0.0, 2.0),
    uses=("values", "truth"),
    may_use=("known",),
    decides=False,
    on_request=True,
    nulls=(CLEAN,),
    cite="espinosa2023quality",
    card=Card(
        asks="Can a concept's value predict the others better or worse than the true concept can?",
        read="0 if each value predicts every concept exactly as well as the true concept does. "
        "Compare with the score without leakage, not with 0.",
        misleads="Badly learnt concepts raise it (the diagonal enters), so do networks that were "
        "trained on few samples: with 50 passes in batches of 2,048 a set of a thousand samples "
        "gives 50 steps. It knows nothing about the label. A hard bottleneck without leakage "
        "scores well above 0. Another seed gives another value.",
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
        learnt, oracle = (
            np.stack(
                [
                    weighted_means(terms, counted)
                    for terms in _areas(source[rows], truth, parts, form, seed)
                ],
                axis=1,
            )
            for source in (
                np.asarray(evidence.values, np.float64),
                np.asarray(evidence.truth, np.float64),
            )
        )
        if form == "pairwise":
            oracle[:, np.arange(len(evidence.concepts)), block.item.concepts] = 1.0
        return {AT: at, SUM: squared_distance(learnt, oracle)[:, None], COUNT: n}

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
