"""Zarr arrays that others wrote are taken as they are; what vanishes later is found."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.manifests.adopt_zarr import adopt
from theodolite.evidence.shards import draw_samples
from theodolite.evidence.store import stored

zarr = pytest.importorskip("zarr")


@pytest.mark.parametrize("shards", [None, (400, 8)])
def test_zarr_as_others_write_it(tmp_path: Path, shards: tuple[int, int] | None) -> None:
    """By default zarr leaves out chunks that are all zero: here most of them."""
    rng = np.random.default_rng(0)
    n = 5000
    values = rng.random((n, 8), np.float32)
    values[rng.random((n // 100, 2)).repeat(100, 0).repeat(4, 1) < 0.7] = 0
    labels = np.arange(n) * 7 // n
    for name, array in {"values": values, "truth": values > 0.5, "labels": labels}.items():
        options = {"chunks": (100, 4)[: array.ndim]}
        if shards and array.ndim == 2:
            options["shards"] = shards
        written = zarr.create_array(
            str(tmp_path / "e" / name), shape=array.shape, dtype=array.dtype, **options
        )
        written[:] = array
    result = adopt(str(tmp_path / "e"), "concept")
    assert result.samples == n
    assert any("chunks of `values` are not stored" in note for note in result.notes)
    assert any("More than half" in note for note in result.notes)
    shards_ = stored(tmp_path / "e")
    whole = draw_samples(shards_, 10**6, 0)
    assert_array_equal(whole.values, values)
    assert_array_equal(whole.truth, values > 0.5)
    assert_array_equal(whole.labels, labels)
    assert len(whole.classes) == 7 and len(shards_.cuts) == 3
    gone = max((tmp_path / "e" / "values" / "c").rglob("*"), key=str)
    gone.unlink()
    with pytest.raises(UnsafeInputError, match="nothing there"):
        draw_samples(shards_, 10**6, 0)


def test_what_cannot_be_adopted(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="as: got 'location'; needed one of"):
        adopt(str(tmp_path), "location")
    with pytest.raises(EvidenceError, match="all that concept evidence needs"):
        adopt(str(tmp_path), "concept")
