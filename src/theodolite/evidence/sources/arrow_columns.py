"""Convert Arrow record batches to columns. Used by :mod:`.addresses` and :mod:`.open_source`."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from theodolite._storage.row_files.arrow_rows import HIDDEN_KEY, TYPE_ABOUT
from theodolite.errors import EvidenceError, printable
from theodolite.evidence.sources.columns import Block, Column

ROWS, BLOCK_BYTES = 4096, 1 << 25
NAMES = b"theodolite.names"
TENSOR = b"arrow.fixed_shape_tensor"
MAX_TEXT_CHARS = 4096


def split_batch(batch: Any) -> Iterator[Any]:
    """Yield a batch in parts of moderate size, without copying."""
    rows = batch.num_rows
    step = max(min(ROWS, BLOCK_BYTES * rows // max(batch.nbytes, 1)), 1) if rows else 1
    for start in range(0, rows, step):
        yield batch.slice(start, step)


def read_arrow_blocks(
    batches: Iterator[Any], columns: Sequence[str] | None, what: str, schema: Any = None
) -> Iterator[Block]:
    """Yield blocks of columns; ``schema`` has field metadata that batches may lack."""
    row = 0
    for batch in batches:
        if len(set(batch.schema.names)) < len(batch.schema.names):
            raise EvidenceError(what, f"columns {printable(batch.schema.names)}", "each name once")
        meta = _field_meta(schema or batch.schema)
        for part in split_batch(batch):
            names = [n for n in part.schema.names if columns is None or n in columns]
            yield {
                name: read_arrow_column(
                    part.column(name), meta.get(name, {}), f"{name} of {what}", row
                )
                for name in names
            }
            row += part.num_rows


def _field_meta(schema: Any) -> dict[str, dict[str, Any]]:
    """Return metadata of fields: names of positions, names of classes, shapes."""
    meta: dict[str, dict[str, Any]] = {name: {} for name in schema.names}
    features = _class_labels((schema.metadata or {}).get(b"huggingface"))
    for field in schema:
        own = field.metadata or {}
        if NAMES in own:
            meta[field.name]["names"] = _names(own[NAMES], field.name)
        elif field.name in features:
            meta[field.name]["names"] = features[field.name]
        if own.get(HIDDEN_KEY) == TENSOR:
            meta[field.name]["shape"] = _tensor_shape(own.get(TYPE_ABOUT, b""), field.name)
    return meta


def _names(text: bytes, name: str) -> tuple[str, ...]:
    try:
        names = json.loads(text)
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise EvidenceError(f"{NAMES.decode()} of column {name!r}", repr(text[:60]),
                            "a JSON list of names")  # fmt: skip
    return tuple(names)


def _class_labels(text: bytes | None) -> dict[str, tuple[str, ...]]:
    """Return class names that Hugging Face datasets stores in a schema."""
    try:
        features = json.loads(text or b"{}").get("info", {}).get("features", {})
    except (ValueError, RecursionError, AttributeError):
        return {}
    if not isinstance(features, Mapping):
        return {}
    labels = {}
    for name, feature in features.items():
        names = feature.get("names") if isinstance(feature, Mapping) else None
        if isinstance(names, list) and names and all(isinstance(n, str) for n in names):
            labels[name] = tuple(names)
    return labels


def _tensor_shape(text: bytes, name: str) -> tuple[int, ...]:
    try:
        meta = json.loads(text)
        shape = tuple(int(n) for n in meta["shape"])
        turned = meta.get("permutation") not in (None, list(range(len(shape))))
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise EvidenceError(f"column {name!r}", "a tensor of no known shape", "a shape") from error
    if turned or min(shape, default=0) < 1:
        raise EvidenceError(f"column {name!r}", "a tensor that is turned, or empty", "C order")
    return shape


def read_arrow_column(array: Any, meta: Mapping[str, Any], what: str, row: int) -> Column:
    """Convert one column of a batch; ``row`` is the number of its first row."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    shape, names = meta.get("shape"), meta.get("names")
    if isinstance(array.type, pa.BaseExtensionType):
        own = getattr(array.type, "shape", None)
        shape = tuple(int(n) for n in own) if own is not None else None
        turned = getattr(array.type, "permutation", None)
        if shape is None or (turned and list(turned) != sorted(turned)):
            raise EvidenceError(what, f"the type {array.type}", "plain columns", "Convert it.")
        array = array.storage
    kind = array.type
    if pa.types.is_dictionary(kind) or _is_text(kind):
        if not pa.types.is_dictionary(kind):
            array = pc.dictionary_encode(array.cast(pa.large_string()))
        return _words(array, what, row)
    values, nulls = _numbers(array, what, row)
    if shape is not None:
        if values.ndim != 2 or values.shape[1] != math.prod(shape):
            raise EvidenceError(what, f"{values.shape[1:]} values a row", f"shape {shape}")
        values = values.reshape(len(values), *shape)
        nulls = None if nulls is None else nulls.reshape(values.shape)
    return Column(values, nulls, names=names)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa  # noqa: PLC0415

    types = pa.types
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return bool(text)


