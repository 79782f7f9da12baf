"""Dissect an SAE: find a formula of concepts for each latent. Public as
``theodolite.dissect_sae``."""

from dataclasses import replace

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.evidence.workers import SerialWorkers, Workers
from theodolite.language.sae.evidence import SparseActivationEvidence
from theodolite.language.sae.formula_counts import FIELDS, count_formulas
from theodolite.language.sae.inventory import Inventory, compute_thresholds, take_inventory
from theodolite.language.sae.result import CodeDissection, FormulaFit
from theodolite.language.sae.search import (
    MAX_CANDIDATES,
    MAX_FORMULA_LENGTH,
    CodeSearch,
    find_formulas,
)

MAX_POSITIONS = 1 << 32
"""Largest number of positions; more would need wider tables."""


def dissect_sae(
    evidence: SparseActivationEvidence,
    *,
    workers: Workers | None = None,
    quantile: float = 0.995,
    length: int = MAX_FORMULA_LENGTH,
    candidates: int = 64,
    gap: float = 0.03,
    precision: float = 0.01,
    min_documents: int = 1,
    null_units: int | None = None,
    device: str | None = None,
    seed: int = 0,
) -> CodeDissection:
    """Find the formula of concepts that each unit of an SAE detects.

    Args:
        evidence: Sparse codes with labels.
        workers: Who does the pieces; this process with all its cores if not given.
        quantile: A unit that is active at more than a share ``1 - quantile`` of all positions
            counts only where it exceeds this quantile of its own values.
        length: Concepts of a formula, 1 to 3.
        candidates: Concepts that a unit's formula is first looked for in, up to 256.
        gap: Twice as many where a better formula by more than this is not excluded.
        precision: How much better a formula of three concepts must be for being looked for; 0 for
            the best formula of all candidates.
        min_documents: Concepts in fewer are left out.
        null_units: How many units the null is made for, drawn by ``seed``; all if not given.
        device: Count by torch on this device, such as ``cuda``; the counts are the same.
        seed: Of the null, which moves labels on to other documents.
    """
    how = _checked(length, candidates, gap, precision)
    if evidence.documents < 2 or evidence.positions >= MAX_POSITIONS:
        raise EvidenceError(
            "codes", f"{evidence.documents} documents, {evidence.positions:,} positions",
            f"at least two documents, and fewer than {MAX_POSITIONS:,} positions",
        )  # fmt: skip
    if null_units is not None and not 0 <= null_units <= evidence.units:
        raise EvidenceError("null_units", f"{null_units}", f"0 to {evidence.units:,}")
    workers = workers or SerialWorkers()
    inventory = take_inventory(evidence, workers, min_documents)
    limits = compute_thresholds(evidence, workers, inventory.active, quantile)
    job = _Job(evidence, workers, inventory, limits, how, device)
    units = np.arange(evidence.units)
    own = job.run(units, None)
    null_sample = units
    if null_units is not None:
        null_sample = np.sort(np.random.default_rng(seed).permutation(evidence.units)[:null_units])
    chance = np.zeros((evidence.units, len(FIELDS)), np.int64)
    if len(null_sample):
        chance[null_sample] = job.run(null_sample, seed)["sums"]
    return _result(evidence, inventory, limits, own, chance)


def _checked(length: int, candidates: int, gap: float, precision: float) -> CodeSearch:
    if not 1 <= length <= MAX_FORMULA_LENGTH:
        raise EvidenceError("length", f"{length}", f"1 to {MAX_FORMULA_LENGTH}")
    if not 1 <= candidates <= MAX_CANDIDATES:
        raise EvidenceError("candidates", f"{candidates}", f"1 to {MAX_CANDIDATES}")
    if not (gap >= 0 and 0 <= precision < 1):
        raise EvidenceError("gap and precision", f"{gap} and {precision}", "shares of at least 0")
    return CodeSearch(length, candidates, gap, precision)


class _Job:
    """Three passes over one evidence, with original or shifted labels."""

    def __init__(
        self,
        evidence: SparseActivationEvidence,
        workers: Workers,
        inventory: Inventory,
        limits: np.ndarray,
        how: CodeSearch,
        device: str | None,
    ) -> None:
        self.evidence, self.workers, self.inventory = evidence, workers, inventory
        self.limits, self.how, self.device = limits, how, device

    def run(self, units: np.ndarray, seed: int | None) -> dict[str, np.ndarray]:
        how = self.how if seed is None else replace(self.how, gap=np.inf)
        result = find_formulas(
            self.evidence, self.workers, self.inventory, units, self.limits, how, seed=seed,
            device=self.device,
        )  # fmt: skip
        result["sums"] = count_formulas(
            self.evidence, self.workers, units, self.limits, result["formulas"], seed
        )
        return result


def _result(
    evidence: SparseActivationEvidence,
    inventory: Inventory,
    limits: np.ndarray,
    own: dict[str, np.ndarray],
    chance: np.ndarray,
) -> CodeDissection:
    single, shared, met = own["single"].T
    concept = np.maximum(single, 0)
    sizes = inventory.sets.pairs.diagonal()[concept]
    active = own["active"][:, 0]
    none = single < 0
    either = np.where(none, 1, active + sizes - shared)
    documents = np.maximum(inventory.documents[concept], 1)
    return CodeDissection(
        evidence.concepts,
        own["formulas"],
        FormulaFit(own["sums"], evidence.documents),
        FormulaFit(chance, evidence.documents),
        own["gap"],
        own["candidates"],
        active,
        limits,
        single,
        np.where(none, np.nan, shared / either),
        np.where(none, np.nan, met / documents),
    )
