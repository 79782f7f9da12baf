"""A user's own data set: the drawn example read back, options, and everything that can be wrong."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from theodolite._storage.tables import write_parquet
from theodolite._storage.text import read_csv
from theodolite.datasets.folder import folder
from theodolite.datasets.shapes import write_shapes
from theodolite.errors import EvidenceError, UnsafeInputError


@pytest.fixture
def shapes(tmp_path: Path) -> Path:
    write_shapes(tmp_path / "shapes", 12)
    return tmp_path / "shapes"


def test_the_drawn_example_is_exact(shapes: Path) -> None:
    data = folder(shapes)
    assert data.concepts.names == ("red", "green", "blue", "square", "disc", "triangle")
    assert data.part_of.tolist() == [-1, -1, -1, 0, 1, 2]
    rows = np.arange(len(data))
    assert len(data.at_hand(rows)) == len(data) == 12
    assert data.points is not None and data.boxes is not None
    masks = data.masks(rows, grid=64)
    assert masks is not None
    for i in rows:
        pixels = np.asarray(data.image(int(i)))
        for j, part in enumerate(data.parts.names):
            there = bool(data.presence[i, data.concepts.names.index(part)])
            assert masks[i, j].any() == there == (not np.isnan(data.points[i, j, 0]).any())
            if there:
                top, left, bottom, right = data.boxes[i, j, 0]
                where = np.argwhere(masks[i, j])
                assert where.min(axis=0).tolist() == [top, left]
                assert where.max(axis=0).tolist() == [bottom, right]
                shade = pixels[masks[i, j]][0]
                assert (pixels[masks[i, j]] == shade).all(), "one color inside the mask"


def test_unknown_presence_groups_and_parquet(shapes: Path) -> None:
    rows = list(read_csv(shapes / "samples.csv"))
    rows[0]["red"] = ""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    columns["group"] = ["a", "a", *(f"g{i}" for i in range(10))]
    (shapes / "samples.csv").unlink()
    write_parquet(shapes / "samples.parquet", columns)
    data = folder(shapes)
    assert data.known is not None and not data.known[0, 0] and data.known[1:].all()
    assert data.groups is not None and data.groups[0] == data.groups[1] != data.groups[2]


def test_without_a_split_column_a_seeded_share_is_held_out(shapes: Path) -> None:
    rows = list(read_csv(shapes / "samples.csv"))
    names = [n for n in rows[0] if n != "split"]
    text = "\n".join([",".join(names), *(",".join(r[n] for n in names) for r in rows)])
    (shapes / "samples.csv").write_text(text)
    data = folder(shapes, test_share=0.25, seed=3)
    assert np.bincount(data.labels[data.is_test]).tolist() == [1, 1, 1]


def test_class_truth_from_a_table_or_from_training_images(shapes: Path) -> None:
    learned = folder(shapes).class_truth
    assert learned[0].tolist().count(1.0) >= 1, "every 'stop' is red"
    (shapes / "class_truth.csv").write_text(
        "class,red,green,blue,square,disc,triangle\n"
        "stop,1,0,0,0,1,0\ngo,0,1,0,0,0,0.5\nwait,0,0,1,1,0,0\n"
    )
    given = folder(shapes)
    assert given.class_truth[5, given.classes.names.index("go")] == 0.5


def test_several_masks_of_one_part_are_one_place_each(shapes: Path) -> None:
    one = folder(shapes)
    (row, part), (file,) = next(iter(one.mask_files.items()))
    inverse = Image.open(shapes / file).convert("L").point(lambda v: 255 - v)
    inverse.save(shapes / "rest.png")
    name = one.parts.names[part]
    with (shapes / "masks.csv").open("a") as table:
        table.write(f"{one.images[row]},{name},rest.png\n")
    both = folder(shapes).masks(np.array([row]))
    assert both is not None and both[0, part].all()


def test_a_share_that_nobody_could_know_is_asked_for(shapes: Path) -> None:
    rows = list(read_csv(shapes / "samples.csv"))
    for row in rows:
        if row["class"] == "stop":
            row["disc"] = ""
    lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
    (shapes / "samples.csv").write_text("\n".join(lines))
    with pytest.raises(EvidenceError, match="class 'stop' tells whether 'disc' is there"):
        folder(shapes)


def test_places_outside_the_image_are_refused_and_rounding_is_not(shapes: Path) -> None:
    data = folder(shapes)
    rows = np.arange(3)
    sizes = data.sizes(rows)
    assert data.points is not None
    data.points[1, 0, 0] = sizes[1] + 0.7
    assert (data.places(rows, sizes)["points"][1, 0, 0] == sizes[1]).all()
    data.points[1, 0, 0] = sizes[1] + 5
    with pytest.raises(EvidenceError, match="outside the image"):
        data.places(rows, sizes)


def spoil(name: str, content: str) -> Callable[[Path], object]:
    return lambda root: (root / name).write_text(content)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda root: (root / "samples.csv").unlink(), "no samples"),
        (spoil("samples.csv", "image,class\na,b\n"), "a column per concept"),
        (spoil("samples.csv", "file,class,red\na,b,1\n"), "image, class and"),
        (spoil("samples.csv", "image,class,red\na,b,1\na,b,0\n"), "an image twice"),
        (spoil("samples.csv", "image,class,red\na,b,maybe\n"), "1, 0 or nothing"),
        (spoil("samples.csv", "image,class,split,red\na,b,dev,1\n"), "'train' and 'test'"),
        (spoil("samples.csv", "image,class,red\na,b\n"), "2 cells in line 2"),
        (spoil("points.csv", "image,part,row,column\nnone.png,disc,1,1\n"), "one of samples.csv"),
        (spoil("points.csv", "image,part,row,column\nimages/0000.png,disc,x,1\n"), "numbers for"),
        (spoil("points.csv", "image,row,column\nimages/0000.png,1,1\n"), "'part'"),
        (spoil("parts.csv", "concept,part\nnose,face\n"), r"\['nose'\]"),
        (spoil("class_truth.csv", "class,red,green,blue,square,disc,triangle\nx,1,1,1,1,1,1\n"), "classes"),
        (spoil("class_truth.csv", "class,red\nstop,1\n"), "columns"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(shapes: Path, change: Callable[[Path], object], says: str) -> None:
    change(shapes)
    with pytest.raises(EvidenceError, match=says):
        folder(shapes)


def test_images_and_masks_cannot_leave_the_folder(shapes: Path) -> None:
    Image.new("RGB", (4, 4)).save(shapes.parent / "secret.png")
    spoil("samples.csv", "image,class,red\n../secret.png,a,1\nb.png,b,0\n")(shapes)
    for name in ("points.csv", "boxes.csv", "masks.csv", "parts.csv"):
        (shapes / name).unlink()
    data = folder(shapes)
    with pytest.raises(UnsafeInputError, match=r"'\.\.'"):
        data.at_hand(np.arange(2))
