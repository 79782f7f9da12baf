"""Check a Parquet file before pyarrow opens it, and before it is decompressed.

A table can name types that are not pyarrow's own. Where a package has made such a type known
(importing ray.data is enough), pyarrow builds it as soon as it reads the file's footer, and the
type may unpickle what the file says. So the footer is searched before pyarrow sees it.
"""

import base64
import io
import re
import struct
from typing import Any

from theodolite._storage.memory_limit import check_memory
from theodolite.errors import UnsafeInputError

MAX_FILE_BYTES = 1 << 34
MAX_FOOTER = 1 << 24
MAX_COLUMNS = 10_000
MAX_VALUES = 100_000_000
MAX_GROUP_BYTES = 1 << 31
MAX_UNPACKED_BYTES = 1 << 33
WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
"""Bytes of a value that is not packed."""
MARK = b"ARROW:extension"
_END = 8
_PACKED_TEXT = re.compile(rb"[A-Za-z0-9+/]{16,}")


def check_footer(stream: io.BufferedIOBase, what: str) -> None:
    """Refuse what is no plain Parquet, or names types that are not pyarrow's own."""
    size = stream.seek(0, 2)
    if size > MAX_FILE_BYTES:
        raise UnsafeInputError(what, f"{size:,} bytes", f"at most {MAX_FILE_BYTES:,}")
    stream.seek(max(size - _END, 0))
    end = stream.read(_END)
    length = struct.unpack("<I", end[:4])[0] if len(end) == _END and end[4:] == b"PAR1" else 0
    if not 0 < length <= size - 12:
        raise UnsafeInputError(what, "no readable Parquet", "Parquet")
    if length > MAX_FOOTER:
        raise UnsafeInputError(what, f"a footer of {length:,} bytes", f"at most {MAX_FOOTER:,}")
    stream.seek(size - _END - length)
    if _names_types(stream.read(length)):
        raise UnsafeInputError(what, "extension types, which could run code", "plain columns")
    stream.seek(0)


def _names_types(footer: bytes) -> bool:
    """The types are in a text of base64. Where it begins is only known to within a few bytes."""
    if MARK in footer:
        return True
    for run in _PACKED_TEXT.findall(footer):
        for skip in range(4):
            text = run[skip : skip + (len(run) - skip) // 4 * 4]
            if MARK in base64.b64decode(text):
                return True
    return False


def check_sizes(metadata: Any, what: str) -> None:
    """Refuse a table that says it is too large; ``metadata`` is what pyarrow read in the footer."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    columns = [group.column(i) for group in groups for i in range(group.num_columns)]
    values = sum(column.num_values for column in columns)
    fixed = sum(
        metadata.schema.column(i).length * group.column(i).num_values
        for group in groups
        for i in range(group.num_columns)
        if metadata.schema.column(i).physical_type == "FIXED_LEN_BYTE_ARRAY"
    )
    largest = max((column.total_uncompressed_size for column in columns), default=0)
    if metadata.num_columns > MAX_COLUMNS or max(values, metadata.num_rows) > MAX_VALUES:
        got = f"{metadata.num_rows:,} rows, {metadata.num_columns:,} columns, {values:,} values"
        raise UnsafeInputError(what, got, f"at most {MAX_VALUES:,} values")
    if max(largest, *(group.total_byte_size for group in groups), 0) > MAX_GROUP_BYTES:
        raise UnsafeInputError(
            what, "a group of rows that is too large", f"{MAX_GROUP_BYTES:,} bytes"
        )
    widths = [
        WIDTHS.get(metadata.schema.column(i).physical_type, 0) for i in range(metadata.num_columns)
    ]
    plain = sum(
        widths[i] * group.column(i).num_values for group in groups for i in range(group.num_columns)
    )
    check_memory(max(fixed, plain, sum(group.total_byte_size for group in groups)), what)


def unpacked_bytes(array: Any) -> int:
    """How many bytes of text an array unpacks to: a word that is stored once may be used often."""
    import pyarrow as pa  # noqa: PLC0415  slow
    import pyarrow.compute as pc  # noqa: PLC0415

    kind = array.type
    if pa.types.is_dictionary(kind):
        if not pa.types.is_primitive(kind.value_type):
            lengths = pc.binary_length(array.dictionary).cast(pa.int64())
            return int(pc.sum(lengths.take(array.indices)).as_py() or 0)
        return int(array.nbytes)
    if pa.types.is_struct(kind):
        return sum(unpacked_bytes(array.field(i)) for i in range(kind.num_fields))
    if pa.types.is_map(kind):
        return unpacked_bytes(array.keys) + unpacked_bytes(array.items)
    if pa.types.is_nested(kind):
        return unpacked_bytes(array.flatten())
    return int(array.nbytes)


def own_types(kind: Any) -> bool:
    """Return whether all types in a type, at any depth, are pyarrow's own plain ones."""
    import pyarrow as pa  # noqa: PLC0415

    if isinstance(kind, pa.BaseExtensionType):
        return False
    inner = [kind.field(i) for i in range(kind.num_fields)]
    marked = any(MARK + b":name" in (field.metadata or {}) for field in inner)
    return not marked and all(own_types(field.type) for field in inner)
