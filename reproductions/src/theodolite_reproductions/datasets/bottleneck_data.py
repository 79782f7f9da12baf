"""Inputs, concepts, labels and a split: what a concept bottleneck is trained and tested on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Int, Shaped

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Concepts


@dataclass(frozen=True, eq=False, kw_only=True)
class BottleneckData:
    """Samples for a concept bottleneck; the splits are rows, and a row may be in none of them.

    >>> data = BottleneckData(
    ...     name="two", inputs=np.eye(2, dtype=np.float32), truth=np.eye(2, dtype=bool),
    ...     labels=np.arange(2), train=np.array([0]), validation=np.array([], int),
    ...     test=np.array([1]), concepts=Concepts(("round", "red")), classes=Classes(("a", "b")),
    ... )
    >>> data.without(["red"]).concepts.names
    ('round',)
    """

    name: str
    inputs: Shaped[np.ndarray, "samples *shape"]
    """float32 features, or uint8 images (samples, height, width) or (..., width, 3)."""
    truth: Bool[np.ndarray, "samples concepts"]
    labels: Int[np.ndarray, " samples"]
    train: Int[np.ndarray, " train"]
    validation: Int[np.ndarray, " validation"]
    test: Int[np.ndarray, " test"]
    concepts: Concepts
    classes: Classes
    groups: Int[np.ndarray, " samples"] | None = None
    """Samples that belong together (images of one lesion): folds keep them together."""
    notes: tuple[str, ...] = ()
    """What a reader of the scores must know about these data."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Of the files that were read, by file name."""

    def __post_init__(self) -> None:
        _check_inputs(self)
        _check_truth(self)
        _check_splits(self)

    def __len__(self) -> int:
        return len(self.inputs)

    def without(self, concepts: Sequence[str]) -> "BottleneckData":
        """The same samples and labels with fewer concepts: an incomplete set, which invites a
        model to smuggle what is missing into the rest.
        """
        unknown = sorted(set(concepts) - set(self.concepts.names))
        if unknown or isinstance(concepts, str):
            got = f"{unknown}" if unknown else repr(concepts)
            raise EvidenceError("concepts to leave out", got, f"some of {self.concepts.names}")
        columns = [j for j, name in enumerate(self.concepts.names) if name not in set(concepts)]
        if not columns:
            raise EvidenceError("concepts to leave out", "all", "fewer, so that one is left")
        axis = Concepts(
            tuple(self.concepts.names[j] for j in columns),
            kinds=tuple(self.concepts.kinds[j] for j in columns),
            cardinalities=tuple(self.concepts.cardinalities[j] for j in columns),
        )
        note = f"Incomplete: {len(columns)} of {len(self.concepts)} concepts are kept."
        return replace(self, truth=self.truth[:, columns], concepts=axis, notes=(*self.notes, note))

    def folded(self, fold: int, of: int, *, seed: int = 0) -> "BottleneckData":
        """The test rows stay; of the others, fold ``fold`` (from 0) of ``of`` is the validation.

        Each class is dealt out evenly, whole groups where there are groups.
        """
        rows = np.sort(np.concatenate([self.train, self.validation]))
        units, first, unit_of = np.unique(
            rows if self.groups is None else self.groups[rows],
            return_index=True,
            return_inverse=True,
        )
        if not (2 <= of <= len(units) and 0 <= fold < of):
            needed = f"a fold from 0 below of, and of from 2 to {len(units)}"
            raise EvidenceError("fold", f"fold {fold} of {of}", needed)
        shuffled = np.random.default_rng(seed).permutation(len(units))
        label = self.labels[rows[first]]
        dealt = np.empty(len(units), np.int64)
        dealt[shuffled[np.argsort(label[shuffled], kind="stable")]] = np.arange(len(units)) % of
        held_out = dealt[unit_of] == fold
        note = f"Fold {fold} of {of} (seed {seed}) of the rows outside the test is the validation."
        notes = (*self.notes, note)
        return replace(self, train=rows[~held_out], validation=rows[held_out], notes=notes)

    def told_by_concepts(self) -> float:
        """The share of samples whose label is the most frequent one among samples with the same
        concepts: no head that sees only true concepts gets more right.

        Where most samples have concepts like no other it is near 1 and says nothing.
        """
        kinds, kind_of = np.unique(self.truth, axis=0, return_inverse=True)
        counts = np.zeros((len(kinds), len(self.classes)), np.int64)
        np.add.at(counts, (kind_of.ravel(), self.labels), 1)
        return float(counts.max(axis=1).sum() / len(self))

    def summary(self) -> list[tuple[str, str]]:
        """What is in it, in a few lines."""
        splits = (self.train, self.validation, self.test)
        shape = " x ".join(map(str, self.inputs.shape[1:]))
        kind = "images of" if self.inputs.ndim > 2 else "numbers:"
        share = self.truth[self.test].mean(axis=0)
        pairs = zip(self.concepts.names, share, strict=True)
        constant = [name for name, there in pairs if there in (0, 1)]
        return [
            ("train / validation / test", " / ".join(f"{len(rows):,}" for rows in splits)),
            ("inputs", f"{kind} {shape}"),
            ("classes", f"{len(self.classes)}, {len(np.unique(self.labels))} of them occur"),
            ("concepts", f"{len(self.concepts)}, {100 * self.truth.mean():.1f} % present"),
            ("label told by the concepts", f"{100 * self.told_by_concepts():.1f} %"),
            ("constant in the test rows", ", ".join(constant) or "no concept"),
        ]


