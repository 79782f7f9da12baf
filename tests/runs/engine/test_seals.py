"""An entry of the ledger is believed only under its own name, with its own content."""

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from support.runs.command_line import theodolite
from support.runs.work_pieces import merge, numbers, work
from theodolite._runs.engine.checkpoints import (
    CheckpointName,
    CheckpointStore,
    pack_checkpoint,
    to_canonical_json,
)
from theodolite._runs.engine.local_processes import CurrentProcess
from theodolite._runs.engine.process_identity import digest_arithmetic
from theodolite._runs.engine.signed_checksums import (
    KEY_FILE,
    compute_seal,
    get_key_id,
    read_seal_key,
    write_new_key,
)
from theodolite._runs.engine.worker_pool import WorkerPool
from theodolite._storage.packed_arrays import _header_text, digest_arrays
from theodolite._storage.stores import Store
from theodolite.errors import EvidenceError, VerificationError

Edit = Callable[[Path, Path], None]


def test_check_values_of_the_format() -> None:
    parts = ("0" * 64, "1" * 64, "2" * 64)
    assert (
        compute_seal(*parts) == "1e92d309647d66c04a6c4ff9610636d96c4f84eef931b3ef04c9637d3fd09457"
    )
    assert (
        compute_seal(*parts, b"\x07" * 32)
        == "8d5dc341794701028a0692f2a22c1a2b8f58d3db8f98f09988f395d3d44f182b"
    )


def metadata_of(path: Path) -> dict[str, str]:
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    return dict(json.loads(content[8 : 8 + length])["__metadata__"])


def edit(path: Path, **fields: str) -> None:
    """Write other metadata into an entry, as somebody would who knows the format."""
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    header["__metadata__"] |= fields
    text = _header_text(header)
    path.write_bytes(struct.pack("<Q", len(text)) + text + content[8 + length :])


def copied(a: Path, b: Path) -> None:
    a.write_bytes(b.read_bytes())


def copied_and_named(a: Path, b: Path) -> None:
    copied(a, b)
    edit(a, key=a.stem)


def other_description(a: Path, b: Path) -> None:
    edit(a, about=to_canonical_json({"test": "another"}))


def forged(a: Path, b: Path) -> None:
    """The content of another piece under this one's name, with the seal that anybody can compute:
    only a key, or the list of the run, shows it."""
    name = metadata_of(a)
    other = metadata_of(b)
    copied(a, b)
    seal = compute_seal(name["key"], other["content"], name["made_on"])
    edit(a, **{**name, "content": other["content"], "seal": seal})


def done(folder: Path) -> WorkerPool:
    pool = WorkerPool(CurrentProcess(), CheckpointStore(Store.at(folder)))
    pool.reduced(work(64), merge)
    return pool


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (copied, r"holds the piece .*, not "),
        (copied_and_named, "another description"),
        (other_description, "another description"),
        (lambda a, b: edit(a, made_on="0" * 64), "another seal"),
        (lambda a, b: edit(a, made_by="theodolite 9"), "another version"),
        (lambda a, b: edit(a, content="0" * 64), "other content"),
        (forged, "that which the run used"),
    ],
)
def test_entries_that_were_put_there(tmp_path: Path, change: Edit, match: str) -> None:
    """Checking names each; a run does each again, but for a forgery without any key."""
    pool = done(tmp_path)
    entries = list(pool.used.values())
    assert len(entries) == 64 == pool.checkpoints.compare(entries)
    first, second, *_ = sorted(tmp_path.glob("*.safetensors"))
    change(first, second)
    with pytest.raises(VerificationError, match=match) as caught:
        pool.checkpoints.compare(entries)
    assert caught.value.exit_code == 5
    again = WorkerPool(CurrentProcess(), pool.checkpoints)
    whole = again.reduced(work(64), merge)
    if change is not forged:
        assert again.computed == 1
        assert digest_arrays(whole or {}) == digest_arrays(
            done(tmp_path / "new").reduced(work(64), merge)
        )
        assert pool.checkpoints.compare(entries) == 64


def test_entries_under_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others can neither add nor forge; without the key nothing of them is believed."""
    done(tmp_path / "open")
    write_new_key(tmp_path / "key")
    monkeypatch.setenv(KEY_FILE, str(tmp_path / "key"))
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600 and len(get_key_id()) == 16
    assert done(tmp_path / "open").computed == 64, "what has no keyed seal is done again"
    assert done(tmp_path / "open").computed == 0
    first, second, *_ = sorted((tmp_path / "open").glob("*.safetensors"))
    forged(first, second)
    assert done(tmp_path / "open").computed == 1
    write_new_key(tmp_path / "other")
    monkeypatch.setenv(KEY_FILE, str(tmp_path / "other"))
    assert done(tmp_path / "open").computed == 64
    monkeypatch.delenv(KEY_FILE)
    assert done(tmp_path / "open").computed == 64


def test_keys_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_new_key(tmp_path / "key")
    with pytest.raises(EvidenceError, match="an existing file"):
        write_new_key(tmp_path / "key")
    (tmp_path / "seen").write_bytes(b"x" * 32)
    (tmp_path / "seen").chmod(0o644)
    (tmp_path / "short").write_bytes(b"x" * 31)
    (tmp_path / "short").chmod(0o600)
    for name, match in (("seen", "mode 0644"), ("short", "31 bytes"), ("none", "No such file")):
        monkeypatch.setenv(KEY_FILE, str(tmp_path / name))
        with pytest.raises(EvidenceError, match=match):
            read_seal_key()
    ran = theodolite("data", "keys", tmp_path / "made")
    assert ran.returncode == 0 and KEY_FILE in ran.stdout and (tmp_path / "made").is_file()


def test_no_flipped_bit_goes_unnoticed() -> None:
    """Anywhere in the file: lengths, padding, metadata, names, numbers."""
    name = CheckpointName.of(
        to_canonical_json({"a": 1}), "d", to_canonical_json({"theodolite": "0.1.0+00"})
    )
    file, entry = pack_checkpoint(name, numbers(3), digest_arithmetic())
    random = np.random.default_rng(0)
    ledger = CheckpointStore(Store.at("/nowhere"))
    for _ in range(300):
        broken = bytearray(file)
        broken[random.integers(len(file))] ^= 1 << random.integers(8)
        object.__setattr__(ledger, "store", FileOf(bytes(broken)))
        assert ledger.read(entry.key) is None
    object.__setattr__(ledger, "store", FileOf(file))
    assert ledger.read(entry.key) is not None


class FileOf:
    """A store of one file."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def size(self, name: str) -> int:
        return len(self.content)

    def read(self, name: str, limit: int) -> bytes:
        return self.content
