"""Interface for servers of studies with people: material, tables of ratings and agreement.

Promised as :mod:`theodolite.ext` is. ``theodolite-study`` needs only these, commands and errors.
"""

from typing import TYPE_CHECKING

from theodolite._storage.lazy import lazy_getattr, lazy_names

__all__ = [
    "CATALOGUE",
    "FEWEST_CLUSTERS",
    "IMAGES",
    "INSTANCES",
    "POTATO_STATE",
    "PRACTICE",
    "QUESTIONS",
    "SCALE",
    "TABLES",
    "Answer",
    "Box",
    "Check",
    "ComparisonPlan",
    "Estimate",
    "Explained",
    "Instance",
    "Interval",
    "IntraclassCorrelation",
    "Item",
    "KrippendorffAlpha",
    "Looks",
    "Material",
    "Metric",
    "PairwiseAgreement",
    "RaterAgreement",
    "RatingComparison",
    "RatingEvidence",
    "Source",
    "StrictRecord",
    "Table",
    "TableName",
    "TwinSettings",
    "Vote",
    "VotesNeeded",
    "all_or_nothing",
    "by_group",
    "checked_table",
    "checked_together",
    "columns_of",
    "compare_ratings",
    "concepts_text",
    "confined",
    "draw_poisson_weights",
    "existing",
    "explanations_from",
    "fisher_interval",
    "frame_of",
    "image_exposure_index",
    "image_path",
    "image_size",
    "json_from",
    "keep_image",
    "label_studio_annotations",
    "label_studio_data",
    "label_studio_number",
    "label_studio_results",
    "label_studio_tasks",
    "material_from_arrays",
    "material_of_run",
    "plain_text",
    "planned_checks",
    "potato_annotations",
    "potato_by_question",
    "potato_files",
    "potato_number",
    "read_columns",
    "read_image",
    "read_json",
    "read_material",
    "read_parquet",
    "read_text",
    "read_yaml",
    "sample_variance",
    "seed_of_run",
    "sha256_of",
    "shown_from",
    "size_within",
    "student_interval",
    "summary",
    "votes_needed",
    "write_json",
    "write_parquet",
    "write_yaml",
]

if TYPE_CHECKING:
    from theodolite._stats.intervals import (
        FEWEST_CLUSTERS,
        Estimate,
        fisher_interval,
        sample_variance,
        student_interval,
    )
    from theodolite._stats.resampling import draw_poisson_weights
    from theodolite._storage.display_images import shown_from
    from theodolite._storage.images import image_size, read_image
    from theodolite._storage.paths import all_or_nothing, confined, existing, sha256_of, size_within
    from theodolite._storage.tables import read_columns, read_parquet, write_parquet
    from theodolite._storage.text import (
        json_from,
        read_json,
        read_text,
        read_yaml,
        write_json,
        write_yaml,
    )
    from theodolite.datasets.study_material.checks import PRACTICE, frame_of, planned_checks
    from theodolite.datasets.study_material.explained_images import (
        Answer,
        Item,
        Looks,
        material_from_arrays,
    )
    from theodolite.datasets.study_material.material import (
        IMAGES,
        INSTANCES,
        Box,
        Check,
        Explained,
        Instance,
        Material,
        StrictRecord,
        image_path,
        keep_image,
        read_material,
    )
    from theodolite.datasets.study_material.voting_design import (
        VotesNeeded,
        image_exposure_index,
        votes_needed,
    )
    from theodolite.datasets.votes.label_studio import (
        label_studio_annotations,
        label_studio_data,
        label_studio_number,
        label_studio_results,
        label_studio_tasks,
    )
    from theodolite.datasets.votes.method_comparison import (
        ComparisonPlan,
        RatingComparison,
        compare_ratings,
    )
    from theodolite.datasets.votes.potato import (
        POTATO_STATE,
        potato_annotations,
        potato_by_question,
        potato_files,
        potato_number,
    )
    from theodolite.datasets.votes.rows import Vote, explanations_from, plain_text
    from theodolite.evidence.kinds.rating import RatingEvidence
    from theodolite.evidence.rating_summary import by_group, summary
    from theodolite.evidence.study_tables import (
        QUESTIONS,
        SCALE,
        TABLES,
        Table,
        TableName,
        checked_table,
        checked_together,
        columns_of,
        concepts_text,
    )
    from theodolite.metrics.accepted.intraclass_correlation import IntraclassCorrelation
    from theodolite.metrics.accepted.krippendorff import KrippendorffAlpha
    from theodolite.metrics.accepted.raters import PairwiseAgreement, RaterAgreement
    from theodolite.metrics.base import CATALOGUE, Metric
    from theodolite.pipelines.study.run_material import material_of_run, seed_of_run
    from theodolite.pipelines.study.twins import TwinSettings
    from theodolite.results import Interval, Source
else:
    HOMES = lazy_names(
        "theodolite",
        {
            "datasets.votes.label_studio": (
                "label_studio_annotations label_studio_data label_studio_number "
                "label_studio_results label_studio_tasks"
            ),
            "datasets.votes.method_comparison": "ComparisonPlan RatingComparison compare_ratings",
            "datasets.votes.potato": (
                "POTATO_STATE potato_annotations potato_by_question potato_files potato_number"
            ),
            "datasets.votes.rows": "Vote explanations_from plain_text",
            "evidence.kinds.rating": "RatingEvidence",
            "evidence.rating_summary": "by_group summary",
            "evidence.study_tables": (
                "QUESTIONS SCALE TABLES Table TableName checked_table checked_together "
                "columns_of concepts_text"
            ),
            "_storage.paths": "all_or_nothing confined existing sha256_of size_within",
            "_storage.images": "image_size read_image",
            "_storage.display_images": "shown_from",
            "_storage.tables": "read_columns read_parquet write_parquet",
            "_storage.text": "json_from read_json read_text read_yaml write_json write_yaml",
            "metrics.accepted.intraclass_correlation": "IntraclassCorrelation",
            "metrics.accepted.krippendorff": "KrippendorffAlpha",
            "metrics.accepted.raters": "PairwiseAgreement RaterAgreement",
            "metrics.base": "CATALOGUE Metric",
            "pipelines.study.run_material": "material_of_run seed_of_run",
            "pipelines.study.twins": "TwinSettings",
            "results": "Interval Source",
            "_stats.intervals": (
                "FEWEST_CLUSTERS Estimate fisher_interval sample_variance student_interval"
            ),
            "_stats.resampling": "draw_poisson_weights",
            "datasets.study_material.checks": "PRACTICE frame_of planned_checks",
            "datasets.study_material.explained_images": "Answer Item Looks material_from_arrays",
            "datasets.study_material.material": (
                "INSTANCES IMAGES Box Check Explained Instance Material StrictRecord "
                "keep_image image_path read_material"
            ),
            "datasets.study_material.voting_design": (
                "VotesNeeded image_exposure_index votes_needed"
            ),
        },
    )
    __getattr__ = lazy_getattr(__name__, HOMES)


def __dir__() -> list[str]:
    return __all__
