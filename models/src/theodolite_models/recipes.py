"""Recipes of the networks on the shelf: each trains one network and returns card and weights.

The fine-tuned classifier keeps its last epoch. Concept bottlenecks keep the epoch with the least
loss on the validation images. Test images choose nothing. All figures of a card are measured on the
network as it is loaded from the card, with weights in half precision.
"""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binomtest, rankdata

from theodolite._storage.arrays import read_npy, write_npy, write_safetensors
from theodolite._storage.checkpoints import read_weights
from theodolite._storage.optional import require
from theodolite._storage.paths import sha256_of
from theodolite._storage.text import read_json, write_json
from theodolite.datasets.concept_data import ConceptData, split_rows
from theodolite.datasets.labeled_images import cifar10_zip
from theodolite.datasets.monumai import monumai
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Concepts
from theodolite.models.features import Preprocessing
from theodolite.models.loading import build_network, read_base_tensors
from theodolite.models.shelf import (
    Accuracy,
    DataOrigin,
    ModelCard,
    TrainingInputs,
    digest_content,
    get_shelf,
)
from theodolite.models.timm_models import build_timm
from theodolite_models.rooms import rooms
from theodolite_reproductions.bottlenecks.settings import BottleneckSettings, LabeledFeatures
from theodolite_reproductions.datasets.bottleneck_data import BottleneckData
from theodolite_reproductions.datasets.dsprites import dsprites

if TYPE_CHECKING:
    from torch import nn

