"""Answers to entries of kumar2026 from runs whose outputs are attributes, or one number."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from jaxtyping import Bool

from theodolite.evidence.surrogate_settings import compute_outputs, get_bias
from theodolite.metrics.faithful.frame import compute_surrogate_outputs
from theodolite_reproductions.claims.answers.resampled import Draws, UnitResamples, answer_from
from theodolite_reproductions.claims.answers.surrogate_tables import (
    CrossedResamples,
    StoredExplanations,
)
from theodolite_reproductions.claims.results import EntryAnswer, Figure, OptionMove

METHODS = {"SAE": "sae", "ICE": "nmf", "MCD": "mcd", "CDISCO": "svd"}
"""Of the paper's methods those that need no classes and no crops."""
BESIDE = {"principal components": "pca", "clusters": "kmeans"}
CONCEPTS = 5
Sides = Bool[np.ndarray, "images outputs"]
Answers = tuple[list[EntryAnswer], list[OptionMove]]


def balanced_agreement(resamples: UnitResamples, network: Sides, surrogate: Sides) -> Draws:
    """Return how often both say present where the network does, and absent where it does, averaged.

    Over outputs; one that the network never or always says is there has none and is left out. What
    always answers the same has one half.
    """
    sides = []
    for side in (network, ~network):
        same = (side & (surrogate == network)).astype(float)
        part, whole = (
            np.einsum("rp,po->ro", resamples.times, each, optimize=False)
            for each in (same, side.astype(float))
        )
        sides.append(np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0))
    both = (sides[0] + sides[1]) / 2
    known = ~np.isnan(both)
    n = known.sum(axis=1)
    total = np.where(known, both, 0.0).sum(axis=1)
    return np.asarray(np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0))


def _balanced(stored: StoredExplanations, name: str) -> Draws:
    resamples: CrossedResamples = stored.resamples
    rows = [
        balanced_agreement(
            resamples.images, compute_outputs(e) > 0, compute_surrogate_outputs(e) > 0
        )
        for e in stored.evidence(name)
    ]
    times = resamples.seeds.times[:, : len(rows)]
    return np.asarray((np.stack(rows, axis=1) * times).sum(axis=1) / times.sum(axis=1))


def _bias_error(stored: StoredExplanations) -> float:
    """The error of the bias alone."""
    evidence = stored.evidence(stored.models[0].name)[0]
    return float(np.abs(compute_outputs(evidence) - get_bias(evidence)).mean())


def attribute_answers(folder: Path) -> Answers:
    """What a run with attributes says of Kumar et al. (2026)."""
    stored = StoredExplanations.of(folder, clustered=True)
    answers: list[EntryAnswer] = []
    for on in ("positive", "all"):
        tail = "" if on == "positive" else f"-{on}"
        names = {n: f"{form}-{CONCEPTS}{tail}" for n, form in {**METHODS, **BESIDE}.items()}
        chance = f"random-{CONCEPTS}{tail}"
        for score, sign in (("balanced agreement", 1), ("agreement", 1), ("error", -1)):
            rows = {n: sign * _score(stored, name, score) for n, name in names.items()}
            ours: dict[str, Figure] = {n: sign * float(row[0]) for n, row in rows.items()}
            ours["random"] = float(_score(stored, chance, score)[0])
            ours["bias alone"] = _bias_alone(stored, score)
            cell = {"concepts found on": on, "score": score}
            first = (on, score) == ("positive", "balanced agreement")
            answers += _ahead(stored, "P002-F0-11", rows, ours, cell, first=first)
    return answers, []


def regression_answers(folder: Path) -> Answers:
    """What a run with one number says of Kumar et al. (2026)."""
    stored = StoredExplanations.of(folder, clustered=True)
    names = {n: f"{form}-{CONCEPTS}" for n, form in {**METHODS, **BESIDE}.items()}
    rows = {n: -_score(stored, name, "error") for n, name in names.items()}
    ours: dict[str, Figure] = {n: -float(row[0]) for n, row in rows.items()}
    ours["random"] = float(_score(stored, f"random-{CONCEPTS}", "error")[0])
    ours["bias alone"] = _bias_alone(stored, "error")
    return list(_ahead(stored, "P002-F0-12", rows, ours, {}, first=True)), []


def _score(stored: StoredExplanations, name: str, score: str) -> Draws:
    if score == "balanced agreement":
        return _balanced(stored, name)
    metric = "attribute_agreement" if score == "agreement" else "surrogate_error"
    return stored.mean(name, metric)


def _bias_alone(stored: StoredExplanations, score: str) -> float:
    evidence = stored.evidence(stored.models[0].name)[0]
    if score == "error":
        return _bias_error(stored)
    if score == "balanced agreement":
        return 0.5
    return float(np.mean((compute_outputs(evidence) > 0) == (get_bias(evidence) > 0)))


def _ahead(
    stored: StoredExplanations, entry: str, rows: Mapping[str, Draws],
    ours: Mapping[str, Figure], cell: Mapping[str, str], *, first: bool,
) -> Iterator[EntryAnswer]:  # fmt: skip
    """How far the autoencoder is ahead of the best other, of the paper's methods and of all."""
    for others in ("of the paper", "and ours"):
        beside = [n for n in rows if n != "SAE" and (others == "and ours" or n in METHODS)]
        best = np.max(np.stack([rows[n] for n in beside]), axis=0)
        name = max(beside, key=lambda n: float(rows[n][0]))
        yield answer_from(
            entry, rows["SAE"] - best, stored.resamples.images, stored.n,
            {**cell, "others": others}, {**ours, "best other": name},
            nearest=first and others == "of the paper",
        )  # fmt: skip
