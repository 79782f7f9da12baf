"""Twelve drawn scenes: something to look at where there is no data."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from PIL import Image

from theodolite.study._demo_canvas import WIDTH, Canvas
from theodolite.study._demo_landscape import (
    BROWN,
    CREAM,
    DARK_GRASS,
    DAY,
    EVENING,
    GOLD,
    GRASS,
    NIGHT,
    RED,
    SAND,
    SEA,
    SLATE,
    WHITE,
    clouds,
    ground,
    sky,
    stand,
)
from theodolite.study._demo_more_scenes import MORE


@dataclass(frozen=True, eq=False)
class Scene:
    """A drawn picture, what it shows, and where its parts are."""

    label: str
    picture: Image.Image
    parts: dict[str, Float[np.ndarray, "rows columns"]]
    """Of what it shows."""
    beside: dict[str, Float[np.ndarray, "rows columns"]]
    """Everything else that has a name."""


def scene(label: str, *, seed: int) -> Scene:
    """A scene by its label; another seed moves things a little."""
    random = np.random.default_rng([seed, sorted(SCENES).index(label)])
    canvas = SCENES[label](random)
    mirrored = bool(random.random() < 0.5)
    masks = canvas.masks(mirrored=mirrored)
    return Scene(
        label,
        canvas.picture(mirrored=mirrored),
        {part: mask for part, mask in masks.items() if part in canvas.objects},
        {part: mask for part, mask in masks.items() if part not in canvas.objects},
    )


def _house(random: np.random.Generator) -> Canvas:
    canvas = sky(DAY, random, sun=True)
    clouds(canvas, random, 1)
    ground(canvas, GRASS, DARK_GRASS, "meadow")
    stand(canvas, random, 290, "roof", "chimney", "wall", "windows", "door")
    canvas.block(44, -176, 24, 64, (150, 74, 58), "chimney")
    canvas.block(-84, -100, 168, 112, CREAM, "wall")
    canvas.shape([(-104, -98), (0, -186), (104, -98)], RED, "roof")
    for x in (-64, 34):
        canvas.block(x - 3, -73, 36, 40, WHITE, "windows")
        canvas.block(x, -70, 30, 34, (112, 160, 196), "windows")
        canvas.line([(x + 15, -70), (x + 15, -36)], WHITE, 3, "windows")
        canvas.line([(x, -53), (x + 30, -53)], WHITE, 3, "windows")
    canvas.block(-17, -56, 34, 68, (110, 66, 46), "door", corner=6)
    canvas.ellipse(10, -20, 6, 6, GOLD, "door")
    return canvas


def _boat(random: np.random.Generator) -> Canvas:
    canvas = sky(DAY, random, sun=True)
    clouds(canvas, random, 2)
    canvas.at(0, 0).block(0, 236, WIDTH, 130, SEA, "sea")
    for row, y in enumerate((262, 296, 330)):
        for x in range(-20 + 30 * row, WIDTH, 96):
            canvas.line([(x, y), (x + 20, y - 5), (x + 40, y)], (110, 168, 206), 4, "sea")
    stand(canvas, random, 250, "sails", "mast", "hull")
    canvas.line([(0, 0), (0, -176)], BROWN, 6, "mast")
    canvas.shape([(8, -170), (8, -24), (98, -24)], WHITE, "sails")
    canvas.shape([(-8, -150), (-8, -24), (-70, -24)], (240, 206, 190), "sails")
    canvas.shape([(-92, -12), (104, -12), (72, 30), (-62, 30)], RED, "hull")
    canvas.shape([(-86, -4), (98, -4), (94, 4), (-80, 4)], WHITE, "hull")
    return canvas


def _tree(random: np.random.Generator) -> Canvas:
    canvas = sky(DAY, random, sun=True)
    clouds(canvas, random, 1)
    ground(canvas, GRASS, DARK_GRASS, "meadow")
    stand(canvas, random, 296, "crown", "apples", "trunk")
    canvas.shape([(-16, 6), (-12, -90), (12, -90), (18, 6)], BROWN, "trunk")
    green = ((-52, -110, 104), (50, -112, 108), (0, -168, 124), (0, -104, 110))
    for x, y, size in green:
        canvas.ellipse(x, y, size, size, (72, 130, 66), "crown")
    for x, y, size in green:
        canvas.ellipse(x - 8, y - 10, size * 0.6, size * 0.56, (96, 156, 82), "crown")
    for x, y in ((-60, -96), (-22, -146), (28, -178), (58, -118), (6, -92), (70, -148)):
        canvas.ellipse(x, y, 17, 17, RED, "apples")
    return canvas


def _balloon(random: np.random.Generator) -> Canvas:
    canvas = sky(EVENING, random, sun=True)
    clouds(canvas, random, 1)
    canvas.at(0, 0)
    canvas.shape([(0, 360), (0, 300), (90, 250), (190, 318), (300, 262), (480, 330), (480, 360)],
                 (86, 84, 130), "hills")  # fmt: skip
    stand(canvas, random, 170, "envelope", "ropes", "basket")
    for x in (-24, 24):
        canvas.line([(x * 1.7, 46), (x, 100)], SLATE, 2.5, "ropes")
    canvas.shape([(-72, 16), (72, 16), (22, 70), (-22, 70)], (226, 120, 70), "envelope")
    for width, colour in ((176, (200, 66, 60)), (128, (246, 190, 84)), (74, (200, 66, 60)),
                          (26, (246, 190, 84))):  # fmt: skip
        canvas.ellipse(0, -26, width, 170, colour, "envelope")
    canvas.block(-24, 100, 48, 34, BROWN, "basket", corner=5)
    canvas.line([(-24, 112), (24, 112)], (164, 120, 84), 4, "basket")
    return canvas


def _lighthouse(random: np.random.Generator) -> Canvas:
    canvas = sky(NIGHT, random, sun=False)
    for _ in range(36):
        canvas.at(random.uniform(0, WIDTH), random.uniform(0, 190))
        canvas.ellipse(0, 0, 3, 3, (236, 236, 214))
    canvas.at(64, 200)
    canvas.ellipse(0, 0, 58, 58, (240, 234, 206), "moon")
    canvas.at(0, 0).block(0, 280, WIDTH, 90, (32, 52, 92), "sea")
    stand(canvas, random, 296, "tower", "lamp", "beam")
    canvas.shape([(0, -196), (-420, -252), (-420, -132)], (96, 98, 116), "beam")
    canvas.ellipse(0, 20, 240, 70, (52, 56, 70), "rocks")
    canvas.shape([(-36, 8), (-22, -170), (22, -170), (36, 8)], WHITE, "tower")
    for y in (-140, -80, -20):
        half = 22 + (y + 170) * 14 / 178
        canvas.shape([(-half, y), (half, y), (half + 2, y + 28), (-half - 2, y + 28)], RED, "tower")
    canvas.block(-20, -208, 40, 38, (255, 232, 138), "lamp")
    canvas.shape([(-28, -206), (0, -236), (28, -206)], RED, "tower")
    canvas.block(-30, -174, 60, 8, SLATE, "tower")
    return canvas


def _fish(random: np.random.Generator) -> Canvas:
    canvas = Canvas((92, 178, 206), (22, 78, 128))
    canvas.at(0, 0).ellipse(240, 372, 640, 110, SAND, "sand")
    for x in (52, 86, 420):
        canvas.at(x, 330)
        for bend, green in ((-11, (48, 116, 84)), (11, (66, 144, 104))):
            wave = [(bend * np.sin(step / 3), -6.0 * step) for step in range(22)]
            canvas.line(wave, green, 9, "weed")
    for _ in range(9):
        canvas.at(random.uniform(40, 200), random.uniform(40, 240))
        size = random.uniform(8, 18)
        canvas.ellipse(0, 0, size, size, (170, 220, 234), "bubbles")
    stand(canvas, random, 180, "body", "stripes", "tail", "fins", "eye")
    canvas.shape([(70, 0), (132, -50), (118, 0), (132, 50)], (232, 128, 52), "tail")
    canvas.shape([(-20, -46), (20, -88), (46, -40)], (214, 104, 42), "fins")
    canvas.ellipse(0, 0, 180, 112, (240, 142, 58), "body")
    for x, height in ((-30, 104), (26, 104)):
        canvas.ellipse(x, 0, 24, height, WHITE, "stripes")
    canvas.shape([(-14, 8), (6, 40), (14, 10)], (214, 104, 42), "fins")
    canvas.ellipse(-62, -14, 22, 22, WHITE, "eye")
    canvas.ellipse(-65, -14, 11, 11, (26, 30, 40), "eye")
    return canvas


SCENES: dict[str, Callable[[np.random.Generator], Canvas]] = {
    "house": _house,
    "sailing boat": _boat,
    "apple tree": _tree,
    "hot-air balloon": _balloon,
    "lighthouse": _lighthouse,
    "fish": _fish,
    **MORE,
}
