"""Answers to entries of Makinwa et al. (2022) from the run of a dissection."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite._storage.tables import read_parquet
from theodolite_reproductions.claims.answers.resampled import (
    Draws,
    UnitResamples,
    answer_from,
    compute_percentile_ends,
    slope_over_range,
)
from theodolite_reproductions.claims.results import EntryAnswer, OptionMove

SINGLE, THREE, CHOSEN, STOPPED = (
    "one concept", "as scored", "chosen by detection", "stopped by detection",
)  # fmt: skip
LENGTHS = (SINGLE, "length 2", THREE, *(f"length {n}" for n in range(4, 11)))
SCORES = {"detection accuracy": "detection_accuracy", "IoU": "iou"}
SETS = {"union": "accuracy_either", "intersection": "accuracy_present"}
"""The paper's words for the intersection: unit and formula are both in the image."""
OVERLAP = "accuracy_both"
"""What its code computes: they share a pixel."""
TWO_SCORES = ("P003-F0-08", "P003-F0-10")
"""Claims about both scores."""
PER_CENT = 100.0


@dataclass(frozen=True)
class UnitScores:
    """Each unit under each way to choose its formula, and the resamples of all statistics."""

    table: dict[str, list[Any]]
    units: dict[str, list[Any]]

    @classmethod
    def read(cls, folder: Path, table: str = "formula_scores") -> "UnitScores":
        """From the tables of a run."""
        names = (table, "units")
        return cls(*(read_parquet(folder / "tables" / f"{name}.parquet") for name in names))

    @cached_property
    def resamples(self) -> UnitResamples:
        """Units, the same in each resample for all statistics."""
        return UnitResamples.draw(len(self.units["unit"]), "units")

    def column(self, formulas: str, name: str) -> Float[np.ndarray, " units"]:
        """A column of one way to choose formulas; NaN where undefined."""
        rows = np.array(self.table["formulas"]) == formulas
        return np.asarray(np.array(self.table[name], float)[rows])

    def r(self, formulas: str, score: str, accuracy: str, *, given_images: bool = False) -> Draws:
        """Correlation over units of a score with accuracy, or that given log images."""
        images = self.column(formulas, "images")
        control = np.log(np.where(images > 0, images, np.nan)) if given_images else None
        x, y = self.column(formulas, score), self.column(formulas, accuracy)
        return self.resamples.correlation(x, y, control)

    def n(self, formulas: str, *names: str) -> int:
        """Units with all of these."""
        undefined = np.zeros(len(self.units["unit"]), bool)
        for name in names:
            undefined |= np.isnan(self.column(formulas, name))
        return int((~undefined).sum())


def detection_answers(folder: Path) -> tuple[list[EntryAnswer], list[OptionMove]]:
    """What the run says of Makinwa et al. (2022)."""
    scores = UnitScores.read(folder)
    own = chain(_higher(scores), _by_length(scores), accuracy_answers(scores), _chosen(scores))
    return list(own), list(_moves(scores))


def accuracy_answers(scores: UnitScores) -> list[EntryAnswer]:
    """What goes with accuracy on a unit's images."""
    return list(
        chain(_correlations(scores), _closer(scores), _differences(scores), _tables(scores))
    )


def _higher(scores: UnitScores) -> Iterator[EntryAnswer]:
    single, three = (scores.column(way, "iou") for way in (SINGLE, THREE))
    more = np.where(np.isnan(single) | np.isnan(three), np.nan, three > single)
    overlap = PER_CENT * scores.resamples.mean(more)
    n = scores.n(SINGLE, "iou")
    ours = {"formula of three, IoU": float(overlap[0])}
    yield answer_from("P003-F0-01", overlap - 90, scores.resamples, n, {}, ours, nearest=True)
    single, three = (scores.column(way, "detection_accuracy") for way in (SINGLE, THREE))
    differ = np.where(single == three, np.nan, single > three)
    differ[np.isnan(single) | np.isnan(three)] = np.nan
    prefer = PER_CENT * scores.resamples.mean(differ)
    known = int((~np.isnan(differ)).sum())
    ours = {"one concept, of those that differ": float(prefer[0])}
    yield answer_from("P003-F0-02", prefer - 50, scores.resamples, known, {}, ours, nearest=True)
    higher = {
        "one concept, detection accuracy": PER_CENT * float(np.nanmean(single > three)),
        "formula of three, detection accuracy": PER_CENT * float(np.nanmean(three > single)),
    }
    yield EntryAnswer(
        entry="P003-T1-01", n=n, unit="units",
        ours={"formula of three, IoU": float(overlap[0])} | higher,
    )  # fmt: skip


