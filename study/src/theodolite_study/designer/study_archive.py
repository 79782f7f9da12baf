"""Check and unpack an uploaded zip of a study folder within limits, and write such archives."""

import hashlib
import json
import re
import stat
import struct
import subprocess
import sys
import zipfile  # noqa: TID251  streamed to disk, where theodolite._storage reads into memory
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from theodolite.errors import EvidenceError
from theodolite.ext.studies import (
    IMAGES,
    INSTANCES,
    Material,
    all_or_nothing,
    existing,
    image_path,
    read_material,
)
from theodolite_study.protocol import STUDY_FILE, read_protocol
from theodolite_study.refusals import Invalid

IMAGE_NAME = re.compile(r"images/([0-9a-f]{64}\.(?:png|jpg|webp))")
PLAIN_FILE = re.compile(r"[\w-]{1,60}\.(json|yaml)", re.ASCII)
"""study.yaml, instances.json and an instrument."""
END = struct.Struct("<4s4H2LH")
END_MARK, LARGE_MARK = b"PK\x05\x06", b"PK\x06\x07"
ZIP64_LOCATOR_BYTES = 20
"""Bytes before the end record that mark an archive as Zip64."""
IMAGE_CHECK_SECONDS = 900


@dataclass(frozen=True)
class ArchiveLimits:
    """Maximum sizes of an uploaded archive."""

    upload: int = 1 << 30
    members: int = 60_000
    directory: int = 16 << 20
    """Bytes of the table of contents, which is read whole."""
    table: int = 32 << 20
    """Bytes of instances.json."""
    image: int = 8 << 20
    whole: int = 2 << 30
    """Bytes of all unpacked files."""


LIMITS = ArchiveLimits()


@dataclass(frozen=True)
class CheckedArchive:
    """Unpacked study in a folder, whose files match their names."""

    folder: Path
    material: Material
    sizes: dict[str, tuple[int, int]]
    """Width and height of each image."""


def unpack_study(archive: BinaryIO, folder: Path, limits: ArchiveLimits = LIMITS) -> CheckedArchive:
    """Unpack a zip into an empty folder, or refuse it with a message.

    Args:
        archive: The file as it came.
        folder: Where its files go; whoever calls removes it, also after a refusal.
        limits: What is taken at most.
    """
    (folder / IMAGES).mkdir(parents=True)
    _need_small_directory(archive, limits)
    try:
        with zipfile.ZipFile(archive) as opened:
            members = _members(opened, limits)
            for name in [name for name in members if not _is_image(name)]:
                _unpack(opened, members.pop(name), folder / name)
            material = _material(folder)
            _need_same_images(material, set(members))
            for name, info in members.items():
                _unpack(opened, info, folder / IMAGES / name, name.split(".")[0])
    except (zipfile.BadZipFile, NotImplementedError, EOFError, zlib.error) as error:
        raise Invalid(f"The archive is damaged: {error}") from error
    return CheckedArchive(folder, material, read_image_sizes(folder / IMAGES))


def _is_image(name: str) -> bool:
    return IMAGE_NAME.fullmatch(f"{IMAGES}/{name}") is not None


def _need_small_directory(file: BinaryIO, limits: ArchiveLimits) -> None:
    """Check the size of the table of contents before it is read whole."""
    size = file.seek(0, 2)
    if size > limits.upload:
        raise Invalid(f"The archive is larger than {limits.upload:,} bytes.")
    file.seek(max(0, size - END.size - ZIP64_LOCATOR_BYTES))
    tail = file.read()
    if len(tail) < END.size or tail[-END.size :][:4] != END_MARK:
        raise Invalid("This is no zip file, or one with a comment.")
    _, disk, first, here, count, directory, _, comment = END.unpack(tail[-END.size :])
    large = len(tail) > END.size and tail[:4] == LARGE_MARK
    if large or disk or first or here != count or comment:
        raise Invalid("This form of zip is not taken: several disks, or a very large one.")
    if count > limits.members or directory > limits.directory:
        raise Invalid(f"The archive has more than {limits.members:,} files.")
    file.seek(0)


