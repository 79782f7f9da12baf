"""CUB-200-2011 in its official layout: birds, 112 attributes, 15 part points."""

from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite._storage.text import read_named_lines, read_numbers
from theodolite.datasets.concept_data import ConceptData
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.axes import Classes, Concepts, Parts

Presence = Literal["auto", "votes", "class", "class_and_visible"]
ClassTruth = Literal["share", "majority"]

BOXES = "bounding_boxes.txt"
# The attributes that concept-bottleneck work keeps (numbers of attributes.txt).
ATTRIBUTES = (
    2, 5, 7, 8, 11, 15, 16, 21, 22, 24, 26, 30, 31, 36, 37, 39, 41, 45, 46, 51, 52, 54, 55, 57, 58,
    60, 64, 65, 70, 71, 73, 76, 81, 85, 91, 92, 94, 100, 102, 107, 111, 112, 117, 118, 120, 126,
    127, 132, 133, 135, 146, 150, 152, 153, 154, 158, 159, 164, 165, 169, 173, 179, 180, 182, 184,
    188, 189, 194, 195, 197, 199, 203, 204, 209, 210, 212, 213, 214, 219, 221, 222, 226, 236, 237,
    239, 240, 241, 243, 244, 245, 250, 254, 255, 260, 261, 263, 269, 275, 278, 284, 290, 293, 294,
    295, 299, 300, 305, 306, 309, 310, 311, 312,
)  # fmt: skip

# Which of the 12 parts (left and right merged) an attribute speaks of; the rest have no place.
PART_OF = {
    "back": "back", "bill": "beak", "belly": "belly", "breast": "breast", "crown": "crown",
    "forehead": "forehead", "head": "forehead", "eye": "eye", "leg": "leg", "wing": "wing",
    "nape": "nape", "tail": "tail", "upper_tail": "tail", "under_tail": "tail", "throat": "throat",
}  # fmt: skip


def cub(
    root: Path, *, presence: Presence = "auto", class_truth: ClassTruth = "share"
) -> ConceptData:
    """Read the folder ``CUB_200_2011``.

    Args:
        root: The folder with ``images.txt``, ``parts/`` and ``attributes/``.
        presence: Whether a concept is in an image: ``votes`` of annotators for that image;
            ``class``: what most annotators say of its class; ``class_and_visible``: the same, and
            the part is visible; ``auto``: votes where the file is there, else the last.
        class_truth: Share of votes per class, or 1 where most say so.
    """
    files = [root / name for name in ("images.txt", "image_class_labels.txt",
             "train_test_split.txt", "classes.txt", "parts/parts.txt", "parts/part_locs.txt",
             "attributes/class_attribute_labels_continuous.txt")]  # fmt: skip
    names = read_named_lines(files[0], "list of images")
    ids = np.array(list(names))
    labels = _column(files[1], ids) - 1
    classes = Classes(tuple(_class_name(n) for n in read_named_lines(files[3]).values()))
    attributes = _attributes(root)
    shares = _shares(files[6], len(classes), max(attributes))
    parts, points = _points(files[4], files[5], ids)
    part_of = _part_of(attributes, parts)
    votes = root / "attributes" / "image_attribute_labels.txt"
    if presence == "auto":
        presence = "votes" if votes.is_file() else "class_and_visible"
    if presence == "votes":
        there, known = _votes(votes, ids)
    else:
        there, known = (shares >= 0.5)[labels], None
    if presence == "class_and_visible":
        visible = ~np.isnan(points).any(axis=-1).all(axis=-1)
        there &= (part_of < 0) | visible[:, part_of]
    return ConceptData(
        name="CUB-200-2011",
        nouns=("species", "species", "attributes"),
        folder=root / "images",
        images=tuple(names.values()),
        labels=labels,
        is_test=_column(files[2], ids) == 0,
        presence=there,
        known=known,
        class_truth=(shares if class_truth == "share" else (shares >= 0.5).astype(float)).T,
        classes=classes,
        concepts=Concepts(tuple(_concept_name(attributes[a]) for a in ATTRIBUTES)),
        parts=parts,
        part_of=part_of,
        points=points,
        objects=_objects(root / BOXES, ids),
        tables=(*files, *(p for p in (root / BOXES, votes) if _is_read(p, presence))),
        notes=(_NOTES[presence],),
    )


_NOTES = {
    "votes": "Presence of a concept is what annotators said of each image.",
    "class": "Presence of a concept is the majority of annotators for the image's class: every "
    "image of a class has the same concepts.",
    "class_and_visible": "Annotations per image were not available: a concept counts as present if "
    "most annotators state it for the class and its body part is visible in the image.",
}


def _class_name(name: str) -> str:
    return name.partition(".")[2].replace("_", " ") or name


def _concept_name(attribute: str) -> str:
    """``has_bill_shape::dagger`` -> ``dagger bill shape``"""
    topic, _, value = attribute.partition("::")
    return f"{value} {topic.removeprefix('has_')}".replace("_", " ")


