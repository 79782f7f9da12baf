"""Run the explained model for ``theodolite.audit_saliency``, on images with patches removed.

If an explainer is given, it is run with random weights and under noise as well. `saliency` puts the
results into the evidence.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from theodolite._runs.auditing.map_inputs import (
    Channels,
    MapInputs,
    ModelImages,
    enlarge_maps,
    read_maps,
    read_numbers,
)
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Fills, Noises
from theodolite.evidence.pipeline_output import Progress
from theodolite.evidence.subject import Outputs

NOISE = 0.05
"""Noise radius, as a fraction of the range of the images."""
NOISE_DRAWS = 3


@dataclass(frozen=True)
class AskSettings:
    """Settings of the forward passes."""

    fills: tuple[str, ...] = ("mean",)
    batch_size: int = 64
    seed: int = 0
    quick: bool = False


@dataclass(frozen=True, eq=False)
class ModelFacts:
    """Outputs of the model as arrays of the evidence; empty without a model."""

    arrays: Mapping[str, Any] = field(default_factory=dict)
    target: Int[np.ndarray, " images"] | None = None
    notes: tuple[str, ...] = ()
    model: str | None = None
    outputs: Outputs = "given"


def ask_model(
    inputs: MapInputs,
    model: Any,
    target: Int[np.ndarray, " images"] | None,
    settings: AskSettings,
    progress: Progress,
) -> ModelFacts:
    """Run the model on whole images and on images without half of their patches."""
    from theodolite.explainers.probing.patch_answers import (  # noqa: PLC0415
        QUICK_CEILING_IMAGES,
        QUICK_SUBSETS,
        PatchPlan,
        ask_without_patches,
    )
    from theodolite.models.asked_model import AskedModel, clip_log_odds  # noqa: PLC0415

    images = _need_images(inputs)
    plan = PatchPlan(seed=settings.seed)
    if settings.quick:
        plan = PatchPlan(QUICK_SUBSETS, QUICK_CEILING_IMAGES, settings.seed)
    asked_model = AskedModel(model, images.restore, settings.batch_size)
    with asked_model.open():
        probabilities = asked_model.ask(images.values)
        predicted = probabilities.argmax(axis=1)
        target = predicted if target is None else target
        if target.max() >= probabilities.shape[1]:
            raise EvidenceError(
                "target", f"class {target.max()}", f"0 to {probabilities.shape[1] - 1}, as outputs"
            )
        chosen = target
        clean = probabilities[np.arange(len(chosen)), chosen]
        answers = ask_without_patches(
            images.values,
            lambda batch, rows: asked_model.ask_log_odds(batch, chosen[rows]),
            clip_log_odds(clean), settings.fills, plan, progress,
        )  # fmt: skip
    arrays = {
        "removed": answers.removed, "drop": answers.drop, "best_fit": answers.best_fit,
        "fills": Fills(settings.fills), "clean": clean, "predicted": chosen,
    }  # fmt: skip
    fills = " and ".join(settings.fills)
    notes = [f"{asked_model.passes:,} forward passes; removed patches were filled with: {fills}."]
    if asked_model.batch_size < settings.batch_size:
        notes.append(f"Memory sufficed for batches of {asked_model.batch_size} images.")
    name = model.__class__.__name__ if asked_model.is_module else "your model"
    return ModelFacts(arrays, target, tuple(notes), name, "model")


def _need_images(inputs: MapInputs) -> ModelImages:
    if inputs.images is None:
        raise EvidenceError("images", "none, but `model`", "the images that the maps are of")
    return inputs.images


def check_explainer(  # noqa: PLR0913  what an explanation is made from
    explain: Any,
    model: Any,
    inputs: MapInputs,
    name: str,
    facts: ModelFacts,
    settings: AskSettings,
    channels: Channels,
    layout: str | None,
) -> dict[str, Any]:
    """Return how maps change with random weights and under noise; empty without ``explain``."""
    if explain is None or facts.target is None:
        return {}
    from theodolite.explainers.probing.randomization import (  # noqa: PLC0415
        compute_map_similarity,
        randomize_weights,
    )
    from theodolite.explainers.probing.stability import (  # noqa: PLC0415
        StabilitySettings,
        compute_chance_changes,
        measure_map_changes,
    )

    images, size = _need_images(inputs), inputs.maps[name].shape[1:]

    def run(own: Callable[..., Any]) -> Callable[..., Float[np.ndarray, "images rows columns"]]:
        def explain_batch(batch: np.ndarray, target: np.ndarray) -> np.ndarray:
            output = read_numbers(own(images.restore(batch), target), "explain")
            n_channels = images.values.shape[1]
            return enlarge_maps(
                read_maps(output, "explain", channels, layout, n_channels), size, "explain"
            )

        return explain_batch

    explain_batch, explain_random = _bind(explain, model, randomize_weights, settings.seed)
    own, batch = run(explain_batch), settings.batch_size
    again = _in_batches(own, images.values, facts.target, batch)
    other = _in_batches(run(explain_random), images.values, facts.target, batch)
    noise_settings = StabilitySettings(
        draws=NOISE_DRAWS, seed=settings.seed, noises=("uniform",), batch=batch,
        radius=NOISE * float(np.ptp(images.values)) or NOISE,
    )  # fmt: skip
    changes = measure_map_changes(
        own, images.values, again, targets=facts.target, settings=noise_settings
    )
    similarity = compute_map_similarity(again, other)
    return {
        "norms": changes.norms, "changes": changes.changes, "noises": Noises(("uniform",)),
        "chance_changes": compute_chance_changes(again, seed=settings.seed),
        "randomized_similarity": similarity, "randomized": np.ones(len(similarity), bool),
    }  # fmt: skip


def _in_batches(
    explain: Callable[..., np.ndarray], images: np.ndarray, target: np.ndarray, batch: int
) -> np.ndarray:
    parts = [
        explain(images[at : at + batch], target[at : at + batch])
        for at in range(0, len(images), batch)
    ]
    return np.concatenate(parts)


def _bind(
    explain: Any, model: Any, randomize: Callable[..., Any], seed: int
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the explainer of the model, and that of the same model with random weights."""
    if not hasattr(model, "parameters"):
        raise EvidenceError("explain", "a model without weights", "a torch module as `model`")
    if not hasattr(explain, "attribute"):
        if not callable(explain):
            raise EvidenceError(
                "explain", type(explain).__name__,
                "a function (model, images, targets) -> maps, or a captum attribution",
            )  # fmt: skip
        other = randomize(model, seed=seed)
        return (
            lambda batch, target: explain(model, batch, _to_tensor(batch, target)),
            lambda batch, target: explain(other, batch, _to_tensor(batch, target)),
        )
    moved = copy.deepcopy(explain)  # with its layers, which are parts of its own copy of the model
    inner: Any = getattr(moved, "forward_func", None)
    inner = getattr(inner, "__self__", inner)
    if not hasattr(inner, "parameters"):
        raise EvidenceError(
            "explain", "an attribution of a function", "one of a torch module",
            "Or pass a function (model, images, targets) -> maps.",
        )  # fmt: skip
    inner.load_state_dict(randomize(inner, seed=seed).state_dict())
    return (
        lambda batch, target: explain.attribute(batch, target=_to_tensor(batch, target)),
        lambda batch, target: moved.attribute(batch, target=_to_tensor(batch, target)),
    )


def _to_tensor(batch: Any, target: np.ndarray) -> Any:
    if not hasattr(batch, "detach"):
        return target
    import torch  # noqa: PLC0415

    return torch.from_numpy(target)
