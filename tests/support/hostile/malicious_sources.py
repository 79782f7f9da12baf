"""Tables, streams, tars and saved data sets made to harm, read by ``data store``. See ``malicious``.

Bombs are small here: the command may take a megabyte.
"""

import gzip
import io
import json
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

from support.hostile.malicious import PARQUET, case, cases, marked, pickled_npy, plain_npy, zipped

WRONG = {
    *(f"rows of parquet: {name}" for name in PARQUET if "type" in name or "pickled" in name),
    "rows of arrow: a type of ray's", "rows of arrow: a long word",
    "rows of arrow: runs", "rows of parquet: a long list",
}  # fmt: skip
"""Harmless once their types are not built, and then no evidence: exit code 2."""


def stored(path: Path, column: str = "values") -> list[str]:
    new = path.parent / "new"
    fields = [] if path.suffix == ".npz" else ["--fields", f"values={column}"]
    return ["data", "store", str(path), str(new), *fields, "--max-memory", "1MB"]


def as_rows(name: str, column: str = "values") -> Callable[[Path, bytes], list[str]]:
    def place(folder: Path, content: bytes) -> list[str]:
        (folder / name).write_bytes(content)
        return stored(folder / name, column)

    return place


def columns(values: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table({"values": values}), stream, **options)
    return stream.getvalue()


def zeros(n: int = 1 << 20) -> Any:
    return pa.FixedSizeListArray.from_arrays(np.zeros(n), 2)


def prefixes(canary: Path) -> bytes:
    words = ["x" * 100_000] * 64
    plain = {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}
    return columns(words, compression="zstd", **plain)


def lying_page(canary: Path) -> bytes:
    """A page that says it is larger than the footer says."""
    whole = columns(np.zeros(1 << 17), compression="zstd", use_dictionary=False)
    raw = bytearray(whole)
    assert raw[4:7] == b"\x15\x00\x15"  # a data page, then how much it unpacks to
    raw[7:10] = b"\xff\xff\x7f"
    return bytes(raw)


PARQUET_ROWS: dict[str, Callable[[Path], bytes]] = {
    "zeros": lambda canary: columns(zeros(), compression="zstd", use_dictionary=False),
    "one value, repeated": lambda canary: columns(np.zeros(1 << 19), compression="zstd"),
    "a long list": lambda canary: columns([[0.0] * (1 << 13), *[[0.0]] * 50]),
    "a longer list": lambda canary: columns([[0.0] * (1 << 18), *[[0.0]] * 50]),
    "text in delta encoding": prefixes,
    "a page that lies": lying_page,
}
cases("rows of parquet", PARQUET_ROWS, as_rows("x.parquet"))
cases("rows of parquet", PARQUET, as_rows("x.parquet", "index"))


def messages(table: pa.Table, compression: str | None = None) -> bytes:
    stream = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(stream, table.schema, options=options) as writer:
        writer.write_table(table)
    return stream.getvalue()


def more_rows(canary: Path) -> bytes:
    """A batch that says it has more rows than its buffers hold."""
    content = messages(pa.table({"values": np.arange(1000.0)}))
    few, many = struct.pack("<q", 1000), struct.pack("<q", 1 << 40)
    assert few in content
    return content.replace(few, many)


def feathered(canary: Path) -> bytes:
    stream = io.BytesIO()
    feather.write_feather(pa.table({"values": zeros()}), stream, compression="zstd")
    return stream.getvalue()


def word(canary: Path) -> bytes:
    column = pa.DictionaryArray.from_arrays(np.zeros(1000, np.int32), ["x" * 100_000])
    return messages(pa.table({"values": column}))


ARROW: dict[str, Callable[[Path], bytes]] = {
    "zeros": lambda canary: messages(pa.table({"values": zeros()}), "zstd"),
    "zeros in feather": feathered,
    "a type of ray's": lambda canary: messages(
        pa.table({"values": [1]}, schema=pa.schema([marked(canary).with_name("values")]))
    ),
    "a long word": word,
    "runs": lambda canary: messages(
        pa.table({"values": pa.RunEndEncodedArray.from_arrays([1 << 30], [0.0])})
    ),
    "more rows than bytes": more_rows,
    "cut off": lambda canary: messages(pa.table({"values": np.arange(1000.0)}))[:-900],
    "a long head": lambda canary: b"\xff" * 4 + struct.pack("<I", 1 << 30) + bytes(100),
    "no message": lambda canary: b"ARROW1\0\0" + b"\xff" * 4 + struct.pack("<I", 64) + b"\x7f" * 64,
}  # fmt: skip
cases("rows of arrow", ARROW, as_rows("x.arrow"))


def tarred(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content) if content else None)
    return stream.getvalue()


def member(name: str, content: bytes = b"", kind: bytes = b"0", link: str = "") -> Any:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(content), kind, link
    return info, content


