"""The other half of the drawn scenes."""

from collections.abc import Callable

import numpy as np

from theodolite.study._demo_canvas import HEIGHT, WIDTH, Canvas
from theodolite.study._demo_landscape import (
    BLUE,
    BROWN,
    CREAM,
    DARK_GRASS,
    DAY,
    EVENING,
    GOLD,
    GRASS,
    GREY,
    NIGHT,
    RED,
    SLATE,
    WHITE,
    clouds,
    ground,
    sky,
    stand,
)


def _rocket(random: np.random.Generator) -> Canvas:
    canvas = sky(NIGHT, random, sun=False)
    for _ in range(60):
        canvas.at(random.uniform(0, WIDTH), random.uniform(0, HEIGHT))
        canvas.ellipse(0, 0, 3, 3, (236, 236, 214))
    canvas.at(90, 96)
    canvas.ellipse(0, 0, 104, 104, (196, 148, 108), "planet")
    canvas.ellipse(-16, -14, 34, 26, (176, 126, 90), "planet")
    canvas.ellipse(20, 18, 24, 18, (176, 126, 90), "planet")
    stand(canvas, random, 176, "nose", "hull", "window", "wings", "flame")
    canvas.shape([(-24, 84), (0, 164), (24, 84)], (244, 150, 60), "flame")
    canvas.shape([(-13, 84), (0, 130), (13, 84)], (255, 224, 120), "flame")
    canvas.shape([(-38, 24), (-82, 96), (-30, 84)], RED, "wings")
    canvas.shape([(38, 24), (82, 96), (30, 84)], RED, "wings")
    canvas.ellipse(0, -6, 88, 190, (226, 230, 236), "hull")
    canvas.block(-26, 76, 52, 14, SLATE, "hull", corner=4)
    canvas.slice(0, -6, (88, 190), (232, 308), RED, "nose")
    canvas.ellipse(0, -16, 44, 44, SLATE, "window")
    canvas.ellipse(0, -16, 32, 32, (134, 196, 226), "window")
    return canvas


def _car(random: np.random.Generator) -> Canvas:
    canvas = sky(DAY, random, sun=True)
    clouds(canvas, random, 2)
    ground(canvas, GRASS, DARK_GRASS, "meadow", 130)
    canvas.at(0, 0).block(0, 268, WIDTH, 92, (96, 100, 108), "road")
    for x in range(-10, WIDTH, 84):
        canvas.block(x, 310, 46, 8, CREAM, "road")
    stand(canvas, random, 286, "body", "windows", "wheels", "lamps")
    canvas.shape([(-66, -56), (-40, -100), (44, -100), (76, -56)], BLUE, "body")
    canvas.shape([(-52, -58), (-33, -92), (-2, -92), (-2, -58)], (202, 226, 240), "windows")
    canvas.shape([(6, -58), (6, -92), (40, -92), (62, -58)], (202, 226, 240), "windows")
    canvas.block(-116, -60, 228, 52, BLUE, "body", corner=18)
    canvas.line([(2, -56), (2, -14)], (48, 88, 146), 3, "body")
    canvas.block(96, -48, 17, 15, GOLD, "lamps", corner=4)
    canvas.block(-116, -48, 12, 15, RED, "lamps", corner=4)
    for x in (-64, 62):
        canvas.ellipse(x, -8, 56, 56, (40, 44, 52), "wheels")
        canvas.ellipse(x, -8, 26, 26, GREY, "wheels")
    return canvas


def _snowman(random: np.random.Generator) -> Canvas:
    canvas = Canvas((150, 176, 206), (232, 238, 246))
    ground(canvas, WHITE, (222, 232, 242), "snow")
    for x, size in ((50, 0.9), (132, 0.62), (424, 0.7)):
        canvas.at(x, 284, size)
        for top, half in ((-150, 34), (-112, 46), (-68, 58)):
            canvas.shape([(0, top), (half, top + 70), (-half, top + 70)], (62, 104, 88), "firs")
    stand(canvas, random, 300, "balls", "hat", "carrot", "buttons", "arms")
    canvas.line([(-46, -104), (-96, -140), (-112, -134)], BROWN, 5, "arms")
    canvas.line([(46, -104), (96, -140), (112, -134)], BROWN, 5, "arms")
    for y, size in ((-36, 124), (-114, 92), (-174, 66)):
        canvas.ellipse(0, y, size, size, (196, 210, 226), "balls")
        canvas.ellipse(-3, y - 3, size - 8, size - 8, WHITE, "balls")
    canvas.block(-38, -206, 76, 9, (44, 48, 58), "hat", corner=3)
    canvas.block(-24, -250, 48, 46, (44, 48, 58), "hat", corner=3)
    canvas.block(-24, -216, 48, 10, RED, "hat")
    for x in (-12, 12):
        canvas.ellipse(x, -182, 8, 8, (44, 48, 58), "buttons")
    canvas.shape([(0, -176), (0, -165), (40, -166)], (236, 130, 50), "carrot")
    for y in (-132, -112, -92):
        canvas.ellipse(0, y, 10, 10, (44, 48, 58), "buttons")
    return canvas


