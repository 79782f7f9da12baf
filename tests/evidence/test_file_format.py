"""docs/file-format.md is exact: its code gives our digests, and a writer made from it is read."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from theodolite._planted.concepts import planted_locations
from theodolite.evidence.manifests.digests import collect_axes
from theodolite.evidence.manifests.manifest import read_manifest
from theodolite.evidence.manifests.stored_shards import read_arrays
from theodolite.evidence.shards import draw_samples
from theodolite.evidence.store import stored
from theodolite.evidence.store_writer import EvidenceWriter

PAGE = Path(__file__).parents[2] / "docs" / "file-format.md"
WRITER = Path(__file__).parents[1] / "support" / "evidence" / "third_party_writer.py"


def recipe() -> dict[str, Any]:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    for block in blocks[:2]:  # the recipe, and its example
        exec(block, names)  # noqa: S102  our own page
    return names


def test_the_recipe_of_the_page_gives_our_digests(tmp_path: Path) -> None:
    page = recipe()
    with EvidenceWriter(tmp_path / "e", 32) as writer:
        writer.add(planted_locations(60))
    shards = stored(tmp_path / "e")
    manifest = read_manifest(shards.store, shards.version)
    axes = collect_axes(manifest.bundle)
    names = set(manifest.layouts)
    (shared,) = read_arrays(shards.store, manifest, [-1], names)
    for number, (_, _, digest) in enumerate(shards.cuts):
        (own,) = read_arrays(shards.store, manifest, [number], names)
        assert page["digest_of_piece"](shared | own, axes) == digest


def test_a_writer_made_from_the_page_alone(tmp_path: Path) -> None:
    pytest.importorskip("numcodecs")
    imports = {
        alias.name.partition(".")[0]
        for node in ast.walk(ast.parse(WRITER.read_text("utf-8")))
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert imports == {"hashlib", "json", "sys", "numpy", "pyarrow"}
    subprocess.run([sys.executable, str(WRITER), str(tmp_path / "e")], check=True)
    shards = stored(tmp_path / "e")
    whole = draw_samples(shards, 10**6, 0)
    values = np.random.default_rng(5).normal(size=(150, 3)).astype(np.float32)
    np.testing.assert_array_equal(whole.values, values)
    assert (len(shards.cuts), whole.concepts.names, whole.samples.ids[7]) == (
        3, ("a", "b", "c"), "bild 7 é",
    )  # fmt: skip
    with EvidenceWriter(tmp_path / "ours", 64) as writer:
        writer.add(whole)
    assert stored(tmp_path / "ours").digests() == shards.digests()
    header = json.loads((tmp_path / "e" / "header.json").read_text())
    assert header["written_by"] == "somebody else"
