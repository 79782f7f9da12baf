"""Tables beside the paper's: scores by their options, and stored tables."""

from pathlib import Path

import pytest

from support.runs.compared_runs import spoilt
from theodolite._runs.folder.run_records import build_run_record
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.folder_reader import RunFolder
from theodolite._runs.run_content import score_run
from theodolite._storage.records import write_record
from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import Produced
from theodolite.report.html import write_report
from theodolite_reproductions.chapters.printed_tables import printed_tables

TABLE = {
    "title": "Table A", "metric": "concept_existence", "columns": "top",
    "rows": [{"rank_by": "contribution", "paper": {1: 10.0, 3: 20.0}}, {"rank_by": "value"}],
}  # fmt: skip
GRID = {"title": "Table B", "table": "settings", "rows": "weight", "columns": "examples",
        "values": "accuracy", "paper": {"0.1": {"50": 29.1}}}  # fmt: skip
SETTINGS = {"weight": [0.1, 0.1, 1.0], "examples": [50, 100, 50], "accuracy": [0.5, 0.25, 1.0],
            "chosen": [False, True, False]}  # fmt: skip


def write_run(folder: Path, grid: dict[str, object]) -> Path:
    metric = {"name": "concept_existence",
              "options": {"top": [1, 3], "rank_by": ["contribution", "value"]}}  # fmt: skip
    spec = RunSpec.model_validate(
        {"name": "tables", "evidence": ["x"], "metrics": [metric], "resampling": {"resamples": 20},
         "report": {"tables": [TABLE, TABLE | {"metric": "pointing_game"}], "grids": [grid]}}
    )  # fmt: skip
    write_record(folder / "run.json", build_run_record(spec, ""))
    score_run(spec, Produced([[spoilt(0.2)]], tables={"settings": SETTINGS})).write(folder)
    return folder


def test_tables_show_scores_and_printed_values(tmp_path: Path) -> None:
    scores, grid = printed_tables(RunFolder(write_run(tmp_path, GRID)))
    assert [row.labels for row in scores.rows][:2] == [("weight × value",), ("value",)]
    assert scores.columns == ("first named", "first 3 named")
    assert [cell.paper for cell in scores.rows[0].cells] == ["10.0", "20.0"]
    assert scores.rows[-1].css == "null"
    assert [[cell.value for cell in row.cells] for row in grid.rows] == [["50.0", "25.0"], ["100.0", ""]]  # fmt: skip
    assert [cell.paper for cell in grid.rows[0].cells] == ["29.1", ""]
    assert [cell.chosen for cell in grid.rows[0].cells] == [False, True]
    page = write_report(tmp_path).read_text()
    assert "Table A" in page and "Table B" in page


def test_grid_without_its_column_refused(tmp_path: Path) -> None:
    folder = write_run(tmp_path, GRID | {"values": "loss"})
    with pytest.raises(EvidenceError, match="loss"):
        printed_tables(RunFolder(folder))
