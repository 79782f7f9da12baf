"""Which generator is for which score."""

from theodolite._planted.certification.generators import (
    attributions,
    edits,
    existence,
    judgments,
    maps,
    pairs,
    predictions,
    removal,
    surrogates,
    tokens,
    units,
    values,
    vectors,
    votes,
)
from theodolite._planted.certification.generators.base import Generator
from theodolite.errors import EvidenceError

GENERATORS: tuple[Generator, ...] = (
    existence.RANKED_CONCEPTS, existence.CLASS_WEIGHTS,
    maps.MARKED_OBJECTS, maps.FEW_PIXELS, maps.CONCEPT_PLACES,
    values.LEAKING_VALUES, pairs.LEAKING_PAIRS, pairs.IMPURE_VALUES,
    vectors.LEAKING_VECTORS, vectors.CONCEPT_VECTORS, vectors.ALIGNED_VECTORS,
    predictions.PREDICTIONS, predictions.INTERVENTIONS,
    surrogates.EXPLAINED_LAYER, removal.REMOVED_PIXELS, removal.MOVED_MAPS, removal.BLIND_MAPS,
    units.MARKING_UNITS, units.ACCURATE_UNITS,
    votes.ACCEPTING_VOTES, votes.AGREEING_VOTES, votes.PREDICTED_VOTES,
    edits.EDITS, edits.EXPLAINED_EDITS, judgments.JUDGMENTS,
    tokens.NAMED_LATENTS, tokens.REBUILT_LAYER, tokens.CLAIMED_EFFECTS, tokens.MARKED_TOKENS,
    tokens.SIMULATED_LATENTS,
    tokens.NEEDED_TOKENS, tokens.ABSORBING_LATENTS, tokens.TELLING_LATENTS,
    tokens.SPLIT_LATENTS,
    attributions.NAMED_FEATURES, attributions.SUMS_OF_PARTS, attributions.TWO_ATTRIBUTIONS,
)  # fmt: skip


def generator_for(metric: str) -> Generator:
    """The generator that plants what a metric of the catalogue measures."""
    for generator in GENERATORS:
        if metric in generator.serves:
            return generator
    raise EvidenceError("certify", metric, "a score that something can be planted for")


def generator_named(name: str) -> Generator:
    """A generator by name."""
    for generator in GENERATORS:
        if generator.name == name:
            return generator
    known = ", ".join(generator.name for generator in GENERATORS)
    raise EvidenceError("generator", repr(name), f"one of {known}")
