"""Training: it learns what it should, and the same weights come out however it is cut up."""

import logging
import random
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from scipy.special import expit, log_expit, log_softmax

from support.networks.bottlenecks import first_rows, majority
from theodolite._storage.arrays import read_safetensors, write_safetensors
from theodolite.errors import EvidenceError
from theodolite_reproductions.bottlenecks.model import build
from theodolite_reproductions.bottlenecks.seeded_training import Batches, Schedule, train
from theodolite_reproductions.bottlenecks.settings import BottleneckSettings, LabeledFeatures
from theodolite_reproductions.bottlenecks.trained import TrainedBottleneck
from theodolite_reproductions.bottlenecks.training import _loss, fit_bottleneck

TRAIN, VALIDATION = majority(400, seed=0), majority(200, seed=1)
QUICK = BottleneckSettings(epochs=6, batch=64, dropout=0.2)


def fit(settings: BottleneckSettings, seed: int = 0, **options: Any) -> TrainedBottleneck:
    return fit_bottleneck(settings, TRAIN, VALIDATION, n_classes=2, seed=seed, **options)


def same(one: TrainedBottleneck, other: TrainedBottleneck) -> bool:
    a, b = one.arrays(), other.arrays()
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def accuracies(trained: TrainedBottleneck) -> tuple[float, float]:
    said = trained.say(VALIDATION.inputs)
    concepts = (said.logits > 0) == VALIDATION.truth
    return float(concepts.mean()), float((said.predicted == VALIDATION.labels).mean())


class Cut(Exception):
    """A training that is stopped from outside."""


def cut_after(epoch: int, what: str = "") -> Callable[[str, int, int], None]:
    def progress(part: str, done: int, total: int) -> None:
        if done == epoch and what in ("", part):
            raise Cut

    return progress


LEARNS = BottleneckSettings(epochs=60, batch=64, learning_rate=0.01, head_learning_rate=0.03)


@pytest.mark.parametrize("encoding", ["soft", "logit"])
def test_joint_training_learns_concepts_and_classes(encoding: Any) -> None:
    concepts, classes = accuracies(fit(replace(LEARNS, encoding=encoding)))
    assert concepts > 0.93 and classes > 0.93


@pytest.mark.parametrize("training", ["independent", "sequential"])
@pytest.mark.parametrize("encoding", ["hard", "soft", "logit"])
def test_training_one_after_the_other_learns(training: Any, encoding: Any) -> None:
    concepts, classes = accuracies(fit(replace(LEARNS, encoding=encoding, training=training)))
    assert concepts > 0.93 and classes > (0.8 if encoding == "logit" else 0.93)


def test_a_cem_learns() -> None:
    settings = replace(LEARNS, kind="cem", intervention_rate=0.25, epochs=30)
    concepts, classes = accuracies(fit(settings))
    assert concepts > 0.93 and classes > 0.93


def test_without_weight_concepts_stay_unlearnt() -> None:
    concepts, classes = accuracies(fit(replace(LEARNS, concept_weight=0.0, encoding="logit")))
    assert classes > 0.93  # end to end
    assert concepts < 0.8


def test_a_hard_bottleneck_gives_bits() -> None:
    trained = fit(replace(QUICK, encoding="hard", training="independent"))
    said = trained.say(VALIDATION.inputs)
    assert set(np.unique(said.values)) == {0.0, 1.0}
    assert np.array_equal(said.values, said.logits > 0)


def test_an_independent_head_knows_the_true_concepts_only() -> None:
    z = np.random.default_rng(0).normal(size=(600, 1)).astype(np.float32)
    data = LabeledFeatures(
        z, z > 0, (z[:, 0] > 1).astype(np.int64)
    )  # not to be had from the concept
    settings = BottleneckSettings(
        encoder="linear", epochs=15, batch=64, learning_rate=0.05, head_epochs=60,
        head_learning_rate=0.3, patience=60,
    )  # fmt: skip

    def right(training: Any) -> float:
        chosen = replace(settings, training=training)
        trained = fit_bottleneck(chosen, data, data, n_classes=2, seed=0)
        return float((trained.say(z).predicted == data.labels).mean())

    assert right("independent") == (data.labels == 0).mean() < 0.9 < right("sequential")


