"""Training with Lightning: seeded bit for bit, resumable, silent, and nothing pickled."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from theodolite._storage.optional import require
from theodolite.errors import EvidenceError
from theodolite.models.torch_threads import limit_to_one_thread
from theodolite_reproductions.bottlenecks.checkpoint import Checkpoint, TrainingState
from theodolite_reproductions.bottlenecks.lightning import interrupts_kept, lightning_quiet
from theodolite_reproductions.bottlenecks.settings import Optimizer

require("lightning", "training", "torch")
from lightning.fabric.plugins.environments.lightning import LightningEnvironment  # noqa: E402
from lightning.pytorch import Callback, LightningModule, Trainer  # noqa: E402

Batch = tuple[Tensor, ...]
Loss = Callable[[Batch], Tensor]


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How long, how fast, and from which seeds."""

    epochs: int
    batch: int
    learning_rate: float
    patience: int
    optimizer: Optimizer
    seeds: tuple[int, ...]


class Batches:
    """Arrays in batches, made of whole slices: no collating of samples.

    With seeds, the order of an epoch depends on them and on the epoch alone, so that a training
    that was cut off goes on with the batches it would have had.
    """

    def __init__(
        self, arrays: Sequence[np.ndarray], size: int, seeds: tuple[int, ...] | None = None
    ) -> None:
        self.arrays, self.size, self.seeds, self.epoch = tuple(arrays), size, seeds, 0
        n = len(self.arrays[0])
        starts = list(range(0, n, size))
        if len(starts) > 1 and n - starts[-1] == 1:
            starts.pop()  # one sample alone has no spread, which batch normalization needs
        self.bounds = list(zip(starts, [*starts[1:], n], strict=True))

    def __len__(self) -> int:
        return len(self.bounds)

    def __iter__(self) -> Iterator[Batch]:
        order = np.arange(len(self.arrays[0]))
        if self.seeds is not None:
            np.random.default_rng([*self.seeds, self.epoch]).shuffle(order)
        for start, stop in self.bounds:
            rows = order[start:stop]
            yield tuple(torch.from_numpy(array[rows]) for array in self.arrays)


def train(
    network: nn.Module,
    loss: Loss,
    data: tuple[Sequence[np.ndarray], Sequence[np.ndarray]],
    schedule: Schedule,
    *,
    checkpoint: Checkpoint | None = None,
    progress: Callable[[int, int], None],
) -> None:
    """Fit the network in place, and leave it with the weights that did best on validation.

    Args:
        network: What is trained. Its dropout layers draw from the schedule's seeds.
        loss: The mean loss of a batch, from this network.
        data: Arrays for training and for validation; a batch has a tensor for each.
        schedule: See there.
        checkpoint: Where to go on from after a cut, and to write to now and then.
        progress: Called with the epochs done and how many there are.
    """
    optimizer = _optimizer(network, schedule)
    state = checkpoint.load(network, optimizer) if checkpoint else TrainingState()
    batches = Batches(data[0], schedule.batch, schedule.seeds)
    ended = state.epochs >= schedule.epochs or state.waited >= schedule.patience
    if not (state.finished or ended):
        task = _Task(network.train(), loss, optimizer)
        course = _Course(state, schedule, batches, checkpoint, progress)
        gpu = torch.cuda.is_available()
        with lightning_quiet(), interrupts_kept(), limit_to_one_thread(when=data[0][0].ndim == 2):
            trainer = Trainer(
                accelerator="gpu" if gpu else "cpu",
                devices=1,
                max_epochs=schedule.epochs - state.epochs,
                callbacks=[course],
                logger=False,
                enable_checkpointing=False,
                enable_progress_bar=False,
                enable_model_summary=False,
                num_sanity_val_steps=0,
                use_distributed_sampler=False,
                plugins=[LightningEnvironment()],  # one process, also inside a cluster's job
            )
            unseen = Batches(data[1], max(schedule.batch, 1024))
            trainer.fit(task, _Epoch(batches), _Epoch(unseen))
    if checkpoint and not state.finished:
        state.finished = True
        checkpoint.save(state, network, optimizer)
    if not state.best:
        raise EvidenceError(
            "training", "a loss that is not a number", "a finite one", "Lower the learning rate."
        )
    network.load_state_dict(state.best)
    network.eval()
    progress(schedule.epochs, schedule.epochs)


def _optimizer(network: nn.Module, schedule: Schedule) -> torch.optim.Optimizer:
    if schedule.optimizer == "sgd":
        return torch.optim.SGD(network.parameters(), lr=schedule.learning_rate)
    return torch.optim.Adam(network.parameters(), lr=schedule.learning_rate, fused=True)


class _Epoch:
    """All batches of an epoch as one step of Lightning.

    What Lightning does around a step takes as long as a step of a small network itself.
    """

    def __init__(self, batches: Batches) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Batches]:
        yield self.batches


class _Task(LightningModule):
    """One step of the optimizer a batch; on validation, the mean loss over samples."""

    def __init__(self, network: nn.Module, loss: Loss, optimizer: torch.optim.Optimizer) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.network, self.loss, self.optimizer = network, loss, optimizer
        self.unseen_loss = math.nan

    def training_step(self, batches: Batches, index: int) -> None:
        for batch in batches:
            self.optimizer.zero_grad()
            self.loss(self._here(batch)).backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()

    def validation_step(self, batches: Batches, index: int) -> None:
        losses = [self.loss(self._here(batch)).double() * len(batch[0]) for batch in batches]
        self.unseen_loss = float(sum(losses)) / sum(stop - start for start, stop in batches.bounds)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return self.optimizer

    def _here(self, batch: Batch) -> Batch:
        return tuple(tensor.to(self.device) for tensor in batch)


class _Course(Callback):
    """Seeds each epoch, keeps the best weights, stops in time and writes checkpoints."""

    def __init__(
        self,
        state: TrainingState,
        schedule: Schedule,
        batches: Batches,
        checkpoint: Checkpoint | None,
        progress: Callable[[int, int], None],
    ) -> None:
        self.state, self.schedule, self.batches = state, schedule, batches
        self.checkpoint, self.progress = checkpoint, progress

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        self.generator = torch.Generator(pl_module.device)
        for module in pl_module.network.modules():
            if hasattr(module, "generator"):
                module.generator = self.generator

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        self.batches.epoch = self.state.epochs
        seeds = np.random.SeedSequence([*self.schedule.seeds, self.state.epochs])
        self.generator.manual_seed(int(seeds.generate_state(1, np.uint64)[0] >> 1))

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        state, network, loss = self.state, pl_module.network, pl_module.unseen_loss
        state.epochs += 1
        if loss < state.best_loss:
            state.best_loss, state.waited = loss, 0
            state.best = {n: t.detach().clone() for n, t in network.state_dict().items()}
        else:
            state.waited += 1
        if state.waited >= self.schedule.patience or not math.isfinite(loss):
            trainer.should_stop = True
        if self.checkpoint and self.checkpoint.due():
            self.checkpoint.save(state, network, pl_module.optimizer)
        self.progress(state.epochs, self.schedule.epochs)
