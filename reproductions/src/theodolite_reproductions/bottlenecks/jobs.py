"""One training and what the model answers: a job that any process can do, and do again."""

import hashlib
import json
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite._storage.arrays import read_npy, write_npy
from theodolite._storage.optional import require
from theodolite.evidence.axes import Classes, Concepts
from theodolite_reproductions.bottlenecks.settings import BottleneckSettings, LabeledFeatures
from theodolite_reproductions.datasets.bottleneck_data import BottleneckData

PolicyName = Literal["random", "uncertainty", "cooperative"]
ARRAYS = ("inputs", "truth", "labels", "train", "validation", "test")


@dataclass(frozen=True)
class StoredData:
    """A data set's arrays as files, so that processes read them instead of being sent them."""

    folder: Path
    digest: str
    n_classes: int
    grouped: bool

    def arrays(self) -> dict[str, np.ndarray]:
        names = (*ARRAYS, "groups") if self.grouped else ARRAYS
        return {name: read_npy(self.folder / f"{name}.npy", mapped=True) for name in names}


def store_arrays(data: BottleneckData, cache: Path) -> StoredData:
    """Write the arrays once, under the name of what they are."""
    digest = hashlib.sha256()
    arrays = {name: np.ascontiguousarray(getattr(data, name)) for name in ARRAYS}
    if data.groups is not None:
        arrays["groups"] = np.ascontiguousarray(data.groups)
    for name, values in arrays.items():
        digest.update(f"{name} {values.dtype.str} {values.shape}".encode())
        digest.update(values.tobytes())
    folder = cache / "bottleneck_data" / digest.hexdigest()
    for name, values in arrays.items():
        if not (folder / f"{name}.npy").is_file():
            write_npy(folder / f"{name}.npy", values)
    return StoredData(folder, digest.hexdigest(), len(data.classes), data.groups is not None)


@dataclass(frozen=True)
class Job:
    """One model, one seed."""

    data: StoredData
    settings: BottleneckSettings
    fold: int
    folds: int
    seed: int
    policies: tuple[PolicyName, ...]
    cache: Path

    @property
    def checkpoint(self) -> Path:
        """Where its training is kept, under the name of all that it depends on."""
        identity = [self.data.digest, asdict(self.settings), self.fold, self.folds, self.seed]
        key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
        return self.cache / "bottlenecks" / f"{key}.safetensors"


@dataclass(frozen=True, eq=False)
class ModelOutputs:
    """What a trained model says of the test samples."""

    values: Float[np.ndarray, "samples concepts"]
    predicted: Int[np.ndarray, " samples"]
    right_after: Bool[np.ndarray, "samples policies steps"]
    right_reference: Bool[np.ndarray, " samples"]
    weighted: Float[np.ndarray, "samples concepts size"] | None
    positive: Float[np.ndarray, "samples concepts size"] | None
    negative: Float[np.ndarray, "samples concepts size"] | None


def run_jobs(jobs: Sequence[Job], workers: int) -> Iterator[ModelOutputs]:
    """The answers in the order of the jobs, from as many processes as asked for."""
    require("torch", "bottlenecks", "torch")  # here, where it can be said: workers only break
    workers = min(workers or os.cpu_count() or 1, len(jobs))
    if workers <= 1:
        yield from map(do, jobs)
        return
    # started anew rather than forked: torch and numba hold threads that a fork would tear apart
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=_one_core) as pool:
        try:
            yield from pool.map(do, jobs)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _one_core() -> None:
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)


def do(job: Job) -> ModelOutputs:
    """Train, or take up where a training was cut off, and ask."""
    from theodolite_reproductions.bottlenecks.interventions import (  # noqa: PLC0415
        intervention_curve,
        reference_head,
    )
    from theodolite_reproductions.bottlenecks.training import fit_bottleneck  # noqa: PLC0415

    arrays: dict[str, Any] = {n: np.asarray(a) for n, a in job.data.arrays().items()}
    n_classes = job.data.n_classes
    data = BottleneckData(
        name="stored",
        concepts=Concepts.numbered(arrays["truth"].shape[1]),
        classes=Classes.numbered(n_classes),
        **arrays,
    ).folded(job.fold, job.folds)
    train, validation = (
        LabeledFeatures(data.inputs[rows], data.truth[rows], data.labels[rows])
        for rows in (data.train, data.validation)
    )
    head = reference_head(job.settings, train, validation, n_classes=n_classes, seed=job.seed)
    truth, labels = data.truth[data.test], data.labels[data.test]
    if job.settings.kind == "head":
        return _of_head(head.predicted(truth), truth, labels, job)
    trained = fit_bottleneck(
        job.settings, train, validation, n_classes=n_classes, seed=job.seed,
        checkpoint=job.checkpoint,
    )  # fmt: skip
    outputs = trained.say(data.inputs[data.test])
    curves = [
        intervention_curve(trained, outputs, truth, labels, policy=policy, seed=job.seed)
        for policy in job.policies
    ]
    return ModelOutputs(
        values=outputs.values,
        predicted=outputs.predicted,
        right_after=np.stack(curves, axis=1),
        right_reference=np.asarray(head.predicted(truth) == labels),
        weighted=outputs.weighted,
        positive=outputs.positive,
        negative=outputs.negative,
    )


def _of_head(
    predicted: Int[np.ndarray, " samples"],
    truth: Bool[np.ndarray, "samples concepts"],
    labels: Int[np.ndarray, " samples"],
    job: Job,
) -> ModelOutputs:
    """A head alone: its concepts are the true ones, and correcting them changes nothing."""
    right = predicted == labels
    steps = (len(truth), len(job.policies), truth.shape[1] + 1)
    return ModelOutputs(
        values=truth.astype(np.float32),
        predicted=predicted,
        right_after=np.broadcast_to(right[:, None, None], steps).copy(),
        right_reference=right,
        weighted=None,
        positive=None,
        negative=None,
    )
