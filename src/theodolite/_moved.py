"""Where modules of 0.1.0 are now: whoever imports an old path gets the new one, and is told.

Only public names are promised (``theodolite.__all__``), but pages of 0.1.0 showed paths inside the
package. They work until 0.4.
"""

import importlib
import sys
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MOVED = {
    ("contracts", "evidence"): (
        "axes bundle=base described=describe shards stored=store stored_writer=store_writer files "
        "_checks=checks scatter=sampling concept_head surrogate_settings rating_summary "
        "vote_columns tokens=token_grid made=produced work=workers"
    ),
    ("contracts", "evidence.kinds"): "rating saliency surrogate",
    ("contracts", ""): "score=results",
    ("contracts", "study_material"): (
        "study_material=material study_checks=checks voting_design explained_pictures"
    ),
    ("execution", "scoring"): (
        "evaluate _countings=counting _passes=passes _plan=plan _pooled=pooled _request=request "
        "_values=values"
    ),
    ("execution", "verdicts"): (
        "verdict=rules _verdicts=from_scores missing _audit_notes=notes audit=answers"
    ),
    ("execution", "engine"): "crew=pool engine=base ledger local=processes pieces ray ray_data",
    ("execution", "run_folder"): (
        "spec record=scores_file run_record=run_file run_folder=folder seal registry "
        "_written=written _scored=headlines"
    ),
    ("execution", "runs"): "run recompute stored_run=stored finished _input=inputs",
    ("execution", "comparison"): (
        "paired=pairing paired_compare=compare_runs paired_differs=differences "
        "paired_interval=intervals paired_lines=rows paired_runs=runs paired_samples=samples "
        "paired_table=table leaderboard leaderboard_runs"
    ),
    ("execution", "thresholds"): "thresholds=judge threshold_file=file",
    ("execution", "conflicts"): (
        "conflicts=matrix _conflict_counts=counts _conflict_judged=judged "
        "_conflict_pictures=pictures _conflict_record=record _conflict_sentences=sentences"
    ),
    ("execution", "findings"): (
        "studies=leakage faithfulness_studies=faithfulness score_correlations vote_correlations"
    ),
    ("metrics.leakage", "findings"): "criterion correlation",
    ("metrics.leakage", "metrics.leak_free"): (
        "_nulls _pairs _predictors _terms _vectors concept_prediction concept_task_leakage "
        "embedding_alignment embedding_interconcept_information embedding_self_information "
        "embedding_task_information embedding_task_leakage_given_concept interconcept_leakage "
        "interconcept_leakage_given_concepts intervention_accuracy intervention_score "
        "niche_impurity oracle_impurity task_accuracy task_leakage_given_concept"
    ),
    ("metrics.faithfulness", "findings"): "sanity knee=elbow cost",
    ("metrics.faithfulness", "metrics.faithful"): (
        "_accuracy _distances _frame=frame _nulls _removal attribute_agreement completeness "
        "concept_deletion concept_insertion linearisation_error surrogate_accuracy "
        "surrogate_agreement surrogate_distance surrogate_error surrogate_rank_correlation "
        "surrogate_relative_error surrogate_relative_error_by_class doubts=warnings"
    ),
    ("auditing", "auditing"): "given=sources audited=result run_folders=run_sources",
    ("metrics", "metrics"): "_base=base _catalogue=catalogue _cards=cards",
    ("metrics", "stats"): (
        "_estimators=information _information_of_few=information_numpy _resample=resampling"
    ),
    ("metrics.alignment", "metrics.exists"): "concept_existence concept_global_importance",
    ("metrics.alignment", "metrics.located"): "concept_location pointing_game",
    ("metrics.alignment", "metrics.shared"): "_nulls=nulls _ranking=ranking _places=places",
    ("metrics.saliency", "metrics.located"): (
        "relevance_mass relevance_peak relevance_rank sparseness"
    ),
    ("metrics.saliency", "metrics.faithful"): (
        "max_sensitivity randomisation_similarity removal_faithfulness removal_necessity "
        "removal_sufficiency"
    ),
    ("metrics.saliency", "metrics.shared"): "_nulls=map_nulls _removal=removal _marked=marked",
    ("metrics.detection", "metrics.detects"): (
        "_nulls detection_accuracy detection_and_accuracy pixel_recall unit_iou"
    ),
    ("metrics.acceptance", "metrics.accepted"): (
        "_kappa _nulls _ranks acceptance correlation_table intraclass_correlation "
        "krippendorff_alpha pairwise_agreement predicted_rating_agreement "
        "predicted_rating_correlation predicted_rating_error rater_agreement rater_correlation "
        "_given=_bundle"
    ),
    ("explainers.dissection", "dissection"): (
        "_unit_kernels _beam_kernels shard_limits units formula search drawing shard_marks counts "
        "exact shard_search _triple_kernels shard_counts sharded atoms dissect quantiles "
        "_atom_kernels _exact_kernels store shards"
    ),
    ("datasets", "datasets.planted"): (
        "synthetic=concepts synthetic_leakage=leakage synthetic_maps=maps "
        "synthetic_ratings=ratings synthetic_saliency=saliency synthetic_surrogates=surrogates"
    ),
    ("datasets", "datasets.masks"): (
        "mask_data mask_folder joined_masks monumai_masks broden ade20k camvid stored_maps "
        "stored_maps_writer"
    ),
    ("datasets", "datasets.votes"): (
        "voted voted_parts=parts voted_rows=rows votes_label_studio=label_studio "
        "votes_pasta=pasta votes_potato=potato votes_saliency=saliency votes_study=study "
        "votes_table=table votes_text=text"
    ),
    ("models", "models.bottlenecks"): (
        "bottleneck=model bottleneck_settings=settings bottleneck_training=training interventions "
        "predictions trained_bottleneck=trained seeded_training training_checkpoint=checkpoint "
        "training_manners=schedules"
    ),
    ("models", "models.image_text"): (
        "open_clip_towers transformers_towers towers zero_shot image_text=pairs encoders "
        "text_embedding transformers_classifier"
    ),
    ("pipelines", "pipelines.acceptance"): (
        "acceptance=pipeline _acceptance_embedding=embedding _acceptance_features=features "
        "_acceptance_models=models _acceptance_rendering=rendering _acceptance_scoring=scoring "
        "_acceptance_tables=tables _acceptance_tuning=tuning_columns tuning"
    ),
    ("pipelines", "pipelines.posthoc"): (
        "posthoc=pipeline _posthoc_evidence=evidence _posthoc_network=network "
        "_posthoc_units=units _concept_cards=concept_cards"
    ),
    ("pipelines", "pipelines.saliency"): "saliency=pipeline _saliency_pieces=pieces",
    ("pipelines", "pipelines.bottlenecks"): "bottlenecks=pipeline _bottleneck_jobs=jobs",
    ("pipelines", "pipelines.faithfulness"): (
        "faithfulness=pipeline _explanations=explanations _explained_layer=explained_layer "
        "_middle_layers=middle_layers _check_settings=check_settings"
    ),
    ("pipelines", "pipelines.dissection"): (
        "dissection=pipeline stored_dissection=stored _unit_cards=unit_cards "
        "_unit_tables=unit_tables"
    ),
    ("pipelines", "pipelines.study"): (
        "study_material=material study_concepts=concepts _study_twins=twins"
    ),
    ("pipelines", "pipelines"): (
        "_features=features _parallel=parallel _probe=probe _correlations=correlations"
    ),
    ("report", "report.chapters"): (
        "leakage leakage_models leakage_samples faithfulness faithfulness_measures "
        "faithfulness_samples faithfulness_tables saliency acceptance units conflicts compared "
        "clean findings"
    ),
    ("report", "report"): "chapters=contents distrust=limits",
    ("report", "report.figures"): (
        "vega lines leakage_figures=leakage compare_runs_figures=strips paper_figures=paper"
    ),
    ("report", "report.explorer"): (
        "explorer=page explorer_pictures=pictures explorer_tables=tables packed_table"
    ),
    ("report", "report.exports"): "latex latex_text markdown_text model_card",
    ("report", "report.pages"): "compare_runs compare_runs_words leaderboard",
    ("io", "io"): "foreign=untrusted_text kept=atomic",
    ("cli", "cli.commands"): (
        "accept_commands=accept audit_command=audit compare_commands=compare data_commands=data "
        "evidence_command=evidence explain_command=explain export_commands=export "
        "folder_commands=folders gate_command=gate metric_commands=metrics run_commands=run"
    ),
    ("cli", "theodolite_study.cli"): (
        "study_commands=commands study_people_commands=people study_results_commands=results "
        "study_tables=tables _study_folder=folder"
    ),
    ("cli", "bridges"): "_study_material=study_material",
    ("cli", "cli"): "commands=program",
    ("explainers.discovery", "explainers.discovery"): "_protocol=protocol",
}
"""Old and new package, then the modules: one name, or old=new."""
KINDS = "concept location unit embedding intervention"
SPLIT = {
    "contracts.evidence": tuple(f"evidence.kinds.{kind}" for kind in KINDS.split()),
    "contracts.score": ("results", "questions"),
    "execution.verdict": ("verdicts.rules", "results", "questions"),
    "models.towers": ("models.image_text.towers", "models.image_text.loading"),
    "report.svg": ("report.figures.svg", "report.figures.scales"),
    "report.faithfulness_figures": ("report.figures.faithfulness", "report.figures.bars"),
    "models.classifiers": ("models.classifiers", "models.classifier"),
}
"""Modules whose names are in several modules now."""
STUDY, STUDY_PACKAGE = "study", "theodolite_study"
"""The study server is a distribution of its own: all its modules are there under their names."""

