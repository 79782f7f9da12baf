"""Load a model by scheme: timm, torchvision, transformers, the user's code or an exported file."""

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite._storage.checkpoints import read_weights
from theodolite._storage.optional import require
from theodolite._storage.paths import existing
from theodolite._storage.text import read_json, read_text
from theodolite.errors import EvidenceError, UnsafeInputError, did_you_mean
from theodolite.evidence.plugins import list_entry_points
from theodolite.models.features import Preprocessing, as_preprocessing, find_module
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.shelf import (
    ModelCard,
    check_weights,
    find_on_shelf,
    read_base,
    read_card,
)
from theodolite.models.spatial_layers import find_last_spatial_layer
from theodolite.models.timm_models import build_timm, fill, get_timm_preprocessing, last_layer

if TYPE_CHECKING:
    import torch

RUN_CODE = {
    "python": "it imports and calls your code",
    "export": "torch.export.load may unpickle objects and evaluate expressions of the file",
}
"""Schemes that can run code that comes with the model, and how."""
_trusted: set[str] = set()


def load_model(
    model: Any,
    *,
    weights: str | Path | None = None,
    classes: Sequence[str] | str | Path | None = None,
    preprocessing: Any = None,
    layer: str | None = None,
) -> LoadedModel:
    """Load an image classifier.

    Args:
        model: ``scheme:value``, or a torch module. A name without scheme is one of timm.

            - ``timm:resnet18``, ``torchvision:resnet50``: architecture by name.
            - ``hf:FOLDER`` or a name on the hub: an image classifier of transformers. Only
              .safetensors are read, and no code of the model's own is run.
            - ``python:package.module:function``: imports and calls your code.
            - ``export:model.pt2``: file of ``torch.export.save``. Reading it can run code, so
              load only files that you trust.
            - ``onnx:model.onnx``: no gradients; layers are the file's outputs besides the logits.
            - ``shelf:NAME``: of ``theodolite models list``, or a folder with a card.
            - ``open_clip:MODEL@TAG``, ``transformers_clip:FOLDER``: zero-shot; needs ``classes``.
        weights: A .safetensors file, or a .pt or .pth file of tensors only. For ``hf:``,
            ``export:`` and ``onnx:`` it takes the place of the value.
        classes: Names of the outputs in order, or a .txt (one per line) or .json file of them.
        preprocessing: Size, mean and std, such as ``{"size": (32, 32), "mean": (0.5, 0.5, 0.5),
            "std": (0.5, 0.5, 0.5)}``. Required where the model does not say.
        layer: Layer with spatial positions. Default: the last one.

    Returns:
        The model with its layers, preprocessing, classes and digest.

    Raises:
        EvidenceError: The model is unknown, or something that it needs is missing.
        UnsafeInputError: The weights do not fit, or are not plain tensors.

    Example:
        >>> load_model("keras:resnet18")
        Traceback (most recent call last):
            ...
        theodolite.errors.EvidenceError: model: got 'keras:resnet18'; needed one of timm, \
torchvision, hf, python, export, onnx, shelf, open_clip, transformers_clip before the colon.
    """
    names, prepare = read_class_names(classes), as_preprocessing(preprocessing)
    if isinstance(model, LoadedModel):
        loaded = model
    elif isinstance(model, str):
        loaded = _load_by_name(model, None if weights is None else Path(weights), names, prepare)
    elif hasattr(model, "named_modules") and callable(model):
        loaded = _wrap(model)
    else:
        raise EvidenceError("model", type(model).__name__, "a torch module, or scheme:value",
                            "For example 'timm:resnet18'.")  # fmt: skip
    if layer:
        find_module(loaded.network, layer)
    return replace(
        loaded,
        preprocessing=prepare or loaded.preprocessing,
        guessed=loaded.guessed and prepare is None,
        classes=_checked_names(names or loaded.classes, loaded.network),
        layer=layer or loaded.layer,
    )


