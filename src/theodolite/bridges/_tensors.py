"""Convert tensors, arrays and lists of other libraries to NumPy arrays."""

from typing import Any

import numpy as np

from theodolite.errors import EvidenceError


def numbers(data: Any, name: str) -> np.ndarray:
    """A copy of a tensor, an array or nested lists as a plain array of numbers.

    Tensors may be on any device, need gradients or be sparse; nothing of them is changed, and what
    is done to them later does not reach the copy.

    >>> numbers([[1, 2], [3, 4]], "values").shape
    (2, 2)
    """
    array = data
    if hasattr(array, "detach"):
        array = array.detach().cpu()
        array = array.to_dense() if getattr(array, "is_sparse", False) else array
        if "bfloat16" in str(array.dtype):  # numpy has no such type
            array = array.float()
    try:
        values = np.array(array.numpy() if hasattr(array, "numpy") else array)
    except ValueError as error:
        raise EvidenceError(name, "rows of unequal length", "a rectangular array") from error
    if values.dtype.kind not in "fiub":
        raise EvidenceError(name, f"{values.dtype} values", "numbers")
    return values


def flags(data: Any, name: str) -> np.ndarray:
    """Zeros and ones, or true and false, as true and false."""
    values = numbers(data, name)
    odd = values[~np.isin(values, (0, 1))]
    if odd.size:
        raise EvidenceError(name, f"the value {odd.flat[0]:g}", "0 and 1, or true and false")
    return np.asarray(values != 0)


def whole(data: Any, name: str) -> np.ndarray:
    """Whole numbers, which some libraries write as floats, or as a column."""
    values = numbers(data, name)
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if (values != np.round(values)).any():
        raise EvidenceError(name, "numbers with decimals", "whole numbers")
    return values.astype(np.int64)
