"""Studies that a spec can list, each with its settings."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from theodolite._runs.folder.spec import MetricSpec, RunSpec
from theodolite._storage.records import Strict, describe_first_error
from theodolite._verdicts.scores_file import Filter
from theodolite.errors import EvidenceError

Effect = Annotated[float, Field(gt=0)]
"""The smallest effect that a claim is about: a smaller one is as good as none."""
CorrelationEffect = Annotated[float, Field(gt=0, lt=1)]


class CriterionSpec(Strict):
    """Does one group of models leak more than another? Pairs agree in ``matched``."""

    kind: Literal["criterion"]
    title: str
    more: Filter
    less: Filter
    matched: list[str] = []
    effect: Effect = 0.02
    """In the scores' own units: a share of information."""
    paper: str = ""
    """What the paper found."""


class CorrelationSpec(Strict):
    """Do scores follow another score over the models?"""

    kind: Literal["correlation"]
    title: str
    metrics: list[str]
    against: str = "intervention_score"
    where: list[Filter] = []
    effect: CorrelationEffect | None = None
    """Half of what the paper printed, or 0.1, if left out."""
    paper: dict[str, tuple[float, float]] = {}
    """Correlation and p-value that the paper printed, by metric."""


class PairSpec(Strict):
    """Do scores tell models apart that are equally accurate, but fare differently when their
    concepts are replaced by the truth?"""

    kind: Literal["pair"]
    title: str
    metrics: list[str]
    where: list[Filter] = []
    alike: Effect = 0.01
    """How far concept and task accuracy of a pair may lie apart."""
    apart: Effect = 0.1
    """How far ``intervention_score`` must."""
    effect: Effect = 0.02
    paper: str = ""


class SanitySpec(Strict):
    """Do measures of faithfulness tell a perfect explanation from spoilt ones?"""

    kind: Literal["sanity"]
    title: str
    classes: int = 0
    dimensions: int = 0
    """With the number of classes: what surrogates cost is then said as well."""
    effect: Effect = 0.05
    """As a share of the largest value of a measure over all settings."""
    paper: dict[str, list[float]] = {}
    """What the paper printed, by measure: perfect, random importances, random concepts."""


class LayersSpec(Strict):
    """Can layers in the middle of a network be explained as if the rest of it were linear?"""

    kind: Literal["layers"]
    title: str
    metric: str = "surrogate_distance"
    effect: Effect = 0.05
    """How far from one half the share must be that the slope misses."""


class CurveSpec(Strict):
    """How does a score change with the number of concepts?"""

    kind: Literal["curve"]
    title: str
    metric: str = "surrogate_distance"
    effect: Effect = 0.05
    """As a share of the score's range, or of its largest value where it has no bounds."""


class ScoreCorrelationsSpec(Strict):
    """Do scores agree about explanations?"""

    kind: Literal["score_correlations"]
    title: str
    metrics: dict[str, MetricSpec]
    """By the name that the table shows."""
    without: Filter = {}
    """Compared models to leave out, such as nulls."""
    effect: CorrelationEffect = 0.1


class VoteCorrelationsSpec(Strict):
    """Do numbers that need no people go along with votes?"""

    kind: Literal["vote_correlations"]
    title: str
    aggregate: Literal["mode", "mean", "median"] = "mean"
    where: Filter = {}
    """Of the compared ones, those whose votes are looked at; the first always."""
    effect: CorrelationEffect = 0.1


class TechniquesVotesSpec(Strict):
    """Acceptance by technique and by kind of technique, and what goes along with it."""

    kind: Literal["techniques_votes"]
    title: str
    metrics: dict[str, MetricSpec] = {}
    """Scores of maps without people that are held against votes, by the name in the table."""
    first: Annotated[int, Field(ge=1)] = 12
    """How long people's lists of favorites are."""
    resamples: Annotated[int, Field(ge=20, le=100_000)] = 1000


StudySpec = (
    CriterionSpec
    | CorrelationSpec
    | PairSpec
    | SanitySpec
    | LayersSpec
    | CurveSpec
    | ScoreCorrelationsSpec
    | VoteCorrelationsSpec
    | TechniquesVotesSpec
)

STUDIES: TypeAdapter[list[StudySpec]] = TypeAdapter(
    list[Annotated[StudySpec, Field(discriminator="kind")]]
)
KINDS = frozenset(
    {
        "correlation", "criterion", "curve", "layers", "pair", "sanity", "score_correlations",
        "techniques_votes", "vote_correlations",
    }
)  # fmt: skip


def parse_studies(spec: RunSpec) -> list[StudySpec]:
    """Return the studies of a spec that this package computes."""
    studies = [study for study in spec.studies if study.get("kind") in KINDS]
    try:
        return STUDIES.validate_python(studies)
    except ValidationError as error:
        raise EvidenceError(
            "studies", describe_first_error(error), "studies as documented"
        ) from error
