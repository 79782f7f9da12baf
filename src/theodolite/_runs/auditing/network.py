"""A network at hand, a layer and images with concepts: made into evidence for every question."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite._runs.auditing.sources import EvidenceSource
from theodolite._runs.folder.registry import build_registered
from theodolite._runs.folder.spec import Named
from theodolite._storage.lazy import import_late
from theodolite._storage.optional import require
from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import Progress, WorkContext, silent

if TYPE_CHECKING:
    from theodolite.datasets.concept_data import ConceptData
    from theodolite.models.backbones import Backbone
    from theodolite.models.features import Preprocessing

SEEDS = (0, 1, 2)
"""Examples of concepts are drawn anew for each."""


def network_evidence(
    model: Any,
    layer: str | None,
    data: Any,
    dataset: str = "folder",
    progress: Progress = silent,
    preprocessing: Any = None,
) -> EvidenceSource:
    """A post-hoc concept bottleneck on the layer, the layer's units, and what they can be asked.

    The network is only looked at: it stays in its mode, on its device, and keeps no hook.
    """
    from theodolite.models.backbones import has_timm_config, load_backbone, wrap_backbone  # noqa: PLC0415

    for name, value in (("model", model), ("data", data)):
        if value is None:
            raise EvidenceError(name, "none", "a network and images with concepts",
                                "Give both `model` and `data`.")  # fmt: skip
    images = concept_data(data, dataset)
    require("torch", "model", "torch")
    custom_preprocessing = _preprocessing(preprocessing)
    if isinstance(model, str):
        backbone = load_backbone(model)
        backbone = replace(backbone, preprocessing=custom_preprocessing or backbone.preprocessing)
    elif hasattr(model, "named_modules") and callable(model):
        backbone = wrap_backbone(model, custom_preprocessing)
    else:
        raise EvidenceError("model", type(model).__name__, "a torch module, or a name of timm")
    if not (layer or backbone.layer):
        raise EvidenceError("layer", "none", "the name of a module, such as 'layer4'")
    posthoc = import_late("pipelines.posthoc.pipeline")
    pipeline = posthoc.PosthocPipeline(backbone=backbone.name, layer=layer, units=True)
    with tempfile.TemporaryDirectory() as cache:
        context = WorkContext(SEEDS, Path(cache), progress)
        produced = pipeline.make_with(backbone, images, context)
    return EvidenceSource(
        f"a concept bottleneck of {backbone.name}, {layer or backbone.layer}, on {images.name}",
        produced.evidence,
        inputs=produced.inputs,
        notes=(
            *produced.notes,
            _seen(backbone, guessed=custom_preprocessing is None and not has_timm_config(model)),
        ),
        facts=tuple(produced.facts),
        tables=produced.tables,
        image=produced.image,
        subject=produced.subject,
        claim=produced.claim,
    )


def _preprocessing(preprocessing: Any) -> "Preprocessing | None":
    """Return how the network wants its images, as the caller says it."""
    from theodolite.models.features import Preprocessing  # noqa: PLC0415

    if preprocessing is None or isinstance(preprocessing, Preprocessing):
        return preprocessing
    try:
        settings = dict(preprocessing)
        size = np.broadcast_to(np.asarray(settings.pop("size", 224), int), 2)
        if size.min() < 1:
            raise ValueError
        numbers = {
            name: tuple(np.broadcast_to(np.asarray(settings.pop(old), float), 3).tolist())
            for name, old in (("mean", "mean"), ("spread", "std"))
            if old in settings
        }
    except (TypeError, ValueError) as error:
        raise _no_preprocessing(preprocessing) from error
    if settings or 0.0 in numbers.get("spread", ()):
        raise _no_preprocessing(preprocessing)
    return Preprocessing(size=(int(size[0]), int(size[1])), **numbers)


def _no_preprocessing(preprocessing: Any) -> EvidenceError:
    return EvidenceError(
        "preprocessing", repr(preprocessing)[:80], 'some of "size", "mean" and "std"',
        'e.g. {"size": (32, 32), "mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}.',
    )  # fmt: skip


def _seen(backbone: "Backbone", *, guessed: bool) -> str:
    """What the network was shown."""
    size = " × ".join(map(str, backbone.preprocessing.size))
    if guessed:
        return (
            f"GUESSED, as for ImageNet: images were stretched to {size} and normalized with "
            f"ImageNet's mean and spread, for {backbone.name} does not say what it was trained on. "
            "If it was trained otherwise, every answer here is about the wrong images: pass "
            "`preprocessing`."
        )
    mean, spread = (
        ", ".join(f"{number:g}" for number in numbers)
        for numbers in (backbone.preprocessing.mean, backbone.preprocessing.spread)
    )
    return f"Images were stretched to {size}; mean {mean} and spread {spread} were taken out."


def concept_data(data: Any, dataset: str) -> "ConceptData":
    """Return the images with concepts, read from their folder if necessary."""
    from theodolite.datasets.concept_data import ConceptData  # noqa: PLC0415

    if isinstance(data, str | Path):
        root = Path(data).resolve()
        if not root.is_dir():
            raise EvidenceError(f"data {str(data)!r}", "nothing there", "the folder of a data set")
        named = Named.model_validate({"name": dataset, "root": root.name})
        data = build_registered("datasets", named, root.parent)
    if not isinstance(data, ConceptData):
        raise EvidenceError(
            "data", f"{getattr(data, 'name', type(data).__name__)}, which has no concepts",
            "a data set of concepts: folder, cub or monumai",
            "docs/data-format.md says how to lay out your own.",
        )  # fmt: skip
    return data
