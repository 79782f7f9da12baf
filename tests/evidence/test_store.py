"""Evidence in pieces: what was written comes back, and anything else is refused."""

import json
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from theodolite._planted.concepts import planted_concepts, planted_locations
from theodolite._planted.surrogates import planted_surrogates
from theodolite._planted.units import planted_units
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.shards import (
    InMemoryShards,
    compute_evidence_digest,
    count_clusters,
    draw_samples,
)
from theodolite.evidence.store import is_stored, stored
from theodolite.evidence.store_writer import EvidenceWriter


def write(evidence: Any, folder: Path, rows: int = 32, batch: int = 50) -> None:
    with EvidenceWriter(folder, rows) as writer:
        for at in range(0, len(evidence), batch):
            writer.add(evidence[at : at + batch])


KINDS = {
    "concept": lambda: planted_concepts(150),
    "location": lambda: planted_locations(90),
    "unit": lambda: planted_units(120),
    "surrogate": lambda: planted_surrogates(100),
    "with ids and clusters": lambda: replace(
        planted_concepts(70),
        samples=Samples(ids=np.array([f"ü{i}" for i in range(70)]), clusters=np.arange(70) // 7),
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_what_was_written_comes_back(tmp_path: Path, name: str) -> None:
    evidence = KINDS[name]()
    write(evidence, tmp_path / "e")
    assert is_stored(tmp_path / "e") and not is_stored(tmp_path)
    result = stored(tmp_path / "e")
    assert (result.kind, len(result)) == (type(evidence), len(evidence))
    whole = draw_samples(result, 10**6, 0)
    assert compute_evidence_digest(whole) == compute_evidence_digest(evidence)
    for axis in ("concepts", "classes", "parts", "units"):
        assert getattr(whole, axis, None) == getattr(evidence, axis, None)
    cut = [piece.evidence() for piece in result.shards()]
    assert [len(piece) for piece in cut[:-1]] == [32] * (len(cut) - 1)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(16, 50))
def test_batches_of_any_size_give_the_same_pieces(
    tmp_path_factory: pytest.TempPathFactory, batches: list[int], rows: int
) -> None:
    folder = tmp_path_factory.mktemp("batches")
    evidence = planted_concepts(sum(batches))
    write(evidence, folder / "once", rows, sum(batches))
    with EvidenceWriter(folder / "many", rows) as writer:
        at = 0
        for n in batches:  # each numbered from 0, as whoever makes them knows no better
            part = evidence[at : at + n]
            writer.add(replace(part, samples=Samples.numbered(n)))
            at += n
    assert stored(folder / "once").digests() == stored(folder / "many").digests()
    assert stored(folder / "once").digest() == stored(folder / "many").digest()


def test_the_bundle_inside(tmp_path: Path) -> None:
    evidence = planted_locations(60)
    write(evidence, tmp_path / "e")
    within = stored(tmp_path / "e", "explained")
    assert within.kind is ConceptEvidence
    whole = draw_samples(within, 10**6, 0)
    assert compute_evidence_digest(whole) == compute_evidence_digest(evidence.explained)


def test_clusters_are_counted_piece_by_piece(tmp_path: Path) -> None:
    evidence = planted_concepts(200, n_classes=5)
    write(evidence, tmp_path / "e")
    assert count_clusters(stored(tmp_path / "e")) is None
    result = count_clusters(stored(tmp_path / "e").by_class())
    assert result is not None and (result.n, result.whole_classes) == (5, True)
    assert stored(tmp_path / "e").by_class().digests() != stored(tmp_path / "e").digests()
    mixed = replace(evidence, samples=Samples(clusters=np.arange(200) % 7))
    held = count_clusters(InMemoryShards(mixed))
    assert held is not None and (held.n, held.whole_classes) == (7, False)


def test_some_samples_are_the_same_wherever_they_lie(tmp_path: Path) -> None:
    evidence = planted_concepts(500)
    write(evidence, tmp_path / "e")
    a = draw_samples(stored(tmp_path / "e"), 120, 3)
    b = draw_samples(InMemoryShards(evidence), 120, 3)
    c = draw_samples(InMemoryShards(evidence[np.random.default_rng(0).permutation(500)]), 120, 3)
    assert len(a) == len(b) == len(c) == 120
    assert_array_equal(a.samples.index, b.samples.index)
    assert_array_equal(a.samples.index, c.samples.index)
    other = draw_samples(InMemoryShards(evidence), 120, 4)
    assert set(other.samples.index) != set(a.samples.index)
    assert 200 < np.mean(a.samples.index) < 300, "from all over"


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_changed_byte_is_refused(tmp_path: Path) -> None:
    """In any file of the store, anywhere: seen, or without effect."""
    evidence = planted_concepts(64)
    write(evidence, tmp_path / "whole")
    chance = np.random.default_rng(0)
    refused = 0
    for file in files(tmp_path / "whole"):
        for _ in range(3):
            folder = tmp_path / "changed"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(tmp_path / "whole", folder)
            target = folder / file.relative_to(tmp_path / "whole")
            content = bytearray(target.read_bytes())
            content[chance.integers(len(content))] ^= 1 << chance.integers(8)
            target.write_bytes(bytes(content))
            # a store is remembered by its address: another one for each
            moved = tmp_path / f"moved-{file.name}-{refused}-{chance.integers(10**9)}"
            folder.rename(moved)
            try:
                whole = draw_samples(stored(moved), 10**6, 0)
            except EvidenceError as error:
                refused += 1
                assert "\n" not in str(error)
                continue
            assert compute_evidence_digest(whole) == compute_evidence_digest(evidence)
    assert refused > len(files(tmp_path / "whole"))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"format_version": 9}, "format version 9"),
        ({"format_version": [3, 0]}, "got format version .3, 0., written by theodolite .*Update"),
        ({"needs": ["quanta"]}, "a bundle that needs .'quanta'., written by"),
        ({"format": "other"}, "another format"),
        ({"sha256": "../x"}, "no digest of a manifest"),
        ({"sha256": "0" * 64}, "nothing there"),
    ],
)
def test_odd_headers_are_refused(tmp_path: Path, change: dict[str, Any], match: str) -> None:
    write(planted_concepts(40), tmp_path / "e")
    header = json.loads((tmp_path / "e" / "header.json").read_text())
    (tmp_path / "e" / "header.json").write_text(json.dumps(header | change))
    with pytest.raises(UnsafeInputError, match=match):
        stored(tmp_path / "e")


