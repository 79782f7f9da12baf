"""Can you rely on this explanation of a neural network?

Importing this imports nothing heavy: names load what they need when they are first used.
"""

from typing import TYPE_CHECKING

from theodolite._storage.lazy import lazy_getattr, lazy_names

__version__ = "0.2.0"
__all__ = [
    "AttributionDrift",
    "AttributionEvidence",
    "AttributionPlan",
    "AuditResult",
    "CodeDissection",
    "Comparison",
    "ConceptEvidence",
    "EditEvidence",
    "EmbeddingEvidence",
    "EvidenceError",
    "GateResult",
    "HookedModel",
    "InterventionEvidence",
    "JudgmentEvidence",
    "LoadedModel",
    "LocationEvidence",
    "Ragged",
    "RatingEvidence",
    "Resampling",
    "Run",
    "SaliencyEvidence",
    "Samples",
    "Score",
    "SparseActivationEvidence",
    "SparseActivationShard",
    "SparseActivationWriter",
    "Subject",
    "SurrogateEvidence",
    "TokenDissection",
    "TokenEvidence",
    "UnitEvidence",
    "Verdict",
    "__version__",
    "attribution_drift",
    "attribution_plan",
    "audit",
    "audit_attributions",
    "audit_concepts",
    "audit_ratings",
    "audit_saliency",
    "audit_tokens",
    "bridges",
    "causal_effects",
    "compare",
    "compare_ratings",
    "concept_answers",
    "dictionary",
    "dictionary_evidence",
    "dissect",
    "dissect_sae",
    "dissect_tokens",
    "ext",
    "gate",
    "load",
    "load_model",
    "metrics",
    "protocols",
    "read_dictionary",
    "score",
    "store",
    "testing",
]

if TYPE_CHECKING:
    from theodolite import bridges, ext, metrics, testing
    from theodolite._runs.auditing.attributions import audit_attributions
    from theodolite._runs.auditing.front import audit
    from theodolite._runs.auditing.kinds import audit_concepts, audit_ratings, audit_tokens
    from theodolite._runs.auditing.result import AuditResult
    from theodolite._runs.auditing.saliency import audit_saliency
    from theodolite._runs.auditing.saved_runs import compare, gate, load
    from theodolite._runs.auditing.single_score import score
    from theodolite._runs.comparison.compare_runs import Comparison
    from theodolite._runs.comparison.drift import AttributionDrift
    from theodolite._runs.comparison.versions import attribution_drift
    from theodolite._runs.finished_run import Run
    from theodolite._runs.folder.protocols import protocols
    from theodolite._scoring.request import Resampling
    from theodolite._verdicts.gates.outcome import GateResult
    from theodolite.datasets.votes.method_comparison import compare_ratings
    from theodolite.dissection.dissect import dissect
    from theodolite.errors import EvidenceError
    from theodolite.evidence.attributions.plan import AttributionPlan, attribution_plan
    from theodolite.evidence.axes import Samples
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
    from theodolite.evidence.ragged import Ragged
    from theodolite.evidence.sources.store_rows import store
    from theodolite.evidence.subject import Subject
    from theodolite.language.causal_effects import causal_effects
    from theodolite.language.concept_answers import concept_answers
    from theodolite.language.dictionaries.objects import dictionary
    from theodolite.language.dictionaries.reading import read_dictionary
    from theodolite.language.from_arrays import dictionary_evidence
    from theodolite.language.models.hooked import HookedModel
    from theodolite.language.sae.activation_shard import SparseActivationShard
    from theodolite.language.sae.dissect import dissect_sae
    from theodolite.language.sae.evidence import SparseActivationEvidence
    from theodolite.language.sae.result import CodeDissection
    from theodolite.language.sae.tokens import TokenDissection, dissect_tokens
    from theodolite.language.sae.writer import SparseActivationWriter
    from theodolite.models.loaded_model import LoadedModel
    from theodolite.models.loading import load_model
    from theodolite.results import Score, Verdict
else:  # a type checker that saw this would take every misspelt name for one of ours
    HOMES = lazy_names(
        "theodolite",
        {
            "_runs.auditing.attributions": "audit_attributions",
            "_runs.auditing.front": "audit",
            "_runs.auditing.kinds": "audit_concepts audit_ratings audit_tokens",
            "_runs.auditing.saliency": "audit_saliency",
            "_runs.auditing.result": "AuditResult",
            "_runs.auditing.saved_runs": "compare gate load",
            "_runs.auditing.single_score": "score",
            "_runs.comparison.versions": "attribution_drift",
            "_runs.comparison.compare_runs": "Comparison",
            "_runs.comparison.drift": "AttributionDrift",
            "language.causal_effects": "causal_effects",
            "language.models.hooked": "HookedModel",
            "language.concept_answers": "concept_answers",
            "language.dictionaries.objects": "dictionary",
            "language.dictionaries.reading": "read_dictionary",
            "language.from_arrays": "dictionary_evidence",
            "language.sae.dissect": "dissect_sae",
            "language.sae.evidence": "SparseActivationEvidence",
            "language.sae.activation_shard": "SparseActivationShard",
            "language.sae.result": "CodeDissection",
            "language.sae.tokens": "TokenDissection dissect_tokens",
            "language.sae.writer": "SparseActivationWriter",
            "datasets.votes.method_comparison": "compare_ratings",
            "dissection.dissect": "dissect",
            "errors": "EvidenceError",
            "evidence.attributions.plan": "AttributionPlan attribution_plan",
            "evidence.axes": "Samples",
            "evidence.kinds.attribution": "AttributionEvidence",
            "evidence.kinds.concept": "ConceptEvidence",
            "evidence.kinds.edit": "EditEvidence",
            "evidence.kinds.token": "TokenEvidence",
            "evidence.ragged": "Ragged",
            "evidence.kinds.embedding": "EmbeddingEvidence",
            "evidence.kinds.intervention": "InterventionEvidence",
            "evidence.kinds.judgment": "JudgmentEvidence",
            "evidence.kinds.location": "LocationEvidence",
            "evidence.kinds.rating": "RatingEvidence",
            "evidence.kinds.saliency": "SaliencyEvidence",
            "evidence.kinds.surrogate": "SurrogateEvidence",
            "evidence.kinds.unit": "UnitEvidence",
            "bridges": "bridges",
            "ext": "ext",
            "metrics": "metrics",
            "results": "Score Verdict",
            "_runs.folder.protocols": "protocols",
            "_runs.finished_run": "Run",
            "_scoring.request": "Resampling",
            "evidence.sources.store_rows": "store",
            "evidence.subject": "Subject",
            "models.loaded_model": "LoadedModel",
            "models.loading": "load_model",
            "testing": "testing",
            "_verdicts.gates.outcome": "GateResult",
        },
    )
    __getattr__ = lazy_getattr(__name__, HOMES)


def __dir__() -> list[str]:
    return __all__
