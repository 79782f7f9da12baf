"""Rows of unequal length: cut, joined, stored and refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theodolite._planted.examples import plant_example
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence import shards as shards_module
from theodolite.evidence import store_writer
from theodolite.evidence.axes import Latents, Samples
from theodolite.evidence.files import load
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.manifests.commit import commit
from theodolite.evidence.plain_arrays import from_sample_arrays, to_sample_arrays
from theodolite.evidence.ragged import Ragged
from theodolite.evidence.shards import InMemoryShards, compute_evidence_digest, find_shard_starts
from theodolite.evidence.store import stored
from theodolite.evidence.store_writer import EvidenceWriter
from theodolite.testing.evidence_bytes import find_difference
from theodolite.testing.strategies import token_evidence

WORDS = [[3, 4, 5], [], [6, 4, 7, 8]]
LATENTS = [[[0, 2], [], [1]], [], [[2], [0], [], [0, 1, 2]]]
VALUES = [[[0.5, 1.5], [], [2.0]], [], [[1.0], [3.0], [], [0.1, 0.2, 0.3]]]


def tiny(**more: Any) -> TokenEvidence:
    return TokenEvidence(**({"tokens": WORDS, "latent": LATENTS, "value": VALUES} | more))


def rows_of(ragged: Ragged) -> list[Any]:
    if ragged.inner_starts is None:
        return [ragged[row].tolist() for row in range(len(ragged))]
    return [rows_of(ragged[row]) for row in range(len(ragged))]


def test_lists_become_entries_and_starts() -> None:
    evidence = tiny()
    assert evidence.value.flat.tolist() == [0.5, 1.5, 2.0, 1.0, 3.0, 0.1, 0.2, 0.3]
    assert evidence.value.starts.tolist() == [0, 3, 3, 7]
    assert evidence.value.inner_starts.tolist() == [0, 2, 2, 3, 4, 5, 5, 8]
    assert rows_of(evidence.latent) == LATENTS
    assert len(evidence.latents) == 3
    assert evidence.value.row.tolist() == [0, 0, 0, 2, 2, 2, 2, 2]
    assert evidence.value.sums().tolist() == pytest.approx([4.0, 0.0, 4.6])


def test_starts_of_one_axis_are_one_array() -> None:
    evidence = tiny(relevance=[[0.1, 0.2, 0.3], [], [1.0, 2.0, 3.0, 4.0]])
    for cut in (evidence, evidence[1:], evidence[np.array([2, 0])]):
        assert cut.tokens.starts is cut.relevance.starts is cut.value.starts
        assert cut.value.inner_starts is cut.latent.inner_starts
    parts = TokenEvidence.joined([evidence[:1], evidence[1:]])
    assert parts.tokens.starts is parts.value.starts


@given(evidence=token_evidence(), data=st.data())
def test_rows_are_taken_as_from_lists(evidence: TokenEvidence, data: st.DataObject) -> None:
    n = len(evidence)
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=6)), np.int64)
    first, last = sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n))))
    for name in ("tokens", "value", "holds"):
        every = rows_of(getattr(evidence, name))
        assert rows_of(getattr(evidence[rows], name)) == [every[row] for row in rows]
        assert rows_of(getattr(evidence[first:last], name)) == every[first:last]


@given(evidence=token_evidence(), data=st.data())
def test_cut_anywhere_and_joined_is_the_same_bytes(
    evidence: TokenEvidence, data: st.DataObject
) -> None:
    a, b = sorted(data.draw(st.tuples(*[st.integers(0, len(evidence))] * 2)))
    whole = TokenEvidence.joined([evidence[:a], evidence[a:b], evidence[b:]])
    assert find_difference(whole, evidence) == ""
    assert compute_evidence_digest(whole) == compute_evidence_digest(evidence)
    again = from_sample_arrays(evidence[:1], to_sample_arrays(evidence))
    assert find_difference(again[:], evidence[:]) == ""


def test_digest_knows_where_rows_start() -> None:
    other = tiny(tokens=[[3, 4], [5], [6, 4, 7, 8]], latent=None, value=None)
    assert compute_evidence_digest(other) != compute_evidence_digest(tiny(latent=None, value=None))


def test_narrow_numbers_stay_narrow() -> None:
    latent = Ragged.from_rows(LATENTS, depth=2, dtype=np.uint16)
    value = Ragged.from_rows(VALUES, depth=2, dtype=np.float16)
    evidence = tiny(latent=latent, value=value)
    assert evidence.latent.flat.dtype == np.int32
    assert evidence.value.flat.dtype == np.float16
    assert evidence.value.sums().dtype == np.float64
    assert tiny().latent.flat.dtype == np.int64


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"tokens": np.zeros((3, 4), int)}, "padding is left out"),
        ({"tokens": 7}, "lists"),
        ({"tokens": [[], [], []], "latent": None, "value": None}, "no tokens in any row"),
        ({"tokens": Ragged(np.arange(7), np.array([0, 4, 3, 7]))}, "rise from 0 to 7"),
        ({"tokens": Ragged(np.arange(7), np.array([0, 3, 6]))}, "rise from 0 to 7"),
        ({"tokens": [[3, 4], [5], [6, 4, 7, 8]]}, "other numbers of tokens"),
        ({"relevance": [[0.1, 0.2, 0.3], [], [1.0, 2.0, 3.0]]}, "tokens = 7"),
        ({"relevance": [[0.1, np.nan, 0.3], [], [1.0] * 4]}, "NaN"),
        ({"importance": LATENTS[:2]}, "samples = 3"),
        ({"value": VALUES[0]}, "lists of lists"),
        ({"value": Ragged(np.ones(7), np.array([0, 3, 3, 7]))}, "1 levels of rows"),
        ({"latents": 2}, "positions in latents"),
        ({"latent": [[[2, 0], [], [1]], *LATENTS[1:]]}, "2, then 0 in sequence 0"),
        ({"value": [[[0.5, 0.0], [], [2.0]], *VALUES[1:]]}, "0 in sequence 0"),
        ({"value": [[[0.5, -1.0], [], [2.0]], *VALUES[1:]]}, "signed=True"),
        ({"latent": None}, "none, but `value`"),
        ({"loss_spliced": [[1.0] * 3, [], [1.0] * 4]}, "none, but `loss_spliced`"),
        ({"dense": Ragged(np.zeros((7, 3)), np.array([0, 3, 3, 7]))}, "either"),
        ({"clean": [0.5, 1.5, 0.5]}, "probabilities"),
    ],
)
def test_what_is_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(EvidenceError, match=says):
        tiny(**change)


def test_signed_values_are_taken_if_that_is_said() -> None:
    signed = tiny(value=[[[0.5, -1.0], [], [2.0]], *VALUES[1:]], signed=True)
    assert signed.is_signed
    assert not tiny().is_signed
    assert signed.value.flat.min() == -1.0


def test_what_a_reader_should_know() -> None:
    many = tiny(latents=Latents(count=1000))
    assert many.warnings() == ["997 of 1,000 latents are never active"]
    assert tiny(decoder=np.eye(3)[[0, 0, 1]] * [[1], [0], [1]]).warnings() == [
        "1 of 3 rows of the decoder are all 0"
    ]


def test_a_rectangle_is_never_made() -> None:
    with pytest.raises(EvidenceError, match="unequal length"):
        np.asarray(tiny().tokens)


def test_saved_and_loaded(tmp_path: Path) -> None:
    evidence = plant_example(TokenEvidence, 1)
    evidence.save(tmp_path / "bundle")
    assert find_difference(load(tmp_path / "bundle"), evidence) == ""
    (tmp_path / "bundle" / "tokens.starts.npy").unlink()
    with pytest.raises(UnsafeInputError):
        load(tmp_path / "bundle")


def stored_as(address: Path, evidence: TokenEvidence, batches: int, **how: Any) -> Any:
    with EvidenceWriter(address, **how) as writer:
        for rows in np.array_split(np.arange(len(evidence)), batches):
            writer.add(evidence[rows])
    return stored(address)


@pytest.mark.parametrize("batches", [1, 7])
def test_stored_in_pieces_as_in_memory(
    tmp_path: Path, batches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards_module, "MAX_SHARD_ENTRIES", 15)
    monkeypatch.setattr(store_writer, "MAX_SHARD_ENTRIES", 15)
    whole = plant_example(TokenEvidence, 2)[:16]
    names = ("tokens", "latent", "value", "truth", "decoder")
    arrays = {name: getattr(whole, name) for name in names}
    evidence = TokenEvidence(**arrays, samples=Samples(clusters=np.arange(16) // 4))
    memory, store = InMemoryShards(evidence), stored_as(tmp_path / "s", evidence, batches)
    assert len(memory.shards()) > 4
    assert len(store.shards()) == len(memory.shards())
    for there, here in zip(store.shards(), memory.shards(), strict=True):
        assert compute_evidence_digest(there.evidence()) == compute_evidence_digest(here.evidence())
        assert find_difference(there.evidence(), here.evidence()) == ""
        value = there.evidence().value
        assert len(value.flat) <= 15 or len(value) == 1
    assert find_difference(store.first(), memory.first()) == ""


def test_a_piece_of_empty_sequences_is_read_again(tmp_path: Path) -> None:
    evidence = tiny(holds=[[[], [], []], [], [[], [], [], []]], predicates=["a"])
    pieces = stored_as(tmp_path / "s", evidence, 1, rows=1).shards()
    assert [len(piece.evidence().tokens.flat) for piece in pieces] == [3, 0, 4]
    whole = TokenEvidence.joined([piece.evidence() for piece in pieces])
    assert find_difference(whole, evidence) == ""


def test_parts_are_committed_and_older_readers_refuse(tmp_path: Path) -> None:
    evidence = tiny()
    for part, rows in enumerate((slice(0, 1), slice(1, None))):
        with EvidenceWriter(tmp_path / "s", part=part) as writer:
            writer.add(evidence[rows])
    commit(str(tmp_path / "s"))
    whole = TokenEvidence.joined([p.evidence() for p in stored(tmp_path / "s").shards()])
    assert compute_evidence_digest(whole) == compute_evidence_digest(evidence)
    assert '"ragged"' in (tmp_path / "s" / "header.json").read_text()


def test_entries_bound_a_piece() -> None:
    tokens = Ragged(np.arange(10 * (1 << 20), dtype=np.int32), np.arange(11) * (1 << 20))
    assert find_shard_starts(TokenEvidence(tokens=tokens)) == [0, 4, 8, 10]
    short = TokenEvidence(tokens=Ragged(np.arange(5000), np.arange(5001)))
    assert find_shard_starts(short) == [0, 2048, 4096, 5000]
