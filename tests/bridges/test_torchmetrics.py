"""Any metric of the catalogue as one of torchmetrics: batch by batch it says what it says at once."""

import itertools
import pickle
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from torchmetrics import MetricCollection

from theodolite._planted.concepts import planted_concepts
from theodolite._planted.leakage import planted_leakage
from theodolite._scoring.evaluate import MetricRequest, Resampling, evaluate
from theodolite.bridges.torchmetrics import as_metric
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import NamedAxis, Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue
from theodolite.testing.laws import scored
from theodolite.testing.strategies import FOR


def tensors(evidence: Evidence) -> dict[str, Any]:
    """All arrays as tensors, those of a bundle inside too, and the names of the axes."""
    result: dict[str, Any] = {}
    for _, inner in evidence._inner():
        result |= tensors(inner)
    for name, axis in evidence._axes():
        if isinstance(axis, NamedAxis):
            result[name] = axis
    for name, _ in evidence.layouts():
        if evidence.has(name):
            values = getattr(evidence, name)
            uneven = isinstance(values, Ragged)
            result[name] = values if uneven else torch.tensor(np.array(values))
    return result


def quoted(entry: Metric, evidence: Evidence) -> float:
    """The number that a report quotes, read naively from all samples at once."""
    choice = {s: (entry.headline.get(s, entry.default(s)[0]),) for s in entry.sweeps}
    result = scored(entry, evidence, choice)
    for _ in entry.sweeps:
        result = result[0]
    if entry.detail:
        defined = [value for value in result if not np.isnan(value)]
        return float(np.mean(defined)) if defined else np.nan
    return float(result)


@pytest.mark.parametrize("entry", catalogue().values(), ids=lambda e: e.name)
@given(data=st.data())
@settings(max_examples=3, derandomize=True, phases=[Phase.generate])
def test_batches_say_what_all_samples_say_at_once(entry: Metric, data: st.DataObject) -> None:
    whole = data.draw(FOR[entry.needs])
    n = len(whole)
    cut = data.draw(st.integers(0, n - 1))
    metric = as_metric(entry.name)
    if isinstance(whole, RatingEvidence) and np.isnan(whole.ratings[cut:]).all():
        cut = 0  # a batch without a single vote is no evidence
    if isinstance(whole, TokenEvidence):
        whole = replace(whole, samples=Samples(index=whole.samples.index))  # batches have no more
        if not len(whole[:cut].tokens.flat) or not len(whole[cut:].tokens.flat):
            cut = 0  # nor is one without a single token
    for batch in (slice(0, cut), slice(cut, n)) if cut else (slice(0, n),):
        metric.update(**tensors(whole[batch]))
    assert np.isclose(
        metric.compute().item(), quoted(entry, whole), rtol=1e-9, atol=1e-12, equal_nan=True
    )
    assert metric.higher_is_better == (entry.better == "higher")


def concepts(leaking: bool = False) -> Evidence:
    return planted_leakage(60, seed=3) if leaking else planted_concepts(60, seed=3)


@pytest.mark.parametrize("name", ["concept_existence", "concept_global_importance"])
def test_it_is_the_number_of_a_score(name: str) -> None:
    evidence = concepts()
    for score in evaluate(MetricRequest(catalogue()[name]), [evidence], Resampling(resamples=20)):
        metric = as_metric(name, **score.options)
        metric.update(evidence)
        assert_allclose(metric.compute(), score.value, rtol=1e-9)


def test_several_choices_give_several_numbers() -> None:
    metric = as_metric("concept_existence", top=(1, 3, 5))
    metric.update(**tensors(concepts()))
    one = as_metric("concept_existence", top=3)
    one.update(**tensors(concepts()))
    assert metric.compute().shape == (3,)
    assert metric.compute()[1] == one.compute()


