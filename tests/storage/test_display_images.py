"""Images from strangers: what is shown is made anew, and what is no image is refused."""

import io
import os
import stat
import struct
import subprocess
import time
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image, ImageOps, PngImagePlugin

from theodolite._storage import _image_process, display_images
from theodolite._storage.display_images import (
    DisplayImage,
    encode_drawing,
    shown_from,
)
from theodolite._storage.zip_members import read_zip_members
from theodolite.errors import UnsafeInputError

many = display_images.encode_untrusted_images


def shown_image(content: bytes, name: str, **options: int) -> DisplayImage:
    (image,) = many([(name, content)], **options)
    return image


def shown_images_of_zip(path: Path) -> dict[str, DisplayImage]:
    members = read_zip_members(path)
    return dict(zip(members, many(members.items()), strict=True))


def file_of(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def pattern(mode: str = "RGB", size: tuple[int, int] = (40, 24)) -> Image.Image:
    """Smooth, not symmetric: every turn of it is another image."""
    across, down = np.meshgrid(np.linspace(0, 200, size[0]), np.linspace(0, 100, size[1]))
    pixels = np.stack([across, down, 255 - across], axis=2).astype(np.uint8)
    return Image.fromarray(pixels).convert(mode)


def opened(found: DisplayImage) -> Image.Image:
    image = Image.open(io.BytesIO(found.content))
    assert image.size == found.size
    assert image.mode == "RGB"
    assert {"PNG": "png", "JPEG": "jpg"}[image.format] == found.suffix
    return image


def pixels(image: Image.Image) -> np.ndarray:
    return np.asarray(image).astype(int)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_pixels_are_kept(kind: str) -> None:
    options = {"lossless": True} if kind == "WEBP" else {"quality": 100} if kind == "JPEG" else {}
    result = shown_image(file_of(pattern(), kind, **options), "a")
    assert result.suffix == ("jpg" if kind == "JPEG" else "png")
    assert result.size == (40, 24)
    assert_allclose(pixels(opened(result)), pixels(pattern()), atol=12 if kind == "JPEG" else 0)


def test_large_ones_are_reduced_and_small_ones_left() -> None:
    content = file_of(pattern(size=(300, 150)), "PNG")
    assert shown_image(content, "a", longest=100).size == (100, 50)
    assert shown_image(content, "a").size == (300, 150)


def test_many_images_need_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    start = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *a, **o: started.append(start(*a, **o)) or started[-1]
    )
    files = [(f"{i}", file_of(pattern(size=(20 + i, 20)), "PNG")) for i in range(12)]
    assert [result.size for result in many(files)] == [(20 + i, 20) for i in range(12)]
    assert len(started) == 1
    assert started[0].poll() is not None, "the process is left running"


def test_the_process_ends_when_nobody_asks_on() -> None:
    files = [("a", file_of(pattern(), "PNG"))] * 3
    asked = many(files)
    next(asked)
    running = asked.gi_frame.f_locals["process"]._running
    asked.close()
    assert running.poll() is not None


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_what_is_appended_is_gone(kind: str) -> None:
    page = b"<html><script>alert(1)</script></html>"
    result = shown_image(file_of(pattern(), kind) + page, "a.png")
    assert b"script" not in result.content
    opened(result).load()


def exif_of_a_telephone() -> Image.Exif:
    exif = Image.Exif()
    exif[0x010F] = "Secret Maker"
    place = exif.get_ifd(0x8825)
    place[1], place[2], place[3], place[4] = "N", (52.0, 31.0, 12.0), "E", (13.0, 24.0, 36.0)
    return exif


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_metadata_are_gone(kind: str) -> None:
    more = {"icc_profile": b"secret profile"}
    if kind == "PNG":
        text = PngImagePlugin.PngInfo()
        text.add_text("Comment", "secret words", zip=False)
        text.add_itxt("XML:com.adobe.xmp", "secret words")
        more["pnginfo"] = text
    if kind == "JPEG":
        more["comment"] = b"secret words"
    content = file_of(pattern(), kind, exif=exif_of_a_telephone(), **more)
    assert Image.open(io.BytesIO(content)).getexif().get_ifd(0x8825)
    assert b"ecret" in content
    result = shown_image(content, "a")
    shown = opened(result)
    assert not shown.getexif()
    assert set(shown.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}
    assert b"ecret" not in result.content
    assert b"Exif" not in result.content


