"""Pipeline that computes saliency maps of an image classifier and tests them on the network."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from theodolite._storage.images import encode_jpeg
from theodolite._storage.paths import sha256_of
from theodolite._storage.text import read_json
from theodolite.datasets.masks.mask_data import MaskData
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Samples
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.evidence.pipeline_output import ComparedModel, Produced, WorkContext
from theodolite.evidence.subject import Subject
from theodolite.evidence.workers import Arrays, Work
from theodolite.explainers.probing.pixel_removal import WAYS, Removal
from theodolite.explainers.probing.stability import StabilitySettings, compute_chance_changes
from theodolite.explainers.saliency.methods import TECHNIQUES
from theodolite.explainers.saliency.methods import explainer as _checked_method
from theodolite.models.loaded_model import LoadedModel
from theodolite.pipelines.feature_pass import compute_weights_digest
from theodolite.pipelines.saliency.map_tasks import (
    ProbedImages,
    SaliencyTask,
    SavedNetwork,
    compute_task_digest,
    list_library_versions,
    run_task,
    to_half_precision,
)

CHANCES = {"random": "random", "smooth": "smooth_random", "center": "center"}
"""Uninformative baseline maps, and the methods that draw them."""
NOT_HERE = {"bcos"}
"""Methods that need a special network."""


@dataclass(frozen=True, kw_only=True)
class SaliencyPipeline:
    """Settings: methods, images and tests."""

    backbone: str
    weights: Path | None = None
    class_names: Path | None = None
    """File with a JSON list of the network's classes."""
    methods: Sequence[str] = tuple(name for name in TECHNIQUES if name not in NOT_HERE)
    """Saliency methods; the verdicts are about the first."""
    layer: str | None = None
    """Layer of the methods that need one; default: the last spatial layer."""
    layers: Mapping[str, str] = field(default_factory=dict)
    """Other layers for single methods, where the default is too slow."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Options of each method that differ from the defaults."""
    images: int = 37
    """Number of images, drawn evenly over the classes."""
    objects: Sequence[str] = ()
    """Concepts whose masks are the object; default: the category ``object``."""
    ways: Sequence[str] = WAYS
    """Ways to remove pixels; scores use the first by default."""
    percents: Sequence[float] = tuple(range(1, 50, 2))
    noises: Sequence[str] = ("uniform",)
    draws: int = 4
    """Number of draws of each noise."""
    radius: float = 0.2
    shaken: int = 8
    """Number of images that get noise; each draw costs an explanation."""
    randomized: int = 8
    """Number of images that are explained again with random weights."""
    chunk: int = 4
    """Number of images per task."""
    shown: int = 5
    """Number of images in the report."""

    def make(self, data: MaskData, context: WorkContext) -> Produced:
        """Explain, remove, add noise and randomize, in tasks of a few images per method."""
        if not isinstance(data, MaskData):
            raise EvidenceError("dataset", type(data).__name__, "one with masks, such as pets")
        names = self._names()
        classifier = SavedNetwork(self.backbone, self.weights, names).classifier()
        self._check(classifier)
        rows = _draw_rows(data, self.images, context.seeds[0])
        marked = _objects(data, rows, classifier.preprocessing.size, self.objects)
        common = {
            "objects": marked,
            "removals": tuple(self.ways),
            "percents": np.asarray(self.percents, float),
            "samples": Samples(index=rows, ids=np.array([data.images[row] for row in rows])),
            "classes": _distinct_classes(names or classifier.classes),
        }
        by_seed = [self._explain(data, rows, classifier, seed, context) for seed in context.seeds]
        models = [
            ComparedModel(
                method, _describe(method),
                [
                    [self._evidence(method, by_name, common, seed)]
                    for by_name, seed in zip(by_seed, context.seeds, strict=True)
                ],
            )
            for method in self.methods
        ]  # fmt: skip
        files = compute_weights_digest(self.weights) | _digest_of(self.class_names)
        return Produced(
            evidence=models[0].evidence,
            about={**models[0].about, "name": models[0].name},
            compared=models[1:],
            tables={"methods": _method_table(self.methods, by_seed[0])},
            notes=(*data.notes, *self._notes()),
            facts=self._facts(marked, by_seed[0][self.methods[0]]["confidence"]),
            inputs=data.digests() | files,
            images={
                f"images/sample-{at:04d}.jpg": encode_jpeg(data.image(int(row)), longest=224)
                for at, row in enumerate(rows[: self.shown])
            },
            subject=self._subject(classifier, data),
        )

    def _subject(self, classifier: LoadedModel, data: MaskData) -> Subject:
        maps = f"maps of relevance by {TECHNIQUES[self.methods[0]].title}"
        return Subject(maps, classifier.name, "model", data=data.name)

    def _check(self, classifier: LoadedModel) -> None:
        """Raise for settings that cannot work, before hours of computation."""
        unknown = [m for m in self.methods if m not in TECHNIQUES]
        if unknown or not self.methods or len(set(self.methods)) < len(self.methods):
            needed = f"some of {', '.join(TECHNIQUES)}, each once"
            raise EvidenceError("methods", f"{unknown or list(self.methods)}", needed)
        for field_name, by_method in (("options", self.options), ("layers", self.layers)):
            if strange := [name for name in by_method if name not in self.methods]:
                needed = "methods of this run"
                raise EvidenceError(field_name, repr(strange[0]), needed, "Leave it out there.")
        for name in self.methods:
            layer = self._layer(name)
            _checked_method(name, classifier.network, layer=layer, options=self.options.get(name))
            if layer is not None and layer not in dict(classifier.network.named_modules()):
                known = [n for n, _ in classifier.network.named_children()]
                raise EvidenceError("layer", repr(layer), f"a module, such as {', '.join(known)}")
        probed = self._probe_settings(0)
        Removal(black=np.zeros(3, np.float32), seed=0, ways=probed.ways, percents=probed.percents)
        if (np.diff(probed.percents) <= 0).any():
            raise EvidenceError("percents", f"{list(self.percents)}", "rising numbers")
        if self.draws and self.noises:
            StabilitySettings(draws=self.draws, seed=0, noises=probed.noises, radius=self.radius)
        for name in ("images", "chunk"):
            if getattr(self, name) < 1:
                raise EvidenceError(name, f"{getattr(self, name)}", "at least 1")

    def _probe_settings(self, seed: int) -> ProbedImages:
        return ProbedImages(
            ways=tuple(self.ways), percents=tuple(map(float, self.percents)),
            noises=tuple(self.noises), draws=self.draws, radius=self.radius, seed=seed,
        )  # fmt: skip

    def _layer(self, method: str) -> str | None:
        return self.layers.get(method, self.layer)

    def _explain(
        self,
        data: MaskData,
        rows: Int[np.ndarray, " n"],
        classifier: LoadedModel,
        seed: int,
        context: WorkContext,
    ) -> dict[str, Arrays]:
        """Return each method's results over all images, and the baseline maps."""
        names, pieces = map(list, zip(*self._pieces(rows), strict=True))
        probed = self._probe_settings(seed)
        digests = {int(row): sha256_of(data.path(int(row))) for row in rows}
        work = Work(
            what="explanations",
            do=partial(run_task, data, probed),
            items=pieces,
            digests=[compute_task_digest(piece, digests) for piece in pieces],
            about={
                "network": f"{classifier.digest} {classifier.preprocessing}",
                "probed": {**vars(probed)},
                "versions": list_library_versions(),
            },
            names=[f"{piece.method}, {data.images[piece.rows[0]]}" for piece in pieces],
            tool=SavedNetwork(self.backbone, self.weights, self._names()),
            network=True,
        )
        parts_by_name: dict[str, list[Arrays]] = {}
        for name, piece, arrays in zip(names, pieces, context.workers.each(work), strict=True):
            if arrays is None:
                raise EvidenceError(
                    piece.method, "no maps: it failed three times", "maps of all images",
                    "See failed.parquet; leave the method out of `methods`.",
                )  # fmt: skip
            parts_by_name.setdefault(name, []).append(arrays)
        return {name: _join(parts) for name, parts in parts_by_name.items()}

    def _pieces(self, rows: Int[np.ndarray, " n"]) -> Iterator[tuple[str, SaliencyTask]]:
        """Yield tasks of a few images with their map name; baselines first."""
        jobs = [(f"chance {chance}", method, True) for chance, method in CHANCES.items()]
        jobs += [(method, method, False) for method in self.methods]
        for name, method, chance in jobs:
            for at in range(0, len(rows), self.chunk):
                some = tuple(int(row) for row in rows[at : at + self.chunk])
                places = range(at, at + len(some))
                piece = SaliencyTask(
                    method,
                    None if chance else self._layer(method),
                    {} if chance else dict(self.options.get(method, {})),
                    some,
                    tuple(not chance and place < self.shaken for place in places),
                    tuple(not chance and place < self.randomized for place in places),
                    chance=chance,
                )
                yield name, piece

    def _evidence(
        self, method: str, by_name: Mapping[str, Arrays], common: dict[str, Any], seed: int
    ) -> SaliencyEvidence:
        arrays = by_name[method]
        maps = arrays["maps"]
        chances = [by_name[f"chance {name}"] for name in CHANCES]
        fields: dict[str, Any] = {
            "maps": to_half_precision(maps),
            "clean": arrays["clean"],
            "most_first": arrays["most_first"],
            "least_first": arrays["least_first"],
            "chance_most_first": np.stack([chance["most_first"] for chance in chances], axis=1),
            "chance_least_first": np.stack([chance["least_first"] for chance in chances], axis=1),
            "chances": tuple(CHANCES),
            "predicted": arrays["targets"],
        }
        place = np.arange(len(maps))
        if self.shaken and self.draws and self.noises:
            # as many others as there are draws: a maximum grows with what it is taken of
            others = [compute_chance_changes(maps, seed=seed + draw) for draw in range(self.draws)]
            fields |= {
                "norms": arrays["norms"],
                "changes": arrays["changes"],
                "chance_changes": np.where(place < self.shaken, np.max(others, axis=0), np.nan),
                "noises": tuple(self.noises),
            }
        if self.randomized:
            fields |= {
                "randomized_similarity": arrays["randomized_similarity"],
                "randomized": place < self.randomized,
            }
        return SaliencyEvidence(**fields, **common)

    def _names(self) -> tuple[str, ...]:
        if self.class_names is None:
            return ()
        names = read_json(self.class_names, "class names")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise EvidenceError(
                f"class names {self.class_names.name!r}", type(names).__name__, "a list of names"
            )
        return tuple(names)

    def _facts(
        self, marked: np.ndarray, confidence: np.ndarray
    ) -> tuple[tuple[str, float | int | str], ...]:
        return (
            ("images", len(marked)),
            ("methods", len(self.methods)),
            ("method of the verdicts", TECHNIQUES[self.methods[0]].title),
            ("mean probability of the predicted class", float(confidence.mean())),
            ("share of the image that is object", float(marked.mean())),
        )

    def _notes(self) -> list[str]:
        return [
            "What is explained is the class that the network predicts, right or wrong.",
            "All methods see the same images, noise and removed pixels, and explain the same "
            "class.",
            *(f"{TECHNIQUES[m].title} looks at layer {at}." for m, at in self.layers.items()),
            f"Noise is tried on the first {self.shaken} images and random weights on the first "
            f"{self.randomized}: each draw costs a whole explanation.",
        ]


