"""Models made with PyC become evidence."""

import warnings
from typing import Any

import numpy as np
import pytest

import theodolite
from theodolite.bridges.pytorch_concepts import concept_evidence, embedding_evidence
from theodolite.errors import EvidenceError

torch = pytest.importorskip("torch")
N = 120


@pytest.fixture(scope="module")
def library() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it imports
        pytest.importorskip("torch_concepts.nn")
        return pytest.importorskip("torch_concepts")


def _trained(library: Any, kind: str, annotations: Any, columns: Any, inputs: Any) -> Any:
    """A model of the library after a few steps on logits of all its variables."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = getattr(library.nn, kind)(
            input_size=inputs.shape[1], annotations=annotations, task_names=["beast"]
        )
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    names = [name for name, kind in zip(annotations.labels, annotations.types, strict=True)
             if kind != "continuous"]  # fmt: skip
    for _ in range(60):
        logits = model(query=names, input=inputs).logits
        loss = torch.zeros(())
        for name in names:
            one, true = logits[name].tensor, columns[:, annotations.labels.index(name)]
            if one.shape[1] == 1:
                loss = loss + torch.nn.functional.binary_cross_entropy_with_logits(one[:, 0], true)
            else:
                loss = loss + torch.nn.functional.cross_entropy(one, true.long())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model.eval()


def _data(library: Any) -> tuple[Any, Any, Any]:
    """Two binary concepts, one of three states, one number; the task follows from the first two."""
    annotations = library.Annotations(
        labels=["horn", "colour", "size", "hoof", "beast"],
        states=[["0"], ["red", "green", "blue"], ["0"], ["0"], ["cow", "goat", "newt"]],
        types=["binary", "categorical", "continuous", "binary", "categorical"],
    )
    random = np.random.default_rng(0)
    inputs = random.normal(size=(N, 6)).astype(np.float32)
    horn, hoof = inputs[:, 0] > 0, inputs[:, 1] > 0
    colour = inputs[:, 2:5].argmax(axis=1)
    columns = np.stack([horn, colour, inputs[:, 5], hoof, horn.astype(int) + hoof], axis=1)
    return annotations, torch.from_numpy(columns.astype(np.float32)), torch.from_numpy(inputs)


def test_a_bottleneck_of_several_kinds_of_concepts(library: Any) -> None:
    annotations, columns, inputs = _data(library)
    model = _trained(library, "ConceptBottleneckModel", annotations, columns, inputs)
    # asked for in another order than that of the annotations
    output = model(query=["beast", "hoof", "colour", "size", "horn"], input=inputs)
    columns[3, 0] = np.nan  # nobody knows about this horn
    truth = library.AnnotatedTensor(columns, annotations.to_concept_space())
    evidence = concept_evidence(output, task="beast", truth=truth, annotations=annotations)
    names = evidence.concepts.names
    assert set(names) == {"horn", "hoof", "colour: red", "colour: green", "colour: blue"}
    assert evidence.classes.names == ("cow", "goat", "newt")
    logits = output.logits
    for name in ("horn", "hoof"):
        at = names.index(name)
        np.testing.assert_allclose(
            evidence.values[:, at], torch.sigmoid(logits[name].tensor[:, 0]).detach(), atol=1e-6
        )
        true = columns[:, annotations.labels.index(name)].numpy()
        known = ~np.isnan(true)
        np.testing.assert_array_equal(evidence.truth[known, at], true[known] == 1)
    assert (~evidence.known).sum() == 1 and not evidence.known[3, names.index("horn")]
    soft = torch.softmax(logits["colour"].tensor, dim=1).detach().numpy()
    for state, name in enumerate(("red", "green", "blue")):
        at = names.index(f"colour: {name}")
        np.testing.assert_allclose(evidence.values[:, at], soft[:, state], atol=1e-6)
        np.testing.assert_array_equal(evidence.truth[:, at], columns[:, 1].numpy() == state)
    np.testing.assert_array_equal(evidence.labels, columns[:, 4].numpy())
    np.testing.assert_array_equal(
        evidence.predicted, logits["beast"].tensor.argmax(dim=1).detach().numpy()
    )
    assert (evidence.predicted == evidence.labels).mean() > 0.8
    found = {s.metric: s.value for s in theodolite.audit(evidence).scores}
    assert found["concept_existence"] > 0


def test_a_concept_embedding_model_brings_its_vectors(library: Any) -> None:
    full, columns, inputs = _data(library)
    keep = [0, 3, 4]
    annotations = full.subset([full.labels[k] for k in keep])
    columns = columns[:, keep]
    model = _trained(library, "ConceptEmbeddingModel", annotations, columns, inputs).train()
    truth = library.AnnotatedTensor(columns, annotations.to_concept_space())
    evidence = embedding_evidence(model, inputs, task="beast", truth=truth)
    assert model.training and not any(m._forward_hooks for m in model.modules())
    assert evidence.concepts.names == ("horn", "hoof")
    assert evidence.explained.classes.names == ("cow", "goat", "newt")
    # the head's own arithmetic: a mixture of two vectors, then one linear layer
    p = evidence.explained.values[:, :, None]
    mixed = p * evidence.positive + (1 - p) * evidence.negative
    np.testing.assert_allclose(evidence.vectors, mixed, atol=1e-5)
    (head,) = [m for m in model.modules() if type(m).__name__ == "MixConceptEmbeddingToConcept"]
    logits = head.predictor(torch.from_numpy(np.array(evidence.vectors)).flatten(1))
    np.testing.assert_array_equal(evidence.explained.predicted, logits.argmax(dim=1).numpy())
    assert (evidence.explained.predicted == evidence.explained.labels).mean() > 0.8


def test_what_does_not_fit_is_refused(library: Any) -> None:
    annotations, columns, inputs = _data(library)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = library.nn.ConceptBottleneckModel(
            input_size=6, annotations=annotations, task_names=["beast"]
        )
    output = model(query=["horn", "beast"], input=inputs)
    with pytest.raises(EvidenceError, match="task"):
        concept_evidence(output, task="size")
    with pytest.raises(EvidenceError, match="AnnotatedTensor"):
        concept_evidence(output, task="beast", truth=columns)
    with pytest.raises(EvidenceError, match="mixtures"):
        embedding_evidence(model, inputs, task="beast")
    only = model(query=["beast"], input=inputs)
    with pytest.raises(EvidenceError, match="no binary or categorical concept"):
        concept_evidence(only, task="beast")
    columns[0, 0] = 7
    truth = library.AnnotatedTensor(columns, annotations.to_concept_space())
    with pytest.raises(EvidenceError, match="other values of 'horn'"):
        concept_evidence(output, task="beast", truth=truth)
    assert concept_evidence(output, task="beast").labels is None
    other = library.Annotations(labels=["beast"], states=[["cow", "goat"]])
    with pytest.raises(EvidenceError, match="2 states of 'beast'"):
        concept_evidence(output, task="beast", annotations=other)


def test_a_binary_task_has_two_classes(library: Any) -> None:
    annotations = library.Annotations(labels=["horn", "goat"], cardinalities=[1, 1])
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = library.nn.ConceptBottleneckModel(
            input_size=6, annotations=annotations, task_names=["goat"]
        )
        inputs = torch.randn(30, 6)
    output = model(query=["horn", "goat"], input=inputs)
    evidence = concept_evidence(output, task="goat")
    assert evidence.classes.names == ("not goat", "goat")
    np.testing.assert_array_equal(
        evidence.predicted, (output.logits["goat"].tensor[:, 0] > 0).int().numpy()
    )
