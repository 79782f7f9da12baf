"""What choices that Makinwa et al. (2022) leaves open move, from units under each of them."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.tables import read_parquet
from theodolite_reproductions.claims.answers.detection import (
    PER_CENT,
    SETS,
    SINGLE,
    STOPPED,
    THREE,
    UnitScores,
    accuracy_answers,
    detection_answers,
)
from theodolite_reproductions.claims.answers.resampled import Draws, compute_percentile_ends
from theodolite_reproductions.claims.results import EntryAnswer, OptionMove

BEFORE = "as scored"
OPTIONS = {
    "beam 10": ("P003-O-01", "beam of 5"),
    "50 candidates": ("P003-O-01", "all candidates"),
    "equal masks": ("P003-O-01", "without equal masks"),
    "hazen": ("P003-O-02", "linear"),
    "at or above": ("P003-O-02", "above"),
    "clipped": ("P003-O-04", "before the activation"),
    "clipped, at or above": ("P003-O-04", "before the activation"),
    "network": ("P003-O-05", "probe"),
}
"""Which entry an alternative of the run is, and what it stands against."""
AFTER = {"clipped": "after it", "clipped, at or above": "after it, at or above the threshold"}
DETECTION = "detection_accuracy"
PETS = {"data": "pets alone"}
NETWORK, CORRELATIONS = "network", ("P003-F0-05", "P003-F0-06")
"""Whose accuracy it is touches correlations only."""
OWN = "own_formula_scores"


def option_answers(folder: Path) -> tuple[list[EntryAnswer], list[OptionMove]]:
    """Moves of Table 1, of the correlations and of stopping; figures of two entries beside."""
    tables = {name: read_parquet(folder / "tables" / f"{name}.parquet")
              for name in ("alternatives", "tolerances", "specialized", "units")}  # fmt: skip
    before = _effects(_under(tables, BEFORE))
    moves = []
    for name, (option, label) in OPTIONS.items():
        own = name == NETWORK
        scores = UnitScores.read(folder, OWN) if own else _under(tables, name)
        after = _effects(scores)
        moves += [
            OptionMove(
                option=option, entry=entry, before=label, after=AFTER.get(name, name),
                value=float(change[0]), low=ends[0], high=ends[1],
            )
            for entry, draws in after.items()
            if not own or entry in CORRELATIONS
            for change in [draws - before[entry]]
            if not np.isnan(change[0])
            for ends in [compute_percentile_ends(change)]
        ]  # fmt: skip
    figures = [*_tolerances(tables), _specialized(tables["specialized"])]
    return [*figures, *pets_answers(folder, "EfficientNet-lite0")], moves


def lite_answers(folder: Path, size: int) -> tuple[list[EntryAnswer], list[OptionMove]]:
    """Of a larger network of the same architecture."""
    return pets_answers(folder, f"EfficientNet-lite{size}"), []


def pets_answers(folder: Path, network: str) -> list[EntryAnswer]:
    """The headline cells of a dissection on pets alone, and the same correlations given the number
    of images, as further cells of their entries. Accuracy is that of the network and of a probe."""
    return own_answers(folder, PETS | {"network": network}, probe=True)


def facade_answers(folder: Path) -> tuple[list[EntryAnswer], list[OptionMove]]:
    """Of the network that was trained on facades."""
    cells = {"data": "facades, test images", "network": "monumai-lite0"}
    return own_answers(folder, cells, probe=False), []


def own_answers(folder: Path, cells: dict[str, str], *, probe: bool) -> list[EntryAnswer]:
    """Correlations with the network's own accuracy, and all else."""
    own = accuracy_answers(UnitScores.read(folder, OWN))
    of_accuracy = {answer.entry for answer in own}
    others = [
        (answer, {} if answer.entry not in of_accuracy else {"accuracy": "probe"})
        for answer in detection_answers(folder)[0]
        if probe or answer.entry not in of_accuracy
    ]
    return [
        answer.model_copy(update={
            "nearest": answer.nearest and setting.get("accuracy") == NETWORK,
            "settings": answer.settings | cells | setting,
        })
        for answer, setting in chain(others, ((answer, {"accuracy": NETWORK}) for answer in own))
        if answer.nearest or _given_images(answer)
    ]  # fmt: skip


def _given_images(answer: EntryAnswer) -> bool:
    cell = {"formulas": "formula of three", "control": "log images"}
    return (
        answer.entry in CORRELATIONS
        and cell.items() <= answer.settings.items()
        and answer.settings["images"] != "overlap"
    )


def _under(tables: dict[str, dict[str, list[Any]]], name: str) -> UnitScores:
    table, units = tables["alternatives"], tables["units"]
    rows = [row for row, other in enumerate(table["alternative"]) if other == name]
    return UnitScores({key: [column[row] for row in rows] for key, column in table.items()}, units)


def _effects(scores: UnitScores) -> dict[str, Draws]:
    """Of each entry that a choice could move, as its verdict takes it."""
    single, three = (scores.column(way, "iou") for way in (SINGLE, THREE))
    more = np.where(np.isnan(single) | np.isnan(three), np.nan, three > single)
    concept, longer = (scores.column(way, DETECTION) for way in (SINGLE, THREE))
    differ = np.where(
        (concept == longer) | np.isnan(concept) | np.isnan(longer), np.nan, concept > longer
    )
    length = scores.column(STOPPED, "length")
    return {
        "P003-F0-01": PER_CENT * scores.resamples.mean(more),
        "P003-F0-02": PER_CENT * scores.resamples.mean(differ),
        "P003-F0-05": scores.r(THREE, DETECTION, SETS["union"]),
        "P003-F0-06": scores.r(THREE, DETECTION, SETS["intersection"]),
        "P003-F0-14": PER_CENT * scores.resamples.mean(np.where(length > 0, length == 1, np.nan)),
    }


def _tolerances(tables: dict[str, dict[str, list[Any]]]) -> Iterator[EntryAnswer]:
    """Lengths and correlations against the tolerance; the paper claims nothing of it."""
    table = {key: column for key, column in tables["tolerances"].items() if key != "tolerance"}
    table["formulas"] = [f"{tolerance:g}" for tolerance in tables["tolerances"]["tolerance"]]
    scores = UnitScores(table, tables["units"])
    for tolerance in dict.fromkeys(table["formulas"]):
        length = scores.column(tolerance, "length")
        r = {where: float(scores.r(tolerance, DETECTION, accuracy)[0])
             for where, accuracy in SETS.items()}  # fmt: skip
        yield EntryAnswer(
            entry="P003-F0-16", settings={"tolerance": float(tolerance)}, unit="units",
            n=int((length > 0).sum()),
            ours={
                "tolerance": float(tolerance),
                "mean length": float(length[length > 0].mean()),
                "one concept": PER_CENT * float((length[length > 0] == 1).mean()),
                **{f"r, {where}": value for where, value in r.items()},
            },
        )  # fmt: skip


def _specialized(table: dict[str, list[Any]]) -> EntryAnswer:
    """Return how many units of both kinds, and the first example of each."""
    ours: dict[str, float | str | None] = {}
    for kind in dict.fromkeys(table["kind"]):
        row = table["kind"].index(kind)
        ours[kind] = float(table["of"][row])
        ours[f"such as {table['unit'][row]}"] = (
            f"{table['alone'][row]} ({table['alone_detection_accuracy'][row]:.2f}), "
            f"of three: {table['three'][row]} ({table['three_detection_accuracy'][row]:.2f})"
        )
    return EntryAnswer(entry="P003-F-04", unit="units", ours=ours)