RENAMED = (
    "Aligned=AlignedSamples Alone=SerialWorkers Answered=VerdictPair "
    "Answers=SurrogateOutputs/ModelOutputs/NetworkOutputs Asked=MetricRun "
    "Audit=AuditAnswers Audited=AuditResult Auditing=AuditArguments Baseline=NullModel "
    "Cell=ConflictCell Check=LedgerCheck Column=ScoreColumn/VoteColumn "
    "Compared=ComparedModel CorrelationRow=CorrelationRecord Counted=ConflictCount "
    "Counting=StateJob Crew=WorkerPool Described=ArrayDescription/ExplanationFeatures "
    "Difference=FindingDecision Differs=RunDifference Dissected=DissectionResult "
    "Drawn=Subsample/ResamplingSource Entry=Metric Explained=UnitFormula "
    "Failed=FailedPiece Finished=Run Formula=LatexFormula "
    "Found=DiscoveredConcepts/SearchResult Frame=PlotFrame Given=EvidenceSource "
    "Group=PassGroup/BinCounts Held=InMemoryShards HeldPiece=InMemoryPiece "
    "Judged=GateCheck/JudgedItems/MeasureOrder KeptRun=SourceRun "
    "Labelled=LabelledFeatures Lacking=MissingScoreLike LeftOut=ExcludedModel "
    "Line=ComparisonRow/PlotLine Loaded=LoadedNetwork Made=Produced "
    "Missing=MissingEvidence Network=SavedNetwork/NetworkArguments Pair=Comparison "
    "Parting=SplitSettings "
    "Pictures=PictureTower/PictureFiles Piece=SaliencyPiece Probed=ProbedPictures "
    "Rated=RatedExplanations Request=MetricRequest Said=ConceptValues "
    "Searched=FormulaSearch Seen=TwinPicture Shaking=StabilitySettings "
    "Shown=ShownExplanation/ItemPictures/ReportModel Spoken=BottleneckOutput "
    "Standing=LeaderboardRow Stored=StoredShards Studied=StudyFolder StudiesFile=FindingsFile "
    "Trained=TrainedBottleneck Training=TrainingSettings Tuned=TuningResult "
    "Unanswered=MissingScore Units=UnitMasks Unrated=UnratedExplanations "
    "Wanted=PassItem/TwinSettings Work=PostHocInputs Workshop=WorkContext "
    "entry=find_metric write_studies=write_findings"
)
"""Old and new names of classes and functions; where several had one name, all of them."""


