"""3dshapes from a small file of the official layout, and HDF5 files that reach where they must not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite_reproductions.datasets.hdf5 import hdf5_shape, read_hdf5_rows
from theodolite_reproductions.datasets.shapes3d import _latents, shapes3d

h5py = pytest.importorskip("h5py")

BELOW = (5, 5, 5, 4, 2, 7)
# of each link: how many values, of those from the first on, of those up to the last
LINKS = ((5, range(7), range(3, 10)), (5, range(7), range(3, 10)), (4, range(6), range(2, 8)),
         (2, range(3), range(1, 4)), (7, range(9), range(6, 15)))  # fmt: skip
VALUES = (
    np.linspace(0, 0.9, 10), np.linspace(0, 0.9, 10), np.linspace(0, 0.9, 10),
    np.linspace(0.75, 1.25, 8), np.arange(4.0), np.linspace(-30, 30, 15),
)  # fmt: skip


def latents(gamma: int, seed: int = 0) -> np.ndarray:
    return _latents(gamma, np.random.default_rng(seed))


def image_of(rows: np.ndarray) -> np.ndarray:
    """The six numbers, times ten, in the upper left corner; the rest is bright."""
    images = np.full((len(rows), 64, 64, 3), 200, np.uint8)
    images[:, :2, 0] = 10 * rows.reshape(-1, 2, 3)
    return images


def write(path: Path, rows: np.ndarray, **options: Any) -> Path:
    """In the layout of the official file, in an order of its own."""
    rows = np.random.default_rng(5).permutation(rows)
    labels = np.stack([VALUES[i][rows[:, i]] for i in range(6)], axis=1)
    with h5py.File(path, "w") as file:
        file.create_dataset("images", data=image_of(rows), **options)
        file.create_dataset("labels", data=labels)
    return path


def test_without_links_there_are_16000_and_with_all_14000() -> None:
    assert len(latents(0)) == 5 * 5 * 5 * 8 * 4 * 4 == 16_000
    for seed in range(5):
        assert len(latents(5, seed)) == 10 * 5 * 5 * 4 * 2 * 7 == 14_000
    assert abs(np.corrcoef((latents(0) < BELOW).T) - np.eye(6)).max() < 1e-12


@pytest.mark.parametrize("gamma", [1, 3, 5])
def test_links_tie_each_number_to_the_next(gamma: int) -> None:
    chosen = latents(gamma)
    result = np.corrcoef((chosen < BELOW).T)
    for i, (drawn, lower, upper) in enumerate(LINKS[:gamma]):
        assert result[i, i + 1] > 0.1
        for low, wanted in ((True, lower), (False, upper)):
            seen = set()
            for parent in np.unique(chosen[(chosen[:, i] < BELOW[i]) == low, i]):
                children = set(chosen[chosen[:, i] == parent, i + 1].tolist())
                assert len(children) <= drawn and children <= set(wanted)
                assert gamma < 5 or len(children) == drawn, "the whole grid is there"
                seen |= children
            assert gamma < 5 or i > 2 or seen == set(wanted), "drawn from all of these"


@pytest.mark.parametrize("options", [{}, {"chunks": (7, 64, 64, 3), "compression": "gzip"}])
def test_each_image_has_its_own_numbers(
    tmp_path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("theodolite_reproductions.datasets.hdf5.BLOCK_BYTES", 20 * 64 * 64 * 3)
    others = np.setdiff1d(np.arange(16_000), np.arange(0, 16_000, 53))[:40]
    path = write(tmp_path / "3dshapes.h5", latents(0)[np.r_[0:16_000:53, others]], **options)
    data = shapes3d(path)
    assert len(data) == 302 + 40 and data.inputs.shape[1:] == (64, 64, 3)
    numbers = data.inputs[:, :2, 0].reshape(-1, 6) // 10
    assert (data.truth == (numbers < BELOW)).all()
    assert len(np.unique(numbers, axis=0)) == len(data)
    c1, c2, c3, c4, c5, c6 = data.truth.T.astype(int)
    linear = (1 - c5) * (2 * c1 + c2) + c5 * (4 * c3 + 2 * c4 + c6 + 4)
    assert (data.labels == linear).all()
    products = 3 * c1 * c2 * c3 + c4 * c5 * c6 + c1 * c3 * c5 - c2 * c4 * c6
    assert (shapes3d(path, task="nonlinear").labels == linear - products).all()
    assert "15,658 of 16,000" in data.notes[0] and list(data.digests) == ["3dshapes.h5"]


def test_all_links_on_the_whole_grid(tmp_path: Path) -> None:
    path = write(tmp_path / "3dshapes.h5", latents(5)[::40])
    data = shapes3d(path, 5)
    numbers = data.inputs[:, :2, 0].reshape(-1, 6) // 10
    assert len(data) == 350 and (data.truth == (numbers < BELOW)).all()
    assert 7 in numbers[:, 5], "the first orientation that is not below 0"


def test_every_nonlinear_label_is_a_class(tmp_path: Path) -> None:
    path = write(tmp_path / "3dshapes.h5", latents(0)[::29])
    assert sorted(set(shapes3d(path, task="nonlinear").labels.tolist())) == list(range(12))


def test_split_subset_and_size(tmp_path: Path) -> None:
    path = write(tmp_path / "3dshapes.h5", latents(0)[::80])
    data = shapes3d(path)
    assert [len(rows) for rows in (data.train, data.validation, data.test)] == [140, 20, 40]
    assert (shapes3d(path).train == data.train).all()
    assert (shapes3d(path, seed=1).train != data.train).any()
    fewer = shapes3d(path, at_most=50, side=16)
    assert fewer.inputs.shape == (50, 16, 16, 3)
    exact = shapes3d(path, at_most=50).inputs.reshape(50, 16, 4, 16, 4, 3).mean(axis=(2, 4))
    assert abs(fewer.inputs - exact).max() <= 0.5
    assert shapes3d(path, concepts="incomplete").concepts.names == (
        "floor hue below 0.5", "wall hue below 0.5", "small", "first two shapes",
    )  # fmt: skip
    for options, says in (({"side": 63}, "64, 32, 16 or 8"), ({"gamma": 6}, "to 5")):
        with pytest.raises(EvidenceError, match=says):
            shapes3d(path, **options)


def test_files_that_are_not_3dshapes(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    few = latents(0)[:30]
    good = np.stack([VALUES[i][few[:, i]] for i in range(6)], axis=1)
    shifted, endless = good.copy(), good.copy()
    shifted[3, 0], endless[4, 5] = 0.14, np.nan
    images = image_of(few)
    for labels, pixels, says in (
        (shifted, images, "in row 3; needed values of 3dshapes"),
        (endless, images, "in row 4; needed values of 3dshapes"),
        (good[:, :5], images, "six numbers"),
        (good, images[:, :32], "64 x 64 x 3"),
        (good, images[:20], "64 x 64 x 3"),
        (good, images.astype(np.float32), "64 x 64 x 3"),
        (good[:10], images, "at least 20"),
    ):
        with h5py.File(path, "w") as file:
            file["labels"], file["images"] = labels, pixels
        with pytest.raises(UnsafeInputError, match=says):
            shapes3d(path)


def test_rows_come_in_pieces_and_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = np.arange(3000).reshape(1000, 3)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a", data=content, chunks=(30, 2), compression="gzip", shuffle=True)
    monkeypatch.setattr(
        "theodolite_reproductions.datasets.hdf5.BLOCK_BYTES", 100 * content[0].nbytes
    )
    rows = np.sort(np.random.default_rng(0).choice(1000, 300, replace=False))
    pieces = list(read_hdf5_rows(tmp_path / "a.h5", "a", rows))
    assert len(pieces) == 12 and (np.concatenate(pieces) == content[rows]).all()
    assert (np.concatenate(list(read_hdf5_rows(tmp_path / "a.h5", "a"))) == content).all()
    assert list(read_hdf5_rows(tmp_path / "a.h5", "a", rows[:0])) == []
    assert hdf5_shape(tmp_path / "a.h5", "a") == ((1000, 3), np.dtype(np.int64))
    for wrong in ([1000], [-1], [3, 3], [4, 3]):
        with pytest.raises(UnsafeInputError, match="ascending"):
            list(read_hdf5_rows(tmp_path / "a.h5", "a", np.array(wrong)))
    monkeypatch.setattr("theodolite_reproductions.datasets.hdf5.MAX_VALUES_BYTES", 1000)
    with pytest.raises(UnsafeInputError, match="at most 1,000 bytes"):
        list(read_hdf5_rows(tmp_path / "a.h5", "a"))


def _external_link(file: Any, other: Path) -> None:
    file["a"] = h5py.ExternalLink(str(other), "/secret")


def _soft_link_through_an_external_one(file: Any, other: Path) -> None:
    file["b"] = h5py.ExternalLink(str(other), "/")
    file["a"] = h5py.SoftLink("/b/secret")


def _soft_link(file: Any, other: Path) -> None:
    file["b"] = np.arange(3)
    file["a"] = h5py.SoftLink("/b")


def _external_storage(file: Any, other: Path) -> None:
    file.create_dataset("a", (8,), "u1", external=[(str(other), 0, 8)])


def _virtual(file: Any, other: Path) -> None:
    layout = h5py.VirtualLayout((4,), "i8")
    layout[:] = h5py.VirtualSource(str(other), "secret", (4,))
    file.create_virtual_dataset("a", layout)


def _strings(file: Any, other: Path) -> None:
    file.create_dataset("a", data=["x", "y"], dtype=h5py.string_dtype())


def _ragged(file: Any, other: Path) -> None:
    file.create_dataset("a", (3,), h5py.vlen_dtype(np.int32))


def _references(file: Any, other: Path) -> None:
    file.create_dataset("a", (3,), h5py.ref_dtype)


def _records(file: Any, other: Path) -> None:
    file["a"] = np.zeros(3, [("x", float), ("y", int)])


def _one_number(file: Any, other: Path) -> None:
    file["a"] = 3.0


def _folder(file: Any, other: Path) -> None:
    file.create_group("a")


def _nothing(file: Any, other: Path) -> None:
    file["b"] = np.arange(3)


def _claims_a_lot(file: Any, other: Path) -> None:
    file.create_dataset("a", (10**12, 6), "f8")


def _claims_many_pieces(file: Any, other: Path) -> None:
    file.create_dataset("a", (10**9, 6), "f8", chunks=(1000, 6), compression="gzip")
    file["a"][:1000] = 1


def _huge_pieces(file: Any, other: Path) -> None:
    file.create_dataset("a", (1 << 26, 6), "f8", chunks=(1 << 25, 6), compression="gzip")


def _other_decoder(file: Any, other: Path) -> None:
    file.create_dataset("a", data=np.arange(100), scaleoffset=4)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (_external_link, "a link to elsewhere"),
        (_soft_link_through_an_external_one, "a link to elsewhere"),
        (_soft_link, "a link to elsewhere"),
        (_external_storage, "values in other files"),
        (_virtual, "values in other files"),
        (_strings, "rows of numbers"),
        (_ragged, "rows of numbers"),
        (_references, "rows of numbers"),
        (_records, "rows of numbers"),
        (_one_number, "rows of numbers"),
        (_folder, "no data set"),
        (_nothing, "nothing of that name"),
        (_claims_a_lot, "not all of it stored"),
        (_claims_many_pieces, "not all of it stored"),
        (_huge_pieces, "pieces of at most"),
        (_other_decoder, "decoder 6"),
    ],
)
def test_files_that_reach_elsewhere_or_lie_are_refused(
    tmp_path: Path, make: Callable[[Any, Path], None], says: str
) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["secret"] = np.arange(4)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        make(file, tmp_path / "other.h5")
    with pytest.raises(UnsafeInputError, match=says):
        list(read_hdf5_rows(tmp_path / "a.h5", "a"))


def test_broken_files_and_missing_h5py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.h5"
    with pytest.raises(UnsafeInputError, match="nothing there"):
        hdf5_shape(path, "a")
    path.write_bytes(b"no HDF5 at all")
    with pytest.raises(UnsafeInputError, match="HDF5"):
        hdf5_shape(path, "a")
    with h5py.File(path, "w") as file:
        file.create_dataset("a", data=np.arange(5000), chunks=(500,), compression="gzip")
        place = file["a"].id.get_chunk_info(0)
    raw = bytearray(path.read_bytes())
    raw[place.byte_offset : place.byte_offset + place.size] = b"x" * place.size
    path.write_bytes(raw)
    with pytest.raises(UnsafeInputError, match="readable HDF5"):
        list(read_hdf5_rows(path, "a"))
    path.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(UnsafeInputError, match="readable HDF5"):
        list(read_hdf5_rows(path, "a"))

    def absent(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("theodolite_reproductions.datasets.hdf5.importlib.import_module", absent)
    with pytest.raises(UnsafeInputError, match="pip install h5py"):
        hdf5_shape(path, "a")
