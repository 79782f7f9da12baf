"""From a run with studies to answers: planted tables come back with their sign and size."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from theodolite._storage.tables import write_parquet
from theodolite.errors import UnsafeInputError
from theodolite_reproductions.claims.answers.alignment_run import (
    alignment_run_answers,
    examples_answers,
)
from theodolite_reproductions.claims.answers.resampled import UnitResamples
from theodolite_reproductions.claims.ledger import ledger
from theodolite_reproductions.claims.results import EntryAnswer
from theodolite_reproductions.claims.verdict import cell_word

CLASSES, IMAGES = 200, 1000
EYES, BIRDS = 50, (17, 24)
"""Where the paper's lowest ones stand in its lists."""


def planted(folder: Path) -> None:
    """As the paper says, but for the concepts that go together."""
    random = np.random.default_rng(0)
    rows: list[tuple[Any, ...]] = []
    for over, group in (("concepts", "P000-T6"), ("classes", "P000-T7")):
        for form in (1, 2, 3):
            printed = (ledger().entry(f"{group}-{form:02d}").printed or {})["values"]
            names = [f"{over} {i}" for i in range(len(printed))]
            if over == "concepts":
                names[EYES] = "black eye color"
            else:
                names[BIRDS[0]], names[BIRDS[1]] = "Spotted Catbird", "Pelagic Cormorant"
            for projection in ("dot", "margin", "centered"):
                for reference in ("share", "majority"):
                    more = 0.2 * (reference == "majority")
                    rows += [
                        (seed, projection, reference, over, form, name, value + more)
                        for seed in (0, 1) for name, value in zip(names, printed, strict=True)
                    ]  # fmt: skip
    columns = ("seed", "projection", "reference", "over", "form", "item", "value")
    importance = dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
    labels = np.arange(IMAGES) % CLASSES
    named: dict[str, list[Any]] = {"class": labels.tolist(), "seed": [0] * IMAGES}
    shares = {"probe": 0.75, "bottleneck": 0.55, "posthoc_contribution": 0.4, "posthoc_value": 0.6,
              "soft_contribution": 0.8, "soft_value": 0.9, "soft_right": 0.6,
              "logit_contribution": 0.2, "logit_value": 0.9, "logit_right": 0.6,
              **{f"{who}_{p}": 0.3 for who in ("named", "others") for p in ("dot", "margin", "centered")}}  # fmt: skip
    for name, share in shares.items():
        named[name] = (share + 0.01 * random.normal(size=IMAGES)).tolist()
    named["named_dot"][0] = None
    hits = {"bilinear": 0.3, "all_places": 0.25, "bicubic": 0.3, "nearest": 0.2, "threshold": 0.1,
            "positive": 0.5}  # fmt: skip
    unseen = np.arange(IMAGES) < 100
    regions = {"class": labels.tolist(), "seed": [0] * IMAGES}
    for name, share in hits.items():
        for alpha in (1, 6):
            drawn = (random.random(IMAGES) < share).astype(float)
            regions[f"{name}_{alpha}"] = np.where(unseen, np.nan, drawn).tolist()
    for name, share in (
        ("on_part", 0.1),
        ("part_of_box", 0.08),
        ("in_box", 0.6),
        ("box_of_image", 0.3),
    ):
        regions[name] = (share + 0.01 * random.normal(size=IMAGES)).tolist()
    settings = {
        "seed": np.repeat([0, 1, 2], 4).tolist(), "examples": [50, 50, 100, 100] * 3,
        "test_accuracy": (np.tile([0.4, 0.42, 0.5, 0.52], 3) + 0.004 * random.normal(size=12)).tolist(),
    }  # fmt: skip
    (folder / "tables").mkdir()
    tables = {"global_importance": importance, "named_concepts": named, "regions": regions,
              "setting_seeds": settings}  # fmt: skip
    for name, table in tables.items():
        write_parquet(folder / "tables" / f"{name}.parquet", table)


def verdicts(answers: list[EntryAnswer], **cell: str) -> dict[str, str]:
    return {
        a.entry: str(cell_word(ledger().entry(a.entry), a.low, a.high))
        for a in answers
        if a.low is not None and a.high is not None
        and (a.nearest if not cell else cell.items() <= a.settings.items())
    }  # fmt: skip


def test_planted_studies_get_their_verdicts(tmp_path: Path) -> None:
    planted(tmp_path)
    answers, moves = alignment_run_answers(tmp_path)
    answers += examples_answers(tmp_path)[0]
    words = verdicts(answers)
    for entry in ("T6-01", "T6-03", "T7-02", "F0-09", "F0-14", "F0-15", "F0-18"):
        assert words[f"P000-{entry}"] == "for", entry
    assert words["P000-F0-10"] == "for"
    assert words["P000-F0-16"] == "for", "0.02 more than its share"
    assert words["P000-F0-17"] in ("against", "null")
    assert verdicts(answers, values="logit")["P000-F0-18"] == "for", "by value"
    by = {a.entry: a for a in answers if a.nearest}
    assert by["P000-T6-02"].effect == pytest.approx(1) and by["P000-T6-02"].ours["negative"] == 48
    assert by["P000-F0-14"].effect == pytest.approx(20, abs=0.2)
    assert (by["P000-F0-15"].n, by["P000-F0-14"].n) == (3, CLASSES)
    assert by["P000-F0-09"].ours["black eye color, rank"] == 1
    move = {(m.option, m.entry, m.after): m for m in moves}
    assert len(move) == 12 + 3
    assert move["P000-O-05", "P000-F0-11", "threshold"].value == pytest.approx(20, abs=5), (
        "fewer hits"
    )
    assert move["P000-O-10", "P000-F0-11", "positive"].high < 0, "more hits: less below the line"
    assert move["P000-O-06", "P000-F0-12", "miss"].value == pytest.approx(3, abs=0.5), (
        "a tenth of 30"
    )
    assert move["P000-O-07", "P000-F0-06", "majority"].value == pytest.approx(-0.2)
    assert move["P000-O-07", "P000-F0-07", "majority"].value < 0


def test_every_option_that_is_told_is_named_by_its_finding(tmp_path: Path) -> None:
    planted(tmp_path)
    for move in alignment_run_answers(tmp_path)[1]:
        assert move.option in ledger().entry(move.entry).moved_by, move


def test_a_run_without_studies_answers_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnsafeInputError, match="studies"):
        alignment_run_answers(tmp_path)
    with pytest.raises(UnsafeInputError, match="setting_seeds"):
        examples_answers(tmp_path)


def test_clustered_means_draw_whole_clusters() -> None:
    resamples = UnitResamples.draw(3, "classes", resamples=500)
    values, unit = np.array([1.0, 1.0, 2.0, np.nan, 6.0]), np.array([0, 0, 1, 1, 2])
    draws = resamples.clustered_mean(values, unit)
    assert draws[0] == pytest.approx(2.5)
    times = resamples.times[1]
    totals, counts = times * [2, 2, 6], times * [2, 1, 1]
    assert draws[1] == pytest.approx(totals.sum() / counts.sum())
