"""Verdicts on attributions of planted and real models: how often they are right.

    python benchmarks/front_door_tables.py --draws 40 --cases gate linear
    python benchmarks/front_door_tables.py --coverage 200

A draw has its own data, model, background and seed. Shapley values of functions come from all
subsets of features, those of trees from shap (``theodolite[tabular]``). Prints the answers and the
mean share of each kind of attributions; with ``--coverage``, how often intervals of the share
contain its mean over new rows of one model.
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
from sklearn.ensemble import GradientBoostingClassifier

import theodolite

ROWS, BACKGROUND = 100, 100
TREES = {"n_estimators": 60, "max_depth": 3}
OPTIONS: dict[str, Any] = {
    "metrics": ["attribution_fit", "ranking_fit", "additivity_gap"],
    "resamples": 100,
    "progress": None,
}
GLOBAL = ("One global ranking", "A global ranking", "One ranking is enough")
FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "gate": lambda rows: 2 * np.where(rows[:, 2] > 0, rows[:, 0], rows[:, 1]),
    "linear": lambda rows: rows @ np.array([2, -1.5, 1, -0.8, 0.5, 0.3, -0.2, 0.1]),
    "products": lambda rows: rows[:, 0] * rows[:, 1] + rows[:, 2] * rows[:, 3],
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

    def _fit(self, table: np.ndarray, labels: np.ndarray, seed: int) -> None:
        order = self.random.permutation(len(table))
        test, train = order[:ROWS], order[ROWS:]
        self.rows, self.background = table[test], table[train[:BACKGROUND]]
        model = GradientBoostingClassifier(random_state=seed, **TREES)
        self.model = model.fit(table[train], labels[train])
        explainer = shap.TreeExplainer(model, self.background, model_output="probability")
        explanation = explainer(self.rows)
        self.exact, self.base = explanation.values, explanation.base_values
        self.output = model.predict_proba(self.rows)[:, 1]

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

    def audit(self, methods: dict[str, Any], seed: int) -> dict[str, Any]:
        """Audit several methods on the same answers of the model."""
        results: Any = theodolite.audit_attributions(
            methods, self.rows, model=self.model, background=self.background, seed=seed, **OPTIONS
        )
        return dict(results)

    def methods(self) -> dict[str, Any]:
        """Attributions of known quality; the exact ones with base values."""
        exact, random = self.exact, self.random
        spread, noise = exact.std(), random.normal(size=exact.shape)
        size = np.abs(exact).mean(axis=0)
        half = exact.copy()
        half[: ROWS // 2] = exact[random.permutation(ROWS // 2)]
        away = (self.output - np.mean(self.base))[:, None]
        explanation = SimpleNamespace(
            values=exact, base_values=self.base, data=self.rows, feature_names=None,
            output_names=None,
        )  # fmt: skip
        return {
            "exact": explanation, "shuffled": exact[random.permutation(ROWS)], "noise": noise,
            "wrong sign": -exact, "one list": np.tile(size, (ROWS, 1)), "half shuffled": half,
            "equal noise": exact + spread * noise, "nothing named": away * np.ones_like(exact),
            "list": size, "random list": random.random(exact.shape[1]),
        }  # fmt: skip


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


def count_answers(name: str, seeds: range) -> None:
    """Print how often each answer is given to each method."""
    answers: dict[str, Counter[str]] = defaultdict(Counter)
    shares: dict[str, list[float]] = defaultdict(list)
    start = time.process_time()
    for seed in seeds:
        case = Case(name, seed)
        for method, result in case.audit(case.methods(), seed).items():
            verdict = result.verdicts["faithful"]
            said = verdict.summary.startswith(GLOBAL)
            answers[method][verdict.answer + ", global" * said] += 1
            share = None if verdict.score is None else verdict.score.share
            shares[method] += [] if share is None else [share.value]
    print(f"{name}: {time.process_time() - start:.0f} CPU s")
    for method, counts in answers.items():
        share = np.mean(shares[method]) if shares[method] else np.nan
        print(f"  {method:<14} {dict(counts)}, share {share:.2f}", flush=True)


def count_covered(n_draws: int) -> None:
    """Print how often intervals contain the mean share: one model and background, new rows."""
    case = Case("gate", 0)
    shares: dict[float, list[tuple[float, float, float]]] = defaultdict(list)
    for seed in range(n_draws):
        case.random = np.random.default_rng(1000 + seed)
        case.rows = case.random.normal(size=(ROWS, 8))
        exact = shapley_values(case.model, case.rows, case.background)
        noise = exact.std() * case.random.normal(size=exact.shape)
        noisy = {str(level): exact + level * noise for level in (0, 0.5, 1, 2)}
        for level, result in case.audit(noisy, seed).items():
            fits = [s for s in result.scores if s.metric == "attribution_fit"]
            share = next(s.share for s in fits if s.options["size"] == "mixed")
            shares[float(level)].append((share.low, share.value, share.high))
    for size, rows in shares.items():
        low, value, high = np.array(rows).T
        covered = np.mean((low <= value.mean()) & (value.mean() <= high))
        print(f"noise {size}: mean share {value.mean():.2f}, covered {covered:.1%} of {n_draws}")


def main() -> None:
    """Print the answers for each case, or the coverage of intervals."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--coverage", type=int, default=0)
    cases = [*FUNCTIONS, "credit", "pairs", "cancer"]
    parser.add_argument("--cases", nargs="+", default=cases, choices=cases)
    options = parser.parse_args()
    if options.coverage:
        count_covered(options.coverage)
        return
    for name in options.cases:
        count_answers(name, range(options.first, options.first + options.draws))


if __name__ == "__main__":
    main()