def _column(path: Path, ids: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    table = read_numbers(path, (0, 1)).astype(np.int64)
    if not np.array_equal(table[:, 0], ids):
        raise UnsafeInputError(
            f"table {path.name!r}", "other images", "those of images.txt, in order"
        )
    return np.asarray(table[:, 1])


def _attributes(root: Path) -> dict[int, str]:
    """The official archive has this list beside the folder, many copies inside it."""
    places = (root / "attributes" / "attributes.txt", root.parent / "attributes.txt")
    path = next((place for place in places if place.is_file()), places[0])
    attributes = read_named_lines(path, "list of attributes")
    if not set(ATTRIBUTES) <= set(attributes):
        raise UnsafeInputError(f"list {path.name!r}", f"{len(attributes)} attributes", "all 312")
    return attributes


def _part_of(attributes: dict[int, str], parts: Parts) -> Int[np.ndarray, " concepts"]:
    """The part that each concept speaks of; -1 for none."""
    speaks_of = [attributes[a].partition("::")[0].removeprefix("has_") for a in ATTRIBUTES]
    tied = [PART_OF.get(topic.rpartition("_")[0]) for topic in speaks_of]
    return np.array([-1 if part is None else parts.names.index(part) for part in tied])


def _shares(path: Path, n_classes: int, n_attributes: int) -> Float[np.ndarray, "classes concepts"]:
    percent = read_numbers(path, tuple(range(n_attributes)), "class attributes")
    if percent.shape[0] != n_classes or percent.min() < 0 or percent.max() > 100:
        raise UnsafeInputError(
            f"table {path.name!r}", f"{percent.shape}", "percentages, a row a class"
        )
    return np.asarray(percent[:, np.array(ATTRIBUTES) - 1] / 100)


def _points(
    names: Path, locations: Path, ids: Int[np.ndarray, " n"]
) -> tuple[Parts, Float[np.ndarray, "n parts 2 2"]]:
    """Part points with left and right as two places of one part; NaN where not visible."""
    listed = {k: v.replace("_", " ") for k, v in read_named_lines(names, "list of parts").items()}
    merged = [n.removeprefix("left ").removeprefix("right ") for n in listed.values()]
    parts = Parts(tuple(dict.fromkeys(merged)))
    table = read_numbers(locations, (0, 1, 2, 3, 4), "part points")
    row = np.searchsorted(ids, table[:, 0])
    if not np.array_equal(ids[np.minimum(row, len(ids) - 1)], table[:, 0]):
        raise UnsafeInputError(f"table {locations.name!r}", "other images", "those of images.txt")
    part = {number: parts.names.index(name) for number, name in zip(listed, merged, strict=True)}
    place = {number: int(name.startswith("right ")) for number, name in listed.items()}
    numbers = table[:, 1].astype(int)
    unknown = set(numbers.tolist()) - set(listed)
    if unknown:
        raise UnsafeInputError(
            f"table {locations.name!r}", f"parts {sorted(unknown)}", "those listed"
        )
    points = np.full((len(ids), len(parts), 2, 2), np.nan)
    visible = table[:, 4] == 1
    where = (row, np.array([part[n] for n in numbers]), np.array([place[n] for n in numbers]))
    points[where] = np.where(visible[:, None], table[:, [3, 2]], np.nan)
    return parts, points


def _objects(path: Path, ids: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n 4"] | None:
    """The box of each bird: top, left, bottom, right; None where the list is not at hand."""
    if not path.is_file():
        return None
    table = read_numbers(path, (0, 1, 2, 3, 4), "boxes")
    if not np.array_equal(table[:, 0], ids):
        raise UnsafeInputError(
            f"table {path.name!r}", "other images", "those of images.txt, in order"
        )
    left, top, width, height = table[:, 1:].T
    return np.stack([top, left, top + height, left + width], axis=1)


def _is_read(path: Path, presence: Presence) -> bool:
    """Files that need not be there."""
    return path.is_file() and (path.name == BOXES or presence == "votes")


def _votes(
    path: Path, ids: Int[np.ndarray, " n"]
) -> tuple[Bool[np.ndarray, "n concepts"], Bool[np.ndarray, "n concepts"]]:
    """Votes per image; certainty 1 means that the part was not visible, so nothing is known."""
    if not path.is_file():
        raise EvidenceError(
            "presence='votes'", f"no {path.name}", "it in attributes/", "Use 'class_and_visible'."
        )
    table = read_numbers(path, (0, 1, 2, 3), "votes").astype(np.int64)
    column = {attribute: j for j, attribute in enumerate(ATTRIBUTES)}
    row_mask = np.isin(table[:, 1], ATTRIBUTES) & np.isin(table[:, 0], ids)
    table = table[row_mask]
    row = np.searchsorted(ids, table[:, 0])
    j = np.array([column[a] for a in table[:, 1]], np.int64)
    there = np.zeros((len(ids), len(ATTRIBUTES)), bool)
    known = np.zeros_like(there)
    there[row, j] = table[:, 2] == 1
    known[row, j] = table[:, 3] > 1
    return there, known
