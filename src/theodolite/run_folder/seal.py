"""The seal of a run folder: a digest of every file, so that a changed byte is seen."""

from pathlib import Path

from theodolite.errors import RefusedInput, VerificationFailed
from theodolite.io.paths import all_or_nothing, sha256_of
from theodolite.io.text import read_text
from theodolite.run_folder.run_file import ManifestRecord, read_record, write_record

MANIFEST, SEAL = "manifest.json", "manifest.json.sha256"


def seal(folder: Path) -> None:
    """Write the manifest, and the digest of the manifest itself beside it."""
    files = {name: sha256_of(folder / name) for name in sealed_files(folder)}
    write_record(folder / MANIFEST, ManifestRecord(files=files))
    with all_or_nothing(folder / SEAL) as stream:
        stream.write(_seal_line(folder).encode())


def verify(folder: Path, *, but: str = "") -> int:
    """Check every byte of a run folder against its manifest; returns the number of files.

    ``but`` names a file that may be missing or changed, because it is about to be made again.
    """
    what = f"run {folder.name!r}"
    if not (folder / MANIFEST).is_file():
        raise RefusedInput(what, f"no {MANIFEST}", "a finished run folder")
    if read_text(folder / SEAL, "seal") != _seal_line(folder):
        raise VerificationFailed(what, "a manifest that was changed", "the one that was sealed")
    listed = dict(read_record(folder / MANIFEST, ManifestRecord).files)
    listed.pop(but, None)
    names = [name for name in sealed_files(folder) if name != but]
    for name in sorted(set(listed) ^ set(names)):
        got = f"no {name}" if name in listed else f"{name}, which the run did not write"
        raise VerificationFailed(what, got, "just the files of the manifest")
    for name, digest in listed.items():
        if sha256_of(folder / name) != digest:
            raise VerificationFailed(what, f"{name} changed since the run", "its bytes of then")
    return len(listed)


def sealed_files(folder: Path) -> list[str]:
    """Every file but the seal's own, links and all."""
    paths = (path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())
    names = (path.relative_to(folder).as_posix() for path in paths)
    return sorted(name for name in names if name not in (MANIFEST, SEAL))


def _seal_line(folder: Path) -> str:
    return f"{sha256_of(folder / MANIFEST)}  {MANIFEST}\n"
