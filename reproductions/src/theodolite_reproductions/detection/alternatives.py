"""The same units under other choices: beam, threshold, activation, whose accuracy, tolerance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.dissection.atoms import Atoms
from theodolite.dissection.dissect import best_formulas
from theodolite.dissection.formula import Formula
from theodolite.dissection.quantiles import Maps, Method
from theodolite.dissection.search import FormulaSearch
from theodolite.dissection.units import UnitMasks
from theodolite.errors import EvidenceError
from theodolite.models.loaded_model import LoadedModel
from theodolite.pipelines.feature_pass import FeaturePass
from theodolite_reproductions.detection.correlations import Table, formula_scores

SPECIALIZED, OTHER = "specialized", "one concept, not specialized"
Formulas = Sequence[Formula | None]


@dataclass(frozen=True, kw_only=True)
class DissectionAlternative:
    """What is chosen otherwise; the rest is as for the units that are scored."""

    __pydantic_config__ = {"extra": "forbid"}

    beam: int | None = None
    candidates: int | None = None
    distinct: bool | None = None
    method: Method | None = None
    active: Literal["above", "at or above"] = "above"
    """Of values that equal the threshold."""
    activation: Literal["as captured", "clipped at 6"] = "as captured"
    """``clipped at 6``: what ReLU6 makes of maps that were captured before it."""

    @property
    def same_units(self) -> bool:
        """Whether the units mark the same pixels."""
        return self.method is None and self.active == "above" and self.activation == "as captured"

    @property
    def same_search(self) -> bool:
        """Whether formulas are those of the units that are scored."""
        return self.same_units and (self.beam, self.candidates, self.distinct) == (None,) * 3

    def get_settings(self) -> dict[str, Any]:
        """Return the settings of the dissection that this replaces."""
        names = ("beam", "candidates", "distinct", "method")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def changed(self, maps: Maps) -> Maps:
        """What the units are taken from."""
        return maps if self.activation == "as captured" else np.asarray(np.clip(maps, 0.0, 6.0))

    def limits(self, limits: Float[np.ndarray, " units"]) -> Float[np.ndarray, " units"]:
        """Thresholds; one step lower where a value that equals them is to be active."""
        if self.active == "above":
            return limits
        lower = np.nextafter(np.asarray(limits, np.float32), np.float32(-np.inf))
        return np.asarray(lower)


def chosen_by_detection(formula_search: FormulaSearch) -> dict[str, Formulas]:
    """Return the formulas of the two rules that look at detection accuracy."""
    units = range(len(formula_search.searched))
    ways = {
        "chosen by detection": map(formula_search.selected, units),
        "stopped by detection": map(formula_search.stopped, units),
    }
    return {name: [None if f is None else f.formula for f in way] for name, way in ways.items()}


def four_ways(formula_search: FormulaSearch, length: int) -> dict[str, Formulas]:
    """One concept, the length that is scored, chosen and stopped by detection."""
    return {
        "one concept": best_formulas(formula_search, 1),
        "as scored": best_formulas(formula_search, length),
        **chosen_by_detection(formula_search),
    }


def tolerated(formula_search: FormulaSearch, tolerances: Sequence[float]) -> dict[float, Formulas]:
    """Formulas of the stopping rule if detection may fall by so much at each step."""
    return {
        tolerance: [
            None
            if (stopped := formula_search.stopped(unit, tolerance)) is None
            else stopped.formula
            for unit in range(len(formula_search.searched))
        ]
        for tolerance in tolerances
    }


def tolerance_table(
    atoms: Atoms, units: UnitMasks, formulas: Mapping[float, Formulas],
    fires: Bool[np.ndarray, "images units"], right: Bool[np.ndarray, " images"],
) -> Table:  # fmt: skip
    """Each unit under each tolerance: the length of its formula, its scores, accuracy."""
    ways = {f"{tolerance:g}": own for tolerance, own in formulas.items()}
    scores = dict(formula_scores(atoms, units, ways, fires, right))
    return {"tolerance": [float(name) for name in scores.pop("formulas")]} | scores


def specialized_table(units: Mapping[str, Sequence[Any]], examples: int) -> Table:
    """How many units stop at one concept and meet it more often than the formula of three, how many
    stop there and do not, and examples of both (the paper's Figures 6 and 7)."""
    columns = ("unit", "alone", "alone_detection_accuracy", "three", "three_detection_accuracy")
    table: dict[str, list[Any]] = {name: [] for name in ("kind", "of", *columns)}
    single = [
        formula is not None and formula == concept
        for formula, concept in zip(units["stopped"], units["alone"], strict=True)
    ]
    for kind, special in ((SPECIALIZED, True), (OTHER, False)):
        rows = [
            row for row, flag in enumerate(units["specialized"]) if single[row] and flag is special
        ]
        best = sorted(rows, key=lambda row: -units["alone_detection_accuracy"][row])
        for row in best[:examples]:
            table["kind"].append(kind)
            table["of"].append(len(rows))
            for name in columns:
                table[name].append(units[name][row])
    return table


def own_accuracy(
    maps: FeaturePass, backbone: LoadedModel, layer: str, labels: Int[np.ndarray, " images"],
    known: Mapping[int, int],
) -> tuple[Bool[np.ndarray, " images"], Bool[np.ndarray, " images"]]:  # fmt: skip
    """Whether the network's first class is the image's, and of which images it knows the class.

    Args:
        maps: What the layer gave.
        backbone: The network; the layer is its last with a spatial grid, or that before its
            activation.
        layer: See there.
        labels: The class of each image.
        known: From a class of the data to that of the network.
    """
    import torch  # noqa: PLC0415

    network: Any = backbone.network
    if not hasattr(network, "forward_head") or layer.split(".")[0] != backbone.layer:
        raise EvidenceError("layer", repr(layer), f"{backbone.layer!r}, the last before the head")
    act = getattr(getattr(network, backbone.layer), "act", None)
    first: list[np.ndarray] = []
    with torch.inference_mode():
        for part in maps:
            inputs = torch.from_numpy(part)
            if "." in layer and act is not None:
                inputs = act(inputs)
            first.append(network.forward_head(inputs).argmax(dim=1).numpy())
    its_own = np.array([known.get(int(label), -1) for label in labels])
    return np.concatenate(first) == its_own, its_own >= 0
