"""Results of the code of Concept Embedding Models (mateoespinosa/cem).

With ``activation_freq`` that code writes plain arrays, which are read here:
``test_embedding_acts/<run>/test_embedding_semantics_on_epoch_<n>.npy`` (probabilities of concepts),
``test_embedding_vectors_on_epoch_<n>.npy`` (what the head sees) and
``test_model_output_on_epoch_<n>.npy``, with ``c_val.npy`` and ``y_val.npy`` beside the runs. They
are called test but are made of the *validation* data, and so is this evidence. All these names
were read off the public code; no run of it was at hand.

Everything else it writes (``results.joblib``, ``*.pt``) is pickled and refused. Lost: names of
concepts and classes, dimensions of extra capacity that belong to no concept, folds and training
history, the two vectors that a mixed one is made of.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Shaped

from theodolite._storage.arrays import read_npy, read_npz
from theodolite._storage.paths import confined
from theodolite.errors import EvidenceError, RefusedInput, printable
from theodolite.evidence.axes import Classes, Concepts
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence

Model = Literal["embedding", "bottleneck"]
ARRAYS = ("c_sem", "c_pred", "y_pred", "c_test", "y_test")
EMBEDDING = ("ConceptEmbeddingModel", "MixtureEmb", "IntAwareConceptEmbedding", "IntCEM")
PICKLED = (".joblib", ".pkl", ".pickle", ".pt", ".pth", ".ckpt")


def cem_run(
    folder: Path,
    run: str,
    *,
    epoch: int | None = None,
    concepts: Sequence[str] = (),
    classes: Sequence[str] = (),
) -> ConceptEvidence | EmbeddingEvidence:
    """Evidence from a folder of results and the name of a run in it.

    Args:
        folder: The ``result_dir``; it holds ``test_embedding_acts``.
        run: Such as ``ConceptEmbeddingModel_resnet34_fold_1``: says which model it is.
        epoch: The last one that was written, if not given; 0 is before any training.
        concepts: Their names.
        classes: Their names.
    """
    root = confined(Path(folder), "test_embedding_acts")
    place = confined(root, run)
    epochs = [
        int(match[1])
        for path in (sorted(place.iterdir()) if place.is_dir() else ())
        if (match := re.fullmatch(r"test_model_output_on_epoch_(\d{1,9})\.npy", path.name))
    ]
    if not epochs or (epoch is not None and epoch not in epochs):
        raise EvidenceError(
            f"run {printable(run)!r}", f"activations of epochs {sorted(epochs)}",
            "some" if epoch is None else f"epoch {epoch}",
            "Run the experiment with --activation_freq 1; its other results are pickled.",
        )  # fmt: skip
    at = max(epochs) if epoch is None else epoch
    arrays = {
        "c_sem": read_npy(place / f"test_embedding_semantics_on_epoch_{at}.npy"),
        "c_pred": read_npy(place / f"test_embedding_vectors_on_epoch_{at}.npy"),
        "y_pred": read_npy(place / f"test_model_output_on_epoch_{at}.npy"),
        "c_test": read_npy(root / "c_val.npy"),
        "y_test": read_npy(root / "y_val.npy"),
    }
    model: Model = "embedding" if run.startswith(EMBEDDING) else "bottleneck"
    return cem_arrays(arrays, model=model, concepts=concepts, classes=classes)


def cem_file(
    path: Path, *, model: Model, concepts: Sequence[str] = (), classes: Sequence[str] = ()
) -> ConceptEvidence | EmbeddingEvidence:
    """Evidence from a .npz file with arrays named as in that code.

    ``c_sem``, ``c_pred`` and ``y_pred`` are what ``trainer.predict`` gives, in this order;
    ``c_test`` and ``y_test`` what is true.
    """
    if Path(path).suffix.lower() in PICKLED:
        raise RefusedInput(
            f"file {Path(path).name!r}", "a pickle, which can run code when read", "a .npz file",
            "Save it again where you trust it: c_sem, c_pred, y_pred = (np.concatenate([np.asarray("
            "b[i].cpu()) for b in trainer.predict(model, test_dl)]) for i in range(3)); "
            "np.savez('run.npz', c_sem=c_sem, c_pred=c_pred, y_pred=y_pred, c_test=c_test, "
            "y_test=y_test).",
        )  # fmt: skip
    return cem_arrays(read_npz(Path(path)), model=model, concepts=concepts, classes=classes)


def cem_arrays(
    arrays: Mapping[str, Shaped[np.ndarray, "..."]],
    *,
    model: Model,
    concepts: Sequence[str] = (),
    classes: Sequence[str] = (),
) -> ConceptEvidence | EmbeddingEvidence:
    """The same from arrays at hand. True concepts other than 0 and 1 are taken as not known."""
    missing = [name for name in ARRAYS if name not in arrays]
    if missing:
        raise EvidenceError("arrays", f"no {', '.join(missing)}", f"{', '.join(ARRAYS)}")
    values, truth, output = (np.asarray(arrays[name]) for name in ("c_sem", "c_test", "y_pred"))
    labels = np.asarray(arrays["y_test"])
    shaped = values.ndim == 2 and values.size
    if not shaped or not np.isfinite(values).all() or values.min() < 0 or values.max() > 1:
        raise EvidenceError(
            "c_sem",
            f"shape {values.shape}",
            "probabilities, (samples, concepts), at least one each",
        )
    known = np.isin(truth, (0, 1))
    output = output.reshape(len(output), -1)
    explained = ConceptEvidence(
        values=values,
        truth=truth == 1,
        known=None if known.all() else known,
        labels=_answers(labels, "y_test"),
        # one logit is that of the second class
        predicted=output.argmax(axis=1) if output.shape[1] > 1 else (output[:, 0] > 0).astype(int),
        concepts=Concepts(tuple(concepts)),
        classes=Classes(tuple(classes) or tuple(f"class {k}" for k in range(_many(output)))),
    )
    if model == "bottleneck":
        return explained
    vectors = np.asarray(arrays["c_pred"]).reshape(len(values), -1)
    if vectors.shape[1] % values.shape[1]:
        raise EvidenceError(
            "c_pred",
            f"{vectors.shape[1]} columns",
            f"a multiple of {values.shape[1]}, the concepts",
        )
    return EmbeddingEvidence(
        explained=explained,
        vectors=vectors.reshape(*values.shape, vectors.shape[1] // values.shape[1]),
    )


def _many(output: Shaped[np.ndarray, "samples classes"]) -> int:
    return max(int(output.shape[1]), 2)


def _answers(labels: Shaped[np.ndarray, "..."], name: str) -> Shaped[np.ndarray, " samples"]:
    """That code holds classes as floats where there are two."""
    values = labels.reshape(-1)
    if (values != np.round(values)).any():
        raise EvidenceError(name, "numbers with decimals", "numbers of classes")
    return np.asarray(values.astype(np.int64))
