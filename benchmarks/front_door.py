"""Verdicts on attributions of planted and real models: how often they are right, and their shares.

    python benchmarks/front_door.py --draws 40 --cases gate linear

A draw has its own data, model, background and seed. Shapley values of functions come from all
subsets of features, those of trees from shap (``theodolite[tabular]``). The similar model is a
forest that was fitted to the same data. Prints answers and mean shares of the plain fit.
"""

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from math import comb
from types import SimpleNamespace
from typing import Any

import numpy as np
import shap
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)

import theodolite

ROWS, BACKGROUND = 100, 100
TREES = {"n_estimators": 60, "max_depth": 3}
METRICS = ["attribution_fit", "ranking_fit", "additivity_gap"]
FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "gate": lambda rows: 2 * np.where(rows[:, 2] > 0, rows[:, 0], rows[:, 1]),
    "products": lambda rows: rows[:, 0] * rows[:, 1] + rows[:, 2] * rows[:, 3],
    "linear": lambda rows: rows @ np.array([2, -1.5, 1, -0.8, 0.5, 0.3, -0.2, 0.1]),
    "flags": lambda rows: rows @ np.array([8, 5, 3, 2, 1, 0.5, 0.25, 0.1]),
}


class Case:
    """A model, the rows that are explained, background rows and exact attributions."""

    def __init__(self, name: str, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        if name in FUNCTIONS:
            self._plant(FUNCTIONS[name], flags=name == "flags")
        else:
            table, labels = getattr(self, name)()
            self._fit(table, labels, seed)

    def _plant(self, function: Callable[[np.ndarray], np.ndarray], *, flags: bool) -> None:
        shape = (ROWS + BACKGROUND, 8)
        table = self.random.normal(size=shape)
        if flags:  # present in nearly every row, absent from the background
            table = (self.random.random(shape) < 0.95).astype(float)
            table[ROWS:] = self.random.random((BACKGROUND, 8)) < 0.05
        self.rows, self.background = table[:ROWS], table[ROWS:]
        self.model: Any = function
        self.base = float(function(self.background).mean())
        self.exact = shapley_values(function, self.rows, self.background)
        self.output = function(self.rows)
        forest = RandomForestRegressor(60, random_state=0).fit(table, function(table))
        explainer = shap.TreeExplainer(forest, self.background)
        self.similar = explainer(self.rows, check_additivity=False)
        self.path_dependent = None

    def _fit(self, table: np.ndarray, labels: np.ndarray, seed: int) -> None:
        order = self.random.permutation(len(table))
        test, train = order[:ROWS], order[ROWS:]
        self.rows, self.background = table[test], table[train[:BACKGROUND]]
        model = GradientBoostingClassifier(random_state=seed, **TREES)
        self.model = model.fit(table[train], labels[train])
        explainer = shap.TreeExplainer(model, self.background, model_output="probability")(
            self.rows
        )
        self.exact, self.base = explainer.values, explainer.base_values
        self.output = model.predict_proba(self.rows)[:, 1]
        self.path_dependent = shap.TreeExplainer(model)(self.rows)
        forest = RandomForestClassifier(60, random_state=seed).fit(table[train], labels[train])
        explained = shap.TreeExplainer(forest, self.background, model_output="probability")
        similar = explained(self.rows, check_additivity=False)
        self.similar = SimpleNamespace(
            values=similar.values[:, :, 1], base_values=similar.base_values[:, 1], data=self.rows,
            feature_names=None, output_names=None,
        )  # fmt: skip

    def credit(self) -> tuple[np.ndarray, np.ndarray]:
        """Eight features, of which six act, two by a product."""
        table = self.random.normal(size=(1000, 8))
        score = 1.5 * table[:, 0] - table[:, 1] + table[:, 2] * table[:, 3] + 0.7 * table[:, 4]
        score += 0.5 * np.maximum(table[:, 5], 0)
        return table, (score + self.random.logistic(size=1000) > 0).astype(int)

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Twenty features, correlated in pairs."""
        common = self.random.normal(size=(1000, 10))
        own = self.random.normal(size=(1000, 20))
        table = np.sqrt(0.8) * np.repeat(common, 2, axis=1) + np.sqrt(0.2) * own
        weights = self.random.normal(size=20) * (np.arange(20) < 12)
        return table, (table @ weights + self.random.logistic(size=1000) > 0).astype(int)

    def cancer(self) -> tuple[np.ndarray, np.ndarray]:
        """Thirty measurements of breast tumors."""
        data = load_breast_cancer()
        return data.data, data.target

    def methods(self) -> dict[str, Any]:
        """Attributions of known quality; the first and the last two with base values."""
        exact, random = self.exact, self.random
        spread, noise = exact.std(), random.normal(size=exact.shape)
        size = np.abs(exact).mean(axis=0)
        half = exact.copy()
        half[: ROWS // 2] = exact[random.permutation(ROWS // 2)]
        away = (self.output - np.mean(self.base))[:, None]
        methods = {
            "exact": self._explained(exact), "shuffled": exact[random.permutation(ROWS)],
            "noise": noise, "wrong sign": -exact, "one list": np.tile(size, (ROWS, 1)),
            "half shuffled": half, "quarter noise": exact + 0.5 * spread * noise,
            "equal noise": exact + spread * noise, "sizes": np.abs(exact),
            "nothing named": away * np.ones_like(exact),
            "random parts": away * random.random(exact.shape), "output x list": away * size,
            "list": size, "random list": random.random(exact.shape[1]),
            "similar model": self.similar,
        }  # fmt: skip
        return methods | (
            {} if self.path_dependent is None else {"path-dependent": self.path_dependent}
        )

    def _explained(self, values: np.ndarray) -> SimpleNamespace:
        return SimpleNamespace(
            values=values, base_values=self.base, data=self.rows, feature_names=None,
            output_names=None,
        )  # fmt: skip


def shapley_values(
    function: Callable[[np.ndarray], np.ndarray], rows: np.ndarray, background: np.ndarray
) -> np.ndarray:
    """Return exact interventional Shapley values, from all subsets of features."""
    n_features = rows.shape[1]
    present = (np.arange(2**n_features)[:, None] >> np.arange(n_features) & 1).astype(bool)
    answers = np.stack([
        function(np.where(present[:, None], row, background).reshape(-1, n_features))
        .reshape(len(present), -1).mean(axis=1)
        for row in rows
    ])  # fmt: skip
    size, values = present.sum(axis=1), np.zeros(rows.shape)
    for j in range(n_features):
        without = np.flatnonzero(~present[:, j])
        weights = [1 / (n_features * comb(n_features - 1, s)) for s in size[without]]
        values[:, j] = (answers[:, without | 1 << j] - answers[:, without]) @ weights
    return values


def main() -> None:
    """Print a table for each case."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--first", type=int, default=0)
    cases = [*FUNCTIONS, "credit", "pairs", "cancer"]
    parser.add_argument("--cases", nargs="+", default=cases, choices=cases)
    options = parser.parse_args()
    for name in options.cases:
        answers: dict[str, Counter[str]] = defaultdict(Counter)
        shares: dict[str, list[float]] = defaultdict(list)
        gaps: dict[str, list[float]] = defaultdict(list)
        start = time.process_time()
        for seed in range(options.first, options.first + options.draws):
            case = Case(name, seed)
            results: Any = theodolite.audit_attributions(
                case.methods(), case.rows, model=case.model, background=case.background, seed=seed,
                metrics=METRICS, resamples=100, progress=None,
            )  # fmt: skip
            for method, result in results.items():
                verdict = result.verdicts["faithful"]
                answers[method][verdict.answer] += 1
                score = verdict.score
                if score is not None and score.share is not None:
                    shares[method].append(score.share.value)
                gap = [s.value for s in result.scores if s.metric == "additivity_gap"]
                gaps[method] += gap
        print(f"{name}: {time.process_time() - start:.0f} CPU s")
        for method, counts in answers.items():
            share = np.mean(shares[method]) if shares[method] else np.nan
            missed = f", gap {np.mean(gaps[method]):.3f}" if gaps[method] else ""
            print(f"  {method:<15} {dict(counts)}, share {share:.2f}{missed}")


if __name__ == "__main__":
    main()