@pytest.mark.parametrize("name", ["concept_global_importance", "interconcept_leakage"])
def test_forward_reset_clone_state_and_pickle(name: str) -> None:
    whole, metric = concepts(), as_metric(name)
    batches = [tensors(whole[at : at + 25]) for at in (0, 25, 50)]
    for batch in batches:
        alone = as_metric(name)
        alone.update(**batch)
        assert_allclose(metric(**batch), alone.compute())
    expected = quoted(catalogue()[name], whole)
    assert_allclose(metric.compute(), expected, rtol=1e-9)
    travelled = pickle.loads(pickle.dumps(metric))  # noqa: S301  as a spawned process gets it
    for copy in (
        metric.clone(),
        travelled,
        metric.half(),
        metric.to("cpu"),
    ):
        assert_allclose(copy.compute(), expected, rtol=1e-9)
    metric.persistent(True)
    again = as_metric(name)
    again.persistent(True)
    again.load_state_dict(metric.state_dict())
    again.update(**batches[0])
    metric.update(**batches[0])
    assert_allclose(again.compute(), metric.compute())
    metric.reset()
    metric.update(**tensors(whole))
    assert_allclose(metric.compute(), expected, rtol=1e-9)
    joined = as_metric(name)
    joined.update(**batches[0])
    other = as_metric(name)
    for batch in batches[1:]:
        other.update(**batch)
    joined.merge_state(other)
    assert_allclose(joined.compute(), expected, rtol=1e-9)


def test_what_adds_up_takes_no_more_room_for_more_batches() -> None:
    metric = as_metric("concept_existence")
    sizes = set()
    for _ in range(4):
        metric.update(**tensors(concepts()))
        sizes.add(sum(block.numel() for block in getattr(metric, metric.state_name)))
    assert len(sizes) == 1


def test_a_collection_takes_the_arrays_of_all_and_keeps_states_apart() -> None:
    """Two metrics whose states are equal after one batch must not be counted as one."""
    metrics = MetricCollection(
        {
            "by value": as_metric("concept_existence", top=1, rank_by="value"),
            "by contribution": as_metric("concept_existence", top=1, rank_by="contribution"),
            "leaks": as_metric("interconcept_leakage"),
        }
    )
    whole = concepts()
    random = np.random.default_rng(0)
    alike = tensors(whole[:5]) | {"weights": torch.ones(whole.weights.shape), "maps": torch.ones(1)}
    other = tensors(whole) | {"values": torch.tensor(random.normal(size=whole.values.shape))}
    other |= {"weights": alike["weights"], "predicted": other["predicted"].flip(0)}
    alone = {name: metric.clone() for name, metric in metrics.items()}
    for batch in (alike, other):
        metrics.update(**batch)
        for metric in alone.values():
            metric.update(**batch)
    for name, value in metrics.compute().items():
        assert_allclose(value, alone[name].compute())


def test_without_samples_it_is_undefined() -> None:
    with pytest.warns(UserWarning, match="before the ``update``"):
        assert torch.isnan(as_metric("concept_existence").compute())


def test_sample_numbers_may_be_given_and_inputs_stay_as_they_are() -> None:
    whole = concepts(leaking=True)
    order = np.random.default_rng(1).permutation(len(whole))
    metric, inputs = as_metric("interconcept_leakage"), tensors(whole[order])
    before = {n: t.clone() for n, t in inputs.items() if isinstance(t, torch.Tensor)}
    metric.update(samples=torch.tensor(order), **inputs)
    assert np.isclose(
        metric.compute().item(),
        quoted(catalogue()["interconcept_leakage"], whole),
        rtol=1e-9,
        atol=1e-12,
        equal_nan=True,
    )
    assert all(torch.equal(inputs[name], tensor) for name, tensor in before.items())


