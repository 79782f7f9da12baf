"""Result of SAE dissection: the formula of each unit with its overlap and detection accuracy."""

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
"""Normal quantile of a two-sided 95 % interval."""


@dataclass(frozen=True, eq=False)
class FormulaFit:
    """Fit of each unit's formula, from sums over documents; NaN without a formula."""

    sums: Integer[np.ndarray, "units fields"]
    documents: int
    """Number of documents, which are the units of resampling."""

    def _column(self, name: str) -> Float[np.ndarray, " units"]:
        return self.sums[:, FIELDS.index(name)].astype(np.float64)

    @property
    def iou(self) -> Float[np.ndarray, " units"]:
        """Intersection over union of positions."""
        return _ratio(self._column("shared"), self._either())

    def _either(self) -> Float[np.ndarray, " units"]:
        either = self._column("unit") + self._column("formula") - self._column("shared")
        return np.where(self._column("formula") > 0, either, 0)

    @property
    def iou_interval(self) -> tuple[Float[np.ndarray, " units"], Float[np.ndarray, " units"]]:
        """95 % interval by the variance of a ratio of document sums, on the log-odds scale."""
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
        """Fraction of documents with the formula in which the unit meets it."""
        return _ratio(self._column("met"), self._column("documents"))

    @property
    def detection_interval(self) -> tuple[Float[np.ndarray, " units"], Float[np.ndarray, " units"]]:
        """95 % Wilson interval; each document is one trial."""
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
    """Formula that each unit of an SAE detects."""

    concepts: tuple[str, ...]
    rows: Integer[np.ndarray, "units numbers"]
    """Formulas as numbers; see ``formulas``."""
    fit: FormulaFit
    chance: FormulaFit
    """Fit of a search with shifted labels: the null. NaN for units left out of it."""
    gap: Float[np.ndarray, " units"]
    """Certified bound: no formula of as many concepts overlaps more by a larger amount."""
    candidates: Integer[np.ndarray, " units"]
    """Number of concepts that the unit's formula was chosen from."""
    active: Integer[np.ndarray, " units"]
    """Number of positions at which the unit exceeds its threshold."""
    thresholds: Float[np.ndarray, " units"]
    single: Integer[np.ndarray, " units"]
    """Best single concept; -1 for none."""
    single_iou: Float[np.ndarray, " units"]
    single_detection_accuracy: Float[np.ndarray, " units"]

    def __len__(self) -> int:
        return len(self.rows)

    def formula(self, unit: int) -> Formula | None:
        """Return the formula of a unit, or None."""
        return from_rows(self.rows[unit : unit + 1])[0]

    def formulas(self) -> list[str]:
        """Return all formulas in words; empty where there is none."""
        return ["" if f is None else f.text(self.concepts) for f in from_rows(self.rows)]

    def columns(self) -> dict[str, Any]:
        """Return a table with a row per unit."""
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
        """Return a dict for each unit."""
        columns = {
            name: column.tolist() if hasattr(column, "tolist") else column
            for name, column in self.columns().items()
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_frame(self) -> Any:
        """Return a pandas frame with a row per unit."""
        return require("pandas", "to_frame", "notebook").DataFrame(self.columns())

    def summary(self) -> dict[str, float]:
        """Return means over units with a formula, and those of the null."""
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
