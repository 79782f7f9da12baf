"""Members of a .zip archive, in memory: nothing is unpacked to disk, and bombs are refused."""

import struct
import zipfile
import zlib
from pathlib import Path

from theodolite._storage.paths import _is_suspicious, size_within
from theodolite.errors import UnsafeInputError

MAX_MEMBERS = 100_000
MAX_MEMBER_BYTES = 1 << 26
MAX_UNPACKED_BYTES = 1 << 30
MAX_RATIO = 100
FREE_BYTES = 1 << 16  # a small member may be packed as tightly as it likes
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_FAULTS = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, NotImplementedError,
    RuntimeError, ValueError,
)  # fmt: skip


def read_zip_members(path: Path) -> dict[str, bytes]:
    """The files of an archive by name, in its order.

    All names and sizes are checked before the first byte is unpacked, and a member that unpacks to
    another size than it says is refused when that size is reached.
    """
    size_within(path, MAX_UNPACKED_BYTES, "archive")
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _check(members, f"archive {path.name!r}")
            return {m.filename: _content(archive, m) for m in members if not m.is_dir()}
    except UnsafeInputError:
        raise
    except _FAULTS as error:
        raise UnsafeInputError(
            f"archive {path.name!r}", "a broken archive", "a .zip file"
        ) from error


def _check(members: list[zipfile.ZipInfo], what: str) -> None:
    unpacked = sum(member.file_size for member in members)
    if len(members) > MAX_MEMBERS or unpacked > MAX_UNPACKED_BYTES:
        raise UnsafeInputError(
            what, f"{len(members):,} members, {unpacked:,} bytes unpacked",
            f"at most {MAX_MEMBERS:,} members and {MAX_UNPACKED_BYTES:,} bytes",
        )  # fmt: skip
    if len({member.filename for member in members}) < len(members):
        raise UnsafeInputError(what, "two members of one name", "distinct names")
    for member in members:
        reason, needed = _fault(member)
        if reason:
            raise UnsafeInputError(f"member {member.filename!r} of {what}", reason, needed)


def _fault(member: zipfile.ZipInfo) -> tuple[str, str]:
    """What is wrong with a member, and what was needed."""
    name = member.orig_filename  # before zipfile cuts it at a NUL
    if reason := _is_suspicious(name):
        return reason, "a relative path"
    if member.flag_bits & 1:
        return "an encrypted member", "one that is not"
    if member.compress_type not in METHODS:
        return f"compression method {member.compress_type}", "stored or deflated"
    if member.file_size > MAX_MEMBER_BYTES:
        return f"{member.file_size:,} bytes", f"at most {MAX_MEMBER_BYTES:,}"
    if member.file_size > max(MAX_RATIO * member.compress_size, FREE_BYTES):
        packed = f"{member.compress_size:,} bytes that unpack to {member.file_size:,}"
        return packed, f"at most {MAX_RATIO} times as many"
    return "", ""


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    with archive.open(member) as stream:  # never more than asked for, whatever the stream holds
        content = stream.read(member.file_size + 1)
    if len(content) != member.file_size:
        got = f"{len(content):,} bytes"
        raise UnsafeInputError(f"member {member.filename!r}", got, f"{member.file_size:,}")
    return content
