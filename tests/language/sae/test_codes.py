"""Sparse codes: what goes in, what is refused, and that a folder gives back what was written."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from support.evidence.codes import planted_codes, planted_piece
from theodolite._storage.arrays import write_safetensors
from theodolite._storage.paths import sha256_of
from theodolite.errors import EvidenceError
from theodolite.language.sae.activation_shard import (
    PADDING,
    SparseActivationShard,
    check_shard,
    join_shards,
)
from theodolite.language.sae.evidence import SparseActivationEvidence
from theodolite.language.sae.writer import SparseActivationWriter

UNIT = np.array([[3, 1, 7], [2, PADDING, PADDING], [PADDING] * 3, [0, 7, 5]], np.uint32)
VALUE = np.arange(12, dtype=np.float16).reshape(4, 3) + 1
LABELS = [[0, 2], [], [2, 0], [1]]
NAMES = ("a", "b", "c")


def same(one_piece: SparseActivationShard, other: SparseActivationShard) -> bool:
    a, b = one_piece.arrays(), other.arrays()
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def test_three_forms_of_the_same_codes() -> None:
    top = SparseActivationShard.from_top(UNIT, VALUE, documents=[1, 3], labels=LABELS)
    start, unit, value = [0, 3, 4, 4, 7], [1, 3, 7, 2, 0, 5, 7], [2, 1, 3, 4, 10, 12, 11]
    rows = (np.array([0, 2, 2, 4, 5]), np.array([0, 2, 0, 2, 1]))
    half = np.array(value, np.float16)
    assert same(
        top, SparseActivationShard.from_csr(start, unit, half, documents=[1, 3], labels=rows)
    )
    position = [0, 0, 0, 1, 3, 3, 3]
    assert same(
        top, SparseActivationShard.from_coo(position, unit, half, documents=[1, 3], labels=LABELS)
    )
    assert len(top.set_start) - 1 == 3, "equal sets are one"


CSR: dict[str, Any] = {
    "start": [0, 2, 3], "unit": [0, 4, 1], "value": np.ones(3, np.float32),
    "documents": [1, 1], "labels": [[0], [1]],
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"unit": [4, 0, 1]}, "rise"),
        ({"unit": [4, 4, 1]}, "rise"),
        ({"unit": [-1, 4, 1]}, "whole numbers"),
        ({"unit": [0.0, 4.0, 1.0]}, "whole numbers"),
        ({"start": [0, 2, 4]}, "starts"),
        ({"start": [1, 2, 3]}, "starts"),
        ({"value": np.array([1, 0, 1.0])}, "above 0"),
        ({"value": np.array([1, np.nan, 1.0])}, "above 0"),
        ({"value": np.array([1, np.inf, 1.0])}, "above 0"),
        ({"value": np.array([1, -1.0, 1.0])}, "above 0"),
        ({"value": np.ones(2)}, "as `unit`"),
        ({"documents": [1, 2]}, "positions"),
        ({"documents": [2, 0]}, "empty"),
        ({"labels": [[0]]}, "as in the codes"),
        ({"labels": [[0], [1, 1]]}, "rise"),
    ],
)
def test_what_does_not_fit_is_refused(changed: dict[str, Any], word: str) -> None:
    SparseActivationShard.from_csr(**CSR)
    with pytest.raises(EvidenceError, match=word):
        SparseActivationShard.from_csr(**CSR | changed)


@pytest.mark.parametrize(("units", "names"), [(4, NAMES), (5, NAMES[:1]), (0, NAMES)])
def test_numbers_beyond_what_there_is_are_refused(units: int, names: tuple[str, ...]) -> None:
    piece = SparseActivationShard.from_csr(**CSR)
    SparseActivationEvidence([piece], units=5, concepts=NAMES)
    with pytest.raises(EvidenceError):
        SparseActivationEvidence([piece], units=units, concepts=names)


@pytest.mark.parametrize("positions", [7, 64, 400, 10_000])
def test_a_folder_gives_back_what_was_written(tmp_path: Path, positions: int) -> None:
    pieces = [planted_piece(seed) for seed in range(3)]
    with SparseActivationWriter(
        tmp_path / "codes", units=60, concepts=planted_codes().concepts, positions=positions
    ) as writer:
        for piece in pieces:
            writer.add(piece)
    stored = SparseActivationEvidence.open(tmp_path / "codes")
    parts = [stored.piece(n, check=True) for n in range(len(stored))]
    assert same(join_shards(parts), join_shards(pieces))
    assert all(len(part) <= max(positions, 16) for part in parts)
    assert (stored.positions, stored.documents) == (sum(map(len, pieces)), 120)
    with pytest.raises(EvidenceError, match="already"):
        SparseActivationWriter(tmp_path / "codes", units=60, concepts=["a"])


def test_what_was_not_finished_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), SparseActivationWriter(tmp_path, units=60, concepts=["a"]):
        raise RuntimeError
    with pytest.raises(EvidenceError, match="nothing there"):
        SparseActivationEvidence.open(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with SparseActivationWriter(tmp_path, units=60, concepts=planted_codes().concepts) as writer:
        writer.add(planted_piece(0))
    return tmp_path


def rewritten(folder: Path, **changed: Any) -> None:
    """Another manifest; the digest of a piece that was changed is put right."""
    manifest = json.loads((folder / "codes.json").read_text()) | changed
    for entry in manifest["pieces"]:
        if isinstance(entry, dict) and (folder / entry["file"]).is_file():
            entry["sha256"] = sha256_of(folder / entry["file"])
    (folder / "codes.json").write_text(json.dumps(manifest))


def test_a_changed_byte_is_noticed(folder: Path) -> None:
    path = folder / "piece-000000.safetensors"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(EvidenceError, match="digest"):
        SparseActivationEvidence.open(folder).piece(0)


@pytest.mark.parametrize("name", ["../piece.safetensors", "/etc/passwd", "gone.safetensors"])
def test_pieces_stay_in_their_folder(folder: Path, name: str) -> None:
    pieces = [{"file": name, "sha256": "", "positions": 9, "documents": 2, "values": 3}]
    rewritten(folder, pieces=pieces)
    with pytest.raises(EvidenceError):
        SparseActivationEvidence.open(folder).piece(0)


@pytest.mark.parametrize(
    "changed",
    [{"format": "other"}, {"format_version": 2}, {"units": "many"}, {"pieces": []}, {"pieces": [3]},
     {"concepts": ["a", "a"]}, {"units": 5}],
)  # fmt: skip
def test_a_manifest_that_does_not_fit_is_refused(folder: Path, changed: dict[str, Any]) -> None:
    rewritten(folder, **changed)
    with pytest.raises(EvidenceError):
        SparseActivationEvidence.open(folder).piece(0, check=True)


@pytest.mark.parametrize("fault", ["type", "missing", "shape", "cut", "header", "out of range"])
def test_a_piece_that_does_not_fit_is_refused(folder: Path, fault: str) -> None:
    arrays = dict(planted_piece(0).arrays())
    path = folder / "piece-000000.safetensors"
    if fault == "type":
        arrays["unit"] = arrays["unit"].astype(np.int64)
    elif fault == "missing":
        del arrays["atom"]
    elif fault == "shape":
        arrays["atom"] = arrays["atom"].reshape(1, -1)
    elif fault == "out of range":
        arrays["atom"] = arrays["atom"] + np.uint32(10_000)
    write_safetensors(path, arrays)
    if fault == "cut":
        path.write_bytes(path.read_bytes()[:-1])
    elif fault == "header":
        path.write_bytes(b"\xff" * 200)
    rewritten(folder)
    with pytest.raises(EvidenceError):
        SparseActivationEvidence.open(folder).piece(0, check=True)


def test_labels_move_on_by_whole_documents() -> None:
    piece = planted_piece(0)
    moved = piece.moved((7, 0))
    assert_array_equal(np.bincount(moved.atom), np.bincount(piece.atom))
    assert (moved.atom != piece.atom).any()
    turn = [t for t in piece.place[:-1] if np.array_equal(np.roll(piece.atom, -int(t)), moved.atom)]
    assert turn
    check_shard(moved)
