"""Answers to entries of aysel2025 from the run of a post-hoc bottleneck with its studies."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import stdtr, stdtrit

from theodolite._storage.tables import read_parquet
from theodolite.errors import UnsafeInputError
from theodolite_reproductions.claims.answers.resampled import (
    Draws,
    UnitResamples,
    answer_from,
    compute_percentile_ends,
)
from theodolite_reproductions.claims.ledger import ledger
from theodolite_reproductions.claims.power import detectable_effect
from theodolite_reproductions.claims.results import EntryAnswer, OptionMove

TABLES = ("global_importance", "named_concepts", "regions")
PROJECTIONS, REFERENCES = ("dot", "margin", "centered"), ("share", "majority")
"""The first of each is nearest to the paper: a plain product, and numbers between 0 and 1."""
PRINTED = {"concepts": "P000-T6", "classes": "P000-T7"}
LOWEST = 0.1
LOW_CONCEPTS = ("black eye color",)
LOW_CLASSES = ("Spotted Catbird", "Pelagic Cormorant")
REGION_LINES = {"P000-F0-11": 1, "P000-F0-12": 6}
"""Location is said to be below a line in regions of these sizes."""
REGION_CHOICES = (
    ("P000-O-05", "share", "threshold", "threshold"),
    ("P000-O-08", "bilinear", "nearest", "nearest"),
    ("P000-O-08", "bilinear", "bicubic", "bicubic"),
    ("P000-O-08", "either of two", "both", "all_places"),
    ("P000-O-10", "any", "positive", "positive"),
)
"""Option, choices, and the column of the second."""
ON_PART = 0.05
"""The line of P000-F0-16."""
PER_CENT = 100.0
Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class AlignmentTables:
    """The tables of the studies, and resamples of classes that all statistics share."""

    importance: Columns
    named: Columns
    regions: Columns

    @classmethod
    def read(cls, folder: Path) -> "AlignmentTables":
        """From a run folder."""
        return cls(*(_table(folder, name) for name in TABLES))

    @cached_property
    def resamples(self) -> UnitResamples:
        """Classes, since images of a class are not independent."""
        return UnitResamples.draw(1 + max(self.named["class"]), "classes")

    def mean(self, table: Columns, values: Float[np.ndarray, " rows"]) -> Draws:
        """Mean over images and seeds, of what is defined, with whole classes drawn."""
        return self.resamples.clustered_mean(values, np.array(table["class"]))

    def cosines(self, over: str, form: int, projection: str, reference: str) -> "ItemValues":
        """CGIM of each item, mean over seeds."""
        cell = {"over": over, "form": form, "projection": projection, "reference": reference}
        rows = np.ones(len(self.importance["value"]), bool)
        for name, choice in cell.items():
            rows &= np.array([value == choice for value in self.importance[name]])
        names = np.array(self.importance["item"])[rows]
        values = np.array(self.importance["value"], float)[rows]
        items = tuple(dict.fromkeys(names.tolist()))
        return ItemValues(items, values.reshape(-1, len(items)))


@dataclass(frozen=True)
class ItemValues:
    """A number of each concept or class, for each seed."""

    names: tuple[str, ...]
    seeds: Float[np.ndarray, "seeds items"]

    @property
    def mean(self) -> Float[np.ndarray, " items"]:
        """Over seeds; undefined where it is with any."""
        return np.asarray(self.seeds.mean(axis=0))


def alignment_run_answers(folder: Path) -> tuple[list[EntryAnswer], list[OptionMove]]:
    """What the run says of Aysel et al. (2025)."""
    tables = AlignmentTables.read(folder)
    answers = [
        *_printed_lists(tables), *_ranks(tables), *_accuracy(tables),
        _whole_object(tables), *_together(tables), *_trained(tables),
    ]  # fmt: skip
    return answers, [*_region_moves(tables), *_reference_moves(tables)]


def examples_answers(folder: Path) -> tuple[list[EntryAnswer], list[OptionMove]]:
    """What a run with several numbers of examples says of them."""
    return [_examples(_table(folder, "setting_seeds"))], []


def _table(folder: Path, name: str) -> Columns:
    path = folder / "tables" / f"{name}.parquet"
    if not path.is_file():
        raise UnsafeInputError(
            "run", f"no table {name!r}", "one with studies", "Set `studies: true`."
        )
    return read_parquet(path)


def column(table: Columns, name: str) -> Float[np.ndarray, " rows"]:
    """Numbers; NaN where undefined."""
    return np.array(table[name], float)


def _printed_lists(tables: AlignmentTables) -> Iterator[EntryAnswer]:
    """Ours against the printed CGIM, item by item."""
    for over, group in PRINTED.items():
        for form in (1, 2, 3):
            entry = ledger().entry(f"{group}-{form:02d}")
            printed = np.array((entry.printed or {})["values"], float)
            resamples = UnitResamples.draw(len(printed), over)
            for projection in PROJECTIONS:
                if projection != "dot" and (over, form) == ("concepts", 1):
                    continue  # a concept's length does not turn its weights
                for reference in REFERENCES:
                    own = tables.cosines(over, form, projection, reference).mean
                    r = resamples.correlation(printed, own)
                    ours = {"r": float(r[0]), "mean": float(np.nanmean(own)),
                            "negative": float((own < 0).sum())}  # fmt: skip
                    yield answer_from(
                        entry.id, r, resamples, int((~np.isnan(own)).sum()),
                        {"projection": projection, "reference": reference}, ours,
                        nearest=(projection, reference) == ("dot", "share"),
                    )  # fmt: skip


def _ranks(tables: AlignmentTables) -> Iterator[EntryAnswer]:
    """Return whether those the paper names are in the lowest tenth, among items drawn again."""
    for entry, over, names in (
        ("P000-F0-09", "concepts", LOW_CONCEPTS), ("P000-F0-10", "classes", LOW_CLASSES),
    ):  # fmt: skip
        for reference in REFERENCES:
            items = tables.cosines(over, 1, "dot", reference)
            own = items.mean
            resamples = UnitResamples.draw(len(own), over)
            met = np.ones(len(resamples.times), bool)
            ours: dict[str, float] = {}
            for name in names:
                value = own[items.names.index(name)]
                met &= resamples.mean((own < value).astype(float)) < LOWEST
                ours |= {name: float(value), f"{name}, rank": float((own < value).sum() + 1)}
            share = float(met[1:].mean())
            yield EntryAnswer(
                entry=entry, settings={"reference": reference}, nearest=reference == "share",
                effect=share, low=share, high=share, unit=over, n=len(own), ours=dict(ours),
            )  # fmt: skip


def _accuracy(tables: AlignmentTables) -> Iterator[EntryAnswer]:
    """What the bottleneck costs, against a probe on the same features."""
    table = tables.named
    if "probe" not in table:
        return
    probe, own = (PER_CENT * column(table, name) for name in ("probe", "bottleneck"))
    ours = {"probe": float(probe.mean()), "bottleneck": float(own.mean())}
    cost, classes = tables.mean(table, probe - own), tables.resamples
    n = classes.times.shape[1]
    yield answer_from("P000-F0-14", cost, classes, n, {}, ours, nearest=True)


def _examples(table: Columns) -> EntryAnswer:
    """More examples against fewer, mean over regularisers; each seed draws its own."""
    seeds, examples = np.array(table["seed"]), np.array(table["examples"])
    accuracy = PER_CENT * column(table, "test_accuracy")
    few, many = examples.min(), examples.max()
    each = np.array([
        accuracy[(seeds == seed) & (examples == many)].mean()
        - accuracy[(seeds == seed) & (examples == few)].mean()
        for seed in np.unique(seeds)
    ])  # fmt: skip
    ours = {f"{count} examples": float(accuracy[examples == count].mean()) for count in (few, many)}
    ours |= {
        f"best, {count} examples": float(accuracy[examples == count].max()) for count in (few, many)
    }
    n, value = len(each), float(each.mean())
    error = float(each.std(ddof=1)) / np.sqrt(n) if n > 1 else np.nan
    if not error > 0:
        return EntryAnswer(entry="P000-F0-15", unit="seeds", n=n, ours=dict(ours))
    half = float(stdtrit(n - 1, 0.975)) * error
    return EntryAnswer(
        entry="P000-F0-15", nearest=True, effect=value, low=value - half, high=value + half,
        p=float(2 * stdtr(n - 1, -abs(value) / error)), unit="seeds", n=n,
        min_detectable_effect=detectable_effect(error), ours=dict(ours),
    )  # fmt: skip


def _whole_object(tables: AlignmentTables) -> EntryAnswer:
    """Return how far relevance gathers on the part, below the line."""
    table = tables.regions
    on_part, part = column(table, "on_part"), column(table, "part_of_box")
    names = ("on_part", "part_of_box", "in_box", "box_of_image")
    ours = {name.replace("_", " "): float(np.nanmean(column(table, name))) for name in names}
    return answer_from(
        "P000-F0-16", ON_PART - tables.mean(table, on_part - part), tables.resamples,
        _defined_classes(table, on_part), {}, ours, nearest=True,
    )  # fmt: skip


def _together(tables: AlignmentTables) -> Iterator[EntryAnswer]:
    """Whether absent concepts that are named go with present ones more than other absent ones."""
    table = tables.named
    for projection in PROJECTIONS:
        named, others = (column(table, f"{who}_{projection}") for who in ("named", "others"))
        both = named - others
        ours = {"named": float(np.nanmean(named)), "all absent": float(np.nanmean(others))}
        yield answer_from(
            "P000-F0-17", tables.mean(table, both), tables.resamples, _defined_classes(table, both),
            {"projection": projection}, ours, nearest=projection == "dot",
        )  # fmt: skip


def _trained(tables: AlignmentTables) -> Iterator[EntryAnswer]:
    """Existence under a bottleneck trained on labels minus under the post-hoc one, first five."""
    table = tables.named
    for encoding in ("soft", "logit"):
        for by in ("contribution", "value"):
            trained, own = (
                PER_CENT * column(table, f"{who}_{by}") for who in (encoding, "posthoc")
            )
            right = PER_CENT * column(table, f"{encoding}_right")
            ours = {"trained": float(np.nanmean(trained)), "post-hoc": float(np.nanmean(own)),
                    "accuracy, trained": float(right.mean())}  # fmt: skip
            yield answer_from(
                "P000-F0-18", tables.mean(table, trained - own), tables.resamples,
                _defined_classes(table, trained - own), {"values": encoding, "ranked by": by}, ours,
                nearest=(encoding, by) == ("soft", "contribution"),
            )  # fmt: skip


def _defined_classes(table: Columns, values: Float[np.ndarray, " rows"]) -> int:
    return len(np.unique(np.array(table["class"])[~np.isnan(values)]))


def _region_moves(tables: AlignmentTables) -> Iterator[OptionMove]:
    """What other regions do to location below a line: more hits move it down."""
    table = tables.regions
    for entry, alpha in REGION_LINES.items():
        first = column(table, f"bilinear_{alpha}")
        before = tables.mean(table, first)
        for option, was, becomes, name in REGION_CHOICES:
            change = before - tables.mean(table, column(table, f"{name}_{alpha}"))
            yield _move(option, entry, (was, becomes), PER_CENT * change)
        missed = tables.mean(table, np.nan_to_num(first, nan=0.0))
        yield _move("P000-O-06", entry, ("left out", "miss"), PER_CENT * (before - missed))


def _reference_moves(tables: AlignmentTables) -> Iterator[OptionMove]:
    """What annotations as yes and no do to the three claims about cosines of concepts."""
    for entry, form, below, sign in (
        ("P000-F0-06", 1, False, -1.0), ("P000-F0-07", 1, True, 1.0), ("P000-F0-08", 2, True, 1.0),
    ):  # fmt: skip
        sides = []
        for reference in REFERENCES:
            seeds = tables.cosines("concepts", form, "dot", reference).seeds
            each = np.where(np.isnan(seeds), np.nan, seeds < 0) if below else seeds
            sides.append(each.mean(axis=0))
        resamples = UnitResamples.draw(len(sides[0]), "concepts")
        change = sign * (resamples.mean(sides[1]) - resamples.mean(sides[0]))
        yield _move("P000-O-07", entry, REFERENCES, change)


def _move(option: str, entry: str, choices: tuple[str, ...], change: Draws) -> OptionMove:
    low, high = compute_percentile_ends(change)
    return OptionMove(
        option=option, entry=entry, before=choices[0], after=choices[1],
        value=float(change[0]), low=low, high=high,
    )  # fmt: skip
