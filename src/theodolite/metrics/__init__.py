"""Every score as a function of arrays, by its name and by what papers call it.

Written by `python -m theodolite.metrics`; do not edit.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from theodolite.metrics.functions.accepted import (
        acceptance,
        intraclass_correlation,
        judge_agreement,
        krippendorff_alpha,
        pairwise_agreement,
        predicted_rating_agreement,
        predicted_rating_correlation,
        predicted_rating_error,
        rater_agreement,
        rater_correlation,
    )
    from theodolite.metrics.functions.detects import (
        activation_precision,
        detection_accuracy,
        detection_and_accuracy,
        judge_detection,
        judge_fuzzing,
        judge_intruder,
        pixel_recall,
        simulation_correlation,
        unit_iou,
    )
    from theodolite.metrics.functions.exists import (
        concept_existence,
        concept_global_importance,
        edit_direction,
        label_precision,
        latent_probe,
    )
    from theodolite.metrics.functions.faithful import (
        additivity_gap,
        attribute_agreement,
        attribution_effect,
        attribution_randomisation,
        attribution_stability,
        completeness,
        concept_deletion,
        concept_insertion,
        divergence_recovered,
        edit_effect_error,
        feature_necessity,
        feature_sufficiency,
        linearisation_error,
        loss_recovered,
        max_sensitivity,
        method_agreement,
        randomisation_similarity,
        removal_faithfulness,
        removal_necessity,
        removal_sufficiency,
        surrogate_accuracy,
        surrogate_agreement,
        surrogate_distance,
        surrogate_error,
        surrogate_rank_correlation,
        surrogate_relative_error,
        surrogate_relative_error_by_class,
    )
    from theodolite.metrics.functions.leak_free import (
        absorption,
        concept_prediction,
        concept_task_leakage,
        edit_specificity,
        embedding_alignment,
        embedding_interconcept_information,
        embedding_self_information,
        embedding_task_information,
        embedding_task_leakage_given_concept,
        interconcept_leakage,
        interconcept_leakage_given_concepts,
        intervention_accuracy,
        intervention_score,
        niche_impurity,
        oracle_impurity,
        predictive_embedding_leakage,
        predictive_interconcept_leakage,
        predictive_task_leakage,
        splitting,
        task_accuracy,
        task_leakage_given_concept,
    )
    from theodolite.metrics.functions.located import (
        comprehensiveness,
        concept_location,
        pointing_game,
        rationale_mass,
        rationale_peak,
        rationale_rank,
        relevance_mass,
        relevance_peak,
        relevance_rank,
        sparseness,
        sufficiency,
    )

    CEM = concept_existence
    CGIM = concept_global_importance
    CLM = concept_location
    CTL = concept_task_leakage
    DetAcc = detection_accuracy
    ICaCE_error = edit_effect_error
    ICL = interconcept_leakage
    S_int = intervention_score
    ICC = intraclass_correlation
    NIS = niche_impurity
    OIS = oracle_impurity
    SURF_EMD = surrogate_distance
    SURF_MAE = surrogate_error
    IoU = unit_iou

__all__ = [
    "CEM",
    "CGIM",
    "CLM",
    "CTL",
    "ICC",
    "ICL",
    "NIS",
    "OIS",
    "SURF_EMD",
    "SURF_MAE",
    "DetAcc",
    "ICaCE_error",
    "IoU",
    "S_int",
    "absorption",
    "acceptance",
    "activation_precision",
    "additivity_gap",
    "attribute_agreement",
    "attribution_effect",
    "attribution_randomisation",
    "attribution_stability",
    "completeness",
    "comprehensiveness",
    "concept_deletion",
    "concept_existence",
    "concept_global_importance",
    "concept_insertion",
    "concept_location",
    "concept_prediction",
    "concept_task_leakage",
    "detection_accuracy",
    "detection_and_accuracy",
    "divergence_recovered",
    "edit_direction",
    "edit_effect_error",
    "edit_specificity",
    "embedding_alignment",
    "embedding_interconcept_information",
    "embedding_self_information",
    "embedding_task_information",
    "embedding_task_leakage_given_concept",
    "feature_necessity",
    "feature_sufficiency",
    "interconcept_leakage",
    "interconcept_leakage_given_concepts",
    "intervention_accuracy",
    "intervention_score",
    "intraclass_correlation",
    "judge_agreement",
    "judge_detection",
    "judge_fuzzing",
    "judge_intruder",
    "krippendorff_alpha",
    "label_precision",
    "latent_probe",
    "linearisation_error",
    "loss_recovered",
    "max_sensitivity",
    "method_agreement",
    "niche_impurity",
    "oracle_impurity",
    "pairwise_agreement",
    "pixel_recall",
    "pointing_game",
    "predicted_rating_agreement",
    "predicted_rating_correlation",
    "predicted_rating_error",
    "predictive_embedding_leakage",
    "predictive_interconcept_leakage",
    "predictive_task_leakage",
    "randomisation_similarity",
    "rater_agreement",
    "rater_correlation",
    "rationale_mass",
    "rationale_peak",
    "rationale_rank",
    "relevance_mass",
    "relevance_peak",
    "relevance_rank",
    "removal_faithfulness",
    "removal_necessity",
    "removal_sufficiency",
    "simulation_correlation",
    "sparseness",
    "splitting",
    "sufficiency",
    "surrogate_accuracy",
    "surrogate_agreement",
    "surrogate_distance",
    "surrogate_error",
    "surrogate_rank_correlation",
    "surrogate_relative_error",
    "surrogate_relative_error_by_class",
    "task_accuracy",
    "task_leakage_given_concept",
    "unit_iou",
]

_QUESTIONS = {
    "absorption": "leak_free",
    "acceptance": "accepted",
    "activation_precision": "detects",
    "additivity_gap": "faithful",
    "attribute_agreement": "faithful",
    "attribution_effect": "faithful",
    "attribution_randomisation": "faithful",
    "attribution_stability": "faithful",
    "completeness": "faithful",
    "comprehensiveness": "located",
    "concept_deletion": "faithful",
    "concept_existence": "exists",
    "concept_global_importance": "exists",
    "concept_insertion": "faithful",
    "concept_location": "located",
    "concept_prediction": "leak_free",
    "concept_task_leakage": "leak_free",
    "detection_accuracy": "detects",
    "detection_and_accuracy": "detects",
    "divergence_recovered": "faithful",
    "edit_direction": "exists",
    "edit_effect_error": "faithful",
    "edit_specificity": "leak_free",
    "embedding_alignment": "leak_free",
    "embedding_interconcept_information": "leak_free",
    "embedding_self_information": "leak_free",
    "embedding_task_information": "leak_free",
    "embedding_task_leakage_given_concept": "leak_free",
    "feature_necessity": "faithful",
    "feature_sufficiency": "faithful",
    "interconcept_leakage": "leak_free",
    "interconcept_leakage_given_concepts": "leak_free",
    "intervention_accuracy": "leak_free",
    "intervention_score": "leak_free",
    "intraclass_correlation": "accepted",
    "judge_agreement": "accepted",
    "judge_detection": "detects",
    "judge_fuzzing": "detects",
    "judge_intruder": "detects",
    "krippendorff_alpha": "accepted",
    "label_precision": "exists",
    "latent_probe": "exists",
    "linearisation_error": "faithful",
    "loss_recovered": "faithful",
    "max_sensitivity": "faithful",
    "method_agreement": "faithful",
    "niche_impurity": "leak_free",
    "oracle_impurity": "leak_free",
    "pairwise_agreement": "accepted",
    "pixel_recall": "detects",
    "pointing_game": "located",
    "predicted_rating_agreement": "accepted",
    "predicted_rating_correlation": "accepted",
    "predicted_rating_error": "accepted",
    "predictive_embedding_leakage": "leak_free",
    "predictive_interconcept_leakage": "leak_free",
    "predictive_task_leakage": "leak_free",
    "randomisation_similarity": "faithful",
    "rater_agreement": "accepted",
    "rater_correlation": "accepted",
    "rationale_mass": "located",
    "rationale_peak": "located",
    "rationale_rank": "located",
    "relevance_mass": "located",
    "relevance_peak": "located",
    "relevance_rank": "located",
    "removal_faithfulness": "faithful",
    "removal_necessity": "faithful",
    "removal_sufficiency": "faithful",
    "simulation_correlation": "detects",
    "sparseness": "located",
    "splitting": "leak_free",
    "sufficiency": "located",
    "surrogate_accuracy": "faithful",
    "surrogate_agreement": "faithful",
    "surrogate_distance": "faithful",
    "surrogate_error": "faithful",
    "surrogate_rank_correlation": "faithful",
    "surrogate_relative_error": "faithful",
    "surrogate_relative_error_by_class": "faithful",
    "task_accuracy": "leak_free",
    "task_leakage_given_concept": "leak_free",
    "unit_iou": "detects",
}
_PAPER_NAMES = {
    "CEM": "concept_existence",
    "CGIM": "concept_global_importance",
    "CLM": "concept_location",
    "CTL": "concept_task_leakage",
    "DetAcc": "detection_accuracy",
    "ICaCE_error": "edit_effect_error",
    "ICL": "interconcept_leakage",
    "S_int": "intervention_score",
    "ICC": "intraclass_correlation",
    "NIS": "niche_impurity",
    "OIS": "oracle_impurity",
    "SURF_EMD": "surrogate_distance",
    "SURF_MAE": "surrogate_error",
    "IoU": "unit_iou",
}


def __getattr__(name: str) -> Any:
    own = _PAPER_NAMES.get(name, name)
    if own not in _QUESTIONS:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    module = importlib.import_module(f"{__name__}.functions.{_QUESTIONS[own]}")
    return getattr(module, own)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class FunctionPackage(ModuleType):
    """Paths of 0.1.0 (metrics.acceptance) do not hide functions of the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _QUESTIONS and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = FunctionPackage
