"""Files of the code of Concept Embedding Models, laid out as that code writes them."""

from pathlib import Path

import numpy as np
import pytest

from theodolite.bridges.cem_results import cem_arrays, cem_file, cem_run
from theodolite.errors import EvidenceError, RefusedInput
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence

N, K, WIDTH = 60, 4, 3
RUN = "ConceptEmbeddingModel_resnet34_fold_1"


def _arrays(seed: int, classes: int = 3) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    true = random.integers(0, 2, (N, K)).astype(np.float32)
    said = np.clip(true * 0.8 + random.random((N, K)) * 0.2, 0, 1).astype(np.float32)
    answers = random.integers(0, classes, N)
    output = np.eye(classes)[answers] + random.normal(size=(N, classes)) * 0.1
    return {
        "c_sem": said,
        "c_pred": random.normal(size=(N, K * WIDTH)).astype(np.float32),
        "y_pred": output.astype(np.float32),
        "c_test": true,
        "y_test": answers.astype(np.float32),
    }


def _results(folder: Path, run: str = RUN) -> tuple[Path, dict[int, dict[str, np.ndarray]]]:
    """A result folder with activations before training and after ten epochs."""
    acts = folder / "test_embedding_acts"
    (acts / run).mkdir(parents=True)
    written = {0: _arrays(0), 10: _arrays(1), 9: _arrays(2)}
    for epoch, arrays in written.items():
        arrays.update({"c_test": written[10]["c_test"], "y_test": written[10]["y_test"]})
        for name, key in (
            ("test_embedding_semantics", "c_sem"),
            ("test_embedding_vectors", "c_pred"),
            ("test_model_output", "y_pred"),
        ):
            np.save(acts / run / f"{name}_on_epoch_{epoch}.npy", arrays[key])
    np.save(acts / "c_val.npy", written[10]["c_test"])
    np.save(acts / "y_val.npy", written[10]["y_test"])
    np.save(acts / "c_test.npy", np.zeros((7, K)))  # other samples: not what was dumped
    np.save(acts / "y_test.npy", np.zeros(7))
    return folder, written


def test_the_last_epoch_of_a_run_is_read(tmp_path: Path) -> None:
    folder, written = _results(tmp_path)
    evidence = cem_run(folder, RUN, concepts=["a", "b", "c", "d"], classes=["x", "y", "z"])
    assert isinstance(evidence, EmbeddingEvidence)
    last = written[10]
    np.testing.assert_array_equal(evidence.explained.values, last["c_sem"])
    np.testing.assert_array_equal(evidence.explained.truth, last["c_test"] == 1)
    np.testing.assert_array_equal(evidence.explained.labels, last["y_test"])
    np.testing.assert_array_equal(evidence.explained.predicted, last["y_pred"].argmax(axis=1))
    for concept in range(K):
        own = last["c_pred"][:, concept * WIDTH : (concept + 1) * WIDTH]
        np.testing.assert_array_equal(evidence.vectors[:, concept], own)
    first = cem_run(folder, RUN, epoch=0)
    np.testing.assert_array_equal(first.explained.values, written[0]["c_sem"])


def test_a_bottleneck_keeps_no_vectors(tmp_path: Path) -> None:
    folder, _ = _results(tmp_path, "ConceptBottleneckModelFuzzy_resnet34_fold_1")
    evidence = cem_run(folder, "ConceptBottleneckModelFuzzy_resnet34_fold_1")
    assert isinstance(evidence, ConceptEvidence)


def test_an_archive_of_arrays_is_read_and_one_logit_is_two_classes(tmp_path: Path) -> None:
    arrays = _arrays(3, classes=2)
    arrays["y_pred"] = (arrays["y_pred"][:, 1] - 0.5).reshape(-1, 1)
    arrays["c_test"][0, 0] = 0.5  # an annotator was not sure
    np.savez(tmp_path / "run.npz", **arrays)
    evidence = cem_file(tmp_path / "run.npz", model="bottleneck")
    np.testing.assert_array_equal(evidence.predicted, arrays["y_pred"][:, 0] > 0)
    assert len(evidence.classes) == 2
    assert (~evidence.known).sum() == 1 and not evidence.known[0, 0]


@pytest.mark.parametrize("name", ["results.joblib", "model.pt", "RESULTS.PKL"])
def test_pickles_are_refused_with_two_lines_that_help(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"\x80\x04cos\nsystem\n")
    with pytest.raises(RefusedInput, match=r"trainer\.predict.*np\.savez"):
        cem_file(tmp_path / name, model="embedding")


def test_runs_that_are_not_there_and_paths_that_leave_are_refused(tmp_path: Path) -> None:
    folder, _ = _results(tmp_path / "results")
    with pytest.raises(EvidenceError, match="activation_freq"):
        cem_run(folder, "ConceptEmbeddingModel_fold_9")
    with pytest.raises(EvidenceError, match="epoch 7"):
        cem_run(folder, RUN, epoch=7)
    with pytest.raises(RefusedInput):
        cem_run(folder, "../../elsewhere")
    place = folder / "test_embedding_acts" / RUN / "test_embedding_vectors_on_epoch_10.npy"
    np.save(place, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(RefusedInput, match="run code"):
        cem_run(folder, RUN)


def test_arrays_that_do_not_fit_are_refused() -> None:
    arrays = _arrays(0)
    with pytest.raises(EvidenceError, match="no y_pred"):
        cem_arrays({k: v for k, v in arrays.items() if k != "y_pred"}, model="embedding")
    with pytest.raises(EvidenceError, match="multiple of 4"):
        cem_arrays({**arrays, "c_pred": arrays["c_pred"][:, :-1]}, model="embedding")
    with pytest.raises(EvidenceError, match="probabilities"):
        cem_arrays({**arrays, "c_sem": arrays["c_sem"] * 3}, model="embedding")
    for cut in (slice(0), (slice(None), slice(0))):
        with pytest.raises(EvidenceError, match="at least one each"):
            cem_arrays({**arrays, "c_sem": arrays["c_sem"][cut]}, model="embedding")
    with pytest.raises(EvidenceError, match="y_test"):
        cem_arrays({**arrays, "y_test": arrays["y_test"] + 0.5}, model="embedding")
