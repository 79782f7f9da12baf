"""Read rows from files and folders, local or in a bucket: Parquet, Arrow, tar, .npz, saved data
sets.
Used by :mod:`.open_source`."""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath

import numpy as np

from theodolite._storage.arrays import NpzMember, list_npz_members
from theodolite._storage.memory_limit import check_memory, get_memory_limit
from theodolite._storage.row_files.arrow_rows import read_arrow_rows
from theodolite._storage.row_files.file_streams import open_stream
from theodolite._storage.row_files.npz_rows import open_member, read_next_rows
from theodolite._storage.row_files.parquet_rows import open_parquet_rows
from theodolite._storage.row_files.tar_rows import read_tar_samples
from theodolite._storage.stores import Store
from theodolite._storage.text import json_from
from theodolite.errors import EvidenceError, UnsafeInputError, printable
from theodolite.evidence.sources.array_columns import batch_samples, to_block
from theodolite.evidence.sources.arrow_columns import BLOCK_BYTES, ROWS, read_arrow_blocks
from theodolite.evidence.sources.columns import Block, RowSource

ARROW = (".arrow", ".feather", ".ipc", ".arrows")
SUFFIXES = (".parquet", *ARROW, ".tar", ".npz")
MAX_STATE_BYTES = 1 << 24
RowFile = tuple[Store, str]
Blocks = Callable[[RowFile, Sequence[str] | None], Iterator[Block]]


def open_addresses(addresses: Sequence[str | Path]) -> RowSource:
    """Open files of one type, or folders of them, as one source of rows."""
    files = [file for address in addresses for file in _files(address)]
    suffixes = {PurePosixPath(name).suffix.lower() for _, name in files}
    if len(suffixes) > 1 and not suffixes <= set(ARROW):
        raise EvidenceError("files", f"{', '.join(sorted(suffixes))} together", "files of one sort")
    name = PurePosixPath(str(addresses[0]).rstrip("/")).name
    read, whole = _reader(suffixes.pop()), None
    if read is _npz_blocks and len(files) == 1:
        whole = functools.partial(_npz_array, files[0])

    def header() -> tuple[str, ...]:
        with refuse_unreadable(name):
            if read is _npz_blocks:
                return _npz_names(files[0])
            if read is _tar_blocks:
                return _tar_names(files[0])
            return tuple(next(read(files[0], None), {}))

    def blocks(columns: Sequence[str] | None) -> Iterator[Block]:
        for file in files:
            with refuse_unreadable(name):
                yield from read(file, columns)

    return RowSource(name, header, blocks, whole=whole)


@contextmanager
def refuse_unreadable(name: str) -> Iterator[None]:
    """Turn any error of a library about a damaged file into a refusal."""
    try:
        yield
    except (EvidenceError, MemoryError):
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError, OSError, RuntimeError) as error:
        got = printable(f"{type(error).__name__}: {error}", 120)
        raise UnsafeInputError(f"source {name!r}", got, "columns that can be read") from error


def _reader(suffix: str) -> Blocks:
    if suffix == ".parquet":
        return _parquet_blocks
    return {".tar": _tar_blocks, ".npz": _npz_blocks}.get(suffix, _arrow_blocks)


def _files(address: str | Path) -> list[RowFile]:
    """Return the files of an address: itself, those of a saved data set, or all in the folder."""
    text = str(address)
    store = Store.at(address)
    folder, _, name = text.rstrip("/").rpartition("/")
    if PurePosixPath(name).suffix.lower() in SUFFIXES and not (
        store.local is not None and store.local.is_dir()
    ):
        return [(Store.at(folder or ("/" if text.startswith("/") else ".")), name)]
    if store.local is not None and not store.local.is_dir():
        got = f"a file {PurePosixPath(name).suffix!r}" if store.local.exists() else "nothing there"
        raise EvidenceError(f"{name!r}", got, f"{', '.join(SUFFIXES)}, or a folder of such")
    names = store.names()
    if "state.json" in names:
        return [(store, file) for file in _saved_data_set(store)]
    if "dataset_dict.json" in names:
        splits = sorted({n.partition("/")[0] for n in names if n.endswith("/state.json")})
        first = splits[0] if splits else "train"
        raise EvidenceError(f"data set {name!r}", f"the splits {', '.join(splits)}", "one of them",
                            f"Give {text.rstrip('/')}/{first}.")  # fmt: skip
    rows = [n for n in names if PurePosixPath(n).suffix.lower() in SUFFIXES]
    if not rows:
        raise EvidenceError(f"folder {name!r}", "no files of rows", f"{', '.join(SUFFIXES)}")
    return [(store, file) for file in rows]


