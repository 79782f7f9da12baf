"""Explain a layer by the concepts that a method discovers in it, and return surrogate evidence."""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Concepts
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.explainers.discovery.concept_shap import ConceptShap
from theodolite.explainers.discovery.importance import gradient_importance
from theodolite.explainers.discovery.methods import METHODS
from theodolite.explainers.discovery.protocol import Discovery, compute_offset
from theodolite.models.learned_surrogate import (
    LearnedSurrogateSettings,
    Loss,
    fit_learned_surrogate,
)
from theodolite.pipelines.faithfulness.explained_layer import ExplainedLayer
from theodolite.pipelines.faithfulness.importances import (
    compute_importance,
    keep_most_important,
    shapley_table,
)
from theodolite.pipelines.faithfulness.method_forms import RECIPES, MethodRecipe, Weighing
from theodolite.pipelines.parallel import run_in_parallel

GLOBAL = ("concept_shap", "sae")
"""Methods that find one set of concepts for all classes."""
CONCEPT_SHAP_CONCEPTS = 100
MAX_PLACES = 20_000
"""Largest number of positions that an autoencoder is fitted to."""
MAX_CONCEPTS_FOR_SURROGATE = 10
"""Largest number of concepts per class for a fitted surrogate; more would overfit."""


@dataclass(frozen=True)
class TrainingSettings:
    """Epochs of trained methods (0 skips the fitted surrogate), and the surrogate's loss."""

    loss: Loss = "cross_entropy"
    sae: int = 50
    concept_shap: int = 40
    learned: int = 100


@dataclass(frozen=True, eq=False)
class DiscoveredConcepts:
    """Concepts of one class, or of all."""

    of: int | None
    fitted: Discovery
    names: tuple[str, ...]
    codes: Float[np.ndarray, "test concepts"]
    importances: Float[np.ndarray, "concepts classes"]
    rebuilt: Float[np.ndarray, "test classes"]


@dataclass(frozen=True, eq=False)
class Explanation:
    """All concepts of a layer by one method."""

    parts: tuple[DiscoveredConcepts, ...]
    without: tuple[str, ...] = ()
    """Reasons why classes have no concepts."""

    def gathered(self, name: str, axis: int) -> np.ndarray:
        """Return an array concatenated over all parts."""
        return np.concatenate([getattr(part, name) for part in self.parts], axis=axis)


def explain_layer(
    layer: ExplainedLayer, method: str, n_concepts: int, seed: int, training: TrainingSettings
) -> Explanation:
    """Find concepts, their importances and their amounts in each sample."""
    if method not in RECIPES:
        raise EvidenceError("method", repr(method), f"one of {sorted(RECIPES)}")
    recipe = RECIPES[method]
    if recipe.method in GLOBAL:
        return Explanation((_of_all(layer, recipe, n_concepts, seed, training),))
    find = partial(_try_class, layer, recipe, n_concepts, seed)
    outcomes = list(run_in_parallel(find, range(len(layer.classes))))
    parts = tuple(part for part in outcomes if isinstance(part, DiscoveredConcepts))
    reasons = tuple(part for part in outcomes if isinstance(part, str))
    if not parts:
        raise EvidenceError(
            f"concepts by {method!r}", f"none in any class ({reasons[0]})",
            f"{n_concepts} or more training samples predicted as a class",
        )  # fmt: skip
    return Explanation(parts, reasons)


def _try_class(
    layer: ExplainedLayer, recipe: MethodRecipe, n_concepts: int, seed: int, of: int
) -> DiscoveredConcepts | str:
    """Return the concepts of a class, or the reason why there are none."""
    try:
        return _of_class(layer, recipe, n_concepts, seed, of)
    except EvidenceError as error:
        return str(error)


def _of_class(
    layer: ExplainedLayer, recipe: MethodRecipe, n_concepts: int, seed: int, of: int
) -> DiscoveredConcepts:
    own = layer.train[layer.select_training_rows(of)]
    rows = own if recipe.rows == "images" else layer.get_part_embeddings(recipe.rows, of)
    if len(rows) < max(n_concepts, 2) or not len(own):
        raise EvidenceError(
            f"class {layer.classes.names[of]!r}", f"{min(len(rows), len(own))} samples",
            f"{max(n_concepts, 2)} or more that are predicted as it",
        )  # fmt: skip
    class_seed = int(np.random.SeedSequence([seed, of]).generate_state(1)[0])
    way = METHODS[recipe.method](n_concepts=n_concepts, **recipe.settings)
    fitted = way.fit(rows, seed=class_seed)
    importance = compute_importance(layer, fitted, recipe.weighing, of, class_seed)
    codes = fitted.encode(layer.test)
    table = np.full((len(importance), len(layer.classes)), np.nan)
    table[:, of] = importance
    rebuilt = np.zeros((len(codes), len(layer.classes)))
    rebuilt[:, of] = layer.compute_logits(fitted.decode(codes))[:, of] - layer.bias[of]
    name = layer.classes.names[of]
    names = tuple(f"{name}: {k + 1}" for k in range(len(importance)))
    return DiscoveredConcepts(of, fitted, names, codes, table, rebuilt)


