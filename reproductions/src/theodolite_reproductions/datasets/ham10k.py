"""HAM10000 with dermoscopic concepts: tables of skin lesions, benign or malignant, no images."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite._storage.paths import confined, sha256_of
from theodolite._storage.text import read_csv
from theodolite.errors import UnsafeInputError
from theodolite.evidence.axes import Classes, Concepts
from theodolite_reproductions.datasets.bottleneck_data import BottleneckData

CONCEPTS = (
    "APC", "BDG", "ESA", "GP", "MS", "MVP", "OPC", "PDES", "PES", "PIF", "PLF", "PLR", "PRL",
    "PRLC", "PV", "SPC", "TRBL", "WLSA",
)  # fmt: skip
KEPT_IF_INCOMPLETE = ("ESA", "PRL", "PES", "PIF", "OPC", "SPC", "MVP", "PRLC", "PLF", "PDES")
FILES = {"train": "HAM10000_train.csv", "val": "HAM10000_val.csv", "test": "HAM10000_test.csv"}
NEEDED = ("lesion_id", "image_id", "age", "sex", "localization", "benign_malignant", "split")
OLDEST = 120

Row = dict[str, str]


def ham10k_concepts(
    root: Path,
    *,
    concepts: Literal["all", "incomplete"] = "all",
    noise: float | None = None,
    seed: int = 0,
) -> BottleneckData:
    """Read ``HAM10000_train.csv``, ``HAM10000_val.csv`` and ``HAM10000_test.csv`` of a folder.

    The inputs are what the tables say of the patient: age (in hundreds of years), sex and place.
    An image that several annotators saw is one sample: it has a concept if more than half say so.
    Images of one lesion are one group.

    Args:
        root: The folder.
        concepts: ``incomplete`` keeps the ten of 18 that the leakage paper names.
        noise: If given, the inputs are the 18 true concepts with normal noise of this size, which
            stand in for what an encoder would see in an image.
        seed: Of the noise.
    """
    files = {split: confined(root, name) for split, name in FILES.items()}
    tables = {split: _table(path) for split, path in files.items()}
    rows = [row for table in tables.values() for row in table]
    split_of = _split_of(tables)
    images = list(split_of)
    of_image: dict[str, list[Row]] = {name: [] for name in images}
    for row in rows:
        of_image[row["image_id"]].append(row)
    first = [of_image[name][0] for name in images]
    train, validation, test = (
        np.flatnonzero([split_of[name] == split for name in images]) for split in FILES
    )
    lesions = {lesion: i for i, lesion in enumerate(dict.fromkeys(r["lesion_id"] for r in first))}
    truth = np.stack([_most_say(of_image[name]) for name in images])
    data = BottleneckData(
        name="HAM10000 concepts" + ("" if noise is None else " with noise"),
        inputs=_inputs(first, train) if noise is None else _noisy(truth, noise, seed),
        truth=truth,
        labels=np.array([_label(of_image[name]) for name in images]),
        train=train,
        validation=validation,
        test=test,
        concepts=Concepts(CONCEPTS),
        classes=Classes(("benign", "malignant")),
        groups=np.array([lesions[row["lesion_id"]] for row in first]),
        notes=_notes(tables, split_of, noise),
        digests={path.name: sha256_of(path) for path in files.values()},
    )
    if concepts == "all":
        return data
    return data.without([name for name in CONCEPTS if name not in KEPT_IF_INCOMPLETE])


def _table(path: Path) -> list[Row]:
    rows = list(read_csv(path, "table of lesions"))
    missing = [name for name in (*NEEDED, *CONCEPTS) if not rows or name not in rows[0]]
    if missing:
        got = f"no {missing}" if rows else "no rows"
        raise UnsafeInputError(f"table {path.name!r}", got, "a row per image with 18 concepts")
    for row in rows:
        odd = [name for name in ("benign_malignant", *CONCEPTS) if row[name] not in ("0", "1")]
        if odd or not row["image_id"] or not row["lesion_id"]:
            got = f"{odd[0]} = {row[odd[0]]!r}" if odd else "a row without an id"
            raise UnsafeInputError(f"table {path.name!r}", got, "ids, and 0 or 1 for each concept")
    return rows


def _split_of(tables: dict[str, list[Row]]) -> dict[str, str]:
    """The file that has each image: no image may be learned from and tested on."""
    split_of: dict[str, str] = {}
    for split, table in tables.items():
        for row in table:
            if split_of.setdefault(row["image_id"], split) != split:
                got = f"{row['image_id']!r} in {split_of[row['image_id']]} and {split}"
                raise UnsafeInputError("tables of lesions", got, "each image in one file")
    return split_of


def _most_say(rows: Sequence[Row]) -> Bool[np.ndarray, " concepts"]:
    votes = np.array([[row[name] == "1" for name in CONCEPTS] for row in rows])
    return np.asarray(2 * votes.sum(axis=0) > len(rows))


def _label(rows: Sequence[Row]) -> int:
    labels = {row["benign_malignant"] for row in rows}
    if len(labels) > 1:
        raise UnsafeInputError(
            f"image {rows[0]['image_id']!r}", "benign and malignant", "one of them"
        )
    return int(labels.pop())


def _inputs(rows: Sequence[Row], train: Int[np.ndarray, " t"]) -> Float[np.ndarray, "n features"]:
    """Age, then a column for each sex and each place that occurs ("unknown" has one, too)."""
    ages = np.array([_age(row) for row in rows])
    if np.isnan(ages[train]).all():
        raise UnsafeInputError("tables of lesions", "no age in the training rows", "some")
    ages = np.where(np.isnan(ages), np.nanmedian(ages[train]), ages)
    columns = [ages / 100]
    for name in ("sex", "localization"):
        values = np.array([row[name] for row in rows])
        columns += [values == value for value in sorted(set(values.tolist()))]
    return np.stack(columns, axis=1).astype(np.float32)


def _noisy(
    truth: Bool[np.ndarray, "n concepts"], noise: float, seed: int
) -> Float[np.ndarray, "n concepts"]:
    random = np.random.default_rng(seed)
    return np.asarray(truth + noise * random.standard_normal(truth.shape), np.float32)


def _age(row: Row) -> float:
    """In years; NaN where nobody said."""
    text = row["age"].strip()
    try:
        age = float(text) if text else np.nan
    except ValueError:
        age = -1.0
    if age < 0 or age > OLDEST:
        got = f"age {text!r} of {row['image_id']!r}"
        raise UnsafeInputError("tables of lesions", got, f"0 to {OLDEST} years, or nothing")
    return age


def _notes(
    tables: dict[str, list[Row]], split_of: dict[str, str], noise: float | None
) -> tuple[str, ...]:
    rows = [row for table in tables.values() for row in table]
    other = Counter(
        f"{row['split']!r} for the file of {split}"
        for split, table in tables.items()
        for row in table
        if row["split"] != split
    )
    differences = ", ".join(f"{count:,} rows say {what}" for what, count in sorted(other.items()))
    splits_of_lesion: dict[str, set[str]] = {}
    for row in rows:
        splits_of_lesion.setdefault(row["lesion_id"], set()).add(split_of[row["image_id"]])
    torn = sum(len(splits) > 1 for splits in splits_of_lesion.values())
    twice = len(rows) - len(split_of)
    no_age = sum(not row["age"].strip() for row in rows)
    patients = (
        "There are no images: the inputs are age, sex and place only, and say little about the "
        f"concepts. Age is missing in {no_age} rows; there it is the median of the training rows."
    )
    stand_in = f"No images: the inputs are the true concepts with normal noise of {noise or 0:g}."
    return (
        patients if noise is None else stand_in,
        f"{len(split_of):,} images of {len(splits_of_lesion):,} lesions; {torn} lesions are in "
        "several splits. The leakage paper counts 6,498 images.",
        "An image has a concept if more than half of its annotators say so; "
        + (f"{twice} rows repeat an image." if twice else "here each has one annotator."),
        f"The files decide the split; their column 'split' differs: {differences or 'nowhere'}.",
    )