Arrays = dict[str, np.ndarray]
Recipe = Callable[[TrainingInputs], tuple[ModelCard, Arrays]]
Rows = Mapping[str, np.ndarray]
LITE = "efficientnet_lite0"
BATCH, VALIDATION = 32, 150
N_ROOMS = 8_000
"""Number of rooms: as many as two cores train on in minutes."""
FINE_TUNING: dict[str, Any] = {
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
KINDS: dict[str, dict[str, Any]] = {
    "soft": {},
    "logit": {"encoding": "logit"},
    "hard": {"encoding": "hard", "training": "independent", "head_optimizer": "lbfgs"},
    "cem": {"kind": "cem", "intervention_rate": 0.25},
}
"""Forms of a concept bottleneck: what its head is given."""
LEAKAGE = ("Parisini et al. (2025)",)
ALIGNMENT = ("Aysel, Cai and Prugel-Bennett (2025)",)
SURROGATES, DETECTION = "Kumar et al. (2026)", "Makinwa, La Rosa and Capobianco (2022)"
PLAIN = Preprocessing((64, 64), (0.0,) * 3, (1.0,) * 3)


@dataclass(frozen=True, eq=False)
class Material:
    """What a bottleneck is trained and tested on."""

    parts: Mapping[str, LabeledFeatures]
    """Samples for train and validation, as the trained front takes them."""
    rows: Rows
    test: tuple[np.ndarray, np.ndarray]
    """Concepts and labels of the test images."""
    prepare: Callable[[slice], np.ndarray]
    """Test images as the whole network takes them."""
    concepts: Concepts
    classes: Classes
    origin: DataOrigin
    preprocessing: Preprocessing


def train_bottleneck(
    name: str,
    architecture: str,
    make: Callable[[TrainingInputs], Material],
    settings: Mapping[str, Any],
    inputs: TrainingInputs,
) -> tuple[ModelCard, Arrays]:
    """Train a concept bottleneck or concept embedding model; return its card and weights."""
    require("torch", "models train", "torch")
    from torch import nn  # noqa: PLC0415

    from theodolite_models.networks import find_map_layer, make_front  # noqa: PLC0415
    from theodolite_reproductions.bottlenecks.training import fit_bottleneck  # noqa: PLC0415

    clock, material = Clock(inputs), make(inputs)
    base = LITE if architecture == LITE else ""

    def front(n_out: int) -> "nn.Module":
        if base:  # named as in the whole network
            return nn.Sequential(OrderedDict(classifier=nn.Linear(N_POOLED, n_out)))
        return make_front(architecture, n_out, material.parts["train"].input_shape)

    trained = fit_bottleneck(
        BottleneckSettings(**settings), material.parts["train"], material.parts["validation"],
        n_classes=len(material.classes), seed=inputs.seed, front=front,
        checkpoint=inputs.work / "training.safetensors", progress=clock,
    )  # fmt: skip
    arrays = _round(trained.network, "bottleneck.")
    recipe: dict[str, Any] = {"settings": dict(settings)}
    if base:
        recipe |= {"frozen": "conv_stem to bn2"}
    card = make_card(
        name, architecture, find_map_layer(architecture), material, recipe,
        (ALIGNMENT if base else ()) + LEAKAGE,
        factory="bottleneck", base=base, seed=inputs.seed,
    )  # fmt: skip
    return measure(card, arrays, material, clock), arrays


def make_card(  # noqa: PLR0913  each is a field
    name: str,
    architecture: str,
    layer: str,
    material: Material,
    recipe: Mapping[str, Any],
    papers: tuple[str, ...],
    *,
    factory: str,
    base: str,
    seed: int,
) -> ModelCard:
    """Return the card of a network before it is measured."""
    chosen = material.preprocessing
    rows = hashlib.sha256()
    for part, own in sorted(material.rows.items()):
        rows.update(part.encode() + np.asarray(own, np.int64).tobytes())
    return ModelCard(
        name=name,
        architecture=architecture,
        factory=factory,
        base=base,
        sha256="",
        bytes=0,
        classes=material.classes.names,
        concepts=material.concepts.names if factory == "bottleneck" else (),
        preprocessing={"size": chosen.size, "mean": chosen.mean, "std": chosen.spread},
        layer=layer,
        data=material.origin,
        split={part: len(own) for part, own in material.rows.items()},
        split_digest=rows.hexdigest(),
        recipe=dict(recipe),
        recipe_digest=digest_content(dict(recipe)),
        seed=seed,
        cpu_minutes=0,
        images_per_second=0,
        accuracy=Accuracy(value=0, low=0, high=1, n=0),
        concept_accuracy={},
        concept_auc={},
        license=material.origin.license,
        papers=papers,
    )


def measure(card: ModelCard, arrays: Arrays, material: Material, clock: "Clock") -> ModelCard:
    """Return the card with what the network of these arrays does on the test images."""
    import torch  # noqa: PLC0415

    from theodolite.models.torch_threads import limit_to_one_thread  # noqa: PLC0415

    network: Any = build_network(card, arrays)
    truth, labels = material.test
    seconds, scores, logits = 0.0, [], []
    with limit_to_one_thread(), torch.inference_mode():
        for start in range(0, len(labels), BATCH):
            images = torch.from_numpy(material.prepare(slice(start, start + BATCH)))
            begun = time.process_time()
            if card.concepts:
                output = network.read_concepts(images)
                logits.append(output.logits.numpy())
                scores.append(output.scores.numpy())
            else:
                scores.append(network(images).numpy())
            seconds += time.process_time() - begun
    right = np.concatenate(scores).argmax(axis=1) == labels
    interval = binomtest(int(right.sum()), len(right)).proportion_ci(method="wilson")
    measured: dict[str, Any] = {
        "accuracy": Accuracy(value=float(right.mean()), low=interval.low, high=interval.high,
                             n=len(right)),
        "images_per_second": round(len(labels) / seconds, 1),
        "cpu_minutes": round(clock.seconds / 60, 2),
    }  # fmt: skip
    if card.concepts:
        said = np.concatenate(logits)
        agreed = ((said > 0) == truth).mean(axis=0)
        measured["concept_accuracy"] = _by_name(card.concepts, agreed)
        measured["concept_auc"] = _by_name(card.concepts, _auc(said, truth))
    return card.model_copy(update=measured)


class Clock:
    """CPU time of a training, with that of the parts before it was cut off."""

    def __init__(self, inputs: TrainingInputs) -> None:
        self.file, self.progress = inputs.work / "cpu.json", inputs.progress
        self.before = read_json(self.file)["seconds"] if self.file.exists() else 0.0
        self.started = time.process_time()

    @property
    def seconds(self) -> float:
        """CPU seconds until now."""
        return float(self.before + time.process_time() - self.started)

    def __call__(self, what: str, done: int, total: int) -> None:
        write_json(self.file, {"seconds": self.seconds})
        self.progress(what, done, total)


def train_monumai_lite0(inputs: TrainingInputs) -> tuple[ModelCard, Arrays]:
    """Fine-tune the last two stages and a new head of EfficientNet-lite0 on four styles."""
    require("torch", "models train", "torch")
    import torch  # noqa: PLC0415

    from theodolite.models.torch_threads import limit_to_one_thread  # noqa: PLC0415
    from theodolite_models.networks import FrozenTail  # noqa: PLC0415

    clock = Clock(inputs)
    material = make_monumai(FIRST_STAGE, inputs)
    train = material.parts["train"]
    network = _load_base()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(inputs.seed)
        tail = FrozenTail(network, FIRST_STAGE, len(material.classes)).train()
    epochs, most = FINE_TUNING["epochs"], FINE_TUNING["max_learning_rate"]
    optimizer = torch.optim.AdamW(tail.parameters(), lr=most)
    steps = -(-len(train.labels) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, most, total_steps=steps * epochs)
    loss = torch.nn.CrossEntropyLoss(label_smoothing=FINE_TUNING["label_smoothing"])
    random, target = np.random.default_rng(inputs.seed), torch.from_numpy(train.labels)
    with limit_to_one_thread():
        for epoch in range(epochs):
            order = random.permutation(len(train.labels))
            for step, at in enumerate(range(0, len(order), BATCH)):
                clock("training", epoch * steps + step, epochs * steps)
                rows = order[at : at + BATCH]
                optimizer.zero_grad()
                loss(tail(torch.from_numpy(train.inputs[rows])), target[rows]).backward()
                optimizer.step()
                schedule.step()
    arrays = _drop_shared(_round(tail), "")
    card = make_card(
        "monumai-lite0", LITE, "bn2", material, FINE_TUNING,
        (*ALIGNMENT, SURROGATES, DETECTION), factory="timm", base=LITE, seed=inputs.seed,
    )  # fmt: skip
    return measure(card, arrays, material, clock), arrays


FIRST_STAGE, N_POOLED = 5, 1280
"""First stage of the classifier that is trained; outputs of the pooled last layer."""


def make_monumai(stage: int | None, inputs: TrainingInputs) -> Material:
    """Return MonuMAI as maps of the stages before one, with flipped copies for training.

    Without a stage, as pooled maps of the last layer, and without copies.
    """
    if inputs.data is None:
        raise EvidenceError("--data", "none", "the folder of MonuMAI")
    if inputs.weights is not None:
        write_safetensors(get_shelf() / f"{LITE}.safetensors", read_weights(inputs.weights))
    data = monumai(inputs.data)
    train, test = np.flatnonzero(~data.is_test), np.flatnonzero(data.is_test)
    chosen = split_rows(data.labels[train], VALIDATION / len(train), inputs.seed)
    rows = {"train": train[~chosen], "validation": train[chosen], "test": test}
    maps = _freeze(data, train, stage, inputs)  # (copies, images, ...)
    fit = {"train": np.concatenate(maps[:, ~chosen]), "validation": maps[0, chosen]}
    several = {"train": np.tile(rows["train"], len(maps)), "validation": rows["validation"]}
    preprocessing = Preprocessing((224, 224), (0.498,) * 3, (0.502,) * 3)
    return Material(
        parts={
            part: LabeledFeatures(fit[part], data.presence[own], data.labels[own])
            for part, own in several.items()
        },
        rows=rows,
        test=(data.presence[test], data.labels[test]),
        prepare=lambda some: np.stack([preprocessing(data.image(int(r))) for r in test[some]]),
        concepts=data.concepts,
        classes=data.classes,
        origin=DataOrigin(
            name="MonuMAI", digest=data.digests()["annotations.json"], license="CC BY 4.0"
        ),
        preprocessing=preprocessing,
    )


def _freeze(
    data: ConceptData, rows: np.ndarray, stage: int | None, inputs: TrainingInputs
) -> np.ndarray:
    """Return what leaves the frozen layers; computed once for all networks."""
    import torch  # noqa: PLC0415

    from theodolite.models.torch_threads import limit_to_one_thread  # noqa: PLC0415

    kind = "pooled" if stage is None else f"stage{stage}"
    file = inputs.work.parent / f"monumai-{kind}-{digest_content(data.digests())[:8]}.npy"
    if file.exists():
        return read_npy(file)
    network: Any = _load_base()
    preprocessing = Preprocessing((224, 224), (0.498,) * 3, (0.502,) * 3)
    maps: list[list[np.ndarray]] = [[]] if stage is None else [[], []]
    with limit_to_one_thread(), torch.inference_mode():
        for at in range(0, len(rows), BATCH):
            inputs.progress("frozen stages", at, len(rows))
            batch = np.stack([preprocessing(data.image(int(r))) for r in rows[at : at + BATCH]])
            for own, images in zip(maps, (batch, batch[..., ::-1].copy()), strict=False):
                x = torch.from_numpy(images).contiguous(memory_format=torch.channels_last)
                if stage is None:
                    x = network.forward_head(network.forward_features(x), pre_logits=True)
                else:
                    x = network.blocks[:stage](network.bn1(network.conv_stem(x)))
                own.append(x.contiguous().numpy())
    result = np.stack([np.concatenate(own) for own in maps])
    write_npy(file, result)
    return result


def make_rendered(make: Callable[[], BottleneckData], license: str, _: TrainingInputs) -> Material:
    """Return a data set that is drawn by a program."""
    data = make()
    digest = hashlib.sha256()
    for array in (data.inputs, data.truth, data.labels):
        digest.update(np.ascontiguousarray(array).data)
    rows = {"train": data.train, "validation": data.validation, "test": data.test}
    brightest = 255 if data.inputs.ndim == 4 else 1

    def prepare(some: slice) -> np.ndarray:
        images = data.inputs[data.test[some]].astype(np.float32) / brightest
        images = images if images.ndim == 4 else np.repeat(images[..., None], 3, axis=3)
        return np.ascontiguousarray(images.transpose(0, 3, 1, 2))

    return Material(
        parts={
            part: LabeledFeatures(data.inputs[own], data.truth[own], data.labels[own])
            for part, own in rows.items()
            if part != "test"
        },
        rows=rows,
        test=(data.truth[data.test], data.labels[data.test]),
        prepare=prepare,
        concepts=data.concepts,
        classes=data.classes,
        origin=DataOrigin(name=data.name, digest=digest.hexdigest(), license=license),
        preprocessing=PLAIN,
    )


def measure_cifar(architecture: str, inputs: TrainingInputs) -> tuple[ModelCard, Arrays]:
    """Take published weights for CIFAR-10 and measure them; nothing is trained."""
    if inputs.data is None or inputs.weights is None:
        raise EvidenceError("--data and --weights", "not both", "a .zip of images and the weights")
    require("torch", "models train", "torch")
    clock = Clock(inputs)
    images = cifar10_zip(inputs.data, seed=inputs.seed)
    arrays = {key: a.astype(np.float16) for key, a in read_weights(inputs.weights).items()}
    preprocessing = Preprocessing((32, 32))
    test = np.arange(len(images.labels))
    material = Material(
        parts={},
        rows={"test": test},
        test=(np.zeros((len(test), 0), bool), images.labels),
        prepare=lambda some: np.stack([preprocessing(images.image(int(r))) for r in test[some]]),
        concepts=Concepts(()),
        classes=Classes(images.classes),
        origin=DataOrigin(
            name="CIFAR-10", digest=sha256_of(inputs.data), license="none stated; research use"
        ),
        preprocessing=preprocessing,
    )
    card = make_card(
        architecture.replace("_resnet", "-resnet"), architecture, "layer3", material,
        {"weights": sha256_of(inputs.weights), "trained_by": "Idelbayev, pytorch_resnet_cifar10"},
        (SURROGATES,), factory="timm", base="", seed=inputs.seed,
    )  # fmt: skip
    return measure(
        card.model_copy(update={"license": "BSD-2-Clause"}), arrays, material, clock
    ), arrays


def _load_base() -> Any:
    return build_timm(LITE, read_base_tensors(LITE), LITE)[0]


def _round(network: "nn.Module", prefix: str = "") -> Arrays:
    """Return all tensors in half precision, without the counters of batch norm."""
    return {
        prefix + name: tensor.detach().half().numpy()
        for name, tensor in network.state_dict().items()
        if not name.endswith("num_batches_tracked")
    }


def _drop_shared(arrays: Arrays, prefix: str) -> Arrays:
    """Return the tensors that differ from those of the base."""
    base = {prefix + name: array for name, array in read_base_tensors(LITE).items()}
    return {
        name: array
        for name, array in arrays.items()
        if name not in base or not np.array_equal(array, base[name])
    }


def _auc(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    positives = truth.sum(axis=0)
    ranks = np.where(truth, rankdata(scores, axis=0), 0).sum(axis=0)
    pairs = np.maximum(positives * (len(truth) - positives), 1)
    return np.asarray((ranks - positives * (positives + 1) / 2) / pairs)


def _by_name(names: tuple[str, ...], numbers: np.ndarray) -> dict[str, float]:
    return {name: round(float(x), 4) for name, x in zip(names, numbers, strict=True)}


def _list_recipes() -> dict[str, Recipe]:
    dsprites_images = partial(make_rendered, dsprites, "Apache-2.0")
    room_images = partial(make_rendered, partial(rooms, N_ROOMS), "Apache-2.0")
    forms: tuple[tuple[str, str, Any, dict[str, Any], tuple[str, ...]], ...] = (
        ("dsprites-cnn", "small_cnn", dsprites_images,
         {"epochs": 8, "batch": 128, "patience": 8}, tuple(KINDS)),
        ("monumai-cbm", LITE, partial(make_monumai, None),
         {"epochs": 60, "batch": 32, "patience": 60, "concept_weight": 5.0},
         tuple(KINDS)),
        ("rooms-resnet10", "resnet10t", room_images,
         {"epochs": 3, "batch": 64, "patience": 3}, ("soft", "cem")),
        ("dsprites-resnet18", "resnet18", dsprites_images,
         {"epochs": 4, "batch": 64, "patience": 4}, ("soft", "cem")),
    )  # fmt: skip
    recipes: dict[str, Recipe] = {"monumai-lite0": train_monumai_lite0}
    for family, architecture, make, common, kinds in forms:
        for kind in kinds:
            name = f"{family}-{kind}"
            settings = {"head": "linear", **common, **KINDS[kind]}
            recipes[name] = partial(train_bottleneck, name, architecture, make, settings)
    for depth in ("cifar_resnet20", "cifar_resnet56"):
        recipes[depth.replace("_", "-")] = partial(measure_cifar, depth)
    return recipes


RECIPES = _list_recipes()
"""How to train each network of the shelf, by name."""