def test_cameras_held_sideways() -> None:
    files = []
    for number in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = number
        files.append((f"{number}", file_of(pattern(), "PNG", exif=exif)))
        files.append((f"{number}", file_of(pattern(), "WEBP", exif=exif, lossless=True)))
    turned = set()
    for (_, content), result in zip(files, many(files), strict=True):
        expected = ImageOps.exif_transpose(Image.open(io.BytesIO(content)))
        assert_array_equal(pixels(opened(result)), pixels(expected))
        turned.add(pixels(expected).tobytes())
    assert len(turned) == 8


def test_a_broken_orientation_is_none() -> None:
    content = file_of(pattern(), "JPEG", exif=b"Exif\0\0MM\0*\0\0\0\x08\xff\xff" + bytes(40))
    assert shown_image(content, "a").size == (40, 24)


def test_sixteen_bits() -> None:
    deep = np.linspace(0, 65535, 40 * 24).reshape(24, 40).astype(np.uint16)
    result = shown_image(file_of(Image.fromarray(deep), "PNG"), "a")
    gray = pixels(opened(result))
    assert_allclose(gray, np.repeat((deep / 257)[..., None], 3, axis=2), atol=1)


def test_sixteen_bits_in_color() -> None:
    rows = b"".join(b"\0" + struct.pack(">3H", 65535, 32768, 0) * 4 for _ in range(4))
    result = shown_image(png(4, 4, rows, bits=16), "a")
    assert_allclose(pixels(opened(result)), np.broadcast_to([255, 128, 0], (4, 4, 3)), atol=1)


def test_colors_of_printers() -> None:
    ink = Image.new("CMYK", (16, 16), (0, 255, 255, 0))
    result = shown_image(file_of(ink, "JPEG", quality=100), "a")
    assert_allclose(pixels(opened(result)), np.broadcast_to([255, 0, 0], (16, 16, 3)), atol=4)


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_what_is_transparent_is_white_and_hides_nothing(kind: str) -> None:
    hidden = Image.new("RGBA", (16, 16), (10, 20, 30, 0))
    hidden.paste((0, 0, 255, 255), (0, 0, 8, 16))
    options = {"lossless": True, "exact": True} if kind == "WEBP" else {}
    shown = pixels(opened(shown_image(file_of(hidden, kind, **options), "a")))
    assert (shown[:, :8] == [0, 0, 255]).all()
    assert (shown[:, 8:] == 255).all()


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "PA"])
def test_other_kinds_of_pixels(mode: str) -> None:
    image = pattern("P" if mode == "PA" else mode)
    content = file_of(image, "PNG", **({"transparency": 0} if mode == "PA" else {}))
    opened(shown_image(content, "a")).load()


def png(width: int, height: int, rows: bytes, *, bits: int = 8) -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )

    head = struct.pack(">IIBBBBB", width, height, bits, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )  # fmt: skip


def animation(kind: str) -> bytes:
    frames = [Image.new("RGB", (16, 16), color) for color in ("red", "blue")]
    return file_of(frames[0], kind, save_all=True, append_images=frames[1:])


