"""Confine files to a folder, write them atomically, and lock folders."""

import hashlib
import io
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from theodolite.errors import UnsafeInputError


def confined(root: Path, relative: str) -> Path:
    """The file that ``relative`` names below ``root``.

    Absolute paths, ``..``, backslashes, drives, addresses and links that leave the folder are
    refused: such names come from tables that other people wrote.
    """
    reason = _is_suspicious(relative)
    if reason:
        raise UnsafeInputError(
            f"path {relative!r}",
            reason,
            f"a relative path below {root.name!r}",
            "Correct the name in the table or the spec.",
        )
    inside = root.resolve()
    target = (inside / PurePosixPath(relative)).resolve()
    if target != inside and inside not in target.parents:
        raise UnsafeInputError(
            f"path {relative!r}",
            "a link that leaves the folder",
            f"a file below {root.name!r}",
            "Copy the file into the folder.",
        )
    return target


def find_in_data(data: Path, relative: str) -> Path:
    """The file that ``relative`` names below a data folder, whose own entries may be links.

    Who keeps data sets elsewhere links them into the data folder. Further down, a link that leaves
    the data set is refused: data sets are made by other people.
    """
    first, *others = PurePosixPath(relative).parts or ("",)
    if _is_suspicious(relative) or not (data / first).is_symlink():
        return confined(data, relative)
    linked = (data / first).resolve()
    return confined(linked, "/".join(others)) if others else linked


def _is_suspicious(relative: str) -> str:
    if not relative or "\0" in relative:
        return "an empty name or a NUL"
    if "\\" in relative or ":" in relative:
        return "a backslash, a drive or an address"
    if relative.startswith(("/", "~")):
        return "an absolute path"
    if ".." in PurePosixPath(relative).parts:
        return "a path with '..'"
    return ""


def existing(path: Path, what: str) -> Path:
    """The path, if it is a readable file."""
    if not path.is_file():
        got = "a folder" if path.is_dir() else "nothing there"
        raise UnsafeInputError(f"{what} {path.name!r}", got, f"a file in {str(path.parent)!r}")
    return path


def size_within(path: Path, limit: int, what: str) -> None:
    """Refuse a file larger than a reader of its kind should ever meet."""
    size = existing(path, what).stat().st_size
    if size > limit:
        raise UnsafeInputError(f"{what} {path.name!r}", f"{size:,} bytes", f"at most {limit:,}")


def sha256_of(path: Path) -> str:
    """Return the digest of a file, read in blocks."""
    with path.open("rb") as stream:
        return _sha256(stream)


def _sha256(stream: BinaryIO) -> str:
    digest = hashlib.sha256()
    while piece := stream.read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()


def compute_sha256_below(root: Path, relative: str) -> str:
    """The digest of a file below a folder, opened part by part without following a link."""
    if not hasattr(os, "O_NOFOLLOW") or os.open not in os.supports_dir_fd:
        return sha256_of(confined(root, relative))
    *folders, name = PurePosixPath(relative).parts
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for folder in folders:
            inner = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=handle)
            os.close(handle)
            handle = inner
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=handle)
    except OSError as error:
        needed = "a file without links on the way"
        raise UnsafeInputError(f"file {relative!r}", error.strerror or "no file", needed) from error
    finally:
        os.close(handle)
    with os.fdopen(file, "rb") as stream:
        return _sha256(stream)


@contextmanager
def all_or_nothing(path: Path) -> Iterator[io.BufferedWriter]:
    """A stream to a file that appears only when complete, even after a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(path)
        _sync_folder(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def create_file(path: Path, content: bytes) -> bool:
    """Write a file where there is none, complete and synced; False if there is.

    A link fails where its name is taken; a rename would replace what is there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
    try:
        with partial.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.link(partial, path)
        _sync_folder(path.parent)
    except FileExistsError:
        return False
    finally:
        partial.unlink(missing_ok=True)
    return True


@contextmanager
def lock_for_writing(folder: Path) -> Iterator[None]:
    """Keep others who ask here out of a folder; a process that dies lets go."""
    import fcntl  # noqa: PLC0415  not on every system

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Have the disk remember which files are in a folder; not all systems can be asked to."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
