"""Images with classes: from an archive in memory, and from the folder of CUB."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from theodolite._storage.paths import sha256_of
from theodolite.datasets.labeled_images import (
    CIFAR10,
    LabeledImages,
    cifar10_zip,
    cub_images,
)
from theodolite.errors import EvidenceError, UnsafeInputError


def png(red: int) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (32, 32), (red, 0, 0)).save(stream, "PNG")
    return stream.getvalue()


def archive(path: Path, classes: tuple[str, ...] = CIFAR10, n: int = 4) -> Path:
    """The red of an image tells its class and number."""
    with zipfile.ZipFile(path, "w") as out:
        for number in range(n):  # classes alternate, unlike in the order of rows
            for label, name in enumerate(classes):
                out.writestr(f"test/{name}/{number:04}.png", png(20 * label + number))
    return path


def test_images_of_an_archive(tmp_path: Path) -> None:
    data = cifar10_zip(archive(tmp_path / "x.zip"))
    assert len(data) == 40 and data.classes == CIFAR10
    assert data.labels.tolist() == sorted(data.labels.tolist())
    for row, name in enumerate(data.ids):
        label, number = data.labels[row], int(Path(name).stem)
        assert Path(name).parent.name == CIFAR10[label]
        assert data.image(row).getpixel((3, 3)) == (20 * label + number, 0, 0)
    assert data.at_hand.all() and data.row_in_table.tolist() == list(range(40))
    assert data.digests() == {"x.zip": sha256_of(tmp_path / "x.zip")}
    assert list(tmp_path.iterdir()) == [tmp_path / "x.zip"], "nothing was unpacked"


def test_the_seed_draws_the_test_part_of_each_class(tmp_path: Path) -> None:
    path = archive(tmp_path / "x.zip", n=8)
    one, same, other = (cifar10_zip(path, held_out=0.25, seed=seed).is_test for seed in (0, 0, 1))
    assert np.array_equal(one, same) and not np.array_equal(one, other)
    assert (one.reshape(10, 8).sum(axis=1) == 2).all()
    assert len({tuple(row) for row in one.reshape(10, 8).tolist()}) > 1, "drawn for each class"
    notes = cifar10_zip(path, held_out=0.25, seed=3).notes
    assert "25% of each class, drawn with seed 3" in notes[0] and "the training part" in notes[0]


@pytest.mark.parametrize("held_out", [0.0, 1.0, 0.1, -1.0, 2.0])
def test_a_side_without_images_is_refused(tmp_path: Path, held_out: float) -> None:
    with pytest.raises(EvidenceError, match="on both sides"):
        cifar10_zip(archive(tmp_path / "x.zip"), held_out=held_out)


@pytest.mark.parametrize("classes", [CIFAR10[:9], (*CIFAR10, "tree")])
def test_other_classes_are_refused(tmp_path: Path, classes: tuple[str, ...]) -> None:
    with pytest.raises(UnsafeInputError, match="one for each class of CIFAR-10"):
        cifar10_zip(archive(tmp_path / "x.zip", classes))


def test_what_is_no_image_is_refused_when_it_is_read(tmp_path: Path) -> None:
    path = archive(tmp_path / "x.zip")
    with zipfile.ZipFile(path, "a") as out:
        out.writestr("test/bird/notes.txt", "not an image")
    data = cifar10_zip(path)
    with pytest.raises(UnsafeInputError, match="does not decode"):
        data.image(data.ids.index("test/bird/notes.txt"))


def cub_folder(root: Path) -> Path:
    """Four images of three classes; the file of the third is not there."""
    tables = {
        "images.txt": "1 001.A_bird/a.png\n2 003.C/b.png\n5 002.B/c.png\n6 001.A_bird/d.png\n",
        "image_class_labels.txt": "1 1\n2 3\n5 2\n6 1\n",
        "train_test_split.txt": "1 1\n2 0\n5 0\n6 1\n",
        "classes.txt": "1 001.A_bird\n2 002.B\n3 003.C\n",
    }
    for name, text in tables.items():
        (root / name).write_text(text)
    for name, red in (("001.A_bird/a", 10), ("003.C/b", 20), ("001.A_bird/d", 40)):
        path = root / "images" / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(red))
    return root


def test_images_of_cub(tmp_path: Path) -> None:
    data = cub_images(cub_folder(tmp_path))
    assert data.classes == ("A bird", "B", "C")
    assert data.labels.tolist() == [0, 2, 1, 0]
    assert data.is_test.tolist() == [False, True, True, False]
    assert data.at_hand.tolist() == [True, True, False, True]
    assert data.row_in_table.tolist() == [0, 1, 2, 3]
    assert data.image(1).getpixel((0, 0)) == (20, 0, 0)
    with pytest.raises(UnsafeInputError, match="nothing there"):
        data.image(2)
    assert sorted(data.digests()) == [
        "classes.txt", "image_class_labels.txt", "images.txt", "train_test_split.txt",
    ]  # fmt: skip


def test_the_first_classes_of_cub(tmp_path: Path) -> None:
    data = cub_images(cub_folder(tmp_path), n_classes=2)
    assert data.classes == ("A bird", "B")
    assert data.row_in_table.tolist() == [0, 2, 3]
    assert data.ids == ("001.A_bird/a.png", "002.B/c.png", "001.A_bird/d.png")
    assert data.labels.tolist() == [0, 1, 0]
    assert data.at_hand.tolist() == [True, False, True]
    assert data.image(2).getpixel((0, 0)) == (40, 0, 0)
    for wrong in (0, 4):
        with pytest.raises(EvidenceError, match="needed 1 to 3"):
            cub_images(tmp_path, n_classes=wrong)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("image_class_labels.txt", "1 1\n2 3\n5 9\n6 1\n", "labels from 0 to 8; needed 0 to 2"),
        ("image_class_labels.txt", "1 1\n2 3\n5 0\n6 1\n", "labels from -1 to 2"),
        ("train_test_split.txt", "1 1\n2 0\n", "those of images.txt"),
        ("images.txt", "1 ../a.png\n2 b\n5 c\n6 d\n", "relative path below"),
    ],
)
def test_broken_tables_are_refused(tmp_path: Path, name: str, text: str, says: str) -> None:
    (cub_folder(tmp_path) / name).write_text(text)
    with pytest.raises(EvidenceError, match=says):
        cub_images(tmp_path)


def test_as_many_names_as_labels() -> None:
    none = np.zeros(0, np.int64)
    with pytest.raises(EvidenceError, match="1 names and 0 labels"):
        LabeledImages(
            name="x", classes=("a",), ids=("p",), labels=none, is_test=none > 0, at_hand=none > 0,
            row_in_table=none, read=lambda _: Image.new("RGB", (1, 1)), files=(),
        )  # fmt: skip


def test_the_real_images(shared_data: Path) -> None:
    data = cifar10_zip(shared_data / "cifar10_resnet20" / "cifar10_test_4000_jpeg.zip")
    assert (len(data), int(data.is_test.sum())) == (4000, 2000)
    assert np.bincount(data.labels).tolist() == [400] * 10
    assert data.image(3999).size == (32, 32)
    birds = cub_images(shared_data / "cub200" / "CUB_200_2011", n_classes=50)
    assert len(birds.classes) == 50 and int(birds.labels.max()) == 49
    everything = cub_images(shared_data / "cub200" / "CUB_200_2011")
    assert (len(everything), int(everything.at_hand.sum())) == (11788, 2400)
    assert np.array_equal(everything.labels[birds.row_in_table], birds.labels)
    assert everything.ids[birds.row_in_table[-1]] == birds.ids[-1]
