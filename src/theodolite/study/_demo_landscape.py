"""Skies, hills and colours of the drawn scenes."""

import numpy as np

from theodolite.study._demo_canvas import HEIGHT, WIDTH, Canvas, Colour

DAY: tuple[Colour, Colour] = ((134, 190, 232), (226, 240, 248))
EVENING: tuple[Colour, Colour] = ((110, 96, 156), (250, 190, 140))
NIGHT: tuple[Colour, Colour] = ((18, 24, 58), (58, 70, 120))
GRASS, DARK_GRASS, SEA, SAND = (122, 176, 96), (92, 146, 80), (58, 122, 170), (226, 204, 156)
WHITE, CREAM, RED, GOLD = (250, 250, 248), (246, 236, 214), (196, 62, 54), (248, 206, 92)
BROWN, GREY, SLATE, BLUE = (122, 84, 58), (150, 156, 164), (74, 84, 100), (62, 112, 176)


def sky(colours: tuple[Colour, Colour], random: np.random.Generator, *, sun: bool) -> Canvas:
    """A sheet with a sky, by day with a sun."""
    canvas = Canvas(*colours)
    canvas.at(random.uniform(64, 100), random.uniform(56, 76))
    if sun:
        canvas.ellipse(0, 0, 92, 92, _paler(colours[0]))
        canvas.ellipse(0, 0, 62, 62, (255, 226, 128), "sun")
    return canvas


def clouds(canvas: Canvas, random: np.random.Generator, number: int = 2) -> None:
    """Clouds, away from the sun."""
    for i in range(number):
        canvas.at(
            random.uniform(150, 230) + 170 * i, random.uniform(46, 84), random.uniform(0.7, 1)
        )
        for x, y, size in ((-34, 8, 40), (0, 0, 58), (34, 6, 44)):
            canvas.ellipse(x, y, size * 1.25, size * 0.8, WHITE, "clouds")


def ground(canvas: Canvas, colour: Colour, dark: Colour, part: str, height: float = 90) -> None:
    """Two hills and what is before them."""
    canvas.at(0, 0)
    canvas.ellipse(120, HEIGHT - height + 70, 560, 190, dark, part)
    canvas.ellipse(390, HEIGHT - height + 96, 920, 200, colour, part)
    canvas.block(0, HEIGHT - height + 66, WIDTH, height, colour, part)


def stand(canvas: Canvas, random: np.random.Generator, y: float, *parts: str) -> Canvas:
    """The place of what is shown: to the right, where no sun is."""
    canvas.objects.update(parts)
    return canvas.at(random.uniform(250, 320), y, random.uniform(0.85, 1.0))


def _paler(colour: Colour) -> Colour:
    red, green, blue = ((3 * c + 255) // 4 for c in colour)
    return red, green, blue
