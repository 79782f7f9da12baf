"""Build the explanations of the demo study, whose quality is known. Used by `study demo`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float
from PIL import Image, ImageEnhance, ImageFilter

from theodolite.ext.studies import (
    PRACTICE,
    Answer,
    Item,
    Looks,
    Material,
    frame_of,
    material_from_arrays,
    planned_checks,
)
from theodolite_study.demo.scenes import CELL_PIXELS, HEIGHT, WIDTH, Scene, load_scenes

Map = Float[np.ndarray, "rows columns"]
MAPS = ("on the object", "beside the object", "all over")
"""Kinds of saliency maps with known defects: none, wrong location, no location."""
TECHNIQUES = (*MAPS, "concepts")
STABLE_TECHNIQUES = ("on the object", "concepts")
N_HIDDEN_CHECKS = 2
BLEND_WEIGHT = 0.68
"""Blending weight of the other image at which the answer changes."""


def write_demo_material(folder: Path, *, seed: int = 0) -> Material:
    """Write twelve images with three saliency maps and a concept list each, practice and checks.

    No data and no network are needed: of the scenes it is known where their parts are. The same
    seed gives the same bytes.
    """
    origin = {"made by": "theodolite study demo", "seed": f"{seed}"}
    looks = Looks(photographs=False, longest=max(WIDTH, HEIGHT))
    return material_from_arrays(_items(seed), folder, looks=looks, seed=seed, origin=origin)


def _items(seed: int) -> Iterator[Item]:
    first = load_scenes(seed=2 * seed)
    labels = list(first)
    for number, label in enumerate(labels):
        trio = _make_trio(first[label], first[labels[(number + 5) % len(labels)]], seed + number)
        for technique in TECHNIQUES:
            yield _make_item(f"{label} 1", technique, trio, seed + number)
    # practice must not show the images of the study: the same scenes, moved and mirrored
    mirrored = load_scenes(seed=2 * seed + 1)
    spare = [mirrored[label] for label in labels[::2]]
    frames = [frame_of(scene.object_pixels, scene.label) for scene in spare]
    for number, check in enumerate(planned_checks(frames, hidden=N_HIDDEN_CHECKS, seed=seed)):
        scene = spare[check.spare]
        other = mirrored[labels[(labels.index(scene.label) + 7) % len(labels)]]
        trio = _make_trio(scene, other, seed + number)
        technique = TECHNIQUES[number % len(MAPS)]
        yield check.make(_make_item(f"{scene.label} 2", technique, trio, seed + number))
    assert len(frames) >= PRACTICE + N_HIDDEN_CHECKS  # noqa: S101  so that each has an image of its own


@dataclass(frozen=True, eq=False)
class _SceneTrio:
    """Scene, a slightly changed version of it, and one that became another scene."""

    scene: Scene
    other: Scene
    same: Image.Image
    different: Image.Image


def _make_trio(scene: Scene, other: Scene, seed: int) -> _SceneTrio:
    random = np.random.default_rng([seed, 3])
    change = random.integers(3)
    if change == 0:
        same = ImageEnhance.Brightness(scene.image).enhance(0.78)
    elif change == 1:
        same = scene.image.filter(ImageFilter.GaussianBlur(2.2))
    else:
        same = ImageEnhance.Color(scene.image).enhance(0.45)
    return _SceneTrio(scene, other, same, Image.blend(scene.image, other.image, BLEND_WEIGHT))


def _make_item(key: str, technique: str, trio: _SceneTrio, seed: int) -> Item:
    # what is right hardly moves with an image that hardly moves; what is wrong jumps about
    again = 0 if technique in STABLE_TECHNIQUES else 1

    def answer(scene: Scene, image: Image.Image, draw: int, shake: float) -> Answer:
        random = np.random.default_rng([seed, 4, TECHNIQUES.index(technique), draw])
        weights = {part: float(random.uniform(0.4, 1.0)) + shake for part in scene.parts}
        plain = Answer(image=image, predicted=scene.label)
        if technique == "concepts":
            against = {part: float(random.uniform(-0.3, 0.2)) for part in scene.beside}
            concepts = {name: round(value, 3) for name, value in (weights | against).items()}
            return replace(plain, concepts=concepts)
        return replace(plain, map=_make_map(technique, scene, weights, random))

    return Item(
        image_key=key,
        technique=technique,
        shown=answer(trio.scene, trio.scene.image, 0, 0.0),
        same=answer(trio.scene, trio.same, again, 0.06),
        different=answer(trio.other, trio.different, 2, 0.0),
    )


def _make_map(
    technique: str, scene: Scene, weights: Mapping[str, float], random: np.random.Generator
) -> Map:
    whole = np.asarray(np.sum(list(scene.parts.values()), axis=0))
    beside = next(iter(scene.beside.values()))
    if technique == "on the object":
        weighed = np.sum([weights[part] * mask for part, mask in scene.parts.items()], axis=0)
        return np.asarray(_blur(weighed, 9) - 0.25 * _blur(beside, 14))
    if technique == "beside the object":
        inside = _blur(whole, 12)
        outside = 0.6 * _make_noise(random) * (1 - inside)
        return np.asarray(_blur(beside, 16) + outside - 0.3 * inside)
    return np.asarray(_make_noise(random) + 0.7 * _blur(whole, 80))


def _make_noise(random: np.random.Generator) -> Map:
    """Return smooth noise with values from 0 to 1."""
    coarse = Image.fromarray(random.random((4, 5), dtype=np.float32))
    return np.asarray(
        coarse.resize((WIDTH // CELL_PIXELS, HEIGHT // CELL_PIXELS), Image.Resampling.BICUBIC),
        np.float64,
    )


def _blur(mask: Map, radius: float) -> Map:
    """Blur a mask and scale its maximum to 1; the radius is in pixels of the image."""
    gray = Image.fromarray(np.rint(np.clip(mask, 0, 1) * 255).astype(np.uint8))
    soft = np.asarray(gray.filter(ImageFilter.GaussianBlur(radius / CELL_PIXELS)), np.float64)
    return np.asarray(soft / (soft.max() or 1.0))
