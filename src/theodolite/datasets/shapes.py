"""Generate a small data set of drawn shapes in the format that ``folder`` reads.

It is an example of the format with exact ground truth. Used by ``theodolite data``.
"""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

COLORS = {"red": (196, 60, 52), "green": (72, 140, 84), "blue": (58, 98, 176)}
SHAPES = ("square", "disc", "triangle")
CLASSES = {"stop": ("red", "disc"), "go": ("green", "triangle"), "wait": ("blue", "square")}
SIDE = 64


def write_shapes(root: Path, n: int = 60, *, seed: int = 0) -> None:
    """Write ``n`` images of a large shape that says the class and a small one that does not."""
    random = np.random.default_rng(seed)
    (root / "images").mkdir(parents=True, exist_ok=True)
    (root / "masks").mkdir(exist_ok=True)
    samples, points, boxes, masks = [], [], [], []
    for i in range(n):
        label = list(CLASSES)[i % len(CLASSES)]
        color, shape = CLASSES[label]
        other = str(random.choice([s for s in SHAPES if s != shape]))
        tint = str(random.choice(list(COLORS)))
        name = f"images/{i:04d}.png"
        image = Image.new("RGB", (SIDE, SIDE), (236, 232, 224))
        left = bool(random.integers(2))
        shapes = [(shape, color, 26, left), (other, tint, 14, not left)]
        for kind, shade, size, at_left in shapes:
            x = int(random.integers(2, 32 - size)) + (0 if at_left else 32)
            y = int(random.integers(2, SIDE - size - 2))
            mask = Image.new("L", (SIDE, SIDE), 0)
            _draw(ImageDraw.Draw(mask), kind, (x, y, x + size, y + size), 255)
            image.paste(COLORS[shade], mask=mask)
            file = f"masks/{i:04d}-{kind}.png"
            mask.save(root / file)
            points.append((name, kind, y + size / 2, x + size / 2))
            boxes.append((name, kind, y, x, y + size, x + size))
            masks.append((name, kind, file))
        image.save(root / name)
        concepts = {shape, other, color, tint}
        split = "test" if random.random() < 0.4 else "train"
        samples.append(
            (name, label, split, *(int(word in concepts) for word in (*COLORS, *SHAPES)))
        )
    _write(root / "samples.csv", ("image", "class", "split", *COLORS, *SHAPES), samples)
    _write(root / "points.csv", ("image", "part", "row", "column"), points)
    _write(root / "boxes.csv", ("image", "part", "top", "left", "bottom", "right"), boxes)
    _write(root / "masks.csv", ("image", "part", "file"), masks)
    _write(root / "parts.csv", ("concept", "part"), [(shape, shape) for shape in SHAPES])


def _draw(pen: ImageDraw.ImageDraw, kind: str, box: tuple[int, int, int, int], fill: int) -> None:
    if kind == "square":
        pen.rectangle(box, fill=fill)
    elif kind == "disc":
        pen.ellipse(box, fill=fill)
    else:
        pen.polygon(
            [(box[0], box[3]), (box[2], box[3]), ((box[0] + box[2]) // 2, box[1])], fill=fill
        )


def _write(path: Path, header: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(header)
        table.writerows(rows)
