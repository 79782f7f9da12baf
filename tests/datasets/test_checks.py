"""Practice and hidden checks are made from facts; explanations of any kind become material."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image

from theodolite.datasets.study_material.checks import (
    Frame,
    frame_of,
    framed_item,
    identical_item,
    instructed_item,
    planned_checks,
)
from theodolite.datasets.study_material.explained_images import (
    Answer,
    Item,
    Looks,
    material_from_arrays,
)
from theodolite.datasets.study_material.material import Box, image_path, read_material
from theodolite.errors import EvidenceError


def item(number: int = 0, technique: str = "secret_method", **more: object) -> Item:
    pixels = np.random.default_rng(number).integers(0, 255, (24, 32, 3), np.uint8)
    relevance = np.random.default_rng(number + 99).normal(size=(6, 8))
    answer = Answer(image=Image.fromarray(pixels), predicted="a cat", map=relevance)
    return Item(image_key=f"image {number}", technique=technique, shown=answer, **more)


def test_a_frame_is_the_bounding_box() -> None:
    mask = np.zeros((20, 30), bool)
    mask[4:12, 5:17] = True
    assert frame_of(mask, "cat") == Frame("cat", Box(x=5, y=4, width=12, height=8))
    mask[19, 29] = True  # a crumb of the outline
    assert frame_of(mask, "cat") == Frame("cat", Box(x=5, y=4, width=12, height=8))


@pytest.mark.parametrize(
    "slices",
    [[], [(0, 20, 0, 30)], [(0, 2, 0, 3)], [(2, 9, 2, 9), (12, 19, 14, 21)], [(0, 14, 0, 20)]],
    ids=["nothing", "all", "tiny", "two", "most"],
)
def test_what_cannot_be_framed(slices: list[tuple[int, int, int, int]]) -> None:
    mask = np.zeros((20, 30), bool)
    for top, bottom, left, right in slices:
        mask[top:bottom, left:right] = True
    assert frame_of(mask, "cat") is None


def test_a_frame_of_the_whole_image_never_passes() -> None:
    """However large the object: intersection over union of all is below what is asked for."""
    for height in range(2, 20):
        mask = np.zeros((20, 20), bool)
        mask[:height, :18] = True
        if frame := frame_of(mask, "cat"):
            assert (
                frame.box.width * frame.box.height / 400
                < framed_item(item(), frame=frame, kind="gold").check.overlap
            )


def test_a_plan_has_three_practice_items_and_the_checks_asked_for() -> None:
    frames: list[Frame | None] = [None] * 9
    frames[4] = frames[7] = Frame("dog", Box(x=1, y=2, width=3, height=4))
    plan = planned_checks(frames, hidden=6, seed=3)
    made = [check.make(item(check.spare)) for check in plan]
    assert [one.kind for one in made] == ["training"] * 3 + ["gold"] * 6
    assert sorted(check.spare for check in plan) == list(range(9))
    assert [check.spare for check, one in zip(plan, made, strict=True) if one.check.box] == [4, 7]
    pairs = [one for one in made if one.same is not None]
    assert len(pairs) == 3 and all(one.check.ratings == {"q5": 1} for one in pairs)
    again = [
        check.make(item(check.spare)).check for check in planned_checks(frames, hidden=6, seed=3)
    ]
    assert again == [one.check for one in made]
    assert len(planned_checks(frames[:4], hidden=6, seed=3)) == 4


def test_ratings_that_are_asked_for_are_said() -> None:
    for seed in range(20):
        for check in planned_checks([None] * 6, hidden=3, seed=seed):
            made = check.make(item())
            ((question, rating),) = made.check.ratings.items()
            assert question in ("q1", "q2", "q3", "q4", "q5") and 1 <= rating <= 5
            assert made.check.task == ("pair" if question == "q5" else "rating")


def test_a_pair_that_is_the_same(tmp_path: Path) -> None:
    for kind in ("gold", "training"):
        folder = tmp_path / kind
        given = identical_item(item(same=item(5).shown), kind=kind)
        result = material_from_arrays([item(1), given], folder).instances[1]
        assert result.same == result.shown
        assert result.check.task == "pair"


def test_instructed() -> None:
    made = instructed_item(item(), question="q3", rating=2, kind="gold")
    assert (made.check.task, made.check.ratings) == ("rating", {"q3": 2})


def test_arrays_become_material(tmp_path: Path) -> None:
    told = {"beak": 0.5, "wing": -2.0, "tail": float("nan"), "claw": 0.1}
    words = Answer(image=item().shown.image, predicted="a bird", concepts=told)
    given = [
        item(0, same=item(1).shown, different=words),
        Item(image_key="image 0", technique="other", shown=words),
    ]
    looks = Looks(concepts=2, photographs=False)
    made = material_from_arrays(given, tmp_path, looks=looks, seed=4, origin={"run": "x"})
    assert read_material(tmp_path) == made
    first, second = made.instances
    assert second.shown.concepts == {"wing": -2.0, "beak": 0.5}
    assert first.different.concepts == second.shown.concepts
    with Image.open(image_path(tmp_path, first.shown.image)) as shown:
        assert_array_equal(np.asarray(shown), np.asarray(item().shown.image))
    with Image.open(image_path(tmp_path, first.shown.map)) as colored:
        assert colored.size == (32, 24) and colored.convert("RGBA").getextrema()[3] == (255, 255)
    there = {path.name for path in (tmp_path / "images").iterdir()}
    assert there == {file for one in made.instances for file in one.images()}
    assert "secret_method" not in first.key and len({first.key, second.key}) == 2


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    def content(name: str, seed: int) -> dict[str, bytes]:
        material_from_arrays([item(0), item(1)], tmp_path / name, seed=seed)
        files = (tmp_path / name).rglob("*")
        return {str(f.relative_to(tmp_path / name)): f.read_bytes() for f in files if f.is_file()}

    assert content("a", 0) == content("b", 0)
    assert content("c", 1) != content("a", 0)


def test_looks_of_positive_maps(tmp_path: Path) -> None:
    rising = np.linspace(5, 6, 48).reshape(6, 8)
    plain = item()
    answer = Answer(image=plain.shown.image, predicted="x", map=rising)

    def lowest(folder: str, **of: object) -> np.ndarray:
        one = Item(image_key="a", technique="b", shown=answer, **of)
        made = material_from_arrays([one], tmp_path / folder)
        with Image.open(image_path(tmp_path / folder, made.instances[0].shown.map)) as shown:
            return np.asarray(shown.convert("RGB"))[0, 0]

    assert lowest("positive", positive=True).min() > 235  # near white: nothing
    assert lowest("signed").min() < 150  # nearly as much as the highest


def test_what_cannot_be_shown(tmp_path: Path) -> None:
    plain = item().shown
    both = Answer(image=plain.image, predicted="x", map=plain.map, concepts={"a": 1.0})
    neither = Answer(image=plain.image, predicted="x")
    undefined = Answer(image=plain.image, predicted="x", concepts={"a": float("nan")})
    for answer, says in ((both, "or both"), (neither, "neither"), (undefined, "none that is")):
        with pytest.raises(EvidenceError, match=says):
            material_from_arrays([Item(image_key="p", technique="t", shown=answer)], tmp_path)
