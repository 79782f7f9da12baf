"""Can a concept be predicted from the values that should have nothing to do with it?"""

from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float
from pydantic import Field

from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import Card, Pooled, metric
from theodolite.metrics.leak_free._nulls import CLEAN
from theodolite.metrics.leak_free._predictors import Predictor, Size, fitted, split
from theodolite.metrics.leak_free._terms import auc_terms, rows_all_known, weighted_means
from theodolite.metrics.option_types import Seed

BETAS = np.linspace(0.0, 0.95, 20)
SIZE = Size((20, 20), 1000, 512, stops_early=True)
Form = Annotated[
    Literal["defined", "as_published"],
    Field(description="As the paper defines niches, or as the published code computes them."),
]


@metric(
    "niche_impurity",
    paper_names=("NIS",),
    title="Niche impurity (NIS)",
    version=1,
    question="leak_free",
    better="lower",
    bounds=(0.0, 0.95),
    uses=("values", "truth"),
    may_use=("known",),
    decides=False,
    on_request=True,
    nulls=(CLEAN,),
    cite="espinosa2023quality",
    card=Card(
        asks="Can a concept be predicted from the values that are hardly correlated with it?",
        read="0.475 if values outside a concept's niche say nothing about it, 0.95 if all.",
        misleads="The published code integrates the area inside the niche (form as_published): it "
        "is then high for every good model, hard ones included, and says nothing about leakage; "
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
        form: Form = "defined",
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
    form: Form,
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
