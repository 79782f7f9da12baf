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
    said = _probabilities(output, annotations)
    if task not in said:
        raise EvidenceError("task", repr(task), f"one of what was queried: {sorted(said)[:8]}")
    names = [name for name in said if name != task]
    if not names:
        raise EvidenceError("output", "no binary or categorical concept", "at least one")
    true = {} if truth is None else _columns(truth, [*names, task])
    marked = [_states(true[name], said[name]) for name in names] if true else []
    chosen = _two_columns(said[task]).argmax(axis=1)
    known = np.concatenate([~np.isnan(one) for one in marked], axis=1) if marked else None
    answers = None
    if true:
        if np.isnan(true[task]).any():
            raise EvidenceError("truth", f"no {task!r} for some samples", "the task of each")
        answers = true[task].astype(np.int64)
    return ConceptEvidence(
        values=np.concatenate([said[name].values for name in names], axis=1),
        truth=None if known is None else np.nan_to_num(np.concatenate(marked, axis=1)) == 1,
        known=None if known is None or known.all() else known,
        labels=answers,
        predicted=chosen,
        concepts=Concepts(tuple(text for name in names for text in _names(said[name]))),
        classes=Classes(_class_names(said[task])),
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
    caught: dict[str, torch.Tensor] = {}
    before = model.training
    names = [*mixers[0].in_concepts.labels, task]
    with ExitStack() as undone, torch.no_grad():
        for module, what in (
            (mixers[0], "mixed"),
            (mixers[0].bernoulli_to_categorical_embedding_splitter, "parts"),
        ):
            handle = module.register_forward_hook(
                lambda _, __, found, what=what: caught.__setitem__(what, found)
            )
            undone.callback(handle.remove)
        undone.callback(model.train, before)
        output = model.eval()(query=names, input=inputs)
    parts = numbers(caught["parts"], "embeddings")
    mixed = numbers(caught["mixed"], "embeddings")
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
class _Said:
    """What was said of one concept: a column for each state, or one if it is binary."""

    name: str
    states: tuple[str, ...]
    values: Float[np.ndarray, "samples states"]


def _probabilities(output: Any, annotations: Any) -> dict[str, _Said]:
    """Of each binary and categorical variable, in the order in which it was asked for."""
    found: dict[str, _Said] = {}
    called = {} if annotations is None else dict(zip(*_state_names(annotations), strict=True))
    for quantity in ("logits", "probs"):
        tensor = output.params.get(quantity)
        if tensor is None:
            continue
        about, values = tensor.annotations, np.asarray(numbers(tensor, quantity), np.float64)
        ends = np.cumsum(about.cardinalities)
        for name, states, end in zip(about.labels, about.states, ends, strict=True):
            columns = values[:, int(end) - len(states) : int(end)]
            if quantity == "logits":
                columns = _softmax(columns) if len(states) > 1 else 1 / (1 + np.exp(-columns))
            words = called.get(str(name), tuple(map(str, states)))
            if len(words) != len(states):
                came = f"{len(words)} states of {str(name)!r}"
                raise EvidenceError("annotations", came, f"{len(states)}, as in the output")
            found.setdefault(str(name), _Said(str(name), words, columns))
    return found


def _state_names(annotations: Any) -> tuple[list[str], list[tuple[str, ...]]]:
    states = [tuple(str(state) for state in one) for one in annotations.states]
    return [str(name) for name in annotations.labels], states


def _softmax(logits: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


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


def _states(column: Float[np.ndarray, " samples"], said: _Said) -> Float[np.ndarray, "samples k"]:
    """1 for the state that is true and 0 for others; NaN where it is not known."""
    known = ~np.isnan(column)
    highest = max(len(said.states), 2)
    if not np.isin(column[known], np.arange(highest)).all():
        raise EvidenceError(
            "truth", f"other values of {said.name!r}", f"0 to {highest - 1}, or NaN"
        )
    if len(said.states) == 1:
        return column[:, None]
    hot = np.equal(column[:, None], np.arange(highest)).astype(np.float64)
    hot[~known] = np.nan
    return np.asarray(hot)


def _names(said: _Said) -> list[str]:
    return [said.name] if len(said.states) == 1 else [f"{said.name}: {s}" for s in said.states]


def _two_columns(said: _Said) -> Float[np.ndarray, "samples k"]:
    """A binary task has two classes."""
    values = said.values
    return np.concatenate([1 - values, values], axis=1) if values.shape[1] == 1 else values


def _class_names(said: _Said) -> tuple[str, ...]:
    return (f"not {said.name}", said.name) if len(said.states) == 1 else said.states
