"""CUB: the real tables, and a small folder of the official layout with votes per image."""

from pathlib import Path

import numpy as np
import pytest

from theodolite.datasets.cub import ATTRIBUTES, cub
from theodolite.errors import EvidenceError, UnsafeInputError

PARTS = ("back", "beak", "belly", "breast", "crown", "forehead", "left eye", "left leg",
         "left wing", "nape", "right eye", "right leg", "right wing", "tail", "throat")  # fmt: skip
TOPICS = {2: "has_bill_shape::dagger", 11: "has_wing_color::brown", 135: "has_eye_color::black"}


def small(root: Path, *, votes: bool = False) -> Path:
    """Three images, two classes, all 312 attributes."""

    def write(name: str, lines: list[str]) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("\n".join(lines) + "\n")

    write("images.txt", ["1 001.A_bird/a.jpg", "2 001.A_bird/b.jpg", "4 002.B/c.jpg"])
    write("image_class_labels.txt", ["1 1", "2 1", "4 2"])
    write("train_test_split.txt", ["1 1", "2 0", "4 0"])
    write("classes.txt", ["1 001.A_bird", "2 002.B"])
    write("parts/parts.txt", [f"{i} {name}" for i, name in enumerate(PARTS, start=1)])
    locations = [
        f"{image} {part} {10.5 + part} {20.0} {int(not (image == 2 and part == 2))}"
        for image in (1, 2, 4)
        for part in range(1, 16)
    ]
    write("parts/part_locs.txt", locations)
    names = [f"{i} {TOPICS.get(i, f'has_size::kind_{i}')}" for i in range(1, 313)]
    write("attributes/attributes.txt", names)
    percent = np.zeros((2, 312))
    percent[0, 1], percent[1, 1], percent[0, 10] = 80.0, 10.0, 50.0
    write(
        "attributes/class_attribute_labels_continuous.txt", [" ".join(map(str, r)) for r in percent]
    )
    if votes:
        # image, attribute, present, certainty, seconds; some lines of the release have more
        write("attributes/image_attribute_labels.txt",
              ["1 2 1 3 4.2", "1 11 0 4 1.0", "2 2 1 1 0.5 0", "4 2 0 3 2.0", "4 11 1 2 2.0"])  # fmt: skip
    return root


def test_presence_from_class_and_visible_part(tmp_path: Path) -> None:
    data = cub(small(tmp_path))
    beak, wing = ATTRIBUTES.index(2), ATTRIBUTES.index(11)
    assert data.concepts.names[beak] == "dagger bill shape"
    assert data.classes.names == ("A bird", "B")
    assert data.is_test.tolist() == [False, True, True]
    assert data.presence[:, beak].tolist() == [True, False, False], "not visible in the second"
    assert data.presence[:, wing].tolist() == [True, True, False]
    assert data.class_truth[beak].tolist() == [0.8, 0.1]
    assert "most annotators" in data.notes[0]


def test_presence_from_the_class_alone(tmp_path: Path) -> None:
    data = cub(small(tmp_path), presence="class", class_truth="majority")
    assert data.presence[:, ATTRIBUTES.index(2)].tolist() == [True, True, False]
    assert set(np.unique(data.class_truth)) == {0.0, 1.0}


def test_presence_from_votes(tmp_path: Path) -> None:
    data = cub(small(tmp_path, votes=True))
    beak, wing = ATTRIBUTES.index(2), ATTRIBUTES.index(11)
    assert data.known is not None
    assert data.known[:, beak].tolist() == [True, False, True], "certainty 1 is 'not visible'"
    assert data.presence[:, beak].tolist() == [True, True, False]
    assert data.presence[2, wing] and data.known[2, wing]
    assert not data.known[1, wing]


def test_left_and_right_are_two_places_of_one_part(tmp_path: Path) -> None:
    data = cub(small(tmp_path))
    assert len(data.parts) == 12
    assert data.points is not None
    wing = data.parts.names.index("wing")
    assert data.points[0, wing].tolist() == [[20.0, 19.5], [20.0, 23.5]], "row first"
    back = data.points[0, data.parts.names.index("back")]
    assert np.isnan(back[1]).all() and not np.isnan(back[0]).any()
    assert np.isnan(data.points[1, data.parts.names.index("beak")]).all()


def test_votes_that_are_not_there_are_missed(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="class_and_visible"):
        cub(small(tmp_path), presence="votes")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("images.txt", "one a.jpg\n", "a number and a name"),
        ("image_class_labels.txt", "1 1\n", "those of images.txt"),
        ("image_class_labels.txt", "1 x\n2 1\n4 1\n", "numbers in columns"),
        ("parts/part_locs.txt", "9 1 1 1 1\n", "those of images.txt"),
        ("parts/part_locs.txt", "1 77 1 1 1\n", "parts \\[77\\]"),
        ("parts/part_locs.txt", "1 1 1\n", "numbers in columns"),
        ("attributes/attributes.txt", "1 a\n", "all 312"),
        ("attributes/class_attribute_labels_continuous.txt", "1 2 3\n", "numbers in columns"),
        (
            "attributes/class_attribute_labels_continuous.txt",
            " ".join(["900"] * 312),
            "percentages",
        ),
    ],
)
def test_broken_tables_are_refused(tmp_path: Path, name: str, content: str, says: str) -> None:
    (small(tmp_path) / name).write_text(content)
    with pytest.raises(UnsafeInputError, match=says):
        cub(tmp_path)


def test_the_real_tables(shared_data: Path) -> None:
    data = cub(shared_data / "cub200" / "CUB_200_2011")
    assert (len(data), int(data.is_test.sum()), len(data.classes)) == (11788, 5794, 200)
    assert len(data.concepts) == 112
    assert int((data.part_of >= 0).sum()) == 89
    per_part = dict(
        zip(data.parts.names, np.bincount(data.part_of[data.part_of >= 0]), strict=True)
    )
    assert per_part == {"back": 9, "beak": 9, "belly": 7, "breast": 9, "crown": 6, "forehead": 8,
                        "eye": 1, "leg": 3, "wing": 12, "nape": 6, "tail": 14, "throat": 5}  # fmt: skip
    rows = data.at_hand(np.flatnonzero(data.is_test))
    assert len(rows) == 1200
    assert (data.sizes(rows[:5]).max(axis=1) == 256).all()
