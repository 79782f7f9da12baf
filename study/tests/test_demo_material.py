"""The study to try: from nothing, and such that it can be known what is right."""

import os
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from theodolite.datasets.study_material.explained_images import Looks, material_from_arrays
from theodolite.datasets.study_material.material import Material, image_path, read_material
from theodolite.errors import UnsafeInputError
from theodolite_study.demo import scenes as demo_scenes
from theodolite_study.demo.material import MAPS, TECHNIQUES, _items, write_demo_material
from theodolite_study.demo.scenes import FOLDER, Scene, load_scenes


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Material]:
    folder = tmp_path_factory.mktemp("demo")
    return folder, write_demo_material(folder, seed=0)


def pixels(folder: Path, name: str) -> np.ndarray:
    with Image.open(image_path(folder, name)) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def test_what_there_is(made: tuple[Path, Material]) -> None:
    folder, material = made
    assert read_material(folder) == material
    real = material.of("real")
    assert len(real) == 12 * len(TECHNIQUES)
    assert len({one.image_key for one in real}) == len({one.shown.image for one in real}) == 12
    assert all(one.same and one.different for one in real)
    assert (len(material.of("training")), len(material.of("gold"))) == (3, 2)
    there = {path.name for path in (folder / "images").iterdir()}
    assert there == {name for one in material.instances for name in one.images()}
    assert sum(path.stat().st_size for path in folder.rglob("*")) < 8_000_000


def test_answers_of_the_twins(made: tuple[Path, Material]) -> None:
    for one in made[1].of("real"):
        assert one.shown.predicted == one.same.predicted != one.different.predicted
        assert len({one.shown.image, one.same.image, one.different.image}) == 3


def test_checks_have_images_of_their_own_and_facts(made: tuple[Path, Material]) -> None:
    _, material = made
    real = {one.shown.image for one in material.of("real")}
    practice = material.of("training")
    assert not real & {one.shown.image for one in [*practice, *material.of("gold")]}
    assert sum(one.check.box is not None for one in practice) == 1
    for one in material.instances:
        if one.check and one.check.ratings == {"q5": 1}:
            assert one.same == one.shown


def test_the_frame_holds_the_object(made: tuple[Path, Material]) -> None:
    one = next(i for i in made[1].instances if i.check and i.check.box)
    label = one.image_key.removesuffix(" 2")
    down, across = np.nonzero(load_scenes(seed=1)[label].object_pixels)
    box = one.check.box
    assert (box.x, box.y) == (across.min(), down.min())
    assert (box.x + box.width, box.y + box.height) == (across.max() + 1, down.max() + 1)


def test_maps_are_as_planted(made: tuple[Path, Material]) -> None:
    """How much of what is red lies on the object: much, little, as much as anywhere."""
    folder, material = made
    for label, scene in load_scenes(seed=0).items():
        inside = scene.object_pixels
        share = {}
        for one in material.of("real"):
            if one.image_key == f"{label} 1" and one.technique in MAPS:
                colors = pixels(folder, one.shown.map)
                red = np.maximum(colors[..., 0] - colors[..., 2], 0) > 60
                share[one.technique] = red[inside].mean() / max(red.mean(), 1e-9)
        right, wrong, smeared = (share[name] for name in MAPS)
        assert right > 1.3 and right > smeared > wrong, label
        assert wrong < 0.5, label


def test_scenes_are_unlike_and_move_with_the_seed() -> None:
    first = load_scenes(seed=0)
    assert len(first) == 12
    for label, scene in first.items():
        assert 0.03 < scene.object_pixels.mean() < 0.4, label
        assert len(scene.parts) >= 3 and scene.beside, label
        covered = sum(scene.parts.values())
        assert covered.mean() == pytest.approx(scene.object_pixels.mean()), label
        # a pixel belongs to one part
        assert (covered + sum(scene.beside.values())).max() <= 1 + 1e-9, label
    contents = [scene.image.tobytes() for scene in first.values()]
    assert [scene.image.tobytes() for scene in load_scenes(seed=0).values()] == contents
    assert (
        len({*contents, *(scene.image.tobytes() for scene in load_scenes(seed=2).values())}) == 24
    )


def framed(scene: Scene) -> np.ndarray:
    """The object's pixels within its frame."""
    mask = scene.object_pixels
    return mask[mask.any(axis=1)][:, mask.any(axis=0)]


@pytest.mark.parametrize("seed", range(1, 6))
def test_no_window_cuts_an_object_and_odd_seeds_mirror(seed: int) -> None:
    first = load_scenes(seed=0)
    for label, scene in load_scenes(seed=seed).items():
        if label != "lighthouse":  # its beam leaves the image
            turned = framed(scene)[:, :: -1 if seed % 2 else 1]
            np.testing.assert_array_equal(turned, framed(first[label]), label)


def small(folder: Path) -> None:
    Image.new("RGB", (8, 8)).save(folder / "fish.png")


BROKEN = {
    "no image": (lambda f: (f / "fish.png").unlink(), "'fish.png': got nothing there"),
    "no parts": (lambda f: (f / "fish_parts.png").unlink(), "'fish_parts.png': got nothing there"),
    "cut off": (lambda f: os.truncate(f / "fish.png", 900), "'fish.png'.*does not decode"),
    "too small": (small, r"'fish': got \(8, 8\) and"),
    "parts of another": (
        lambda f: shutil.copy(f / "rocket_parts.png", f / "car_parts.png"), "'car': got other greys"
    ),
    "no names": (lambda f: (f / "scenes.json").unlink(), "'scenes.json': got nothing there"),
    "names cut off": (lambda f: os.truncate(f / "scenes.json", 90), "scenes.json"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_scene_is_named(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil, words = BROKEN[kind]
    folder = shutil.copytree(FOLDER, tmp_path / "scenes")
    monkeypatch.setattr(demo_scenes, "FOLDER", folder)
    spoil(folder)
    with pytest.raises(UnsafeInputError, match=words):
        write_demo_material(tmp_path / "study", seed=0)


def test_the_files_are_few_and_small() -> None:
    files = list(FOLDER.iterdir())
    assert len(files) == 1 + 2 * 12
    assert sum(path.stat().st_size for path in files) < 200_000


def test_the_same_seed_gives_the_same_records(made: tuple[Path, Material], tmp_path: Path) -> None:
    some = list(islice(_items(0), 5))
    again = material_from_arrays(
        some, tmp_path, looks=Looks(photographs=False, longest=480), seed=0
    )
    assert again.instances == list(made[1].instances[:5])
    for name in (name for one in again.instances for name in one.images()):
        assert image_path(tmp_path, name).read_bytes() == image_path(made[0], name).read_bytes()
    (other,) = islice(_items(1), 1)
    assert other.shown.image.tobytes() != some[0].shown.image.tobytes()


def test_nothing_heavy_is_needed() -> None:
    code = (
        "import sys, theodolite_study.demo.material\n"
        "heavy = {'torch', 'timm', 'sklearn', 'matplotlib', 'fastapi', 'sqlalchemy'}\n"
        "sys.exit(f'{heavy & set(sys.modules)}' if heavy & set(sys.modules) else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