def _members(opened: zipfile.ZipFile, limits: ArchiveLimits) -> dict[str, zipfile.ZipInfo]:
    """Return the files by name, after checking names and sizes."""
    members: dict[str, zipfile.ZipInfo] = {}
    for info in opened.infolist():
        name = info.orig_filename
        if name == f"{IMAGES}/" and info.file_size == 0:
            continue
        match = IMAGE_NAME.fullmatch(name)
        if match is None and not PLAIN_FILE.fullmatch(name):
            raise Invalid(f"“{name[:80]}” does not belong into a study folder: only {STUDY_FILE},"
                          f" {INSTANCES}, an instrument and {IMAGES}/ do.")  # fmt: skip
        short = name if match is None else match[1]
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG) or info.flag_bits & 1:
            raise Invalid(f"“{name}” is no plain file.")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Invalid(f"“{name}” is packed in a way that is not taken.")
        if short in members:
            raise Invalid(f"“{name}” is there twice.")
        if info.file_size > (limits.table if match is None else limits.image):
            raise Invalid(f"“{name}” is too large: {info.file_size:,} bytes.")
        members[short] = info
    lacking = {INSTANCES, STUDY_FILE} - members.keys()
    if lacking:
        raise Invalid(f"The archive has no {min(lacking)}.")
    if sum(info.file_size for info in members.values()) > limits.whole:
        raise Invalid(f"Unpacked it would be more than {limits.whole:,} bytes.")
    return members


def _unpack(
    opened: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path, digest: str | None = None
) -> None:
    """Unpack one file, never more of it than it declared."""
    hashed, left = hashlib.sha256(), info.file_size
    with opened.open(info) as source, target.open("xb") as file:
        while chunk := source.read(1 << 16):
            left -= len(chunk)
            if left < 0:
                raise Invalid(f"“{info.filename}” is larger than it says.")
            hashed.update(chunk)
            file.write(chunk)
    if digest is not None and hashed.hexdigest() != digest:
        raise Invalid(f"“{info.filename}” has another content than its name says.")


def _material(folder: Path) -> Material:
    try:
        return read_material(folder)
    except (EvidenceError, RecursionError) as error:
        raise Invalid(f"{INSTANCES} does not fit: {error}") from error


def _need_same_images(material: Material, there: set[str]) -> None:
    named = {file for instance in material.instances for file in instance.images()}
    missing, spare = sorted(named - there), sorted(there - named)
    if missing:
        raise Invalid(f"{len(missing)} images are missing, such as {missing[0]}.")
    if spare:
        raise Invalid(f"{len(spare)} images are shown by nothing, such as {spare[0]}.")


def read_image_sizes(folder: Path) -> dict[str, tuple[int, int]]:
    """Read width and height of the images of a folder, in a process with little memory."""
    command = [sys.executable, "-m", "theodolite_study.designer.image_check", str(folder)]
    try:
        done = subprocess.run(  # noqa: S603  our own program
            command, capture_output=True, timeout=IMAGE_CHECK_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Invalid("The images take too long to be checked.") from error
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    try:
        report = json.loads(lines[-1])
    except (ValueError, IndexError):
        report = {"refused": "The images cannot be read within the memory that they get."}
    if "refused" in report:
        raise Invalid(str(report["refused"]))
    return {name: (int(size[0]), int(size[1])) for name, size in report.items()}


def write_archive(folder: Path, out: Path) -> None:
    """Write a study folder without its keys as a zip, with equal bytes each time."""
    protocol, material = read_protocol(folder), read_material(folder)
    names = sorted({name for instance in material.instances for name in instance.images()})
    with all_or_nothing(out) as stream, zipfile.ZipFile(stream, "w") as archive:
        records = material.model_dump_json(exclude_none=True)
        archive.writestr(zipfile.ZipInfo(INSTANCES), records, zipfile.ZIP_DEFLATED)
        for file in (STUDY_FILE, *([protocol.instrument] if protocol.instrument else [])):
            content = (folder / file).read_bytes()
            archive.writestr(zipfile.ZipInfo(file), content, zipfile.ZIP_DEFLATED)
        for name in names:
            content = existing(image_path(folder, name), "image").read_bytes()
            archive.writestr(zipfile.ZipInfo(f"{IMAGES}/{name}"), content)
