"""Open whatever a caller passes (files, tables, data sets, loaders, arrays) as a source of rows.
Types are recognized by their modules. Used by ``theodolite.store``."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.evidence.foreign_arrays import NUMBERS, to_labeled_array
from theodolite.evidence.sources.addresses import open_addresses
from theodolite.evidence.sources.array_columns import split_into_blocks, to_block
from theodolite.evidence.sources.arrow_columns import ROWS, read_arrow_blocks
from theodolite.evidence.sources.columns import Block, RowSource

_CPU = 1


def open_source(source: Any) -> RowSource:
    """Open files, tables, readers, data sets, loaders or arrays as a source of rows."""
    if isinstance(source, str | Path):
        return open_addresses([source])
    name = type(source).__name__
    root = type(source).__module__.partition(".")[0]
    if root == "datasets":
        return _hugging_face(source, name)
    if root == "ray" and hasattr(source, "iter_batches"):
        return _of_tables(
            lambda: source.iter_batches(batch_format="pyarrow", batch_size=ROWS), name
        )
    if hasattr(source, "__arrow_c_stream__"):
        return _arrow_stream(source, name)
    if hasattr(source, "__arrow_c_array__") and root == "pyarrow":
        return _of_tables(lambda: [source], name)
    if isinstance(source, Mapping):
        return _of_arrays(source)
    if isinstance(source, list | tuple) and source and isinstance(source[0], str | Path):
        return open_addresses(source)
    if isinstance(source, Iterable) and not hasattr(source, "dtype") and root != "polars":
        return _iterable(source, name)
    raise EvidenceError(
        "source", f"a {name}", "a table, record batches, a data set, a loader or an address",
        "Collect it first." if hasattr(source, "collect") else "docs/sources.md lists them.",
    )  # fmt: skip


def _arrow_stream(source: Any, name: str) -> RowSource:
    import pyarrow as pa  # noqa: PLC0415

    once = isinstance(source, pa.RecordBatchReader)

    def header() -> tuple[str, ...]:
        if once:
            return tuple(source.schema.names)
        with pa.RecordBatchReader.from_stream(source) as reader:
            return tuple(reader.schema.names)

    def blocks(columns: Sequence[str] | None) -> Iterator[Block]:
        with source if once else pa.RecordBatchReader.from_stream(source) as reader:
            yield from read_arrow_blocks(iter(reader), columns, name)

    return RowSource(name, header, blocks, again=not once)


def _hugging_face(source: Any, name: str) -> RowSource:
    if isinstance(source, Mapping):
        raise EvidenceError("source", f"a {name}", "one split",
                            f"Pass one of: {', '.join(map(str, source))}.")  # fmt: skip
    formatted = source.with_format("arrow")
    return _of_tables(lambda: formatted.iter(batch_size=ROWS), name)


def _of_tables(tables: Callable[[], Iterable[Any]], name: str) -> RowSource:
    def batches() -> Iterator[Any]:
        return (batch for table in tables() for batch in _batches(table))

    def header() -> tuple[str, ...]:
        batch = next(batches(), None)
        return () if batch is None else tuple(batch.schema.names)

    return RowSource(name, header, lambda columns: read_arrow_blocks(batches(), columns, name))


def _batches(table: Any) -> Iterable[Any]:
    return table.to_batches() if hasattr(table, "to_batches") else [table]


def _of_arrays(source: Mapping[str, Any]) -> RowSource:
    arrays = {str(name): _on_cpu(value, str(name)) for name, value in source.items()}
    return RowSource(
        "arrays", lambda: tuple(arrays), lambda columns: split_into_blocks(arrays, columns),
        whole=lambda name: arrays[name],
    )  # fmt: skip


def _on_cpu(value: Any, name: str) -> np.ndarray:
    """Return an array, tensor or DLPack object as an array; raise if it is on a device."""
    device = getattr(value, "__dlpack_device__", None)
    if device is not None and not hasattr(value, "detach") and int(device()[0]) != _CPU:
        raise EvidenceError(name, "an array on a device", "one on the CPU", "Call .cpu() first.")
    array = to_labeled_array(value, name).values
    if array.dtype.kind not in f"{NUMBERS}UO":
        raise EvidenceError(name, f"{array.dtype} values", "numbers, or words")
    return array


def _iterable(source: Iterable[Any], name: str) -> RowSource:
    again = iter(source) is not source
    waiting: list[Any] = []

    def items() -> Iterator[Any]:
        if again:
            return iter(source)
        return itertools.chain(iter(waiting), source)

    def header() -> tuple[str, ...]:
        item = next(items(), None)
        if item is None:
            return ()
        if not again:
            waiting[:] = [item]
        if hasattr(item, "schema"):
            return tuple(item.schema.names)
        return tuple(_named_arrays(item, name))

    return RowSource(name, header, lambda columns: _blocks(items(), columns, name), again)


def _blocks(items: Iterator[Any], columns: Sequence[str] | None, name: str) -> Iterator[Block]:
    for item in items:
        if hasattr(item, "schema"):
            yield from read_arrow_blocks(iter(_batches(item)), columns, name)
            continue
        arrays = {n: _on_cpu(v, n) for n, v in _named_arrays(item, name).items()}
        yield to_block({n: a for n, a in arrays.items() if columns is None or n in columns})


def _named_arrays(item: Any, name: str) -> dict[str, Any]:
    if isinstance(item, Mapping):
        return {str(key): value for key, value in item.items()}
    if isinstance(item, list | tuple):
        return {str(place): value for place, value in enumerate(item)}
    raise EvidenceError(
        f"a batch of {name}", type(item).__name__, "a record batch, or a dict or tuple of arrays"
    )
