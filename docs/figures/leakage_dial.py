"""Every leakage score over a dial of planted leakage: writes ``docs/leakage_dial.svg``.

python docs/figures/leakage_dial.py
"""

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np

from theodolite.contracts.evidence import ConceptEvidence
from theodolite.datasets.synthetic_leakage import Smuggled, planted_leakage
from theodolite.metrics._catalogue import catalogue

mpl.use("svg")
import matplotlib.pyplot as plt

DIAL = np.linspace(0, 1, 7)
SEEDS = range(2)
CASES: list[tuple[str, Smuggled, dict[str, float]]] = [
    ("the label leaks", "label", {}),
    ("the label leaks, 30 % of concepts wrong", "label", {"mistaken": 0.3}),
    ("a shared signal leaks", "concepts", {}),
    ("a shared signal leaks, related concepts", "concepts", {"related": 0.8}),
]
SCORES = {
    "CTL": ("concept_task_leakage", "C0", "--"),
    "task leakage given the concept": ("task_leakage_given_concept", "C0", "-"),
    "ICL": ("interconcept_leakage", "C1", "--"),
    "interconcept leakage given the concepts": ("interconcept_leakage_given_concepts", "C1", "-"),
    "OIS": ("oracle_impurity", "C2", ":"),
    "NIS as defined, minus 0.475": ("niche_impurity", "C3", ":"),
}


def scorer(name: str) -> Callable[[ConceptEvidence], float]:
    """A score's headline value on evidence."""
    state = catalogue()[name].state
    shift = 0.475 if name == "niche_impurity" else 0.0
    return lambda evidence: float(np.nanmean(state.of(evidence).value())) - shift


def main() -> None:
    """Draw it."""
    mpl.rcParams.update({"svg.hashsalt": "theodolite", "font.size": 9})
    figure, axes = plt.subplots(1, len(CASES), figsize=(13, 3.4), sharey=True)
    for axis, (title, smuggled, options) in zip(axes, CASES, strict=True):
        for label, (name, colour, line) in SCORES.items():
            score = scorer(name)
            curves = [
                [
                    score(planted_leakage(1000, leakage=d, smuggled=smuggled, seed=s, **options))
                    for d in DIAL
                ]
                for s in SEEDS
            ]
            middle = np.mean(curves, axis=0)
            axis.plot(DIAL, middle, line, color=colour, label=label)
            axis.fill_between(
                DIAL, np.min(curves, axis=0), np.max(curves, axis=0), color=colour, alpha=0.15
            )
            print(f"{title}: {label}: " + " ".join(f"{v:.3f}" for v in middle))
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("leakage dial")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("score")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=6, frameon=False)
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    out = Path(__file__).parents[1] / "leakage_dial.svg"
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    main()
