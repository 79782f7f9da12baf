"""A small example of each kind of evidence, by a seed: what every law is run on."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from theodolite.evidence.axes import (
    AttributionScale,
    Chances,
    Latents,
    Noises,
    Predicates,
    Removals,
    Tasks,
)
from theodolite.evidence.base import Bundle, Evidence
from theodolite.evidence.checks import Layout
from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.edit import EditEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.evidence.kinds.judgment import TASKS, JudgmentEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.evidence.ragged import Ragged, starts_of

SAMPLES, CONCEPTS, CLASSES = 30, 3, 3
WAYS = ("road", "black", "uniform", "gaussian")
LENGTHS = {"samples": SAMPLES, "concepts": CONCEPTS, "classes": CLASSES}
OTHER_AXES = 5
"""Length of an axis that is only known by its name."""


def plant_example(kind: type[Bundle], seed: int) -> Bundle:
    """Return a small example of a kind of evidence, which every law is run on.

    A kind of another package may have a class method ``planted(seed)`` of its own.

    >>> plant_example(ConceptEvidence, 0)
    <ConceptEvidence: 30 samples, 3 concepts, 3 classes; values, truth, labels, predicted, \
weights, class_truth>
    """
    own = getattr(kind, "planted", EXAMPLES.get(kind))
    if own is None:
        return from_declaration(kind, seed)
    example: Any = own(seed)
    return example  # type: ignore[no-any-return]


def from_declaration(kind: type[Bundle], seed: int) -> Bundle:
    """Numbers from 0 to 1 on the declared axes. A kind that checks more than that plants its own.

    >>> from theodolite.evidence.kinds.intervention import InterventionEvidence
    >>> from_declaration(InterventionEvidence, 0)
    <InterventionEvidence: 30 samples, 5 policies; right_after, right_reference>
    """
    random = np.random.default_rng(seed)
    members: dict[str, Any] = {
        name: plant_example(inner, seed) for name, inner in kind.inner_kinds()
    }
    for name, layout in kind.layouts():
        shape = tuple(
            int(axis) if axis.isdigit() else LENGTHS.get(axis, OTHER_AXES) for axis in layout.axes
        )
        values = _random_array(random, layout, shape)
        depth = len(layout.ragged)
        members[name] = Ragged.from_rows(list(values), depth) if depth else values
    return kind(**members)


def _random_array(
    random: np.random.Generator, layout: Layout, shape: tuple[int, ...]
) -> np.ndarray:
    if layout.content == "real":
        return np.asarray(random.random(shape))
    if layout.content == "flag":
        return np.asarray(random.random(shape) < 0.5)
    return random.integers(0, LENGTHS.get(str(layout.points_to), OTHER_AXES), shape)


def concept_example(seed: int) -> ConceptEvidence:
    """Concepts that a model mostly knows, and a head that goes by them."""
    random = np.random.default_rng(seed)
    truth = random.random((SAMPLES, CONCEPTS)) < 0.5
    values = truth + random.normal(scale=0.4, size=truth.shape)
    weights = random.normal(size=(CONCEPTS, CLASSES))
    return ConceptEvidence(
        values=values,
        truth=truth,
        labels=(truth @ weights).argmax(axis=1),
        predicted=(values @ weights).argmax(axis=1),
        weights=weights,
        class_truth=random.random(weights.shape),
    )


def location_example(seed: int) -> LocationEvidence:
    """Maps that are brightest near the places, more often than not."""
    random = np.random.default_rng(seed)
    side = 6
    points = random.random((SAMPLES, CONCEPTS, 1, 2)) * 4 * side
    maps = random.random((SAMPLES, CONCEPTS, side, side))
    cells = (points[:, :, 0] // 4).astype(int)
    sample, concept = np.indices((SAMPLES, CONCEPTS))
    maps[sample, concept, cells[..., 0], cells[..., 1]] += 0.8
    concepts = replace(concept_example(seed), labels=None, class_truth=None)
    return LocationEvidence(
        explained=concepts,
        maps=maps,
        sizes=np.full((SAMPLES, 2), 4 * side),
        part_of=np.arange(CONCEPTS),
        points=points,
    )


def embedding_example(seed: int) -> EmbeddingEvidence:
    """Vectors that say whether the concept is there, and a little else."""
    random = np.random.default_rng(seed)
    concepts = replace(concept_example(seed), predicted=None, weights=None, class_truth=None)
    shape = (SAMPLES, CONCEPTS, OTHER_AXES)
    positive, negative = 1 + random.normal(size=shape), random.normal(size=shape) - 1
    there = np.clip(concepts.values, 0, 1)[..., None]
    return EmbeddingEvidence(
        explained=concepts,
        vectors=there * positive + (1 - there) * negative,
        positive=positive,
        negative=negative,
    )


def edit_example(seed: int) -> EditEvidence:
    """Edits that move their own concept most, and outputs that mostly follow the concepts."""
    random = np.random.default_rng(seed)
    edited = random.integers(0, CONCEPTS, SAMPLES)
    direction = random.choice([-1.0, 1.0], SAMPLES)
    before = random.normal(size=(SAMPLES, CONCEPTS))
    moved = 0.4 * random.normal(size=before.shape)
    moved[np.arange(SAMPLES), edited] += direction
    head = random.normal(size=(CONCEPTS, CLASSES))

    def answers(values: np.ndarray, noise: float) -> np.ndarray:
        logits = values @ head + noise * random.normal(size=(SAMPLES, CLASSES))
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    after = before + moved
    return EditEvidence(
        before=before, after=after, edited=edited, direction=direction,
        output_before=answers(before, 0.1), output_after=answers(after, 0.1),
        surrogate_before=answers(before, 0.0), surrogate_after=answers(after, 0.0),
    )  # fmt: skip


def token_example(seed: int) -> TokenEvidence:
    """Latents that mostly fire at their word, sequences of no to six words, and a dictionary that
    keeps most of the loss."""
    random = np.random.default_rng(seed)
    starts = starts_of([3, *random.integers(0, 7, SAMPLES - 1)])
    tokens = Ragged(random.integers(0, OTHER_AXES, starts[-1]), starts)
    return TokenEvidence(
        tokens=tokens, **_planted_codes(random, tokens), **_planted_losses(random, tokens),
        **_planted_rationales(random, tokens), labels=random.integers(0, CLASSES, SAMPLES),
        explained=np.arange(CONCEPTS), predicate_of=np.arange(CONCEPTS),
        concept_of=np.arange(CONCEPTS), chances=Chances(("random dictionary",)),
        predicates=Predicates(tuple(f"token {k}" for k in range(OTHER_AXES))),
    )  # fmt: skip


def _planted_codes(random: np.random.Generator, tokens: Ragged) -> dict[str, Any]:
    n, words, ids = len(tokens.flat), np.arange(OTHER_AXES), tokens.flat
    fires = random.random((n, OTHER_AXES)) < np.where(ids[:, None] == words, 0.9, 0.2)
    active, latent = starts_of(fires.sum(axis=1)), np.nonzero(fires)[1].astype(np.int32)
    importance = random.normal(size=len(latent))
    counts = np.zeros((SAMPLES, OTHER_AXES))
    np.add.at(counts, (tokens.row, ids), 1)
    decoder = random.normal(size=(OTHER_AXES, 4))
    there = ids[:, None] == words[:CONCEPTS]
    chance = random.random((2, SAMPLES, 1, CONCEPTS))

    value = (0.1 + random.random(len(latent))).astype(np.float32)
    values = np.zeros((n, OTHER_AXES))
    values[np.nonzero(fires)] = value
    guess = values[:, :CONCEPTS] + random.normal(scale=0.3, size=(n, CONCEPTS))

    def codes(values: np.ndarray) -> Ragged:
        return Ragged(values, tokens.starts, active)

    return {
        "simulated": Ragged(guess, tokens.starts),
        "chance_simulated": Ragged(random.random(guess.shape), tokens.starts),
        "picked": random.integers(0, 3, (SAMPLES, CONCEPTS)),
        "latent": codes(latent), "holds": Ragged(ids, tokens.starts, np.arange(n + 1)),
        "value": codes(value),
        "importance": codes(importance),
        "effect": codes(importance + random.normal(size=len(latent))),
        "truth": counts[:, :CONCEPTS] > random.random((SAMPLES, CONCEPTS)),
        "decoder": decoder, "encoder": decoder,
        "probes": decoder[:CONCEPTS] + 0.5 * random.normal(size=(CONCEPTS, 4)),
        "projections": Ragged(
            np.where(there, 0.2 + random.random(there.shape), np.nan), tokens.starts
        ),
        "chance_pooled": random.random((SAMPLES, 1, OTHER_AXES)),
        "chance_activation": chance.sum(axis=0), "chance_on_formula": chance[0],
        "latents": Latents.numbered(OTHER_AXES),
    }  # fmt: skip


def _planted_losses(random: np.random.Generator, tokens: Ragged) -> dict[str, Any]:
    n = len(tokens.flat)
    loss, more = random.uniform(2, 4, n), np.exp(-random.random((n, 3)))
    arrays = {
        "loss": loss, "loss_spliced": loss + 0.2 * more[:, 0], "loss_ablated": loss + more[:, 1],
        "loss_zeroed": loss + 2 * more[:, 1], "divergence_spliced": 0.2 * more[:, 0],
        "chance_loss_spliced": (loss + 0.8 * more[:, 2])[:, None],
        "divergence_ablated": more[:, 1], "divergence_zeroed": 2 * more[:, 1],
        "chance_divergence_spliced": 0.8 * more[:, 2:],
    }  # fmt: skip
    return {name: Ragged(values, tokens.starts) for name, values in arrays.items()}


def _planted_rationales(random: np.random.Generator, tokens: Ragged) -> dict[str, Any]:
    marked = tokens.flat < 2
    answers = np.sort(random.random((4, SAMPLES, 2, 2)), axis=0)
    relevance = marked + random.normal(size=len(marked))
    return {
        "rationale": Ragged(marked, tokens.starts),
        "relevance": Ragged(relevance, tokens.starts),
        "clean": answers[3, :, 0, 0], "removed": answers[0], "only": answers[2],
        "chance_removed": answers[1][:, None], "chance_only": answers[1][:, None],
        "percents": np.array([20.0, 50.0]), "removals": Removals(("delete", "mask")),
    }  # fmt: skip


def judgment_example(seed: int) -> JudgmentEvidence:
    """A judge who is mostly right, asked everything of every latent, and some of it of others."""
    random = np.random.default_rng(seed)
    n, latents = 4 * SAMPLES, 3
    task = np.arange(n) % len(TASKS)
    active = (random.random(n) < 0.5) & (task != TASKS.index("intruder"))
    right = random.random(n) < 0.85
    latent = random.integers(0, latents, n)
    other = (random.random(n) < 0.25) & (task != TASKS.index("intruder"))
    guess = random.random(n) < 0.5
    answer = np.where(task == TASKS.index("intruder"), right, np.where(right, active, ~active))
    return JudgmentEvidence(
        latent=latent, active=active, answer=np.where(other, guess, answer).astype(float),
        sequence=random.integers(0, SAMPLES, n), task=task, tasks=Tasks(TASKS),
        judge=random.integers(0, 2, n), explanation=(latent + other) % latents,
        written_from=np.zeros(n, bool),
    )  # fmt: skip


def unit_example(seed: int) -> UnitEvidence:
    """Units that mark some of what they are named after; dealt out, less of it."""
    random = np.random.default_rng(seed)

    def counts(before: str, most_shared: int) -> dict[str, Any]:
        shape = (SAMPLES, OTHER_AXES)
        shared = random.integers(0, most_shared, shape)
        unit, formula = (shared + random.integers(0, 9, shape) for _ in range(2))
        names = ("unit_pixels", "formula_pixels", "shared_pixels")
        return {f"{before}{n}": a for n, a in zip(names, (unit, formula, shared), strict=True)}

    own, chance = counts("", 12), counts("chance_", 4)
    return UnitEvidence(
        **own,
        **chance,
        fires=own["unit_pixels"] > 0,
        annotated=random.random((SAMPLES, OTHER_AXES)) < 0.9,
        chance_annotated=random.random((SAMPLES, OTHER_AXES)) < 0.9,
        right=random.random(SAMPLES) < 0.7,
    )


def surrogate_example(seed: int) -> SurrogateEvidence:
    """Directions among embeddings that make up a good part of a linear head."""
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(CONCEPTS, OTHER_AXES))
    importances = random.normal(size=(CONCEPTS, CLASSES))
    embeddings = random.normal(size=(SAMPLES, OTHER_AXES))
    head = importances.T @ vectors + 0.3 * random.normal(size=(CLASSES, OTHER_AXES))
    outputs = embeddings @ head.T
    near = [outputs + scale * random.normal(size=outputs.shape) for scale in (0.2, 0.3, 0.4)]
    return SurrogateEvidence(
        importances=importances,
        embeddings=embeddings,
        head=head,
        vectors=vectors,
        rebuilt=near[0],
        learned=near[1],
        linearized=near[2],
        labels=outputs.argmax(axis=1),
    )


def saliency_example(seed: int) -> SaliencyEvidence:
    """Maps that mark the object, and answers that fall sooner than by chance without it."""
    random = np.random.default_rng(seed)
    objects = random.random((SAMPLES, 6, 6)) < 0.3
    percents = np.array([5.0, 10.0, 20.0, 40.0])
    clean = 0.7 + 0.3 * random.random(SAMPLES)

    def curve(slope: float, *more: int) -> np.ndarray:
        left = np.clip(1 - slope * percents / 100, 0, 1)
        noise = 0.1 * random.random((SAMPLES, *more, len(WAYS), len(percents)))
        whole = clean.reshape(-1, *(1,) * (noise.ndim - 1))
        return np.asarray(np.clip(whole * left - noise, 0, 1))

    return SaliencyEvidence(
        maps=objects + random.normal(scale=0.5, size=objects.shape),
        objects=objects,
        clean=clean,
        percents=percents,
        most_first=curve(2.0),
        least_first=curve(0.3),
        chance_most_first=curve(1.0, 3),
        chance_least_first=curve(1.0, 3),
        norms=1 + random.random(SAMPLES),
        changes=0.2 * random.random((SAMPLES, 2, 3)),
        chance_changes=0.5 + random.random(SAMPLES),
        randomized_similarity=random.uniform(-0.2, 0.4, SAMPLES),
        predicted=random.integers(0, CLASSES, SAMPLES),
        removals=Removals(WAYS),
        chances=Chances(("random", "smooth", "center")),
        noises=Noises(("uniform", "gaussian")),
    )


def rating_example(seed: int) -> RatingEvidence:
    """People who mostly agree, and a prediction of what they say."""
    random = np.random.default_rng(seed)
    scale = np.arange(1.0, 6.0)
    worth = random.uniform(1, 5, SAMPLES)
    ratings = np.clip(np.rint(worth[:, None] + random.normal(scale=0.8, size=(SAMPLES, 4))), 1, 5)
    ratings[random.random(ratings.shape) < 0.1] = np.nan
    ratings[:, 0] = np.clip(np.rint(worth), 1, 5)
    return RatingEvidence(
        ratings=ratings,
        scale=scale,
        predicted=np.clip(worth + random.normal(scale=0.5, size=SAMPLES), 1, 5),
        measured=worth[:, None] + random.normal(size=(SAMPLES, 2)),
        technique=random.integers(0, 2, SAMPLES),
        group=np.array([0, 1, 0, 1]),
    )


def attribution_example(seed: int) -> AttributionEvidence:
    """A model that reads one of two features by the sign of a third, nearly as attributions say."""
    random = np.random.default_rng(seed)
    inputs, background = random.normal(size=(SAMPLES, 6)), random.normal(size=(12, 6))

    def respond(rows: np.ndarray) -> np.ndarray:
        return np.asarray(np.where(rows[:, 2] > 0, rows[:, 0], rows[:, 1]) + 0.1 * rows[:, 3])

    chosen = np.where(inputs[:, 2] > 0, 0, 1)
    values = random.normal(scale=0.1, size=inputs.shape)
    values[np.arange(SAMPLES), chosen] += respond(inputs)
    noise = random.normal(scale=0.1, size=(3, *inputs.shape))
    return AttributionEvidence(
        values=values, inputs=inputs, background=background, base=np.zeros(SAMPLES),
        respond=respond,
        labels=(respond(inputs) > 0).astype(int), scale=AttributionScale(("raw",)),
        randomized_values=noise[0], repeat_values=values + noise[1],
        other_method_values=values + noise[2],
    )  # fmt: skip


EXAMPLES: dict[type[Evidence], Callable[[int], Evidence]] = {
    ConceptEvidence: concept_example,
    LocationEvidence: location_example,
    EmbeddingEvidence: embedding_example,
    EditEvidence: edit_example,
    TokenEvidence: token_example,
    JudgmentEvidence: judgment_example,
    UnitEvidence: unit_example,
    SurrogateEvidence: surrogate_example,
    SaliencyEvidence: saliency_example,
    RatingEvidence: rating_example,
    AttributionEvidence: attribution_example,
}