def _by_length(scores: UnitScores) -> Iterator[EntryAnswer]:
    ends = LENGTHS[0], LENGTHS[-1]
    for entry, name, sign in (("P003-F0-03", "iou", 1), ("P003-F0-04", "detection_accuracy", -1)):
        first, last = (scores.column(way, name) for way in ends)
        change = sign * scores.resamples.mean(last - first)
        ours = {"length 1": float(np.nanmean(first)), "length 10": float(np.nanmean(last))}
        n = scores.n(ends[1], name)
        yield answer_from(entry, change, scores.resamples, n, {}, ours, nearest=True)


def _correlations(scores: UnitScores) -> Iterator[EntryAnswer]:
    name = "detection_accuracy"
    sets = {
        "P003-F0-05": {"either": SETS["union"]},
        "P003-F0-06": {"present": SETS["intersection"], "overlap": OVERLAP},
    }
    for entry, columns in sets.items():
        for formulas in (THREE, SINGLE):
            for meeting, accuracy in columns.items():
                for control in ("none", "log images"):
                    given_images = control != "none"
                    r = scores.r(formulas, name, accuracy, given_images=given_images)
                    cell = {"formulas": _words(formulas), "control": control, "images": meeting}
                    nearest = formulas == THREE and not given_images and meeting != "overlap"
                    yield answer_from(
                        entry, r, scores.resamples, scores.n(formulas, name, accuracy), cell,
                        {"r": float(r[0])}, nearest=nearest,
                    )  # fmt: skip


def _closer(scores: UnitScores) -> Iterator[EntryAnswer]:
    """Return whether detection accuracy goes with accuracy more closely than overlap."""
    for formulas in (THREE, SINGLE):
        for where, accuracy in SETS.items():
            for control in ("none", "log images"):
                detected, overlap = (
                    scores.r(formulas, name, accuracy, given_images=control != "none")
                    for name in SCORES.values()
                )
                cell = {"formulas": _words(formulas), "set": where, "control": control}
                yield answer_from(
                    "P003-F0-07", detected - overlap, scores.resamples,
                    scores.n(formulas, "iou", accuracy), cell,
                    {"r, detection accuracy": float(detected[0]), "r, IoU": float(overlap[0])},
                    nearest=(formulas, where, control) == (THREE, "union", "none"),
                )  # fmt: skip


def _differences(scores: UnitScores) -> Iterator[EntryAnswer]:
    """Two correlations over the same units, one minus the other."""
    for where, accuracy in SETS.items():
        by = {
            (way, label): scores.r(way, name, accuracy)
            for way in (SINGLE, THREE, CHOSEN, STOPPED)
            for label, name in SCORES.items()
        }
        detected, overlap = SCORES
        pairs = [
            ("P003-F0-08", (SINGLE, detected), (THREE, detected)),
            ("P003-F0-08", (THREE, overlap), (SINGLE, overlap)),
            *(("P003-F0-10", (THREE, score), (CHOSEN, score)) for score in SCORES),
            ("P003-F0-11", (STOPPED, detected), (THREE, detected)),
            ("P003-F0-12", (THREE, overlap), (STOPPED, overlap)),
        ]
        for number, (entry, more, less) in enumerate(pairs):
            ours = {f"r, {_words(way)}, {score}": float(by[way, score][0])
                    for way, score in (more, less)}  # fmt: skip
            cell = {"set": where} | ({"score": more[1]} if entry in TWO_SCORES else {})
            first = where == "union" and entry not in {name for name, *_ in pairs[:number]}
            yield answer_from(
                entry, by[more] - by[less], scores.resamples, scores.n(THREE, "iou", accuracy),
                cell, ours, nearest=first,
            )  # fmt: skip
        for label, name in SCORES.items():
            rows = [scores.r(way, name, accuracy) for way in LENGTHS]
            change = slope_over_range(rows) * (-1 if label == detected else 1)
            ours = {"r at length 1": float(rows[0][0]), "r at length 10": float(rows[-1][0])}
            yield answer_from(
                "P003-F0-09", change, scores.resamples, scores.n(THREE, name, accuracy),
                {"set": where, "score": label}, ours,
                nearest=where == "union" and label == detected,
            )  # fmt: skip


