"""Attribute predictions to concepts by perturbing concept values: LIME, SHAP and RISE."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from theodolite._storage.optional import require
from theodolite.errors import EvidenceError
from theodolite.evidence.concept_head import ConceptHead

Values = Float[np.ndarray, "samples concepts"]
Labels = Int[np.ndarray, " samples"]


def lime_values(
    head: ConceptHead,
    values: Values,
    labels: Labels,
    *,
    background: Float[np.ndarray, "others concepts"],
    seed: int,
    options: Mapping[str, Any],
) -> Values:
    """Return the weights of lime's local linear model, one for each concept.

    The concepts are cut at their quartiles, as lime does by itself: a weight is what it adds to
    the class's probability that the concept is in the quarter where it is.
    """
    lime_tabular = require("lime.lime_tabular", "lime_cbm", "explain")
    chosen = {"num_samples": 1000, **options}
    weights = np.full(values.shape, np.nan)
    for row, (sample, label) in enumerate(zip(values, labels, strict=True)):
        with _same_start(seed), warnings.catch_warnings():
            # a concept that never varies has quartiles of no width
            warnings.filterwarnings("ignore", category=RuntimeWarning)
            # one for each sample: lime's random state moves on with every use
            explainer = lime_tabular.LimeTabularExplainer(background.copy(), random_state=seed)
            explanation = explainer.explain_instance(
                sample.copy(), head.probabilities, labels=(int(label),),
                num_features=values.shape[1], **chosen,
            )  # fmt: skip
        for concept, weight in explanation.as_map()[int(label)]:
            weights[row, concept] = weight
    return weights


def shap_values(
    head: ConceptHead,
    values: Values,
    labels: Labels,
    *,
    background: Float[np.ndarray, "others concepts"],
    seed: int,
    options: Mapping[str, Any],
) -> Values:
    """Return Shapley values by shap's KernelExplainer, against a summary of the background.

    All concepts are kept: shap alone would keep the ten strongest (``l1_reg``).
    """
    shap = require("shap", "shap_cbm", "explain")
    chosen = {"nsamples": "auto", "l1_reg": False, **options}
    n_means = int(chosen.pop("background_means", 10))
    attributions = np.full(values.shape, np.nan)
    with _same_start(seed):
        summary: Any = background.copy()
        if len(np.unique(background, axis=0)) > n_means:
            summary = shap.kmeans(summary, n_means)
    for label in np.unique(labels):

        def of_class(some: Values, label: int = int(label)) -> Float[np.ndarray, " samples"]:
            return head.probabilities(some)[:, label]

        explainer = shap.KernelExplainer(of_class, summary)
        for row in np.flatnonzero(labels == label):
            with _same_start(seed):
                attributions[row] = explainer.shap_values(values[row].copy(), silent=True, **chosen)
    return attributions


def rise_values(
    head: ConceptHead,
    values: Values,
    labels: Labels,
    *,
    background: Float[np.ndarray, "others concepts"],
    seed: int,
    options: Mapping[str, Any],
) -> Values:
    """Return the class's mean probability over random masks that keep the concept.

    A concept that is masked takes its mean over the background. Every sample sees the same masks.
    Options: ``n_masks`` (2000) and ``keep`` (0.5), the chance that a concept is kept.
    """
    chosen = {"n_masks": 2000, "keep": 0.5, **options}
    n_masks, keep = int(chosen["n_masks"]), float(chosen["keep"])
    if n_masks < 1 or not 0 < keep < 1 or len(chosen) > 2:
        raise EvidenceError(
            "options", f"{dict(options)}", "n_masks of 1 or more, and keep between 0 and 1"
        )
    masks = np.random.default_rng(seed).random((n_masks, values.shape[1])) < keep
    counts = masks.sum(axis=0)
    middle = background.mean(axis=0)
    attributions = np.full(values.shape, np.nan)
    for row, (sample, label) in enumerate(zip(values, labels, strict=True)):
        chance = head.probabilities(np.where(masks, sample, middle))[:, label]
        # a concept that no mask has kept was not tried
        np.divide(chance @ masks, counts, out=attributions[row], where=counts > 0)
    return attributions


@contextmanager
def _same_start(seed: int) -> Iterator[None]:
    """Seed numpy's global random state, which the libraries use, and restore it."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.set_state(np.random.RandomState(seed).get_state())  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
