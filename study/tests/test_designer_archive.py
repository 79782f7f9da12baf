"""Archives of material from outside: what is taken, and what is refused before it does harm."""

import io
import json
import shutil
import stat
import struct
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from support.study.folder_study import image
from theodolite.ext.studies import INSTANCES
from theodolite_study.designer.study_archive import (
    LIMITS,
    ArchiveLimits,
    CheckedArchive,
    unpack_study,
    write_archive,
)
from theodolite_study.protocol import STUDY_FILE
from theodolite_study.refusals import Invalid


def small_material(folder: Path) -> list[str]:
    files = [image(folder, number) for number in range(2)]
    shown = {"image": files[0], "predicted": "cat", "map": files[1]}
    one = {"key": "a", "image_key": "p", "technique": "map", "shown": shown}
    (folder / INSTANCES).write_text(json.dumps({"version": 1, "instances": [one]}))
    (folder / STUDY_FILE).write_text("slug: small\ntitle: Small\ncontact: ann@example.org\n")
    return files


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("material")
    return folder, small_material(folder)


def unpacked(path: Path, folder: Path, limits: ArchiveLimits = LIMITS) -> CheckedArchive:
    with path.open("rb") as file:
        return unpack_study(file, folder, limits)


def zipped(
    made: tuple[Path, list[str]], target: Path, change: Callable[[zipfile.ZipFile], Any]
) -> Path:
    write_archive(made[0], target)
    with zipfile.ZipFile(target, "a") as archive:
        change(archive)
    return target


def test_an_archive_becomes_material_with_sizes(
    made: tuple[Path, list[str]], tmp_path: Path
) -> None:
    path = zipped(
        made, tmp_path / "a.zip", lambda a: a.mkdir("images") if hasattr(a, "mkdir") else 0
    )
    checked = unpacked(path, tmp_path / "out")
    assert [one.key for one in checked.material.instances] == ["a"]
    assert set(checked.sizes) == set(made[1])
    with Image.open(made[0] / "images" / made[1][0]) as image:
        assert checked.sizes[made[1][0]] == image.size
    assert {p.name for p in (tmp_path / "out" / "images").iterdir()} == set(made[1])


def link(archive: zipfile.ZipFile) -> None:
    info = zipfile.ZipInfo(f"images/{'a' * 64}.png")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive.writestr(info, "/etc/passwd")


def twice(archive: zipfile.ZipFile) -> None:
    name = next(n for n in archive.namelist() if n.startswith("images/"))
    archive.writestr(name, archive.read(name))


def add(name: str, content: bytes = b"x", **options: Any) -> Callable[[zipfile.ZipFile], None]:
    return lambda archive: archive.writestr(zipfile.ZipInfo(name), content, **options)


def other_form(archive: zipfile.ZipFile) -> None:
    archive.writestr(f"images/{'b' * 64}.png", b"x", zipfile.ZIP_LZMA)


