"""Read sparse autoencoders: folders of SAELens and objects of ``overcomplete``.

A SAELens folder (``cfg.json`` and ``sae_weights.safetensors``) is read and used without SAELens or
torch. Not read are the model and layer of the activations (``cfg.json`` has them), firing rates in
training, and error terms. Features have no names.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from theodolite.bridges._tensors import numbers, whole
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Concepts
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.explainers.discovery.importance import gradient_importance
from theodolite.language.dictionaries.sae_lens import read_sae_lens_folder

Activations = Float[np.ndarray, "n dimensions"]
Codes = Float[np.ndarray, "n features"]


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Directions of features, with functions that encode and decode activations."""

    rows: Float[np.ndarray, "features dimensions"]
    """Direction of each feature: what one unit of it adds to the activation."""
    encode: Callable[[Any], Codes]
    """Function from activations (n, dimensions) to values of features."""
    decode: Callable[[Codes], Activations]
    """Function from values of features to activations; normalized ones if ``normalized``."""
    normalized: bool = False
    """Whether each activation is normalized before it is encoded."""


def read_sae_lens(folder: Path) -> Dictionary:
    """Read a SAELens autoencoder or transcoder, for inference or a checkpoint of training.

    One whose activations were scaled by a factor that its file does not have raises an error.
    """
    sae = read_sae_lens_folder(Path(folder))
    if sae.needs_scale:
        raise EvidenceError(
            "cfg.json", "activations scaled by a factor that is not in it", "norm_scaling_factor",
            "Fold it: sae.fold_activation_norm_scaling_factor, then save it again.",
        )  # fmt: skip
    return Dictionary(
        sae.rows,
        lambda activations: sae.encode(numbers(activations, "activations")),
        sae.decode,
        sae.normalized,
    )


def from_overcomplete(model: Any) -> Dictionary:
    """Wrap a fitted object of ``overcomplete``: an autoencoder, NMF or a related method.

    To train one on embeddings, use ``theodolite.explainers.discovery.sae``.
    """
    rows = np.asarray(numbers(model.get_dictionary(), "dictionary"), np.float64)

    def run_in_torch(function: Callable[[Any], Any], values: Any) -> np.ndarray:
        import torch  # noqa: PLC0415

        parameter = next(iter(model.parameters()), None) if hasattr(model, "parameters") else None
        modes = {part: part.training for part in getattr(model, "modules", tuple)()}
        tensor = torch.as_tensor(numbers(values, "activations"), dtype=torch.float32)
        tensor = tensor if parameter is None else tensor.to(parameter.device)
        try:
            if modes:
                model.eval()
            with torch.no_grad():
                output = function(tensor)
        finally:
            for part, training in modes.items():  # restore each mode: parts may be frozen
                part.training = training
        # its autoencoders also return the values before the activation function
        output = output[-1] if isinstance(output, tuple) else output
        return np.asarray(numbers(output, "codes"), np.float64)

    return Dictionary(
        rows,
        lambda activations: run_in_torch(model.encode, activations),
        lambda codes: run_in_torch(model.decode, codes),
    )


def feature_maps(
    dictionary: Dictionary, activations: Any
) -> Float[np.ndarray, "samples features height width"]:
    """Return a map of each feature in each image, for ``theodolite.dissect``.

    ``activations`` is (samples, channels, height, width); each position is encoded separately.
    """
    values = numbers(activations, "activations")
    if values.ndim != 4:
        raise EvidenceError(
            "activations", f"shape {values.shape}", "(samples, channels, height, width)"
        )
    samples, channels, height, width = values.shape
    codes = dictionary.encode(values.transpose(0, 2, 3, 1).reshape(-1, channels))
    return np.asarray(codes.reshape(samples, height, width, -1).transpose(0, 3, 1, 2))


def surrogate_evidence(
    dictionary: Dictionary, *, embeddings: Any, head: Any, bias: Any = None, labels: Any = None
) -> SurrogateEvidence:
    """Return evidence on whether features explain the network's outputs, for faithfulness.

    Args:
        dictionary: Features of the last layer's input; it must not normalize its input.
        embeddings: Input of the last layer, (samples, dimensions).
        head: Weights of the last layer, (classes, dimensions).
        bias: Bias of the last layer.
        labels: The true classes.
    """
    if dictionary.normalized:
        raise EvidenceError(
            "dictionary", "one that normalizes its input", "one that is linear in it",
            "Its features can be dissected, or be the values of ConceptEvidence.",
        )  # fmt: skip
    layer_input = np.asarray(numbers(embeddings, "embeddings"), np.float64)
    weights = np.asarray(numbers(head, "head"), np.float64)
    added = None if bias is None else numbers(bias, "bias")
    codes = dictionary.encode(layer_input)
    nothing: Shaped[np.ndarray, " dimensions"] = dictionary.decode(np.zeros((1, codes.shape[1])))[0]
    return SurrogateEvidence(
        importances=gradient_importance(weights, dictionary.rows).T,
        embeddings=layer_input,
        head=weights,
        bias=added,
        vectors=dictionary.rows,
        projections=codes,
        constant=weights @ nothing,
        rebuilt=dictionary.decode(codes) @ weights.T + (0.0 if added is None else added),
        labels=None if labels is None else whole(labels, "labels"),
        concepts=Concepts.numbered(len(dictionary.rows)),
    )
