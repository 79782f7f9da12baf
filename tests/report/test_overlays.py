"""What is drawn on images is what the scores count, and where it is."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import theodolite
from theodolite.explainers.rendering import enlarge_map
from theodolite.report.contours import MOST_POINTS, contour_rings, ring_area, thinned
from theodolite.report.examples import examples_part
from theodolite.report.overlays import (
    Annotation,
    EmbeddedImage,
    box_path,
    cross_path,
    mask_path,
    region_of,
    relevance_overlay,
    tile,
)

SOURCE = Path(theodolite.__file__).parent


def rings_of(path: str) -> list[np.ndarray]:
    """Read a path of ours again: steps are added up."""
    rings = []
    for start, steps in re.findall(r"M([^l]+)l([^z]+)z", path):
        numbers = np.array(steps.split(), float).reshape(-1, 2)
        rings.append(np.cumsum(np.concatenate([np.array([start.split()], float), numbers]), axis=0))
    return rings


def painted(path: str, drawing: tuple[int, int], size: tuple[int, int]) -> np.ndarray:
    """Pixels of the image whose middle is inside, by the rule evenodd: crossings to the left."""
    width, height = size
    crossings = np.zeros((height, width + 1), int)
    rows = np.arange(height)[:, None] + 0.5
    for ring in rings_of(path):
        (x0, y0), (x1, y1) = [(at * size / drawing).T for at in (ring, np.roll(ring, -1, axis=0))]
        row, edge = np.nonzero((y0 <= rows) != (y1 <= rows))
        x = x0[edge] + (row + 0.5 - y0[edge]) / (y1 - y0)[edge] * (x1 - x0)[edge]
        np.add.at(crossings, (row, np.clip(np.ceil(x - 0.5), 0, width).astype(int)), 1)
    return crossings.cumsum(axis=1)[:, :-1] % 2 == 1


@pytest.mark.parametrize("level", [-0.4, 0.0, 1.1])
def test_lines_are_those_of_another_implementation(level: float) -> None:
    contourpy = pytest.importorskip("contourpy")
    values = np.random.default_rng(1).normal(size=(23, 31))
    padded = np.pad(np.pad(values, 1, mode="edge"), 1, constant_values=values.min() - 1)
    x, y = (np.clip(np.arange(n + 4) - 1.5, 0, n) for n in (31, 23))
    theirs = contourpy.contour_generator(x, y, padded).lines(level)
    ours = contour_rings(values, level)
    assert len(ours) == len(theirs)
    np.testing.assert_allclose(
        sorted(map(ring_area, ours)), sorted(map(ring_area, theirs)), atol=1e-9
    )
    points = np.unique(np.concatenate(theirs).round(9), axis=0)
    np.testing.assert_allclose(np.unique(np.concatenate(ours).round(9), axis=0), points)


def test_what_is_drawn_is_what_is_counted() -> None:
    """Of 200 random maps: drawn and not counted, or counted and not drawn, per pixel counted."""
    random = np.random.default_rng(0)
    apart = []
    for number in range(200):
        cells = (7, 10)[number % 2]
        concept_map = random.normal(size=(cells, cells))
        size = [(320, 240), (200, 200), (224, 300)][number % 3]
        values = enlarge_map(concept_map, size[::-1])
        n = int(np.floor(values.size / 12 + 0.5))
        counted = values >= np.partition(values, values.size - n, axis=None)[values.size - n]
        scale = 300 / max(size)
        drawing = (round(size[0] * scale), round(size[1] * scale))
        region = region_of(concept_map, 1 / 12, drawing)
        assert region.tied == (counted.sum() > 1.05 * n), "corners of an enlarged map are flat"
        assert max(map(len, rings_of(region.path))) <= MOST_POINTS
        apart.append((painted(region.path, drawing, size) ^ counted).sum() / counted.sum())
    assert np.quantile(apart, 0.95) <= 0.05 and max(apart) <= 0.10, np.quantile(apart, [0.5, 0.95])


def test_equal_values_make_the_region_larger_and_are_named() -> None:
    half = np.zeros((4, 4))
    half[:, :2] = 3.0
    region = region_of(np.repeat(np.repeat(half, 20, 0), 20, 1), 1 / 12, (80, 80))
    assert region.tied and region.where == "left"
    assert abs(painted(region.path, (80, 80), (80, 80)).mean() - 0.5) < 0.02, "all of the plateau"
    flat = region_of(np.full((3, 3), 0.3), 1 / 12, (60, 40))
    assert flat.tied and painted(flat.path, (60, 40), (60, 40)).all()


def test_rings_keep_their_area_when_thinned() -> None:
    angle = np.linspace(0, 2 * np.pi, 500, endpoint=False)
    circle = 40 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    few = thinned(circle)
    assert len(few) <= MOST_POINTS
    assert ring_area(few) == pytest.approx(np.pi * 1600, rel=0.01)
    square = np.array([[0.0, 0], [9, 0], [9, 9], [0, 9]])
    assert thinned(square) is square


def test_annotations_are_where_they_are() -> None:
    image = EmbeddedImage.of(Image.new("RGB", (600, 300)), "image-0")
    assert (image.width, image.height) == (300, 150)
    annotation = Annotation([(10.0, 20.0, 110.0, 70.0)], [(60.0, 45.0)], ["M1 2l3 4z"])
    drawing = tile(image, "tile-0", "a <b>", annotation=annotation)
    svg = drawing.__html__()
    assert box_path((10, 20, 110, 70)) == "M10 20H110V70H10z" and box_path((10, 20, 110, 70)) in svg
    assert cross_path((60, 45)) in svg and "M1 2l3 4z" in svg and "a &lt;b&gt;" in svg
    assert svg.count("<use") == 1 and "data:" not in svg, "the image is elsewhere, once"
    assert annotation.words() == "1 annotated box and 1 annotated outline and 1 annotated point"
    mask = np.zeros((10, 20), bool)
    mask[2:6, 5:15] = True
    (ring,) = rings_of(mask_path(mask, (200, 100)))
    assert np.abs(np.concatenate([ring.min(0), ring.max(0)]) - [50, 20, 150, 60]).max() <= 0.1


def test_relevance_has_a_hue_for_each_sign_and_leaves_the_rest() -> None:
    relevance = np.zeros((8, 8))
    relevance[:2, :4], relevance[6:, 4:] = 1.0, -1.0
    image = relevance_overlay(Image.new("RGB", (80, 80), (128, 128, 128)), relevance, width=80)
    pixels = np.asarray(image).astype(int)
    red, _, blue = pixels[5, 10]
    assert red > blue + 100, "orange for"
    red, _, blue = pixels[75, 70]
    assert blue > red + 100, "blue against"
    assert np.ptp(pixels[40, 10]) <= 2, "gray where neither"
    flat = np.asarray(relevance_overlay(Image.new("RGB", (8, 8)), np.zeros((4, 4)), width=8))
    assert (flat == flat[0, 0]).all()


def test_there_is_no_rainbow() -> None:
    files = [p for s in ("*.py", "*.j2", "*.css", "*.js") for p in SOURCE.rglob(s)]
    assert len(files) > 100
    assert not [str(p) for p in files if re.search(r"\bjet\b", p.read_text("utf-8"))]


def test_images_are_embedded_once_and_small() -> None:
    noise = np.random.default_rng(0).integers(0, 255, (900, 600, 3), dtype=np.uint8)
    image = EmbeddedImage.of(Image.fromarray(noise), "p")
    assert (image.width, image.height) == (200, 300)
    small = EmbeddedImage.of(Image.new("RGB", (30, 15)), "p")
    assert (small.width, small.height) == (300, 150)
    assert len(small.address) < 2000, "a small image is not made larger"
    assert examples_part([]) is None
