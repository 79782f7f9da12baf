"""The common form that every dictionary file is brought into: ``SparseDictionary``.

With an activation ``x`` of width d and L latents::

    x' = norm(x) - subtracted
    codes = activation(x' @ w_enc + b_enc)
    rebuilt = unnorm(codes @ w_dec + b_dec + x @ w_skip.T)

Computed here in NumPy; :mod:`.torch_codes` computes the same on a device.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError, UnsafeInputError

Activations = Float[np.ndarray, "n dimensions"]
Rows = Any
"""Activations of all tokens, in memory or in files: shape, length, and rows by slice."""
Codes = Float[np.ndarray, "n latents"]
Activation = Literal["relu", "topk", "jumprelu", "gated"]
Normalization = Literal["none", "layer_norm", "constant_norm_rescale"]
NORMALIZATIONS: tuple[Normalization, ...] = get_args(Normalization)
EPSILON = 1e-5
"""Added to the standard deviation of an activation in ``layer_norm``."""


@dataclass(frozen=True, kw_only=True)
class TrainingPlace:
    """What a file says about where its dictionary was trained; None where it says nothing."""

    hook: str | None = None
    """Name of the activation it reads, such as ``blocks.5.hook_resid_post``."""
    hook_out: str | None = None
    """Name of the activation a transcoder rebuilds."""
    model: str | None = None
    start_token: bool | None = None
    """Whether a start token was put before each text."""
    context: int | None = None
    """Number of tokens of a training text."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SparseDictionary:
    """A dictionary in the common form, in float32."""

    w_enc: np.ndarray
    """(dimensions, latents)"""
    w_dec: np.ndarray
    """(latents, outputs)"""
    b_enc: np.ndarray
    b_dec: np.ndarray
    activation: Activation
    subtracted: np.ndarray | None = None
    active: int | None = None
    """Largest number of active latents per token, of ``topk``."""
    threshold: np.ndarray | None = None
    """Value above which a latent is active, of ``jumprelu``."""
    magnitude: tuple[np.ndarray, np.ndarray] | None = field(default=None, repr=False)
    """``r_mag`` and ``b_mag``, of ``gated``; ``b_enc`` is the bias of the gate."""
    w_skip: np.ndarray | None = field(default=None, repr=False)
    normalized_by: Normalization = "none"
    form: str = "arrays"
    """Format that it was read from, such as ``SAELens topk``."""
    transcodes: bool = False
    """Whether it rebuilds another activation than the one it reads."""
    needs_scale: bool = False
    """Whether activations must be scaled first, by a factor that is not known."""
    place: TrainingPlace = TrainingPlace()
    findings: tuple[str, ...] = ()
    """What a user should know about how the file was read."""

    def __post_init__(self) -> None:
        for name in ("w_enc", "w_dec", "b_enc", "b_dec", "subtracted", "threshold", "w_skip"):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, np.asarray(array, np.float32))
        if self.magnitude is not None:
            both = tuple(np.asarray(part, np.float32) for part in self.magnitude)
            object.__setattr__(self, "magnitude", both)
        self._check()

    def _check(self) -> None:
        """Raise unless all shapes fit and all numbers are finite."""
        if self.w_enc.ndim != 2 or self.w_dec.ndim != 2 or len(self.w_dec) != self.latents:
            got = f"shapes {self.w_enc.shape} and {self.w_dec.shape}"
            raise UnsafeInputError(
                "W_enc and W_dec", got, "(dimensions, latents), (latents, outputs)"
            )
        shapes = {
            "b_enc": (self.latents,), "b_dec": (self.outputs,), "subtracted": (self.dimensions,),
            "threshold": (self.latents,), "w_skip": (self.outputs, self.dimensions),
        }  # fmt: skip
        parts = {name: getattr(self, name) for name in ("w_enc", "w_dec", *shapes)}
        if self.magnitude is not None:
            parts |= {"r_mag": self.magnitude[0], "b_mag": self.magnitude[1]}
            shapes |= {"r_mag": (self.latents,), "b_mag": (self.latents,)}
        for name, array in parts.items():
            if array is None:
                continue
            if name in shapes and array.shape != shapes[name]:
                raise UnsafeInputError(
                    name, f"shape {array.shape}", f"{shapes[name]}, as W_dec says"
                )
            if not np.isfinite(array).all():
                raise UnsafeInputError(name, "numbers that are not finite", "finite numbers")
        if self.activation == "topk" and not 1 <= (self.active or 0) <= self.latents:
            got = f"{self.active} active latents per token"
            raise UnsafeInputError("k", got, f"1 to {self.latents}, the latents")
        if (self.activation == "jumprelu") != (self.threshold is not None):
            raise UnsafeInputError(
                "threshold", f"{self.activation}", "thresholds with jumprelu only"
            )

    @property
    def latents(self) -> int:
        """Number of latents."""
        return int(self.w_enc.shape[1])

    @property
    def dimensions(self) -> int:
        """Width of the activations that it reads."""
        return int(self.w_enc.shape[0])

    @property
    def outputs(self) -> int:
        """Width of the activations that it rebuilds."""
        return int(self.w_dec.shape[1])

    @property
    def rows(self) -> Float[np.ndarray, "latents outputs"]:
        """Decoder row of each latent."""
        return self.w_dec

    @property
    def normalized(self) -> bool:
        """Whether it normalizes each activation first."""
        return self.normalized_by != "none"

    def encode(self, activations: Activations) -> Codes:
        """Return the codes of activations (n, dimensions), most of them 0."""
        values = np.asarray(activations, np.float64)
        if values.ndim != 2 or values.shape[1] != self.dimensions:
            raise EvidenceError("activations", f"shape {values.shape}", f"(n, {self.dimensions})")
        inside = _normalize(values, self.normalized_by)
        inside = inside if self.subtracted is None else inside - self.subtracted
        if self.magnitude is not None:
            turned = inside @ self.w_enc.astype(np.float64)
            strength = np.maximum(turned * np.exp(self.magnitude[0]) + self.magnitude[1], 0.0)
            return np.asarray(np.where(turned + self.b_enc > 0, strength, 0.0))
        codes = inside @ self.w_enc.astype(np.float64) + self.b_enc
        if self.threshold is not None:
            codes[codes <= self.threshold] = 0.0
        if self.active is not None:
            codes = keep_largest(codes, self.active)
        return np.asarray(np.maximum(codes, 0.0))

    def decode(self, codes: Codes) -> Float[np.ndarray, "n outputs"]:
        """Return what codes rebuild, before a normalization is undone and without a skip."""
        return np.asarray(codes @ self.w_dec.astype(np.float64) + self.b_dec)

    def scaled(self, factor: float) -> "SparseDictionary":
        """Return the dictionary for activations that were not multiplied by a factor."""
        subtracted = None if self.subtracted is None else self.subtracted / factor
        return replace(
            self, w_enc=self.w_enc * factor, w_dec=self.w_dec / factor, b_dec=self.b_dec / factor,
            subtracted=subtracted, needs_scale=False,
        )  # fmt: skip


def keep_largest(codes: Codes, active: int) -> Codes:
    """Return the codes with all but the largest of each row set to 0."""
    if active < codes.shape[1]:
        small = np.argpartition(-codes, active - 1, axis=1)[:, active:]
        np.put_along_axis(codes, small, 0.0, axis=1)
    return codes


def _normalize(values: Activations, how: Normalization) -> Activations:
    if how == "layer_norm":
        centered = values - values.mean(axis=1, keepdims=True)
        scale = centered.std(axis=1, ddof=1, keepdims=True) + EPSILON
        return np.asarray(centered / scale)
    if how == "constant_norm_rescale":
        scale = np.linalg.norm(values, axis=1, keepdims=True) / np.sqrt(values.shape[1])
        return np.asarray(values / scale)
    return values
