"""Predictions of other people's bottlenecks as plain arrays."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Int, Num
from scipy.special import expit

from theodolite._storage.arrays import read_npy, read_npz
from theodolite.errors import EvidenceError, UnsafeInputError

Predictions = dict[str, np.ndarray]
"""``values`` (samples, concepts) as the head sees them, or probabilities; ``truth``, ``labels``,
``predicted``, ``scores`` of the classes; ``vectors`` (samples, concepts, size) where there."""

PICKLES = (".joblib", ".pkl", ".pickle", ".pt", ".pth", ".ckpt")
_EXPORT = (
    "Export them where they were made: numpy.savez('predictions.npz', c_sem=..., c_pred=..., "
    "y_pred=..., c=..., y=...) with the three arrays that trainer.predict gives and the truth."
)


def of_pyc(
    output: Any,
    *,
    concepts: Sequence[str],
    task: str,
    truth: Bool[np.ndarray, "samples concepts"],
    labels: Int[np.ndarray, " samples"],
    embeddings: Mapping[str, Sequence[str]] | None = None,
) -> Predictions:
    """What a model of PyC (pytorch-concepts, 1.0.0a7) returns from a query.

    Args:
        output: From ``model(query=[*concepts, task], input=x)``, in evaluation mode.
        concepts: Their names, in the order of the truth's columns.
        task: The name of the task: binary, or categorical with one label a sample.
        truth: The true concepts.
        labels: The true classes.
        embeddings: If they were asked for too, their names, each with the concepts it holds in
            the model's order: ``{"embeddings": model.pgm.variables["concepts"].members}``.

    What is lost: PyC reports a concept's embedding before it is mixed with its probability, and
    neither the positive, the negative nor the mixed vector, so ``vectors`` are not what the head
    sees. With its deterministic inference the head sees probabilities, though logits are
    reported, so ``values`` are probabilities. Only binary concepts are taken. The model itself,
    and with it every intervention, stays there.
    """
    wide = [name for name in concepts if _of(output, name)[1].shape[-1] != 1]
    if wide:
        raise EvidenceError(
            "concepts", f"{wide[0]!r}, which has several states", "binary concepts",
            "Leave it out, or train with one binary concept for each state.",
        )  # fmt: skip
    columns = [
        expit(c) if kind == "logits" else c for kind, c in (_of(output, n) for n in concepts)
    ]
    kind, scores = _of(output, task)
    if scores.shape[-1] == 1:
        middle = scores if kind == "logits" else scores - 0.5
        scores = np.concatenate([-middle, middle], axis=-1)
    predictions = _predictions(np.concatenate(columns, axis=-1), scores, truth, labels)
    if embeddings:
        vectors = {
            concept: block
            for name, members in embeddings.items()
            for concept, block in zip(
                members, _of(output, name)[1].reshape(len(truth), len(members), -1).swapaxes(0, 1),
                strict=True,
            )
        }  # fmt: skip
        predictions["vectors"] = np.stack([vectors[concept] for concept in concepts], axis=1)
    return predictions


def _of(output: Any, name: str) -> tuple[str, np.ndarray]:
    """A variable's numbers, and what they are."""
    for kind in ("logits", "probs", "value"):
        tensor = output.params.get(kind)
        known = tensor.annotations if tensor is not None else None
        if known is not None and (name in known.labels or name in known.label_groups):
            part = tensor[name]
            return kind, np.asarray(getattr(part, "tensor", part).detach().cpu().numpy())
    raise EvidenceError(
        "output", f"nothing of {name!r}", "its logits or probabilities", "Ask for it in the query."
    )


