"""Spec of a run: a YAML file that names registered components and their arguments."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from theodolite._scoring.request import Resampling
from theodolite._storage.records import Strict, describe_first_error
from theodolite._storage.text import read_yaml
from theodolite._verdicts.scores_file import Filter
from theodolite.errors import EvidenceError
from theodolite.evidence.subject import Subject, make_unstated_subject
from theodolite.results import Items


class Named(BaseModel):
    """A registered thing by name; everything else is its arguments."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str

    @property
    def arguments(self) -> dict[str, Any]:
        """What is passed to it."""
        return dict(self.model_extra or {})


class MetricSpec(Strict):
    """A metric with options; a list of choices is run choice by choice."""

    name: str
    options: dict[str, Any] = {}


class ResamplingSpec(Strict):
    """How intervals are drawn."""

    resamples: Annotated[int, Field(ge=20, le=100_000)] = 1000
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    seed: Annotated[int, Field(ge=0)] = 0
    most_pooled: Annotated[int, Field(ge=20)] = 50_000
    """Scores that need all samples at once use at most this many, drawn at random, if there are
    more."""
    clusters: Literal["none", "classes"] = "none"
    """``classes``: also resample whole classes, as if other classes had been photographed."""

    @classmethod
    def of_draws(cls, resampling: Resampling) -> "ResamplingSpec":
        """Return what a spec keeps of how chance is drawn."""
        names = cls.model_fields.keys() - {"clusters"}
        return cls(**{name: getattr(resampling, name) for name in names})

    def draws(self, resamples: int | None = None) -> Resampling:
        """Return how chance is drawn, perhaps with another number of resamples."""
        n = self.resamples if resamples is None else resamples
        return Resampling(n, self.level, self.seed, most_pooled=self.most_pooled)


def _convert_keys_to_text(content: Any) -> Any:
    return (
        {str(key): value for key, value in content.items()}
        if isinstance(content, dict)
        else content
    )


Printed = Annotated[dict[str, float], BeforeValidator(_convert_keys_to_text)]


class TableRow(BaseModel):
    """A row of a table in the report: the options it shows, and what the paper printed."""

    model_config = ConfigDict(extra="allow", frozen=True)

    paper: Printed = {}
    """What the paper printed, by column."""

    @property
    def options(self) -> dict[str, Any]:
        """The options that pick this row's scores."""
        return dict(self.model_extra or {})


class TableSpec(Strict):
    """A table of scores, ours beside the paper's."""

    title: str
    metric: str
    columns: str
    rows: list[TableRow]
    note: str = ""


class GridSpec(Strict):
    """A table laid out from a stored one: rows by columns of a value."""

    title: str
    table: str
    rows: str
    columns: str
    values: str
    percent: bool = True
    """Whether the values are shares; else they are shown as they are."""
    paper: dict[str, Printed] = {}
    note: str = ""


class HistogramSpec(Strict):
    """How the scores of concepts or classes are spread, and the paper's counts in the same bins."""

    title: str
    metric: str
    over: Items
    sweep: str
    paper: dict[str, list[int]] = {}
    note: str = ""


class ChartSpec(Strict):
    """Scores of several models over one thing that tells them apart, a line per another."""

    title: str
    metrics: list[str]
    across: str
    """What changes from left to right, such as ``concept_weight``."""
    lines: str = ""
    """What each line is, such as ``encoding``."""
    where: Filter = {}
    note: str = ""


class BenchmarkSpec(Strict):
    """A table of methods that find concepts, ours beside the paper's."""

    concepts: int
    """Of the compared explanations, those with this number of concepts per class."""
    paper: dict[str, list[float]] = {}
    """What the paper printed, by method: error, distance, agreement, rank correlation."""


class ReportSpec(Strict):
    """What the report shows beside the scores."""

    differs: str = ""
    """Why our figures differ from the paper's."""
    tables: list[TableSpec] = []
    grids: list[GridSpec] = []
    histograms: list[HistogramSpec] = []
    charts: list[ChartSpec] = []
    benchmark: BenchmarkSpec | None = None
    shown: list[str] = []
    """Compared models that figures show beside the one of the verdicts."""
    examples: Annotated[int, Field(ge=0, le=48)] = 8


class RunSpec(Strict):
    """One run: data, how evidence is made from it, scores, report."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
    title: str = ""
    claim: str = ""
    """Claim of the explanation, in the words of its users: the title of the report."""
    dataset: Named | None = None
    pipeline: Named | None = None
    evidence: list[str] = []
    """Folders of stored evidence, instead of a data set and a pipeline."""
    seeds: Annotated[list[int], Field(min_length=1, max_length=100)] = [0]
    paired_seeds: bool = False
    """Whether seeds with one number share initialization and order in all runs that say so: runs
    that are compared are then paired seed by seed."""
    metrics: list[MetricSpec] = []
    """All that the evidence allows, if empty."""
    resampling: ResamplingSpec = ResamplingSpec()
    compared_metrics: list[MetricSpec] = []
    """What the compared models are scored by; ``metrics`` if empty."""
    studies: list[dict[str, Any]] = []
    """Studies over the models of the run, which other packages compute
    (``theodolite.chapters``)."""
    report: ReportSpec = ReportSpec()
    subject: Subject | None = None
    """Which explanation stored evidence is of, and what it is compared with. Pipelines say it
    themselves."""

    @model_validator(mode="after")
    def _has_a_source(self) -> "RunSpec":
        has_pipeline = self.dataset is not None and self.pipeline is not None
        if has_pipeline == bool(self.evidence):
            message = "give either dataset and pipeline, or evidence"
            raise ValueError(message)
        if min(self.seeds) < 0 or len(set(self.seeds)) < len(self.seeds):
            message = "seeds must be distinct and not negative"
            raise ValueError(message)
        return self

    @property
    def stated_subject(self) -> Subject:
        """The subject; if none is stated, evidence was given, and that of a pipeline is unknown."""
        if self.subject is not None:
            return self.subject
        if self.pipeline is None:
            return make_unstated_subject(", ".join(self.evidence))
        return Subject(f"the explanation that {self.pipeline.name} made", outputs="unknown")


def read_spec(path: Path) -> RunSpec:
    """Read and check a spec."""
    content = read_yaml(path, "spec")
    if not isinstance(content, dict):
        raise EvidenceError(f"spec {path.name!r}", type(content).__name__, "names and values")
    try:
        return RunSpec.model_validate(content)
    except ValidationError as error:
        raise EvidenceError(
            f"spec {path.name!r}", describe_first_error(error), "a spec as documented"
        ) from error