def _tables(scores: UnitScores) -> Iterator[EntryAnswer]:
    """Tables 2 to 4, cell by cell."""
    ways = {"P003-T2-01": (THREE, SINGLE), "P003-T3-01": (CHOSEN,), "P003-T4-01": (STOPPED,)}
    for entry, formulas in ways.items():
        for way in formulas:
            for where, accuracy in SETS.items():
                for label, name in SCORES.items():
                    r = scores.r(way, name, accuracy)
                    # the only printed correlation below 0
                    turned = (way, where, label) == (STOPPED, "intersection", "IoU")
                    nearest = (way, where, label) == (formulas[0], "union", "detection accuracy")
                    cell = {"formulas": _words(way), "set": where, "score": label}
                    yield answer_from(
                        entry, -r if turned else r, scores.resamples,
                        scores.n(way, name, accuracy), cell, {"r": float(r[0])}, nearest=nearest,
                    )  # fmt: skip


def _chosen(scores: UnitScores) -> Iterator[EntryAnswer]:
    """Return how long formulas are after choosing and after stopping."""
    share = {}
    for way in (CHOSEN, STOPPED):
        length = scores.column(way, "length")
        single = np.where(length > 0, length == 1, np.nan)
        share[way] = PER_CENT * scores.resamples.mean(single)
    n = int((scores.column(CHOSEN, "length") > 0).sum())
    for entry, way, line in (("P003-F0-13", CHOSEN, 50), ("P003-F0-14", STOPPED, 50)):
        ours = {"one concept": float(share[way][0])}
        yield answer_from(entry, share[way] - line, scores.resamples, n, {}, ours, nearest=True)
    yield EntryAnswer(
        entry="P003-T5-01", n=n, unit="units", ours={"one concept": float(share[CHOSEN][0])}
    )
    stopped = scores.column(STOPPED, "length") == 1
    special = np.where(stopped, np.array(scores.units["specialized"], float), np.nan)
    flagged = PER_CENT * scores.resamples.mean(special)
    ours = {"specialized, of those with one concept": float(flagged[0])}
    yield answer_from(
        "P003-F0-15", flagged - 50, scores.resamples, int(stopped.sum()), {}, ours, nearest=True
    )
    yield EntryAnswer(
        entry="P003-T5-02", n=n, unit="units",
        ours={"one concept": float(share[STOPPED][0])} | ours,
    )  # fmt: skip


def _moves(scores: UnitScores) -> Iterator[OptionMove]:
    """What the choices that were tried do to the two correlations, formulas of three."""
    name = "detection_accuracy"
    for entry, accuracy in (("P003-F0-05", SETS["union"]), ("P003-F0-06", SETS["intersection"])):
        raw = scores.r(THREE, name, accuracy)
        change = scores.r(THREE, name, accuracy, given_images=True) - raw
        low, high = compute_percentile_ends(change)
        yield OptionMove(
            option="P003-O-06", entry=entry, before="none", after="log images",
            value=float(change[0]), low=low, high=high,
        )  # fmt: skip
    change = scores.r(THREE, name, OVERLAP) - scores.r(THREE, name, SETS["intersection"])
    low, high = compute_percentile_ends(change)
    yield OptionMove(
        option="P003-O-03", entry="P003-F0-06", before="present", after="overlap",
        value=float(change[0]), low=low, high=high,
    )  # fmt: skip


def _words(formulas: str) -> str:
    return "formula of three" if formulas == THREE else formulas
