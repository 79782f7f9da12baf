"""Write and verify the manifest of a run folder, which has a digest of every file.

A run ends with `write_checksums`; every reader of run folders calls `verify_checksums` first. The
manifest has a digest of its own in a second file.
"""

import os
import stat
from pathlib import Path

from theodolite._runs.folder.run_records import ManifestRecord
from theodolite._storage.paths import all_or_nothing, compute_sha256_below, sha256_of
from theodolite._storage.records import read_record, write_record
from theodolite._storage.text import read_text
from theodolite.errors import UnsafeInputError, VerificationError

MANIFEST, SEAL = "manifest.json", "manifest.json.sha256"


def check_no_links(folder: Path) -> None:
    """Raise an error if a run folder contains a link, a device or a pipe.

    Through a link, an untrusted folder could have files outside of it read or overwritten.
    """
    for inside, folders, files in os.walk(folder, followlinks=False):
        for name in [*folders, *files]:
            path = Path(inside) / name
            mode = path.lstat().st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                got = "a link" if stat.S_ISLNK(mode) else "a device or a pipe"
                where = path.relative_to(folder).as_posix()
                raise UnsafeInputError(
                    f"run {folder.name!r}", f"{where}, {got}", "its own files and folders",
                    "Copy the file into the folder.",
                )  # fmt: skip


def write_checksums(folder: Path) -> None:
    """Write the manifest, and the digest of the manifest beside it."""
    files = {name: sha256_of(folder / name) for name in list_checked_files(folder)}
    write_record(folder / MANIFEST, ManifestRecord(files=files))
    with all_or_nothing(folder / SEAL) as stream:
        stream.write(_format_checksum_line(folder).encode())


def verify_checksums(folder: Path, *, but: str = "") -> int:
    """Check every file of a run folder against its manifest, and return the number of files.

    ``but`` names a file that may be missing or changed, because it is about to be written again.
    """
    what = f"run {folder.name!r}"
    check_no_links(folder)
    if not (folder / MANIFEST).is_file():
        raise UnsafeInputError(what, f"no {MANIFEST}", "a finished run folder")
    if read_text(folder / SEAL, "seal") != _format_checksum_line(folder):
        raise VerificationError(what, "a changed manifest", "the original manifest")
    listed = dict(read_record(folder / MANIFEST, ManifestRecord).files)
    listed.pop(but, None)
    names = [name for name in list_checked_files(folder) if name != but]
    for name in sorted(set(listed) ^ set(names)):
        got = f"no {name}" if name in listed else f"{name}, which the run did not write"
        raise VerificationError(what, got, "just the files of the manifest")
    for name, digest in listed.items():
        if compute_sha256_below(folder, name) != digest:
            raise VerificationError(what, f"{name} changed since the run", "its bytes of then")
    return len(listed)


def list_checked_files(folder: Path) -> list[str]:
    """Return the names of all files, links included, except the manifest and its digest."""
    paths = (path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())
    names = (path.relative_to(folder).as_posix() for path in paths)
    return sorted(name for name in names if name not in (MANIFEST, SEAL))


def _format_checksum_line(folder: Path) -> str:
    return f"{sha256_of(folder / MANIFEST)}  {MANIFEST}\n"