def test_later_minor_versions_are_read(tmp_path: Path) -> None:
    write(planted_concepts(40), tmp_path / "e")
    header = json.loads((tmp_path / "e" / "header.json").read_text())
    later = header | {"format_version": [2, 7], "a field of later": {"x": 1}}
    (tmp_path / "e" / "header.json").write_text(json.dumps(later))
    assert len(draw_samples(stored(tmp_path / "e"), 100, 0)) == 40


def test_half_a_store_is_none(tmp_path: Path) -> None:
    half_way = ZeroDivisionError()
    with suppress(ZeroDivisionError), EvidenceWriter(tmp_path / "e", 32) as writer:
        writer.add(planted_concepts(40))
        raise half_way
    assert not is_stored(tmp_path / "e")
    with pytest.raises(EvidenceError, match="something in it"):
        write(planted_concepts(40), Path(__file__).parent)
    with pytest.raises(EvidenceError, match="no samples"), EvidenceWriter(tmp_path / "f"):
        pass


def test_batches_that_do_not_belong_together(tmp_path: Path) -> None:
    evidence = planted_concepts(80)
    other = replace(evidence, concepts=tuple(f"other {i}" for i in range(len(evidence.concepts))))
    for number, (wrong, match) in enumerate(
        [
            (other, "axes: got others than"),
            (replace(evidence, truth=None), "arrays: got others"),
            (replace(evidence, weights=-np.asarray(evidence.weights)), "weights: got other values"),
            (replace(evidence, samples=Samples(index=np.arange(80) * 2 - 3)), "numbers that rise"),
        ]
    ):
        writer = EvidenceWriter(tmp_path / f"{number}", 32)
        writer.add(evidence)
        with pytest.raises(EvidenceError, match=match):
            writer.add(wrong)


def test_large_samples_are_cut_into_smaller_pieces(tmp_path: Path) -> None:
    evidence = ConceptEvidence(values=np.zeros((3000, 20_000), np.float32))
    with EvidenceWriter(tmp_path / "e") as writer:
        writer.add(evidence)
    assert stored(tmp_path / "e").cuts[0][1] == 512


def test_in_a_bucket(s3: str) -> None:
    evidence = planted_locations(60)
    with EvidenceWriter(s3, 32) as writer:
        writer.add(evidence)
    assert is_stored(s3)
    assert compute_evidence_digest(draw_samples(stored(s3), 10**6, 0)) == compute_evidence_digest(
        evidence
    )
