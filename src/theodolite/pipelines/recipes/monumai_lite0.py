"""``monumai-lite0``: EfficientNet-lite0 with its last two stages and a new head, fine-tuned on the
four styles of MonuMAI. Stages before are frozen, so their maps are computed once."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binomtest

from theodolite._storage.optional import require
from theodolite.datasets.concept_data import ConceptData, split_rows
from theodolite.datasets.monumai import monumai
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.loading import load_model
from theodolite.models.shelf import Accuracy, ModelCard

if TYPE_CHECKING:
    import torch

ARCHITECTURE, LAYER = "efficientnet_lite0", "bn2"
FROZEN = 5
"""Stages ``blocks.0`` to ``blocks.4`` keep the weights of ImageNet."""
VALIDATION = 150
BATCH = 32
SETTINGS: dict[str, Any] = {
    "frozen": "conv_stem to blocks.4",
    "optimizer": "AdamW",
    "schedule": "one-cycle",
    "max_learning_rate": 1e-3,
    "epochs": 6,
    "batch": BATCH,
    "label_smoothing": 0.1,
    "batch_norm_statistics": "frozen",
    "augmentation": "horizontal flip",
}


def train_monumai_lite0(
    data: Path, weights: Path | None, seed: int, progress: Progress = silent
) -> tuple[ModelCard, dict[str, np.ndarray]]:
    """Train the network; return its card and its weights in half precision.

    The last epoch is taken: validation images are only reported, they choose nothing.
    """
    require("torch", "models train", "torch")
    from theodolite.models.torch_threads import limit_to_one_thread  # noqa: PLC0415

    started = time.process_time()
    images = monumai(data)
    parts = _split(images, seed)
    base = load_model(ARCHITECTURE, weights=weights)
    with limit_to_one_thread():
        maps = {name: _freeze(base, images, rows, progress) for name, rows in parts.items()}
        flipped = _freeze(base, images, parts["train"], progress, flip=True)
        labels = {name: images.labels[rows] for name, rows in parts.items()}
        tail = _Tail(base.network, len(images.classes), seed)
        tail.fit(np.stack([maps["train"], flipped]), labels["train"], progress)
        arrays = tail.round_to_half()
        correct = {n: tail.predict(maps[n]) == labels[n] for n in ("validation", "test")}
    n, right = len(correct["test"]), int(correct["test"].sum())
    interval = binomtest(right, n).proportion_ci(method="wilson")
    preparation = base.preprocessing
    card = ModelCard(
        name="monumai-lite0",
        architecture=ARCHITECTURE,
        sha256="",
        classes=images.classes.names,
        preprocessing={
            "size": preparation.size, "mean": preparation.mean, "std": preparation.spread
        },
        layer=LAYER,
        data=images.digests(),
        split={name: len(rows) for name, rows in parts.items()},
        recipe=SETTINGS | {"validation_accuracy": round(float(correct["validation"].mean()), 4)},
        seed=seed,
        cpu_minutes=round((time.process_time() - started) / 60, 2),
        accuracy=Accuracy(value=right / n, low=interval.low, high=interval.high, n=n),
    )  # fmt: skip
    return card, arrays


def _split(images: ConceptData, seed: int) -> dict[str, np.ndarray]:
    train, test = np.flatnonzero(~images.is_test), np.flatnonzero(images.is_test)
    chosen = split_rows(images.labels[train], VALIDATION / len(train), seed)
    return {"train": train[~chosen], "validation": train[chosen], "test": test}


def _freeze(
    base: LoadedModel, images: ConceptData, rows: np.ndarray, progress: Progress, *,
    flip: bool = False,
) -> np.ndarray:  # fmt: skip
    """Return the maps that leave the frozen stages."""
    import torch  # noqa: PLC0415

    network: Any = base.network
    maps = []
    with torch.inference_mode():
        for at in range(0, len(rows), BATCH):
            progress("flipped images" if flip else "images", at, len(rows))
            batch = np.stack(
                [base.preprocessing(images.image(int(row))) for row in rows[at : at + BATCH]]
            )
            x = torch.from_numpy(batch[..., ::-1].copy() if flip else batch)
            x = network.bn1(network.conv_stem(x.contiguous(memory_format=torch.channels_last)))
            maps.append(network.blocks[:FROZEN](x).contiguous().numpy())
    return np.concatenate(maps)


class _Tail:
    """Stages after the frozen ones, with a new head."""

    def __init__(self, network: Any, n_classes: int, seed: int) -> None:
        import torch  # noqa: PLC0415

        self.network, self.seed = network, seed
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network.reset_classifier(n_classes)
        self.trained = torch.nn.ModuleList(
            [network.blocks[FROZEN:], network.conv_head, network.bn2, network.classifier]
        )

    def __call__(self, maps: "torch.Tensor") -> "torch.Tensor":
        network = self.network
        logits: torch.Tensor = network.forward_head(
            network.bn2(network.conv_head(network.blocks[FROZEN:](maps)))
        )
        return logits

    def fit(self, maps: np.ndarray, labels: np.ndarray, progress: Progress) -> None:
        """Train on maps (2, images, ...), of which the second half is flipped."""
        import torch  # noqa: PLC0415

        random, target = np.random.default_rng(self.seed), torch.from_numpy(labels)
        epochs, most = SETTINGS["epochs"], SETTINGS["max_learning_rate"]
        optimizer = torch.optim.AdamW(self.trained.parameters(), lr=most)
        steps = -(-len(labels) * 2 // BATCH)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, most, total_steps=steps * epochs)
        loss = torch.nn.CrossEntropyLoss(label_smoothing=SETTINGS["label_smoothing"])
        self.network.eval()  # statistics of batch norm stay those of ImageNet
        for epoch in range(epochs):
            order = random.permutation(2 * len(labels))
            for step, at in enumerate(range(0, len(order), BATCH)):
                progress("training", epoch * steps + step, epochs * steps)
                flip, row = np.divmod(order[at : at + BATCH], len(labels))
                batch = torch.from_numpy(maps[flip, row])
                optimizer.zero_grad()
                loss(self(batch.contiguous(memory_format=torch.channels_last)),
                     target[row]).backward()  # fmt: skip
                optimizer.step()
                schedule.step()

    def round_to_half(self) -> dict[str, np.ndarray]:
        """Return all weights in half precision, and continue with these."""
        arrays = {
            name: tensor.detach().half().numpy()
            for name, tensor in self.network.state_dict().items()
            if not name.endswith("num_batches_tracked")
        }
        import torch  # noqa: PLC0415

        self.network.load_state_dict(
            {name: torch.from_numpy(array).float() for name, array in arrays.items()}, strict=False
        )
        return arrays

    def predict(self, maps: np.ndarray) -> np.ndarray:
        """Return the class of each image."""
        import torch  # noqa: PLC0415

        with torch.inference_mode():
            return np.concatenate([
                self(torch.from_numpy(maps[at : at + BATCH])).argmax(dim=1).numpy()
                for at in range(0, len(maps), BATCH)
            ])  # fmt: skip
