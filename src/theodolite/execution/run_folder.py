"""The folder of a run: empty before it, or with what an earlier attempt got done."""

import shutil
from pathlib import Path

from theodolite.errors import EvidenceError
from theodolite.execution.engine import PIECES

KEPT = ("run.json", PIECES)
"""What a run that was cut off is gone on with."""


def prepare_folder(out: Path, *, overwrite: bool) -> None:
    """A folder to run into. Only a run folder of ours is ever emptied.

    A run that never finished (no manifest) is gone on with: pieces that are done are kept, for they
    are named by all that decides them.
    """
    if out.is_file():
        raise EvidenceError(f"folder {out.name!r}", "a file", "an empty folder")
    if out.exists() and any(out.iterdir()):
        ours = (out / "run.json").is_file()
        finished = (out / "manifest.json").is_file()
        if not ours or (finished and not overwrite):
            do = "Pass --overwrite." if ours else "Choose another folder."
            raise EvidenceError(f"folder {out.name!r}", "something in it", "an empty folder", do)
        for path in out.iterdir():
            if overwrite or path.name not in KEPT:
                _remove(path)
    out.mkdir(parents=True, exist_ok=True)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
