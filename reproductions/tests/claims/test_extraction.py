"""From runs to answers: planted tables come back with their sign, size and verdict."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from theodolite._runs.folder.checksums import write_checksums
from theodolite._runs.folder.run_records import ExplanationRecord, ProducedRecord, build_run_record
from theodolite._runs.folder.spec import read_spec
from theodolite._storage.records import write_record
from theodolite._storage.tables import write_parquet
from theodolite._verdicts.scores_file import ScoresFile
from theodolite.errors import UnsafeInputError, VerificationError
from theodolite_reproductions.claims.answers import detection
from theodolite_reproductions.claims.answers.alignment import OPTIONS, alignment_answers
from theodolite_reproductions.claims.extraction import result_of
from theodolite_reproductions.claims.ledger import ledger
from theodolite_reproductions.claims.results import EntryAnswer, read_result, write_result
from theodolite_reproductions.claims.verdict import cell_word
from theodolite_reproductions.protocols import PROTOCOLS
from theodolite_reproductions.sweeps.cells import cells_of
from theodolite_reproductions.sweeps.result import (
    CellRecord,
    ContrastRecord,
    MoveRecord,
    SweepRecord,
)
from theodolite_reproductions.sweeps.spec import read_sweep

DETECTION = PROTOCOLS / "detection_pets_monumai_camvid.yaml"
SWEEP = PROTOCOLS / "alignment.sweep.yaml"
CONCEPTS = PROTOCOLS / "alignment_concepts.sweep.yaml"
UNITS = 300


def words(answers: list[EntryAnswer]) -> dict[str, str]:
    """The headline of each entry."""
    return {
        a.entry: str(cell_word(ledger().entry(a.entry), a.low, a.high))
        for a in answers
        if a.nearest and a.low is not None and a.high is not None
    }


def planted_run(folder: Path) -> dict[str, np.ndarray]:
    """Units whose detection falls and overlap grows with length, as the paper says."""
    random = np.random.default_rng(0)
    base = random.uniform(0.3, 0.7, UNITS)
    ways = {way: n for n, way in enumerate(detection.LENGTHS)}
    ways |= {detection.CHOSEN: 0, detection.STOPPED: 1}
    table: dict[str, list[Any]] = {}
    for way, number in ways.items():
        detected = base - 0.02 * number + 0.01 * random.normal(size=UNITS)
        columns = {
            "unit": [f"unit {u}" for u in range(UNITS)],
            "formulas": [way] * UNITS,
            "length": [number + 1] * UNITS,
            "images": random.integers(5, 500, UNITS).tolist(),
            "iou": (0.05 + 0.01 * number + 0.002 * random.normal(size=UNITS)).tolist(),
            "detection_accuracy": detected.tolist(),
            "accuracy_either": (base + 0.1 * random.normal(size=UNITS)).tolist(),
            "accuracy_both": random.uniform(size=UNITS).tolist(),
            "accuracy_present": [None, *random.uniform(size=UNITS - 1).tolist()],
        }
        for name, values in columns.items():
            table.setdefault(name, []).extend(values)
    (folder / "tables").mkdir(parents=True)
    units = {"unit": table["unit"][:UNITS], "specialized": [True] * UNITS}
    write_parquet(folder / "tables" / "formula_scores.parquet", table)
    write_parquet(folder / "tables" / "units.parquet", units)
    one = np.array(table["formulas"]) == detection.THREE
    return {
        name: np.array(table[name], float)[one]
        for name in ("detection_accuracy", "accuracy_either")
    }


def test_planted_units_get_their_verdicts(tmp_path: Path) -> None:
    three = planted_run(tmp_path)
    answers, moves = detection.detection_answers(tmp_path)
    verdicts = words(answers)
    for entry in (
        "P003-F0-01",
        "P003-F0-03",
        "P003-F0-04",
        "P003-F0-05",
        "P003-F0-07",
        "P003-F0-13",
    ):
        assert verdicts[entry] == "for", entry
    assert verdicts["P003-F0-02"] == "against", "all prefer one concept"
    assert verdicts["P003-F0-14"] == "against", "none has one concept"
    assert verdicts["P003-F0-06"] in ("against", "null"), "accuracy of both is noise"
    by = {a.entry: a for a in answers if a.nearest}
    r = np.corrcoef(three["detection_accuracy"], three["accuracy_either"])[0, 1]
    assert by["P003-F0-05"].effect == pytest.approx(r) and by["P003-F0-05"].n == UNITS
    assert by["P003-F0-06"].n == UNITS - 1, "one is undefined"
    assert {move.option for move in moves} == {"P003-O-03", "P003-O-06"}
    printed_below_0 = [a for a in answers if a.entry == "P003-T4-01" and a.effect != a.ours["r"]]
    assert [a.settings["set"] for a in printed_below_0] == ["intersection"]


def planted_sweep(path: Path = SWEEP) -> SweepRecord:
    sweep, _ = read_sweep(path)
    cells = [
        CellRecord(choices=cell, contrasts=[
            ContrastRecord(contrast=c.name, score=0.5, taken_off=0.2, value=0.3, low=0.2, high=0.4,
                           draws=200.0, seeds=5)
            for c in sweep.contrasts
        ])
        for cell in cells_of(sweep)
    ]  # fmt: skip
    name = next(iter(sweep.vary))
    move = MoveRecord(setting=name, before="dot", after="margin", contrast=sweep.contrasts[0].name,
                      value=0.2, low=0.1, high=0.3, p=0.01)  # fmt: skip
    metrics = {"concept_existence": 2}
    return SweepRecord(sweep=sweep, metrics=metrics, code="c", cells=cells, moves=[move])


def test_sweeps_answer_cell_by_cell_in_the_papers_units() -> None:
    record = planted_sweep()
    answers, moves = alignment_answers(record)
    first = next(a for a in answers if a.entry == "P000-F0-01" and a.nearest)
    assert (first.effect, first.low, first.high) == pytest.approx((30, 20, 40)), "points"
    assert first.ours == pytest.approx({"score": 50, "taken off": 20}) and first.n == 200
    assert str(cell_word(ledger().entry("P000-F0-01"), 20, 40)) == "for"
    assert sum(a.entry == "P000-F0-01" for a in answers) == len(record.cells)
    assert sum(a.nearest for a in answers if a.entry == "P000-F0-01") == 1
    assert first.unit == "classes"
    assert not [a for a in answers if a.entry == "P000-F0-06"], "images were drawn, not concepts"
    cells = sum(a.entry == "P000-F0-11" for a in answers)
    assert cells == len(record.cells) / 2, "location does not know who may be named"
    assert moves[0].option == "P000-O-01" and moves[0].value == pytest.approx(20)
    assert set(OPTIONS) >= set(record.sweep.vary), "every choice of the sweep is an option"


def test_claims_about_concepts_are_decided_by_drawing_concepts() -> None:
    answers, moves = alignment_answers(planted_sweep(CONCEPTS))
    importance = next(a for a in answers if a.entry == "P000-F0-06" and a.nearest)
    assert importance.effect == pytest.approx(0.3), "a cosine is no share"
    assert importance.unit == "concepts"
    cells = [a.settings["pipeline.projection"] for a in answers if a.entry == "P000-F0-07"]
    assert cells == ["dot", "dot"], "the length of a concept does not turn its weights"
    assert {a.entry for a in answers} == {f"P000-F0-{n}" for n in ("04", "06", "07", "08")}
    assert moves[0].entry == "P000-F0-04" and moves[0].value == pytest.approx(20)


def test_a_sweep_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    record = planted_sweep()
    write_record(tmp_path / "sweep.json", record)
    result = result_of(tmp_path, SWEEP)
    assert set(result.files) == {"alignment.sweep.yaml", "alignment_cub.yaml"}
    assert read_result(write_result(tmp_path, result)) == result
    shorter = record.sweep.model_copy(update={"contrasts": record.sweep.contrasts[:1]})
    write_record(tmp_path / "sweep.json", record.model_copy(update={"sweep": shorter}))
    with pytest.raises(UnsafeInputError, match="other settings"):
        result_of(tmp_path, SWEEP)


def test_a_run_is_kept_whole_sealed_and_of_this_protocol(tmp_path: Path) -> None:
    planted_run(tmp_path)
    spec = read_spec(DETECTION)
    write_record(tmp_path / "scores.json", ScoresFile(scores=[]))
    write_record(tmp_path / "run.json", build_run_record(spec, "run"))
    write_record(
        tmp_path / "produced.json",
        ProducedRecord(explained=ExplanationRecord(), seconds_scoring=7.3, inputs={"a": "0"}),
    )
    write_checksums(tmp_path)
    result = result_of(tmp_path, DETECTION)
    assert result.protocol == spec.name and result.seal == result.digest()
    write_record(tmp_path / "run.json", build_run_record(spec, "on another day"))
    write_record(
        tmp_path / "produced.json",
        ProducedRecord(explained=ExplanationRecord(), seconds_scoring=15.1, inputs={"a": "0"}),
    )
    write_checksums(tmp_path)
    assert result_of(tmp_path, DETECTION) == result, "a second run gives the same bytes"
    write_record(
        tmp_path / "produced.json",
        ProducedRecord(explained=ExplanationRecord(), seconds_scoring=15.1, inputs={"a": "1"}),
    )
    write_checksums(tmp_path)
    assert result_of(tmp_path, DETECTION).run != result.run, "other data are another run"
    (tmp_path / "findings.json").write_text("{}")
    write_checksums(tmp_path)
    assert result_of(tmp_path, DETECTION).run != result.run, "what was computed is not the same"
    with pytest.raises(UnsafeInputError, match="other settings"):
        result_of(tmp_path, PROTOCOLS / "saliency_pets.yaml")
    (tmp_path / "tables" / "units.parquet").write_bytes(b"")
    with pytest.raises(VerificationError):
        result_of(tmp_path, DETECTION)
    planted_run(tmp_path / "short")
    fewer = spec.model_copy(update={"seeds": [1]})
    write_record(tmp_path / "short" / "run.json", build_run_record(fewer, "run"))
    write_checksums(tmp_path / "short")
    with pytest.raises(UnsafeInputError, match="whole protocol"):
        result_of(tmp_path / "short", DETECTION)
