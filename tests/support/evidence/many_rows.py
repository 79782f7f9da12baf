"""A run folder with many units and samples, written by the library's own writers."""

from pathlib import Path

import numpy as np
from PIL import Image
from report_size import drawn_values, unit_score

from theodolite._runs.folder.run_records import (
    ExplanationRecord,
    ProducedRecord,
    UnitCardRecord,
    build_run_record,
)
from theodolite._runs.folder.spec import RunSpec
from theodolite._storage.records import write_record
from theodolite._storage.tables import write_parquet
from theodolite._verdicts.conflicts.record import ConflictsFile
from theodolite._verdicts.scores_file import scores_file, write_scores


def write_many(folder: Path, names: tuple[str, ...], *, cards: int = 1) -> Path:
    """Units by these names with two scores, as many samples with one, images of the first."""
    rows = len(names)
    folder.mkdir(parents=True)
    files = [f"images/unit-{i}.jpg" for i in range(2)]
    (folder / "images").mkdir()
    for i, file in enumerate(files):
        Image.new("RGB", (24, 24), (40 * i, 90, 160)).save(folder / file, "JPEG")
    kept = [
        UnitCardRecord(unit=name, why="", formula="(a AND b)", alone="a", stopped="a", literals=[],
                       files=files)
        for name in names[:cards]
    ]  # fmt: skip
    spec = RunSpec(name="many", evidence=["x"])
    write_record(folder / "run.json", build_run_record(spec, ""))
    made_record = ProducedRecord(explained=ExplanationRecord(), seconds_scoring=0.0, cards=kept)
    write_record(folder / "produced.json", made_record)
    write_record(folder / "conflicts.json", ConflictsFile(verdicts=[], judged=[], conflicts=[]))
    scores = [
        unit_score("unit_iou", names, drawn_values(rows, 1)),
        unit_score("detection_accuracy", names, drawn_values(rows, 2)),
    ]
    write_scores(folder / "scores.json", scores_file(scores, [], []))
    values = drawn_values(rows, 3)
    write_parquet(
        folder / "per_sample.parquet",
        {
            "sample": [f"image {i}" for i in range(rows)],
            "metric": ["concept_existence"] * rows,
            "options": ["top=5"] * rows,
            "value": [None if np.isnan(v) else float(v) for v in values],
        },
    )
    return folder
