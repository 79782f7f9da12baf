"""Write rendered images as a folder that ``theodolite audit --data`` reads."""

from pathlib import Path

import numpy as np
from PIL import Image

from theodolite._storage.images import encode_png
from theodolite_reproductions.datasets.bottleneck_data import BottleneckData


def write_images(
    data: BottleneckData, folder: Path, *, n_train: int = 1500, n_test: int = 600, seed: int = 0
) -> None:
    """Write training and test images with classes, concepts and the box of the shape.

    Every concept that is present lies in the box: all concepts are properties of the one shape.
    Images in which no concept is present have no box, and are left out.

    Args:
        data: Images of 0 and 1, such as re-rendered dSprites. The ground is 0.
        folder: Folder to write.
        n_train: Number of training images, drawn from those of the data set.
        n_test: Number of test images.
        seed: Seed of the draw.
    """
    random = np.random.default_rng(seed)
    (folder / "images").mkdir(parents=True)
    samples = [",".join(("image", "class", "split", *data.concepts.names))]
    boxes = ["image,part,top,left,bottom,right"]
    for split, own, n in (("train", data.train, n_train), ("test", data.test, n_test)):
        own = own[data.truth[own].any(axis=1)]
        for row in np.sort(random.permutation(own)[:n]):
            name = f"images/{split}{row:05d}.png"
            shown = Image.fromarray(255 * data.inputs[row])
            (folder / name).write_bytes(encode_png(shown))
            marks = ",".join(map(str, data.truth[row].astype(int)))
            samples.append(f"{name},{data.classes.names[data.labels[row]]},{split},{marks}")
            rows, columns = np.nonzero(data.inputs[row])
            box = f"{rows.min()},{columns.min()},{rows.max() + 1},{columns.max() + 1}"
            present = np.flatnonzero(data.truth[row])
            boxes += [f"{name},{data.concepts.names[j]},{box}" for j in present]
    for table, lines in (("samples", samples), ("boxes", boxes)):
        (folder / f"{table}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