@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_is_the_papers(weighted: bool) -> None:
    settings = replace(QUICK, concept_weight=3.0, dropout=0.0, weighted_concepts=weighted)
    data = first_rows(TRAIN, 50)
    network = build(settings, (7,), 3, 2, seed=0)
    batch = (
        torch.from_numpy(data.inputs.copy()),
        torch.from_numpy(data.truth.astype(np.float32)),
        torch.from_numpy(data.labels.copy()),
    )
    with torch.inference_mode():
        loss = _loss(settings, network, data.truth)(batch).item()
        said = network(batch[0])
    logits, c = said.logits.numpy().astype(float), data.truth
    weight = (~c).sum(axis=0) / c.sum(axis=0) if weighted else 1.0
    concepts = -(weight * c * log_expit(logits) + (~c) * log_expit(-logits)).mean()
    classes = -log_softmax(said.scores.numpy().astype(float), axis=1)[np.arange(50), data.labels]
    assert_allclose(loss, 3 * concepts + classes.mean(), rtol=1e-5)


@pytest.mark.parametrize(
    "change",
    [{}, {"kind": "cem", "intervention_rate": 0.5}, {"encoding": "hard", "training": "sequential"}],
)
def test_the_seed_decides_every_bit(change: dict[str, Any]) -> None:
    settings = replace(QUICK, **change)
    states = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    threads = torch.get_num_threads()
    first = fit(settings, seed=3)
    torch.rand(7)  # whatever else happened before
    assert same(first, fit(settings, seed=3))
    assert not same(first, fit(settings, seed=4))
    torch.set_rng_state(states[0])
    fit(settings, seed=3)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert np.random.get_state()[1].tolist() == states[1]  # noqa: NPY002
    assert torch.get_num_threads() == threads


def test_trainings_in_threads_do_not_disturb_each_other() -> None:
    threads = torch.get_num_threads()
    alone = [fit(QUICK, seed=seed) for seed in range(3)]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda seed: fit(QUICK, seed=seed), range(3)))
    assert all(map(same, alone, together))
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"kind": "cem", "intervention_rate": 0.5},
        {"encoding": "soft", "training": "independent"},
        {"patience": 1, "learning_rate": 0.2},
    ],
)
@pytest.mark.parametrize("epoch", [1, 4])
def test_a_training_that_was_cut_goes_on(
    change: dict[str, Any], epoch: int, tmp_path: Path
) -> None:
    settings = replace(QUICK, **change)
    file = tmp_path / "training.safetensors"
    whole = fit(settings)
    part = "training" if settings.training == "joint" else "concepts"
    with pytest.raises(Cut):
        fit(settings, checkpoint=file, save_every=0, progress=cut_after(epoch, part))
    epochs: list[int] = []

    def heard(what: str, done: int, total: int) -> None:
        epochs.append(done) if what == part else None

    assert same(whole, fit(settings, checkpoint=file, save_every=0, progress=heard))
    assert epochs[0] == epoch + 1 or change.get("patience")
    epochs.clear()
    assert same(whole, fit(settings, checkpoint=file, progress=heard))
    assert epochs == [6]  # it has ended already


def test_cut_when_it_was_about_to_stop(tmp_path: Path) -> None:
    settings = replace(QUICK, patience=1, learning_rate=0.1, epochs=40)
    file = tmp_path / "training.safetensors"
    epochs: list[int] = []
    whole = fit(settings, progress=lambda what, done, total: epochs.append(done))
    last = epochs[-2]
    assert last < 40 == epochs[-1]
    with pytest.raises(Cut):
        fit(settings, checkpoint=file, save_every=0, progress=cut_after(last))
    epochs.clear()
    again = fit(settings, checkpoint=file, progress=lambda what, done, total: epochs.append(done))
    assert same(whole, again) and epochs == [40]