def _umbrella(random: np.random.Generator) -> Canvas:
    canvas = Canvas((128, 140, 156), (196, 204, 212))
    clouds(canvas, random, 2)
    for _ in range(46):
        canvas.at(random.uniform(0, WIDTH), random.uniform(60, 300))
        canvas.line([(0, 0), (-5, 18)], (160, 186, 214), 2.5, "rain")
    canvas.at(0, 0).block(0, 300, WIDTH, 60, (116, 124, 134), "pavement")
    for x, width in ((96, 120), (250, 90), (400, 130)):
        canvas.ellipse(x, 334, width, 16, (150, 174, 198), "puddles")
    stand(canvas, random, 176, "canopy", "stick", "handle")
    canvas.line([(0, -104), (0, 112)], SLATE, 6, "stick")
    canvas.line([(0, 108), (4, 128), (20, 134), (34, 124), (36, 110)], BROWN, 9, "handle")
    canvas.slice(0, 0, (250, 190), (180, 360), (212, 76, 92), "canopy")
    canvas.slice(0, 0, (150, 190), (180, 360), (246, 214, 96), "canopy")
    canvas.slice(0, 0, (56, 190), (180, 360), (212, 76, 92), "canopy")
    return canvas


def _mushroom(random: np.random.Generator) -> Canvas:
    canvas = Canvas((164, 196, 150), (214, 226, 178))
    for x, wide in ((24, 44), (112, 32), (178, 24), (398, 36), (462, 46)):
        canvas.at(0, 0).block(x - wide / 2, 0, wide, 290, (128, 112, 92), "trunks")
        canvas.block(x - wide / 2, 0, wide / 3, 290, (146, 130, 108), "trunks")
    ground(canvas, (116, 140, 84), (96, 120, 74), "moss", 96)
    for _ in range(30):
        canvas.at(random.uniform(0, WIDTH), random.uniform(300, 350))
        canvas.line([(-5, -14), (0, 0), (6, -12)], (88, 128, 66), 3, "grass")
    stand(canvas, random, 310, "cap", "spots", "stem")
    canvas.shape([(-30, 6), (-20, -110), (20, -110), (32, 6)], CREAM, "stem")
    canvas.ellipse(0, 4, 66, 24, CREAM, "stem")
    canvas.ellipse(0, -70, 70, 20, (228, 214, 186), "stem")
    canvas.slice(0, -94, (224, 196), (180, 360), (200, 48, 44), "cap")
    canvas.ellipse(0, -94, 224, 30, (236, 220, 196), "cap")
    for x, y, size in ((-66, -122, 28), (-22, -160, 34), (36, -138, 30), (78, -116, 20),
                       (-2, -116, 18), (-44, -180 + 34, 14)):  # fmt: skip
        canvas.ellipse(x, y, size, size * 0.8, WHITE, "spots")
    return canvas


def _windmill(random: np.random.Generator) -> Canvas:
    canvas = sky(EVENING, random, sun=True)
    clouds(canvas, random, 1)
    ground(canvas, (146, 148, 92), (118, 124, 86), "field")
    for x in range(10, WIDTH, 34):
        canvas.at(x, 338)
        canvas.line([(0, 10), (0, -10)], (84, 120, 66), 3, "tulips")
        canvas.ellipse(0, -14, 13, 15, (222, 88, 92) if x % 68 < 34 else GOLD, "tulips")
    stand(canvas, random, 296, "tower", "cap", "sails", "door")
    canvas.shape([(-52, 8), (-32, -128), (32, -128), (52, 8)], CREAM, "tower")
    canvas.slice(0, -124, (78, 76), (180, 360), (138, 78, 56), "cap")
    canvas.block(-15, -38, 30, 46, (110, 66, 46), "door", corner=8)
    canvas.ellipse(0, -84, 20, 20, (112, 150, 186), "tower")
    turn = random.uniform(0.2, 1.3)
    for quarter in range(4):
        angle = turn + quarter * np.pi / 2
        along, across = (
            np.array([np.cos(angle), np.sin(angle)]),
            np.array([-np.sin(angle), np.cos(angle)]),
        )
        hub = np.array([0.0, -136.0])
        ends = [hub + 26 * along, hub + 112 * along, hub + 112 * along + 24 * across,
                hub + 26 * along + 24 * across]  # fmt: skip
        canvas.shape([(float(x), float(y)) for x, y in ends], WHITE, "sails")
        tip = hub + 116 * along
        canvas.line([(0, -136), (float(tip[0]), float(tip[1]))], BROWN, 5, "sails")
        for step in (48, 70, 92):
            rung = hub + step * along
            end = rung + 24 * across
            canvas.line([(float(rung[0]), float(rung[1])), (float(end[0]), float(end[1]))],
                        (190, 176, 156), 2, "sails")  # fmt: skip
    canvas.ellipse(0, -136, 16, 16, SLATE, "sails")
    return canvas


MORE: dict[str, Callable[[np.random.Generator], Canvas]] = {
    "rocket": _rocket,
    "car": _car,
    "snowman": _snowman,
    "umbrella": _umbrella,
    "mushroom": _mushroom,
    "windmill": _windmill,
}
