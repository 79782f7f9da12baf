"""Post-hoc concept bottleneck with tables for further claims about alignment."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from theodolite.datasets.concept_data import ConceptData
from theodolite.evidence.base import Evidence
from theodolite.models.posthoc import PosthocBottleneck
from theodolite.pipelines.posthoc.evidence import PostHocInputs
from theodolite.pipelines.posthoc.network import NetworkOutputs
from theodolite.pipelines.posthoc.pipeline import PosthocPipeline
from theodolite_reproductions.alignment.studies import study_tables


@dataclass(frozen=True, kw_only=True)
class PosthocStudiesPipeline(PosthocPipeline):
    """The post-hoc pipeline, with tables for claims that its scores alone do not answer."""

    studies: bool = True
    """Whether to make these tables."""

    def more_tables(
        self,
        data: ConceptData,
        work: PostHocInputs,
        models: Sequence[PosthocBottleneck],
        bundles: Sequence[Sequence[Evidence]],
        answers: NetworkOutputs | None,
        seeds: Sequence[int],
    ) -> dict[str, Any]:
        """Return the tables, by name."""
        if not self.studies:
            return {}
        return study_tables(data, work, models, bundles, answers, seeds)
