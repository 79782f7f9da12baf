"""Files made to harm whoever reads them. Each would leave a canary if a reader ran what it says.

Every maker writes into a folder of its own and gives the arguments of the command that reads it.
Nothing of this is kept: the files are made when the tests run.
"""

import io
import json
import os
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from theodolite._planted.concepts import planted_locations
from theodolite.evidence.files import save

Maker = Callable[[Path, Path], list[str]]
"""A folder to write into, and where the canary would appear -> arguments of the command."""
CORPUS: dict[str, Maker] = {}


class Payload:
    """Unpickling this makes a folder."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, (str(self.canary),))


def case(name: str) -> Callable[[Maker], Maker]:
    def add(maker: Maker) -> Maker:
        CORPUS[name] = maker  # again, where the tests' modules are looked through for examples
        return maker

    return add


def cases(group: str, makers: dict[str, Callable[[Path], bytes]], read: Callable[..., Any]) -> None:
    """Several files that are read in one way: ``read`` puts the bytes in place."""
    for name, content in makers.items():

        def make(folder: Path, canary: Path, content: Any = content) -> list[str]:
            result: list[str] = read(folder, content(canary))
            return result

        CORPUS[f"{group}: {name}"] = make


def npy(header: str, body: bytes = b"") -> bytes:
    raw = header.encode() + b"\n"
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(raw)) + raw + body


def pickled_npy(canary: Path) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([[Payload(canary)]], object), allow_pickle=True)
    return stream.getvalue()


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def plain_npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(array), allow_pickle=False)
    return stream.getvalue()


def as_evidence(file: str) -> Callable[[Path, bytes], list[str]]:
    """One file of stored evidence is replaced."""

    def place(folder: Path, content: bytes) -> list[str]:
        save(planted_locations(8, 5).explained, folder / "given")
        assert (folder / "given" / file).is_file()
        (folder / "given" / file).write_bytes(content)
        return ["audit", str(folder / "given")]

    return place


def as_file(name: str) -> Callable[[Path, bytes], list[str]]:
    def place(folder: Path, content: bytes) -> list[str]:
        (folder / name).write_bytes(content)
        return ["audit", str(folder / name)]

    return place


def bomb(canary: Path) -> bytes:
    """Three kilobytes that say they unpack to three gigabytes."""
    raw = bytearray(zipped({"values.npy": plain_npy(np.zeros(1 << 19))}, zipfile.ZIP_DEFLATED))
    for start in (raw.index(b"PK\x03\x04") + 22, raw.index(b"PK\x01\x02") + 24):
        struct.pack_into("<I", raw, start, 3 << 30)
    return bytes(raw)


HUGE = "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999, 99999999), }"
CALL = "{'descr': __import__('os').mkdir('CANARY'), 'fortran_order': False, 'shape': (1,), }"
cases("npy", {
    "pickled objects": pickled_npy,
    "huge shape": lambda canary: npy(HUGE),
    "long header": lambda canary: npy(HUGE + " " * 200_000),
    "expression in the header": lambda canary: npy(CALL.replace("CANARY", str(canary)), bytes(8)),
    "nested header": lambda canary: npy("[" * 9000),
    "a bare pickle": lambda canary: pickle.dumps(Payload(canary)),
}, as_evidence("values.npy"))  # fmt: skip
cases("npz", {
    "pickled objects": lambda canary: zipped({"values.npy": pickled_npy(canary)}),
    "bomb": bomb,
    "path that leaves": lambda canary: zipped({"../../values.npy": plain_npy(np.eye(3))}),
    "absolute path": lambda canary: zipped({f"{canary}.npy": plain_npy(np.eye(3))}),
    "member that is a pickle": lambda canary: zipped({"values": pickle.dumps(Payload(canary))}),
    "a bare pickle": lambda canary: pickle.dumps(Payload(canary)),
}, as_file("x.npz"))  # fmt: skip


def tensors(header: Any, body: bytes = b"") -> bytes:
    raw = json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + body


F8 = {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}
BLOATED = b"{" + b" " * (11 << 20) + b"}"
SAFETENSORS: dict[str, Callable[[Path], bytes]] = {
    "bloated header": lambda canary: struct.pack("<Q", len(BLOATED)) + BLOATED,
    "header past the end": lambda canary: struct.pack("<Q", 1 << 60) + b"{}",
    "overlapping": lambda canary: tensors({"a": F8, "b": F8}, bytes(8)),
    "past the end": lambda canary: tensors({"a": F8 | {"data_offsets": [0, 1 << 40]}}, bytes(8)),
    "more than is there": lambda canary: tensors({"a": F8 | {"shape": [1 << 60]}}, bytes(8)),
    "a pickle": lambda canary: pickle.dumps(Payload(canary)),
}
cases("safetensors", SAFETENSORS, as_file("x.safetensors"))


def parquet(field: pa.Field, values: list[Any]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table({"index": values}, schema=pa.schema([field])), stream)
    return stream.getvalue()


def marked(canary: Path, name: str = "ray.data.arrow_tensor_v2") -> pa.Field:
    about = {
        "ARROW:extension:name": name,
        "ARROW:extension:metadata": pickle.dumps(Payload(canary)),
    }
    return pa.field("index", pa.int64(), metadata=about)


def nested(canary: Path) -> bytes:
    inner = marked(canary).with_name("x")
    field = pa.field("index", pa.struct([pa.field("y", pa.list_(inner))]))
    return parquet(field, [{"y": [1]}])


def words(canary: Path) -> bytes:
    """A word of a mebibyte, used 100,000 times."""
    column = pa.DictionaryArray.from_arrays(np.zeros(100_000, np.int32), ["x" * (1 << 20)])
    stream = io.BytesIO()
    pq.write_table(pa.table({"id": column}), stream, compression="zstd")
    return stream.getvalue()


def end(content: bytes, length: int) -> bytes:
    return content[:-8] + struct.pack("<I", length) + b"PAR1"


PARQUET: dict[str, Callable[[Path], bytes]] = {
    "a type of ray's": lambda canary: parquet(marked(canary), [1]),
    "pickled objects of ray's": lambda canary: parquet(
        marked(canary, "ray.data.arrow_pickled_object"), [1]
    ),
    "a nested type": nested,
    "pyarrow's old pickled type": lambda canary: parquet(
        marked(canary, "arrow.py_extension_type"), [1]
    ),
    "repeated word": words,
    "broken footer": lambda canary: b"PAR1" + bytes(range(256)) + struct.pack("<I", 256) + b"PAR1",
    "footer longer than the file": lambda canary: end(
        parquet(pa.field("index", pa.int64()), [1]), 1 << 31
    ),
    "cut off": lambda canary: parquet(pa.field("index", pa.int64()), [1])[:-9],
    "a pickle": lambda canary: pickle.dumps(Payload(canary)),
}
cases("parquet", PARQUET, as_evidence("samples.parquet"))
cases("json", {
    "deep nesting": lambda canary: b"[" * 200_000,
    "deep objects": lambda canary: b'{"a":' * 200_000,
    "not UTF-8": lambda canary: b'{"a": "\xff\xfe"}',
    "a list": lambda canary: b"[1]",
    "array that leaves": lambda canary: json.dumps({
        "format": "theodolite-evidence", "format_version": 1, "kind": "concept", "kind_version": 1,
        "samples": 1, "axes": {}, "inner": {},
        "arrays": {"../../x": {"encoding": "dense", "dtype": "<f8", "shape": [1, 1]}},
    }).encode(),
}, as_evidence("header.json"))  # fmt: skip


def png(size: tuple[int, int]) -> bytes:
    """An image that says how large it is and holds nothing."""

    def chunk(kind: bytes, body: bytes) -> bytes:  # fmt: skip
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", *size, 8, 2, 0, 0, 0))
    return (
        b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(99))) + chunk(b"IEND", b"")
    )


def gif(canary: Path) -> bytes:
    stream = io.BytesIO()
    Image.new("L", (8, 8)).save(stream, "GIF")
    return stream.getvalue()


def as_image(folder: Path, content: bytes) -> list[str]:
    (folder / "a.png").write_bytes(content)
    (folder / "samples.csv").write_text("image,class,c\na.png,x,1\n")
    return ["data", "check", "folder", str(folder)]


cases("image", {
    "bomb": lambda canary: png((60_000, 60_000)),
    "EPS": lambda canary: (
        f"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n({canary}) (w) file\n".encode()
    ),
    "PDF": lambda canary: b"%PDF-1.4\n1 0 obj\n<</JS (app.launchURL)>>\nendobj\n",
    "SVG": lambda canary: b'<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>',
    "GIF": gif,
    "a pickle": lambda canary: pickle.dumps(Payload(canary)),
}, as_image)  # fmt: skip


def as_listed(folder: Path, name: bytes) -> list[str]:
    """An image by a name that someone else wrote."""
    (folder / "data").mkdir()
    (folder / "secret.png").write_bytes(png((1, 1)))
    (folder / "data" / "link.png").symlink_to(folder / "secret.png")
    text = b"image,class,c\n" + name.replace(b"FOLDER", str(folder).encode()) + b",x,1\n"
    (folder / "data" / "samples.csv").write_bytes(text)
    return ["data", "check", "folder", str(folder / "data")]


LISTED = {
    "..": b"../secret.png", "absolute": b"FOLDER/secret.png", "link": b"link.png",
    "NUL": b"a\0.png", "address": b"https://host/a.png", "file address": b"file://FOLDER/secret.png",
    "backslash": b"..\\secret.png", "home": b"~/x.png",
}  # fmt: skip
cases("table", {k: (lambda canary, v=v: v) for k, v in LISTED.items()}, as_listed)