@pytest.mark.parametrize("name", ["concept_existence", "interconcept_leakage"])
def test_a_numbered_sample_counts_once(name: str) -> None:
    """Samplers of several processes repeat samples, so that all have as many."""
    whole = concepts()
    inputs, metric = tensors(whole), as_metric(name)
    padded = np.concatenate([np.arange(len(whole)), np.arange(7)])
    for rank in (1, 0):
        rows = torch.tensor(padded[rank::2])
        metric.update(samples=rows, **{
            n: t[rows] if isinstance(t, torch.Tensor) and len(t) == len(whole) else t
            for n, t in inputs.items()
        })  # fmt: skip
    assert np.isclose(
        metric.compute().item(),
        quoted(catalogue()[name], whole),
        rtol=1e-9,
        atol=1e-12,
        equal_nan=True,
    )
    other = as_metric(name)
    other.update(**inputs)
    other.merge_state(metric)
    with pytest.raises(EvidenceError, match="in some batches only"):
        other.compute()


def test_tied_values_of_numbered_batches_are_broken_as_all_at_once() -> None:
    random = np.random.default_rng(5)
    values, truth = random.integers(0, 2, (60, 3)) / 2, random.integers(0, 2, (60, 3)) > 0
    result = []
    for cuts in ([0, 60], [0, 20, 41, 60]):
        metric = as_metric("interconcept_leakage")
        for first, stop in itertools.pairwise(cuts):
            start = max(first - 5, 0)  # some come twice
            metric.update(
                values=torch.tensor(values[start:stop]), truth=torch.tensor(truth[start:stop]),
                samples=torch.arange(start, stop) + 100,
            )  # fmt: skip
        result.append(metric.compute().item())
    assert result[0] == result[1]


def test_one_number_for_two_samples_is_refused() -> None:
    inputs, metric = tensors(concepts()), as_metric("concept_existence")
    metric.update(samples=torch.arange(60), **inputs)
    near = inputs["values"] + 1e-7  # no two batches are computed to the last digit
    metric.update(samples=torch.arange(60), **inputs | {"values": near})
    metric.compute()
    metric.update(samples=torch.arange(60), **inputs | {"values": inputs["values"].flip(0)})
    with pytest.raises(EvidenceError, match="twice, with other values"):
        metric.compute()


def test_half_precision_tensors_are_taken() -> None:
    metric = as_metric("concept_existence", top=1, rank_by="value")
    metric.update(
        values=torch.tensor([[0.5, 0.25]], dtype=torch.bfloat16, requires_grad=True),
        truth=torch.tensor([[True, False]]),
    )
    assert metric.compute() == 1


@pytest.mark.parametrize(
    ("options", "batches", "says"),
    [
        ({"topp": 1}, [], "topp"),
        ({"rank_by": ["value", "contribution"]}, [], "one metric for each"),
        ({}, [{"valuse": 1}], "valuse"),
        ({}, [{"truth": torch.ones(2, 6)}], "concept evidence"),
        ({}, [{"values": torch.ones(2, 6)}], "truth"),
        ({}, [{"values": torch.ones(2, 6), "truth": torch.ones(2, 5)}], "concepts = 6"),
    ],
)  # fmt: skip
def test_mistakes_are_refused_with_a_reason(options, batches, says: str) -> None:
    def made() -> None:
        metric = as_metric("concept_existence", **options)
        for batch in batches:
            metric.update(**batch)

    with pytest.raises(EvidenceError) as caught:
        made()
    assert says in str(caught.value)


def test_what_must_be_the_same_in_all_batches_is_checked() -> None:
    whole, metric = concepts(), as_metric("concept_global_importance")
    metric.update(**tensors(whole))
    with pytest.raises(EvidenceError, match=r"reset\(\)"):
        metric.update(**tensors(whole) | {"weights": torch.zeros(whole.weights.shape)})
    pooled = as_metric("interconcept_leakage")
    pooled.update(**tensors(whole))
    pooled.update(**tensors(whole) | {"weights": torch.zeros(whole.weights.shape)})
    with pytest.raises(EvidenceError, match=r"reset\(\)"):
        pooled.compute()