def _saved_data_set(store: Store) -> list[str]:
    """Return the files of a Hugging Face data set written by ``save_to_disk``."""
    what = f"state.json of {str(store)!r}"
    state = json_from(store.read("state.json", MAX_STATE_BYTES), "state.json")
    files = state.get("_data_files") if isinstance(state, dict) else None
    if not isinstance(files, list) or not files or len(files) > 1_000_000:
        raise UnsafeInputError(what, "no list of files", "what save_to_disk writes")
    if state.get("_indices_data_files") or state.get("_indices_files"):
        raise UnsafeInputError(what, "rows in another order than the files", "plain rows",
                           "Save it again after flatten_indices().")  # fmt: skip
    names = [file.get("filename") if isinstance(file, dict) else None for file in files]
    for name in names:
        if not isinstance(name, str) or not name.endswith(".arrow") or "/" in name:
            raise UnsafeInputError(what, f"the file {name!r}", "names of .arrow files beside it")
    return [str(name) for name in names]


def _parquet_blocks(file: RowFile, columns: Sequence[str] | None) -> Iterator[Block]:
    what = f"{file[1]!r}"
    with open_stream(*file) as stream:
        rows = open_parquet_rows(stream, what)
        yield from read_arrow_blocks(rows.batches(columns), columns, what, rows.schema)


def _arrow_blocks(file: RowFile, columns: Sequence[str] | None) -> Iterator[Block]:
    what = f"{file[1]!r}"
    with open_stream(*file) as stream, read_arrow_rows(stream, what) as (_, batches):
        yield from read_arrow_blocks(batches, columns, what)


def _tar_blocks(file: RowFile, columns: Sequence[str] | None) -> Iterator[Block]:
    what = f"{file[1]!r}"
    with open_stream(*file) as stream:
        yield from batch_samples(read_tar_samples(stream, what, columns), columns, what)


def _tar_names(file: RowFile) -> tuple[str, ...]:
    with open_stream(*file) as stream:
        return tuple(next(read_tar_samples(stream, f"{file[1]!r}"), {}))


def _npz_names(file: RowFile) -> tuple[str, ...]:
    with open_stream(*file) as stream, list_npz_members(stream, file[1]) as members:
        return tuple(members)


def _npz_array(file: RowFile, name: str) -> np.ndarray:
    with open_stream(*file) as stream, list_npz_members(stream, file[1]) as members:
        member = members[name]
        what = f"array {name!r} of {file[1]!r}"
        check_memory(member.size, what)
        if not member.shape or member.by_columns:
            raise UnsafeInputError(what, "no rows one after another", "C order, an axis")
        with open_member(member, what) as part:
            return read_next_rows(part, member, member.shape[0], what)


def _npz_blocks(file: RowFile, columns: Sequence[str] | None) -> Iterator[Block]:
    """Yield rows of several arrays, each unpacked as it is needed."""
    with ExitStack() as stack:
        stream = stack.enter_context(open_stream(*file))
        members = stack.enter_context(list_npz_members(stream, file[1]))
        chosen = {n: m for n, m in members.items() if columns is None or n in columns}
        lengths = {name: m.shape[0] if m.shape else 0 for name, m in chosen.items()}
        if len(set(lengths.values())) > 1:
            raise UnsafeInputError(
                f"arrays {file[1]!r}", f"lengths {lengths}", "as many rows in each"
            )
        streams = {
            name: stack.enter_context(open_member(member, _member_name(name, file)))
            for name, member in chosen.items()
        }
        rows = max(lengths.values(), default=0)
        step = _step(chosen, rows)
        size = step * sum(member.size for member in chosen.values()) // max(rows, 1)
        check_memory(size, f"{step:,} rows of {file[1]!r}")
        for start in range(0, rows, step):
            count = min(step, rows - start)
            yield to_block({
                name: read_next_rows(streams[name], member, count, _member_name(name, file))
                for name, member in chosen.items()
            })  # fmt: skip


def _member_name(name: str, file: RowFile) -> str:
    return f"array {name!r} of {file[1]!r}"


def _step(members: dict[str, NpzMember], rows: int) -> int:
    size = sum(member.size for member in members.values())
    return max(min(ROWS, min(BLOCK_BYTES, get_memory_limit() // 4) * rows // max(size, 1)), 1)
