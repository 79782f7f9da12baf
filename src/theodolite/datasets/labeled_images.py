"""Labeled images for explaining a classifier: CIFAR-10 and CUB readers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np
from jaxtyping import Bool, Int
from PIL import Image

from theodolite._storage.images import parse_image, read_image
from theodolite._storage.paths import confined, sha256_of
from theodolite._storage.text import read_named_lines
from theodolite._storage.zip_members import read_zip_members
from theodolite.datasets.cub import _class_name, _column
from theodolite.errors import EvidenceError, UnsafeInputError

CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@dataclass(frozen=True, eq=False, kw_only=True)
class LabeledImages:
    """Images with one class each, in the data set's own order."""

    name: str
    classes: tuple[str, ...]
    ids: tuple[str, ...]
    """Name of each image."""
    labels: Int[np.ndarray, " images"]
    is_test: Bool[np.ndarray, " images"]
    at_hand: Bool[np.ndarray, " images"]
    """Whether each image file exists."""
    row_in_table: Int[np.ndarray, " images"]
    """Row of each image in a table of all images of the data set."""
    read: Callable[[str], Image.Image]
    files: tuple[Path, ...]
    """Files that were read, except images in files of their own."""
    notes: tuple[str, ...] = ()
    """Notes on the images for readers of the scores."""

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.labels) or not len(self.ids):
            got = f"{len(self.ids)} names and {len(self.labels)} labels"
            raise EvidenceError(self.name, got, "equal numbers of each, and at least one")
        if self.labels.min() < 0 or self.labels.max() >= len(self.classes):
            got = f"labels from {self.labels.min()} to {self.labels.max()}"
            raise EvidenceError(self.name, got, f"0 to {len(self.classes) - 1}")

    def __len__(self) -> int:
        return len(self.ids)

    def image(self, row: int) -> Image.Image:
        """Return the decoded image of a row."""
        return self.read(self.ids[row])

    def digests(self) -> dict[str, str]:
        """Return digests of the files that were read, by name."""
        return {path.name: sha256_of(path) for path in self.files}


def cifar10_zip(archive: Path, *, held_out: float = 0.5, seed: int = 0) -> LabeledImages:
    """Read test images of CIFAR-10 from a .zip with a folder for each class.

    Args:
        archive: The file. It is read into memory; nothing is unpacked to disk.
        held_out: The share of each class that counts as test.
        seed: Draws which images these are.
    """
    members = read_zip_members(archive)
    ids = sorted(members, key=lambda name: (PurePosixPath(name).parent.name, name))
    folders = [PurePosixPath(name).parent.name for name in ids]
    if set(folders) != set(CIFAR10):
        odd = sorted(set(folders) ^ set(CIFAR10))[:3]
        got = f"{len(set(folders))} folders (not as it should be: {odd})"
        raise UnsafeInputError(f"archive {archive.name!r}", got, "one for each class of CIFAR-10")
    labels = np.array([CIFAR10.index(name) for name in folders])
    is_test = np.zeros(len(ids), bool)
    for label, name in enumerate(CIFAR10):
        rows = np.flatnonzero(labels == label)
        n_test = round(held_out * len(rows))
        if not 0 < n_test < len(rows):
            got = f"{held_out} of {len(rows)} images of {name!r}"
            raise EvidenceError("held_out", got, "a share that leaves some on both sides")
        is_test[np.random.default_rng([seed, label]).permutation(rows)[:n_test]] = True
    return LabeledImages(
        name="CIFAR-10",
        classes=CIFAR10,
        ids=tuple(ids),
        labels=labels,
        is_test=is_test,
        at_hand=np.ones(len(ids), bool),
        row_in_table=np.arange(len(ids)),
        read=partial(_from_memory, members),
        files=(archive,),
        notes=(
            f"All are test images of CIFAR-10: {held_out:.0%} of each class, drawn with seed "
            f"{seed}, count as test here, and the others play the training part.",
            "The images are saved as JPEG, which lowers the accuracy of a model trained on the "
            "originals.",
        ),
    )


def cub_images(root: Path, *, n_classes: int | None = None) -> LabeledImages:
    """Read the images of the folder ``CUB_200_2011``, with their classes and official split.

    Args:
        root: The folder with ``images.txt`` and ``images/``.
        n_classes: Only the images of this many classes, the first ones.
    """
    files = tuple(
        root / name
        for name in ("images.txt", "image_class_labels.txt", "train_test_split.txt", "classes.txt")
    )
    names = read_named_lines(files[0], "list of images")
    numbers = np.array(list(names))
    labels = _column(files[1], numbers) - 1
    is_test = _column(files[2], numbers) == 0
    classes = [_class_name(name) for name in read_named_lines(files[3], "list of classes").values()]
    if n_classes is not None and not 1 <= n_classes <= len(classes):
        raise EvidenceError("n_classes", f"{n_classes}", f"1 to {len(classes)}")
    rows = np.arange(len(names)) if n_classes is None else np.flatnonzero(labels < n_classes)
    listed = tuple(names.values())
    ids = tuple(listed[row] for row in rows)
    there = [confined(root / "images", name).is_file() for name in ids]
    return LabeledImages(
        name="CUB-200-2011",
        classes=tuple(classes[:n_classes]),
        ids=ids,
        labels=labels[rows],
        is_test=is_test[rows],
        at_hand=np.array(there, bool),
        row_in_table=rows,
        read=partial(_from_folder, root / "images"),
        files=files,
    )


def _from_memory(members: dict[str, bytes], name: str) -> Image.Image:
    return parse_image(members[name], name)


def _from_folder(folder: Path, name: str) -> Image.Image:
    return read_image(confined(folder, name))
