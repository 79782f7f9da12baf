"""Count the answers of `theodolite.audit` to "leak-free" on planted leaks and honest values.

    python -m benchmarks.leak_free_verdicts --draws 100 --cells xor one_of_40 --out counts.json

Evidence is drawn here, not by the code of validation records. Each line has the counts of yes,
partly, no and inconclusive, how many answers are right, and the CPU seconds of one audit. Counts
in OUT are kept, and a cell that is there is not drawn again.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq

import theodolite

METRICS = ("joint_task_leakage", "predictive_task_leakage")
ANSWERS = ("yes", "partly", "no", "inconclusive")
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(81)
Arrays = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """Evidence to draw, and what is right to answer about it."""

    draw: Callable[..., Arrays]
    right: tuple[str, ...]
    settings: Arrays = field(default_factory=dict)


def shift_for(share: float) -> float:
    """Return by how far labels -1 and 1 must move a normal value to tell this share of a bit."""

    def told(shift: float) -> float:
        lost = np.logaddexp(0.0, -2 * shift * (shift + NODES)) @ WEIGHTS / WEIGHTS.sum()
        return float(1 - lost / np.log(2))

    return float(brentq(lambda shift: told(shift) - share, 0.0, 20.0))


def soft(truth: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return values that carry a concept and a deviation."""
    return np.asarray(0.25 + 0.5 * truth + 0.05 * z)


def leaking(
    random: np.random.Generator, n: int = 1000, concepts: int = 6, kind: str = "xor",
    share: float = 0.0, number: int = 0,
) -> Arrays:  # fmt: skip
    """Values that tell the label in a way that the mean over concepts does not show."""
    truth, labels = random.random((n, concepts)) < 0.5, random.integers(0, 2, n)
    z, sign = random.normal(size=truth.shape), np.where(labels == 1, 1.0, -1.0)
    if kind == "xor":
        z[:, 1] = np.abs(z[:, 1]) * np.sign(z[:, 0]) * sign
    elif kind == "xor with truth":
        z[:, 0] = np.abs(z[:, 0]) * sign * np.where(truth[:, 1], 1.0, -1.0)
    elif kind == "each":
        z += sign[:, None] * shift_for(share)
    elif kind == "one":
        z[:, 0] += 4 * sign
    elif kind == "wave":
        z[:, 0] = (random.integers(0, 8, n) + 0.5 * (labels == 1) + random.random(n) / 2) / 8
    else:  # thin: all concepts together tell this share
        z += sign[:, None] * shift_for(share) / np.sqrt(concepts)
    return {"values": soft(truth, z), "truth": truth, "labels": labels}


def clean(  # noqa: PLR0913  each is a way to mislead
    random: np.random.Generator, n: int = 1000, concepts: int = 5, labels: int = 2,
    balance: float = 0.0, truth: str = "free", crosstalk: float = 0.0, error: float = 0.0,
    declared: float | None = None, code: str = "", unknown: float = 0.0,
) -> Arrays:  # fmt: skip
    """Values of an honest model: they depend on the real concepts alone."""
    y = random.integers(0, labels, n)
    y = (random.random(n) > balance).astype(int) if balance else y
    real = random.random((n, concepts)) < 0.5
    if truth == "class":
        likely = np.where(random.random((labels, concepts)) < 0.5, 0.8, 0.2)
        real = random.random((n, concepts)) < likely[y]
    elif truth == "correlated":
        shared = random.normal(size=(n, 1))
        real = 0.7 * shared + 0.7 * random.normal(size=(n, concepts)) > 0
    z = random.normal(size=real.shape)
    if crosstalk:
        centered = real - real.mean(axis=0)
        z += 2 * crosstalk * (centered.sum(axis=1, keepdims=True) - centered)
    values = soft(real, z)
    values = {"": values, "percent": values.round(2), "int8": np.round(127 * values)}[code]
    annotated = real ^ (random.random(real.shape) < error)
    arrays: Arrays = {"values": values, "truth": annotated, "labels": y}
    arrays |= {"annotation_error": declared} if declared is not None else {}
    return arrays | ({"known": random.random(real.shape) >= unknown} if unknown else {})


