"""Whoever knew 0.1.0 finds what its pages showed: the old path works, and says where it went."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import theodolite.metrics
from theodolite._moved import MovedModule, moved, renamed, rows

ROOT = Path(__file__).parents[2]
DOCUMENTED = {
    "bridges.captum": "saliency_evidence",
    "bridges.cem_results": "cem_file",
    "bridges.grad_cam": "saliency_evidence",
    "bridges.hugging_face": "concept_data",
    "bridges.hugging_face_card": "with_eval_results",
    "bridges.mlflow": "log_run",
    "bridges.pytorch_concepts": "embedding_evidence",
    "bridges.quantus": "beside_votes",
    "bridges.sparse_autoencoders": "feature_maps read_sae_lens surrogate_evidence",
    "bridges.torchmetrics": "as_metric",
    "contracts.axes": "Samples",
    "contracts.evidence": "ConceptEvidence LocationEvidence",
    "contracts.explained_pictures": "Answer Item material_from_arrays",
    "contracts.files": "load save",
    "contracts.rating": "RatingEvidence",
    "contracts.rating_summary": "summary",
    "contracts.score": "Detail Interval Null Score",
    "contracts.stored_writer": "EvidenceWriter",
    "contracts.voting_design": "votes_needed",
    "datasets.concept_data": "ConceptData",
    "datasets.folder": "folder",
    "datasets.shapes": "write_shapes",
    "datasets.stored_maps_writer": "write_maps",
    "datasets.synthetic": "planted_concepts",
    "datasets.synthetic_leakage": "planted_embeddings planted_interventions planted_leakage",
    "execution.audit": "Audit answer",
    "execution.conflicts": "conflicts",
    "execution.evaluate": "Asked Request Resampling",
    "execution.thresholds": "Judged broken judged read_thresholds",
    "execution.verdict": "QUESTIONS Verdict verdict",
    "explainers.discovery.importance": "gradient_importance",
    "explainers.discovery.methods": "METHODS",
    "explainers.saliency.methods": "explainer",
    "metrics._base": "Baseline Card Entry PerSample SampleMean metric",
    "metrics._cards": "card",
    "metrics._catalogue": "catalogue entry",
    "metrics.acceptance.correlation_table": "correlation_table",
    "metrics.alignment._nulls": "MOST_COMMON",
    "metrics.faithfulness.sanity": "sanity_check",
    "metrics.leakage.correlation": "correlation_study",
    "metrics.leakage.criterion": "leakage_criterion",
    "report.formulas": "formula",
    "study.protocol": "Protocol read_protocol",
    "study.convert.potato": "read_potato write_potato",
}
"""What pages, README, CONTRIBUTING and examples of 0.1.0 imported, by module."""


@pytest.mark.filterwarnings("ignore:theodolite.study:DeprecationWarning")  # of packages around it
@pytest.mark.parametrize("old", DOCUMENTED)
def test_a_documented_path_still_leads_there(old: str) -> None:
    for name in [n for n, m in sys.modules.items() if isinstance(m, MovedModule)]:
        del sys.modules[name]  # so that the warning comes again
    if old in moved() or old.startswith("study."):
        place = old.replace("study.", "_study.") if "study." in old else f".{moved()[old][0]}"
        now = f"theodolite{place}".replace(".", r"\.")
        with pytest.warns(DeprecationWarning, match=rf"{now}.* now; the old path goes"):
            module = importlib.import_module(f"theodolite.{old}")
    else:
        module = importlib.import_module(f"theodolite.{old}")
    for name in DOCUMENTED[old].split():
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="nothing_like_it"):
        module.nothing_like_it  # noqa: B018


def test_every_place_exists_and_no_old_module_does() -> None:
    source = ROOT / "src" / "theodolite"
    for old, places in moved().items():
        for place in places:
            home = ROOT / "study" / "src" if place.startswith("theodolite_study") else source
            path = home / place.replace(".", "/")
            assert path.with_suffix(".py").is_file() or (path / "__init__.py").is_file(), place
        if old not in places:
            assert not (source / f"{old.replace('.', '/')}.py").is_file(), old


def test_new_names_are_classes_or_functions_of_the_package() -> None:
    folders = (ROOT / "src" / "theodolite", ROOT / "study" / "src")
    paths = [path for folder in folders for path in folder.rglob("*.py")]
    source = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    for names in renamed().values():
        for name in names:
            assert f"class {name}" in source or f"def {name}(" in source, name


def test_the_page_has_the_whole_table() -> None:
    page = (ROOT / "docs" / "moved.md").read_text(encoding="utf-8")
    assert page.endswith("\n".join(rows()) + "\n")


def test_nothing_of_ours_takes_an_old_path() -> None:
    code = "import theodolite.cli.program, theodolite.auditing.front, theodolite.report.html"
    subprocess.run([sys.executable, "-W", "error::DeprecationWarning", "-c", code], check=True)


def test_what_never_was_is_an_ordinary_error() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"contracts\.never"):
        importlib.import_module("theodolite.contracts.never")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_functions_of_old_paths_are_those_of_today() -> None:
    """Also where an old path has the name of a function."""
    old = importlib.import_module("theodolite.metrics.acceptance.acceptance")
    assert old.acceptance is theodolite.metrics.acceptance
    older = importlib.import_module("theodolite.metrics.leakage.concept_task_leakage")
    assert older.concept_task_leakage is theodolite.metrics.CTL