def test_batches_that_met_fewer_classes_are_no_trouble_or_are_refused() -> None:
    whole = concepts(leaking=True)
    named = {"values", "truth", "labels"}
    bare = {n: t for n, t in tensors(whole).items() if n in named}
    first = int(np.flatnonzero(whole.labels == 0)[0])
    metric = as_metric("concept_task_leakage")
    metric.update(**{n: t[first : first + 1] for n, t in bare.items()})
    metric.update(**bare)
    assert torch.isfinite(metric.compute())


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # Lightning's own affairs
@pytest.mark.filterwarnings("ignore:.*does not have many workers")
@pytest.mark.filterwarnings("ignore:The number of training batches")
@pytest.mark.filterwarnings("ignore:.*treespec:FutureWarning")
def test_lightning_logs_it(tmp_path: Path) -> None:
    import lightning  # noqa: PLC0415

    whole = concepts()
    data = torch.utils.data.TensorDataset(
        torch.tensor(whole.values).float(), torch.tensor(whole.truth), torch.tensor(whole.labels)
    )

    class Bottleneck(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(whole.values.shape[1], whole.truth.shape[1])
            self.exists = as_metric("concept_existence", top=1, rank_by="value")
            self.leaks = as_metric("interconcept_leakage")
            self.said = []

        def training_step(self, batch, number):
            values, truth, _ = batch
            return torch.nn.functional.mse_loss(self.layer(values), truth.float())

        def validation_step(self, batch, number):
            values, truth, _ = batch
            said = self.layer(values)
            self.said.append(said.detach())
            for name, metric in (("exists", self.exists), ("leaks", self.leaks)):
                metric(values=said, truth=truth)
                self.log(name, metric, on_step=False, on_epoch=True)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    model = Bottleneck()
    trainer = lightning.Trainer(
        max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0,
        default_root_dir=tmp_path,
    )  # fmt: skip
    loader = torch.utils.data.DataLoader(data, batch_size=25)
    trainer.fit(model, loader, loader)
    for name in ("exists", "leaks"):
        alone = getattr(model, name).clone()
        alone.reset()
        alone.update(values=torch.cat(model.said), truth=torch.tensor(whole.truth))
        assert_allclose(trainer.callback_metrics[name], alone.compute(), rtol=1e-6)


SECOND = """
import sys
import torch
from theodolite.bridges.torchmetrics import as_metric
from theodolite._planted.concepts import planted_concepts

whole = planted_concepts(60, seed=3)
torch.distributed.init_process_group(
    "gloo", init_method=f"file://{sys.argv[1]}", rank=1, world_size=2
)
for name in ("concept_existence", "interconcept_leakage"):
    metric, lonely = as_metric(name), as_metric(name)
    metric.update(whole[42:60])
    lonely._update_count = 1
    for one in (metric, lonely):
        one.sync()
        one.unsync()
torch.distributed.destroy_process_group()
"""


def test_two_processes_with_uneven_batches_say_what_one_says(tmp_path: Path) -> None:
    (tmp_path / "second.py").write_text(SECOND)
    meet = tmp_path / "meet"
    other = subprocess.Popen([sys.executable, "-W", "error", str(tmp_path / "second.py"), meet])
    whole = concepts()
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{meet}", rank=0, world_size=2, timeout=timedelta(seconds=120)
    )
    try:
        for name in ("concept_existence", "interconcept_leakage"):
            expected = quoted(catalogue()[name], whole)
            metric, lonely = as_metric(name), as_metric(name)
            for start, stop in ((0, 20), (20, 35), (35, 42)):
                metric.update(whole[start:stop])
            lonely.update(whole)  # the other has none at all
            own = len(getattr(metric, metric.state_name))
            assert_allclose(metric.compute(), expected, rtol=1e-9)
            assert_allclose(lonely.compute(), expected, rtol=1e-9)
            # what was gathered is given back: each goes on with its own
            assert (metric._update_count, len(getattr(metric, metric.state_name))) == (3, own)
    finally:
        torch.distributed.destroy_process_group()
    assert other.wait(timeout=60) == 0
