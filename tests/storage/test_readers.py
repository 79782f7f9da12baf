"""Readers: what is plain comes through, what could harm is refused and never run."""

import gzip
import io
import json
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from safetensors.numpy import save_file

from theodolite._storage.arrays import read_npy, read_npz, read_safetensors, write_npy
from theodolite._storage.images import encode_jpeg, image_size, read_image, read_mask
from theodolite._storage.paths import all_or_nothing, confined, sha256_of
from theodolite._storage.tables import read_parquet, write_parquet
from theodolite._storage.text import read_csv, read_json, read_json_lines, read_yaml, write_json
from theodolite.errors import UnsafeInputError


class Bomb:
    """Unpickling this leaves a trace."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, (str(self.canary),))


@pytest.fixture
def canary(tmp_path: Path) -> Any:
    path = tmp_path / "canary"
    yield path
    assert not path.exists(), "something that was read was run"


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../x", "a/../../x", "a\\b", "C:x", "file:///etc/passwd", "", "a\0b", "~/x", "..",
     "s3://bucket/x"],
)  # fmt: skip
def test_paths_stay_inside(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnsafeInputError, match="relative path below"):
        confined(tmp_path, name)


def test_links_may_not_leave(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "out").symlink_to("/etc")
    (inside / "near").symlink_to(inside / "b")
    with pytest.raises(UnsafeInputError, match="leaves the folder"):
        confined(inside, "out/passwd")
    assert confined(inside, "near") == (inside / "b").resolve()


@given(name=st.text(max_size=30))
def test_whatever_the_name_the_file_is_inside(name: str) -> None:
    root = Path("/nonexistent/root")
    try:
        result = confined(root, name)
    except UnsafeInputError:
        return
    assert result == root or root in result.parents


def npy_with_header(header: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x93NUMPY",
        npy_with_header(b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n") + b"junk",
        npy_with_header(b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n") + b"\0" * 9,
        npy_with_header(b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n")
        + b"\0" * 99,
        npy_with_header(
            b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999,), }\n"
        ),
        npy_with_header(b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }\n"),
        npy_with_header(b"{'descr': '<f8', 'fortran_order': False, 'shape': 'x', }\n"),
        npy_with_header(b"{" * 9000),
        npy_with_header(b"{'descr': '<f8', 'x': " + b" " * 20_000 + b"}\n"),
        b"PK\x03\x04not a zip",
    ],
)
def test_broken_arrays_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    with pytest.raises(UnsafeInputError):
        read_npy(path)
    with pytest.raises(UnsafeInputError):
        read_npz(path)


def test_pickled_arrays_are_refused_and_not_run(tmp_path: Path, canary: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([Bomb(canary)], object), allow_pickle=True)
    np.savez(tmp_path / "x.npz", a=np.array([Bomb(canary)], object), allow_pickle=True)
    for read, name in ((read_npy, "x.npy"), (read_npz, "x.npz")):
        with pytest.raises(UnsafeInputError, match="could run code"):
            read(tmp_path / name)


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("array", [np.arange(6.0).reshape(2, 3), np.zeros((0, 3)), np.array(3)])
def test_arrays_come_through(tmp_path: Path, mapped: bool, array: np.ndarray) -> None:
    write_npy(tmp_path / "x.npy", array)
    result = read_npy(tmp_path / "x.npy", mapped=mapped)
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, array, strict=True)


def test_zip_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEODOLITE_MOST_MEMORY", "1KB")
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros(10_000))
    with pytest.raises(UnsafeInputError, match="bytes unpacked"):
        read_npz(tmp_path / "x.npz")


def test_archives_that_lie_about_their_size_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", b"short")
    with pytest.raises(UnsafeInputError):
        read_npz(path)


def safetensors_bytes(header: Any, body: bytes = b"") -> bytes:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + body


F8 = {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"1234567",
        struct.pack("<Q", 1 << 40),
        struct.pack("<Q", 11 << 20) + b" " * (11 << 20),
        safetensors_bytes(b"{"),
        safetensors_bytes([]),
        safetensors_bytes({"a": F8}, b"\0" * 4),
        safetensors_bytes({"a": F8, "b": F8}, b"\0" * 8),
        safetensors_bytes({"a": F8 | {"shape": [3]}}, b"\0" * 8),
        safetensors_bytes({"a": F8 | {"dtype": "Q9"}}, b"\0" * 8),
    ],
)
def test_broken_weights_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    with pytest.raises(UnsafeInputError):
        read_safetensors(path)


def test_weights_come_through(tmp_path: Path) -> None:
    save_file({"a": np.ones((2, 2), np.float16)}, tmp_path / "x.safetensors")
    assert read_safetensors(tmp_path / "x.safetensors")["a"].dtype == np.float16


@pytest.mark.parametrize(
    "text",
    [
        "a: !!python/object/apply:os.mkdir ['canary']",
        "a: &x [1]\nb: *x",
        "a: [",
        "a: &a [*a, *a]",
        "\x00",
        "a: 2026-99-99",
        "{" * 5000,
    ],
)
def test_yaml_that_does_more_than_hold_data_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(UnsafeInputError):
        read_yaml(path)
    assert not Path("canary").exists()


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("a: 1\nb: 2\na: 3", "'a'", 3),
        ("x:\n  - {b: 1, c: 2,\n     b: 1}", "'b'", 3),
        ("yes: 1\ntrue: 2", "True", 2),
    ],
)
def test_a_key_that_comes_twice_is_refused(tmp_path: Path, text: str, key: str, line: int) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(UnsafeInputError, match=f"the key {key} twice, again in line {line}"):
        read_yaml(path)


def test_keys_may_come_again_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: {a: 1}\nb: [{a: 1}, {a: 2}]\n1: x\n'1': y")
    assert read_yaml(path) == {"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}], 1: "x", "1": "y"}


def test_large_yaml_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("#" * (1 << 20) + "\n")
    with pytest.raises(UnsafeInputError, match="at most"):
        read_yaml(path)


def test_json_has_one_way_to_be_written(tmp_path: Path) -> None:
    write_json(tmp_path / "a", {"b": float("nan"), "a": (1, 2.5)})
    write_json(tmp_path / "b", {"a": [1, 2.5], "b": None})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert read_json(tmp_path / "a") == {"a": [1, 2.5], "b": None}


@pytest.mark.parametrize("text", ["", "a,a\n1,2\n", "a,b\n1\n", 'a,b\n"1,2\n'])
def test_broken_csv_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(UnsafeInputError):
        list(read_csv(path))


def test_csv_comes_through(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes('\ufeffname,n\r\n"a, b",1\r\n\r\n'.encode())
    assert list(read_csv(path)) == [{"name": "a, b", "n": "1"}]


def test_tables_come_through(tmp_path: Path) -> None:
    write_parquet(tmp_path / "t.parquet", {"a": [1, 2], "b": ["x", None]})
    assert read_parquet(tmp_path / "t.parquet") == {"a": [1, 2], "b": ["x", None]}


def test_extension_types_are_refused(tmp_path: Path) -> None:
    named = pa.field("a", pa.int64(), metadata={"ARROW:extension:name": "ray.data.arrow_tensor"})
    pq.write_table(pa.table({"a": [1]}, schema=pa.schema([named])), tmp_path / "t.parquet")
    with pytest.raises(UnsafeInputError, match="extension types"):
        read_parquet(tmp_path / "t.parquet")


def image_bytes(kind: str, size: tuple[int, int] = (8, 4)) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", size, (200, 10, 10)).save(stream, kind)
    return stream.getvalue()


@pytest.mark.parametrize(
    "content",
    [b"", b"<svg/>", image_bytes("GIF"), image_bytes("TIFF"), image_bytes("PNG")[:40],
     image_bytes("JPEG")[:100], b"%!PS-Adobe-3.0 EPSF-3.0\n"],
)  # fmt: skip
def test_what_is_not_a_plain_image_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.png"
    path.write_bytes(content)
    with pytest.raises(UnsafeInputError):
        read_image(path)


def test_huge_images_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("theodolite._storage.images.MAX_PIXELS", 31)
    path = tmp_path / "x.png"
    path.write_bytes(image_bytes("PNG"))
    with pytest.raises(UnsafeInputError, match="8 x 4 pixels"):
        read_image(path)


def test_images_come_through(tmp_path: Path) -> None:
    path = tmp_path / "x.png"
    path.write_bytes(image_bytes("PNG"))
    assert read_image(path).size == (8, 4)
    assert image_size(path) == (4, 8)
    assert not read_mask(path).any()
    small = Image.open(io.BytesIO(encode_jpeg(read_image(path), longest=4)))
    assert small.size == (4, 2)


def test_half_written_files_never_appear(tmp_path: Path) -> None:
    path = tmp_path / "x"

    def fail() -> None:
        with all_or_nothing(path) as stream:
            stream.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_digest_is_the_usual_one(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert sha256_of(tmp_path / "x").startswith("ba7816bf")


@pytest.mark.parametrize("read", [read_npy, read_npz, read_safetensors, read_json, read_image])
def test_a_missing_file_is_said_to_be_missing(tmp_path: Path, read: Callable[[Path], Any]) -> None:
    with pytest.raises(UnsafeInputError, match="nothing there"):
        read(tmp_path / "none")


@pytest.mark.parametrize(
    ("content", "limits", "says"),
    [
        (gzip.compress(b'{"a": 1}\n' * 50), {"most_lines": 49}, "more lines"),
        (gzip.compress(b'{"a": 1}\n' * 50), {"limit": 200}, "when unpacked"),
        (gzip.compress(b'{"a": 1}\n' * 50), {"longest": 5}, "a longer line, 1"),
        (gzip.compress(b"[" + b" " * (3 << 20)), {}, "a longer line, 1"),
        (b'{"a": 1}', {}, "a broken archive"),
        (gzip.compress(os.urandom(9999))[:-20], {}, "."),
        (gzip.compress(b'{"a": 1}\n\n{"a'), {}, "broken JSON"),
    ],
)
def test_json_lines_have_limits(
    content: bytes, limits: dict[str, int], says: str, tmp_path: Path
) -> None:
    path = tmp_path / "lines.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(UnsafeInputError, match=says):
        list(read_json_lines(path, **limits))


def test_json_lines_are_read_packed_or_plain(tmp_path: Path) -> None:
    for name, pack in (("a.jsonl.gz", gzip.compress), ("a.jsonl", bytes)):
        (tmp_path / name).write_bytes(pack(b'{"a": 1}\n\n[2]'))
        assert list(read_json_lines(tmp_path / name)) == [{"a": 1}, [2]]
