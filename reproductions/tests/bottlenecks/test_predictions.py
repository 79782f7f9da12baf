"""Predictions of others: objects shaped as PyC's and files named as CEM's, number by number."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from scipy.special import expit

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite_reproductions.bottlenecks.predictions import of_pyc, read_cem

RNG = np.random.default_rng(0)
TRUTH, LABELS = RNG.random((6, 3)) < 0.5, RNG.integers(0, 2, 6)


class Annotations:
    """Names of columns, and of groups of columns, as torch_concepts.Annotations has them."""

    def __init__(self, widths: dict[str, int]) -> None:
        self.labels = list(widths)
        self.widths = widths
        self.label_groups = {"concepts": ["a", "b", "c"]}


class Annotated:
    """A tensor with named columns, as torch_concepts.AnnotatedTensor is."""

    def __init__(self, numbers: np.ndarray, widths: dict[str, int]) -> None:
        self.tensor = torch.tensor(numbers, requires_grad=True)
        self.annotations = Annotations(widths)

    def __getitem__(self, name: str) -> "Annotated":
        starts = np.cumsum([0, *self.annotations.widths.values()])
        place = self.annotations.labels.index(name)
        part = self.tensor[:, starts[place] : starts[place + 1]]
        return Annotated(part.detach().numpy(), {name: self.annotations.widths[name]})


class Output:
    """As torch_concepts.nn.InferenceOutput: tensors by what they hold."""

    def __init__(self, **params: Annotated) -> None:
        self.params = params


NUMBERS = RNG.normal(size=(6, 6)).astype(np.float32)
BINARY = Output(logits=Annotated(NUMBERS[:, :4], {"a": 1, "b": 1, "c": 1, "y": 1}))


def pyc(output: Any, **options: Any) -> dict[str, np.ndarray]:
    given: dict[str, Any] = {"concepts": ["a", "b", "c"], "truth": TRUTH, "labels": LABELS}
    return of_pyc(output, task="y", **(given | options))


def test_pyc_with_two_classes() -> None:
    result = pyc(BINARY)
    assert_allclose(result["values"], expit(NUMBERS[:, :3]))
    assert np.array_equal(result["predicted"], NUMBERS[:, 3] > 0)
    assert np.array_equal(result["truth"], TRUTH) and np.array_equal(result["labels"], LABELS)
    assert result.keys() == {"values", "truth", "labels", "predicted", "scores"}
    swapped = pyc(BINARY, concepts=["c", "a", "b"])
    assert np.array_equal(swapped["values"], result["values"][:, [2, 0, 1]])


def test_pyc_with_several_classes_and_probabilities() -> None:
    shares = expit(NUMBERS)
    output = Output(probs=Annotated(shares, {"a": 1, "b": 1, "c": 1, "y": 3}))
    result = pyc(output)
    assert np.array_equal(result["values"], shares[:, :3])
    assert np.array_equal(result["predicted"], shares[:, 3:].argmax(axis=1))
    two = Output(probs=Annotated(shares[:, :4], {"a": 1, "b": 1, "c": 1, "y": 1}))
    assert np.array_equal(pyc(two)["predicted"], shares[:, 3] > 0.5)


def test_embeddings_of_pyc_follow_the_concepts() -> None:
    vectors = RNG.normal(size=(6, 3, 4)).astype(np.float32)  # in the model's order: c, a, b
    held = Annotated(vectors.reshape(6, 12), {"embeddings": 12})
    output = Output(logits=BINARY.params["logits"], value=held)
    result = pyc(output, embeddings={"embeddings": ["c", "a", "b"]})
    assert np.array_equal(result["vectors"], vectors[:, [1, 2, 0]])


def test_what_pyc_does_not_tell() -> None:
    with pytest.raises(EvidenceError, match="nothing of 'z'"):
        pyc(BINARY, concepts=["a", "b", "z"])
    wide = Output(logits=Annotated(NUMBERS, {"a": 1, "b": 3, "c": 1, "y": 1}))
    with pytest.raises(EvidenceError, match="'b', which has several states"):
        pyc(wide)
    with pytest.raises(EvidenceError, match="2 concepts"):
        pyc(BINARY, truth=TRUTH[:, :2])


def results(folder: Path, epochs: tuple[int, ...] = (0, 10), classes: int = 4) -> dict[str, Any]:
    """The files that the CEM code writes with --activation_freq."""
    acts = folder / "test_embedding_acts"
    (acts / "run").mkdir(parents=True)
    truth, labels = RNG.random((6, 3)) < 0.5, RNG.integers(0, 4, 6)
    np.save(acts / "c_val.npy", truth.astype(np.float32))
    np.save(acts / "y_val.npy", labels)
    written: dict[str, Any] = {"truth": truth, "labels": labels}
    for epoch in epochs:
        written[f"{epoch}"] = parts = {
            "semantics": RNG.random((6, 3)).astype(np.float32),
            "vectors": RNG.normal(size=(6, 3 * 5)).astype(np.float32),
            "output": RNG.normal(size=(6, classes)).astype(np.float32),
        }
        np.save(acts / f"run/test_embedding_semantics_on_epoch_{epoch}.npy", parts["semantics"])
        np.save(acts / f"run/test_embedding_vectors_on_epoch_{epoch}.npy", parts["vectors"])
        np.save(acts / f"run/test_model_output_on_epoch_{epoch}.npy", parts["output"])
    return written


def test_activations_of_cem(tmp_path: Path) -> None:
    written = results(tmp_path, epochs=(0, 9, 10))
    for epoch, expected in ((None, "10"), (9, "9")):
        result = read_cem(tmp_path, run="run", size=5, epoch=epoch)
        parts = written[expected]
        assert np.array_equal(result["values"], parts["semantics"])
        assert np.array_equal(result["vectors"], parts["vectors"].reshape(6, 3, 5))
        assert np.array_equal(result["predicted"], parts["output"].argmax(axis=1))
        assert np.array_equal(result["truth"], written["truth"])
        assert np.array_equal(result["labels"], written["labels"])


def test_one_output_is_two_classes(tmp_path: Path) -> None:
    written = results(tmp_path, classes=1)
    result = read_cem(tmp_path, run="run", size=5)
    assert np.array_equal(result["predicted"], written["10"]["output"][:, 0] > 0)


def test_an_archive_of_a_bottleneck_without_embeddings(tmp_path: Path) -> None:
    logits = RNG.normal(size=(6, 3))
    arrays = {"c_sem": expit(logits), "c_pred": logits, "y_pred": NUMBERS[:, :2],
              "c": TRUTH.astype(int), "y": LABELS.astype(float)}  # fmt: skip
    np.savez(tmp_path / "said.npz", **arrays)
    result = read_cem(tmp_path / "said.npz")
    assert np.array_equal(result["values"], logits)  # what its head sees
    assert "vectors" not in result
    assert np.array_equal(result["labels"], LABELS)
    del arrays["y"]
    np.savez(tmp_path / "said.npz", **arrays)
    with pytest.raises(UnsafeInputError, match="no y;"):
        read_cem(tmp_path / "said.npz")


def test_sizes_that_do_not_fit(tmp_path: Path) -> None:
    results(tmp_path)
    with pytest.raises(EvidenceError, match=re.escape("needed (6, 3), or (6, 3 x 16)")):
        read_cem(tmp_path, run="run")
    np.save(tmp_path / "test_embedding_acts/c_val.npy", np.full((6, 3), 0.5))
    with pytest.raises(EvidenceError, match="0 or 1"):
        read_cem(tmp_path, run="run", size=5)


@pytest.mark.parametrize("name", ["results.joblib", "model.pt", "all.pkl"])
def test_pickles_are_refused_unread(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"cos\nsystem\n(S'touch was_run'\ntR.")
    for path in (tmp_path / name, tmp_path):
        with pytest.raises(UnsafeInputError, match=r"numpy\.savez"):
            read_cem(path)
    assert not Path("was_run").exists()


def test_arrays_of_objects_are_refused(tmp_path: Path) -> None:
    results(tmp_path)
    np.save(tmp_path / "test_embedding_acts/y_val.npy", np.array([{}] * 6), allow_pickle=True)
    with pytest.raises(UnsafeInputError, match="could run code"):
        read_cem(tmp_path, run="run", size=5)


def test_runs_that_are_not_there(tmp_path: Path) -> None:
    results(tmp_path)
    with pytest.raises(UnsafeInputError, match=re.escape("runs ['run']")):
        read_cem(tmp_path, run="other")
    with pytest.raises(UnsafeInputError, match=re.escape("epochs [0, 10]")):
        read_cem(tmp_path, run="run", epoch=3)
