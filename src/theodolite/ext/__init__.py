"""Everything that another package may build on: metrics, evidence, data sets and pipelines.

Names here are promised: one that goes is deprecated first (docs/extending.md). Nothing is defined
here, and nothing inside the package imports from here.
"""

from typing import TYPE_CHECKING

from theodolite._storage.lazy import lazy_getattr, lazy_names

API_VERSION = 2
"""Raised where something that this module promises changes its meaning."""
__all__ = [
    "API_VERSION",
    "CLEAN",
    "METHODS",
    "MOST_COMMON",
    "SHUFFLED_TRUTH",
    "Additive",
    "Answer",
    "AttributionEvidence",
    "Card",
    "Chance",
    "Classes",
    "ConceptCard",
    "ConceptData",
    "ConceptEvidence",
    "Concepts",
    "Detail",
    "EditEvidence",
    "EmbeddingEvidence",
    "Evidence",
    "EvidenceError",
    "EvidenceWriter",
    "FeatureNull",
    "FeatureScore",
    "Foreign",
    "Interval",
    "InterventionEvidence",
    "Item",
    "JudgmentEvidence",
    "LabeledImages",
    "LatentExplanation",
    "Latents",
    "LocationEvidence",
    "MaskData",
    "Metric",
    "NamedAxis",
    "Neighbors",
    "Null",
    "NullModel",
    "Order",
    "Parts",
    "PerSample",
    "Pipeline",
    "Pooled",
    "Population",
    "Predicates",
    "Produced",
    "Progress",
    "Ragged",
    "RankBy",
    "RatingEvidence",
    "SaliencyEvidence",
    "SampleMean",
    "Samples",
    "Seed",
    "SerialWorkers",
    "SurrogateEvidence",
    "TieSeed",
    "TokenEvidence",
    "TokenSurrogate",
    "Top",
    "UnitCard",
    "UnitEvidence",
    "Units",
    "UnsafeInputError",
    "Vocabulary",
    "Weights",
    "Work",
    "WorkContext",
    "Workers",
    "array",
    "catalogue",
    "confined",
    "conflicts",
    "constant",
    "correlation_table",
    "dealt_out",
    "draw_cluster_pool",
    "draw_pool",
    "explainer",
    "feature_pages",
    "find_metric",
    "folder",
    "get_validation",
    "gradient_importance",
    "hash_to_uniforms",
    "image_exposure_index",
    "inner",
    "latents_of_both_signs",
    "load_explanations",
    "marked_html",
    "mask_folder",
    "material_from_arrays",
    "metric",
    "number",
    "permuted",
    "plain_words",
    "precision_by_band",
    "ragged",
    "ratio",
    "read_csv",
    "read_image",
    "read_json",
    "read_mask",
    "read_npy",
    "read_npz",
    "read_parquet",
    "read_safetensors",
    "read_text_material",
    "read_vocabulary",
    "read_yaml",
    "save_explanations",
    "sha256_of",
    "silent",
    "study_texts",
    "summary",
    "table",
    "token_predicates",
    "token_surrogate",
    "total",
    "vote_table",
    "votes_needed",
    "with_explanations",
    "write_maps",
    "write_shapes",
    "write_text_material",
]