@cache
def renamed() -> dict[str, tuple[str, ...]]:
    """The new names of each old one."""
    pairs = (pair.split("=") for pair in RENAMED.split())
    return {old: tuple(new.split("/")) for old, new in pairs}


@cache
def moved() -> dict[str, tuple[str, ...]]:
    """Each old module with the modules that have its names now, without the package's own name."""
    whole: dict[str, tuple[str, ...]] = {}
    for (old_package, new_package), modules in MOVED.items():
        for pair in modules.split():
            old, _, new = pair.partition("=")
            path = (new_package, new or old) if new_package else (new or old,)
            whole[f"{old_package}.{old}"] = (".".join(path),)
    return whole | SPLIT | {STUDY: (STUDY_PACKAGE,)}


def _places(old: str) -> tuple[str, ...]:
    """The modules that have the names of an old one now, with the names of their packages."""
    if old.startswith(f"{STUDY}."):
        return (f"{STUDY_PACKAGE}{old.removeprefix(STUDY)}",)
    return tuple(
        place if place.startswith(STUDY_PACKAGE) else f"theodolite.{place}"
        for place in moved().get(old, ())
    )


class MovedModule(ModuleType):
    """Has the names of the modules that took its place."""

    def __init__(self, name: str, places: Sequence[str]) -> None:
        super().__init__(name)
        self.__path__: list[str] = []  # old packages had modules inside
        self._places = tuple(places)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            modules = [importlib.import_module(place) for place in self._places]
            for now in (name, *renamed().get(name, ())):
                for module in modules:
                    if hasattr(module, now):
                        return getattr(module, now)
        message = f"module {self.__name__!r} has no attribute {name!r}"
        raise AttributeError(message)


class MovedModules:
    """Finds old modules after everything else was tried; makes them by itself."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Only for paths that 0.1.0 had."""
        package, _, old = name.partition(".")
        if package != "theodolite" or not old:
            return None
        inside = f"{old}."
        if _places(old) or any(other.startswith(inside) for other in moved()):
            return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """A module that looks its names up where they are now."""
        old = spec.name.partition(".")[2]
        functions = ("theodolite.metrics",) if old.startswith("metrics.") else ()
        return MovedModule(spec.name, (*_places(old), *functions))

    def exec_module(self, module: ModuleType) -> None:
        """Say where it went."""
        places = _places(module.__name__.partition(".")[2])
        if places:
            now = " and ".join(places)
            text = f"{module.__name__} is {now} now; the old path goes in theodolite 0.4"
            warnings.warn(text, DeprecationWarning, stacklevel=2)


def follow() -> None:
    """Old paths lead to new ones from now on."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(MovedModules())


def rows() -> Iterator[str]:
    """Lines of the table in docs/moved.md."""
    for old, places in sorted(moved().items()):
        yield f"| `{old}` | {', '.join(f'`{place}`' for place in places)} |"
