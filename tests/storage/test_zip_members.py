"""Archives: plain members come through, and what could fill memory or mislead is refused."""

import io
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from theodolite._storage import zip_members
from theodolite._storage.images import parse_image
from theodolite._storage.zip_members import read_zip_members
from theodolite.errors import UnsafeInputError

STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED


def packed(path: Path, members: dict[str, bytes], method: int = DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def tampered(path: Path, change: Callable[[bytearray, int, int], None]) -> Path:
    """Change the header of the only member, given where its two copies begin."""
    raw = bytearray(path.read_bytes())
    change(raw, raw.index(b"PK\x03\x04"), raw.index(b"PK\x01\x02"))
    path.write_bytes(raw)
    return path


@pytest.mark.parametrize("method", [STORED, DEFLATED])
def test_members_come_through_in_order(tmp_path: Path, method: int) -> None:
    members = {"b/x.txt": b"one" * 1000, "a.txt": b"", "b/": b"", "c": bytes(60_000)}
    result = read_zip_members(packed(tmp_path / "x.zip", members, method))
    del members["b/"]
    assert list(result.items()) == list(members.items())


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "a\\b", "C:x", "~/x"])
def test_names_that_leave_the_archive_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnsafeInputError, match="a relative path"):
        read_zip_members(packed(tmp_path / "x.zip", {"a": b"", name: b"x"}))


def test_a_name_that_goes_on_after_a_nul_is_refused(tmp_path: Path) -> None:
    path = packed(tmp_path / "x.zip", {"aXb": b"x"})
    path.write_bytes(path.read_bytes().replace(b"aXb", b"a\0b"))
    with pytest.raises(UnsafeInputError, match="a NUL"):
        read_zip_members(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a", b"1")
        archive.writestr("a", b"2")
    with pytest.raises(UnsafeInputError, match="two members of one name"):
        read_zip_members(tmp_path / "x.zip")


def test_encrypted_members_are_refused(tmp_path: Path) -> None:
    def encrypt(raw: bytearray, local: int, central: int) -> None:
        raw[local + 6] |= 1
        raw[central + 8] |= 1

    with pytest.raises(UnsafeInputError, match="an encrypted member"):
        read_zip_members(tampered(packed(tmp_path / "x.zip", {"a": b"x"}), encrypt))


def test_rare_compression_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsafeInputError, match="compression method 14"):
        read_zip_members(packed(tmp_path / "x.zip", {"a": b"x"}, zipfile.ZIP_LZMA))


@pytest.mark.parametrize(
    ("limit", "says"),
    [("MAX_MEMBERS", "2 members"), ("MAX_UNPACKED_BYTES", "bytes unpacked"),
     ("MAX_MEMBER_BYTES", "got 700 bytes")],
)  # fmt: skip
def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, says: str) -> None:
    path = packed(tmp_path / "x.zip", {"a": bytes(700), "b": b""})
    read_zip_members(path)
    monkeypatch.setattr(zip_members, limit, 1 if limit == "MAX_MEMBERS" else 699)
    with pytest.raises(UnsafeInputError, match=says):
        read_zip_members(path)


def test_an_archive_that_is_too_large_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = packed(tmp_path / "x.zip", {"a": b"x"})
    monkeypatch.setattr(zip_members, "MAX_UNPACKED_BYTES", 9)
    monkeypatch.delattr(zipfile, "ZipFile")
    with pytest.raises(UnsafeInputError, match="needed at most 9"):
        read_zip_members(path)


def test_bombs_are_refused_before_they_go_off(tmp_path: Path) -> None:
    path = packed(tmp_path / "x.zip", {"a": bytes(1 << 20)})
    with pytest.raises(UnsafeInputError, match="that unpack to 1,048,576"):
        read_zip_members(path)


def test_a_bomb_that_lies_about_its_size_yields_no_more_than_it_says(tmp_path: Path) -> None:
    def shrink(raw: bytearray, local: int, central: int) -> None:
        struct.pack_into("<I", raw, local + 22, 1000)
        struct.pack_into("<I", raw, central + 24, 1000)

    path = tampered(packed(tmp_path / "x.zip", {"a": bytes(1 << 26)}), shrink)
    tracemalloc.start()
    try:
        with pytest.raises(UnsafeInputError, match="a broken archive"):
            read_zip_members(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 21
    finally:
        tracemalloc.stop()


def test_a_member_that_is_shorter_than_it_says_is_refused(tmp_path: Path) -> None:
    def grow(raw: bytearray, local: int, central: int) -> None:
        struct.pack_into("<I", raw, central + 24, 1001)

    path = tampered(packed(tmp_path / "x.zip", {"a": bytes(1000)}), grow)
    with pytest.raises(UnsafeInputError, match="got 1,000 bytes; needed 1,001"):
        read_zip_members(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04not a zip", b"x" * 100])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.zip").write_bytes(content)
    with pytest.raises(UnsafeInputError, match="a broken archive"):
        read_zip_members(tmp_path / "x.zip")


def test_changed_bytes_are_noticed(tmp_path: Path) -> None:
    path = packed(tmp_path / "x.zip", {"a": b"some content"}, STORED)
    path.write_bytes(path.read_bytes().replace(b"some", b"same"))
    with pytest.raises(UnsafeInputError, match="a broken archive"):
        read_zip_members(path)


def image(kind: str) -> bytes:
    stream = io.BytesIO()
    Image.new("L", (8, 4), 200).save(stream, kind)
    return stream.getvalue()


def test_images_from_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    result = parse_image(image("PNG"), "a.png")
    assert (result.size, result.mode, result.getpixel((0, 0))) == ((8, 4), "RGB", (200, 200, 200))
    for content in (b"", b"<svg/>", image("GIF"), image("JPEG")[:100]):
        with pytest.raises(UnsafeInputError, match="image 'b': got something"):
            parse_image(content, "b")
    monkeypatch.setattr("theodolite._storage.images.MAX_PIXELS", 31)
    with pytest.raises(UnsafeInputError, match="8 x 4 pixels"):
        parse_image(image("PNG"), "a.png")