if TYPE_CHECKING:
    from theodolite._planted.validation.outside_functions import Foreign, dealt_out
    from theodolite._stats.sampling import draw_cluster_pool, draw_pool, hash_to_uniforms
    from theodolite._storage.arrays import read_npy, read_npz, read_safetensors
    from theodolite._storage.images import read_image, read_mask
    from theodolite._storage.paths import confined, sha256_of
    from theodolite._storage.tables import read_parquet
    from theodolite._storage.text import read_csv, read_json, read_yaml
    from theodolite._verdicts.conflicts.matrix import conflicts
    from theodolite.datasets.concept_data import ConceptData
    from theodolite.datasets.folder import folder
    from theodolite.datasets.labeled_images import LabeledImages
    from theodolite.datasets.masks.mask_data import MaskData
    from theodolite.datasets.masks.mask_folder import mask_folder
    from theodolite.datasets.masks.stored_maps_writer import write_maps
    from theodolite.datasets.shapes import write_shapes
    from theodolite.datasets.study_material.explained_images import (
        Answer,
        Item,
        material_from_arrays,
    )
    from theodolite.datasets.study_material.marked_texts import (
        marked_html,
        plain_words,
        read_text_material,
        write_text_material,
    )
    from theodolite.datasets.study_material.voting_design import image_exposure_index, votes_needed
    from theodolite.datasets.votes.table import vote_table
    from theodolite.errors import EvidenceError, UnsafeInputError
    from theodolite.evidence.axes import (
        Classes,
        Concepts,
        Latents,
        NamedAxis,
        Parts,
        Predicates,
        Samples,
        Units,
    )
    from theodolite.evidence.base import Evidence, array, inner, ragged
    from theodolite.evidence.kinds.attribution import AttributionEvidence
    from theodolite.evidence.kinds.concept import ConceptEvidence
    from theodolite.evidence.kinds.edit import EditEvidence
    from theodolite.evidence.kinds.embedding import EmbeddingEvidence
    from theodolite.evidence.kinds.intervention import InterventionEvidence
    from theodolite.evidence.kinds.judgment import JudgmentEvidence
    from theodolite.evidence.kinds.location import LocationEvidence
    from theodolite.evidence.kinds.rating import RatingEvidence
    from theodolite.evidence.kinds.saliency import SaliencyEvidence
    from theodolite.evidence.kinds.surrogate import SurrogateEvidence
    from theodolite.evidence.kinds.token import TokenEvidence
    from theodolite.evidence.kinds.unit import UnitEvidence
    from theodolite.evidence.pipeline_output import (
        ConceptCard,
        Pipeline,
        Produced,
        Progress,
        UnitCard,
        WorkContext,
        silent,
    )
    from theodolite.evidence.ragged import Ragged
    from theodolite.evidence.rating_summary import summary
    from theodolite.evidence.store_writer import EvidenceWriter
    from theodolite.evidence.workers import SerialWorkers, Work, Workers
    from theodolite.explainers.discovery.importance import gradient_importance
    from theodolite.explainers.discovery.methods import METHODS
    from theodolite.explainers.saliency.methods import explainer
    from theodolite.language.activation_bands import precision_by_band
    from theodolite.language.dashboard.nulls import FeatureNull, FeatureScore
    from theodolite.language.dashboard.pages import feature_pages
    from theodolite.language.dashboard.study_texts import study_texts
    from theodolite.language.texts.dense_latents import latents_of_both_signs
    from theodolite.language.texts.explanations import (
        LatentExplanation,
        load_explanations,
        save_explanations,
        with_explanations,
    )
    from theodolite.language.texts.predicates import token_predicates
    from theodolite.language.texts.token_surrogate import TokenSurrogate, token_surrogate
    from theodolite.language.texts.tokenizer_file import read_vocabulary
    from theodolite.language.texts.vocabulary import Vocabulary
    from theodolite.metrics.accepted.correlation_table import correlation_table
    from theodolite.metrics.base import (
        Additive,
        Card,
        Metric,
        NullModel,
        PerSample,
        Pooled,
        SampleMean,
        Weights,
        constant,
        ratio,
        total,
    )
    from theodolite.metrics.catalogue import catalogue, find_metric
    from theodolite.metrics.compute import number, table
    from theodolite.metrics.declare import metric
    from theodolite.metrics.option_types import Chance, Neighbors, Seed, TieSeed, Top
    from theodolite.metrics.shared.common_nulls import CLEAN, MOST_COMMON, SHUFFLED_TRUTH
    from theodolite.metrics.shared.permuted import permuted
    from theodolite.metrics.shared.ranking import Order, Population, RankBy
    from theodolite.metrics.validation import get_validation
    from theodolite.results import Detail, Interval, Null
