"""Concepts as masks: layers and sampling, every reader on a small folder, faults, the real data."""

import gzip
import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from theodolite._storage.images import sample_grid
from theodolite._storage.text import read_csv, read_text
from theodolite.datasets.masks.ade20k import ade20k
from theodolite.datasets.masks.broden import broden, read_index
from theodolite.datasets.masks.camvid import camvid
from theodolite.datasets.masks.mask_data import MaskData, box_mask, layers_of_masks
from theodolite.datasets.masks.mask_folder import mask_folder
from theodolite.datasets.masks.monumai_masks import monumai_masks
from theodolite.datasets.pets import pets
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.pipeline_output import WorkContext
from theodolite.pipelines.dissection.pipeline import DissectionPipeline


def save(path: Path, values: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(values, np.uint8)).save(path)


def areas(data: MaskData, row: int, grid: tuple[int, int] = (112, 112)) -> dict[str, int]:
    """How many cells each concept has, the whole image's concepts left out."""
    layers = data.layers(row, grid)
    cells = {c: (layers == c + 1).any(axis=0).sum() for c in range(len(data.concepts))}
    return {data.concepts[c]: int(count) for c, count in cells.items() if count}


@given(cells=st.integers(1, 40), pixels=st.integers(1, 300))
def test_a_cell_takes_the_pixel_under_its_middle(cells: int, pixels: int) -> None:
    taken = sample_grid(np.arange(pixels)[:, None], (cells, 1))[:, 0]
    for cell, pixel in enumerate(taken):
        assert pixel <= (cell + 0.5) / cells * pixels + 1e-9
        assert pixel + 1 >= (cell + 0.5) / cells * pixels - 1e-9
    assert len(taken) == cells


def test_sampling_is_exact_on_a_small_example() -> None:
    image = np.arange(24).reshape(4, 6)
    assert sample_grid(image, (2, 3)).tolist() == [[7, 9, 11], [19, 21, 23]]
    assert sample_grid(image, (4, 6)).tolist() == image.tolist()
    assert sample_grid(image[:1, :2], (1, 4)).tolist() == [[0, 0, 1, 1]]


def test_overlapping_masks_need_layers_and_others_share_them() -> None:
    masks = [np.array([m], bool) for m in ([1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0])]
    layers = layers_of_masks(list(zip((0, 1, 2, 0), masks, strict=True)))
    assert layers.tolist() == [[[1, 1, 0, 3]], [[0, 2, 2, 0]]]
    assert layers_of_masks([], (2, 3)).shape == (1, 2, 3)
    assert layers_of_masks([(0, masks[0]), (0, masks[1])]).tolist() == [[[1, 1, 1, 0]]]


@given(
    masks=st.lists(
        st.tuples(st.integers(0, 4), st.lists(st.booleans(), min_size=6, max_size=6)), max_size=8
    )
)
def test_layers_keep_the_union_of_each_concept(masks: list[tuple[int, list[bool]]]) -> None:
    layers = layers_of_masks([(c, np.array([m])) for c, m in masks], (1, 6))
    for concept in range(5):
        union = np.array([m for c, m in masks if c == concept] or [[False] * 6]).any(axis=0)
        assert ((layers == concept + 1).any(axis=0)[0] == union).all()


def test_a_box_has_the_cells_whose_middle_is_inside() -> None:
    assert np.argwhere(box_mask((0.25, 0.0, 0.75, 0.3), (4, 4))).tolist() == [[1, 0], [2, 0]]
    with pytest.raises(EvidenceError, match="top < bottom"):
        box_mask((0.5, 0.0, 0.5, 1.0), (4, 4))


def empty_layer(row: int, grid: tuple[int, int]) -> np.ndarray:
    return np.zeros((1, *grid), np.uint16)


