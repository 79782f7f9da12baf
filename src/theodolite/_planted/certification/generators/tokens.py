"""Latents that do what they are named after, with a known probability."""

import math
from typing import Any

import numpy as np

from theodolite._planted.conditions import Condition
from theodolite._planted.draws import PlantedRows
from theodolite._planted.generators import Generator
from theodolite.evidence.axes import Chances, Concepts, Latents, Predicates
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged, starts_of

RATE, ACTIVE = 0.3, 0.6
"""How often what a latent is named after holds by chance, and how often the latent is active."""
WORDS, MARKED = 6, 2
"""Tokens of a sequence, and how many of them are marked."""
PAIRS = 4
FAR = 20.0
"""What is added to activations with a normal distribution, so that none is below 0."""
DRAWS = 20
"""Dictionaries of random directions beside the planted one."""
VOCABULARY = 12


def _single_tokens(layout: PlantedRows) -> Ragged:
    """Sequences of one token each."""
    n = len(layout)
    return Ragged(layout.facts.integers(0, VOCABULARY, n), np.arange(n + 1))


def _listed(there: np.ndarray) -> Ragged:
    """What is true of the one token of each sequence."""
    inner = starts_of(there.sum(axis=1))
    return Ragged(np.nonzero(there)[1], np.arange(len(there) + 1), inner)


def _codes(active: np.ndarray, values: np.ndarray) -> dict[str, Any]:
    latent = _listed(active)
    return {"latent": latent, "value": Ragged(values[active], latent.starts, latent.inner_starts)}


