"""How often does the drift gate stop a version to which nothing happened?

    python benchmarks/drift_floors.py [--trainings 30] [--choices 400]

Breast cancer of scikit-learn, gradient boosting, shap's TreeExplainer: one recipe is trained many
times, with other seeds, then on resampled data. Printed are the drifts of all pairs; then, for
floors of three, five and eight retrainings, the share of random choices of an old version, a new
one and a floor in which the answer is no. Needs theodolite[tabular].
"""

import argparse
import itertools

import numpy as np
import shap
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import train_test_split

import theodolite
from theodolite._runs.comparison.attribution_shares import compute_shares, compute_total_variation
from theodolite.bridges.shap import attribution_evidence

DATA = load_breast_cancer()
TRAIN, TEST, LABELS, _ = train_test_split(
    DATA.data, DATA.target, test_size=0.5, stratify=DATA.target, random_state=0
)
BACKGROUND = shap.sample(TRAIN, 100, random_state=0)
DRAWS = theodolite.Resampling(200)


def trained(seed: int, *, resampled: bool) -> theodolite.AttributionEvidence:
    """Attributions by one training of the recipe."""
    rows = np.arange(len(TRAIN))
    if resampled:
        rows = np.random.default_rng(seed).integers(0, len(TRAIN), len(TRAIN))
    model = GradientBoostingClassifier(random_state=seed, subsample=0.8)
    model.fit(TRAIN[rows], LABELS[rows])
    explainer = shap.TreeExplainer(model, BACKGROUND, model_output="probability")
    return attribution_evidence(explainer(TEST), scale="probability")


def stopped(versions: list[theodolite.AttributionEvidence], floor: int, choices: int) -> float:
    """The share of choices in which a retraining is taken for another recipe."""
    random, alarms = np.random.default_rng(floor), 0
    for _ in range(choices):
        old, new, *again = random.choice(len(versions), floor + 2, replace=False)
        drift = theodolite.attribution_drift(
            versions[old], versions[new], floor=[versions[at] for at in again], resampling=DRAWS
        )
        alarms += drift.answer == "no"
    return alarms / choices


def main() -> None:
    """Print what there is to know."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trainings", type=int, default=30)
    parser.add_argument("--choices", type=int, default=400)
    options = parser.parse_args()
    for resampled in (False, True):
        versions = [trained(seed, resampled=resampled) for seed in range(options.trainings)]
        parts = [compute_shares(np.abs(version.values).sum(axis=0)) for version in versions]
        pairs = [float(compute_total_variation(a, b)) for a, b in itertools.combinations(parts, 2)]
        print("resampled data" if resampled else "other seeds")
        print(f"  pairs {min(pairs):.3f} to {max(pairs):.3f}, median {np.median(pairs):.3f}")
        for floor in (3, 5, 8):
            share = stopped(versions, floor, options.choices)
            print(f"  floor of {floor} retrainings: {100 * share:.1f} % stopped")


if __name__ == "__main__":
    main()