def made(**changes: Any) -> MaskData:
    given = {"name": "made", "folder": Path(), "images": ("a.png", "b.png"), "scenes": ((), ()),
             "concepts": ("x", "y"), "categories": ("object", "part"), "read_layers": empty_layer}  # fmt: skip
    return MaskData(**(given | changes))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"concepts": ("x", "x")}, "distinct names"),
        ({"concepts": (), "categories": ()}, "1 to 65535"),
        ({"categories": ("object",)}, "one for each of 2"),
        ({"scenes": ((), (2,))}, "numbers below 2"),
        ({"scenes": ((),)}, "2 images"),
        ({"labels": np.array([0, 1]), "classes": ("a",)}, "a class below 1"),
        ({"labels": np.array([0]), "classes": ("a",)}, "2 images"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], says: str) -> None:
    assert len(made()) == 2
    with pytest.raises(EvidenceError, match=says):
        made(**changes)


def test_layers_that_do_not_fit_are_refused() -> None:
    assert made().layers(0).shape == (1, 112, 112)
    with pytest.raises(EvidenceError, match="numbers up to 2"):
        made(read_layers=lambda row, grid: np.full((1, *grid), 3, np.uint16)).layers(0)
    with pytest.raises(EvidenceError, match=r"layers of \(2, 2\)"):
        made(read_layers=lambda row, grid: np.zeros((1, 3, 3), np.uint16)).layers(0, (2, 2))


def test_images_are_confined_and_may_be_missing(tmp_path: Path) -> None:
    save(tmp_path / "b.png", np.zeros((2, 3, 3)))
    data = made(folder=tmp_path)
    assert data.at_hand().tolist() == [1] == data.at_hand(np.array([1])).tolist()
    assert data.image(1).size == (3, 2)
    with pytest.raises(UnsafeInputError, match=r"'\.\.'"):
        made(images=("../a.png", "b.png")).path(0)


def test_camvid(tmp_path: Path) -> None:
    save(tmp_path / "images" / "train" / "a.png", np.zeros((2, 2, 3)))
    with pytest.raises(UnsafeInputError, match=r"no labels/train/a.png"):
        camvid(tmp_path)
    label = tmp_path / "labels" / "train" / "a.png"
    save(label, [[0, 11], [8, 8]])
    data = camvid(tmp_path)
    assert data.layers(0, (2, 2)).tolist() == [[[1, 0], [9, 9]]]
    assert (data.concepts[0], data.concepts[8]) == ("sky", "car")
    save(label, [[0, 12], [8, 8]])
    with pytest.raises(UnsafeInputError, match=r"numbers \[12\]"):
        data.layers(0)
    save(label, np.arange(12).reshape(2, 2, 3))
    with pytest.raises(UnsafeInputError, match="colors"):
        data.layers(0)
    label.write_bytes(b"no image")
    with pytest.raises(UnsafeInputError, match="does not decode"):
        data.layers(0)
    with pytest.raises(UnsafeInputError, match="no images"):
        camvid(tmp_path / "labels")


def small_pets(root: Path, **changes: Any) -> Path:
    save(root / "trimaps" / "a.png", [[1, 1], [3, 2]])
    record = {"name": "a", "breed": "Maine_Coon", "species": "cat", "head_box": [0, 0, 0.5, 1]}
    (root / "annotations.json").write_text(json.dumps([record | changes]))
    return root


def test_pets(tmp_path: Path) -> None:
    data = pets(small_pets(tmp_path))
    assert data.concepts == ("cat", "dog", "head", "Maine Coon")
    assert data.categories == ("object", "object", "part", "breed")
    assert data.layers(0, (2, 2)).tolist() == [[[1, 1], [0, 0]], [[3, 0], [3, 0]]]
    assert data.scenes == ((3,),) and data.classes == ("Maine Coon",)


@pytest.mark.parametrize(
    "change",
    [{"species": "cow"}, {"head_box": [0, 0, 1]}, {"head_box": [0.5, 0, 0.5, 1]}, {"head_box": None},
     {"head_box": [0, 0, float("nan"), 1]}],
)  # fmt: skip
def test_broken_pets_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(UnsafeInputError, match="cat or dog"):
        pets(small_pets(tmp_path, **change))


