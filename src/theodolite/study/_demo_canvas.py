"""A sheet to draw simple scenes on that remembers where each part is."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from PIL import Image, ImageDraw

WIDTH, HEIGHT = 480, 360
FINE = 2
"""Drawn so many times as large: edges become smooth when it is reduced."""
Colour = tuple[int, int, int]
Point = tuple[float, float]


@dataclass(eq=False)
class Canvas:
    """A picture in the making. Shapes are in pixels around a place, at a scale."""

    top: Colour
    bottom: Colour
    place: Point = (0.0, 0.0)
    scale: float = 1.0
    objects: set[str] = field(default_factory=set)
    """Parts of what the picture shows; the others are beside it."""

    def __post_init__(self) -> None:
        down = np.linspace(0, 1, HEIGHT * FINE)[:, None, None]
        sky = (1 - down) * np.array(self.top) + down * np.array(self.bottom)
        pixels = np.broadcast_to(sky, (HEIGHT * FINE, WIDTH * FINE, 3))
        self._picture = Image.fromarray(np.rint(pixels).astype(np.uint8))
        self._pen = ImageDraw.Draw(self._picture)
        self._masks: dict[str, Image.Image] = {}

    def at(self, x: float, y: float, scale: float = 1.0) -> "Canvas":
        """Draw around this place from now on."""
        self.place, self.scale = (x, y), scale
        return self

    def ellipse(self, x: float, y: float, width: float, height: float, colour: Colour,
                part: str = "") -> None:  # fmt: skip
        """A disc around a point."""
        box = [self._on(x - width / 2, y - height / 2), self._on(x + width / 2, y + height / 2)]
        for pen, fill in self._pens(colour, part):
            pen.ellipse(box, fill)

    def block(  # noqa: PLR0913  a place, a size, a colour and corners
        self, x: float, y: float, width: float, height: float, colour: Colour,
        part: str = "", *, corner: float = 0.0,
    ) -> None:  # fmt: skip
        """A rectangle from its upper left corner."""
        box = [self._on(x, y), self._on(x + width, y + height)]
        for pen, fill in self._pens(colour, part):
            pen.rounded_rectangle(box, corner * self.scale * FINE, fill)

    def shape(self, points: Sequence[Point], colour: Colour, part: str = "") -> None:
        """A polygon."""
        for pen, fill in self._pens(colour, part):
            pen.polygon([self._on(*point) for point in points], fill)

    def line(self, points: Sequence[Point], colour: Colour, width: float, part: str = "") -> None:
        """A line with round joints."""
        for pen, fill in self._pens(colour, part):
            pen.line([self._on(*point) for point in points], fill,
                     max(round(width * self.scale * FINE), 1), joint="curve")  # fmt: skip

    def slice(self, x: float, y: float, size: Point, ends: Point, colour: Colour,
              part: str = "") -> None:  # fmt: skip
        """A slice of a disc, from one angle to another."""
        box = [
            self._on(x - size[0] / 2, y - size[1] / 2),
            self._on(x + size[0] / 2, y + size[1] / 2),
        ]
        for pen, fill in self._pens(colour, part):
            pen.pieslice(box, *ends, fill)

    def picture(self, *, mirrored: bool) -> Image.Image:
        """What was drawn."""
        return _turned(self._picture, mirrored).resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)

    def masks(self, *, mirrored: bool) -> dict[str, Float[np.ndarray, "rows columns"]]:
        """How much of each pixel a part covers, 0 to 1."""
        small = {
            part: _turned(mask, mirrored).resize((WIDTH, HEIGHT), Image.Resampling.BOX)
            for part, mask in self._masks.items()
        }
        return {part: np.asarray(mask, np.float64) / 255 for part, mask in small.items()}

    def _pens(self, colour: Colour, part: str) -> list[tuple[ImageDraw.ImageDraw, Colour | int]]:
        pens: list[tuple[ImageDraw.ImageDraw, Colour | int]] = [(self._pen, colour)]
        for mask in self._masks.values():  # what is drawn over a part hides it
            pens.append((ImageDraw.Draw(mask), 0))
        if part:
            if part not in self._masks:
                self._masks[part] = Image.new("L", self._picture.size)
            pens = [(pen, fill) for pen, fill in pens if pen is self._pen]
            pens += [
                (ImageDraw.Draw(mask), 255 if name == part else 0)
                for name, mask in self._masks.items()
            ]
        return pens

    def _on(self, x: float, y: float) -> Point:
        return (self.place[0] + x * self.scale) * FINE, (self.place[1] + y * self.scale) * FINE


def _turned(picture: Image.Image, mirrored: bool) -> Image.Image:  # noqa: FBT001
    return picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if mirrored else picture
