"""Data sets of ``datasets``, and evaluation results for models on the hub.

``concept_data`` lays a data set out as a folder that all our pipelines read. Lost: every column
that is not named, the numbering of classes (ours follows their names), splits other than train and
test, license and description, and the images' own files: they are written again, as PNG.

``write_eval_results`` writes the scores of a run as evaluation results of a model on the Hub.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL.Image import Image

from theodolite._runs.finished_run import read_finished_run
from theodolite._storage.images import encode_png, parse_image, read_image
from theodolite._storage.optional import require
from theodolite._storage.paths import all_or_nothing, confined
from theodolite._storage.tables import write_parquet
from theodolite._storage.text import write_yaml
from theodolite.datasets.concept_data import ConceptData
from theodolite.datasets.folder import OWN_COLUMNS, folder
from theodolite.errors import EvidenceError, UnsafeInputError, printable
from theodolite.report.words import full_title, interval_words, value_text
from theodolite.results import Score

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

SPLITS = {"train": "train", "test": "test", "validation": "test"}
MARKS = {None: "", 0: "0", 1: "1"}
"""True and false are 1 and 0."""
EVAL_RESULTS = Path(".eval_results", "theodolite.yaml")
"""Where the Hub looks for results in the repository of a model."""


def concept_data(  # noqa: PLR0913  each column is named
    data: Any,
    root: Path,
    *,
    concepts: Sequence[str],
    image: str = "image",
    label: str = "label",
    group: str | None = None,
    files: Path | None = None,
) -> ConceptData:
    """Write a data set with images, classes and concepts as a folder, and read it.

    Args:
        data: A ``datasets.Dataset``, or a ``DatasetDict`` whose ``train`` and ``test`` (or
            ``validation``, where there is no test) are the two sides. Images are decoded by us.
        root: An empty or new folder.
        concepts: The columns that hold them: true or false, 0 or 1, None where not known.
        image: The column of images.
        label: The column of classes; a ``ClassLabel`` gives their names.
        group: A column that says which images belong together.
        files: The folder that image files are below, where the data set holds their paths
            instead of their bytes. Without it paths are refused: they could name any file here.
    """
    target = Path(root)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise EvidenceError("folder", f"{target.name!r}, which is not empty", "an empty or new one")
    sides = _sides(data)
    source_columns = [image, label, *concepts, *([group] if group else [])]
    clash = [name for name in concepts if name in OWN_COLUMNS]
    if not concepts or clash:
        raise EvidenceError(
            "concepts", f"{clash or 'none'}", f"at least one, none called {', '.join(OWN_COLUMNS)}",
            "Rename the column: dataset.rename_column(...).",
        )  # fmt: skip
    for part in sides.values():
        missing = [name for name in source_columns if name not in part.column_names]
        if missing:
            raise EvidenceError("columns", f"{part.column_names}", f"{missing} as well")
    (target / "images").mkdir(parents=True, exist_ok=True)
    columns: dict[str, list[Any]] = {name: [] for name in ("image", "class", *concepts)}
    columns |= {"split": []} if set(sides) != {""} else {}
    columns |= {"group": []} if group else {}
    for split, number, row in _rows(sides, image):
        place = f"images/{split or 'all'}_{number:07d}.png"
        _write(target / place, _decoded(row[image], place, files))
        columns["image"].append(place)
        columns["class"].append(_class_name(sides[split], label, row[label]))
        for name in concepts:
            columns[name].append(_mark(row[name], name, number))
        if "split" in columns:
            columns["split"].append(SPLITS[split])
        if group:
            columns["group"].append(str(row[group]))
    write_parquet(target / "samples.parquet", columns)
    return folder(target)


def eval_result_entries(
    folder: Path, dataset_id: str, *, source_url: str | None = None
) -> "list[EvalResultEntry]":
    """The scores behind the verdicts, a number each, for ``.eval_results`` of a model.

    The data set is one of the Hub that is registered as a benchmark; tasks are called
    ``explanation_exists`` and so on. Interval, null and direction are in the notes. Undefined
    scores are left out. A folder whose bytes were changed is refused.
    """
    entry = require("huggingface_hub", "evaluation results", "hub").EvalResultEntry
    run = read_finished_run(folder)
    return [
        entry(
            dataset_id=dataset_id,
            task_id=f"explanation_{verdict.question}",
            value=verdict.score.value,
            date=run.record.started,
            source_url=source_url,
            source_name=None if source_url is None else "theodolite",
            notes=_notes(verdict.score),
        )
        for verdict in run.verdicts
        if verdict.score is not None and math.isfinite(verdict.score.value)
    ]


def write_eval_results(
    repository: Path, folder: Path, dataset_id: str, *, source_url: str | None = None
) -> Path:
    """Write ``.eval_results/theodolite.yaml`` into a folder that becomes a model's repository."""
    entries = eval_result_entries(folder, dataset_id, source_url=source_url)
    library = require("huggingface_hub", "evaluation results", "hub")
    write_yaml(repository / EVAL_RESULTS, library.eval_result_entries_to_yaml(entries))
    return repository / EVAL_RESULTS