def trust_model(name: str) -> None:
    """Allow `load_named_model` to run the code of this model, as ``--trust-model`` does."""
    _trusted.add(name)


def load_named_model(name: str, **settings: Any) -> LoadedModel:
    """Load the model that a spec or a command names; refuse code that nobody allowed to run."""
    check_trusted(name)
    return load_model(name, **settings)


def check_trusted(name: str) -> None:
    """Refuse a model that can run code, unless `trust_model` was called for it."""
    scheme = name.partition(":")[0]
    if scheme in RUN_CODE and name not in _trusted:
        raise UnsafeInputError(
            f"model {name!r}", f"{scheme}:, which can run code ({RUN_CODE[scheme]})",
            "your permission", "Add --trust-model to the command if you trust it.",
        )  # fmt: skip


def read_class_names(classes: Sequence[str] | str | Path | None) -> tuple[str, ...]:
    """Return class names, read from a .txt or .json file where a path is given."""
    if classes is None:
        return ()
    if not isinstance(classes, str | Path):
        return tuple(classes)
    path = Path(classes)
    if path.suffix == ".json":
        names = read_json(path, "class names")
    else:
        names = [line.strip() for line in read_text(path, "class names").splitlines()]
        names = [name for name in names if name]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise EvidenceError(f"classes {path.name!r}", type(names).__name__, "a list of names")
    return tuple(names)


def _load_by_name(
    name: str, weights: Path | None, classes: tuple[str, ...], prepare: Preprocessing | None
) -> LoadedModel:
    scheme, colon, value = name.partition(":")
    if not colon:
        scheme, value = "timm", name
    if scheme not in SCHEMES:
        raise EvidenceError("model", repr(name), f"one of {', '.join(SCHEMES)} before the colon",
                            did_you_mean(scheme, SCHEMES))  # fmt: skip
    if not value and weights is None:
        raise EvidenceError("model", repr(name), f"a name after {scheme}:")
    if scheme in CLIP:
        from theodolite.models.image_text.loading import load_towers  # noqa: PLC0415
        from theodolite.models.image_text.zero_shot import build_zero_shot_classifier  # noqa: PLC0415

        return replace(build_zero_shot_classifier(load_towers(name, weights), classes),
                       name=name, weights=weights)  # fmt: skip
    if scheme in OWN_PREPROCESSING and prepare is None:
        raise EvidenceError(
            "preprocessing", "none", f"size, mean and std, which {scheme}: does not store",
            'From Python: preprocessing={"size": …, "mean": …, "std": …}; or --preprocess FILE.',
        )  # fmt: skip
    loaded: LoadedModel = SCHEMES[scheme](value, weights, prepare)
    return loaded


def _load_timm(value: str, weights: Path | None, _: Any) -> LoadedModel:
    arrays = None if weights is None else read_weights(weights)
    network, preprocessing = build_timm(value, arrays, "" if weights is None else weights.name)
    grid = getattr(getattr(network, "patch_embed", None), "grid_size", None)
    return LoadedModel(
        value, network, preprocessing, last_layer(network), grid=tuple(grid) if grid else None,
        weights=weights,
    )  # fmt: skip


