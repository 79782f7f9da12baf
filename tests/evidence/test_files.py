"""Evidence goes to disk and comes back; whatever is wrong on disk is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite._planted.concepts import planted_locations
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.axes import Concepts, Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import load, load_arrays, save
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.testing.strategies import concept_evidence, location_evidence


def assert_equal(left: Evidence, right: Evidence) -> None:
    assert type(left) is type(right)
    for name, _ in left.layouts():
        a, b = getattr(left, name), getattr(right, name)
        assert (a is None) == (b is None)
        if a is not None:
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
    for (_, a), (_, b) in zip(left._axes(), right._axes(), strict=True):
        if isinstance(a, Samples):
            for name in ("index", "ids", "clusters"):
                np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        else:
            assert a == b
    for (_, a), (_, b) in zip(left._inner(), right._inner(), strict=True):
        assert_equal(a, b)


@given(evidence=st.one_of(concept_evidence(), location_evidence()))
@settings(max_examples=20)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, evidence: Evidence) -> None:
    folder = tmp_path_factory.mktemp("bundle")
    save(evidence, folder)
    assert_equal(load(folder), evidence)


def test_names_ids_and_clusters_come_back(tmp_path: Path) -> None:
    made = ConceptEvidence(
        values=np.zeros((2, 2), np.float32),
        concepts=Concepts(("<b>horn</b>", "../hoof"), ("binary", "categorical"), (2, 7)),
        samples=Samples(ids=np.array(["a", "ü"]), clusters=np.array([5, 5])),
    )
    save(made, tmp_path / "x")
    assert_equal(load(tmp_path / "x"), made)


def test_flags_are_packed_to_bits(tmp_path: Path) -> None:
    made = ConceptEvidence(values=np.zeros((100, 80)), truth=np.ones((100, 80)))
    save(made, tmp_path)
    assert np.load(tmp_path / "truth.npy").shape == (100, 10)


def edit_header(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        header = json.loads((folder / "header.json").read_text())
        change(header)
        (folder / "header.json").write_text(json.dumps(header))

    return edit


def write(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None


def truncate(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:-3]) and None


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda f: (f / "header.json").unlink(), "nothing there"),
        (write("header.json", b"{"), "broken JSON"),
        (write("header.json", b"[]"), "another format"),
        (write("header.json", b"\xff\xfe"), "not UTF-8"),
        (write("header.json", b"[" * 200_000), "broken JSON"),
        (edit_header(lambda h: h.update(format="x")), "another format"),
        (edit_header(lambda h: h.update(format_version=99)), "format version 99"),
        (edit_header(lambda h: h.update(kind="votes")), "'votes' version 1"),
        (edit_header(lambda h: h.update(arrays=[])), "'arrays' is list"),
        (edit_header(lambda h: h["arrays"].update({"../../evil": {}})), "'../../evil'"),
        (edit_header(lambda h: h["arrays"]["maps"].update(shape=[9])), "as the header says"),
        (edit_header(lambda h: h["arrays"]["maps"].pop("dtype")), "dtype, shape"),
        (edit_header(lambda h: h["arrays"].pop("maps")), "maps"),
        (edit_header(lambda h: h.update(inner={"explained": "location"})), "inner bundles"),
        (edit_header(lambda h: h["axes"].update(evil={})), "axis 'evil'"),
        (edit_header(lambda h: h["axes"]["parts"].update(color=["red"])), "color"),
        (lambda f: (f / "maps.npy").unlink(), "nothing there"),
        (truncate("maps.npy"), "cut off"),
        (write("maps.npy", b"garbage"), "no readable .npy header"),
        (lambda f: np.save(f / "maps.npy", np.array([{}], object), allow_pickle=True), "could run code"),
        (truncate("explained/samples.parquet"), "no readable Parquet"),
    ],
)  # fmt: skip
def test_spoiled_bundles_are_refused(
    tmp_path: Path, spoil: Callable[[Path], None], says: str
) -> None:
    save(planted_locations(3, 5), tmp_path)
    spoil(tmp_path)
    with pytest.raises(UnsafeInputError, match=says):
        load(tmp_path)


def test_arrays_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "said.npz"
    np.savez(path, values=np.eye(2), truth=np.eye(2), concepts=np.array(["horn", "tail"]))
    made = load_arrays(path)
    assert made.concepts.names == ("horn", "tail")
    np.savez(path, scores=np.eye(2))
    with pytest.raises(EvidenceError, match=r"unknown arrays \['scores'\]; needed 'values'"):
        load_arrays(path)
    np.savez(path, values=np.eye(2), ids=np.array(["a", "b"]), clusters=np.array([3, 3]))
    made = load_arrays(str(path))
    assert made.samples.name(1) == "b" and made.samples.clusters is not None
    (tmp_path / "x.txt").write_text("")
    with pytest.raises(EvidenceError, match=r"a file '\.txt'"):
        load_arrays(tmp_path / "x.txt")
    with pytest.raises(UnsafeInputError, match="nothing there"):
        load_arrays(tmp_path / "none")


def test_surrogate_arrays_class_by_class(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    given = {
        "importances": np.ones((2, 3)),
        "vectors": random.normal(size=(2, 3, 4)),
        "embeddings": random.normal(size=(5, 4)),
        "head": random.normal(size=(2, 4)),
    }
    np.savez(tmp_path / "mine.npz", **given)
    result = load_arrays(tmp_path / "mine.npz")
    assert isinstance(result, SurrogateEvidence)
    assert result.vectors.shape == (6, 4) and result.importances.shape == (6, 2)
    del given["importances"]
    np.savez(tmp_path / "less.npz", **given)
    with pytest.raises(EvidenceError, match="'importances' and perhaps"):
        load_arrays(tmp_path / "less.npz")
