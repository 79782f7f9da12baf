"""The folder of a run: empty before it, or with what an earlier attempt got done."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from theodolite._runs.engine.process_identity import get_code_version
from theodolite._runs.engine.run_progress import FILE as PROGRESS
from theodolite._runs.engine.worker_choice import CHECKPOINT_FOLDER
from theodolite._runs.folder.checksums import MANIFEST, SEAL
from theodolite._runs.folder.file_names import FINDINGS, IMAGE_FOLDERS, PRODUCED, RUN
from theodolite._runs.folder.run_records import RunRecord, read_produced
from theodolite._storage.records import read_record
from theodolite.errors import EvidenceError

try:
    import fcntl
except ImportError:  # not a Unix: two runs into one folder are not kept apart
    fcntl = None  # type: ignore[assignment]

OUTPUTS = frozenset(
    {
        RUN, MANIFEST, SEAL, "scores.json", PRODUCED, "report.html", "per_sample.parquet",
        "compared.json", "conflicts.json", FINDINGS, "model.safetensors", "failed.parquet",
        "pieces.parquet", "evidence", "compared", "tables", *IMAGE_FOLDERS, CHECKPOINT_FOLDER,
        PROGRESS,
    }
)  # fmt: skip
"""All that a run writes into its folder. Nothing else there is ever removed."""
KEPT_ON_RESUME = (RUN, CHECKPOINT_FOLDER)
"""Record with which an interrupted run continues."""
LEFT_OVER = re.compile(r"\.(?P<name>.+)\.(?:\d+\.partial|again)")
"""Files that were being written when a run was cut off."""


def check_folder(out: Path, *, overwrite: bool) -> list[Path]:
    """Refuse a folder that must not be run into; what is in it, all of which a run wrote."""
    check_no_linked_pieces(out)
    there = _list_entries(out)
    if foreign := _list_foreign(out, there):
        raise _build_locked_error(out, foreign[0].name)
    finished = any(path.name == MANIFEST for path in there) and not _is_partial(out)
    if finished and not overwrite:
        raise EvidenceError(
            _folder_text(out), "something in it: a finished run", "an empty folder",
            "Pass --overwrite (in Python overwrite=True) to replace it.",
        )  # fmt: skip
    if there and not overwrite:
        _check_version(out)
    return there


def _check_version(out: Path) -> None:
    """An interrupted run continues only with the version that began it: another would compute
    all of it again, and the folder would not say so."""
    try:
        begun = read_record(out / RUN, RunRecord).code.partition("+")[0]
    except ValueError:  # cut off before it was written
        return
    now = get_code_version().partition("+")[0]
    if begun and begun != now:
        raise EvidenceError(
            _folder_text(out), f"a run that theodolite {begun} began and did not finish",
            f"one that theodolite {now} began",
            f"Finish it with theodolite {begun}, or pass --overwrite (in Python overwrite=True) to "
            "begin again.",
        )  # fmt: skip


def prepare_folder(out: Path, *, overwrite: bool) -> None:
    """A folder to run into. Only what a run of ours wrote is ever removed.

    A run that never finished (no manifest), or that left out failed tasks, continues:
    pieces that are done are kept, for they are named by all that decides them.
    """
    for path in check_folder(out, overwrite=overwrite):
        if overwrite or path.name not in KEPT_ON_RESUME:
            _remove(path)
    out.mkdir(parents=True, exist_ok=True)


def create_empty_folder(out: Path) -> None:
    """Create a folder; raise an error if it exists and is not empty."""
    if there := _list_entries(out):
        raise _build_locked_error(out, there[0].name)
    out.mkdir(parents=True, exist_ok=True)


def check_no_linked_pieces(out: Path) -> None:
    """Pieces that a run no longer needs are removed, so their folder must be the run's own."""
    if (out / CHECKPOINT_FOLDER).is_symlink():
        raise EvidenceError(
            f"{CHECKPOINT_FOLDER!r} in {_folder_text(out)}", "a link", "a folder of the run's own",
            "Remove the link and use --checkpoint-dir to keep checkpoints elsewhere.",
        )  # fmt: skip


def check_outside(out: Path, what: str, place: Path) -> None:
    """Refuse input that lies in the run folder, which may be emptied before it is read."""
    inside, path = out.resolve(), place.resolve()
    if path == inside or inside in path.parents:
        raise EvidenceError(
            f"{what} {str(place)!r}", f"a place in the run folder {str(out)!r}",
            "a place outside of it", "Choose another folder to write.",
        )  # fmt: skip


@contextmanager
def lock_folder(out: Path) -> Iterator[None]:
    """Have a folder for oneself: another run that would write there is refused meanwhile.

    The folder is made if it is missing; if nothing was written, it is gone again afterwards.
    """
    _list_entries(out)
    new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield
        return
    handle = os.open(out, os.O_RDONLY)
    try:
        _lock(handle, out)
        try:
            yield
        finally:
            if new:
                with suppress(OSError):  # there is something in it
                    out.rmdir()
    finally:
        os.close(handle)


def _lock(handle: int, out: Path) -> None:
    """Hold a lock that ends with the process, however it ends."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        busy = not os.path.samestat(os.fstat(handle), out.stat())
    except (BlockingIOError, FileNotFoundError):
        busy = True
    except OSError:  # a file system without locks, as some that are mounted from elsewhere
        busy = False
    if busy:
        raise EvidenceError(
            _folder_text(out), "another run that writes there now", "a folder of its own",
            "Wait for it to end, or choose another folder.",
        )  # fmt: skip


def _list_entries(out: Path) -> list[Path]:
    if out.exists() and not out.is_dir():
        raise EvidenceError(_folder_text(out), "a file", "an empty folder")
    return sorted(out.iterdir()) if out.exists() else []


def _list_foreign(out: Path, there: list[Path]) -> list[Path]:
    """What no run of ours wrote: everything, if ``run.json`` is not ours."""
    known = OUTPUTS if _is_ours(out / RUN) else frozenset[str]()
    return [path for path in there if path.name not in known and not _is_left_over(path)]


def _is_ours(path: Path) -> bool:
    try:
        read_record(path, RunRecord)
    except ValueError:  # refused, or a number that Python does not read
        return False
    return True


def _is_partial(out: Path) -> bool:
    try:
        return read_produced(out).failed_tasks > 0
    except ValueError:
        return False


def _is_left_over(path: Path) -> bool:
    match = LEFT_OVER.fullmatch(path.name)
    return match is not None and match["name"] in OUTPUTS and path.is_file()


def _build_locked_error(out: Path, name: str) -> EvidenceError:
    return EvidenceError(
        _folder_text(out), f"something in it that no run wrote ({name})", "an empty folder",
        "Choose another folder.",
    )  # fmt: skip


def _folder_text(out: Path) -> str:
    return f"folder {str(out)!r}"


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