def _sides(data: Any) -> dict[str, Any]:
    """Parts by split; a data set without splits is one part without a name."""
    if not isinstance(data, dict):
        if not hasattr(data, "column_names") or not hasattr(data, "features"):
            raise EvidenceError("data", type(data).__name__, "a datasets.Dataset or DatasetDict")
        return {"": data}
    second = "test" if "test" in data else "validation"
    if "train" not in data or second not in data:
        raise EvidenceError(
            "splits", f"{sorted(map(str, data))}", "train, and test or validation",
            "Pass one of them: it is then parted by our own seed.",
        )  # fmt: skip
    return {"train": data["train"], second: data[second]}


def _rows(sides: dict[str, Any], image: str) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """All rows with their images not decoded yet."""
    datasets = require("datasets", "datasets", "hub")
    for split, part in sides.items():
        if type(part.features[image]).__name__ != "Image":
            raise EvidenceError(
                f"column {printable(image)!r}", f"{part.features[image]}", "images",
                "Say so: dataset.cast_column(name, datasets.Image()).",
            )  # fmt: skip
        raw = part.with_format(None).cast_column(image, datasets.Image(decode=False))
        for number, row in enumerate(raw):
            yield split, number, row


def _decoded(cell: Any, name: str, files: Path | None) -> Image:
    """An image from its bytes, or from a file below the folder that the caller named."""
    if cell is None:
        raise EvidenceError(f"image {name!r}", "none", "one in each row")
    if cell.get("bytes") is not None:
        return parse_image(cell["bytes"], name)
    path_text = str(cell["path"])
    if files is None:
        raise UnsafeInputError(
            f"image {name!r}", f"the path {printable(path_text)!r}", "its bytes",
            "Pass files=, the folder that its image files are below.",
        )  # fmt: skip
    below = files.resolve()
    inside = (
        Path(path_text).relative_to(below)
        if Path(path_text).is_relative_to(below)
        else Path(path_text)
    )
    return read_image(confined(below, inside.as_posix()))


def _write(path: Path, image: Image) -> None:
    with all_or_nothing(path) as stream:
        stream.write(encode_png(image))


def _class_name(part: Any, label: str, value: Any) -> str:
    feature = part.features[label]
    named = isinstance(value, int) and hasattr(feature, "int2str")
    if value is None or (named and value < 0):  # -1 is "not labeled" on the hub
        raise EvidenceError(f"column {printable(label)!r}", "no class", "one in each row")
    return str(feature.int2str(value)) if named else str(value)


def _mark(value: Any, concept: str, number: int) -> str:
    if value not in (None, 0, 1):
        raise EvidenceError(
            f"concept {printable(concept)!r}", f"{value!r:.40} in row {number}", "0, 1 or None"
        )
    return MARKS[value]


def _notes(score: Score) -> str:
    parts = [full_title(score)]
    interval = score.interval
    if interval is not None:
        ends = interval_words(interval, score)
        parts.append(f"{100 * interval.level:g} % interval {ends}")
    if score.null is not None and math.isfinite(score.null.value):
        parts.append(f"{score.null.label} {value_text(score.null.value, score)}")
    return "; ".join([*parts, f"{score.better} is better"])
