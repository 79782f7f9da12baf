"""Worlds of concepts with known answers, for rules about many concepts.

Texts of twelve tokens in 32 dimensions: sums of sparse features with frequencies by Zipf's law and
three strong common directions. Concepts are rare features, strong (easy) ones, or coins.
"""

from dataclasses import dataclass

import numpy as np

from theodolite._stats.draws import compare_items_with_draws
from theodolite._stats.weighted_auroc import compute_weighted_aurocs
from theodolite.evidence.ragged import compute_starts
from theodolite.language.models.chance_draws import RandomRows, Spread, pooled_draw

TEXTS, LENGTH, WIDE, FEATURES, LATENTS, ACTIVE = 300, 12, 32, 128, 192, 6
MID, EASY, COINS = 12, 8, 14
ORDER = ("mid", "easy", "coin")


@dataclass(frozen=True, eq=False)
class ConceptWorld:
    """Pooled values of dictionaries, and concepts by kind."""

    truth: np.ndarray
    kind: np.ndarray
    first: np.ndarray
    pooled: list[np.ndarray]
    """Values of random dictionaries, (texts, latents)."""


def concept_world(seed: int, dictionaries: int) -> ConceptWorld:
    """Draw a world and so many random dictionaries of it."""
    random = np.random.default_rng(seed)
    often = 0.35 / np.arange(1, FEATURES + 1) ** 0.8
    active = random.random((TEXTS * LENGTH, FEATURES)) < often / 3
    directions = random.normal(size=(FEATURES, WIDE))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    size = np.where(np.arange(FEATURES) < EASY, 25.0, 1.0)
    strength = active * size * (0.5 + random.random(active.shape))
    common = random.normal(size=(3, WIDE))
    hidden = strength @ directions + 0.7 * random.normal(size=(len(active), 3)) @ common
    hidden = (hidden + 0.1 * random.normal(size=hidden.shape)).astype(np.float32)
    starts = compute_starts([LENGTH] * TEXTS)
    there = np.logical_or.reduceat(active, starts[:-1])
    rare = random.choice(np.arange(EASY, 60), MID, replace=False)
    coins = random.random((TEXTS, COINS)) < np.where(np.arange(COINS) < 8, 0.5, 0.06)
    truth = np.concatenate([there[:, rare], there[:, :EASY], coins], axis=1)
    kind = np.repeat(ORDER, [MID, EASY, COINS])
    spread = Spread.of(hidden)
    pooled = [
        pooled_draw(RandomRows(seed, n, LATENTS), hidden, starts, spread, ACTIVE).dense(
            np.arange(LATENTS)
        )
        for n in range(dictionaries)
    ]
    return ConceptWorld(truth, kind, random.random(TEXTS) < 0.5, pooled)


def planted(
    world: ConceptWorld, own: np.ndarray, share: float, rates: tuple[float, float], seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return a dictionary with latents that fire with some concepts, and which these are."""
    random = np.random.default_rng(seed)
    chosen = random.random(world.truth.shape[1]) < share
    values, typical = own.copy(), float(np.median(own[own > 0]))
    for place, concept in enumerate(np.flatnonzero(chosen)):
        there = world.truth[:, concept]
        fires = random.random(TEXTS) < np.where(there, *rates)
        values[:, place] = fires * typical * (0.5 + random.random(TEXTS))
    return values, chosen


def held_out(world: ConceptWorld, values: np.ndarray) -> np.ndarray:
    """Return the AUROC of each concept's best latent, chosen on one half and taken on the other."""
    from theodolite.metrics.language._probes import compute_aurocs  # noqa: PLC0415

    result = np.full(world.truth.shape[1], np.nan)
    for concept, there in enumerate(world.truth.T):
        inside, outside = world.first, ~world.first
        chosen = compute_aurocs(values[inside], there[inside])
        if not np.isnan(chosen).any():
            best = values[outside][:, [int(np.argmax(chosen))]]
            result[concept] = compute_aurocs(best, there[outside])[0]
    return result


def surely_above(world: ConceptWorld, own: np.ndarray, draws: list[np.ndarray], c: int) -> bool:
    """Return whether a concept's latent is surely better than the mean of the draws' latents."""
    from theodolite.language.models.pooled_triples import (  # noqa: PLC0415
        PooledTriples,
        compute_triple_aurocs,
    )

    there, held = world.truth[:, [c]], ~world.first
    weights = np.random.default_rng(c).poisson(1.0, (201, int(held.sum()))).astype(float)
    weights[0] = 1.0
    rows = []
    for values in (own, *draws):
        areas = compute_triple_aurocs(PooledTriples.of_dense(values), there, world.first)
        best = int(np.argmax(areas[:, 0]))
        rows.append(compute_weighted_aurocs(values[held, best], there[held, 0], weights))
    moved = rows[0] - np.mean(rows[1:], axis=0)
    spread = np.nanvar(moved[1:], ddof=1) + np.var([row[0] for row in rows[1:]], ddof=1) / len(
        draws
    )
    return bool(moved[0] > 1.972 * np.sqrt(spread))


def told(values: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Return the concepts that the rule calls told, without its condition on intervals."""
    intervals = np.tile([[1e-9], [1.0]], len(values))
    answers = compare_items_with_draws(values, draws, intervals)
    return np.array([answer == "yes" for answer in answers])
