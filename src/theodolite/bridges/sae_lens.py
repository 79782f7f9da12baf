"""Dictionaries of sparse autoencoders: SAELens' folders and objects of ``overcomplete``.

A SAELens folder (``cfg.json`` and ``sae_weights.safetensors``) is read and used without SAELens or
torch. Lost: where in which model the activations were taken (``cfg.json`` says it), how often each
feature fires in training, error terms. Features come without names.
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
from theodolite.language.models.sae_lens import read_sae_lens_folder

Activations = Float[np.ndarray, "n dimensions"]
Codes = Float[np.ndarray, "n features"]


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Directions, and how much of each is in an activation."""

    rows: Float[np.ndarray, "features dimensions"]
    """What one unit of a feature adds to the activation."""
    encode: Callable[[Any], Codes]
    """Codes of activations (n, dimensions)."""
    decode: Callable[[Codes], Activations]
    """Activations made of codes; for normalized input, in its normalized form."""
    normalized: bool = False
    """Whether activations are normalized one by one before anything else."""


def read_sae_lens(folder: Path) -> Dictionary:
    """A SAELens autoencoder: standard, topk, jumprelu or gated.

    What SAELens' training has not folded into the weights yet is refused; ``sae.save_model`` after
    training and ``sae.save_inference_model`` write what is wanted.
    """
    sae = read_sae_lens_folder(Path(folder))
    return Dictionary(
        sae.rows,
        lambda activations: sae.encode(numbers(activations, "activations")),
        sae.decode,
        sae.normalized,
    )


def from_overcomplete(model: Any) -> Dictionary:
    """A fitted object of ``overcomplete``: an autoencoder, or NMF and its kin.

    To train one on embeddings, there is ``theodolite.explainers.discovery.sae``.
    """
    rows = np.asarray(numbers(model.get_dictionary(), "dictionary"), np.float64)

    def ask(what: Callable[[Any], Any], values: Any) -> np.ndarray:
        import torch  # noqa: PLC0415

        parameter = next(iter(model.parameters()), None) if hasattr(model, "parameters") else None
        modes = {part: part.training for part in getattr(model, "modules", tuple)()}
        tensor = torch.as_tensor(numbers(values, "activations"), dtype=torch.float32)
        tensor = tensor if parameter is None else tensor.to(parameter.device)
        try:
            if modes:
                model.eval()
            with torch.no_grad():
                output = what(tensor)
        finally:
            for part, training in modes.items():  # each as it was: parts may be frozen
                part.training = training
        # its autoencoders give what comes before the activation function as well
        output = output[-1] if isinstance(output, tuple) else output
        return np.asarray(numbers(output, "codes"), np.float64)

    return Dictionary(
        rows,
        lambda activations: ask(model.encode, activations),
        lambda codes: ask(model.decode, codes),
    )


def feature_maps(
    dictionary: Dictionary, activations: Any
) -> Float[np.ndarray, "samples features height width"]:
    """Where in each image features are active, for ``theodolite.dissect``.

    ``activations`` is (samples, channels, height, width): each place is encoded by itself.
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
    """Do features, and what each adds to a class, make up what the network puts out?

    Args:
        dictionary: Features of the last layer's input; not one that normalizes its input.
        embeddings: What the last layer sees, (samples, dimensions).
        head: Its weights, as torch has them: (classes, dimensions).
        bias: Its bias.
        labels: The true classes.
    """
    if dictionary.normalized:
        raise EvidenceError(
            "dictionary", "one that normalizes its input", "one that is linear in it",
            "Its features can be dissected, or be the values of ConceptEvidence.",
        )  # fmt: skip
    seen = np.asarray(numbers(embeddings, "embeddings"), np.float64)
    weights = np.asarray(numbers(head, "head"), np.float64)
    added = None if bias is None else numbers(bias, "bias")
    codes = dictionary.encode(seen)
    nothing: Shaped[np.ndarray, " dimensions"] = dictionary.decode(np.zeros((1, codes.shape[1])))[0]
    return SurrogateEvidence(
        importances=gradient_importance(weights, dictionary.rows).T,
        embeddings=seen,
        head=weights,
        bias=added,
        vectors=dictionary.rows,
        projections=codes,
        constant=weights @ nothing,
        rebuilt=dictionary.decode(codes) @ weights.T + (0.0 if added is None else added),
        labels=None if labels is None else whole(labels, "labels"),
        concepts=Concepts.numbered(len(dictionary.rows)),
    )
