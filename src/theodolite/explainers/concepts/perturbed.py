"""Explanations by trying other values of the concepts: LIME, SHAP and RISE."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.concept_head import ConceptHead

Values = Float[np.ndarray, "samples concepts"]
Labels = Int[np.ndarray, " samples"]
INSTALL = "Install it: pip install 'theodolite[explain]'."


def lime_values(
    head: ConceptHead,
    values: Values,
    labels: Labels,
    *,
    background: Float[np.ndarray, "others concepts"],
    seed: int,
    options: Mapping[str, Any],
) -> Values:
    """Weights of lime's local linear model, one for each concept.

    The concepts are cut at their quartiles, as lime does by itself: a weight is what it adds to
    the class's probability that the concept is in the quarter where it is.
    """
    try:
        from lime.lime_tabular import LimeTabularExplainer  # noqa: PLC0415
    except ImportError as error:
        raise EvidenceError("lime_cbm", "no lime", "it", INSTALL) from error

    chosen = {"num_samples": 1000, **options}
    found = np.full(values.shape, np.nan)
    for row, (sample, label) in enumerate(zip(values, labels, strict=True)):
        with _same_start(seed), warnings.catch_warnings():
            # a concept that never varies has quartiles of no width
            warnings.filterwarnings("ignore", category=RuntimeWarning)
            # one for each sample: lime's random state moves on with every use
            explainer = LimeTabularExplainer(background.copy(), random_state=seed)
            made = explainer.explain_instance(
                sample.copy(), head.probabilities, labels=(int(label),),
                num_features=values.shape[1], **chosen,
            )  # fmt: skip
        for concept, weight in made.as_map()[int(label)]:
            found[row, concept] = weight
    return found


def shap_values(
    head: ConceptHead,
    values: Values,
    labels: Labels,
    *,
    background: Float[np.ndarray, "others concepts"],
    seed: int,
    options: Mapping[str, Any],
) -> Values:
    """Shapley values by shap's KernelExplainer, against a summary of the background.

    All concepts are kept: shap alone would keep the ten strongest (``l1_reg``).
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import shap  # noqa: PLC0415
    except ImportError as error:
        raise EvidenceError("shap_cbm", "no shap", "it", INSTALL) from error

    chosen = {"nsamples": "auto", "l1_reg": False, **options}
    n_means = int(chosen.pop("background_means", 10))
    found = np.full(values.shape, np.nan)
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
                found[row] = explainer.shap_values(values[row].copy(), silent=True, **chosen)
    return found


def rise_values(
    head: ConceptHead,
    values: Values,
    labels: Labels,
    *,
    background: Float[np.ndarray, "others concepts"],
    seed: int,
    options: Mapping[str, Any],
) -> Values:
    """The class's mean probability over random masks that keep the concept.

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
    kept = masks.sum(axis=0)
    middle = background.mean(axis=0)
    found = np.full(values.shape, np.nan)
    for row, (sample, label) in enumerate(zip(values, labels, strict=True)):
        chance = head.probabilities(np.where(masks, sample, middle))[:, label]
        # a concept that no mask has kept was not tried
        np.divide(chance @ masks, kept, out=found[row], where=kept > 0)
    return found


@contextmanager
def _same_start(seed: int) -> Iterator[None]:
    """numpy's own random state at a seed, and afterwards as it was: the libraries draw from it."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.set_state(np.random.RandomState(seed).get_state())  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
