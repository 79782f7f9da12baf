"""MonuMAI: facades of four styles with boxes around fifteen architectural elements."""

from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.images import image_size
from theodolite._storage.paths import confined
from theodolite._storage.text import read_json
from theodolite.datasets.concept_data import ConceptData, split_rows
from theodolite.errors import UnsafeInputError
from theodolite.evidence.axes import Classes, Concepts, Parts

ENGLISH = {
    "arco-apuntado": "pointed arch",
    "arco-conopial": "ogee arch",
    "arco-herradura": "horseshoe arch",
    "arco-lobulado": "lobed arch",
    "arco-medio-punto": "round arch",
    "arco-trilobulado": "trefoil arch",
    "columna-salomonica": "Solomonic column",
    "dintel-adovelado": "voussoir lintel",
    "fronton": "pediment",
    "fronton-curvo": "curved pediment",
    "fronton-partido": "broken pediment",
    "ojo-de-buey": "oculus",
    "pinaculo-gotico": "Gothic pinnacle",
    "serliana": "Serlian window",
    "vano-adintelado": "flat-topped opening",
}


NAMES: dict[str, Any] = {"name": "MonuMAI", "nouns": ("style", "styles", "elements")}


def monumai(root: Path, *, test_share: float = 0.3, seed: int = 0) -> ConceptData:
    """Read a folder with ``annotations.json`` and ``images/``.

    The data set has no split of its own: ``test_share`` of each style is held out, by ``seed``.
    How much an element belongs to a style is the share of that style's training images that
    show it.
    """
    path = root / "annotations.json"
    records = read_records(path)
    styles = sorted({record["style"] for record in records})
    elements = sorted({box[0] for record in records for box in record["objects"]})
    labels = np.array([styles.index(record["style"]) for record in records])
    images = root / "images"
    n, k = len(records), len(elements)
    counts = np.zeros((n, k), int)
    for i, record in enumerate(records):
        for box in record["objects"]:
            counts[i, elements.index(box[0])] += 1
    boxes = np.full((n, k, max(int(counts.max()), 1), 4), np.nan)
    filled = np.zeros((n, k), int)
    for i, record in enumerate(records):
        rows, columns = image_size(confined(images, record["file"]))
        for element, x0, y0, x1, y1 in record["objects"]:
            j = elements.index(element)
            corners = np.clip([y0, x0, y1, x1], 0.0, 1.0) * (rows, columns, rows, columns)
            boxes[i, j, filled[i, j]] = corners
            filled[i, j] += 1
    presence = counts > 0
    is_test = split_rows(labels, test_share, seed)
    shares = [presence[~is_test & (labels == s)].mean(axis=0) for s in range(len(styles))]
    return ConceptData(
        **NAMES,
        folder=images,
        images=tuple(record["file"] for record in records),
        labels=labels,
        is_test=is_test,
        presence=presence,
        class_truth=np.stack(shares, axis=1),
        classes=Classes(tuple(styles)),
        concepts=Concepts(tuple(ENGLISH.get(element, element) for element in elements)),
        parts=Parts(tuple(ENGLISH.get(element, element) for element in elements)),
        part_of=np.arange(k),
        points=(boxes[..., :2] + boxes[..., 2:]) / 2,
        boxes=boxes,
        tables=(path,),
        notes=("A concept's point is the middle of each of its boxes; one inside is enough.",),
    )


def read_records(path: Path) -> list[dict[str, Any]]:
    """The images of ``annotations.json``: file, style and objects."""
    content = read_json(path, "annotations")
    if not isinstance(content, list) or not content:
        raise UnsafeInputError(
            f"annotations {path.name!r}", type(content).__name__, "a list of images"
        )
    return [_checked(record, path) for record in content]


def _checked(record: Any, path: Path) -> dict[str, Any]:
    """A file, a style and boxes [element, x0, y0, x1, y1] as shares of the image."""
    try:
        boxes = []
        for name, *numbers in record["objects"]:
            corners = [float(number) for number in numbers]
            if len(corners) != 4 or not np.isfinite(corners).all():
                raise ValueError
            boxes.append((str(name), *corners))
        return {"file": str(record["file"]), "style": str(record["style"]), "objects": boxes}
    except (KeyError, TypeError, ValueError) as error:
        raise UnsafeInputError(
            f"annotations {path.name!r}",
            f"{str(record)[:80]!r}",
            "file, style and objects [element, x0, y0, x1, y1]",
        ) from error
