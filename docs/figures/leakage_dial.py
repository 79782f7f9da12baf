"""Every leakage score over a dial of planted leakage: writes ``docs/leakage_dial.svg``.

python docs/figures/leakage_dial.py
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from theodolite._planted.leakage import (
    planted_embeddings,
    planted_interventions,
    planted_leakage,
)
from theodolite.metrics.catalogue import catalogue

mpl.use("svg")
import matplotlib.pyplot as plt

DIAL = np.linspace(0, 1, 7)
SEEDS = range(2)
Maker = Callable[[float, int], Any]
SINGLE = {
    "CTL": ("concept_task_leakage", "C0", "--"),
    "task leakage given the concept": ("task_leakage_given_concept", "C0", "-"),
    "ICL": ("interconcept_leakage", "C1", "--"),
    "interconcept leakage given the concepts": ("interconcept_leakage_given_concepts", "C1", "-"),
    "OIS": ("oracle_impurity", "C2", ":"),
    "NIS as defined, minus 0.475": ("niche_impurity", "C3", ":"),
}
VECTORS = {
    "task information (10)": ("embedding_task_information", "C0", "--"),
    "task leakage given the concept": ("embedding_task_leakage_given_concept", "C0", "-"),
    "interconcept information (11)": ("embedding_interconcept_information", "C1", "--"),
    "self information (12)": ("embedding_self_information", "C2", ":"),
    "alignment (13)": ("embedding_alignment", "C3", ":"),
}
CORRECTED = {"accuracy lost, S_int": ("intervention_score", "C0", "-")}


def single(smuggled: Any, **options: float) -> Maker:
    """Evidence of single values."""
    return lambda dial, seed: planted_leakage(
        1000, leakage=dial, smuggled=smuggled, seed=seed, **options
    )


PANELS: list[tuple[str, dict[str, tuple[str, str, str]], Maker]] = [
    ("the label leaks", SINGLE, single("label")),
    ("the label leaks, 30 % of concepts wrong", SINGLE, single("label", mistaken=0.3)),
    ("a shared signal leaks", SINGLE, single("concepts")),
    ("a shared signal leaks, related concepts", SINGLE, single("concepts", related=0.8)),
    ("vectors", VECTORS, lambda dial, seed: planted_embeddings(600, leakage=dial, seed=seed)),
    (
        "interventions",
        CORRECTED,
        lambda dial, seed: planted_interventions(1000, leakage=dial, seed=seed),
    ),
]


def scored(name: str, evidence: Any) -> float:
    """A score's headline value on evidence."""
    shift = 0.475 if name == "niche_impurity" else 0.0
    return float(np.nanmean(catalogue()[name].state.of(evidence).value())) - shift


def main() -> None:
    """Draw it."""
    mpl.rcParams.update({"svg.hashsalt": "theodolite", "font.size": 9})
    figure, axes = plt.subplots(2, 3, figsize=(12, 6.6), sharex=True)
    for axis, (title, scores, make) in zip(axes.flat, PANELS, strict=True):
        evidence = [[make(float(dial), seed) for dial in DIAL] for seed in SEEDS]
        for label, (name, color, line) in scores.items():
            curves = np.array([[scored(name, one) for one in row] for row in evidence])
            axis.plot(DIAL, curves.mean(axis=0), line, color=color, label=label)
            low, high = curves.min(axis=0), curves.max(axis=0)
            axis.fill_between(DIAL, low, high, color=color, alpha=0.15)
            print(f"{title}: {label}: " + " ".join(f"{v:.3f}" for v in curves.mean(axis=0)))
        axis.set_title(title, fontsize=9)
        axis.spines[["top", "right"]].set_visible(False)
        if scores is not SINGLE:
            axis.legend(frameon=False, fontsize=7, loc="upper left")
    for axis in axes[1]:
        axis.set_xlabel("leakage dial")
    for axis in axes[:, 0]:
        axis.set_ylabel("score")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="lower center", ncols=6, frameon=False
    )
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    out = Path(__file__).parents[1] / "leakage_dial.svg"
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    main()
