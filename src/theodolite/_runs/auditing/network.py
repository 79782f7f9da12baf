"""A network at hand, a layer and images with concepts: made into evidence for every question."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite._runs.auditing.sources import EvidenceSource
from theodolite._runs.folder.registry import build_registered
from theodolite._runs.folder.spec import Named
from theodolite._storage.cache_folder import get_default_cache
from theodolite._storage.lazy import import_late
from theodolite._storage.optional import require
from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import Progress, WorkContext, silent

if TYPE_CHECKING:
    from theodolite.datasets.concept_data import ConceptData
    from theodolite.models.loaded_model import LoadedModel

SEEDS = (0, 1, 2)
"""Examples of concepts are drawn again for each."""


def network_evidence(  # noqa: PLR0913  each is an argument of audit
    model: Any,
    layer: str | None,
    data: Any,
    dataset: str = "folder",
    progress: Progress = silent,
    preprocessing: Any = None,
    cache: str | Path | None = None,
) -> EvidenceSource:
    """A post-hoc concept bottleneck on the layer, the layer's units, and what they can be asked.

    The network is only looked at: it stays in its mode, on its device, and keeps no hook.
    """
    from theodolite.models.loading import load_model  # noqa: PLC0415

    for name, value in (("model", model), ("data", data)):
        if value is None:
            raise EvidenceError(name, "none", "a model and images with concepts",
                                "Give both `model` and `data`.")  # fmt: skip
    images = concept_data(data, dataset)
    require("torch", "model", "torch")
    backbone = load_model(model, preprocessing=preprocessing)
    if not (layer or backbone.layer):
        raise EvidenceError("layer", "none", "the name of a module, such as 'layer4'")
    posthoc = import_late("pipelines.posthoc.pipeline")
    pipeline = posthoc.PosthocPipeline(backbone=backbone.name, layer=layer, units=True)
    folder = get_default_cache() if cache is None else Path(cache)
    produced = pipeline.make_with(backbone, images, WorkContext(SEEDS, folder, progress))
    return EvidenceSource(
        f"a concept bottleneck of {backbone.name}, {layer or backbone.layer}, on {images.name}",
        produced.evidence,
        inputs=produced.inputs,
        notes=(
            *produced.notes,
            _describe_inputs(backbone),
        ),
        facts=tuple(produced.facts),
        tables=produced.tables,
        image=produced.image,
        subject=produced.subject,
        claim=produced.claim,
    )


def _describe_inputs(backbone: "LoadedModel") -> str:
    """What the network was shown."""
    size = " × ".join(map(str, backbone.preprocessing.size))
    if backbone.guessed:
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