SVG = (
    b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
)
CONTENTS = {
    "nothing": (b"", "does not decode"),
    "SVG": (SVG, "does not decode"),
    "GIF": (file_of(pattern(), "GIF"), "does not decode"),
    "BMP": (file_of(pattern(), "BMP"), "does not decode"),
    "TIFF": (file_of(pattern(), "TIFF"), "does not decode"),
    "a page": (b"<html></html>" + file_of(pattern(), "PNG"), "does not decode"),
    "moving PNG": (animation("PNG"), "an animation"),
    "moving WebP": (animation("WEBP"), "an animation"),
    "half a PNG": (file_of(pattern(size=(400, 300)), "PNG")[:700], "does not decode"),
    "half a JPEG": (file_of(pattern(size=(400, 300)), "JPEG")[:2000], "does not decode"),
    "half a WebP": (file_of(pattern(size=(400, 300)), "WEBP")[:300], "does not decode"),
    "a flood": (png(60_000, 60_000, b""), "too many pixels"),
    "a small flood": (png(8_000, 6_000, b""), "too many pixels"),
    "zero": (png(0, 0, b""), "does not decode"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_refused(name: str) -> None:
    content, why = CONTENTS[name]
    with pytest.raises(UnsafeInputError, match=f"image 'x.png': got .*{why}") as caught:
        shown_image(content, "x.png")
    assert "still PNG or JPEG or WEBP" in str(caught.value)


def test_a_flood_costs_nothing() -> None:
    started = time.process_time()
    with pytest.raises(UnsafeInputError):
        shown_image(png(60_000, 60_000, zlib.compress(bytes(1 << 20))), "x")
    assert time.process_time() - started < 2


def test_a_file_that_is_too_large_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display_images, "MAX_BYTES", 99)
    monkeypatch.setattr(display_images, "_started", lambda: pytest.fail("it was started"))
    with pytest.raises(UnsafeInputError, match="got 100 bytes; needed at most 99"):
        shown_image(bytes(100), "x")


CHILD = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("child", {path!r})
child = importlib.util.module_from_spec(spec)
spec.loader.exec_module(child)
{change}
child.main()
"""


def changed_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    """The other process, with a decoder that misbehaves."""
    path = tmp_path / "child.py"
    path.write_text(CHILD.format(path=_image_process.__file__, change=change))
    monkeypatch.setattr(_image_process, "__file__", str(path))


BAD = """
import os, signal, time
before = child.decode_image
def decode_image(content, longest):
    if len(content) > 1000:
        {what}
    return before(content, longest)
child.decode_image, child.CPU_SECONDS = decode_image, 0
"""


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "broke its decoder"),
        ("os._exit(0)", "broke its decoder"),
        ("bytearray(2 << 30)", "memory"),
        ("open('/etc/hostname').close()", "does not decode"),
        ("open(__file__ + '.new', 'w').close()", "does not decode"),
        ("time.sleep(60)", "took too long"),
        ("[0 for _ in iter(int, 1)]", "took too long"),
    ],
    ids=["crash", "end", "memory", "read", "write", "hang", "work"],
)  # fmt: skip
def test_a_decoder_that_is_taken_over(
    what: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "sleep" in what:
        monkeypatch.setattr(display_images, "SECONDS", 0.3)
    changed_child(tmp_path, monkeypatch, BAD.format(what=what))
    large = file_of(pattern(size=(400, 300)), "PNG")
    assert len(large) > 1000
    with pytest.raises(UnsafeInputError, match=f"image 'x': got .*{why}"):
        shown_image(large, "x")
    assert not list(tmp_path.glob("*.new"))


def test_an_answer_that_is_no_image_is_not_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed_child(tmp_path, monkeypatch, "child.encode_image = lambda *_, **__: b'<html>'")
    with pytest.raises(UnsafeInputError):
        shown_image(file_of(pattern(), "PNG"), "x")


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_images_of_an_archive(tmp_path: Path) -> None:
    given = {"b/2.png": file_of(pattern(), "PNG"), "a.jpg": file_of(pattern(), "JPEG")}
    result = shown_images_of_zip(zipped(tmp_path / "x.zip", given))
    assert list(result) == ["b/2.png", "a.jpg"]
    assert [one.suffix for one in result.values()] == ["png", "jpg"]
    assert os.listdir(tmp_path) == ["x.zip"]


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"../a.png": b""}, "a path with '..'"),
        ({"/a.png": b""}, "an absolute path"),
        ({"a.png": bytes(1 << 20)}, "unpack to"),
        ({"a.png": SVG}, "image 'a.png': got something that does not decode"),
    ],
)
def test_archives_that_are_refused(tmp_path: Path, members: dict[str, bytes], why: str) -> None:
    with pytest.raises(UnsafeInputError, match=why):
        shown_images_of_zip(zipped(tmp_path / "x.zip", members))
    assert os.listdir(tmp_path) == ["x.zip"]


def test_a_link_in_an_archive_is_no_image(tmp_path: Path) -> None:
    (tmp_path / "own.png").write_bytes(file_of(pattern(), "PNG"))
    link = zipfile.ZipInfo("a.png")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(link, str(tmp_path / "own.png"))
    with pytest.raises(UnsafeInputError, match=r"a\.png"):
        shown_images_of_zip(tmp_path / "x.zip")


def test_from_a_image_in_memory() -> None:
    given = pattern(size=(300, 150))
    given.info["comment"] = given.info["icc_profile"] = b"secret"
    before = pixels(given)
    result = encode_drawing(given, longest=100)
    assert (result.suffix, result.size) == ("png", (100, 50)) and b"secret" not in result.content
    photograph = shown_from(given, longest=100)
    assert (photograph.suffix, photograph.size) == ("jpg", (100, 50))
    assert b"secret" not in photograph.content
    assert shown_from(given, longest=100) == photograph
    assert_array_equal(pixels(given), before)


def test_a_palette_is_kept() -> None:
    given = pattern().quantize(9)
    given.info["icc_profile"] = b"secret"
    result = encode_drawing(given)
    shown = Image.open(io.BytesIO(result.content))
    assert shown.mode == "P" and b"secret" not in result.content
    assert_array_equal(pixels(shown.convert("RGB")), pixels(given.convert("RGB")))
    assert opened(encode_drawing(given, longest=20)).size == (20, 12)