def grouped(  # noqa: PLR0913  each is a way to group
    random: np.random.Generator, *, n: int = 300, size: int = 5, within: float = 0.1,
    pareto: bool = False, shuffled: bool = False, declared: bool = False, concepts: int = 3,
) -> Arrays:  # fmt: skip
    """Honest values of groups of similar rows."""
    sizes = np.full(n // size, size)
    if pareto:
        sizes = np.minimum(np.ceil(random.pareto(1.2, n) + 0.1), 60).astype(int)
        sizes = sizes[: int(np.searchsorted(sizes.cumsum(), n)) + 1]
    group = np.repeat(np.arange(len(sizes)), sizes)
    truth, labels = random.random((len(sizes), concepts)) < 0.5, random.integers(0, 2, len(sizes))
    z = random.normal(size=truth.shape)[group]
    z = (z + within * random.normal(size=z.shape)) / np.hypot(1, within)
    order = random.permutation(len(group)) if shuffled else np.arange(len(group))
    arrays = {"values": soft(truth[group], z), "truth": truth[group], "labels": labels[group]}
    arrays = {name: array[order] for name, array in arrays.items()}
    return arrays | ({"clusters": group[order]} if declared else {})


NO, HONEST, NOT_YES = ("no",), ("yes", "inconclusive"), ("partly", "no", "inconclusive")
CELLS: dict[str, Cell] = {
    "xor": Cell(leaking, NO, {"kind": "xor"}),
    "xor_300": Cell(leaking, NO, {"kind": "xor", "n": 300, "concepts": 3}),
    "xor_30": Cell(leaking, NO, {"kind": "xor", "concepts": 30}),
    "xor_with_truth": Cell(leaking, NO, {"kind": "xor with truth"}),
    "each_02_of_20": Cell(leaking, NO, {"kind": "each", "share": 0.02, "concepts": 20}),
    "each_02_of_50": Cell(leaking, NO, {"kind": "each", "share": 0.02, "concepts": 50}),
    "each_02_of_112": Cell(leaking, NO, {"kind": "each", "share": 0.02, "concepts": 112}),
    "one_of_40": Cell(leaking, NO, {"kind": "one", "concepts": 40}),
    "one_of_40_300": Cell(leaking, NO, {"kind": "one", "concepts": 40, "n": 300}),
    "wave": Cell(leaking, NO, {"kind": "wave"}),
    "at_tolerance_5": Cell(leaking, NOT_YES, {"kind": "thin", "share": 0.05, "concepts": 5}),
    "at_tolerance_30": Cell(leaking, NOT_YES, {"kind": "thin", "share": 0.05, "concepts": 30}),
    "at_tolerance_112": Cell(leaking, NOT_YES, {"kind": "thin", "share": 0.05, "concepts": 112}),
    "clean": Cell(clean, HONEST),
    "clean_30": Cell(clean, HONEST, {"concepts": 30}),
    "clean_300": Cell(clean, HONEST, {"n": 300}),
    "labels_10": Cell(clean, HONEST, {"labels": 10}),
    "labels_50": Cell(clean, HONEST, {"labels": 50}),
    "labels_50_300": Cell(clean, HONEST, {"labels": 50, "n": 300}),
    "labels_60": Cell(clean, ("inconclusive",), {"labels": 60, "concepts": 3, "n": 1200}),
    "rare": Cell(clean, HONEST, {"balance": 0.99}),
    "class": Cell(clean, HONEST, {"truth": "class", "concepts": 8}),
    "correlated": Cell(clean, HONEST, {"truth": "correlated", "concepts": 8}),
    "crosstalk": Cell(clean, (*HONEST, "partly"), {"crosstalk": 0.4, "concepts": 8}),
    "percent": Cell(clean, HONEST, {"code": "percent"}),
    "int8": Cell(clean, HONEST, {"code": "int8"}),
    "unknown": Cell(clean, HONEST, {"unknown": 0.2}),
    "errors_05": Cell(clean, HONEST, {"truth": "class", "concepts": 8, "error": 0.05}),
    "errors_10": Cell(clean, HONEST, {"truth": "class", "concepts": 8, "error": 0.1}),
    "errors_10_declared": Cell(
        clean, HONEST, {"truth": "class", "concepts": 8, "error": 0.1, "declared": 0.1}
    ),
    "groups_declared": Cell(grouped, HONEST, {"n": 1000, "declared": True}),
    "pareto_declared": Cell(grouped, HONEST, {"n": 600, "pareto": True, "declared": True}),
    "pairs": Cell(grouped, HONEST, {"size": 2}),
    "pairs_shuffled": Cell(grouped, HONEST, {"size": 2, "shuffled": True}),
    "groups_10": Cell(grouped, HONEST, {"size": 10}),
    "groups_10_shuffled": Cell(grouped, HONEST, {"size": 10, "shuffled": True}),
    "loose_groups": Cell(grouped, HONEST, {"within": 0.3}),
}


def count_answers(name: str, draws: int, seed: int = 1) -> dict[str, Any]:
    """Return how often each answer is given of a cell.

    Args:
        name: Of the cell.
        draws: Audits of fresh evidence.
        seed: Of all draws.
    """
    cell, counts, start = CELLS[name], Counter[str](), time.process_time()
    for number in range(draws):
        arrays = cell.draw(np.random.default_rng([seed, number]), **cell.settings)
        result = theodolite.audit(**arrays, metrics=METRICS, resamples=100)
        counts[result.verdicts["leak_free"].answer] += 1
    seconds = (time.process_time() - start) / draws
    return {
        "cell": name, "draws": draws, "seed": seed,
        **{answer: counts[answer] for answer in ANSWERS},
        "right": sum(counts[answer] for answer in cell.right), "seconds": round(seconds, 2),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cells", nargs="+", choices=CELLS, default=list(CELLS))
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    kept = []
    if chosen.out is not None and chosen.out.exists():
        kept = json.loads(chosen.out.read_text("utf-8"))
    for name in chosen.cells:
        if any(
            (c["cell"], c["draws"], c["seed"]) == (name, chosen.draws, chosen.seed) for c in kept
        ):
            continue
        kept.append(count_answers(name, chosen.draws, chosen.seed))
        print(kept[-1], flush=True)
        if chosen.out is not None:
            chosen.out.write_text(json.dumps(kept, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
