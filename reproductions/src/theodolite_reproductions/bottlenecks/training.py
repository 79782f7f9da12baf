"""Training of concept bottleneck and concept embedding models. Importing this imports torch."""

import hashlib
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor, from_numpy, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite_reproductions.bottlenecks.checkpoint import Checkpoint
from theodolite_reproductions.bottlenecks.converged import fit_to_convergence
from theodolite_reproductions.bottlenecks.model import Front, Network, build, build_head
from theodolite_reproductions.bottlenecks.seeded_training import Batch, Loss, Schedule
from theodolite_reproductions.bottlenecks.seeded_training import train as fit
from theodolite_reproductions.bottlenecks.settings import (
    BottleneckSettings,
    LabeledFeatures,
    Optimizer,
)
from theodolite_reproductions.bottlenecks.trained import (
    TrainedBottleneck,
    as_inputs,
    intervention_values,
)

__all__ = [
    "BottleneckSettings",
    "LabeledFeatures",
    "TrainedBottleneck",
    "fit_bottleneck",
    "fit_head",
]


def fit_bottleneck(  # noqa: PLR0913  all that makes up one training
    settings: BottleneckSettings,
    train: LabeledFeatures,
    validation: LabeledFeatures,
    *,
    n_classes: int,
    seed: int,
    front: Front | None = None,
    checkpoint: Path | None = None,
    save_every: float = 5.0,
    progress: Progress = silent,
) -> TrainedBottleneck:
    r"""Train a bottleneck until its loss on the validation samples no longer falls.

    Joint training minimizes :math:`\lambda L_c + L_y`: the mean binary cross-entropy of the
    concepts, weighted by ``concept_weight``, and the cross-entropy of the classes. Otherwise the
    encoder is trained on the concepts alone, and then the head: on the true concepts
    (independent; for logits, on what an intervention would set) or on the predicted ones
    (sequential). The weights with the least loss on validation are kept.

    Equal arguments give equal weights, bit for bit, on the same machine; torch's own random
    state is left alone, so that several trainings can run in threads beside each other.

    Args:
        settings: See there.
        train: Samples to learn from.
        validation: Samples to stop by.
        n_classes: How many classes there are.
        seed: Not negative.
        front: Makes an encoder with a number of outputs, in place of the encoder that is named.
        checkpoint: A .safetensors file, written during training and read to go on after a cut;
            the weights are then the same as without the cut. It is left when training has ended,
            and calling again gives the finished model at once.
        save_every: Seconds between two writes of it.
        progress: Told the epochs.
    """
    _check(train, validation, n_classes)
    n_concepts, joint = train.truth.shape[1], settings.training == "joint"
    network = build(
        settings, train.input_shape, n_concepts, n_classes,
        seed=seed, brightest=_brightest(train.inputs), front=front,
    )  # fmt: skip
    resume = None
    if checkpoint is not None:
        identity = {"settings": asdict(settings), "seed": seed, "n_classes": n_classes,
                    "data": [_digest(train), _digest(validation)]}  # fmt: skip
        resume = Checkpoint(checkpoint, identity, save_every)
    what = "training" if joint else "concepts"
    fit(
        network if joint else network.encoder,
        _loss(settings, network, train.truth),
        (_arrays(train), _arrays(validation)),
        _schedule(settings, seed),
        checkpoint=resume,
        progress=lambda done, total: progress(what, done, total),
    )
    absent, present = intervention_values(settings, n_concepts)
    trained = TrainedBottleneck(
        settings=settings, network=network.eval(), absent=absent, present=present
    )
    if settings.kind == "cbm" and settings.encoding == "logit":
        logits = trained.say(train.inputs).logits
        absent, present = intervention_values(settings, n_concepts, logits)
        trained = replace(trained, absent=absent, present=present)
    if not joint:
        rows = _head_rows(trained, train), _head_rows(trained, validation)
        _fit_head(network.head, settings, rows, (train, validation), seed, progress)
    return trained


