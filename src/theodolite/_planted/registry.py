"""Map each metric to the generator that validates it."""

from theodolite._planted import (
    attributions,
    concepts,
    edits,
    joint_leakage,
    judgments,
    leakage,
    leaking_values,
    ratings,
    saliency,
    surrogates,
    tokens,
    units,
)
from theodolite._planted.generators import Generator
from theodolite.errors import EvidenceError

MODULES = (
    concepts, saliency, leaking_values, joint_leakage, leakage, surrogates, units, ratings, edits,
    judgments, tokens, attributions,
)  # fmt: skip
GENERATORS = tuple(
    each for module in MODULES for each in vars(module).values() if isinstance(each, Generator)
)


def find_generator_for(metric: str) -> Generator:
    """Return the generator that plants what a metric of the catalogue measures."""
    for generator in GENERATORS:
        if metric in generator.serves:
            return generator
    raise EvidenceError("metrics validate", metric, "a score that something can be planted for")


def find_generator(name: str) -> Generator:
    """Return a generator by name."""
    for generator in GENERATORS:
        if generator.name == name:
            return generator
    known = ", ".join(generator.name for generator in GENERATORS)
    raise EvidenceError("generator", repr(name), f"one of {known}")
