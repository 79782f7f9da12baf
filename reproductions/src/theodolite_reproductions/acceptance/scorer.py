"""Learned scores: features of an explanation in, the rating that people would give out, 0 to 1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import UnsafeInputError, printable

Features: TypeAlias = Float[np.ndarray, "explanations features"]
Outputs: TypeAlias = Float[np.ndarray, " explanations"]
Arrays: TypeAlias = Mapping[str, np.ndarray]
FARTHEST = 5.0
"""Standard deviations from the mean at which a feature is cut off before distances are taken."""
ROWS = 2048
KERNEL = ("center", "spread", "landmarks", "weights", "straight", "bias", "gamma")
TREES = ("roots", "feature", "threshold", "below", "above", "value", "base", "width")
AXES = {
    "layers": {"center": 1, "spread": 1, "rectified": 0},
    "kernel": dict(zip(KERNEL, (1, 1, 2, 1, 1, 0, 0), strict=True)),
    "trees": dict(zip(TREES, (1, 1, 1, 1, 1, 1, 0, 0), strict=True)),
}
"""The arrays of each kind, and how many axes each has."""
WHOLE = frozenset({"rectified", "roots", "feature", "below", "above", "width"})
NARROWEST = 1e-12
"""What a feature is divided by is never less."""


@runtime_checkable
class Scorer(Protocol):
    """Something that was fitted to ratings, and is nothing but arrays."""

    @property
    def kind(self) -> str:
        """Which of those below it is."""

    @property
    def width(self) -> int:
        """How many features it takes."""

    def outputs(self, features: Features) -> Outputs:
        """What it expects; 0 is the lowest answer, 1 the highest. It may go beyond."""

    def arrays(self) -> dict[str, np.ndarray]:
        """All that it needs to be made again."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Layers:
    """Linear layers with ReLU between them: a straight line if there is but one."""

    center: Float[np.ndarray, " features"]
    spread: Float[np.ndarray, " features"]
    weights: tuple[Float[np.ndarray, "_into _from"], ...]
    biases: tuple[Float[np.ndarray, " _into"], ...]
    rectified: bool = False
    """ReLU at the end as well: nothing below zero comes out."""
    kind: str = "layers"

    @property
    def width(self) -> int:
        return len(self.center)

    def outputs(self, features: Features) -> Outputs:
        activations = (features - self.center) / self.spread
        last = len(self.weights) - 1
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            activations = activations @ weight.T + bias
            if number < last or self.rectified:
                activations = np.maximum(activations, 0)
        return np.asarray(activations[:, 0], np.float64)

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {"center": self.center, "spread": self.spread}
        arrays |= {"rectified": np.array(int(self.rectified))}
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            arrays |= {f"weight {number}": weight, f"bias {number}": bias}
        return arrays


@dataclass(frozen=True, eq=False, kw_only=True)
class Kernel:
    r"""How alike an explanation is to some known ones, and a straight line beside it.

    .. math:: \hat m = b + \sum_l a_l \exp(-\gamma \lVert u - u_l \rVert^2) + w \cdot v

    :math:`u` are the first features, :math:`v` the others.
    """

    center: Float[np.ndarray, " features"]
    spread: Float[np.ndarray, " features"]
    landmarks: Float[np.ndarray, "landmarks bent"]
    weights: Float[np.ndarray, " landmarks"]
    straight: Float[np.ndarray, " straight"]
    bias: Float[np.ndarray, ""]
    gamma: Float[np.ndarray, ""]
    kind: str = "kernel"

    @property
    def width(self) -> int:
        return len(self.center)

    def outputs(self, features: Features) -> Outputs:
        n = self.landmarks.shape[1]
        outputs = np.empty(len(features))
        for start in range(0, len(features), ROWS):
            part = (features[start : start + ROWS] - self.center) / self.spread
            near = likeness(clip_features(part[:, :n]), self.landmarks, float(self.gamma))
            outputs[start : start + ROWS] = near @ self.weights + part[:, n:] @ self.straight
        return outputs + float(self.bias)

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: getattr(self, name) for name in KERNEL}


@dataclass(frozen=True, eq=False, kw_only=True)
class Trees:
    """The sum of many small decision trees, one after the other in flat arrays."""

    roots: Int[np.ndarray, " trees"]
    feature: Int[np.ndarray, " nodes"]
    """The feature that is asked about; -1 at a leaf."""
    threshold: Float[np.ndarray, " nodes"]
    below: Int[np.ndarray, " nodes"]
    """Where to go if the feature is at most the threshold."""
    above: Int[np.ndarray, " nodes"]
    value: Float[np.ndarray, " nodes"]
    base: Float[np.ndarray, ""]
    features: int
    kind: str = "trees"

    @property
    def width(self) -> int:
        return self.features

    def outputs(self, features: Features) -> Outputs:
        outputs = np.full(len(features), float(self.base))
        rows = np.arange(len(features))
        for root in self.roots:
            at = np.full(len(features), root)
            inner = self.feature[at] >= 0
            while inner.any():
                feature = np.maximum(self.feature[at], 0)
                left = features[rows, feature] <= self.threshold[at]
                at = np.where(inner, np.where(left, self.below[at], self.above[at]), at)
                inner = self.feature[at] >= 0
            outputs += self.value[at]
        return outputs

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.asarray(getattr(self, name)) for name in TREES}


