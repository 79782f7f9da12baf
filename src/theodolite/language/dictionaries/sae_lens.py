"""Read dictionaries that SAELens saved, without SAELens or torch."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.paths import confined
from theodolite._storage.text import read_json
from theodolite.errors import EvidenceError, UnsafeInputError, printable
from theodolite.language.dictionaries.common_form import (
    NORMALIZATIONS,
    SparseDictionary,
    TrainingPlace,
)
from theodolite.language.dictionaries.weights import (
    Arrays,
    need,
    read_weights,
    settings_number,
)

SETTINGS, WEIGHTS = "cfg.json", "sae_weights.safetensors"
NEEDED = {
    "standard": ("b_enc",),
    "topk": ("b_enc",),
    "jumprelu": ("b_enc", "threshold"),
    "gated": ("b_gate", "b_mag", "r_mag"),
    "batchtopk": ("b_enc", "topk_threshold"),
    "matryoshka_batchtopk": ("b_enc", "topk_threshold"),
    "transcoder": ("b_enc",),
    "skip_transcoder": ("b_enc", "W_skip"),
    "jumprelu_transcoder": ("b_enc", "threshold"),
    "jumprelu_skip_transcoder": ("b_enc", "threshold", "W_skip"),
}
"""Arrays of each architecture beside ``W_enc``, ``W_dec`` and ``b_dec``."""
OBJECTS_ONLY = {
    "abstopk": "it keeps codes below 0",
    "matching_pursuit": "its codes are found one after the other",
    "temporal": "its codes depend on the tokens before",
}
TRAINED = ("batchtopk", "matryoshka_batchtopk")
"""Architectures of training that become jumprelu for inference."""
LARGEST = ("topk", *TRAINED)
SCALED = ("scaling_factor", "finetuning_scaling_factor")
"""Entries by which finetuning in older SAELens multiplied activations."""
AVERAGE = "expected_average_only_in"


def read_sae_lens_folder(folder: Path) -> SparseDictionary:
    """Read a SAELens folder: autoencoders and transcoders, as trained or for inference."""
    settings = read_json(confined(Path(folder), SETTINGS), "SAELens settings", 1 << 20)
    if not isinstance(settings, dict):
        raise UnsafeInputError(SETTINGS, type(settings).__name__, "settings by name")
    kind, normalized = _check_settings(settings)
    arrays = read_weights(confined(Path(folder), WEIGHTS))
    for name in SCALED:
        if name in arrays and not (np.asarray(arrays[name], np.float64) == 1).all():
            raise EvidenceError(
                name, "features scaled after training", "none, or all 1",
                "Fold it into the weights with sae_lens: W_dec times it, then save again.",
            )  # fmt: skip
    if "log_threshold" in arrays:
        arrays["threshold"] = np.exp(np.asarray(arrays["log_threshold"], np.float64))
    if "topk_threshold" not in arrays and "threshold" in arrays and kind in TRAINED:
        kind = "jumprelu"  # saved for inference with the settings of training
    need(arrays, ("W_enc", "W_dec", "b_dec", *NEEDED[kind]), WEIGHTS)
    return _common_form(arrays, kind, settings, normalized)


def _check_settings(settings: dict[str, Any]) -> tuple[str, str]:
    """Return the architecture and how activations are normalized."""
    kind = settings.get("architecture", "standard")
    old = settings.get("activation_fn_str", settings.get("activation_fn", "relu"))
    normalized = settings.get("normalize_activations", "none")
    if str(kind) in OBJECTS_ONLY:
        raise EvidenceError(
            SETTINGS, f"architecture {kind}: {OBJECTS_ONLY[kind]}", f"one of {', '.join(NEEDED)}",
            "Load it with sae_lens and pass it to theodolite.dictionary, if its codes do not "
            "depend on other tokens.",
        )  # fmt: skip
    texts = all(isinstance(setting, str) for setting in (kind, old, normalized))
    if not texts or kind not in NEEDED or old not in ("relu", "topk"):
        raise EvidenceError(
            SETTINGS,
            f"architecture {printable(str(kind))!r}, activation {printable(str(old))!r}",
            f"one of {', '.join(NEEDED)}, and relu",
            "Load it with sae_lens 6 and save it again with save_inference_model.",
        )
    if normalized not in (*NORMALIZATIONS, AVERAGE):
        raise EvidenceError(
            SETTINGS, f"normalized by {printable(normalized)!r}",
            f"one of {', '.join((*NORMALIZATIONS, AVERAGE))}",
            "Fold it into the weights: sae.fold_activation_whitening, then save it again.",
        )  # fmt: skip
    if old == "topk" and kind == "standard":
        kind = "topk"
    return kind, normalized


def _common_form(
    arrays: Arrays, kind: str, settings: dict[str, Any], normalized: str
) -> SparseDictionary:
    transcodes = kind.endswith("transcoder")
    w_enc, w_dec = (np.asarray(arrays[name], np.float64) for name in ("W_enc", "W_dec"))
    if w_enc.ndim != 2 or w_dec.ndim != 2 or w_enc.shape[1] != len(w_dec):
        got = f"shapes {w_enc.shape} and {w_dec.shape}"
        raise UnsafeInputError("W_enc, W_dec", got, "(dimensions, latents), (latents, outputs)")
    subtracted = None
    if not transcodes and settings.get("apply_b_dec_to_input", True):
        subtracted = arrays["b_dec"]
    if kind == "gated":
        options: dict[str, Any] = {
            "activation": "gated", "b_enc": arrays["b_gate"],
            "magnitude": (arrays["r_mag"], arrays["b_mag"]),
        }  # fmt: skip
    else:
        options = {"activation": "relu", "b_enc": np.asarray(arrays["b_enc"], np.float64)}
    if settings.get("rescale_acts_by_decoder_norm", kind in TRAINED) and kind in LARGEST:
        lengths = np.linalg.norm(w_dec, axis=1)
        lengths = np.where(lengths > 0, lengths, 1.0)
        w_enc, w_dec = w_enc * lengths, w_dec / lengths[:, None]
        options["b_enc"] = options["b_enc"] * lengths
    if kind == "topk":
        options |= {"activation": "topk", "active": settings_number(settings, "k", SETTINGS)}
    threshold = _threshold(arrays, kind, len(w_dec))
    if threshold is not None:
        options |= {"activation": "jumprelu", "threshold": threshold}
    if "W_skip" in NEEDED[kind]:
        options["w_skip"] = arrays["W_skip"]
    own = SparseDictionary(
        w_enc=w_enc, w_dec=w_dec, b_dec=arrays["b_dec"], subtracted=subtracted,
        normalized_by="none" if normalized == AVERAGE else normalized,  # type: ignore[arg-type]
        form=f"SAELens {kind}", transcodes=transcodes, place=_place(settings), **options,
    )  # fmt: skip
    if normalized != AVERAGE:
        return own
    factor = settings.get("norm_scaling_factor")
    if isinstance(factor, (int, float)) and not isinstance(factor, bool) and factor > 0:
        return own.scaled(float(factor))
    return replace(own, needs_scale=True)


def _threshold(arrays: Arrays, kind: str, latents: int) -> np.ndarray | None:
    if "threshold" in NEEDED[kind]:
        return arrays["threshold"]
    if kind not in TRAINED:
        return None
    single = np.asarray(arrays["topk_threshold"], np.float64)
    if single.size != 1:
        raise UnsafeInputError("topk_threshold", f"{single.size} numbers", "one")
    return np.full(latents, single.item())


def _place(settings: dict[str, Any]) -> TrainingPlace:
    details = settings.get("metadata")
    both = {**settings, **(details if isinstance(details, dict) else {})}

    def text(*names: str) -> str | None:
        values = (both[name] for name in names if isinstance(both.get(name), str))
        return next((value for value in values if value), None)

    start, context = both.get("prepend_bos"), both.get("context_size")
    return TrainingPlace(
        hook=text("hook_name", "hook_point"),
        hook_out=text("hook_name_out"),
        model=text("model_name"),
        start_token=start if isinstance(start, bool) else None,
        context=context if isinstance(context, int) and not isinstance(context, bool) else None,
    )