def _load_torchvision(value: str, weights: Path | None, _: Any) -> LoadedModel:
    torch = require("torch", "model", "torch")
    models = require("torchvision.models", "model", "torch")
    known = models.list_models(module=models)
    if value not in known:
        close = [name for name in known if name[:4] == value[:4]][:5] or ["resnet18", "vit_b_16"]
        raise EvidenceError("model", repr(value), f"a model of torchvision, such as {close}")
    default_weights = models.get_model_weights(value).DEFAULT
    classes = tuple(default_weights.meta["categories"])
    arrays = {} if weights is None else read_weights(weights)
    with torch.random.fork_rng(devices=[]):  # it fills the network with random numbers first
        network = models.get_model(value, weights=None).eval()
        head = [n for n, m in network.named_modules() if isinstance(m, torch.nn.Linear)][-1]
        n_outputs = len(arrays.get(f"{head}.weight", classes))
        if n_outputs != len(classes):  # trained on other classes
            network = models.get_model(value, weights=None, num_classes=n_outputs).eval()
    if weights is None:
        # tensors only, and the file that torchvision was released with
        tensors = default_weights.get_state_dict(progress=False, check_hash=True, weights_only=True)
        network.load_state_dict(tensors)
    else:
        fill(network, arrays, weights.name)
    transforms = default_weights.transforms()
    side = transforms.crop_size[0]
    preprocessing = Preprocessing((side, side), tuple(transforms.mean), tuple(transforms.std))
    patch = getattr(network, "patch_size", None)
    return LoadedModel(
        f"torchvision:{value}", network, preprocessing, find_last_spatial_layer(network),
        classes if weights is None else (),
        (side // patch, side // patch) if isinstance(patch, int) else None, weights,
    )  # fmt: skip


def _load_hf(value: str, weights: Path | None, _: Any) -> LoadedModel:
    from theodolite.models.image_text.transformers_classifier import load_transformers_classifier  # noqa: PLC0415

    source = _local(value, weights)
    loaded = load_transformers_classifier(value if source is None else str(source))
    return replace(loaded, name=f"hf:{_short(value, source)}", weights=source)


def _load_python(value: str, weights: Path | None, _: Any) -> LoadedModel:
    module, colon, function = value.partition(":")
    if not (colon and module and function):
        raise EvidenceError("model", f"'python:{value}'", "python:package.module:function")
    sys.path.insert(0, os.getcwd())
    try:
        build = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise EvidenceError(
            f"model 'python:{value}'", str(error), "a function to import"
        ) from error
    finally:
        sys.path.remove(os.getcwd())
    network = build()
    if not (hasattr(network, "named_modules") and callable(network)):
        raise EvidenceError(f"model 'python:{value}'", type(network).__name__, "a torch module")
    if weights is not None:
        fill(network, read_weights(weights), weights.name)
    return replace(_wrap(network.eval()), name=f"python:{value}", weights=weights)


def _load_export(value: str, weights: Path | None, prepare: Preprocessing | None) -> LoadedModel:
    torch = require("torch", "model", "torch")
    path = existing(_local(value, weights) or Path(value), "model")
    try:
        program = torch.export.load(path)
    except Exception as error:  # torch has no end of kinds
        reason = " ".join(f"{type(error).__name__} {error}".split())[:150]
        what = f"model {path.name!r}"
        raise UnsafeInputError(what, reason, "a file of torch.export.save") from error
    inputs = program.graph_signature.user_inputs
    shapes = [n.meta["val"].shape for n in program.graph.nodes if n.name in inputs]
    _check_shape(path.name, [tuple(shape) for shape in shapes], prepare)
    network = torch.export.unflatten(program)
    name = f"export:{_short(value, path)}"
    return LoadedModel(name, network, prepare or Preprocessing(), last_layer(network), weights=path)


def _check_shape(file: str, shapes: list[tuple[Any, ...]], prepare: Preprocessing | None) -> None:
    """Refuse a program of which the inputs are not any number of images of the size given."""
    if len(shapes) != 1 or len(shapes[0]) != 4:
        raise EvidenceError(f"model {file!r}", f"{len(shapes)} inputs", "one, a batch of images")
    n, _, *size = shapes[0]
    if isinstance(n, int):
        raise EvidenceError(
            f"model {file!r}", f"batches of {n} only", "any number of images",
            "Export it again: torch.export.export(network, (images,), "
            'dynamic_shapes=({0: torch.export.Dim("n")},)).',
        )  # fmt: skip
    fixed = [side for side in size if isinstance(side, int)]
    if prepare is not None and len(fixed) == 2 and tuple(fixed) != prepare.size:
        raise EvidenceError("preprocessing", f"size {prepare.size}", f"{tuple(fixed)}, the model's")


def _load_onnx(value: str, weights: Path | None, prepare: Preprocessing | None) -> LoadedModel:
    from theodolite.models.onnx_network import OnnxNetwork  # noqa: PLC0415

    path = existing(_local(value, weights) or Path(value), "model")
    network = OnnxNetwork(path)
    layer = network.map_layers[-1] if network.map_layers else ""
    return LoadedModel(f"onnx:{_short(value, path)}", network, prepare or Preprocessing(), layer,
                       weights=path)  # fmt: skip


def _load_shelf(value: str, weights: Path | None, _: Any) -> LoadedModel:
    folder = weights if weights is not None else find_on_shelf(value)
    card = read_card(folder)
    network = build_network(card, read_weights(check_weights(folder, card)))
    return LoadedModel(
        f"shelf:{card.name}", network, as_preprocessing(card.preprocessing) or Preprocessing(),
        card.layer, card.classes, weights=folder,
    )  # fmt: skip


def build_network(card: ModelCard, arrays: Mapping[str, np.ndarray]) -> "torch.nn.Module":
    """Return the network of a card with these weights; those not stored are its base's."""
    torch_module = require("torch", "model", "torch")
    base = read_base_tensors(card.base) if card.base else {}
    if card.factory == "timm":
        network, _ = build_timm(card.architecture, base | dict(arrays), card.name)
        return network
    points = {point.name: point for _, point in list_entry_points("networks")}
    if card.factory not in points:
        raise EvidenceError(
            f"model 'shelf:{card.name}'", f"no package that builds {card.factory!r} networks",
            "it", "Install it: pip install 'theodolite-models[all]'.",
        )  # fmt: skip
    with torch_module.random.fork_rng(devices=[]):
        built: torch.nn.Module = points[card.factory].load()(card)
    prefix, state = getattr(built, "base_prefix", ""), built.state_dict()
    shared = {prefix + name: array for name, array in base.items() if prefix + name in state}
    fill(built, shared | dict(arrays), card.name)
    return built.eval()


def read_base_tensors(name: str) -> dict[str, np.ndarray]:
    """Return the tensors of a base by timm's names, rounded to half precision."""
    network, _ = build_timm(name, read_base(name), name)
    return {key: np.asarray(t.numpy()) for key, t in network.state_dict().items()}


CLIP = ("open_clip", "transformers_clip")
SCHEMES: Mapping[str, Any] = {
    "timm": _load_timm, "torchvision": _load_torchvision, "hf": _load_hf, "python": _load_python,
    "export": _load_export, "onnx": _load_onnx, "shelf": _load_shelf, **dict.fromkeys(CLIP),
}  # fmt: skip
OWN_PREPROCESSING = ("export", "onnx")


def _local(value: str, weights: Path | None) -> Path | None:
    """Return the file or folder of a model: of ``weights``, or of the value if it is there."""
    if weights is not None:
        return weights
    return Path(value) if Path(value).exists() else None


def _short(value: str, path: Path | None) -> str:
    """Return the name of a file without its folder, which differs between machines."""
    return value if path is None else path.resolve().name


def _wrap(network: "torch.nn.Module") -> LoadedModel:
    """Wrap a network that the caller already has; it is not modified."""
    known = get_timm_preprocessing(network)
    name = type(network).__name__
    layer = last_layer(network) or find_last_spatial_layer(network)
    return LoadedModel(name, network, known or Preprocessing(), layer, guessed=known is None)


def _checked_names(classes: Sequence[str], network: "torch.nn.Module") -> tuple[str, ...]:
    """Return the names if there is one per output of the last layer."""
    import torch  # noqa: PLC0415

    linear_layers = [module for module in network.modules() if isinstance(module, torch.nn.Linear)]
    n_outputs = getattr(network, "num_classes", None) or (
        linear_layers[-1].out_features if linear_layers else None
    )
    if classes and isinstance(n_outputs, int) and n_outputs != len(classes):
        raise EvidenceError("classes", f"{len(classes)} names", f"{n_outputs}, one for each output")
    return tuple(classes)
