"""Predictions of models made with PyC (``torch_concepts``).

Lost: that the states of a categorical concept exclude each other (each state is a concept of its
own, ``colour: red``); continuous concepts, for which there is nothing to be true or false; the
graph between concepts; all tasks but one; what a model drew at random.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite.bridges._tensors import numbers
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Concepts
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence


def concept_evidence(
    output: Any, *, task: str, truth: Any = None, annotations: Any = None
) -> ConceptEvidence:
    """What a PyC model said of each concept, as probabilities, and what it chose.

    Args:
        output: The ``InferenceOutput`` of a query for concepts and the task.
        task: The name of the task among what was queried.
        truth: A tensor with PyC's annotations in which each concept is a column of whole numbers,
            as PyC's data sets have it: ``AnnotatedTensor(values, annotations.to_concept_space())``.
            NaN where a concept is not known. The task's own column becomes the labels.
        annotations: Those that the model was made with: an output knows how many states a concept
            has, not what they are called.
    """
    predictions = _probabilities(output, annotations)
    if task not in predictions:
        raise EvidenceError(
            "task", repr(task), f"one of what was queried: {sorted(predictions)[:8]}"
        )
    names = [name for name in predictions if name != task]
    if not names:
        raise EvidenceError("output", "no binary or categorical concept", "at least one")
    true = {} if truth is None else _columns(truth, [*names, task])
    marks = [_states(true[name], predictions[name]) for name in names] if true else []
    chosen = _two_columns(predictions[task]).argmax(axis=1)
    known = np.concatenate([~np.isnan(mark) for mark in marks], axis=1) if marks else None
    answers = None
    if true:
        if np.isnan(true[task]).any():
            raise EvidenceError("truth", f"no {task!r} for some samples", "the task of each")
        answers = true[task].astype(np.int64)
    return ConceptEvidence(
        values=np.concatenate([predictions[name].values for name in names], axis=1),
        truth=None if known is None else np.nan_to_num(np.concatenate(marks, axis=1)) == 1,
        known=None if known is None or known.all() else known,
        labels=answers,
        predicted=chosen,
        concepts=Concepts(tuple(text for name in names for text in _names(predictions[name]))),
        classes=Classes(_class_names(predictions[task])),
    )


def embedding_evidence(
    model: Any, inputs: Any, *, task: str, truth: Any = None
) -> EmbeddingEvidence:
    """The same of a concept embedding model, with the vectors that its head sees.

    Runs the model on the inputs, once, without gradients and as when it is used. All concepts must
    be binary: then each has a vector for being there and one for not being there.

    Args:
        model: A ``torch_concepts.nn.ConceptEmbeddingModel``.
        inputs: What it takes as ``input``.
        task: The name of the task.
        truth: As for ``concept_evidence``.
    """
    import torch  # noqa: PLC0415

    mixers = [m for m in model.modules() if type(m).__name__ == "MixConceptEmbeddings"]
    if len(mixers) != 1 or any(kind != "binary" for kind in mixers[0].in_concepts.types):
        raise EvidenceError(
            "model", f"{len(mixers)} mixtures of embeddings", "one, of binary concepts"
        )
    outputs: dict[str, torch.Tensor] = {}
    before = model.training
    names = [*mixers[0].in_concepts.labels, task]
    with ExitStack() as undone, torch.no_grad():
        for module, what in (
            (mixers[0], "mixed"),
            (mixers[0].bernoulli_to_categorical_embedding_splitter, "parts"),
        ):
            handle = module.register_forward_hook(
                lambda _, __, tensor, what=what: outputs.__setitem__(what, tensor)
            )
            undone.callback(handle.remove)
        undone.callback(model.train, before)
        output = model.eval()(query=names, input=inputs)
    parts = numbers(outputs["parts"], "embeddings")
    mixed = numbers(outputs["mixed"], "embeddings")
    explained = concept_evidence(
        output, task=task, truth=truth, annotations=model.concept_annotations
    )
    order = [mixers[0].in_concepts.labels.index(name) for name in explained.concepts.names]
    return EmbeddingEvidence(
        explained=explained,
        vectors=mixed[:, order],
        positive=parts[:, order, 0],
        negative=parts[:, order, 1],
    )


@dataclass(frozen=True, eq=False)
class _Prediction:
    """What was said of one concept: a column for each state, or one if it is binary."""

    name: str
    states: tuple[str, ...]
    values: Float[np.ndarray, "samples states"]


def _probabilities(output: Any, annotations: Any) -> dict[str, _Prediction]:
    """Of each binary and categorical variable, in the order in which it was asked for."""
    predictions: dict[str, _Prediction] = {}
    state_names = {} if annotations is None else dict(zip(*_state_names(annotations), strict=True))
    for quantity in ("logits", "probs"):
        tensor = output.params.get(quantity)
        if tensor is None:
            continue
        layout, values = tensor.annotations, np.asarray(numbers(tensor, quantity), np.float64)
        ends = np.cumsum(layout.cardinalities)
        for name, states, end in zip(layout.labels, layout.states, ends, strict=True):
            columns = values[:, int(end) - len(states) : int(end)]
            if quantity == "logits":
                columns = _softmax(columns) if len(states) > 1 else 1 / (1 + np.exp(-columns))
            words = state_names.get(str(name), tuple(map(str, states)))
            if len(words) != len(states):
                got = f"{len(words)} states of {str(name)!r}"
                raise EvidenceError("annotations", got, f"{len(states)}, as in the output")
            predictions.setdefault(str(name), _Prediction(str(name), words, columns))
    return predictions


def _state_names(annotations: Any) -> tuple[list[str], list[tuple[str, ...]]]:
    states = [
        tuple(str(state) for state in variable_states) for variable_states in annotations.states
    ]
    return [str(name) for name in annotations.labels], states


def _softmax(logits: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))


def _columns(truth: Any, names: Sequence[str]) -> dict[str, Float[np.ndarray, " samples"]]:
    """A column of whole numbers for each name."""
    labels = list(getattr(getattr(truth, "annotations", None), "labels", []))
    values = np.asarray(numbers(truth, "truth"), np.float64)
    missing = [name for name in names if name not in labels]
    if missing or values.ndim != 2 or values.shape[1] != len(labels):
        raise EvidenceError(
            "truth", f"shape {values.shape} with the names {labels[:8]}",
            f"an AnnotatedTensor with a column for each of {list(names)[:8]}",
            "Make it with annotations.to_concept_space().",
        )  # fmt: skip
    return {name: values[:, labels.index(name)] for name in names}


def _states(
    column: Float[np.ndarray, " samples"], prediction: _Prediction
) -> Float[np.ndarray, "samples k"]:
    """1 for the state that is true and 0 for others; NaN where it is not known."""
    known = ~np.isnan(column)
    highest = max(len(prediction.states), 2)
    if not np.isin(column[known], np.arange(highest)).all():
        raise EvidenceError(
            "truth", f"other values of {prediction.name!r}", f"0 to {highest - 1}, or NaN"
        )
    if len(prediction.states) == 1:
        return column[:, None]
    hot = np.equal(column[:, None], np.arange(highest)).astype(np.float64)
    hot[~known] = np.nan
    return np.asarray(hot)


def _names(prediction: _Prediction) -> list[str]:
    return (
        [prediction.name]
        if len(prediction.states) == 1
        else [f"{prediction.name}: {s}" for s in prediction.states]
    )


def _two_columns(prediction: _Prediction) -> Float[np.ndarray, "samples k"]:
    """A binary task has two classes."""
    values = prediction.values
    return np.concatenate([1 - values, values], axis=1) if values.shape[1] == 1 else values


def _class_names(prediction: _Prediction) -> tuple[str, ...]:
    return (
        (f"not {prediction.name}", prediction.name)
        if len(prediction.states) == 1
        else prediction.states
    )
