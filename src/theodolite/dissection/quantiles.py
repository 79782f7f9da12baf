"""Quantiles of each unit's values over any number of images, accumulated shard by shard."""

import math
from collections.abc import Mapping
from typing import Literal, Protocol

import numpy as np
from jaxtyping import Float, Float32, UInt32

from theodolite.errors import EvidenceError

Maps = Float[np.ndarray, "_images units height width"]
Method = Literal["linear", "hazen"]


class Quantiles(Protocol):
    """Interface: add maps, then return quantiles."""

    def take(self, maps: Maps) -> None:
        """Add the values of some maps."""

    def quantile(self, share: float, method: Method = "linear") -> Float[np.ndarray, " units"]:
        """Return the value below which this fraction of all values lies."""


def position(share: float, n: int, method: Method) -> float:
    """Return the position of a quantile among n sorted values, from 0."""
    at = share * (n - 1) if method == "linear" else share * n - 0.5
    return min(max(at, 0.0), n - 1)


class TopValues:
    """The largest values of each unit, exactly; two of them add to one.

    >>> first, second = TopValues(2, 3), TopValues(2, 3)
    >>> first.take(np.array([[[[5.0, 1.0]], [[0.0, 2.0]]]]))
    >>> second.take(np.array([[[[4.0, 9.0]], [[7.0, 1.0]]]]))
    >>> (first + second).largest()
    array([[9., 5., 4.],
           [7., 2., 1.]])
    """

    def __init__(self, units: int, keep: int) -> None:
        self.keep, self.seen = keep, 0
        self._blocks: list[np.ndarray] = []
        self._waiting = 0
        self._units = units

    def take(self, maps: Maps) -> None:
        """Add the values of some maps."""
        values = np.moveaxis(maps, 1, 0).reshape(self._units, -1)
        self.seen += values.shape[1]
        self._blocks.append(self._top(values))
        self._waiting += self._blocks[-1].shape[1]
        if self._waiting > 4 * self.keep:
            self._squeeze()

    def _top(self, values: np.ndarray) -> np.ndarray:
        surplus = values.shape[1] - self.keep
        if surplus <= 0:
            return np.array(values)
        return np.asarray(np.partition(values, surplus, axis=1)[:, surplus:])

    def _squeeze(self) -> None:
        self._blocks = [self._top(np.concatenate(self._blocks, axis=1))]
        self._waiting = self._blocks[0].shape[1]

    def __add__(self, other: "TopValues") -> "TopValues":
        both = TopValues(self._units, self.keep)
        both.seen = self.seen + other.seen
        both._blocks = [*self._blocks, *other._blocks]
        both._squeeze()
        return both

    def largest(self) -> np.ndarray:
        """Return the values of each unit, largest first."""
        self._squeeze()
        return np.sort(self._blocks[0], axis=1)[:, ::-1]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the state as arrays, independent of the order of the maps."""
        top = self.largest() + np.float32(0)  # -0.0 is 0, or equal values would have two forms
        return {"top": np.ascontiguousarray(top), "seen": np.array([self.seen], np.int64)}

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray], keep: int) -> "TopValues":
        """Restore the state from arrays."""
        back = cls(len(arrays["top"]), keep)
        back.seen, back._waiting = int(arrays["seen"][0]), arrays["top"].shape[1]
        back._blocks = [arrays["top"]]
        return back

    def quantile(self, share: float, method: Method = "linear") -> Float[np.ndarray, " units"]:
        """Return the quantile like ``numpy.quantile`` of all values seen."""
        at = position(share, self.seen, method)
        low = math.floor(at)
        from_top = self.seen - 1 - low
        values = self.largest()
        if from_top >= values.shape[1]:
            raise EvidenceError("quantile", f"{share}", f"what the {self.keep} largest can tell")
        below = values[:, from_top].astype(np.float64)
        above = values[:, max(from_top - 1, 0)].astype(np.float64)
        return np.asarray(below + (at - low) * (above - below))


BITS = 16


class ValueCounts:
    """How many values fall into each of 65,536 bins; two of them add to one.

    Bins are the leading 16 bits of a single-precision number, in order, so that a quantile is off
    by less than 1/128 of its size, whatever the values are; its rank is exact. The memory is half a
    megabyte a unit, however many images there are: for those that ``TopValues`` cannot keep.
    """

    relative_error = 1 / 128

    def __init__(self, units: int) -> None:
        self.counts = np.zeros((units, 1 << BITS), np.int64)

    @property
    def seen(self) -> int:
        """Number of values of each unit."""
        return int(self.counts[0].sum())

    def take(self, maps: Maps) -> None:
        """Add the values of some maps."""
        for unit, code in enumerate(ordered_codes(maps) >> np.uint32(32 - BITS)):
            self.counts[unit] += np.bincount(code, minlength=1 << BITS)

    def __add__(self, other: "ValueCounts") -> "ValueCounts":
        both = ValueCounts(0)
        both.counts = self.counts + other.counts
        return both

    def quantile(self, share: float, method: Method = "linear") -> Float[np.ndarray, " units"]:
        """Return the middle of the bin that holds the quantile; exactly 0 for the bin of 0."""
        rank = math.floor(position(share, self.seen, method))
        code = (self.counts.cumsum(axis=1) <= rank).sum(axis=1).astype(np.uint32)
        return middle_of_bin(code)


def middle_of_bin(code: UInt32[np.ndarray, " units"]) -> Float[np.ndarray, " units"]:
    """Return the middle of the values with these leading 16 bits; exactly 0 for 0."""
    low, high = (
        value_of((code + np.uint32(step)) << np.uint32(32 - BITS)).astype(float) for step in (0, 1)
    )
    return np.where(low == 0, 0.0, (low + high) / 2)


def ordered_codes(maps: Maps) -> UInt32[np.ndarray, "units values"]:
    """Return each unit's values as integers with the same order."""
    values = np.moveaxis(maps, 1, 0).reshape(maps.shape[1], -1).astype(np.float32)
    values += np.float32(0)  # -0.0 is 0
    return _in_order(values.view(np.uint32))


def value_of(codes: UInt32[np.ndarray, "..."]) -> Float32[np.ndarray, "..."]:
    """Return the values of such integers."""
    return _back(codes).view(np.float32)


def _in_order(bits: UInt32[np.ndarray, "..."]) -> UInt32[np.ndarray, "..."]:
    """Numbers that are ordered like the floats whose bits these are."""
    sign = bits >> np.uint32(31)
    return np.where(sign == 1, ~bits, bits | np.uint32(1 << 31))


def _back(codes: UInt32[np.ndarray, "..."]) -> UInt32[np.ndarray, "..."]:
    return np.where(codes >> np.uint32(31) == 1, codes & np.uint32((1 << 31) - 1), ~codes)
