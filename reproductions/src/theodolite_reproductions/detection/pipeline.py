"""Dissect a layer, and compare the formulas that other choices give for the same units."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Bool

from theodolite.dissection.dissect import best_formulas
from theodolite.dissection.formula import Formula
from theodolite.dissection.quantiles import Maps
from theodolite.dissection.search import FormulaSearch, search
from theodolite.dissection.units import mark
from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import WorkContext
from theodolite.pipelines.dissection.pipeline import DissectionPipeline, FinishedDissection
from theodolite.pipelines.dissection.unit_tables import Table
from theodolite_reproductions.detection.alternatives import (
    DissectionAlternative,
    chosen_by_detection,
    four_ways,
    own_accuracy,
    specialized_table,
    tolerance_table,
    tolerated,
)
from theodolite_reproductions.detection.correlations import correlations, formula_scores


@dataclass(frozen=True, kw_only=True)
class DissectionStudyPipeline(DissectionPipeline):
    """Settings of a dissection, and the alternatives to compare it with."""

    alternatives: Mapping[str, DissectionAlternative] = field(default_factory=dict)
    """The same units under other choices, each in the table ``alternatives``."""
    tolerances: tuple[float, ...] = ()
    """By how much detection may fall where formulas are stopped by it; table ``tolerances``."""
    examples: int = 0
    """So many specialized units, and so many that are not, in the table ``specialized``."""
    network_classes: Mapping[str, int] = field(default_factory=dict)
    """From classes of the data to outputs of the network, for its own accuracy."""

    def compute_more_tables(
        self, finished: FinishedDissection, context: WorkContext
    ) -> dict[str, Table]:
        """Return the tables of the paper: scores and accuracy by formula, and alternatives."""
        tables: dict[str, Table] = {}
        if finished.right is not None:
            tables |= self._compare_formulas(finished, finished.right, context)
        if self.examples:
            tables["specialized"] = specialized_table(finished.units, self.examples)
        return tables

    def _compare_formulas(
        self, finished: FinishedDissection, right: Bool[np.ndarray, " n"], context: WorkContext
    ) -> dict[str, Table]:
        result, formula_search = finished.result, finished.formula_search
        fires = result.peak > result.limits
        variants = _variants(formula_search, finished.formulas)
        scores = formula_scores(result.atoms, result.units, variants, fires, right)
        tables = {"formula_scores": scores, "correlations": correlations(scores)}
        if self.network_classes:
            own = self._own_accuracy(finished)
            tables["own_formula_scores"] = formula_scores(
                result.atoms, result.units, variants, fires, *own
            )
        if self.tolerances:
            formulas = tolerated(formula_search, self.tolerances)
            tables["tolerances"] = tolerance_table(
                result.atoms, result.units, formulas, fires, right
            )
        columns: dict[str, list[Any]] = {}
        for done, (name, alternative) in enumerate(self.alternatives.items(), start=1):
            for column, values in self._alternative(finished, right, alternative).items():
                columns.setdefault(column, []).extend(values)
            rows = len(columns["unit"]) - len(columns.setdefault("alternative", []))
            columns["alternative"].extend([name] * rows)
            context.progress("alternatives", done, len(self.alternatives))
        return tables | ({"alternatives": columns} if columns else {})

    def _alternative(
        self,
        finished: FinishedDissection,
        right: Bool[np.ndarray, " n"],
        alternative: DissectionAlternative,
    ) -> Table:
        result, maps = finished.result, finished.maps
        units, limits, peak = result.units, result.limits, result.peak
        settings = replace(self, **alternative.get_settings())
        if not alternative.same_units:
            limits, peak = settings.compute_thresholds(maps, alternative.changed)
            limits = alternative.limits(limits)

            def read(first: int, last: int) -> Maps:
                return alternative.changed(maps.part(first, last)[:, : len(limits)])

            units = mark(read, result.atoms, limits, chunk=maps.step)
        formula_search = finished.formula_search
        if not alternative.same_search:
            formula_search = search(result.atoms, units, settings.get_beam(self.lengths))
        ways = four_ways(formula_search, self.length)
        return formula_scores(result.atoms, units, ways, peak > limits, right)

    def _own_accuracy(
        self, finished: FinishedDissection
    ) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
        data, backbone = finished.result.data, finished.backbone
        if data.labels is None or not set(self.network_classes) <= set(data.classes):
            raise EvidenceError("network_classes", f"{list(self.network_classes)}",
                                f"classes such as {list(data.classes[:3])}")  # fmt: skip
        known = {data.classes.index(name): at for name, at in self.network_classes.items()}
        return own_accuracy(
            finished.maps, backbone, self.layer or backbone.layer, data.labels, known
        )


def _variants(
    formula_search: FormulaSearch, formulas: Sequence[Formula | None]
) -> dict[str, Sequence[Formula | None]]:
    """The ways to choose formulas that the paper compares, and each length of its Figure 3."""
    return {
        "one concept": best_formulas(formula_search, 1),
        "as scored": formulas,
        **chosen_by_detection(formula_search),
        **{
            f"length {length}": best_formulas(formula_search, length)
            for length in range(2, formula_search.beam.lengths + 1)
        },
    }
