"""Read and write JSON, YAML and CSV text with limits on size."""

import csv
import gzip
import json
import math
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from theodolite._storage.paths import all_or_nothing, size_within
from theodolite.errors import UnsafeInputError

MEBIBYTE = 1 << 20


def read_text(path: Path, what: str = "file", limit: int = 64 * MEBIBYTE) -> str:
    """The file as UTF-8; one that ends in .gz or .zst is unpacked, up to the same limit."""
    size_within(path, limit, what)
    packed = path.suffix in (".gz", ".zst")
    content = _unpacked(path, what, limit) if packed else path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnsafeInputError(
            f"{what} {path.name!r}", f"a byte that is not UTF-8 at {error.start}", "UTF-8 text"
        ) from error


def _unpacked(path: Path, what: str, limit: int) -> bytes:
    try:
        if path.suffix == ".zst":
            import pyarrow as pa  # noqa: PLC0415  slow to load

            with pa.input_stream(path, compression="zstd") as packed:
                content: bytes = packed.read(limit + 1)
        else:
            with gzip.open(path) as stream:
                content = stream.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        needed = f"a {path.suffix} file"
        raise UnsafeInputError(f"{what} {path.name!r}", "a broken archive", needed) from error
    if len(content) > limit:
        raise UnsafeInputError(f"{what} {path.name!r}", "more when unpacked", f"at most {limit:,}")
    return content


def read_json(path: Path, what: str = "JSON file", limit: int = 256 * MEBIBYTE) -> Any:
    """Read a JSON file of limited size."""
    try:
        return json.loads(read_text(path, what, limit))
    except (json.JSONDecodeError, RecursionError) as error:
        raise UnsafeInputError(f"{what} {path.name!r}", f"broken JSON ({error})", "JSON") from error


def json_from(content: bytes, name: str) -> Any:
    """JSON that was read already."""
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UnsafeInputError(f"JSON file {name!r}", f"broken JSON ({error})", "JSON") from error


def read_json_lines(
    path: Path,
    what: str = "JSON lines",
    *,
    most_lines: int = 2_000_000,
    longest: int = MEBIBYTE,
    limit: int = 1 << 31,
) -> Iterator[Any]:
    """A line at a time; a file that ends in .gz is unpacked as it is read, so far as it may be."""
    size_within(path, limit, what)
    label, read_bytes = f"{what} {path.name!r}", 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            for number in range(1, most_lines + 2):
                line = stream.readline(longest + 1)
                read_bytes += len(line)
                if not line:
                    return
                if number > most_lines:
                    raise UnsafeInputError(label, "more lines", f"at most {most_lines:,}")
                if len(line) > longest:
                    raise UnsafeInputError(
                        label, f"a longer line, {number}", f"at most {longest:,} bytes a line"
                    )
                if read_bytes > limit:
                    raise UnsafeInputError(label, "more when unpacked", f"at most {limit:,} bytes")
                if line.strip():
                    yield json_from(line, f"{path.name}, line {number}")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UnsafeInputError(label, "a broken archive", "a .gz file") from error


def write_json(path: Path, content: Any) -> None:
    """Sorted keys and one way to write each number, so that equal content is equal bytes."""
    with all_or_nothing(path) as stream:
        stream.write((format_json(content) + "\n").encode())


def format_json(content: Any) -> str:
    """Return JSON content as text."""
    return json.dumps(
        _nan_to_null(content), sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False
    )


def _nan_to_null(content: Any) -> Any:
    """JSON has no NaN: undefined is written as null."""
    if isinstance(content, dict):
        return {str(key): _nan_to_null(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_nan_to_null(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content


class _PlainLoader(yaml.SafeLoader):
    """Safe YAML without aliases: a few lines of nested aliases expand to gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("an alias (*name), which is not allowed here")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002
        # of a key that comes twice YAML would silently keep the last
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                continue
            key = self.construct_object(key_node)
            if key in seen:
                line = key_node.start_mark.line + 1
                raise yaml.YAMLError(f"the key {key!r} twice, again in line {line}")
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def read_yaml(path: Path, what: str = "YAML file", limit: int = MEBIBYTE) -> Any:
    """The file as plain YAML: no tags that build objects, no aliases, no key twice."""
    try:
        return yaml.load(read_text(path, what, limit), Loader=_PlainLoader)  # noqa: S506
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if isinstance(error, UnsafeInputError):
            raise
        reason = " ".join(str(error).split())
        raise UnsafeInputError(f"{what} {path.name!r}", reason, "plain YAML") from error


class _PlainDumper(yaml.SafeDumper):
    """Plain YAML as ``read_yaml`` takes it: what occurs twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def write_yaml(path: Path, content: Any) -> None:
    """Plain YAML in the order given; every text comes back as the text it was."""
    text = yaml.dump(content, Dumper=_PlainDumper, sort_keys=False, allow_unicode=True, width=1000)
    with all_or_nothing(path) as stream:
        stream.write(text.encode())


def read_csv(path: Path, what: str = "table") -> Iterator[dict[str, str]]:
    """The rows of a CSV file with a header line, every row as long as the header."""
    lines = csv.reader(read_text(path, what).splitlines(), strict=True)
    try:
        header = next(lines, [])
        if not header or len(set(header)) != len(header):
            raise UnsafeInputError(
                f"{what} {path.name!r}", f"header {header}", "distinct column names in line 1"
            )
        for number, row in enumerate(lines, start=2):
            if row and len(row) != len(header):
                raise UnsafeInputError(
                    f"{what} {path.name!r}",
                    f"{len(row)} cells in line {number}",
                    f"{len(header)}, as in the header",
                )
            if row:
                yield dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise UnsafeInputError(f"{what} {path.name!r}", f"broken CSV ({error})", "CSV") from error


def read_numbers(path: Path, columns: tuple[int, ...], what: str = "table") -> np.ndarray:
    """Some columns of a table of numbers that are parted by blanks, as in CUB-200-2011."""
    size_within(path, 1 << 30, what)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return np.loadtxt(path, usecols=columns, ndmin=2)
    except (ValueError, IndexError, UserWarning) as error:
        reason = " ".join(str(error).split())
        raise UnsafeInputError(
            f"{what} {path.name!r}", reason, f"numbers in columns {list(columns)}"
        ) from error


def read_named_lines(path: Path, what: str = "list") -> dict[int, str]:
    """Lines of a number and a name, as in CUB-200-2011."""
    names = {}
    for line in read_text(path, what).splitlines():
        number, _, name = line.strip().partition(" ")
        if not number.isdecimal() or not name:
            raise UnsafeInputError(
                f"{what} {path.name!r}", f"{line!r}", "a number and a name a line"
            )
        names[int(number)] = name.strip()
    return names