def read_cem(
    path: Path, *, run: str = "", size: int = 16, epoch: int | None = None, part: str = "val"
) -> Predictions:
    """Files of the CEM code (mateoespinosa/cem).

    Args:
        path: A result folder with activations in ``test_embedding_acts``, which are written when
            experiments run with ``--activation_freq``; or a .npz file with ``c_sem``, ``c_pred``
            and ``y_pred``, as ``trainer.predict`` gives them, and ``c`` and ``y``.
        run: The model's name, the folder below ``test_embedding_acts``.
        size: The size of the embeddings (``emb_size``).
        epoch: Which activations; without, the last.
        part: Whose truth goes with them. Activations are of the validation samples, for all that
            their files are called ``test_...``.

    What is lost: positive and negative vectors, of which only the mixture is written; names of
    samples, concepts and classes; and the model, so that nothing can be intervened on. The last
    activations need not be of the weights that were kept. A bottleneck with extra capacity of
    the same width cannot be told from embeddings. Results, settings and weights (.joblib, .pt)
    are pickles, which can run code when read, and are refused.
    """
    if path.suffix in PICKLES:
        raise _pickled(path.name)
    arrays = read_npz(path) if path.is_file() else _activations(path, run, epoch, part)
    missing = sorted({"c_sem", "c_pred", "y_pred", "c", "y"} - arrays.keys())
    if missing:
        raise UnsafeInputError(
            f"predictions {path.name!r}", f"no {', '.join(missing)}",
            "c_sem, c_pred, y_pred, c and y",
        )  # fmt: skip
    return _of_cem(arrays, size)


def _activations(folder: Path, run: str, epoch: int | None, part: str) -> Mapping[str, np.ndarray]:
    acts = folder / "test_embedding_acts"
    start = "test_model_output_on_epoch_"
    numbers = [f.stem.removeprefix(start) for f in (acts / run).glob(f"{start}*.npy")]
    epochs = sorted(int(number) for number in numbers if number.isdecimal())
    if not epochs or (epoch is not None and epoch not in epochs):
        pickles = sorted(f.name for f in folder.glob("*") if f.suffix in PICKLES)
        if pickles:
            raise _pickled(pickles[0])
        runs = sorted(f.name for f in acts.glob("*") if f.is_dir())
        raise UnsafeInputError(
            f"activations of {run!r}", f"epochs {epochs}, runs {runs}", "activations of a run",
            "Run the experiments with --activation_freq, and name the run.",
        )  # fmt: skip
    which = f"on_epoch_{epochs[-1] if epoch is None else epoch}.npy"
    return {
        "c_sem": read_npy(acts / run / f"test_embedding_semantics_{which}"),
        "c_pred": read_npy(acts / run / f"test_embedding_vectors_{which}"),
        "y_pred": read_npy(acts / run / f"test_model_output_{which}"),
        "c": read_npy(acts / f"c_{part}.npy"),
        "y": read_npy(acts / f"y_{part}.npy"),
    }


def _of_cem(arrays: Mapping[str, np.ndarray], size: int) -> Predictions:
    truth, labels, scores = arrays["c"], arrays["y"].reshape(-1), arrays["y_pred"]
    n, k = truth.shape
    if not np.isin(truth, (0, 1)).all():
        raise EvidenceError("truth", "values between 0 and 1", "0 or 1", "Round them first.")
    scores = scores.reshape(n, -1) if scores.size % n == 0 else scores
    if scores.shape[-1] == 1:  # one output for two classes
        scores = np.concatenate([-scores, scores], axis=-1)
    bottleneck = arrays["c_pred"]
    if bottleneck.shape not in ((n, k), (n, k * size)):
        raise EvidenceError(
            "vectors", f"shape {bottleneck.shape}", f"({n}, {k}), or ({n}, {k} x {size})",
            "Pass the size of the embeddings, and the truth of the same samples.",
        )  # fmt: skip
    embedded = bottleneck.shape[1] != k
    values = arrays["c_sem"] if embedded else bottleneck
    predictions = _predictions(values, scores, truth.astype(bool), labels.astype(np.int64))
    if embedded:
        predictions["vectors"] = bottleneck.reshape(n, k, size)
    return predictions


def _predictions(
    values: Num[np.ndarray, "..."],
    scores: Num[np.ndarray, "..."],
    truth: Bool[np.ndarray, "samples concepts"],
    labels: Int[np.ndarray, " samples"],
) -> Predictions:
    n = len(labels)
    if values.shape != truth.shape or len(truth) != n or scores.ndim != 2 or len(scores) != n:
        raise EvidenceError(
            "predictions", f"concepts {values.shape}, classes {scores.shape}",
            f"those of {n} samples with {truth.shape[1]} concepts",
        )  # fmt: skip
    predicted = scores.argmax(axis=1)
    return {"values": values, "truth": truth, "labels": labels, "predicted": predicted,
            "scores": scores}  # fmt: skip


def _pickled(name: str) -> UnsafeInputError:
    return UnsafeInputError(
        f"predictions {name!r}", "a pickle, which can run code when read", ".npy or .npz", _EXPORT
    )
