"""Audits of saliency maps, with the model that they explain."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from theodolite._runs.auditing.common import (
    ProgressChoice,
    audit_bundles,
    build_evidence,
    choose_progress,
)
from theodolite._runs.auditing.map_answers import (
    AskSettings,
    ModelFacts,
    ask_model,
    check_explainer,
)
from theodolite._runs.auditing.map_inputs import (
    Channels,
    MapInputs,
    MapLayout,
    check_choice,
    read_target,
)
from theodolite._runs.auditing.result import AuditResult
from theodolite._verdicts.selection import MetricChoice
from theodolite.errors import EvidenceError
from theodolite.evidence.subject import Subject
from theodolite.metrics.catalogue import QUANTUS_NAMES
from theodolite.questions import Question

FillChoice = Literal["mean", "blur", "other"]
NAMED_CHANNELS = {
    "sum": "Channels of maps were summed, with their signs.",
    "abs": "Sizes of the channels of maps were summed; signs were left out.",
    "max": "Of the channels of maps the largest size was taken; signs were left out.",
}
WITHOUT_EXPLAIN = (
    "Pass explain= to test whether the maps depend on the weights, and their stability under noise."
)


def audit_saliency(  # noqa: PLR0913  every argument is documented where it is used
    maps: Any,
    images: Any = None,
    *,
    model: Any = None,
    masks: Any = None,
    target: Any = None,
    explain: Any = None,
    channels: Channels = "sum",
    fill: FillChoice | Sequence[FillChoice] = "mean",
    layout: MapLayout | None = None,
    mask_label: Any = None,
    batch_size: int = 64,
    max_images: int = 100,
    quick: bool = False,
    store_images: bool = True,
    questions: Sequence[Question] | None = None,
    metrics: Sequence[MetricChoice] | None = None,
    names: Sequence[str] | None = None,
    ids: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    claim: str | None = None,
    seed: int = 0,
    resamples: int = 1000,
    progress: ProgressChoice = "auto",
) -> AuditResult | dict[str, AuditResult]:
    """Audit saliency maps: do they lie on the object, and predict what removal changes?

    Args:
        maps: A map for each image, as torch or NumPy arrays: (images, rows, columns), with channels
            on axis 1 or last, or smaller, as Grad-CAM makes them. Or several methods by name:
            the model is asked once for all of them.
        images: Images as the model takes them; required with ``model``.
        model: Torch module, or a function from a batch of images to outputs; for *faithful*. Its
            mode, device and hooks are left as they were.
        masks: Pixels of the object, for *located*: masks, maps of labels with ``mask_label``, or
            boxes (left, top, right, bottom).
        target: Explained class of each image. Default: the predicted one.
        explain: Function (model, images, targets) -> maps, or a captum attribution of the model:
            also tests how maps depend on the weights of the model and on noise.
        channels: How channels of a map become one number: their sum with signs, the sum of sizes
            or the largest size.
        fill: What removed patches are filled with; of several the lowest answer counts.
        layout: Where channels are, if the shape does not tell.
        mask_label: Label of the object in maps of labels; one, or one for each image.
        batch_size: Images of a batch; halved where memory does not suffice.
        max_images: Number of images that the model is asked about, drawn by the seed.
        quick: Ask about half as many subsets, and measure the best possible on half the images.
        store_images: Whether thumbnails may be stored with the run.
        questions: Questions to ask. Default: all that the arrays allow.
        metrics: Metrics to compute. Default: all that the arrays allow.
        names: Names of the classes, in the order of the model's outputs.
        ids: Names of the images.
        clusters: Groups of dependent images, such as those of one patient.
        claim: What the maps say; the title of the report.
        seed: Seed of subsets, intervals, baselines and shown images.
        resamples: Resamples for intervals.
        progress: Progress function; ``"auto"`` writes to stderr if it is a terminal.

    Returns:
        Scores and verdicts; of several methods a dictionary of these.

    Example:
        >>> import theodolite
        >>> from theodolite.datasets import planted_shapes
        >>> net, images, masks = planted_shapes(60)
        >>> result = theodolite.audit_saliency(images, masks=masks)  # the images as maps
        >>> result.verdicts["located"].answer
        'no'
    """
    fills = (fill,) if isinstance(fill, str) else tuple(fill)
    _check_options(fills, channels, batch_size, max_images)
    _check_order(images=images, model=model, explain=explain)
    inputs = MapInputs.read(maps, images, masks, mask_label, channels, layout)
    n = len(inputs)
    if model is not None and n > max_images:
        rows = np.sort(np.random.default_rng((seed, 0)).permutation(n)[:max_images])
    else:
        rows = np.arange(n)
    inputs = inputs.select(rows)
    axes = {"ids": ids, "clusters": clusters}
    axes = {name: None if v is None else np.asarray(v)[rows] for name, v in axes.items()}
    notes = [NAMED_CHANNELS[channels]] if inputs.had_channels else []
    if len(rows) < n:
        notes.append(f"{len(rows):,} of {n:,} images were drawn by the seed (max_images).")
    chosen_names = [choice if isinstance(choice, str) else choice[0] for choice in metrics or ()]
    aliases = [f"{name} is {QUANTUS_NAMES[name]}" for name in chosen_names if name in QUANTUS_NAMES]
    notes += [f"Names of Quantus: {', '.join(aliases)}."] if aliases else []
    facts, shown_images = ModelFacts(), None if inputs.images is None else inputs.images.show()
    settings = AskSettings(fills, batch_size, seed, quick=quick)
    if model is not None:
        chosen = None if target is None else read_target(target, n)[rows]
        facts = ask_model(inputs, model, chosen, settings, choose_progress(progress))
        notes += [*facts.notes, *([] if explain is not None else [WITHOUT_EXPLAIN])]
    results = {}
    for name, relevance in inputs.maps.items():
        checks = check_explainer(explain, model, inputs, name, facts, settings, channels, layout)
        evidence = build_evidence(
            "audit_saliency", maps=relevance, objects=inputs.objects, **inputs.model_free,
            **facts.arrays, **checks, **axes, classes=names,
        )  # fmt: skip
        what = "saliency maps" if name == "maps" else f"saliency by {name}"
        results[name] = audit_bundles(
            [evidence], images=shown_images, store_images=store_images, questions=questions,
            metrics=metrics, claim=claim, seed=seed, resamples=resamples, progress=progress,
            notes=tuple(notes), subject=Subject(what, facts.model, facts.outputs),
        )  # fmt: skip
    return results if isinstance(maps, Mapping) else results["maps"]


def _check_options(fills: tuple[str, ...], channels: str, batch_size: int, max_images: int) -> None:
    check_choice("channels", channels, Channels)
    for fill in fills or ("",):
        check_choice("fill", fill, FillChoice)
    for name, number in (("batch_size", batch_size), ("max_images", max_images)):
        if number < 1:
            raise EvidenceError(name, f"{number}", "at least 1")


def _check_order(*, images: Any, model: Any, explain: Any) -> None:
    if model is not None and images is None:
        raise EvidenceError("images", "none, but `model`", "the images that the maps are of")
    if explain is not None and model is None:
        raise EvidenceError("model", "none, but `explain`", "the model that is explained")
