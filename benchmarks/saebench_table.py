"""Numbers of SAEBench next to ours, with floors, on codes that are stored.

    python benchmarks/saebench_table.py LM_FEATURES [--seed 0]

LM_FEATURES holds codes of a small trained SAE and of random directions (see judge_floors.py), both
SAEs and 400 activations. Prints a table in Markdown: sparse probing as SAEBench does it (mean over
tokens, latents with the largest difference of class means, accuracy) and as we do (largest value,
AUROC on the other half), and the share of variance that is not rebuilt. Halves are the same.
"""

import time
from pathlib import Path

import numpy as np
from judge_floors import pack_parser, read_pack
from sklearn.linear_model import LogisticRegression

from theodolite._stats.sampling import select_half
from theodolite._storage.arrays import read_safetensors
from theodolite._storage.text import read_json
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import require_ragged
from theodolite.metrics.language.latent_probe import LatentProbe

HOW_MANY, ACTIVE = (1, 2, 5), 16


def mean_codes(evidence: TokenEvidence, *, tokens: bool = False) -> np.ndarray:
    """Means over the tokens of each text, or whether a token occurs in it."""
    codes = require_ragged(evidence.tokens if tokens else evidence.latent)
    values = np.ones(len(codes.flat)) if tokens else require_ragged(evidence.value).flat
    ids, column = np.unique(codes.flat, return_inverse=True)
    pooled = np.zeros((len(evidence), len(ids)))
    np.add.at(pooled, (codes.row, column), values)
    if tokens:
        return np.asarray(pooled > 0, float)
    return np.asarray(pooled / np.diff(require_ragged(evidence.tokens).starts)[:, None])


def sparse_probing(
    pooled: np.ndarray, truth: np.ndarray, known: np.ndarray, first: np.ndarray, k: int
) -> float:
    """Mean accuracy over concepts of a probe on k columns, fitted and chosen on one half."""
    accuracies = []
    for concept in range(truth.shape[1]):
        there = truth[:, concept]
        own, held = known[:, concept] & first, known[:, concept] & ~first
        apart = pooled[own & there].mean(axis=0) - pooled[own & ~there].mean(axis=0)
        best = np.argsort(-np.abs(apart), kind="stable")[:k]
        probe = LogisticRegression(max_iter=1000).fit(pooled[own][:, best], there[own])
        accuracies.append(probe.score(pooled[held][:, best], there[held]))
    return float(np.mean(accuracies))


def unexplained(folder: Path, name: str) -> float:
    """Share of the variance of 400 activations that is not rebuilt, after one fitted scale."""
    own = read_safetensors(folder / "dictionaries.safetensors")
    inside = (own["some_activations"] - own["mean"]) / own["scale"]
    encoder = own[f"{name}.encoder"] if name == "trained" else own["random.decoder"]
    bias = own["trained.bias"] if name == "trained" else 0.0
    codes = inside @ encoder.T + bias
    least = np.sort(codes, axis=1)[:, -ACTIVE, None]
    rebuilt = np.where(codes >= least, np.maximum(codes, 0), 0) @ own[f"{name}.decoder"]
    if name == "random":
        rebuilt = rebuilt * (rebuilt * inside).sum() / (rebuilt**2).sum()
    rebuilt, hidden = rebuilt * own["scale"], inside * own["scale"]
    return float(((hidden - rebuilt) ** 2).sum() / ((hidden - hidden.mean(axis=0)) ** 2).sum())


def main() -> None:
    """Compute, and print."""
    arguments = pack_parser(__doc__, 0).parse_args()
    started = time.process_time()
    evidence, _ = read_pack(arguments.folder, arguments.seed)
    codes = read_safetensors(arguments.folder / "codes.safetensors")
    sets = len(read_json(arguments.folder / "header.json")["concept_sets"])
    known = codes["concept_set"][:, None] == np.arange(sets)
    truth = known & (codes["label"][:, None] > 0)
    first = select_half(Samples(np.arange(len(truth))), arguments.seed)
    own, random = evidence["trained"], evidence["random"]
    shuffled, permuted = np.random.default_rng(arguments.seed), truth.copy()
    for concept in range(sets):
        rows = np.flatnonzero(known[:, concept])
        permuted[rows, concept] = truth[shuffled.permutation(rows), concept]
    print("| number | trained | random directions | tokens | permuted labels, or the mean |")
    print("|---|---|---|---|---|")
    for k in HOW_MANY:
        row = [
            sparse_probing(pooled, labels, known, first, k)
            for pooled, labels in (
                (mean_codes(own), truth), (mean_codes(random), truth),
                (mean_codes(own, tokens=True), truth), (mean_codes(own), permuted),
            )
        ]  # fmt: skip
        print(f"| SAEBench, sparse probing, k = {k}, accuracy | "
              + " | ".join(f"{value:.3f}" for value in row) + " |")  # fmt: skip
    for k in HOW_MANY:
        row = []
        for each in (own, random):
            labeled = TokenEvidence(
                tokens=each.tokens, latent=each.latent, value=each.value, truth=truth, known=known,
                latents=each.latents,
            )  # fmt: skip
            ones = np.ones((1, len(truth)))
            row.append(np.nanmean(LatentProbe.measure(labeled, ones, k=k)))
        print(f"| ours, `latent_probe`, k = {k}, AUROC | "
              + " | ".join(f"{value:.3f}" for value in row) + " | – | 0.500 |")  # fmt: skip
    both = (unexplained(arguments.folder, name) for name in ("trained", "random"))
    print("| share of variance not rebuilt | "
          + " | ".join(f"{value:.3f}" for value in both) + " | – | 1.000 |")  # fmt: skip
    print(f"\n{time.process_time() - started:.0f} s of CPU")


if __name__ == "__main__":
    main()