def test_pets_cannot_leave_the_folder(tmp_path: Path) -> None:
    data = pets(small_pets(tmp_path, name="../trimaps/a"))
    with pytest.raises(UnsafeInputError, match=r"'\.\.'"):
        data.layers(0)
    (tmp_path / "annotations.json").write_text("[]")
    with pytest.raises(UnsafeInputError, match="a list of images"):
        pets(tmp_path)


def test_monumai_boxes_overlap(tmp_path: Path) -> None:
    boxes = [["fronton", 0, 0, 1, 0.5], ["ojo-de-buey", 0, 0, 0.5, 0.5], ["fronton", 0.5, 0, 1, 1]]
    record = {"file": "a.jpg", "style": "Gothic", "objects": boxes}
    path = tmp_path / "annotations.json"
    path.write_text(json.dumps([record]))
    data = monumai_masks(tmp_path)
    assert data.concepts == ("pediment", "oculus", "Gothic") and data.scenes == ((2,),)
    assert data.layers(0, (2, 2)).tolist() == [[[1, 1], [0, 1]], [[2, 0], [0, 0]]]
    path.write_text(json.dumps([record | {"objects": [["fronton", 0.5, 0, 0.5, 1]]}]))
    with pytest.raises(EvidenceError, match=r"box of 'a\.jpg'"):
        monumai_masks(tmp_path).layers(0)


