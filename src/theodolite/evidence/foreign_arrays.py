"""Convert tensors, data frames, columns and nested lists of other libraries to NumPy arrays.

Types are recognized by the name of their module, so that no other library is imported here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from theodolite.errors import EvidenceError

NUMBERS = "fiub"
_SIZES = (8, 16, 32, 64)
ARROW_NUMBERS = frozenset(
    ["halffloat", "float", "double", *(f"{sign}int{n}" for sign in ("", "u") for n in _SIZES)]
)


@dataclass(frozen=True, eq=False)
class LabeledArray:
    """NumPy array with its row and column labels and the conversions applied."""

    values: np.ndarray
    rows: np.ndarray | None = None
    """Labels of the first axis."""
    columns: tuple[Any, ...] | None = None
    """Labels of the second axis."""
    conversions: tuple[str, ...] = ()


def to_labeled_array(value: Any, name: str) -> LabeledArray:
    """Convert a value to an array, with the labels that came with it.

    >>> to_labeled_array([[0.5, None]], "ratings")
    LabeledArray(values=array([[0.5, nan]]), rows=None, columns=None, \
conversions=('1 null read as NaN',))
    """
    if isinstance(value, LabeledArray):
        return value
    read = _READERS.get(_library(value), _from_protocol)
    result: LabeledArray = read(value, name)
    if result.values.dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):  # ml_dtypes
        conversions = (*result.conversions, f"{result.values.dtype.name} read as float32")
        return replace(result, values=result.values.astype(np.float32), conversions=conversions)
    return result


def _library(value: Any) -> str:
    """Return the supported library that a type comes from, or an empty string."""
    if isinstance(value, np.ma.MaskedArray):
        return "numpy.ma"
    if isinstance(value, list | tuple):
        return "list"
    roots = (base.__module__.partition(".")[0] for base in type(value).__mro__)
    return next((root for root in roots if root in _READERS), "")


def _from_protocol(value: Any, name: str) -> LabeledArray:
    try:
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            return LabeledArray(np.from_dlpack(value), conversions=("read by DLPack",))
        values = np.asarray(value)
    except ValueError as error:
        raise EvidenceError(name, "rows of unequal length", "a rectangular array") from error
    except (TypeError, RuntimeError, BufferError) as error:
        raise _unreadable(value, name, error) from error
    if values.dtype.kind in "OT":  # words may be; numbers as Python objects are a mistake
        words = _of_objects(values.astype(object))
        return words if words.values.dtype.kind in "OU" else LabeledArray(values)
    return LabeledArray(values)


def _unreadable(value: Any, name: str, error: Exception) -> EvidenceError:
    reason = str(error).partition("\n")[0][:200]
    return EvidenceError(name, f"a {type(value).__name__} ({reason})", "a dense array of numbers")


def _from_torch(value: Any, name: str) -> LabeledArray:
    if not hasattr(value, "detach"):
        return _from_protocol(value, name)
    conversions = []
    if value.requires_grad:
        conversions.append("detached from its graph")
    if value.device.type != "cpu":
        conversions.append(f"copied from {value.device}")
    try:
        tensor = value.detach().cpu()
        kind = str(tensor.dtype).removeprefix("torch.")
        if kind == "bfloat16" or kind.startswith("float8"):  # numpy has neither; this is exact
            conversions.append(f"{kind} read as float32")
            tensor = tensor.float()
        return LabeledArray(tensor.numpy(), conversions=tuple(conversions))
    except (TypeError, RuntimeError, NotImplementedError) as error:
        raise _unreadable(value, name, error) from error


def _from_masked(value: Any, name: str) -> LabeledArray:
    n = int(np.ma.getmaskarray(value).sum())
    if not n:
        return LabeledArray(np.asarray(value.data))
    if value.dtype.kind not in NUMBERS:
        raise EvidenceError(name, f"{n} masked of {value.dtype} values", "numbers")
    kind = value.dtype if value.dtype.kind == "f" else np.float64
    return LabeledArray(value.astype(kind).filled(np.nan), conversions=_nulls(n))


def _from_list(value: Sequence[Any], name: str) -> LabeledArray:
    if len(value) and _library(value[0]) not in ("", "list"):  # a tensor or column for each row
        rows = [to_labeled_array(row, name) for row in value]
        if len({row.values.shape for row in rows}) > 1:
            raise EvidenceError(name, "rows of unequal length", "a rectangular array")
        conversions = dict.fromkeys(text for row in rows for text in row.conversions)
        return LabeledArray(np.stack([r.values for r in rows]), conversions=tuple(conversions))
    plain = _from_protocol(value, name)
    if plain.values.dtype.kind in NUMBERS:
        return plain
    leaves = np.empty(plain.values.shape, object)  # numpy writes None and NaN out as words
    leaves[...] = np.asarray(value, object)
    return _of_objects(leaves, plain.values)


def _from_pandas(value: Any, name: str) -> LabeledArray:
    rows = _row_labels(getattr(value, "index", None))
    if getattr(value, "ndim", 1) == 1:
        if hasattr(value, "to_numpy"):
            return replace(_pandas_column(value), rows=rows)
        return _of_objects(np.asarray(value, object), np.asarray(value))
    kinds = {getattr(kind, "kind", "O") for kind in map(_numpy_type, value.dtypes)}
    columns = tuple(value.columns)
    if kinds in ({"f"}, {"i"}, {"u"}, {"b"}):
        return LabeledArray(value.to_numpy(), rows, columns)
    series = [_pandas_column(value.iloc[:, i]) for i in range(len(columns))]
    return replace(_stacked(series, columns, name), rows=rows)


def _numpy_type(kind: Any) -> Any:
    return kind if isinstance(kind, np.dtype) else None


def _row_labels(index: Any) -> np.ndarray | None:
    """Return row names; None for a plain counter or several levels."""
    if index is None or getattr(index, "nlevels", 1) > 1 or type(index).__name__ == "RangeIndex":
        return None
    return np.asarray(index.to_numpy())


def _pandas_column(series: Any) -> LabeledArray:
    values = np.asarray(series.to_numpy())
    if values.dtype.kind not in NUMBERS:
        return _of_objects(values.astype(object), values)
    own = isinstance(series.dtype, np.dtype)
    return LabeledArray(values, conversions=_nulls(0 if own else int(series.isna().sum())))


def _from_polars(value: Any, name: str) -> LabeledArray:
    if hasattr(value, "collect"):
        raise EvidenceError(name, "a LazyFrame", "numbers", f"Pass {name}.collect().")
    if not hasattr(value, "columns"):
        return _polars_column(value)
    columns = tuple(value.columns)
    return _stacked([_polars_column(value.get_column(c)) for c in columns], columns, name)


def _polars_column(series: Any) -> LabeledArray:
    values = np.asarray(series.to_numpy())
    if values.dtype.kind in NUMBERS:
        return LabeledArray(values, conversions=_nulls(int(series.null_count())))
    return _of_objects(_leaves(series.to_list()), values)


def _from_arrow(value: Any, name: str) -> LabeledArray:
    if not hasattr(value, "column_names"):
        return _arrow_column(value)
    columns = tuple(value.column_names)
    series = [_arrow_column(value.column(i)) for i in range(len(columns))]
    return _stacked(series, columns, name)


def _arrow_column(column: Any) -> LabeledArray:
    kind, n = str(column.type), int(column.null_count)
    if kind in ARROW_NUMBERS or (kind == "bool" and not n):
        return LabeledArray(column.to_numpy(zero_copy_only=False), conversions=_nulls(n))
    if kind.startswith("fixed_size_list"):
        return _from_list(column.to_pylist(), "column")
    # arrow's own arrays of a dictionary forget its nulls
    return _of_objects(_leaves(column.to_pylist()))


def _leaves(items: Sequence[Any]) -> np.ndarray:
    leaves = np.empty(len(items), object)
    leaves[:] = items
    return leaves


def _stacked(series: Sequence[LabeledArray], columns: tuple[Any, ...], name: str) -> LabeledArray:
    odd = [c for c, s in zip(columns, series, strict=True) if s.values.dtype.kind not in NUMBERS]
    if odd and len(columns) > 1:
        raise EvidenceError(
            name, f"the column {odd[0]!r}, which is not of numbers", "numbers in all columns",
            "Leave it out, or convert it.",
        )  # fmt: skip
    n = sum(int(np.isnan(s.values).sum()) for s in series if s.conversions)
    values = np.column_stack([s.values for s in series]) if series else np.empty((0, 0))
    return LabeledArray(values, columns=columns, conversions=_nulls(n))


def _nulls(n: int) -> tuple[str, ...]:
    return (f"{n:,} null{'s' if n > 1 else ''} read as NaN",) if n else ()


def is_null(item: Any) -> bool:
    """Return whether a cell is empty: None, NaN or pandas.NA."""
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(item, float | np.floating) and bool(np.isnan(item))


def _of_objects(leaves: np.ndarray, otherwise: np.ndarray | None = None) -> LabeledArray:
    """Convert Python numbers or words, perhaps with empty cells; empty words stay None."""
    empty = np.array([is_null(item) for item in leaves.flat], bool).reshape(leaves.shape)
    items = leaves[~empty].tolist()
    if items and all(isinstance(item, str) for item in items):
        if not empty.any():
            return LabeledArray(leaves.astype(str))
        words = leaves.copy()
        words[empty] = None
        return LabeledArray(words)
    if all(isinstance(item, bool | int | float | np.number | np.bool_) for item in items):
        if not empty.any():
            return LabeledArray(np.array(leaves.tolist()))
        numbers = np.full(leaves.shape, np.nan)
        numbers[~empty] = np.array(items, float)
        return LabeledArray(numbers, conversions=_nulls(int(empty.sum())))
    return LabeledArray(leaves if otherwise is None else otherwise)


_READERS: dict[str, Callable[[Any, str], LabeledArray]] = {
    "torch": _from_torch,
    "pandas": _from_pandas,
    "polars": _from_polars,
    "pyarrow": _from_arrow,
    "numpy.ma": _from_masked,
    "list": _from_list,
}
