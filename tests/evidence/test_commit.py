"""Many writers, one commit: a bundle is there whole, or not at all."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.servers.atomic_s3 import atomic_s3, counted
from theodolite._planted.concepts import planted_concepts
from theodolite._storage.stores import Store
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.manifests.commit import commit
from theodolite.evidence.manifests.unused_files import find_unused_files
from theodolite.evidence.shards import compute_evidence_digest, draw_samples
from theodolite.evidence.store import is_stored, stored
from theodolite.evidence.store_writer import EvidenceWriter

ROWS = 32


def write_part(address: str, part: int, *, rows: int = 64, shift: float = 0.0) -> None:
    whole = planted_concepts(320)
    own: Any = whole[part * rows : (part + 1) * rows]
    if shift:
        own = planted_concepts(320, seed=9)[:rows]
    with EvidenceWriter(address, ROWS, part=part) as writer:
        writer.add(own)


def test_parts_are_one_bundle(tmp_path: Path) -> None:
    address = str(tmp_path / "e")
    for part in (3, 0, 2, 1, 2):  # the retry of one that was thought to be dead
        write_part(address, part)
    assert not is_stored(address)
    unfinished = EvidenceWriter(address, ROWS, part=4)
    unfinished.add(planted_concepts(320)[256:])
    result = commit(address)
    assert (result.samples, result.parts, result.created) == (256, 4, True)
    whole = draw_samples(stored(address), 10**6, 0)
    assert compute_evidence_digest(whole) == compute_evidence_digest(planted_concepts(320)[:256])
    with EvidenceWriter(tmp_path / "once", ROWS) as writer:
        writer.add(planted_concepts(320)[:256])
    assert stored(address).digests() == stored(tmp_path / "once").digests()
    again = commit(address)
    assert (again.sha256, again.created) == (result.sha256, True)
    rubbish = find_unused_files(address, 0)
    assert rubbish and all(name.startswith("parts/") for name in rubbish)
    for name in rubbish:
        Store.at(address).remove(name)
    assert compute_evidence_digest(
        draw_samples(stored(address), 10**6, 0)
    ) == compute_evidence_digest(whole)


def test_a_bundle_grows_and_stays_what_it_was(tmp_path: Path) -> None:
    address = str(tmp_path / "e")
    write_part(address, 0)
    first = commit(address)
    write_part(address, 1)
    with pytest.raises(EvidenceError, match=first.sha256):
        commit(address)
    with pytest.raises(EvidenceError, match=first.sha256):
        commit(address, expects="0" * 64)
    second = commit(address, expects=first.sha256)
    assert (second.samples, second.parts) == (128, 1)
    assert stored(address).digest() == second.sha256
    before = stored(address, manifest=first.sha256)
    assert before.digests() == stored(address).digests()[:2] and len(before) == 64
    with pytest.raises(EvidenceError, match="no new finished part"):
        commit(address, expects=second.sha256)


def test_parts_that_do_not_belong_together(tmp_path: Path) -> None:
    address = str(tmp_path / "e")
    write_part(address, 0)
    write_part(address, 0, shift=1.0)
    with pytest.raises(EvidenceError, match="two parts 0 that differ"):
        commit(address)
    other = str(tmp_path / "f")
    write_part(other, 0)
    with EvidenceWriter(other, ROWS, part=1) as writer:
        writer.add(planted_concepts(64, n_concepts=5))
    with pytest.raises(EvidenceError, match="parts: got other kind, arrays or names"):
        commit(other)
    with pytest.raises(EvidenceError, match="a whole number from 0 on"):
        EvidenceWriter(other, part=-1)


def test_a_part_that_was_changed_is_refused(tmp_path: Path) -> None:
    address = str(tmp_path / "e")
    write_part(address, 0)
    (manifest,) = (tmp_path / "e" / "parts").glob("*/manifest-*.parquet")
    manifest.write_bytes(manifest.read_bytes() + b"x")
    with pytest.raises(UnsafeInputError, match="another manifest"):
        commit(address)


def test_two_committers_and_the_same_bundle_in_a_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("aiohttp")
    with atomic_s3() as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        address = "s3://bucket/e"
        for part in range(2):
            write_part(address, part)
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(commit, [address] * 2))
        assert results[0].sha256 == results[1].sha256
        counted(environment)
        shards = stored(address)
        shards.shards()[1].evidence()
        requests = counted(environment)
        # header and manifest once; then a request an array: of 6, two that all samples share
        assert requests.get("HEAD", 0) == 0 and requests["GET"] == 2 + 2
        shards.shards()[2].evidence()
        assert counted(environment)["GET"] == 1


def test_a_server_that_ignores_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("aiohttp")
    with atomic_s3(drops_conditions=True) as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        write_part("s3://bucket/e", 0)
        with pytest.raises(EvidenceError, match="--single-committer"):
            commit("s3://bucket/e")
        assert commit("s3://bucket/e", single_committer=True).samples == 64


def test_killed_writers_leave_nothing_half(tmp_path: Path) -> None:
    """The short form of ``benchmarks/commit.py``: one writer is killed at work, then done again."""
    context = multiprocessing.get_context("spawn")
    address = str(tmp_path / "e")
    process = context.Process(target=write_part, args=(address, 0))
    process.start()
    while not list((tmp_path / "e").glob("parts/*/shards/*")) and process.is_alive():
        process.join(0.001)
    process.kill()
    process.join()
    write_part(address, 1)
    if not list((tmp_path / "e").glob("parts/*.json"))[1:]:
        assert commit(address).parts == 1
    else:
        assert commit(address).parts == 2
    whole = draw_samples(stored(address), 10**6, 0)
    assert len(np.unique(whole.samples.index)) == len(whole)