def coded(numbers: Any, *, ade: bool = False) -> np.ndarray:
    """A label map in colors: as in Broden, or as in ADE20K."""
    n = np.asarray(numbers)
    return np.stack([n // 256 * 10, n % 256, n] if ade else [n % 256, n // 256, 0 * n], axis=-1)


INDEX = """image,split,ih,iw,sh,sw,color,object,part,scene,texture
d/a.jpg,train,4,4,2,2,d/a_c.png,d/a_o.png,d/a_p1.png;d/a_p2.png,400.0,
d/b.jpg,val,4,4,2,2,,,,7,9;0;300
"""
LABELS = """number,name,category,frequency
0,-,object(9),9
1,black,color(2),2
300,wheel,object(1);part(6),7
400,street-s,scene(1),1
7,bank,scene,1
9,bank,texture(1),1
"""


def small_broden(root: Path, index: str = INDEX, labels: str = LABELS) -> Path:
    (root / "index.csv").write_text(index)
    with gzip.open(root / "label.csv.gz", "wt") as stream:
        stream.write(labels)
    maps = {"c": [[1, 1], [1, 1]], "o": [[300, 0], [0, 0]], "p1": [[0, 9]], "p2": [[0]]}
    for name, numbers in maps.items():
        save(root / "images" / "d" / f"a_{name}.png", coded(numbers))
    return root


def test_broden(tmp_path: Path) -> None:
    data = broden(small_broden(tmp_path))
    assert data.concepts == ("black", "wheel", "street-s", "bank (7)", "bank (9)")
    assert data.categories == ("color", "part", "scene", "scene", "texture")
    assert data.scenes == ((2,), (3, 4, 1))
    assert data.layers(0, (2, 2)).tolist() == [
        [[1, 1], [1, 1]], [[2, 0], [0, 0]], [[0, 5], [0, 5]], [[0, 0], [0, 0]]
    ]  # fmt: skip
    assert data.layers(1, (2, 2)).tolist() == [[[0, 0], [0, 0]]]
    assert data.labels is not None and data.labels.tolist() == [0, 1]
    assert data.classes == ("street-s", "bank (7)")
    assert {Path(name).name for name in data.digests()} == {"index.csv", "label.csv.gz"}
    assert broden(small_broden(tmp_path, INDEX.replace("400.0", ""))).labels is None


@pytest.mark.parametrize(
    ("index", "labels", "says"),
    [
        (INDEX.replace("400.0", "401"), LABELS, "number 401"),
        (INDEX.replace("image", "file"), LABELS, "image and a column"),
        (INDEX.splitlines()[0], LABELS, "no rows"),
        ("image,split\na,b\n", LABELS, "image and a column"),
        (INDEX, LABELS.replace("400,", "x,"), "a number that occurs once"),
        (INDEX, LABELS.replace("400,", "300,"), "a number that occurs once"),
        (INDEX, LABELS.replace("category", "kind"), "a category such as"),
        (INDEX, "number,name,category\n", "number 400"),
    ],
)
def test_broken_broden_is_refused(tmp_path: Path, index: str, labels: str, says: str) -> None:
    with pytest.raises(UnsafeInputError, match=says):
        broden(small_broden(tmp_path, index, labels))


def test_broden_maps_are_confined_and_known(tmp_path: Path) -> None:
    data = broden(small_broden(tmp_path, INDEX.replace("d/a_c.png", "../label.png")))
    with pytest.raises(UnsafeInputError, match=r"'\.\.'"):
        data.layers(0)
    data = broden(small_broden(tmp_path))
    save(tmp_path / "images" / "d" / "a_o.png", coded([[301]]))
    with pytest.raises(UnsafeInputError, match=r"numbers \[301\]"):
        data.layers(0)


def test_packed_tables_are_read_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert list(read_csv(path)) == [{"a": "1", "b": "2"}]
    path.write_bytes(gzip.compress(bytes(10_000)))
    with pytest.raises(UnsafeInputError, match="more when unpacked"):
        read_text(path, limit=1_000)
    for broken in (b"a,b\n1,2\n", gzip.compress(b"a,b\n" * 99)[:-9], b""):
        path.write_bytes(broken)
        with pytest.raises(UnsafeInputError):
            list(read_csv(path))


def small_ade(root: Path, **changes: Any) -> Path:
    save(root / "urban" / "a_seg.png", coded([[401, 401], [0, 2855]], ade=True))
    save(root / "urban" / "a_parts_1.png", coded([[0, 3035], [0, 0]], ade=True))
    things = [(401, "car, auto", 0), (2855, "tree", 0), (3035, "wheel", 1), (5, "tree, other", 1)]
    objects = [{"name_ndx": n, "name": w, "parts": {"part_level": p}} for n, w, p in things]
    annotation = {"scene": ["outdoor", "street"], "object": objects} | changes
    (root / "urban" / "a.json").write_text(json.dumps({"annotation": annotation}))
    return root


def test_ade20k(tmp_path: Path) -> None:
    data = ade20k(small_ade(tmp_path))
    assert data.images == ("urban/a.jpg",)
    assert data.concepts == ("tree (5)", "car", "tree (2855)", "wheel", "street (scene)")
    assert data.categories == ("part", "object", "object", "part", "scene")
    assert data.layers(0, (2, 2)).tolist() == [[[2, 2], [0, 3]], [[0, 4], [0, 0]]]
    assert data.scenes == ((4,),) and data.classes == ("street",)
    without = ade20k(small_ade(tmp_path, scene=[]))
    assert without.scenes == ((),) and without.labels is None


def test_broken_ade20k_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsafeInputError, match=r"no \*_seg\.png"):
        ade20k(tmp_path)
    for change in ({"scene": None}, {"object": [{}]}, {"object": 1}):
        with pytest.raises(UnsafeInputError, match="name_ndx"):
            ade20k(small_ade(tmp_path, **change))
    data = ade20k(small_ade(tmp_path))
    save(tmp_path / "urban" / "a_parts_1.png", coded([[6]], ade=True))
    with pytest.raises(UnsafeInputError, match=r"numbers \[6\]"):
        data.layers(0)
    (tmp_path / "urban" / "a.json").unlink()
    with pytest.raises(UnsafeInputError, match="nothing there"):
        ade20k(tmp_path)


def own(root: Path) -> Path:
    tables = {
        "samples": "image,class,indoor,split\na.png,home,1,train\nb.png,street,0,test\n",
        "masks": "image,concept,file,category\na.png,cup,m/1.png,\na.png,grip,m/2.png,part\n",
        "labels": "image,file\nb.png,l/b.png\n",
        "concepts": "number,name,category\n3,road,object\n,cup,thing\n",
    }
    for name, text in tables.items():
        (root / f"{name}.csv").write_text(text)
    save(root / "m" / "1.png", [[1, 1], [0, 0]])
    save(root / "m" / "2.png", [[0, 255], [0, 0]])
    save(root / "l" / "b.png", [[3, 0]])
    return root


def test_an_own_folder(tmp_path: Path) -> None:
    data = mask_folder(own(tmp_path))
    assert data.concepts == ("road", "cup", "indoor", "grip")
    assert data.categories == ("object", "thing", "scene", "part")
    assert data.scenes == ((2,), ()) and data.classes == ("home", "street")
    assert data.layers(0, (2, 2)).tolist() == [[[2, 2], [0, 0]], [[0, 4], [0, 0]]]
    assert data.layers(1, (2, 2)).tolist() == [[[1, 0], [1, 0]]]
    assert len(data.digests()) == 4
    copy = pickle.loads(pickle.dumps(data))  # noqa: S301  workers get the data set so
    assert (copy.layers(0) == data.layers(0)).all()
    (tmp_path / "labels.csv").unlink()
    assert not mask_folder(tmp_path).layers(1).any(), "an image without masks"


def test_void_pixels_count_neither_for_nor_against(tmp_path: Path) -> None:
    """Worked: unit on 1 to 4, concept on 3 to 6, void 4 and 5: 1 of 4 instead of 2 of 6."""
    own(tmp_path)
    save(tmp_path / "l" / "b.png", [[0, 0, 3, 255, 255, 3]])
    data = mask_folder(tmp_path, void=(255,))
    assert data.layers(1, (1, 6)).tolist() == [[[0, 0, 1, 5, 5, 1]]]
    pipeline = DissectionPipeline(backbone="", grid=(1, 6), min_images=1)
    atoms = pipeline._pack(data, WorkContext((0,), tmp_path))
    unit = np.array([1, 1, 1, 1, 0, 0], bool)
    weight = atoms.weight[atoms.start[1] :][atoms.number[1]] > 0
    concept = atoms.mask(1, atoms.concepts.index("road"))[0]
    shared, either = (unit & concept & weight).sum(), ((unit | concept) & weight).sum()
    assert (shared, either) == (1, 4) and "void" not in atoms.concepts
    for wrong, says in (((3,), "no number of"), ((256,), "1 to 255"), ((0,), "1 to 255")):
        with pytest.raises(EvidenceError, match=says):
            mask_folder(tmp_path, void=wrong)
    with pytest.raises(UnsafeInputError, match=r"numbers \[255\]"):
        mask_folder(tmp_path).layers(1)


def spoil(name: str, content: str) -> Callable[[Path], object]:
    return lambda root: (root / name).write_text(content)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda root: (root / "samples.csv").unlink(), "one row per image"),
        (spoil("samples.csv", "image\na.png\na.png\n"), "one row per image"),
        (spoil("samples.csv", "file\na.png\n"), "image"),
        (spoil("samples.csv", "image,indoor\na.png,\nb.png,0\n"), "1 or 0"),
        (spoil("samples.csv", "image\na.png\n"), "image 'b.png'"),
        (spoil("masks.csv", "image,file\na.png,m/1.png\n"), "concept"),
        (spoil("masks.csv", "image,concept,file\na.png,,m/1.png\n"), "a name"),
        (spoil("masks.csv", "image,concept,file,category\na.png,x,1,part\na.png,x,2,object\n"), "one category"),
        (spoil("concepts.csv", "number,name,category\n255,x,object\n"), "1 to 254"),
        (spoil("concepts.csv", "number,name,category\n-1,x,object\n"), "1 to 254"),
        (spoil("concepts.csv", "number,name,category\n1,x,object\n1,y,object\n"), "each once"),
        (spoil("concepts.csv", "number,name,category\n1,x,object\n2,x,object\n"), "one row per concept"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(tmp_path: Path, change: Callable[[Path], object], says: str) -> None:
    change(own(tmp_path))
    with pytest.raises(EvidenceError, match=says):
        mask_folder(tmp_path)


def test_an_own_folder_needs_masks_inside_it(tmp_path: Path) -> None:
    own(tmp_path)
    spoil("labels.csv", "image,file\nb.png,../b.png\n")(tmp_path)
    with pytest.raises(UnsafeInputError, match=r"'\.\.'"):
        mask_folder(tmp_path).layers(1)
    for name in ("masks.csv", "labels.csv"):
        (tmp_path / name).unlink()
    with pytest.raises(EvidenceError, match=r"masks.csv or labels.csv"):
        mask_folder(tmp_path)


def test_the_real_camvid(shared_data: Path) -> None:
    data = camvid(shared_data / "camvid")
    assert (len(data), len(data.concepts), len(data.at_hand())) == (701, 11, 701)
    pixels = np.asarray(
        Image.open(shared_data / "camvid" / "labels" / data.images[0].replace("jpg", "png"))
    )
    layers = data.layers(0, (240, 320))
    assert (layers[0] == np.where(pixels == 11, 0, pixels + 1)).all()
    shown = areas(data, 0)
    assert shown["road"] > 1000 and "sky" in shown


def test_the_real_pets(shared_data: Path) -> None:
    data = pets(shared_data / "oxford_pets")
    assert (len(data), len(data.classes), len(data.at_hand())) == (888, 37, 888)
    for row in range(0, len(data), 111):
        shown = set(areas(data, row))
        assert "head" in shown and shown - {"head"} in ({"cat"}, {"dog"})


def test_the_real_monumai(shared_data: Path) -> None:
    data = monumai_masks(shared_data / "monumai")
    assert (len(data), data.categories.count("part"), len(data.classes)) == (1504, 15, 4)
    for row in range(len(data)):
        assert data.layers(row, (28, 28)).any()


def test_the_real_ade20k(shared_data: Path) -> None:
    root = shared_data / "ade20k_sample"
    data = ade20k(root)
    assert (len(data), data.classes, len(data.at_hand())) == (3, ("street",), 3)
    for row, n_layers in enumerate((3, 2, 2)):
        layers = data.layers(row)
        assert layers.shape == (n_layers, 112, 112)
        listed = json.loads((root / data.images[row].replace("jpg", "json")).read_text())
        names = {thing["name"].partition(",")[0] for thing in listed["annotation"]["object"]}
        assert {"car", "building", "road"} <= set(areas(data, row)) <= names
    car = data.layers(1, (1650, 2200))[0] == data.concepts.index("car") + 1
    assert car[950, 600] and not car[100, 100], "inside and outside the first car's polygon"
    assert data.categories[data.concepts.index("windshield")] == "part"


def test_the_real_index_of_broden(shared_data: Path, tmp_path: Path) -> None:
    file = shared_data / "netdissect_published" / "broden1_224_index_ade20k.csv.gz"
    shutil.copyfile(file, tmp_path / "index_ade20k.csv.gz")
    images, cells = read_index(file)
    numbers = sorted({int(float(text)) for row in cells for text in row["scene"]})
    lines = [f"{number},n{number},scene(1)" for number in numbers]
    (tmp_path / "label.csv").write_text("\n".join(["number,name,category", *lines]))
    data = broden(tmp_path, index="index_ade20k.csv")
    assert len(data) == len(set(images)) == 22_210 and len(data.at_hand(np.arange(5))) == 0
    assert sum(not row for row in data.scenes) == 2_477 + 1_987, "empty, or label 0"
    assert data.labels is None
    assert data.concepts[data.scenes[0][0]] == "n83"
    with pytest.raises(UnsafeInputError, match="nothing there"):
        data.layers(0)
