"""What was found out about the units of a dictionary."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Integer

from theodolite._storage.optional import require
from theodolite.dissection.formula import Formula, from_rows
from theodolite.errors import printable
from theodolite.language.sae.formula_counts import FIELDS

Z = 1.959963984540054
"""Two-sided 95 %."""


@dataclass(frozen=True, eq=False)
class FormulaFit:
    """How well each unit's formula fits, from sums over documents; NaN where there is none."""

    sums: Integer[np.ndarray, "units fields"]
    documents: int
    """In all; resampled as wholes, since positions of a document are alike."""

    def _column(self, name: str) -> Float[np.ndarray, " units"]:
        return self.sums[:, FIELDS.index(name)].astype(np.float64)

    @property
    def iou(self) -> Float[np.ndarray, " units"]:
        """Positions in both over positions in either."""
        return _ratio(self._column("shared"), self._either())

    def _either(self) -> Float[np.ndarray, " units"]:
        either = self._column("unit") + self._column("formula") - self._column("shared")
        return np.where(self._column("formula") > 0, either, 0)

    @property
    def iou_interval(self) -> tuple[Float[np.ndarray, " units"], Float[np.ndarray, " units"]]:
        """95 %, by the variance of a ratio of sums over documents, on the scale of log-odds."""
        iou, n, either = self.iou, self.documents, self._either()
        ss, sn, nn = (self._column(name) for name in ("ss", "sn", "nn"))
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = np.maximum(ss - 2 * iou * sn + iou**2 * nn, 0) * (
                n / (n - 1 if n > 1 else np.nan)
            )
            error = np.sqrt(spread) / either / (iou * (1 - iou))
            odds = np.log(iou / (1 - iou))
            low, high = (1 / (1 + np.exp(-(odds + side * Z * error))) for side in (-1, 1))
        return low, high

    @property
    def detection_accuracy(self) -> Float[np.ndarray, " units"]:
        """Of the documents that show the formula, the share in which the unit meets it."""
        return _ratio(self._column("met"), self._column("documents"))

    @property
    def detection_interval(self) -> tuple[Float[np.ndarray, " units"], Float[np.ndarray, " units"]]:
        """95 %, by Wilson's rule: each document is one trial."""
        p, n = self.detection_accuracy, self._column("documents")
        with np.errstate(invalid="ignore", divide="ignore"):
            middle = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
            half = Z / (1 + Z**2 / n) * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
        return middle - half, middle + half


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    ratio = np.full(len(a), np.nan)
    np.divide(a, b, out=ratio, where=b > 0)
    return ratio


@dataclass(frozen=True, eq=False, repr=False)
class CodeDissection:
    """The formula that each unit of a dictionary detects."""

    concepts: tuple[str, ...]
    rows: Integer[np.ndarray, "units numbers"]
    """Formulas as numbers; see ``formulas``."""
    fit: FormulaFit
    chance: FormulaFit
    """The same search where labels were moved on to other documents: what it finds where there is
    little to find. NaN for units that were left out of the null."""
    gap: Float[np.ndarray, " units"]
    """No formula of as many concepts has an overlap that is larger by more; certified."""
    candidates: Integer[np.ndarray, " units"]
    """Concepts that the unit's formula was made of."""
    active: Integer[np.ndarray, " units"]
    """Positions at which the unit is above its threshold."""
    thresholds: Float[np.ndarray, " units"]
    single: Integer[np.ndarray, " units"]
    """The concept that fits best on its own; -1 for none."""
    single_iou: Float[np.ndarray, " units"]
    single_detection_accuracy: Float[np.ndarray, " units"]

    def __len__(self) -> int:
        return len(self.rows)

    def formula(self, unit: int) -> Formula | None:
        """Of a unit; none if it meets no concept."""
        return from_rows(self.rows[unit : unit + 1])[0]

    def formulas(self) -> list[str]:
        """Of each unit, in words; empty where there is none."""
        return ["" if f is None else f.text(self.concepts) for f in from_rows(self.rows)]

    def columns(self) -> dict[str, Any]:
        """A row for each unit."""
        singles = ["" if c < 0 else self.concepts[c] for c in self.single]
        low, high = self.fit.iou_interval
        least, most = self.fit.detection_interval
        return {
            "unit": np.arange(len(self)),
            "formula": self.formulas(),
            "length": self.rows[:, 0],
            "iou": self.fit.iou,
            "iou_low": low,
            "iou_high": high,
            "chance_iou": self.chance.iou,
            "detection_accuracy": self.fit.detection_accuracy,
            "detection_accuracy_low": least,
            "detection_accuracy_high": most,
            "chance_detection_accuracy": self.chance.detection_accuracy,
            "gap": self.gap,
            "candidates": self.candidates,
            "positions": self.active,
            "threshold": self.thresholds,
            "single": singles,
            "single_iou": self.single_iou,
            "single_detection_accuracy": self.single_detection_accuracy,
        }

    def to_records(self) -> list[dict[str, Any]]:
        """The same, a dictionary for each unit."""
        columns = {
            name: column.tolist() if hasattr(column, "tolist") else column
            for name, column in self.columns().items()
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_frame(self) -> Any:
        """The same as a pandas frame."""
        return require("pandas", "to_frame", "notebook").DataFrame(self.columns())

    def summary(self) -> dict[str, float]:
        """Means over the units that have a formula, beside those of the null."""
        explained = self.rows[:, 0] > 0
        fits = {"iou": self.fit.iou, "detection_accuracy": self.fit.detection_accuracy}
        chance = {"iou": self.chance.iou, "detection_accuracy": self.chance.detection_accuracy}
        means = {f"mean_{name}": _mean(values) for name, values in fits.items()}
        nulls = {f"mean_chance_{name}": _mean(values) for name, values in chance.items()}
        above = self.fit.iou_interval[0] > self.chance.iou
        return {
            "units": len(self),
            "with_formula": int(explained.sum()),
            "never_active": int((self.active == 0).sum()),
            "better_than_chance": int(above.sum()),
            "with_null": int(np.isfinite(self.chance.iou).sum()),
            **means,
            **nulls,
            "largest_gap": float(np.nanmax(self.gap)) if explained.any() else math.nan,
        }

    def __repr__(self) -> str:
        facts = self.summary()
        counts = f"{facts['with_formula']:,} of {len(self):,} units have a formula"
        fits = f"mean IoU {facts['mean_iou']:.3f}, by chance {facts['mean_chance_iou']:.3f}"
        return f"CodeDissection({printable(f'{counts}; {fits}', 200)})"


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan
