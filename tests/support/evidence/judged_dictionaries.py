"""Dictionaries with and without a planted latent, judged against 20 of random directions.

Activations are simulated: a vector for each word and noise. Random dictionaries are those that the
package draws for a network's activations.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from theodolite._scoring.evaluate import MetricRequest, Resampling, evaluate
from theodolite._verdicts.rules import verdict
from theodolite.evidence.axes import Chances, Concepts, Latents
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged, compute_starts
from theodolite.language.models.chance_draws import RandomRows, Spread, pooled_draw
from theodolite.language.models.dictionaries import compute_sparse_codes
from theodolite.metrics.catalogue import find_metric
from theodolite.results import Answer

SEQUENCES, WORDS, VOCABULARY, DIMENSIONS = 200, 12, 80, 24
LATENTS, ACTIVE, DRAWS = 192, 6, 20
TILT, NOISE = 0.05, 0.5
"""How often a word is a concept's own in sequences with it, and noise beside a word's vector."""


@dataclass(frozen=True)
class JudgedDictionary:
    """What was said of a dictionary, and of each concept."""

    answer: Answer
    concepts: tuple[Answer, ...]
    chance: float
    """The mean score of random dictionaries."""


def labels(random: np.random.Generator, concepts: int) -> np.ndarray:
    """Concepts, each in one half of the sequences."""
    half = np.arange(SEQUENCES) < SEQUENCES // 2
    return np.stack([random.permutation(half) for _ in range(concepts)], axis=1)


def texts(random: np.random.Generator, truth: np.ndarray) -> tuple[Ragged, np.ndarray]:
    """Words of which some are of concepts that are there, and activations at each."""
    n, concepts = truth.shape
    word = random.integers(0, VOCABULARY, (n, WORDS))
    for concept in range(concepts):
        own = truth[:, concept, None] & (random.random((n, WORDS)) < TILT)
        word = np.where(own, concept % VOCABULARY, word)
    vectors = random.normal(size=(VOCABULARY, DIMENSIONS))
    activations = vectors[word.reshape(-1)] + NOISE * random.normal(size=(n * WORDS, DIMENSIONS))
    return Ragged(word.reshape(-1), WORDS * np.arange(n + 1)), activations


def judged(
    seed: int,
    concepts: int,
    rates: tuple[float, float] | None = None,
    *,
    in_texts: bool = False,
    shuffled: bool = False,
) -> JudgedDictionary:
    """One random dictionary held against 20 others.

    Args:
        seed: Of texts, labels and dictionaries.
        concepts: How many.
        rates: How often a latent of each concept is active in sequences with and without it, which
            is planted into the dictionary; none if not given.
        in_texts: Whether words depend on concepts, so that any directions tell them.
        shuffled: Whether labels are dealt out before they are told from latents.
    """
    random = np.random.default_rng(seed)
    truth = labels(random, concepts)
    tokens, activations = texts(random, truth if in_texts else labels(random, concepts))
    spread, every = Spread.of(activations), np.arange(LATENTS)
    rows = [RandomRows(seed, number, LATENTS) for number in range(DRAWS + 1)]
    pooled = [
        pooled_draw(own, activations, tokens.starts, spread, ACTIVE).dense(every)
        for own in rows[1:]
    ]
    codes = compute_sparse_codes(rows[0].as_dictionary(activations, spread, ACTIVE), activations)
    latent, value, starts = codes.latent, codes.value, codes.starts
    if rates is not None:
        latent, value, starts = _planted(random, truth, rates, codes.latent, codes.value, starts)
    evidence = TokenEvidence(
        tokens=tokens,
        latent=Ragged(latent, tokens.starts, starts),
        value=Ragged(value, tokens.starts, starts),
        truth=labels(random, concepts) if shuffled else truth,
        chance_pooled=np.stack(pooled, axis=1),
        concepts=Concepts.numbered(concepts),
        latents=Latents.numbered(LATENTS),
        chances=Chances.numbered(DRAWS),
    )
    score = evaluate(MetricRequest(find_metric("latent_probe")), [evidence], Resampling(200))[0]
    assert score.detail is not None
    assert score.detail.draws is not None
    return JudgedDictionary(
        verdict(score, validated=False).answer,
        score.detail.draws.answers,
        float(np.mean(score.detail.draws.mean)),
    )


def _planted(
    random: np.random.Generator,
    truth: np.ndarray,
    rates: tuple[float, float],
    latent: np.ndarray,
    value: np.ndarray,
    starts: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes in which the first latents are noisy signs of the concepts, at one token each."""
    token = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    rest = latent >= truth.shape[1]
    fires = random.random(truth.shape) < np.where(truth, *rates)
    row, concept = np.nonzero(fires)
    place = row * WORDS + random.integers(0, WORDS, len(row))
    token, latent = np.r_[token[rest], place], np.r_[latent[rest], concept].astype(np.int32)
    value = np.r_[value[rest], 1 + random.random(len(row))].astype(np.float32)
    order = np.lexsort((latent, token))
    counts = np.bincount(token, minlength=len(starts) - 1)
    return latent[order], value[order], compute_starts(counts)


def shares(each: Iterable[JudgedDictionary]) -> tuple[float, float]:
    """How often *yes* was said of a concept, and of a dictionary."""
    every = list(each)
    concepts = [answer == "yes" for dictionary in every for answer in dictionary.concepts]
    return float(np.mean(concepts)), float(np.mean([d.answer == "yes" for d in every]))