def _check_inputs(data: BottleneckData) -> None:
    what, inputs = f"inputs of {data.name}", data.inputs
    if not isinstance(inputs, np.ndarray) or inputs.dtype not in (np.float32, np.uint8):
        got = f"{getattr(inputs, 'dtype', type(inputs).__name__)}"
        do = "Convert them, e.g. inputs.astype(np.float32)."
        raise EvidenceError(what, got, "an array of float32 (features) or uint8 (images)", do)
    features = inputs.dtype == np.float32
    shape = inputs.shape
    fits = len(shape) == 2 if features else len(shape) == 3 or (len(shape) == 4 and shape[3] == 3)
    if not fits or 0 in shape:
        needed = "(samples, features)" if features else "(samples, height, width) or (..., 3)"
        raise EvidenceError(what, f"{inputs.dtype} of shape {shape}", f"{needed}, none of them 0")
    if features and not np.isfinite(inputs).all():
        row = int(np.argwhere(~np.isfinite(inputs))[0, 0])
        raise EvidenceError(what, f"NaN or infinite in row {row}", "finite numbers")


def _check_truth(data: BottleneckData) -> None:
    n, k = len(data.inputs), len(data.concepts)
    truth, labels = np.asarray(data.truth), np.asarray(data.labels)
    groups = None if data.groups is None else np.asarray(data.groups)
    if truth.dtype != bool or truth.shape != (n, k) or not k:
        got = f"{truth.dtype} of shape {truth.shape}"
        raise EvidenceError(f"truth of {data.name}", got, f"true or false for ({n}, {max(k, 1)})")
    for name, numbers in (("labels", labels), ("groups", groups)):
        if numbers is not None and (numbers.shape != (n,) or numbers.dtype.kind != "i"):
            got = f"{numbers.dtype} of shape {numbers.shape}"
            raise EvidenceError(f"{name} of {data.name}", got, f"a whole number for each of {n}")
    if labels.min() < 0 or labels.max() >= len(data.classes):
        got = f"{labels.min()} to {labels.max()}"
        raise EvidenceError(f"labels of {data.name}", got, f"0 to {len(data.classes) - 1}")
    object.__setattr__(data, "truth", truth)
    object.__setattr__(data, "labels", labels.astype(np.int64, copy=False))
    object.__setattr__(data, "groups", groups)


def _check_splits(data: BottleneckData) -> None:
    n, seen = len(data.inputs), np.zeros(len(data.inputs), bool)
    for name in ("train", "validation", "test"):
        what, rows = f"{name} rows of {data.name}", np.asarray(getattr(data, name))
        if rows.ndim != 1 or rows.dtype.kind != "i":
            raise EvidenceError(what, f"{rows.dtype} of shape {rows.shape}", "whole numbers")
        if not len(rows) and name != "validation":
            raise EvidenceError(what, "none", "at least one")
        if len(rows) and (rows.min() < 0 or rows.max() >= n):
            raise EvidenceError(what, f"{rows.min()} to {rows.max()}", f"rows from 0 to {n - 1}")
        if len(np.unique(rows)) < len(rows) or seen[rows].any():
            raise EvidenceError(what, "a row twice", "each row once, in one split")
        seen[rows] = True
        object.__setattr__(data, name, rows.astype(np.int64, copy=False))
