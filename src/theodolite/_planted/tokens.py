"""Latents that do what they are named after, with a known probability."""

import math

import numpy as np

from theodolite._planted.draws import Draw
from theodolite._planted.generators import Arrays, generator
from theodolite.evidence.axes import Chances, Concepts, Latents, Predicates, Removals
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged, compute_starts

WORDS = 5
"""Tokens that belong to a topic: no single one tells it."""
DRAWS = 20
"""Dictionaries of random directions beside the planted one."""
OTHERS = 100
"""Tokens of no topic: so many that each is rarer than those of topics."""
RATE, ACTIVE = 0.3, 0.6
"""How often what a latent is named after holds by chance, and how often the latent is active."""
LENGTH, MARKED = 6, 2
"""Tokens of a sequence, and how many of them are marked."""
PAIRS = 4
FAR = 20.0
"""What is added to activations with a normal distribution, so that none is below 0."""
VOCABULARY = 12


def planted_tokens(
    n: int = 400, concepts: int = 3, *, alignment: float = 1.0, seed: int = 0
) -> TokenEvidence:
    """Sequences of which some are about topics; a latent for each topic fires at all its words.

    Other latents fire anywhere. ``alignment`` is the share of tokens at which the latents of
    topics do not fire anywhere too, and how much of the other claims is no noise. A sequence
    about no topic may be empty; the first is about the first topic.

    >>> planted_tokens(2).tokens
    <Ragged: 2 rows of 12 int64>
    """
    random = np.random.default_rng(seed)
    lengths = random.integers(concepts + 1, concepts + 7, n)
    truth = random.random((n, concepts)) < 0.4
    truth[0, 0] = True
    lengths[~truth.any(axis=1)] -= concepts + 1
    topics, ids = _words(random, truth, np.repeat(np.arange(n), lengths), concepts)
    tokens, noise = Ragged(ids, compute_starts(lengths)), 1 - alignment
    return TokenEvidence(
        tokens=tokens, truth=truth, labels=truth.argmax(axis=1),
        picked=random.integers(0, 3, truth.shape),
        **_topic_codes(random, tokens, topics, concepts, noise), **_losses(random, tokens, noise),
        **_answers(random, tokens, topics, noise), explained=np.arange(concepts),
        predicate_of=np.arange(concepts), concept_of=np.arange(concepts),
        concepts=Concepts.numbered(concepts), chances=Chances.numbered(DRAWS),
        predicates=Predicates(tuple(f"topic {c}" for c in range(concepts))),
        removals=Removals(("delete",)),
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


def _topic_codes(
    random: np.random.Generator, tokens: Ragged, topic: np.ndarray, concepts: int, noise: float
) -> Arrays:
    n, k = len(topic), 3 * concepts
    own = topic[:, None] == np.arange(concepts)
    fires = random.random((n, k)) < 0.4
    meant = random.random(n) >= noise
    fires[meant, :concepts] = own[meant]
    inner, latent = compute_starts(fires.sum(axis=1)), np.nonzero(fires)[1].astype(np.int32)
    values, claims = 1 + random.random(fires.shape), random.normal(size=len(latent))
    expected = np.where(fires, values, 0.0) + noise * random.normal(size=fires.shape)
    decoder = np.eye(k) + noise * random.normal(size=(k, k))
    weight, chance = random.random((2, len(tokens), DRAWS, concepts))

    def codes(values: np.ndarray) -> Ragged:
        return Ragged(values, tokens.starts, inner)

    return {
        "latent": codes(latent), "value": codes(values[fires]), "latents": Latents.numbered(k),
        "simulated": Ragged(expected[:, :concepts], tokens.starts),
        "chance_simulated": Ragged(random.random((n, concepts)), tokens.starts),
        "importance": codes(claims),
        "effect": codes(claims + (0.1 + noise) * random.normal(size=len(latent))),
        "holds": Ragged(topic[topic >= 0], tokens.starts, compute_starts(topic >= 0)),
        "decoder": decoder, "encoder": decoder,
        "probes": decoder[:concepts] + noise * random.normal(size=(concepts, k)),
        "projections": Ragged(np.where(own, values[:, :concepts], np.nan), tokens.starts),
        "chance_pooled": _parts(random, tokens, topic, concepts),
        "chance_activation": weight, "chance_on_formula": 0.4 * chance * weight,
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


def _losses(random: np.random.Generator, tokens: Ragged, noise: float) -> Arrays:
    loss, cost = 2 + random.random((2, len(tokens.flat)))
    left = cost * (0.1 + 0.5 * noise * random.random(len(cost)))
    chance = cost[:, None] * (0.6 + 0.2 * random.random((len(cost), DRAWS)))
    arrays = {
        "loss": loss, "loss_spliced": loss + left, "loss_ablated": loss + cost,
        "loss_zeroed": loss + 2 * cost, "chance_loss_spliced": loss[:, None] + chance,
        "divergence_spliced": left, "divergence_ablated": cost,
        "divergence_zeroed": 2 * cost, "chance_divergence_spliced": chance,
    }  # fmt: skip
    return {name: Ragged(values, tokens.starts) for name, values in arrays.items()}


def _answers(
    random: np.random.Generator, tokens: Ragged, topic: np.ndarray, noise: float
) -> Arrays:
    n, marked = len(tokens), topic >= 0
    curve = (0.1 + 0.4 * noise) * random.random((n, 1, 2))
    chance = np.repeat(0.1 * random.random((n, 1, 1, 2)), DRAWS, axis=1)
    relevance = marked + (0.1 + noise) * random.random(len(marked))
    return {
        "rationale": Ragged(marked, tokens.starts),
        "relevance": Ragged(relevance, tokens.starts),
        "clean": np.full(n, 0.9), "removed": curve, "only": 0.9 - curve,
        "chance_removed": 0.5 + chance, "chance_only": 0.3 + chance,
        "percents": np.array([20.0, 50.0]),
    }  # fmt: skip


def _single_tokens(draw: Draw) -> Ragged:
    """Sequences of one token each."""
    n = len(draw)
    return Ragged(draw.facts.integers(0, VOCABULARY, n), np.arange(n + 1))


def _listed(there: np.ndarray) -> Ragged:
    """What is true of the one token of each sequence."""
    inner = compute_starts(there.sum(axis=1))
    return Ragged(np.nonzero(there)[1], np.arange(len(there) + 1), inner)


def _codes(active: np.ndarray, values: np.ndarray) -> Arrays:
    latent, k = _listed(active), active.shape[1]
    value = Ragged(values[active], latent.starts, latent.inner_starts)
    return {"latent": latent, "value": value, "latents": Latents.numbered(k)}


def _own_explanations(k: int) -> Arrays:
    """Each latent is explained by the predicate and the concept of its own number."""
    return dict.fromkeys(("explained", "predicate_of", "concept_of"), np.arange(k))


@generator(
    "named latents", TokenEvidence, serves=("activation_precision", "label_precision"),
    says="what a latent is named after holds where it is active with the probability of the dial, "
    "else by chance",
    exact=lambda draw: draw.dial + (1 - draw.dial) * RATE, varies=("concepts",),
)  # fmt: skip
def named_latents(draw: Draw) -> Arrays:
    k = draw.condition.concepts
    active, chance = draw.happens(ACTIVE, k), draw.happens(RATE, k)
    there = np.where(draw.happens(draw.dial, k), active, chance)
    random = draw.happens(RATE, DRAWS, k).astype(float)
    return {
        "tokens": _single_tokens(draw), **_codes(active, 0.5 + draw.uniform(k)),
        "holds": _listed(there), "truth": there, **_own_explanations(k),
        "predicates": Predicates.numbered(k), "chance_activation": np.ones(random.shape),
        "chance_on_formula": random, "chances": Chances.numbered(DRAWS),
    }  # fmt: skip


@generator(
    "rebuilt layer", TokenEvidence, serves=("loss_recovered", "divergence_recovered"),
    says="a dictionary saves the share of the dial of what an ablation costs",
    exact=lambda draw: draw.dial, no_ends=("loss_recovered",),
)  # fmt: skip
def rebuilt_layer(draw: Draw) -> Arrays:
    cost, clean = 0.5 + draw.uniform(), 2 + draw.uniform()
    left = (1 - draw.dial) * cost * (0.5 + draw.uniform())
    random = cost[:, None] * (0.5 + draw.uniform(DRAWS))
    tokens = _single_tokens(draw)
    arrays = {
        "loss": clean, "loss_spliced": clean + left, "loss_ablated": clean + cost,
        "chance_loss_spliced": clean[:, None] + random, "divergence_spliced": left,
        "divergence_ablated": cost, "chance_divergence_spliced": random,
    }  # fmt: skip
    each = {name: Ragged(values, tokens.starts) for name, values in arrays.items()}
    return {"tokens": tokens, "chances": Chances.numbered(DRAWS), **each}


def _correlated(draw: Draw, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers with a normal distribution and the correlation of the dial."""
    first, noise = draw.normal(n), draw.normal(n)
    return first, draw.dial * first + math.sqrt(1 - draw.dial**2) * noise


@generator(
    "claimed effects", TokenEvidence, serves=("attribution_effect",),
    says="claims and effects of latents with the correlation of the dial",
    exact=lambda draw: 6 / math.pi * math.asin(draw.dial / 2),  # Spearman's
)  # fmt: skip
def claimed_effects(draw: Draw) -> Arrays:
    claims, effects = _correlated(draw, PAIRS)
    codes = _codes(np.ones(claims.shape, bool), np.ones(claims.shape))
    latent = codes["latent"]
    importance, effect = (
        Ragged(values.reshape(-1), latent.starts, latent.inner_starts)
        for values in (claims, effects)
    )
    return {"tokens": _single_tokens(draw), **codes, "importance": importance, "effect": effect}


@generator(
    "simulated latents", TokenEvidence, serves=("simulation_correlation",),
    says="activations and what a simulator expects, with the correlation of the dial",
    exact=lambda draw: draw.dial, varies=("concepts",),
)  # fmt: skip
def simulated_latents(draw: Draw) -> Arrays:
    k = draw.condition.concepts
    real, guess = _correlated(draw, k)
    words, tokens = draw.normal(k), _single_tokens(draw)
    return {
        "tokens": tokens, **_codes(np.ones(real.shape, bool), FAR + real),
        "simulated": Ragged(guess, tokens.starts), "explained": np.arange(k),
        "chance_simulated": Ragged(words, tokens.starts),
    }  # fmt: skip


@generator(
    "marked tokens", TokenEvidence, serves=("rationale_peak", "rationale_mass", "rationale_rank"),
    says="relevance lies on marked tokens with the probability of the dial, else anywhere",
    exact=lambda draw: draw.dial + (1 - draw.dial) * MARKED / LENGTH,
)  # fmt: skip
def marked_tokens(draw: Draw) -> Arrays:
    n = len(draw)
    marked = draw.uniform(LENGTH, by=draw.facts).argsort(axis=1) < MARKED
    meant = draw.happens(draw.dial)[:, None]
    relevance = np.where(meant, marked * (1 + draw.uniform(LENGTH)), draw.uniform(LENGTH))
    starts = LENGTH * np.arange(n + 1)
    return {
        "tokens": Ragged(draw.facts.integers(0, VOCABULARY, n * LENGTH), starts),
        "relevance": Ragged(relevance.reshape(-1), starts),
        "rationale": Ragged(marked.reshape(-1), starts),
    }  # fmt: skip


@generator(
    "needed tokens", TokenEvidence, serves=("comprehensiveness", "sufficiency"),
    says="the answer needs the tokens, and nothing else, with the probability of the dial",
    exact=lambda draw: 1 - draw.dial if draw.metric == "sufficiency" else draw.dial,
    no_ends=("sufficiency",),
)  # fmt: skip
def needed_tokens(draw: Draw) -> Arrays:
    meant = draw.happens(draw.dial).astype(float)[:, None, None]
    ones = np.ones(meant.shape)
    return {
        "tokens": _single_tokens(draw), "clean": ones[:, 0, 0], "removed": 1 - meant,
        "only": meant, "chance_removed": ones[:, None], "chance_only": 1 - ones[:, None],
        "percents": np.array([20.0]),
    }  # fmt: skip


@generator(
    "absorbing latents", TokenEvidence, serves=("absorption",),
    says="a concept is carried by its own latent with the probability of the dial, else by another",
    exact=lambda draw: 1 - draw.dial, varies=("concepts",),
)  # fmt: skip
def absorbing_latents(draw: Draw) -> Arrays:
    k = draw.condition.concepts
    own = draw.happens(draw.dial, k)
    tokens = _single_tokens(draw)
    return {
        "tokens": tokens, **_codes(np.hstack([own, ~own]), np.ones((len(own), 2 * k))),
        "decoder": np.vstack([np.eye(k), np.eye(k)]), "probes": np.eye(k),
        "projections": Ragged(np.ones(own.shape), tokens.starts), "explained": np.arange(k),
        "concept_of": np.arange(k), "concepts": Concepts.numbered(k),
    }  # fmt: skip


@generator(
    "telling latents", TokenEvidence, serves=("latent_probe",),
    says="a latent is active where its concept is with the probability of the dial, or by a coin",
    exact=lambda draw: 0.5 + draw.dial / 2, varies=("concepts",), reference=0.75,
)  # fmt: skip
def telling_latents(draw: Draw) -> Arrays:
    k = draw.condition.concepts
    truth = draw.happens(0.5, k, by=draw.facts)
    active = np.where(draw.happens(draw.dial, k), truth, draw.happens(0.5, k))
    random = draw.happens(0.5, DRAWS, k).astype(float)
    return _pooled(draw, active, truth, random)


def _pooled(draw: Draw, active: np.ndarray, truth: np.ndarray, random: np.ndarray) -> Arrays:
    """Latents beside the concepts and what random dictionaries have of a sequence."""
    codes = _codes(active, np.ones(active.shape))
    chances = {"chance_pooled": random, "chances": Chances.numbered(DRAWS)}
    return {"tokens": _single_tokens(draw), **codes, "truth": truth, **chances}


@generator(
    "split latents", TokenEvidence, serves=("splitting",),
    says="a concept has a latent of its own with the probability of the dial, else two halves",
    exact=lambda draw: float((draw.models.random(draw.condition.concepts) >= draw.dial).mean()),
    varies=("concepts",),
)  # fmt: skip
def split_latents(draw: Draw) -> Arrays:
    k = draw.condition.concepts
    single = draw.models.random(k) < draw.dial
    truth = draw.happens(0.5, k, by=draw.facts)
    first = truth & (draw.happens(0.5, k, by=draw.facts) | single)
    other = draw.happens(0.5, DRAWS, k, by=draw.facts) & truth[:, None]
    halves = np.concatenate([other, truth[:, None] & ~other], axis=2).astype(float)
    return _pooled(draw, np.hstack([first, truth & ~first]), truth, halves)