def _draw_rows(data: MaskData, n: int, seed: int) -> Int[np.ndarray, " n"]:
    """Draw images at random, from the classes in turn."""
    rows = np.random.default_rng(seed).permutation(data.at_hand())
    if not len(rows):
        raise EvidenceError("images", "none at hand", "at least one")
    if data.labels is not None:
        labels = data.labels[rows]
        turn = np.zeros(len(rows), int)
        for label in np.unique(labels):
            own = np.flatnonzero(labels == label)
            turn[own] = np.arange(len(own))
        rows = rows[np.argsort(turn, kind="stable")]
    return np.asarray(rows[:n])


def _objects(
    data: MaskData, rows: np.ndarray, grid: tuple[int, int], objects: Sequence[str]
) -> Bool[np.ndarray, "n rows columns"]:
    """Return the object's pixels on the network's grid."""
    usual = [c for c, kind in zip(data.concepts, data.categories, strict=True) if kind == "object"]
    names = list(objects or usual)
    unknown = [name for name in names if name not in data.concepts]
    if unknown or not names:
        raise EvidenceError("objects", f"{unknown or 'none'}", f"some of {data.concepts[:8]}")
    numbers = [data.concepts.index(name) + 1 for name in names]
    return np.stack([np.isin(data.layers(int(row), grid), numbers).any(axis=0) for row in rows])