def _words(array: Any, what: str, row: int) -> Column:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    if not _is_text(array.dictionary.type):
        raise EvidenceError(what, f"a dictionary of {array.dictionary.type}", "numbers, or words")
    codes = array.indices
    nulls = codes.is_null().to_numpy(zero_copy_only=False) if codes.null_count else None
    numbers = codes.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    words_of = array.dictionary.cast(pa.large_string())  # views of words cannot be chosen from
    used = pa.array(np.unique(numbers)) if len(array.dictionary) else pa.array([], pa.int64())
    lengths = pc.max(pc.binary_length(words_of.take(used))).as_py() or 0
    if lengths > MAX_TEXT_CHARS:
        longest = pc.binary_length(words_of).to_numpy()
        place = row + int(np.argmax(longest[numbers] > MAX_TEXT_CHARS))
        raise EvidenceError(
            what, f"{lengths:,} bytes of text in row {place:,}", f"{MAX_TEXT_CHARS:,}"
        )
    words = words_of.take(used).to_pylist()
    if None in words:
        raise EvidenceError(what, "a dictionary with a null", "words")
    return Column(np.searchsorted(used.to_numpy(), numbers), nulls, tuple(words))


def _numbers(array: Any, what: str, row: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Return values of numbers or equal-length lists, and where they are null."""
    import pyarrow as pa  # noqa: PLC0415

    types, kind = pa.types, array.type
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _lists(array, what, row)
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise EvidenceError(what, f"the type {kind}", "numbers, words, or lists of numbers")
    nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    if nulls is not None:
        array = array.fill_null(pa.scalar(0).cast(kind) if not types.is_boolean(kind) else False)
    return np.asarray(array.to_numpy(zero_copy_only=False)), nulls


def _lists(array: Any, what: str, row: int) -> tuple[np.ndarray, np.ndarray | None]:
    import pyarrow.compute as pc  # noqa: PLC0415

    there = array.is_valid().to_numpy(zero_copy_only=False)
    lengths = pc.list_value_length(array.drop_null()).to_numpy(zero_copy_only=False)
    length = int(lengths[0]) if len(lengths) else 0
    if len(lengths) and ((lengths != length).any() or not length):
        place = int(np.flatnonzero(there)[np.argmax((lengths != length) | (lengths == 0))])
        other = int(lengths[np.argmax((lengths != length) | (lengths == 0))])
        raise EvidenceError(what, f"a list of {other} in row {row + place:,}",
                            f"{length or 'some'} in each row")  # fmt: skip
    values, nulls = _numbers(array.drop_null().flatten(), what, row)
    values = values.reshape(len(lengths), length, *values.shape[1:])
    if nulls is not None:
        nulls = nulls.reshape(values.shape)
    if there.all():
        return values, nulls
    all_values = np.zeros((len(array), *values.shape[1:]), values.dtype)
    all_nulls = np.ones(all_values.shape, bool)
    all_values[there] = values
    all_nulls[there] = False if nulls is None else nulls
    return all_values, all_nulls
