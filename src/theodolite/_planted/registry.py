"""Which generator is for which score."""

from theodolite._planted import (
    attributions,
    concepts,
    edits,
    joint,
    judgments,
    leakage,
    ratings,
    saliency,
    surrogates,
    tokens,
    units,
    values,
)
from theodolite._planted.generators import Generator
from theodolite.errors import EvidenceError

MODULES = (
    concepts, saliency, values, joint, leakage, surrogates, units, ratings, edits, judgments,
    tokens, attributions,
)  # fmt: skip
GENERATORS = tuple(
    each for module in MODULES for each in vars(module).values() if isinstance(each, Generator)
)


def generator_for(metric: str) -> Generator:
    """Return the generator that plants what a metric of the catalogue measures."""
    for generator in GENERATORS:
        if metric in generator.serves:
            return generator
    raise EvidenceError("certify", metric, "a score that something can be planted for")


def generator_named(name: str) -> Generator:
    """Return a generator by name."""
    for generator in GENERATORS:
        if generator.name == name:
            return generator
    known = ", ".join(generator.name for generator in GENERATORS)
    raise EvidenceError("generator", repr(name), f"one of {known}")
