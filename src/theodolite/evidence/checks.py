"""Validate arrays of evidence against their declared layout: axes, type and allowed values.
Called by ``Evidence.__post_init__`` for every bundle."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.evidence.ragged import Ragged

RAGGED = "~"
"""Prefix of an axis name along which rows have unequal lengths."""
Content = Literal["real", "index", "flag"]
Lengths = dict[str, tuple[int, str]]
"""Length of each axis, and the array that it was taken from."""


@dataclass(frozen=True)
class Layout:
    """Declared axes and allowed values of one array of a bundle."""

    axes: tuple[str, ...]
    content: Content
    points_to: str | None = None  # an index: the axis that it points into
    none_is: int | None = None  # an index: the value that means "none"
    may_be_nan: bool = False  # real: NaN means "not there"

    @property
    def ragged(self) -> tuple[str, ...]:
        """Axes along which rows have unequal lengths."""
        return tuple(axis.removeprefix(RAGGED) for axis in self.axes if axis.startswith(RAGGED))

    @property
    def flat(self) -> "Layout":
        """Layout of the concatenated entries of all rows."""
        rest = self.axes[1 + len(self.ragged) :]
        return replace(self, axes=(self.ragged[-1], *rest))


def validate_field(name: str, array: Any, layout: Layout, lengths: Lengths) -> Any:
    """Return a field as its layout declares it, or raise."""
    if layout.ragged:
        return _checked_ragged(name, array, layout, lengths)
    return validate_array(name, array, layout, lengths)


def _checked_ragged(name: str, value: Any, layout: Layout, lengths: Lengths) -> Ragged:
    depth = len(layout.ragged)
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        raise EvidenceError(
            name, f"an array of shape {value.shape}", "rows of unequal length",
            "Pass Ragged.from_rows(list(array)) if all rows are as long; padding is left out.",
        )  # fmt: skip
    ragged = value
    if not isinstance(value, Ragged):
        try:
            ragged = Ragged.from_rows(value, depth)
        except (TypeError, ValueError) as error:
            needed = f"a Ragged, or lists{' of lists' * depth}"
            raise EvidenceError(name, type(value).__name__, needed) from error
    levels = (
        [ragged.starts] if ragged.inner_starts is None else [ragged.starts, ragged.inner_starts]
    )
    if len(levels) != depth:
        got = f"{len(levels)} levels of rows"
        raise EvidenceError(name, got, f"{depth}, for {', '.join(layout.axes)}")
    inside = [len(starts) - 1 for starts in levels[1:]] + [len(np.asarray(ragged.flat))]
    checked = [_checked_starts(name, starts, n) for starts, n in zip(levels, inside, strict=True)]
    n_rows, source = lengths.setdefault("samples", (len(ragged), f"`{name}`"))
    if len(ragged) != n_rows:
        raise EvidenceError(name, f"{len(ragged)} rows", f"samples = {n_rows}, as in {source}")
    flat = ragged.flat
    if depth == 2 and not len(flat) and layout.content == "real":
        flat = np.asarray(flat, flat.dtype if flat.dtype.kind == "f" else float)
    return Ragged(validate_array(name, flat, layout.flat, lengths, rows=False), *checked)


def _checked_starts(name: str, starts: Any, n: int) -> np.ndarray:
    values = np.asarray(starts)
    if values.ndim != 1 or not len(values) or values.dtype.kind not in "iu":
        raise EvidenceError(f"starts of {name}", f"{values.dtype} {values.shape}", "whole numbers")
    checked = np.asarray(values, np.int64)
    if checked[0] != 0 or checked[-1] != n or (np.diff(checked) < 0).any():
        got = f"numbers from {checked[0]} to {checked[-1]}"
        raise EvidenceError(f"starts of {name}", got, f"numbers that rise from 0 to {n}")
    frozen: np.ndarray = checked.view()
    frozen.flags.writeable = False
    return frozen


def validate_array(
    name: str, array: Any, layout: Layout, lengths: Lengths, *, rows: bool = True
) -> np.ndarray:
    """Return an array as its layout declares it; with ``rows=False`` it may be empty."""
    try:
        values = np.asarray(array)
    except ValueError as error:
        raise EvidenceError(name, "rows of unequal length", "a rectangular array") from error
    if layout.content == "index":  # of logits the shape is what is wrong, not that they are floats
        _check_axes(name, values, layout)
    values = _of_content(name, values, layout, narrow=not rows)
    _check_axes(name, values, layout)
    for axis, n in zip(layout.axes, values.shape, strict=True):
        expected, source = (
            (int(axis), "a fixed length")
            if axis.isdigit()
            else lengths.setdefault(axis, (n, f"`{name}`"))
        )
        if n != expected:
            raise EvidenceError(
                name,
                f"shape {values.shape} for ({', '.join(layout.axes)})",
                f"{axis} = {expected}, as in {source}",
                _how_to_fit(name, values.shape, layout, lengths),
            )
    if 0 not in values.strides:  # one layout for all, or sums would differ in the last digit
        values = np.ascontiguousarray(values)
    for axis, n in zip(layout.axes, values.shape, strict=True):
        if n == 0 and (rows or axis != layout.axes[0]):
            raise EvidenceError(name, f"no {axis}", "at least one")
    if layout.content == "real":
        _check_finite(name, values, layout)
    frozen: np.ndarray = values.view()
    frozen.flags.writeable = False
    return frozen


def _check_axes(name: str, values: np.ndarray, layout: Layout) -> None:
    if values.ndim == len(layout.axes):
        return
    do = ""
    if layout.content == "index" and (len(layout.axes), values.ndim) == (1, 2):
        single_column = values.shape[1] == 1
        do = (
            f"Pass {name}.ravel()."
            if single_column
            else f"Pass numbers, e.g. {name}.argmax(axis=1)."
        )
    needed = f"{len(layout.axes)} axes ({', '.join(layout.axes)})"
    raise EvidenceError(name, f"shape {values.shape}", needed, do)


def _how_to_fit(name: str, shape: tuple[int, ...], layout: Layout, lengths: Lengths) -> str:
    """Return a hint for a wrong shape, such as transposing torch weights."""
    turned_round = zip(layout.axes, shape[::-1], strict=True)
    fits = all(
        n == (int(axis) if axis.isdigit() else lengths.get(axis, (n, ""))[0])
        for axis, n in turned_round
    )
    if len(shape) == 2 and fits:
        turned = "weights.T (of a torch layer, head.weight.T)" if name == "weights" else f"{name}.T"
        return f"Transpose it: {turned}."
    return "Check the order of rows and columns, and the number of names."


def _of_content(
    name: str, values: np.ndarray, layout: Layout, *, narrow: bool = False
) -> np.ndarray:
    kind = values.dtype.kind
    if kind == "O":
        raise EvidenceError(
            name, "an array of Python objects", "numbers", "Convert it, e.g. array.astype(float)."
        )
    if layout.content == "real" and kind in "fiub":
        return np.asarray(values, dtype=values.dtype if kind == "f" else np.float64)
    if layout.content == "index" and kind in "iu":
        # there are enough active latents for twice the bytes to matter
        fits = narrow and np.can_cast(values.dtype, np.int32)
        return np.asarray(values, np.int32 if fits else np.int64)
    if layout.content == "flag" and kind == "b":
        return values
    if layout.content == "flag" and kind == "f" and np.isnan(values).any():
        raise EvidenceError(
            name,
            f"{int(np.isnan(values).sum())} NaN",
            "0 and 1 only",
            "Put 0 where it is not known, and pass `known` with 0 there and 1 elsewhere.",
        )
    if layout.content == "flag" and kind in "iuf":
        if np.isin(values, (0, 1)).all():
            return values.astype(bool)
        odd = values[~np.isin(values, (0, 1))][0]
        raise EvidenceError(
            name, f"the value {odd}", "0 and 1 only", "Threshold it first, e.g. array > 0.5."
        )
    needed = {"real": "numbers", "index": "whole numbers", "flag": "true/false or 0/1"}
    number = "Number them, e.g. numpy.unique(labels, return_inverse=True)[1]."
    do = number if layout.content == "index" else ""
    raise EvidenceError(name, f"{values.dtype} values", needed[layout.content], do)


def _check_finite(name: str, values: np.ndarray, layout: Layout) -> None:
    # an array that repeats itself along an axis (one map for all concepts) is looked at once
    once = values[tuple(slice(0, 1) if step == 0 else slice(None) for step in values.strides)]
    wrong = np.isinf(once) if layout.may_be_nan else ~np.isfinite(once)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise EvidenceError(
            name,
            f"NaN or infinite values ({int(wrong.sum())}, the first at {place})",
            "finite numbers",
            "Leave those samples out." if layout.axes[0] == "samples" else "",
        )


def check_pointers(name: str, values: np.ndarray, layout: Layout, lengths: Lengths) -> None:
    n, source = lengths[str(layout.points_to)]
    low = 0 if layout.none_is is None else layout.none_is
    if values.size and (values.min() < low or values.max() >= n):
        raise EvidenceError(
            name,
            f"values from {values.min()} to {values.max()}",
            f"{low} to {n - 1}, positions in {layout.points_to} (from {source})",
            "Count from 0.",
        )
