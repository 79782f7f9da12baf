"""Options of every saliency method with their defaults and checks."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from theodolite.errors import EvidenceError

_CAM = {"values": ("signed", "rectified", "library"), "batch": 16}
_EIGEN = {**_CAM, "side": ("library", "sum")}
_SUMMED = ("sum", "largest")

OPTIONS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "grad_cam": _CAM,
        "hires_cam": _CAM,
        "grad_cam_elementwise": _CAM,
        "grad_cam_plus_plus": _CAM,
        "x_grad_cam": _CAM,
        "ablation_cam": {**_CAM, "ablated": ("zero", "library")},
        "score_cam": _CAM,
        "eigen_cam": _EIGEN,
        "eigen_grad_cam": _EIGEN,
        "layer_cam": _CAM,
        "full_grad": {"batch": 1},
        "deep_feature_factorization": {"concepts": 5},
        "integrated_gradients": {"steps": 50, "baseline": 0.0, "channels": _SUMMED, "batch": 16},
        "gradient_shap": {"samples": 20, "noise": 0.1, "baseline": 0.0, "channels": _SUMMED},
        "occlusion": {
            "window": None, "stride": None, "baseline": 0.0, "score": ("logit", "probability"),
            "batch": 16,
        },
        "kernel_shap": {
            "cells": 7, "samples": 300, "baseline": 0.0, "score": ("logit", "probability"),
            "batch": 16,
        },
        "saliency": {"channels": ("largest", "sum"), "batch": 16},
        "lime": {
            "segments": ("quickshift", "slic", "felzenszwalb", "grid"), "cells": 7,
            "hidden": ("mean", "zero"), "kernel_width": 0.25, "num_samples": 1000,
            "num_features": 100_000, "top": None, "score": ("probability", "logit"), "batch": 16,
        },
        "shap": {
            "max_evals": 500, "background": ("blur", "zero"), "score": ("logit", "probability"),
            "batch": 16,
        },
        "bcos": {},
        "rise": {
            "masks": 500, "cells": 7, "keep": 0.5, "baseline": 0.0,
            "score": ("probability", "logit"), "batch": 16,
        },
        "random": {},
        "smooth_random": {"cells": 7},
        "center": {"width": 0.25},
    }
)  # fmt: skip
"""Names and defaults. The first of several words is the default; None is derived from the image."""


def check_options(method: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return all options of a method: the given ones and the defaults."""
    known = OPTIONS[method]
    chosen = {name: default[0] if _words(default) else default for name, default in known.items()}
    for name, value in (options or {}).items():
        if name not in known:
            listed = ", ".join(known) or "none at all"
            raise EvidenceError(f"options of {method}", repr(name), f"some of: {listed}")
        if not _allowed(value, known[name]):
            needed = _needed(known[name])
            raise EvidenceError(f"option {name} of {method}", repr(value), needed)
        chosen[name] = value
    return chosen


def _words(default: Any) -> bool:
    return isinstance(default, tuple)


def _allowed(value: Any, default: Any) -> bool:
    if _words(default):
        return value in default
    if isinstance(value, bool):
        return False
    if isinstance(default, float):
        lowest = 0.0 if default > 0 else float("-inf")
        return isinstance(value, int | float) and lowest < value < float("inf")
    return (value is None and default is None) or (isinstance(value, int) and value >= 1)


def _needed(default: Any) -> str:
    if _words(default):
        return f"one of {', '.join(default)}"
    if isinstance(default, float):
        return "a number above 0" if default > 0 else "a finite number"
    return "a whole number of at least 1"