def one(name: str, content: bytes) -> Callable[[Path], bytes]:
    return lambda canary: tarred(member(name, content))


def huge_head(canary: Path) -> bytes:
    return tarred(member("h", b"x" * (2 << 20), b"x"), member("0.values.npy", plain_npy([1.0])))


def past_the_end(canary: Path) -> bytes:
    info, _ = member("0.values.npy")
    info.size = 1 << 40
    return info.tobuf(tarfile.GNU_FORMAT) + bytes(1024)


ROW = plain_npy(np.zeros(2))
TAR: dict[str, Callable[[Path], bytes]] = {
    "a link": lambda canary: tarred(member("0.values.npy", kind=b"2", link="/etc/passwd")),
    "a hard link": lambda canary: tarred(member("0.values.npy", kind=b"1", link="../../x")),
    "a device": lambda canary: tarred(member("0.values.npy", kind=b"3")),
    "a pipe": lambda canary: tarred(member("0.values.npy", kind=b"6")),
    "a sparse file": lambda canary: tarred(member("0.values.npy", ROW, b"S")),
    "a sparse file by its header": lambda canary: tarred(
        member("h", b"22 GNU.sparse.major=1\n", b"x"), member("0.values.npy", ROW)
    ),
    "an absolute path": lambda canary: tarred(member(f"{canary}.values.npy", ROW)),
    "a path that leaves": lambda canary: tarred(member("../../0.values.npy", ROW)),
    "a path that leaves, by its header": lambda canary: tarred(
        member("h", b"27 path=../../0.values.npy\n", b"x"), member("0.values.npy", ROW)
    ),
    "a huge header": huge_head,
    "a broken header": lambda canary: tarred(member("h", b"99 path=x\n", b"x")),
    "past the end": past_the_end,
    "packed": lambda canary: gzip.compress(tarred(member("0.values.npy", ROW))),
    "no tar": lambda canary: b"\x01" * 2048,
    "pickled objects": lambda canary: tarred(member("0.values.npy", pickled_npy(canary))),
    "a bomb": lambda canary: tarred(
        member("0.npz", zipped({"values.npy": plain_npy(np.zeros(1 << 19))}, 8))
    ),
    "a large file": one("0.values.npy", plain_npy(np.zeros(1 << 18))),
    "deep nesting": one("0.json", b"[" * 200_000),
    "no number": one("0.values.cls", b"__import__('os')"),
}  # fmt: skip
cases("rows of tar", TAR, as_rows("x.tar"))


def saved(state: Any) -> Callable[[Path, Path], list[str]]:
    def make(folder: Path, canary: Path) -> list[str]:
        (folder / "saved").mkdir()
        (folder / "x.arrow").write_bytes(messages(pa.table({"values": zeros(8)})))
        (folder / "saved" / "linked.arrow").symlink_to(folder / "x.arrow")
        text = state if isinstance(state, str) else json.dumps(state)
        (folder / "saved" / "state.json").write_text(text)
        return stored(folder / "saved")

    return make


for name, state in {
    "a file that leaves": {"_data_files": [{"filename": "../x.arrow"}]},
    "an absolute file": {"_data_files": [{"filename": "/etc/passwd.arrow"}]},
    "a link": {"_data_files": [{"filename": "linked.arrow"}]},
    "a missing file": {"_data_files": [{"filename": "none.arrow"}]},
    "no file's name": {"_data_files": [{"filename": {"a": 1}}, 7]},
    "no list": {"_data_files": {"filename": "x.arrow"}},
    "deep nesting": "[" * 200_000,
}.items():
    case(f"saved data set: {name}")(saved(state))


@case("npz: zeros that fill the memory")
def packed_zeros(folder: Path, canary: Path) -> list[str]:
    np.savez_compressed(folder / "x.npz", values=np.zeros((1 << 16, 4)))
    return ["audit", str(folder / "x.npz"), "--max-memory", "1MB"]


@case("npz: numbers that grow")
def growing(folder: Path, canary: Path) -> list[str]:
    np.savez_compressed(folder / "x.npz", values=np.zeros((1 << 15, 8), np.int8))
    return ["audit", str(folder / "x.npz"), "--max-memory", "1MB"]


@case("npz: one row that fills the memory")
def long_row(folder: Path, canary: Path) -> list[str]:
    np.savez_compressed(folder / "x.npz", values=np.zeros((1, 1 << 18)))
    return stored(folder / "x.npz")


@case("table: zeros that fill the memory")
def packed_table(folder: Path, canary: Path) -> list[str]:
    pq.write_table(
        pa.table({"p_a": np.zeros(1 << 18), "p_b": np.zeros(1 << 18)}), folder / "x.parquet"
    )
    return ["audit", str(folder / "x.parquet"), "--values", "p_*", "--max-memory", "1MB"]
