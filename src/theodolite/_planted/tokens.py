"""Texts whose topics latents tell, and a dictionary that does what it says."""

from typing import Any

import numpy as np

from theodolite.evidence.axes import Chances, Concepts, Latents, Predicates, Removals
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged, starts_of

WORDS = 5
"""Tokens that belong to a topic: no single one tells it."""
DRAWS = 20
"""Dictionaries of random directions beside the planted one."""
OTHERS = 100
"""Tokens of no topic: so many that each is rarer than those of topics."""


def planted_tokens(n: int = 400, concepts: int = 3, seed: int = 0) -> TokenEvidence:
    """Sequences of 4 tokens or more, some of which are about a topic; a latent for each topic fires
    at all of its words, others anywhere.

    >>> planted_tokens(2).tokens
    <Ragged: 2 rows of 16 int64>
    """
    random = np.random.default_rng(seed)
    lengths = random.integers(concepts + 1, concepts + 7, n)
    truth = random.random((n, concepts)) < 0.4
    topics, ids = _words(random, truth, np.repeat(np.arange(n), lengths), concepts)
    tokens = Ragged(ids, starts_of(lengths))
    return TokenEvidence(
        tokens=tokens, truth=truth, **_codes(random, tokens, topics, concepts),
        **_losses(random, tokens), **_answers(random, tokens, topics, n),
        explained=np.arange(concepts), predicate_of=np.arange(concepts),
        concept_of=np.arange(concepts), concepts=Concepts.numbered(concepts),
        predicates=Predicates(tuple(f"topic {c}" for c in range(concepts))),
        chances=Chances.numbered(DRAWS), removals=Removals(("delete",)),
    )  # fmt: skip


def _words(
    random: np.random.Generator, truth: np.ndarray, row: np.ndarray, concepts: int
) -> tuple[np.ndarray, np.ndarray]:
    """The topic of each token, or -1, and its id; at least the first token names a topic."""
    topic = random.integers(0, concepts, len(row))
    first = np.append(True, np.diff(row) > 0)
    meant = truth[row, topic] & (first | (random.random(len(row)) < 0.4))
    for c in range(concepts):  # a topic that is there has a token of its own
        has = np.bincount(row[meant & (topic == c)], minlength=len(truth)) > 0
        lacking = np.flatnonzero(truth[:, c] & ~has)
        place = np.searchsorted(row, lacking) + 1 + c
        topic[place], meant[place] = c, True
    topic = np.where(meant, topic, -1)
    word = random.integers(0, WORDS, len(row))
    other = WORDS * concepts + random.integers(0, OTHERS, len(row))
    return topic, np.where(meant, WORDS * topic + word, other)


def _codes(
    random: np.random.Generator, tokens: Ragged, topic: np.ndarray, concepts: int
) -> dict[str, Any]:
    n, k = len(topic), 3 * concepts
    own = topic[:, None] == np.arange(concepts)
    fires = np.concatenate([own, random.random((n, k - concepts)) < 0.4], axis=1)
    inner, latent = starts_of(fires.sum(axis=1)), np.nonzero(fires)[1].astype(np.int32)
    claims, values = random.normal(size=len(latent)), 1 + random.random(fires.shape)
    decoder = np.eye(k)
    chance = random.random((len(tokens), DRAWS, concepts))

    def codes(values: np.ndarray) -> Ragged:
        return Ragged(values, tokens.starts, inner)

    return {
        "latent": codes(latent), "value": codes(values[fires]),
        "simulated": Ragged(np.where(fires, values, 0.0)[:, :concepts], tokens.starts),
        "chance_simulated": Ragged(random.random((n, concepts)), tokens.starts),
        "importance": codes(claims),
        "effect": codes(claims + 0.1 * random.normal(size=len(latent))),
        "holds": Ragged(topic[topic >= 0], tokens.starts, starts_of(topic >= 0)),
        "latents": Latents.numbered(k), "decoder": decoder, "probes": decoder[:concepts],
        "projections": Ragged(np.where(own, 1.0, np.nan), tokens.starts),
        "chance_pooled": _parts(random, tokens, topic, concepts),
        "chance_activation": np.ones(chance.shape), "chance_on_formula": 0.4 * chance,
    }  # fmt: skip


def _parts(
    random: np.random.Generator, tokens: Ragged, topic: np.ndarray, concepts: int
) -> np.ndarray:
    """Of random directions: three for each topic, each of which knows some of its words."""
    part = np.where(topic >= 0, tokens.flat % WORDS // 2, 0)
    knows = np.zeros((len(tokens), 3 * concepts), bool)
    knows[tokens.row[topic >= 0], (topic + concepts * part)[topic >= 0]] = True
    noise = random.random((len(tokens), DRAWS, 3 * concepts))
    return np.asarray(noise + knows[:, None] * (noise > 0.2))


def _losses(random: np.random.Generator, tokens: Ragged) -> dict[str, Any]:
    loss, cost = 2 + random.random((2, len(tokens.flat)))
    chance = cost[:, None] * (0.6 + 0.2 * random.random((len(cost), DRAWS)))
    arrays = {
        "loss": loss, "loss_spliced": loss + 0.1 * cost, "loss_ablated": loss + cost,
        "loss_zeroed": loss + 2 * cost, "chance_loss_spliced": loss[:, None] + chance,
        "divergence_spliced": 0.1 * cost, "divergence_ablated": cost,
        "divergence_zeroed": 2 * cost, "chance_divergence_spliced": chance,
    }  # fmt: skip
    return {name: Ragged(values, tokens.starts) for name, values in arrays.items()}


def _answers(
    random: np.random.Generator, tokens: Ragged, topic: np.ndarray, n: int
) -> dict[str, Any]:
    marked = topic >= 0
    curve = 0.1 * random.random((n, 1, 2))
    chance = np.repeat(curve[:, None], DRAWS, axis=1)
    return {
        "rationale": Ragged(marked, tokens.starts),
        "relevance": Ragged(marked + 0.1 * random.random(len(marked)), tokens.starts),
        "clean": np.full(n, 0.9), "removed": curve, "only": 0.8 + curve,
        "chance_removed": 0.5 + chance, "chance_only": 0.3 + chance,
        "percents": np.array([20.0, 50.0]),
    }  # fmt: skip