def test_cut_in_the_head(tmp_path: Path) -> None:
    settings = replace(QUICK, training="sequential", encoding="logit")
    file = tmp_path / "training.safetensors"
    with pytest.raises(Cut):
        fit(settings, checkpoint=file, progress=cut_after(3, "head"))
    assert same(fit(settings), fit(settings, checkpoint=file))


def test_a_training_of_images_goes_on(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((96, 2)) < 0.5
    images = rng.integers(0, 60, (96, 16, 16, 3), dtype=np.uint8)
    images[:, :8] += (150 * truth[:, :1, None, None]).astype(np.uint8)
    images[:, 8:] += (150 * truth[:, 1:, None, None]).astype(np.uint8)
    data = LabeledFeatures(images, truth, (truth[:, 0] & truth[:, 1]).astype(np.int64))
    settings = BottleneckSettings(
        encoder="small_cnn", head="mlp", epochs=8, batch=32, learning_rate=0.01, dropout=0.1
    )
    file = tmp_path / "training.safetensors"
    whole = fit_bottleneck(settings, data, data, n_classes=2, seed=0)
    with pytest.raises(Cut):
        fit_bottleneck(
            settings, data, data, n_classes=2, seed=0, checkpoint=file, save_every=0,
            progress=cut_after(3),
        )  # fmt: skip
    images.flags.writeable = False
    again = fit_bottleneck(settings, data, data, n_classes=2, seed=0, checkpoint=file)
    assert same(whole, again)
    said = whole.say(images)
    assert ((said.logits > 0) == truth).mean() > 0.95
    back = TrainedBottleneck.of(settings, again.arrays(), (16, 16, 3), 2, 2)
    assert np.array_equal(back.say(images).scores, said.scores)


def test_black_and_white_images_are_seen() -> None:
    bits = (np.random.default_rng(0).random((40, 8, 8)) < 0.5).astype(np.uint8)
    data = LabeledFeatures(bits, bits[:, 0, :2] > 0, np.zeros(40, np.int64))
    settings = BottleneckSettings(encoder="small_cnn", epochs=1)
    trained = fit_bottleneck(settings, data, data, n_classes=2, seed=0)
    assert trained.arrays()["network.encoder.0.brightest"] == 1


def test_another_training_begins_anew(tmp_path: Path) -> None:
    file = tmp_path / "training.safetensors"
    fit(QUICK, checkpoint=file)
    assert same(fit(QUICK, seed=1), fit(QUICK, seed=1, checkpoint=file))
    other = replace(QUICK, concept_weight=2.0)
    assert same(fit(other, seed=1), fit(other, seed=1, checkpoint=file))
    fit(QUICK, seed=1, checkpoint=file)
    half = first_rows(TRAIN, 200)
    new = fit_bottleneck(QUICK, half, VALIDATION, n_classes=2, seed=1)
    assert same(new, fit_bottleneck(QUICK, half, VALIDATION, n_classes=2, seed=1, checkpoint=file))


def test_files_of_something_else_are_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "weights.safetensors"
    write_safetensors(file, {"weight": np.ones(3)})
    with pytest.raises(EvidenceError, match="would be overwritten"):
        fit(QUICK, checkpoint=file)
    assert read_safetensors(file).keys() == {"weight"}


def test_checkpoints_are_not_written_all_the_time(tmp_path: Path) -> None:
    file = tmp_path / "training.safetensors"
    with pytest.raises(Cut):
        fit(QUICK, checkpoint=file, save_every=100, progress=cut_after(5))
    assert not file.exists()


class Number(torch.nn.Module):
    """One number, trained towards others."""

    def __init__(self) -> None:
        super().__init__()
        self.at = torch.nn.Parameter(torch.zeros(1))

    def loss(self, batch: tuple[torch.Tensor, ...]) -> torch.Tensor:
        return ((self.at - batch[0]) ** 2).mean()


def learned(
    towards: np.ndarray, unseen: np.ndarray, optimizer: Any, epochs: int = 50
) -> tuple[float, list[int]]:
    network, told = Number(), []
    schedule = Schedule(
        epochs=epochs, batch=8, learning_rate=0.1, patience=2, optimizer=optimizer, seeds=(0,)
    )
    train(
        network,
        network.loss,
        ((towards.astype(np.float32)[:, None],), (unseen.astype(np.float32)[:, None],)),
        schedule,
        progress=lambda done, total: told.append(done),
    )
    return network.at.item(), told


def test_the_best_weights_are_kept_and_training_stops() -> None:
    at, epochs = learned(np.full(8, 10), np.full(8, 0.33), "adam")
    assert_allclose(at, 0.3, atol=0.01)  # steps of 0.1; the best is the third
    assert epochs == [1, 2, 3, 4, 5, 50]


def test_every_sample_of_validation_counts_the_same() -> None:
    unseen = np.repeat(
        [0.1, 1.0], [1024, 200]
    )  # two batches; their mean is 0.55, the samples' 0.25
    at, _ = learned(np.full(8, 10), unseen, "adam")
    assert_allclose(at, 0.2, atol=0.01)


def test_steps_are_those_of_gradient_descent() -> None:
    at, _ = learned(np.ones(8), np.ones(8), "sgd", epochs=3)
    assert_allclose(at, 1 - 0.8**3, rtol=1e-6)


def test_a_loss_that_explodes_is_told() -> None:
    network = torch.nn.Linear(1, 1)
    rows = np.full((8, 1), np.inf, np.float32)
    schedule = Schedule(
        epochs=5, batch=8, learning_rate=0.1, patience=2, optimizer="sgd", seeds=(0,)
    )
    with pytest.raises(EvidenceError, match="Lower the learning rate"):
        train(
            network,
            lambda batch: network(batch[0]).mean() * float("nan"),
            ((rows,), (rows,)),
            schedule,
            progress=lambda done, total: None,
        )


def test_batches_hold_every_sample_once() -> None:
    numbers = np.arange(33)
    batches = Batches([numbers, numbers * 2], 8, seeds=(1, 2))
    epochs = []
    for batches.epoch in (0, 1):
        parts = list(batches)
        assert [len(a) for a, _ in parts] == [8, 8, 8, 9]  # not one sample alone
        assert all(torch.equal(2 * a, b) for a, b in parts)
        epochs.append(torch.cat([a for a, _ in parts]).tolist())
        assert sorted(epochs[-1]) == numbers.tolist()
    assert epochs[0] != epochs[1]
    assert len(batches) == 4


def test_logits_are_set_to_percentiles() -> None:
    trained = fit(replace(QUICK, encoding="logit"))
    logits = trained.say(TRAIN.inputs).logits
    assert_allclose(trained.absent, np.percentile(logits, 5, axis=0), rtol=1e-5)
    assert_allclose(trained.present, np.percentile(logits, 95, axis=0), rtol=1e-5)
    soft = fit(QUICK)
    assert soft.absent.tolist() == [0, 0, 0] and soft.present.tolist() == [1, 1, 1]


@pytest.mark.parametrize("change", [{}, {"kind": "cem", "embedding": 5}, {"encoding": "logit"}])
def test_there_and_back(change: dict[str, Any], tmp_path: Path) -> None:
    settings = replace(QUICK, epochs=1, **change)
    trained = fit(settings)
    write_safetensors(tmp_path / "model.safetensors", trained.arrays())
    arrays = read_safetensors(tmp_path / "model.safetensors")
    back = TrainedBottleneck.of(settings, arrays, (7,), 3, 2)
    assert same(trained, back)
    one, other = trained.say(VALIDATION.inputs), back.say(VALIDATION.inputs, batch=60)
    assert_allclose(one.scores, other.scores, rtol=1e-5, atol=1e-6)
    assert_allclose(one.probabilities, expit(one.logits))
    assert_allclose(
        trained.answer(one.values if one.weighted is None else one.weighted), one.scores, atol=1e-5
    )
    for wrong in (
        {**arrays, "network.more": np.zeros(1)},
        {n: a for n, a in arrays.items() if "encoder.2.weight" not in n},
        {**arrays, "network.encoder.2.weight": np.zeros((64, 8), np.float32)},
    ):
        with pytest.raises(EvidenceError, match="1 arrays that do not fit"):
            TrainedBottleneck.of(settings, wrong, (7,), 3, 2)
    if change.get("encoding"):
        del arrays["absent"], arrays["present"]
        bare = TrainedBottleneck.of(settings, arrays, (7,), 3, 2)
        assert bare.absent.tolist() == [-5] * 3 and bare.present.tolist() == [5] * 3


def test_any_numbers_will_do() -> None:
    double = LabeledFeatures(
        TRAIN.inputs.astype(np.float64), TRAIN.truth, TRAIN.labels.astype(np.int32)
    )
    trained = fit_bottleneck(QUICK, double, VALIDATION, n_classes=2, seed=0)
    assert same(trained, fit(QUICK))
    said = trained.say(double.inputs)
    assert np.array_equal(said.scores, trained.say(TRAIN.inputs).scores)
    assert trained.say(TRAIN.inputs[:0]).scores.shape == (0, 2)


def test_what_a_cem_says() -> None:
    trained = fit(replace(QUICK, kind="cem", epochs=1))
    said = trained.say(VALIDATION.inputs)
    assert said.weighted is not None and said.positive is not None and said.negative is not None
    assert said.weighted.shape == (200, 3, 16) and said.weighted.dtype == np.float32
    p = said.probabilities[..., None]
    assert_allclose(said.weighted, p * said.positive + (1 - p) * said.negative, atol=1e-6)
    assert_allclose(said.values, said.probabilities, atol=1e-6)


def test_nothing_is_printed_or_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record.getMessage())

    records: list[str] = []
    handler, log = Heard(), logging.getLogger("lightning.pytorch.utilities.rank_zero")
    monkeypatch.chdir(tmp_path)
    log.addHandler(handler)
    fit(QUICK)
    log.removeHandler(handler)
    assert capfd.readouterr() == ("", "") and not records and not log.filters
    assert not list(tmp_path.iterdir())


def test_an_interrupt_stays_one() -> None:
    def interrupt(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        fit(QUICK, progress=interrupt)
    assert signal.getsignal(signal.SIGINT) is handler


def test_progress_tells_the_parts() -> None:
    told: list[tuple[str, int, int]] = []
    fit(
        replace(QUICK, training="independent", head_epochs=2),
        progress=lambda *step: told.append(step),
    )
    assert told[:2] == [("concepts", 1, 6), ("concepts", 2, 6)]
    assert told[-3:] == [("head", 1, 2), ("head", 2, 2), ("head", 2, 2)]


def test_samples_that_do_not_fit() -> None:
    with pytest.raises(EvidenceError, match="labels: got 0 to 1; needed 0 to 0"):
        fit_bottleneck(QUICK, TRAIN, VALIDATION, n_classes=1, seed=0)
    narrow = replace(VALIDATION, inputs=VALIDATION.inputs[:, :3])
    with pytest.raises(EvidenceError, match="as in training"):
        fit_bottleneck(QUICK, TRAIN, narrow, n_classes=2, seed=0)
    with pytest.raises(EvidenceError, match="at least one"):
        first_rows(TRAIN, 0)
