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

from theodolite.bridges._tensors import numbers, numbers_or_none, whole
from theodolite.errors import EvidenceError, RefusedInput, printable
from theodolite.evidence.axes import Concepts
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.explainers.discovery.importance import gradient_importance
from theodolite.io.arrays import read_safetensors
from theodolite.io.paths import confined
from theodolite.io.text import read_json
from theodolite.models.language.dictionaries import largest_only

Activations = Float[np.ndarray, "n dimensions"]
Codes = Float[np.ndarray, "n features"]
NEEDED = {
    "standard": ("b_enc",),
    "topk": ("b_enc",),
    "jumprelu": ("b_enc", "threshold"),
    "gated": ("b_gate", "b_mag", "r_mag"),
}
NORMALISED = ("none", "layer_norm", "constant_norm_rescale")
SCALED = ("scaling_factor", "finetuning_scaling_factor")
"""What finetuning in older SAELens multiplied codes with."""


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Directions, and how much of each is in an activation."""

    rows: Float[np.ndarray, "features dimensions"]
    """What one unit of a feature adds to the activation."""
    encode: Callable[[Any], Codes]
    """Codes of activations (n, dimensions)."""
    decode: Callable[[Codes], Activations]
    """Activations made of codes; for normalised input, in its normalised form."""
    normalised: bool = False
    """Whether activations are normalised one by one before anything else."""


def read_sae_lens(folder: Path) -> Dictionary:
    """A SAELens autoencoder: standard, topk, jumprelu or gated.

    What SAELens' training has not folded into the weights yet is refused; ``sae.save_model`` after
    training and ``sae.save_inference_model`` write what is wanted.
    """
    settings = read_json(confined(Path(folder), "cfg.json"), "SAELens settings", 1 << 20)
    if not isinstance(settings, dict):
        raise RefusedInput("cfg.json", type(settings).__name__, "settings by name")
    kind = settings.get("architecture", "standard")
    old = settings.get("activation_fn_str", settings.get("activation_fn", "relu"))
    normalised = settings.get("normalize_activations", "none")
    weights = read_safetensors(confined(Path(folder), "sae_weights.safetensors"))
    are_texts = all(isinstance(setting, str) for setting in (kind, old, normalised))
    if not are_texts or kind not in NEEDED or old != "relu" or normalised not in NORMALISED:
        raise EvidenceError(
            "cfg.json",
            f"architecture {printable(str(kind))!r}, activation {printable(str(old))!r}, "
            f"normalised by {printable(str(normalised))!r}",
            f"one of {', '.join(NEEDED)}, relu, one of {', '.join(NORMALISED)}",
            "Load it with sae_lens 6 and save it again with save_inference_model.",
        )
    for name in SCALED:
        if name in weights and not (np.asarray(weights[name], np.float64) == 1).all():
            raise EvidenceError(
                name, "features scaled after training", "none, or all 1",
                "Fold it into the weights with sae_lens: W_dec times it, then save again.",
            )  # fmt: skip
    if "log_threshold" in weights:
        weights["threshold"] = np.exp(weights["log_threshold"])
    arrays = {name: np.asarray(value, np.float64) for name, value in weights.items()}
    _check_shapes(arrays, ("W_enc", "W_dec", "b_dec", *NEEDED[kind]))
    return _dictionary(arrays, kind, settings)


def _check_shapes(arrays: dict[str, np.ndarray], needed: tuple[str, ...]) -> None:
    missing = [name for name in needed if name not in arrays]
    if missing:
        raise RefusedInput("sae_weights.safetensors", f"no {', '.join(missing)}", "all of them")
    features, dimensions = arrays["W_dec"].shape if arrays["W_dec"].ndim == 2 else (0, 0)
    shapes = {"W_enc": (dimensions, features), "b_dec": (dimensions,)}
    for name in needed:
        shape = shapes.get(name, (features,))
        if name != "W_dec" and arrays[name].shape != shape:
            raise RefusedInput(name, f"shape {arrays[name].shape}", f"{shape}, as W_dec says")


def _dictionary(arrays: dict[str, np.ndarray], kind: str, settings: dict[str, Any]) -> Dictionary:
    """``settings`` is cfg.json."""
    rescaled = kind == "topk" and settings.get("rescale_acts_by_decoder_norm", False)
    lengths = np.linalg.norm(arrays["W_dec"], axis=1) if rescaled else np.ones(len(arrays["W_dec"]))
    rows = arrays["W_dec"] / np.where(lengths > 0, lengths, 1.0)[:, None]
    subtracted = arrays["b_dec"] if settings.get("apply_b_dec_to_input", True) else 0.0
    how = settings.get("normalize_activations", "none")
    active = settings.get("k")
    if kind == "topk" and not (isinstance(active, int) and 1 <= active <= len(rows)):
        raise RefusedInput("cfg.json", f"k = {active!r}", f"1 to {len(rows)}, the features")

    def encode(activations: Any) -> Codes:
        values = np.asarray(numbers(activations, "activations"), np.float64)
        if values.ndim != 2 or values.shape[1] != rows.shape[1]:
            raise EvidenceError("activations", f"shape {values.shape}", f"(n, {rows.shape[1]})")
        inside = _normalised(values, how) - subtracted
        if kind == "gated":
            turned = inside @ arrays["W_enc"]
            strength = np.maximum(turned * np.exp(arrays["r_mag"]) + arrays["b_mag"], 0.0)
            return np.asarray(np.where(turned + arrays["b_gate"] > 0, strength, 0.0))
        codes = inside @ arrays["W_enc"] + arrays["b_enc"]
        if kind == "jumprelu":
            return np.asarray(np.where(codes > arrays["threshold"], np.maximum(codes, 0.0), 0.0))
        if kind == "topk":
            codes = largest_only(codes * lengths, active or 1)
        return np.asarray(np.maximum(codes, 0.0))

    def decode(codes: Codes) -> Activations:
        return np.asarray(codes @ rows + arrays["b_dec"])

    return Dictionary(rows, encode, decode, how != "none")


def _normalised(values: Activations, how: str) -> Activations:
    """As SAELens does it at run time."""
    if how == "layer_norm":
        centred = values - values.mean(axis=1, keepdims=True)
        return np.asarray(centred / (centred.std(axis=1, ddof=1, keepdims=True) + 1e-5))
    if how == "constant_norm_rescale":
        return np.asarray(
            values * np.sqrt(values.shape[1]) / np.linalg.norm(values, axis=1, keepdims=True)
        )
    return values


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
    """Where in each picture features are active, for ``theodolite.dissect``.

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
    dictionary: Dictionary,
    *,
    embeddings: Any,
    head: Any,
    bias: Any = None,
    labels: Any = None,
) -> SurrogateEvidence:
    """Do features, and what each adds to a class, make up what the network puts out?

    Args:
        dictionary: Features of the last layer's input; not one that normalises its input.
        embeddings: What the last layer sees, (samples, dimensions).
        head: Its weights, as torch has them: (classes, dimensions).
        bias: Its bias.
        labels: The true classes.
    """
    if dictionary.normalised:
        raise EvidenceError(
            "dictionary", "one that normalises its input", "one that is linear in it",
            "Its features can be dissected, or be the values of ConceptEvidence.",
        )  # fmt: skip
    seen = np.asarray(numbers(embeddings, "embeddings"), np.float64)
    weights = np.asarray(numbers(head, "head"), np.float64)
    added = numbers_or_none(bias, "bias")
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
