"""Load image classifiers by name from timm, torchvision, transformers or open_clip."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from theodolite._storage.checkpoints import read_weights
from theodolite._storage.optional import require
from theodolite.errors import EvidenceError
from theodolite.models.backbones import _load, load_backbone
from theodolite.models.classifier import Classifier
from theodolite.models.features import Preprocessing
from theodolite.models.spatial_layers import find_last_spatial_layer

if TYPE_CHECKING:
    import torch

LIBRARIES = ("timm", "torchvision", "transformers", "open_clip", "transformers_clip")
ZERO_SHOT = ("open_clip", "transformers_clip")


def load_classifier(
    name: str,
    weights: Path | None = None,
    *,
    classes: Sequence[str] = (),
    prompt: str = "a photo of a {}",
) -> Classifier:
    """Load a classifier; the prefix before the colon selects the library.

    - ``resnet50`` or ``timm:resnet50``: timm, as `load_backbone` has it.
    - ``torchvision:resnet18``.
    - ``transformers:<folder or name on the hub>``: .safetensors only, no code of the model's own.
    - ``open_clip:<model>@<file, folder or tag>`` and ``transformers_clip:<folder or name on the
      hub>``: CLIP or SigLIP, zero-shot, which needs ``classes``.

    Args:
        name: As above.
        weights: A .safetensors file (or a .pt or .pth file of nothing but tensors); for
            transformers a folder. Without, the library asks the user's hub.
        classes: Names in the order of the logits, where the library does not know them.
        prompt: The sentence for a class of a zero-shot classifier, with {} for its name.
    """
    library, colon, model = name.partition(":")
    if not colon:
        library, model = "timm", name
    if library not in LIBRARIES:
        raise EvidenceError("classifier", repr(name), f"a library of {', '.join(LIBRARIES)}")
    if library in ZERO_SHOT:
        from theodolite.models.image_text.loading import load_towers  # noqa: PLC0415
        from theodolite.models.image_text.zero_shot import build_zero_shot_classifier  # noqa: PLC0415

        return build_zero_shot_classifier(load_towers(name, weights), classes, prompt)
    classifier = _of_library(library, model, weights)
    return replace(
        classifier,
        name=name,
        classes=_class_names(classes or classifier.classes, classifier.network),
    )


def _of_library(library: str, model: str, weights: Path | None) -> Classifier:
    if library == "timm":
        return _of_timm(model, weights)
    if library == "torchvision":
        return _of_torchvision(model, weights)
    from theodolite.models.image_text.transformers_classifier import load_transformers_classifier  # noqa: PLC0415

    return load_transformers_classifier(str(weights or model))


def _of_timm(model: str, weights: Path | None) -> Classifier:
    backbone = load_backbone(model, weights)
    network = backbone.network
    grid = getattr(getattr(network, "patch_embed", None), "grid_size", None)
    layer = backbone.layer
    if getattr(network, "global_pool", "") == "token":
        layer = find_last_spatial_layer(network) or layer
    return Classifier(
        model, network, backbone.preprocessing, layer, grid=tuple(grid) if grid else None
    )


def _of_torchvision(model: str, weights: Path | None) -> Classifier:
    import torch  # noqa: PLC0415

    models = require("torchvision.models", "classifier", "torch")
    known = models.list_models(module=models)
    if model not in known:
        close = [name for name in known if name[:4] == model[:4]][:5] or ["resnet18", "vit_b_16"]
        raise EvidenceError("classifier", repr(model), f"a model of torchvision, such as {close}")
    default_weights = models.get_model_weights(model).DEFAULT
    with torch.random.fork_rng(devices=[]):  # it fills the network with random numbers first
        network = models.get_model(model, weights=None).eval()
    if weights is None:
        # tensors only, and the file that torchvision was released with
        tensors = default_weights.get_state_dict(progress=False, check_hash=True, weights_only=True)
        network.load_state_dict(tensors)
    else:
        _load(network, read_weights(weights), weights.name)
    transforms = default_weights.transforms()
    side = transforms.crop_size[0]
    preprocessing = Preprocessing((side, side), tuple(transforms.mean), tuple(transforms.std))
    patch = getattr(network, "patch_size", None)
    grid = (side // patch, side // patch) if isinstance(patch, int) else None
    classes = tuple(default_weights.meta["categories"]) if weights is None else ()
    return Classifier(
        model, network, preprocessing, find_last_spatial_layer(network), classes, grid
    )


def _class_names(classes: Sequence[str], network: "torch.nn.Module") -> tuple[str, ...]:
    """Return the names if there is one per output of the last layer."""
    import torch  # noqa: PLC0415

    linear_layers = [module for module in network.modules() if isinstance(module, torch.nn.Linear)]
    n_outputs = getattr(network, "num_classes", None) or (
        linear_layers[-1].out_features if linear_layers else None
    )
    if classes and isinstance(n_outputs, int) and n_outputs != len(classes):
        raise EvidenceError("classes", f"{len(classes)} names", f"{n_outputs}, one for each output")
    return tuple(classes)