def named_latents(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> TokenEvidence:
    """What a latent is named after holds where it is active, or by chance."""
    del metric, models
    k = condition.concepts
    active, chance = layout.happens(ACTIVE, k), layout.happens(RATE, k)
    there = np.where(layout.happens(condition.dial, k), active, chance)
    random = layout.happens(RATE, DRAWS, k).astype(float)
    return TokenEvidence(
        tokens=_single_tokens(layout), **_codes(active, 0.5 + layout.uniform(k)),
        holds=_listed(there), truth=there, explained=np.arange(k), predicate_of=np.arange(k),
        concept_of=np.arange(k), predicates=Predicates.numbered(k), latents=Latents.numbered(k),
        chance_activation=np.ones(random.shape), chance_on_formula=random,
        chances=Chances.numbered(DRAWS), samples=layout.samples(condition),
    )  # fmt: skip


def rebuilt_layer(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> TokenEvidence:
    """A dictionary that saves the share of the dial of what an ablation costs."""
    del metric, models
    cost, clean = 0.5 + layout.uniform(), 2 + layout.uniform()
    left = (1 - condition.dial) * cost * (0.5 + layout.uniform())
    random = cost[:, None] * (0.5 + layout.uniform(DRAWS))
    tokens = _single_tokens(layout)

    def each(values: np.ndarray) -> Ragged:
        return Ragged(values, tokens.starts)

    return TokenEvidence(
        tokens=tokens, loss=each(clean), loss_spliced=each(clean + left),
        loss_ablated=each(clean + cost), chance_loss_spliced=each(clean[:, None] + random),
        divergence_spliced=each(left), divergence_ablated=each(cost),
        chance_divergence_spliced=each(random), chances=Chances.numbered(DRAWS),
        samples=layout.samples(condition),
    )  # fmt: skip


def claimed_effects(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> TokenEvidence:
    """Claims and effects with a normal distribution, correlated as the dial says."""
    del metric, models
    claims, noise = layout.normal(PAIRS), layout.normal(PAIRS)
    effects = condition.dial * claims + math.sqrt(1 - condition.dial**2) * noise
    codes = _codes(np.ones(claims.shape, bool), np.ones(claims.shape))
    latent = codes["latent"]

    def each(values: np.ndarray) -> Ragged:
        return Ragged(values.reshape(-1), latent.starts, latent.inner_starts)

    return TokenEvidence(
        tokens=_single_tokens(layout), **codes, importance=each(claims), effect=each(effects),
        latents=Latents.numbered(PAIRS), samples=layout.samples(condition),
    )  # fmt: skip


def simulated_latents(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> TokenEvidence:
    """Activations and simulations with a normal distribution, correlated as the dial says."""
    del metric, models
    k = condition.concepts
    real, noise, words = layout.normal(k), layout.normal(k), layout.normal(k)
    guess = condition.dial * real + math.sqrt(1 - condition.dial**2) * noise
    tokens, codes = _single_tokens(layout), _codes(np.ones(real.shape, bool), FAR + real)
    return TokenEvidence(
        tokens=tokens, **codes, simulated=Ragged(guess, tokens.starts),
        chance_simulated=Ragged(words, tokens.starts), explained=np.arange(k),
        latents=Latents.numbered(k), samples=layout.samples(condition),
    )  # fmt: skip


def marked_tokens(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> TokenEvidence:
    """Relevance on marked tokens alone with the probability of the dial, else anywhere."""
    del metric, models
    n = len(layout)
    order = layout.uniform(WORDS, by=layout.facts).argsort(axis=1)
    marked = order < MARKED
    meant = layout.happens(condition.dial)[:, None]
    relevance = np.where(meant, marked * (1 + layout.uniform(WORDS)), layout.uniform(WORDS))
    starts = WORDS * np.arange(n + 1)
    return TokenEvidence(
        tokens=Ragged(layout.facts.integers(0, VOCABULARY, n * WORDS), starts),
        relevance=Ragged(relevance.reshape(-1), starts),
        rationale=Ragged(marked.reshape(-1), starts), samples=layout.samples(condition),
    )  # fmt: skip


def needed_tokens(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> TokenEvidence:
    """The answer needs the tokens, and nothing else, with the probability of the dial."""
    del metric, models
    meant = layout.happens(condition.dial).astype(float)[:, None, None]
    ones = np.ones(meant.shape)
    return TokenEvidence(
        tokens=_single_tokens(layout), clean=ones[:, 0, 0], removed=1 - meant, only=meant,
        chance_removed=ones[:, None], chance_only=1 - ones[:, None], percents=np.array([20.0]),
        samples=layout.samples(condition),
    )  # fmt: skip


def absorbing_latents(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> TokenEvidence:
    """A concept's own latent carries it with the probability of the dial, else another does."""
    del metric, models
    k = condition.concepts
    own = layout.happens(condition.dial, k)
    decoder = np.concatenate([np.eye(k), np.eye(k)])
    tokens = _single_tokens(layout)
    return TokenEvidence(
        tokens=tokens, **_codes(np.concatenate([own, ~own], axis=1), np.ones((len(own), 2 * k))),
        decoder=decoder, probes=np.eye(k), projections=Ragged(np.ones(own.shape), tokens.starts),
        explained=np.arange(k), concept_of=np.arange(k), concepts=Concepts.numbered(k),
        latents=Latents.numbered(2 * k), samples=layout.samples(condition),
    )  # fmt: skip


def telling_latents(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> TokenEvidence:
    """A latent is active where its concept is, with the probability of the dial, or by a coin."""
    del metric, models
    k = condition.concepts
    truth = layout.happens(0.5, k, by=layout.facts)
    active = np.where(layout.happens(condition.dial, k), truth, layout.happens(0.5, k))
    random = layout.happens(0.5, DRAWS, k).astype(float)
    return TokenEvidence(
        tokens=_single_tokens(layout), **_codes(active, np.ones(active.shape)), truth=truth,
        chance_pooled=random, chances=Chances.numbered(DRAWS), latents=Latents.numbered(k),
        samples=layout.samples(condition),
    )  # fmt: skip


def split_latents(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> TokenEvidence:
    """A concept has a latent of its own with the probability of the dial, else two halves."""
    del metric
    k = condition.concepts
    single = models.random(k) < condition.dial
    truth = layout.happens(0.5, k, by=layout.facts)
    first = truth & (layout.happens(0.5, k, by=layout.facts) | single)
    active = np.concatenate([first, truth & ~first], axis=1)
    other = layout.happens(0.5, DRAWS, k, by=layout.facts) & truth[:, None]
    halves = np.concatenate([other, truth[:, None] & ~other], axis=2).astype(float)
    return TokenEvidence(
        tokens=_single_tokens(layout), **_codes(active, np.ones(active.shape)), truth=truth,
        chance_pooled=halves, chances=Chances.numbered(DRAWS), latents=Latents.numbered(2 * k),
        samples=layout.samples(condition),
    )  # fmt: skip


def _split(metric: str, condition: Condition, models: np.random.Generator) -> float:
    del metric
    return float((models.random(condition.concepts) >= condition.dial).mean())


def _precision(metric: str, condition: Condition, models: np.random.Generator) -> float:
    del metric, models
    return condition.dial + (1 - condition.dial) * RATE


def _dial(metric: str, condition: Condition, models: np.random.Generator) -> float:
    del models
    return 1 - condition.dial if metric in ("sufficiency", "absorption") else condition.dial


def _spearman(metric: str, condition: Condition, models: np.random.Generator) -> float:
    del metric, models
    return 6 / math.pi * math.asin(condition.dial / 2)


def _marked(metric: str, condition: Condition, models: np.random.Generator) -> float:
    del metric, models
    return condition.dial + (1 - condition.dial) * MARKED / WORDS


def _auroc(metric: str, condition: Condition, models: np.random.Generator) -> float:
    del metric, models
    return 0.5 + condition.dial / 2


NAMED_LATENTS = Generator(
    name="named latents",
    says="what a latent is named after holds where it is active with the probability of the dial, "
    "else by chance",
    serves=("activation_precision", "label_precision"),
    make=named_latents, exact=_precision, varies=("concepts",), reference=0.5,
)  # fmt: skip
REBUILT_LAYER = Generator(
    name="rebuilt layer",
    says="a dictionary saves the share of the dial of what an ablation costs",
    serves=("loss_recovered", "divergence_recovered"),
    make=rebuilt_layer, exact=_dial, reference=0.5, no_ends=("loss_recovered",),
)  # fmt: skip
CLAIMED_EFFECTS = Generator(
    name="claimed effects",
    says="claims and effects of latents with the correlation of the dial",
    serves=("attribution_effect",), make=claimed_effects, exact=_spearman, reference=0.5,
)  # fmt: skip
SIMULATED_LATENTS = Generator(
    name="simulated latents",
    says="activations and what a simulator expects, with the correlation of the dial",
    serves=("simulation_correlation",), make=simulated_latents, exact=_dial, varies=("concepts",),
    reference=0.5,
)  # fmt: skip
MARKED_TOKENS = Generator(
    name="marked tokens",
    says="relevance lies on marked tokens with the probability of the dial, else anywhere",
    serves=("rationale_peak", "rationale_mass", "rationale_rank"),
    make=marked_tokens, exact=_marked, reference=0.5,
)  # fmt: skip
NEEDED_TOKENS = Generator(
    name="needed tokens",
    says="the answer needs the tokens, and nothing else, with the probability of the dial",
    serves=("comprehensiveness", "sufficiency"), make=needed_tokens, exact=_dial, reference=0.5,
    no_ends=("sufficiency",),
)  # fmt: skip
ABSORBING_LATENTS = Generator(
    name="absorbing latents",
    says="a concept is carried by its own latent with the probability of the dial, else by another",
    serves=("absorption",), make=absorbing_latents, exact=_dial, varies=("concepts",),
    reference=0.5,
)  # fmt: skip
SPLIT_LATENTS = Generator(
    name="split latents",
    says="a concept has a latent of its own with the probability of the dial, else two halves",
    serves=("splitting",), make=split_latents, exact=_split, varies=("concepts",), reference=0.5,
)  # fmt: skip
TELLING_LATENTS = Generator(
    name="telling latents",
    says="a latent is active where its concept is with the probability of the dial, or by a coin",
    serves=("latent_probe",), make=telling_latents, exact=_auroc, varies=("concepts",),
)  # fmt: skip
