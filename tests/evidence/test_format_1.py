"""Bundles of format 1, as 0.1 wrote them, are read as they are."""

import zipfile
from pathlib import Path

import numpy as np

from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.shards import evidence_digest, some_samples
from theodolite.evidence.store import is_stored, stored

FIXTURE = Path(__file__).parents[1] / "fixtures" / "v1_evidence" / "in_pieces.zip"
WHOLE = "1ff21d16a1b725ecac5b5a20fc146337fb52aa80ee36a74f99759febe09ad144"
ADDRESS = "704a5cbd71c40a7d3311ad3be07212f727f2a91453cfd3a07555f4d67a20a6fb"


def test_bundles_of_0_1_are_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(FIXTURE) as archive:
        archive.extractall(tmp_path / "e")
    assert is_stored(tmp_path / "e")
    shards = stored(tmp_path / "e")
    assert (shards.kind, len(shards), shards.digest()) == (LocationEvidence, 20, ADDRESS)
    whole = some_samples(shards, 100, 0)
    assert evidence_digest(whole) == WHOLE
    assert whole.samples.ids[3] == "ü3" and (np.diff(whole.samples.index) == 3).all()
    assert len(stored(tmp_path / "e", "explained").first()) == 1