def scorer_from(kind: str, arrays: Arrays) -> Scorer:
    """A score from its arrays, which somebody else may have written."""
    try:
        return _build_scorer(
            kind, {name: _checked_array(kind, name, array) for name, array in arrays.items()}
        )
    except UnsafeInputError:
        raise
    except (KeyError, TypeError, ValueError, IndexError) as error:
        got = printable(f"arrays {sorted(arrays)}", 300)
        raise UnsafeInputError("learned score", got, f"those of {printable(kind, 40)}") from error


def _checked_array(kind: str, name: str, array: np.ndarray) -> np.ndarray:
    """An array in the form that it was written in; refused if it has another."""
    axes = dict(AXES[kind])
    if kind == "layers":
        axes |= {name: 2 if name.startswith("weight ") else 1} if name not in axes else {}
    if array.ndim != axes[name] or array.dtype.kind != ("i" if name in WHOLE else "f"):
        raise ValueError(name)
    if not np.isfinite(array).all():
        raise UnsafeInputError("learned score", f"{name!r} with NaN or infinity", "finite numbers")
    if name == "spread" and not (array >= NARROWEST).all():
        raise UnsafeInputError("learned score", "a spread of nothing", f"at least {NARROWEST:g}")
    return array.astype(np.int64 if name in WHOLE else np.float64)


def _build_scorer(kind: str, arrays: Arrays) -> Scorer:
    if kind == "layers":
        n = sum(name.startswith("weight ") for name in arrays)
        return _checked_layers(
            Layers(
                center=arrays["center"],
                spread=arrays["spread"],
                weights=tuple(arrays[f"weight {number}"] for number in range(n)),
                biases=tuple(arrays[f"bias {number}"] for number in range(n)),
                rectified=bool(arrays["rectified"]),
            )
        )
    if kind == "kernel":
        kernel = Kernel(**_select_arrays(arrays, KERNEL))
        n, wide = kernel.landmarks.shape
        right = len(kernel.weights) == n and len(kernel.center) == wide + len(kernel.straight)
        if not right or len(kernel.spread) != len(kernel.center) or kernel.gamma <= 0:
            raise ValueError(kind)
        return kernel
    if kind == "trees":
        tree_arrays = _select_arrays(arrays, TREES)
        return _checked_trees(Trees(features=int(tree_arrays.pop("width")), **tree_arrays))
    raise KeyError(kind)


def _select_arrays(arrays: Arrays, names: Sequence[str]) -> dict[str, Any]:
    return {name: arrays[name] for name in names}


def _checked_layers(layers: Layers) -> Layers:
    sizes = [len(layers.center), *(len(weight) for weight in layers.weights)]
    into = [weight.shape[1] for weight in layers.weights]
    right = bool(layers.weights) and into == sizes[:-1] and sizes[-1] == 1
    right = right and [len(bias) for bias in layers.biases] == sizes[1:]
    if not right or len(layers.spread) != sizes[0]:
        raise ValueError("layers")
    return layers


def _checked_trees(trees: Trees) -> Trees:
    """Children come after their parents, so that every walk ends."""
    n = len(trees.feature)
    inner = np.flatnonzero(trees.feature >= 0)
    down = np.stack([trees.below, trees.above])
    sizes = {len(getattr(trees, name)) for name in ("threshold", "below", "above", "value")}
    right = sizes == {n} and (down[:, inner] > inner).all() and (down < n).all()
    right = right and (trees.feature < trees.features).all()
    if not right or not ((trees.roots >= 0) & (trees.roots < n)).all():
        raise ValueError("trees")
    return trees


def clip_features(standard: Features) -> Features:
    """Standardized features, cut off far out."""
    return np.asarray(np.clip(standard, -FARTHEST, FARTHEST))


def likeness(
    first: Float[np.ndarray, "n features"], second: Float[np.ndarray, "m features"], gamma: float
) -> Float[np.ndarray, "n m"]:
    """exp(-gamma · squared distance)."""
    squares = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1) - 2 * first @ second.T
    return np.asarray(np.exp(-gamma * np.maximum(squares, 0)))