def fit_head(
    settings: BottleneckSettings,
    train: LabeledFeatures,
    validation: LabeledFeatures,
    *,
    n_classes: int,
    seed: int,
    progress: Progress = silent,
) -> nn.Module:
    """A head of these settings, trained by itself on the true concepts as 0 and 1."""
    _check(train, validation, n_classes)
    head = build_head(settings, train.truth.shape[1], n_classes, seed=seed)
    rows = train.truth.astype(np.float32), validation.truth.astype(np.float32)
    _fit_head(head, settings, rows, (train, validation), seed, progress)
    return head


def _head_rows(
    trained: TrainedBottleneck, data: LabeledFeatures
) -> Float[np.ndarray, "samples concepts"]:
    if trained.settings.training == "sequential":
        return trained.say(data.inputs).values
    return np.where(data.truth, trained.present, trained.absent)


def _fit_head(
    head: nn.Module,
    settings: BottleneckSettings,
    rows: tuple[np.ndarray, np.ndarray],
    data: tuple[LabeledFeatures, LabeledFeatures],
    seed: int,
    progress: Progress,
) -> None:
    if settings.head_optimizer == "lbfgs":
        fit_to_convergence(head, rows[0], data[0].labels)
        progress("head", settings.head_epochs, settings.head_epochs)
        return
    pairs = [(r, d.labels.astype(np.int64)) for r, d in zip(rows, data, strict=True)]
    fit(
        head,
        lambda batch: cross_entropy(head(batch[0]), batch[1]),
        (pairs[0], pairs[1]),
        _schedule(settings, seed, head=True),
        progress=lambda done, total: progress("head", done, total),
    )


def _loss(
    settings: BottleneckSettings, network: Network, truth: Bool[np.ndarray, "samples concepts"]
) -> Loss:
    """The loss of a batch of inputs, concepts and labels."""
    positives = truth.sum(axis=0)
    ratio = np.where(positives > 0, (len(truth) - positives) / np.maximum(positives, 1), 1.0)
    emphasis = from_numpy(ratio.astype(np.float32)) if settings.weighted_concepts else None

    def concepts(logits: Tensor, truth: Tensor) -> Tensor:
        weight = None if emphasis is None else emphasis.to(logits.device)
        return binary_cross_entropy_with_logits(logits, truth, pos_weight=weight)

    def joint(batch: Batch) -> Tensor:
        inputs, truth, labels = batch
        output = network(inputs, truth)
        loss = cross_entropy(output.scores, labels)
        if settings.concept_weight > 0:
            loss = loss + settings.concept_weight * concepts(output.logits, truth)
        return loss

    def alone(batch: Batch) -> Tensor:
        return concepts(network.encoder(batch[0]), batch[1])

    return joint if settings.training == "joint" else alone


def _schedule(settings: BottleneckSettings, seed: int, *, head: bool = False) -> Schedule:
    """For the whole or the encoder, or for a head alone; each with seeds of its own."""
    rate = settings.head_learning_rate if head else None
    by_itself: Optimizer = "sgd" if settings.head_optimizer == "sgd" else "adam"
    return Schedule(
        epochs=settings.head_epochs if head else settings.epochs,
        batch=settings.batch,
        learning_rate=settings.learning_rate if rate is None else rate,
        patience=settings.patience,
        optimizer=by_itself if head else "adam",
        seeds=(seed, int(head)),
    )


def _check(train: LabeledFeatures, validation: LabeledFeatures, n_classes: int) -> None:
    for what, got, needed in (
        ("inputs", validation.input_shape, train.input_shape),
        ("concepts", validation.truth.shape[1], train.truth.shape[1]),
    ):
        if got != needed:
            raise EvidenceError(f"validation {what}", f"{got}", f"{needed}, as in training")
    for labels in (train.labels, validation.labels):
        if labels.min() < 0 or labels.max() >= n_classes:
            raise EvidenceError(
                "labels", f"{labels.min()} to {labels.max()}", f"0 to {n_classes - 1}"
            )


def _arrays(data: LabeledFeatures) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return as_inputs(data.inputs), data.truth.astype(np.float32), data.labels.astype(np.int64)


def _brightest(inputs: np.ndarray) -> float:
    return 1.0 if inputs.dtype == np.uint8 and inputs.max() <= 1 else 255.0


def _digest(data: LabeledFeatures) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for array in (data.inputs, data.truth, data.labels):
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
