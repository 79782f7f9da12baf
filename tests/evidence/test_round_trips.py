"""Stored evidence read and stored again: from everywhere to everywhere, in few files and requests."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from support.servers.atomic_s3 import atomic_s3, counted
from theodolite._planted.concepts import planted_concepts
from theodolite._planted.tokens import planted_tokens
from theodolite._storage.stores import Store
from theodolite.cli.commands.data import data_store
from theodolite.errors import EvidenceError
from theodolite.evidence.sources.store_rows import store
from theodolite.evidence.store import stored
from theodolite.evidence.store_writer import EvidenceWriter

KINDS = ("folder", "file://", "s3://")


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    pytest.importorskip("aiohttp")
    with atomic_s3() as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield environment


def address(kind: str, folder: Path, name: str) -> str:
    if kind == "s3://":
        return f"s3://bucket/{folder.name}/{name}"
    return f"{'' if kind == 'folder' else kind}{folder / name}"


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("source", KINDS)
def test_stored_evidence_is_stored_again(
    server: dict[str, str], tmp_path: Path, source: str, target: str
) -> None:
    first, second = address(source, tmp_path, "a"), address(target, tmp_path, "b")
    store(planted_concepts(200, n_concepts=4), first, rows=64)
    data_store(first, second, rows=64)
    assert stored(second).digests() == stored(first).digests()
    assert stored(second).digest() == stored(first).digest(), "the manifest is the same too"


def test_other_shards_hold_the_same(server: dict[str, str], tmp_path: Path) -> None:
    """Ragged rows in shards of 64, of 48 in a bucket, and of 64 again."""
    places = [str(tmp_path / "a"), "s3://bucket/again", str(tmp_path / "c")]
    store(planted_tokens(200), places[0], rows=64)
    store(places[0], places[1], rows=48)
    store(places[1], places[2], rows=64)
    assert len(stored(places[1]).shards()) == 5
    assert stored(places[2]).digests() == stored(places[0]).digests()
    with pytest.raises(EvidenceError, match="evidence with fields beside it"):
        store(places[0], tmp_path / "d", fields={"values": "x"})


def test_one_file_and_one_request_for_each_shard(
    server: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    sync = os.fsync

    def count(number: int) -> None:
        synced.append(number)
        sync(number)

    monkeypatch.setattr(os, "fsync", count)
    evidence = planted_tokens(1024)
    with EvidenceWriter(tmp_path / "a", 16) as writer:
        writer.add(evidence)
    files = Store.at(tmp_path / "a").names()
    assert len(stored(tmp_path / "a").shards()) == 64
    assert len(files) <= 68 and len(synced) <= 2 * len(files)
    counted(server)
    with EvidenceWriter("s3://bucket/few", 16) as writer:
        writer.add(evidence)
    requests = counted(server)
    assert requests.pop("at_once") and requests.keys() == {"GET", "PUT"}, "no DELETE, no HEAD"
    assert requests["GET"] == 1 and requests["PUT"] == len(files)


def test_sample_numbers_survive(tmp_path: Path) -> None:
    evidence = planted_concepts(100, n_concepts=3)[np.sort(np.unique(np.arange(100) ** 2 % 97))]
    store(evidence, tmp_path / "a", rows=16)
    store(tmp_path / "a", tmp_path / "b", rows=32)
    whole = [
        np.asarray(shard.evidence().samples.index) for shard in stored(tmp_path / "b").shards()
    ]
    assert (np.concatenate(whole) == evidence.samples.index).all()
