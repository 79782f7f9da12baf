"""The same rows by every way in give one bundle."""

import os
from pathlib import Path

import pytest

import theodolite
from support.rows import FIELDS, WAYS, N, Rows, options
from theodolite.errors import EvidenceError


@pytest.fixture(scope="module")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("first")
    return theodolite.store(Rows().table(), folder / "new", **options("")).digest


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_same_bundle(way: str, digest: str, tmp_path: Path) -> None:
    source = WAYS[way](Rows(), tmp_path)
    if way in ("record batches", "reader", "dicts of arrays"):  # nulls come late: not read twice
        with pytest.raises(EvidenceError, match=r"row 1,000 and .* more.*read twice"):
            theodolite.store(source, tmp_path / "once", **options(way))
        source = list(WAYS[way](Rows(), tmp_path))
    bundle = theodolite.store(source, tmp_path / "new", **options(way))
    assert (bundle.samples, bundle.digest) == (N, digest)


def test_wide_tables_are_paired_by_names(digest: str, tmp_path: Path) -> None:
    fields = {**FIELDS, "values": "logit_*", "truth": "attr_*"}
    bundle = theodolite.store(Rows().wide(), tmp_path / "new", fields=fields)
    assert bundle.digest == digest


@pytest.mark.skipif(not os.environ.get("THEODOLITE_FULL"), reason="a Ray of its own takes 20 s")
def test_ray_data_gives_the_same_bundle(digest: str, tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    context = ray.init(num_cpus=2, include_dashboard=False, address="local", log_to_driver=False)
    try:
        data = ray.data.from_arrow(Rows().table())
        assert theodolite.store(data, tmp_path / "new", **options("")).digest == digest
    finally:
        context.disconnect()
        ray.shutdown()
