"""Make study material from a run folder. Public in ``theodolite.ext.studies``."""

from pathlib import Path

from theodolite._runs.folder.checksums import MANIFEST, verify_checksums
from theodolite._runs.folder.preparation import check_outside
from theodolite._runs.folder.registry import build_registered
from theodolite._runs.folder.run_records import RunRecord
from theodolite._storage.arrays import read_safetensors
from theodolite._storage.paths import sha256_of
from theodolite._storage.records import read_record
from theodolite.datasets.study_material.material import Material
from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import Progress
from theodolite.pipelines.posthoc.pipeline import PosthocPipeline
from theodolite.pipelines.saliency.pipeline import SaliencyPipeline
from theodolite.pipelines.study.concepts import PosthocRun, material_from_posthoc_run
from theodolite.pipelines.study.material import TwinSettings, material_from_saliency_run


def material_of_run(
    run: Path, data: Path, folder: Path, settings: TwinSettings, progress: Progress
) -> Material:
    """Return study material from a finished saliency or post-hoc bottleneck run.

    Args:
        run: The run folder. Its checksums are verified first.
        data: The folder that paths in the run's spec are relative to.
        folder: The study folder to write.
        settings: Number of images, techniques and checks. Pass the run's first seed (`seed_of_run`)
            to show the images that the run shows.
        progress: Function that is called while images are explained.
    """
    verify_checksums(run)
    check_outside(run, "study folder", folder)
    record = read_record(run / "run.json", RunRecord)
    spec = record.spec
    if spec.pipeline is None or spec.dataset is None:
        raise EvidenceError(
            f"run {spec.name!r}", "stored evidence alone", "a run that explained images",
            "A study needs images and a model.",
        )  # fmt: skip
    pipeline = build_registered("pipelines", spec.pipeline, data)
    images = build_registered("datasets", spec.dataset, data)
    origin = {
        "run": spec.name,
        "run manifest": sha256_of(run / MANIFEST),
        "code": record.code,
    }
    if isinstance(pipeline, SaliencyPipeline):
        return material_from_saliency_run(
            pipeline, images, folder, settings, progress=progress, origin=origin
        )
    if isinstance(pipeline, PosthocPipeline):
        posthoc_run = PosthocRun(pipeline, images, read_safetensors(run / "model.safetensors"))
        return material_from_posthoc_run(
            posthoc_run, folder, settings, progress=progress, origin=origin
        )
    raise EvidenceError(
        f"run {spec.name!r}", f"the pipeline {spec.pipeline.name!r}", "saliency or posthoc_cbm",
        "Others: theodolite.ext.material_from_arrays, from Python.",
    )  # fmt: skip


def seed_of_run(run: Path) -> int:
    """Return the first seed of a run, with which a study shows the run's images."""
    return read_record(run / "run.json", RunRecord).spec.seeds[0]