def _join(parts: Sequence[Arrays]) -> Arrays:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _describe(method: str) -> dict[str, float | int | str]:
    technique = TECHNIQUES[method]
    return {
        "kind": "saliency",
        "method": method,
        "title": technique.title,
        "functioning": technique.functioning,
    }


def _method_table(methods: Sequence[str], by_name: Mapping[str, Arrays]) -> dict[str, list[Any]]:
    """Return a table of the methods: properties, losses and run time."""
    rows = [TECHNIQUES[method] for method in methods]
    return {
        "method": list(methods),
        "title": [row.title for row in rows],
        "functioning": [row.functioning for row in rows],
        "library": [row.library for row in rows],
        "sign": [row.sign for row in rows],
        "scale": [row.scale for row in rows],
        "loses": [row.loses for row in rows],
        "cost": [row.cost for row in rows],
        "seconds": [float(by_name[method]["seconds"].mean()) for method in methods],
    }


def _distinct_classes(names: Sequence[str]) -> Classes:
    """Return class names with numbers added to duplicates."""
    twice = {name for name, count in Counter(names).items() if count > 1}
    return Classes(
        tuple(f"{name} ({i})" if name in twice else name for i, name in enumerate(names))
    )


def _digest_of(path: Path | None) -> dict[str, str]:
    return {} if path is None else {path.name: sha256_of(path)}