def _of_all(
    layer: ExplainedLayer, recipe: MethodRecipe, n_concepts: int, seed: int,
    training: TrainingSettings,
) -> DiscoveredConcepts:  # fmt: skip
    n = min(n_concepts * len(layer.classes), len(layer.train))
    if recipe.method == "sae":
        way = METHODS["sae"](n_concepts=n, active=min(n_concepts, n), epochs=training.sae)
        if recipe.rows == "places":
            fitted, codes = _in_places(layer, way, seed)
        else:
            fitted = way.fit(layer.train, seed=seed)
            codes = fitted.encode(layer.test)
        table = gradient_importance(layer.head, fitted.dictionary()).T
    else:
        shap, importances = _weighed_shap(layer, training.concept_shap, seed, recipe.weighing)
        table, n = keep_most_important(importances, n_concepts), len(importances)
        fitted, codes = shap, shap.encode(layer.test)
    rebuilt = layer.compute_logits(fitted.decode(codes)) - layer.bias
    names = tuple(f"concept {k + 1}" for k in range(n))
    return DiscoveredConcepts(None, fitted, names, codes, table, rebuilt)


@lru_cache(maxsize=8)
def _weighed_shap(
    layer: ExplainedLayer, epochs: int, seed: int, weighing: Weighing
) -> tuple[ConceptShap, Float[np.ndarray, "concepts classes"]]:
    """Train ConceptSHAP once and compute importances; the number of concepts matters later."""
    n = min(CONCEPT_SHAP_CONCEPTS, len(layer.train), layer.train.shape[1])
    shap = ConceptShap(layer.head, layer.bias, layer.train_labels, n_concepts=n, epochs=epochs)
    fitted = shap.fit(layer.train, seed=seed)
    return fitted, shapley_table(layer, fitted, n, seed, relearned=weighing == "shapley, relearned")


def _in_places(
    layer: ExplainedLayer, way: Discovery, seed: int
) -> tuple[Discovery, Float[np.ndarray, "test concepts"]]:
    """Find directions in positions; an image's amount is the mean over its positions."""
    if layer.places is None:
        raise EvidenceError("places", "none", "features before they are pooled")
    train, test = (np.moveaxis(part, 1, -1) for part in layer.places)
    rows = train.reshape(-1, train.shape[-1])
    chosen = np.random.default_rng(seed).permutation(len(rows))[:MAX_PLACES]
    fitted = way.fit(rows[np.sort(chosen)], seed=seed)
    codes = [fitted.encode(maps.reshape(-1, maps.shape[-1])).mean(axis=0) for maps in test]
    return fitted, np.stack(codes)


def make_surrogate_evidence(
    explanation: Explanation,
    layer: ExplainedLayer,
    seed: int,
    training: TrainingSettings,
    *,
    full: bool,
) -> SurrogateEvidence:
    """Return evidence on the test samples; embeddings are included only if ``full``."""
    importances = explanation.gathered("importances", 0)
    codes = explanation.gathered("codes", 1)
    outputs = layer.compute_logits(layer.test)
    learned = None
    if (
        training.learned
        and (~np.isnan(importances)).sum(axis=0).max() <= MAX_CONCEPTS_FOR_SURROGATE
    ):
        of_train = [part.fitted.encode(layer.train) for part in explanation.parts]
        both = (np.concatenate(of_train, axis=1), codes)
        learned = compute_learned_outputs(layer, both, importances, seed, training)
    # deletion adds up directions: what is rebuilt otherwise would not be what it takes away
    adds_up = all(_adds_up(part.fitted) for part in explanation.parts)
    return SurrogateEvidence(
        importances=importances,
        embeddings=layer.test if full else None,
        outputs=_single(outputs),
        head=layer.head,
        bias=layer.bias,
        vectors=_single(
            np.concatenate([part.fitted.dictionary() for part in explanation.parts])
        ) if adds_up else None,
        projections=_single(codes),
        rebuilt=_single(sum(part.rebuilt for part in explanation.parts) + layer.bias),
        learned=None if learned is None else _single(learned),
        # labels of outputs that are no classes would point nowhere
        labels=layer.labels if layer.found_on == "predicted" else None,
        classes=layer.classes,
        concepts=Concepts(tuple(name for part in explanation.parts for name in part.names)),
        samples=layer.samples,
    )  # fmt: skip


def _adds_up(fitted: Discovery) -> bool:
    """Return whether reconstruction is linear in the directions."""
    return not hasattr(fitted, "decoder") and bool(np.abs(compute_offset(fitted)).max() < 1e-9)


def compute_learned_outputs(
    layer: ExplainedLayer,
    codes: tuple[np.ndarray, np.ndarray],
    importances: Float[np.ndarray, "concepts classes"],
    seed: int,
    training: TrainingSettings,
) -> Float[np.ndarray, "test classes"] | None:
    """Return the outputs of a surrogate fitted on the training samples."""
    there = ~np.isnan(importances)
    train, test = (_by_class(part, there) for part in codes)
    settings = LearnedSurrogateSettings(loss=training.loss, epochs=training.learned, seed=seed)
    fitted = fit_learned_surrogate(
        train, layer.compute_logits(layer.train), layer.head, layer.bias, settings
    )
    outputs = fitted.outputs(test)
    # one that ran off while it was fitted says nothing
    return None if fitted.diverged or not np.isfinite(outputs).all() else outputs


def _by_class(codes: np.ndarray, there: np.ndarray) -> np.ndarray:
    n = int(there.sum(axis=0).max())
    by_class = np.zeros((len(codes), there.shape[1], n), np.float32)
    for of in range(there.shape[1]):
        own = np.flatnonzero(there[:, of])
        by_class[:, of, : len(own)] = codes[:, own]
    return by_class


def _single(values: Any) -> np.ndarray:
    return np.asarray(values, np.float32)
