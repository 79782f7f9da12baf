# mypy: disable-error-code="import-not-found"
"""Does a score of verbalisers hold? A prototype on a circuit whose activations are known.

    python benchmarks/verbal_advantage.py [--seeds 40]

A verbaliser answers questions about a text's activation. Its balanced accuracy is compared, row by
row, with that of the same verbaliser on another activation with the same last token, on permuted
coordinates and on no activation, and with a model that reads the text alone, a weak or a strong
one. The advantage is the difference to the hardest of these; *yes* needs the lower end of its
interval over texts above 0.02 and a McNemar test at 5 % over all questions (Benjamini and
Hochberg). Three kinds of questions: what the text says (the text suffices), what was written into
the activation and not into the text (only the activation has it), and what is nowhere. Prints the
share of *yes* of each kind over seeds.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.networks.circuit import CONCEPTS, VOCABULARY, WIDE, Circuit, circuit_texts
from theodolite._stats.multiple import correct_discoveries
from theodolite.language.models.hooked import HookedModel

KINDS = ("in the text", "in the activation alone", "nowhere")
MARGIN, STRENGTH = 0.02, 1.0
READERS = {"weak": 0.01, "strong": 100.0}
"""Inverse penalty of the model that reads the text."""


def balanced(right: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Weight of each row in the balanced accuracy, times whether it is right."""
    share = np.where(truth, 0.5 / truth.sum(), 0.5 / (~truth).sum())
    return np.asarray(right * share)


def one_question(
    activations: np.ndarray,
    words: np.ndarray,
    last: np.ndarray,
    truth: np.ndarray,
    random: np.random.Generator,
    strength: float,
) -> tuple[float, float, float]:
    """Advantage over the hardest arm, the lower end of its interval, and the p-value."""
    n = len(truth)
    fit = random.permutation(n) < n // 2
    verbaliser = LogisticRegression(C=0.1, max_iter=500).fit(activations[fit], truth[fit])
    reader = LogisticRegression(C=strength, class_weight="balanced", max_iter=2000)
    reader.fit(words[fit], truth[fit])
    rows = np.flatnonzero(~fit)
    own, there = activations[rows], truth[rows]
    other = np.array([
        random.choice(np.flatnonzero((last == last[row]) & (np.arange(n) != row))) for row in rows
    ])  # fmt: skip
    coordinates = random.permutation(WIDE)
    arms = [
        verbaliser.predict(own), verbaliser.predict(activations[other]),
        verbaliser.predict(own[:, coordinates]), verbaliser.predict(np.zeros_like(own)),
        reader.predict(words[rows]),
    ]  # fmt: skip
    right = [arm == there for arm in arms]
    scores = np.array([balanced(each, there).sum() for each in right])
    hardest = 1 + int(scores[1:].argmax())
    apart = balanced(right[0], there) - balanced(right[hardest], there)
    half = 1.96 * np.sqrt(len(rows)) * apart.std(ddof=1)
    wins = int((right[0] & ~right[hardest]).sum())
    losses = int((~right[0] & right[hardest]).sum())
    p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    return float(apart.sum()), float(apart.sum() - half), float(p)


def one_seed(seed: int, strength: float) -> dict[str, tuple[float, float]]:
    """Share of *yes* and mean advantage of each kind of question."""
    random = np.random.default_rng(seed)
    ids, topics = circuit_texts(seed)
    network = HookedModel(Circuit(seed).eval(), "block", 0)
    flat, ends = network.activations(ids), np.cumsum([*map(len, ids)]) - 1
    hidden = np.asarray(flat[ends], float)
    words = np.stack([np.bincount(own, minlength=VOCABULARY) for own in ids]).astype(float)
    last = np.array([own[-1] for own in ids])
    keep = np.bincount(last)[last] > 1  # another text must end alike
    secret = random.random((len(ids), CONCEPTS)) < 0.5
    hidden = hidden + STRENGTH * secret @ np.linalg.qr(random.normal(size=(WIDE, CONCEPTS)))[0].T
    nothing = random.random((len(ids), CONCEPTS)) < 0.5
    results = {}
    rows = [
        [one_question(hidden[keep], words[keep], last[keep], truth[keep, c], random, strength)
         for c in range(CONCEPTS)]
        for truth in (topics, secret, nothing)
    ]  # fmt: skip
    passed = correct_discoveries(np.array([row[2] for kind in rows for row in kind])) <= 0.05
    for number, (name, kind) in enumerate(zip(KINDS, rows, strict=True)):
        own = passed[number * CONCEPTS : (number + 1) * CONCEPTS]
        yes = [row[1] > MARGIN and bool(p) for row, p in zip(kind, own, strict=True)]
        results[name] = float(np.mean(yes)), float(np.mean([row[0] for row in kind]))
    return results


def main() -> None:
    """Ask in several circuits, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=40)
    seeds = parser.parse_args().seeds
    started = time.process_time()
    for reader, strength in READERS.items():
        results = [one_seed(seed, strength) for seed in range(seeds)]
        for name in KINDS:
            yes, advantage = np.mean([result[name] for result in results], axis=0)
            print(f"{reader} reader, {name}: yes {yes:.3f}, mean advantage {advantage:+.3f}")
    print(f"{seeds} circuits, {CONCEPTS} questions of each kind; "
          f"{time.process_time() - started:.0f} s of CPU")  # fmt: skip


if __name__ == "__main__":
    main()