REFUSED: list[tuple[Callable[[zipfile.ZipFile], Any], str]] = [
    (add("../evil.png"), "belong"), (add("/etc/cron.d/x"), "belong"), (add("images/../x.png"), "belong"),
    (add("images\\x.png"), "belong"),
    (add("notes.txt"), "belong"), (add(f"images/{'a' * 64}.svg"), "belong"), (link, "plain file"),
    pytest.param(twice, "twice", marks=pytest.mark.filterwarnings("ignore:Duplicate")),
    (other_form, "packed"), (add(f"images/{'a' * 64}.png", bytes(2_000_001)), "too large"),
    (add(f"images/{'a' * 64}.png"), "shown by nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), REFUSED)
def test_strange_members_are_refused(
    made: tuple[Path, list[str]],
    tmp_path: Path,
    change: Callable[[zipfile.ZipFile], Any],
    words: str,
) -> None:
    path = zipped(made, tmp_path / "a.zip", change)
    with pytest.raises(Invalid, match=words):
        unpacked(path, tmp_path / "out", ArchiveLimits(image=2_000_000))
    written = [p for p in (tmp_path / "out").rglob("*") if p.is_file()]
    assert {p.name for p in written} <= {INSTANCES, STUDY_FILE}, "nothing was believed"
    assert not (tmp_path / "evil.png").exists()


@pytest.mark.parametrize(("limits", "words"), [
    (ArchiveLimits(members=3), "more than 3 files"), (ArchiveLimits(directory=100), "files"),
    (ArchiveLimits(upload=100), "larger"), (ArchiveLimits(whole=300), "Unpacked"),
    (ArchiveLimits(table=10), "too large"),
])  # fmt: skip
def test_large_archives_are_refused_before_they_are_read(
    made: tuple[Path, list[str]], tmp_path: Path, limits: ArchiveLimits, words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path = zipped(made, tmp_path / "a.zip", lambda archive: None)
    opened: list[str] = []
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *a, **k: opened.append("read"))
    with pytest.raises(Invalid, match=words):
        unpacked(path, tmp_path / "out", limits)
    assert opened == []


def lied(path: Path, said: int) -> None:
    """Both tables of the archive say another size of the first image."""
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        info = next(i for i in archive.infolist() if i.filename.startswith("images/"))
    struct.pack_into("<L", content, info.header_offset + 22, said)
    central = content.rindex(info.filename.encode()) - 46
    struct.pack_into("<L", content, central + 24, said)
    path.write_bytes(content)


def test_a_member_is_never_larger_than_it_says(
    made: tuple[Path, list[str]], tmp_path: Path
) -> None:
    bomb = tmp_path / "bomb.zip"
    content = bytes(4_000_000)
    name = f"{sha256(content).hexdigest()}.png"
    table = json.loads((made[0] / INSTANCES).read_text())
    table["instances"][0]["shown"] = {"image": name, "predicted": "c", "concepts": {"a": 1}}
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(INSTANCES, json.dumps(table))
        archive.writestr(STUDY_FILE, (made[0] / STUDY_FILE).read_bytes())
        archive.writestr(f"images/{name}", content)
    lied(bomb, 1000)
    with pytest.raises(Invalid):
        unpacked(bomb, tmp_path / "out")
    assert all(p.stat().st_size <= 70_000 for p in (tmp_path / "out" / "images").iterdir())


@pytest.mark.parametrize("content", [
    b"", b"PK", b"no zip at all" * 10, b"PK\x05\x06" + bytes(18) + b"comment",
    b"PK\x06\x07" + bytes(16) + b"PK\x05\x06" + bytes(18), b"PK\x05\x06" + b"\xff" * 16 + bytes(2),
])  # fmt: skip
def test_what_is_no_plain_zip_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(Invalid):
        unpacked(tmp_path / "a.zip", tmp_path / "out")


def changed_content(archive_of: Path, tmp_path: Path, content: bytes, suffix: str) -> Path:
    """Material with one image of this content."""
    folder = tmp_path / "changed"
    shutil.copytree(archive_of, folder)
    for path in (folder / "images").iterdir():
        path.unlink()
    name = f"{sha256(content).hexdigest()}.{suffix}"
    (folder / "images" / name).write_bytes(content)
    shown = {"image": name, "predicted": "c", "concepts": {"a": 1}}
    one = {"key": "a", "image_key": "p", "technique": "m", "shown": shown}
    (folder / INSTANCES).write_text(json.dumps({"version": 1, "instances": [one]}))
    write_archive(folder, tmp_path / "c.zip")
    return tmp_path / "c.zip"


def many_pixels() -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.zeros((5000, 5000), np.uint8)).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize(("content", "suffix", "words"), [
    (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "png", "can be read"),
    (b"GIF89a" + bytes(30), "jpg", "can be read"), (many_pixels(), "png", "too many pixels"),
])  # fmt: skip
def test_images_are_read_by_a_process_with_little_memory(
    made: tuple[Path, list[str]], tmp_path: Path, content: bytes, suffix: str, words: str
) -> None:
    path = changed_content(made[0], tmp_path, content, suffix)
    with pytest.raises(Invalid, match=words):
        unpacked(path, tmp_path / "out")


def test_a_image_whose_name_lies_is_refused(made: tuple[Path, list[str]], tmp_path: Path) -> None:
    write_archive(made[0], tmp_path / "a.zip")
    content = (tmp_path / "a.zip").read_bytes()
    first, second = (name.encode() for name in made[1])
    swapped = content.replace(first, b"\0" * 68).replace(second, first).replace(b"\0" * 68, second)
    (tmp_path / "a.zip").write_bytes(swapped)
    with pytest.raises(Invalid, match="another content"):
        unpacked(tmp_path / "a.zip", tmp_path / "out")


def test_a_name_is_read_to_its_end(made: tuple[Path, list[str]], tmp_path: Path) -> None:
    path = zipped(made, tmp_path / "a.zip", add(f"images/{'a' * 64}.png\x01.exe"))
    path.write_bytes(path.read_bytes().replace(b".png\x01.exe", b".png\x00.exe"))
    with pytest.raises(Invalid, match="belong"):
        unpacked(path, tmp_path / "out")
