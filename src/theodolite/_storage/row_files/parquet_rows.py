"""Read Parquet files in batches of rows.

Where a package has made types of its own known to pyarrow, pyarrow builds those that a file's
footer names, and such a type may unpickle what the file says. So the footer is shown to pyarrow
without the list of types that it has beside Parquet's own; that list is read here, with the key by
which types are known taken out.
"""

import base64
import io
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from theodolite._storage._parquet_checks import MAX_COLUMNS, MAX_FOOTER, WIDTHS
from theodolite._storage.memory_limit import check_memory
from theodolite._storage.row_files.arrow_rows import strip_extension_types
from theodolite._storage.row_files.file_streams import OverlaidStream
from theodolite._storage.row_files.parquet_pages import SMALLER_GROUPS, read_page_sizes
from theodolite.errors import UnsafeInputError

LIST_OF_TYPES, HIDDEN = b"ARROW:schema", b"ARROW:hidden"
BLOCK_BYTES = 1 << 24
MOST_ROWS = 8192
_END = 8
_BUFFER = 1 << 20


@dataclass(frozen=True)
class ParquetRows:
    """A Parquet file that was looked at, and is read in batches."""

    stream: io.BufferedIOBase
    what: str
    file: Any
    """pyarrow's, with a footer that names no types but Parquet's own."""
    schema: Any
    """As its writer had it, if that is known; else as Parquet has it."""

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Batches of rows of some columns, each group checked before it is read."""
        names = self.file.schema_arrow.names
        chosen = [name for name in names if columns is None or name in columns]
        for group in range(self.file.num_row_groups):
            rows = self._rows_at_once(group, chosen)
            if rows:
                yield from self.file.iter_batches(rows, [group], chosen, use_threads=False)

    def _rows_at_once(self, group: int, columns: Sequence[str]) -> int:
        """How many rows of a group make a batch; refused if its pages would fill the memory."""
        group_meta = self.file.metadata.row_group(group)
        total = 0
        for number in range(group_meta.num_columns):
            chunk = group_meta.column(number)
            if chunk.path_in_schema.partition(".")[0] not in columns:
                continue
            what = f"column {chunk.path_in_schema!r} of {self.what}"
            sizes = read_page_sizes(self.stream, chunk, what)
            if sizes.is_delta:
                raise UnsafeInputError(what, "text in delta encoding", "plain or dictionary text")
            if sizes.values != chunk.num_values:
                raise UnsafeInputError(what, f"{sizes.values:,} values in pages",
                                   f"{chunk.num_values:,}, as the footer says")  # fmt: skip
            leaf = self.file.schema.column(number)
            width = WIDTHS.get(leaf.physical_type, max(leaf.length, 0) + 4)
            total += max(sizes.unpacked, width * sizes.values)
        check_memory(total, f"row group {group} of {self.what}", SMALLER_GROUPS)
        if not group_meta.num_rows:
            return 0
        rows = int(group_meta.num_rows)
        return max(min(MOST_ROWS, BLOCK_BYTES * rows // max(total, 1)), 1)


def open_parquet_rows(stream: io.BufferedIOBase, what: str) -> ParquetRows:
    """Look at a Parquet file: its footer, its types, its sizes."""
    import pyarrow as pa  # noqa: PLC0415  slow
    import pyarrow.parquet as pq  # noqa: PLC0415

    place, footer = _footer(stream, what)
    hidden = OverlaidStream(stream, place, footer.replace(LIST_OF_TYPES, HIDDEN))
    try:
        limits = {"thrift_string_size_limit": MAX_FOOTER, "thrift_container_size_limit": 1_000_000}
        schema = pq.ParquetFile(pa.PythonFile(hidden, "r"), **limits).schema
        leaves = [schema.column(i) for i in range(len(schema))]
        # a word that is stored once and used often stays stored once
        words = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        file = pq.ParquetFile(
            pa.PythonFile(hidden, "r"), read_dictionary=words, buffer_size=_BUFFER,
            pre_buffer=False, **limits,
        )  # fmt: skip
        names = file.schema_arrow.names
        described = (file.metadata.metadata or {}).get(HIDDEN)
        schema = file.schema_arrow
        if described is not None:
            schema = strip_extension_types(base64.b64decode(described), what)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        if isinstance(error, UnsafeInputError):
            raise
        raise UnsafeInputError(what, "no readable Parquet", "Parquet") from error
    if len(set(names)) < len(names) or len(names) > MAX_COLUMNS:
        raise UnsafeInputError(what, f"{len(names):,} columns", f"{MAX_COLUMNS:,} distinct names")
    return ParquetRows(stream, what, file, schema)


def _footer(stream: io.BufferedIOBase, what: str) -> tuple[int, bytes]:
    size = stream.seek(0, 2)
    stream.seek(max(size - _END, 0))
    end = stream.read(_END)
    length = struct.unpack("<I", end[:4])[0] if len(end) == _END and end[4:] == b"PAR1" else 0
    if not 0 < length <= min(size - 12, MAX_FOOTER):
        raise UnsafeInputError(
            what, "no readable Parquet", f"a footer of at most {MAX_FOOTER:,} bytes"
        )
    stream.seek(size - _END - length)
    return size - _END - length, stream.read(length)