else:
    HOMES = lazy_names(
        "theodolite",
        {
            "_planted.validation.outside_functions": "Foreign dealt_out",
            "language.activation_bands": "precision_by_band",
            "_verdicts.conflicts.matrix": "conflicts",
            "datasets.concept_data": "ConceptData",
            "datasets.folder": "folder",
            "datasets.labeled_images": "LabeledImages",
            "datasets.masks.mask_data": "MaskData",
            "datasets.masks.mask_folder": "mask_folder",
            "datasets.masks.stored_maps_writer": "write_maps",
            "datasets.shapes": "write_shapes",
            "datasets.votes.table": "vote_table",
            "errors": "EvidenceError UnsafeInputError",
            "evidence.axes": ("Classes Concepts Latents NamedAxis Parts Predicates Samples Units"),
            "evidence.base": "Evidence array inner ragged",
            "evidence.kinds.attribution": "AttributionEvidence",
            "evidence.kinds.concept": "ConceptEvidence",
            "evidence.kinds.edit": "EditEvidence",
            "evidence.kinds.token": "TokenEvidence",
            "evidence.kinds.embedding": "EmbeddingEvidence",
            "evidence.kinds.intervention": "InterventionEvidence",
            "evidence.kinds.judgment": "JudgmentEvidence",
            "evidence.kinds.location": "LocationEvidence",
            "evidence.kinds.rating": "RatingEvidence",
            "evidence.kinds.saliency": "SaliencyEvidence",
            "evidence.kinds.surrogate": "SurrogateEvidence",
            "evidence.kinds.unit": "UnitEvidence",
            "evidence.pipeline_output": (
                "ConceptCard Pipeline Produced Progress UnitCard WorkContext silent"
            ),
            "evidence.rating_summary": "summary",
            "_stats.sampling": "draw_pool draw_cluster_pool hash_to_uniforms",
            "evidence.ragged": "Ragged",
            "evidence.store_writer": "EvidenceWriter",
            "language.texts.dense_latents": "latents_of_both_signs",
            "language.texts.explanations": (
                "LatentExplanation load_explanations save_explanations with_explanations"
            ),
            "language.texts.predicates": "token_predicates",
            "language.texts.token_surrogate": "TokenSurrogate token_surrogate",
            "language.texts.tokenizer_file": "read_vocabulary",
            "language.texts.vocabulary": "Vocabulary",
            "evidence.workers": "SerialWorkers Work Workers",
            "explainers.discovery.importance": "gradient_importance",
            "explainers.discovery.methods": "METHODS",
            "explainers.saliency.methods": "explainer",
            "_storage.arrays": "read_npy read_npz read_safetensors",
            "_storage.paths": "confined sha256_of",
            "_storage.images": "read_mask read_image",
            "_storage.tables": "read_parquet",
            "_storage.text": "read_csv read_json read_yaml",
            "metrics.accepted.correlation_table": "correlation_table",
            "metrics.base": (
                "Additive Card Metric NullModel PerSample Pooled "
                "SampleMean Weights constant ratio total"
            ),
            "metrics.declare": "metric",
            "metrics.catalogue": "catalogue find_metric",
            "metrics.compute": "number table",
            "metrics.option_types": "Chance Neighbors Seed TieSeed Top",
            "metrics.validation": "get_validation",
            "metrics.shared.common_nulls": "CLEAN MOST_COMMON SHUFFLED_TRUTH",
            "metrics.shared.permuted": "permuted",
            "metrics.shared.ranking": "Order Population RankBy",
            "language.dashboard.nulls": "FeatureNull FeatureScore",
            "language.dashboard.pages": "feature_pages",
            "language.dashboard.study_texts": "study_texts",
            "results": "Detail Interval Null",
            "datasets.study_material.explained_images": "Answer Item material_from_arrays",
            "datasets.study_material.marked_texts": (
                "marked_html plain_words read_text_material write_text_material"
            ),
            "datasets.study_material.voting_design": "image_exposure_index votes_needed",
        },
    )
    __getattr__ = lazy_getattr(__name__, HOMES)


def __dir__() -> list[str]:
    return __all__
