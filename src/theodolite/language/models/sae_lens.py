"""Read SAEs that SAELens saved, without SAELens or torch."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite._storage.arrays import read_safetensors
from theodolite._storage.paths import confined
from theodolite._storage.text import read_json
from theodolite.errors import EvidenceError, UnsafeInputError, printable
from theodolite.language.models.dictionaries import Activations, keep_largest

Codes = Float[np.ndarray, "n latents"]
NEEDED = {
    "standard": ("b_enc",),
    "topk": ("b_enc",),
    "jumprelu": ("b_enc", "threshold"),
    "gated": ("b_gate", "b_mag", "r_mag"),
}
NORMALIZED = ("none", "layer_norm", "constant_norm_rescale")
SCALED = ("scaling_factor", "finetuning_scaling_factor")
"""Entries by which finetuning in older SAELens multiplied activations."""


@dataclass(frozen=True, eq=False)
class SaeLensDictionary:
    """An SAE of SAELens in inference form."""

    rows: Float[np.ndarray, "latents dimensions"]
    kind: str
    """Architecture: standard, topk, jumprelu or gated."""
    normalized_by: str
    """Normalization applied to each activation first, or none."""
    arrays: dict[str, np.ndarray] = field(repr=False)
    lengths: Float[np.ndarray, " latents"] = field(repr=False)
    """Factors applied to activations before the largest are kept."""
    subtracted: Any = field(repr=False)
    active: int | None = None

    @property
    def normalized(self) -> bool:
        """Whether reconstructions are normalized activations."""
        return self.normalized_by != "none"

    def encode(self, activations: Activations) -> Codes:
        """Return the SAE activations of model activations (n, dimensions)."""
        values, arrays = np.asarray(activations, np.float64), self.arrays
        if values.ndim != 2 or values.shape[1] != self.rows.shape[1]:
            wide = self.rows.shape[1]
            raise EvidenceError("activations", f"shape {values.shape}", f"(n, {wide})")
        inside = _normalized(values, self.normalized_by) - self.subtracted
        if self.kind == "gated":
            turned = inside @ arrays["W_enc"]
            strength = np.maximum(turned * np.exp(arrays["r_mag"]) + arrays["b_mag"], 0.0)
            return np.asarray(np.where(turned + arrays["b_gate"] > 0, strength, 0.0))
        codes = inside @ arrays["W_enc"] + arrays["b_enc"]
        if self.kind == "jumprelu":
            return np.asarray(np.where(codes > arrays["threshold"], np.maximum(codes, 0.0), 0.0))
        if self.kind == "topk":
            codes = keep_largest(codes * self.lengths, self.active or 1)
        return np.asarray(np.maximum(codes, 0.0))

    def decode(self, codes: Codes) -> Activations:
        """Return the reconstruction; in normalized form for normalized input."""
        return np.asarray(codes @ self.rows + self.arrays["b_dec"])


def read_sae_lens_folder(folder: Path) -> SaeLensDictionary:
    """Read a SAELens autoencoder: standard, topk, jumprelu or gated.

    What SAELens' training has not folded into the weights yet is refused; ``sae.save_model`` after
    training and ``sae.save_inference_model`` write what is wanted.
    """
    settings = read_json(confined(Path(folder), "cfg.json"), "SAELens settings", 1 << 20)
    if not isinstance(settings, dict):
        raise UnsafeInputError("cfg.json", type(settings).__name__, "settings by name")
    kind = settings.get("architecture", "standard")
    old = settings.get("activation_fn_str", settings.get("activation_fn", "relu"))
    normalized = settings.get("normalize_activations", "none")
    weights = read_safetensors(confined(Path(folder), "sae_weights.safetensors"))
    are_texts = all(isinstance(setting, str) for setting in (kind, old, normalized))
    if not are_texts or kind not in NEEDED or old != "relu" or normalized not in NORMALIZED:
        raise EvidenceError(
            "cfg.json",
            f"architecture {printable(str(kind))!r}, activation {printable(str(old))!r}, "
            f"normalized by {printable(str(normalized))!r}",
            f"one of {', '.join(NEEDED)}, relu, one of {', '.join(NORMALIZED)}",
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
        raise UnsafeInputError("sae_weights.safetensors", f"no {', '.join(missing)}", "all of them")
    features, dimensions = arrays["W_dec"].shape if arrays["W_dec"].ndim == 2 else (0, 0)
    shapes = {"W_enc": (dimensions, features), "b_dec": (dimensions,)}
    for name in needed:
        shape = shapes.get(name, (features,))
        if name != "W_dec" and arrays[name].shape != shape:
            raise UnsafeInputError(name, f"shape {arrays[name].shape}", f"{shape}, as W_dec says")


def _dictionary(
    arrays: dict[str, np.ndarray], kind: str, settings: dict[str, Any]
) -> SaeLensDictionary:
    rescaled = kind == "topk" and settings.get("rescale_acts_by_decoder_norm", False)
    lengths = np.linalg.norm(arrays["W_dec"], axis=1) if rescaled else np.ones(len(arrays["W_dec"]))
    rows = arrays["W_dec"] / np.where(lengths > 0, lengths, 1.0)[:, None]
    subtracted = arrays["b_dec"] if settings.get("apply_b_dec_to_input", True) else 0.0
    how = settings.get("normalize_activations", "none")
    active = settings.get("k")
    if kind == "topk" and not (isinstance(active, int) and 1 <= active <= len(rows)):
        raise UnsafeInputError("cfg.json", f"k = {active!r}", f"1 to {len(rows)}, the features")
    return SaeLensDictionary(rows, kind, how, arrays, lengths, subtracted, active)


def _normalized(values: Activations, how: str) -> Activations:
    if how == "layer_norm":
        centered = values - values.mean(axis=1, keepdims=True)
        return np.asarray(centered / (centered.std(axis=1, ddof=1, keepdims=True) + 1e-5))
    if how == "constant_norm_rescale":
        return np.asarray(
            values * np.sqrt(values.shape[1]) / np.linalg.norm(values, axis=1, keepdims=True)
        )
    return values
