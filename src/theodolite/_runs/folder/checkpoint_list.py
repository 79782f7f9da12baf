"""The list of ledger entries that a run used, and whether they still are what it used."""

from collections.abc import Iterable
from pathlib import Path

from theodolite._runs.engine.checkpoints import CheckpointRecord, CheckpointStore
from theodolite._runs.engine.signed_checksums import KEY_FILE, get_key_id
from theodolite._runs.engine.worker_choice import CHECKPOINT_FOLDER
from theodolite._runs.folder.run_records import RunRecord, read_produced
from theodolite._storage.records import read_record
from theodolite._storage.stores import Store
from theodolite._storage.tables import read_parquet, write_parquet
from theodolite.errors import EvidenceError, UnsafeInputError

FILE = "pieces.parquet"
COLUMNS = ("key", "content", "size", "made_on")


def write_checkpoint_list(out: Path, entries: Iterable[CheckpointRecord]) -> None:
    """List entries by key; a run without pieces has no list."""
    rows = sorted(entries, key=lambda entry: entry.key)
    if rows:
        columns = {name: [getattr(row, name) for row in rows] for name in COLUMNS}
        write_parquet(out / FILE, columns)


def read_checkpoint_list(folder: Path) -> list[CheckpointRecord]:
    """Return the list of checkpoints of a run; empty if it has none."""
    if not (folder / FILE).is_file():
        return []
    columns = read_parquet(folder / FILE)
    if not set(COLUMNS) <= columns.keys():
        raise UnsafeInputError(f"table {FILE!r}", f"columns {sorted(columns)}", f"{COLUMNS}")
    return [CheckpointRecord(*row) for row in zip(*(columns[n] for n in COLUMNS), strict=True)]


def open_checkpoint_store(folder: Path) -> CheckpointStore:
    """Open the checkpoint store that a run used, signed as it was then."""
    record = read_record(folder / "run.json", RunRecord)
    place = read_produced(folder).checkpoints
    store = Store.at(place or folder.resolve() / CHECKPOINT_FOLDER)
    seal = record.identity.checksum
    if seal and seal != get_key_id():
        raise EvidenceError(
            f"run {folder.name!r}", f"checkpoints signed with the key {seal}", "that key",
            f"Set {KEY_FILE} to its file.",
        )  # fmt: skip
    return CheckpointStore(store, keyed=bool(seal))


def check_checkpoints(folder: Path, *, buckets: bool = False) -> tuple[int, str]:
    """Compare the ledger with the list of the run: how many pieces were, and where others are that
    were not: in a bucket, for want of consent to read it, or no more there."""
    entries = read_checkpoint_list(folder)
    if not entries:
        return 0, ""
    place = read_produced(folder).checkpoints
    local = Store.at(place).local if place else folder
    if not buckets if local is None else not local.is_dir():
        return 0, place
    return open_checkpoint_store(folder).compare(entries), ""
