"""Define types of options that several metrics share, each with its limits and description."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from theodolite.evidence.rating_summary import Aggregate

Neighbors = Annotated[int, Field(ge=1, le=3, description="Neighbors that the estimator looks at.")]
Seed = Annotated[int, Field(ge=0, description="Seed of the folds and of the fitted predictors.")]
TieSeed = Annotated[
    int, Field(ge=0, description="Seed of the tiny noise that tells equal values apart.")
]
Top = Annotated[
    Sequence[Annotated[int, Field(ge=1)]],
    Field(min_length=1, description="How many of the first-named concepts are looked at."),
]
Chance = Annotated[
    float | None,
    Field(ge=0, lt=1, description="Accuracy by chance; None: one over the number of classes."),
]
Against = Annotated[
    Aggregate,
    Field(description="What the people's votes on an explanation are summed up by."),
]
Share = Annotated[float, Field(ge=0, le=1)]
Thresholds = Annotated[
    tuple[Annotated[float, Field(gt=0, le=100)], ...],
    Field(min_length=1, description="Per cent of the pixels up to which removals are averaged."),
]
MostSteps = Annotated[
    int, Field(ge=1, description="Steps of the curve; with more concepts several go at a time.")
]
ConceptsOrPairs = Annotated[
    Literal["concepts", "pairs"],
    Field(description="One number per concept, its mean over the others, or one per pair."),
]
