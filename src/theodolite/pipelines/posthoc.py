"""Post-hoc concept bottleneck on a frozen network: the experiment of paper 000."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from theodolite.contracts.axes import Samples
from theodolite.contracts.evidence import ConceptEvidence, LocationEvidence
from theodolite.contracts.made import Made, Workshop
from theodolite.datasets.concept_data import ConceptData, split_rows
from theodolite.errors import EvidenceError
from theodolite.explainers.concept_maps import concept_activation_maps
from theodolite.io.arrays import read_npy
from theodolite.io.paths import sha256_of
from theodolite.io.pictures import jpeg_bytes
from theodolite.models.backbones import load_backbone
from theodolite.models.concept_bank import Projection, draw_examples, fit_concept_bank
from theodolite.models.posthoc import Head, PosthocBottleneck, fit_posthoc
from theodolite.pipelines._features import (
    FeatureMaps,
    checked_pooled,
    feature_maps,
    weights_digest,
)
from theodolite.pipelines._parallel import counted, in_parallel

Setting = tuple[int, float]


@dataclass(frozen=True, kw_only=True)
class PosthocPipeline:
    """Settings of the experiment."""

    backbone: str
    weights: Path | None = None
    layer: str | None = None
    pooled: Path | None = None
    """Pooled features of all pictures, a row each (.npy), where not all pictures are at hand."""
    n_examples: Sequence[int] = (50, 100)
    """Examples with and without each concept."""
    regulariser: Sequence[float] = (0.001, 0.01, 0.1, 1.0, 10.0)
    """C of the SVM."""
    projection: Projection = "dot"
    head: Head = "logistic"
    held_out: float = 0.2
    """Share of the training pictures that choose among the settings; the test set never does."""

    def make(self, data: ConceptData, workshop: Workshop) -> Made:
        """Features, vectors for each setting, the best setting's model for each seed, evidence."""
        work = self._prepare(data, workshop)
        tried = self._try_settings(data, work, workshop)
        best = max(tried, key=lambda setting: tried[setting][0])
        fit = partial(self._fit, data, work, work.train, best)
        models = list(
            counted(in_parallel(fit, workshop.seeds), "models", len(workshop.seeds), workshop)
        )
        of_test = work.features[work.test]
        said = [_concept_evidence(data, work.test, model, of_test) for model in models]
        located = [self._located(data, work, model) for model in models]
        return Made(
            evidence=[list(pair) for pair in zip(said, located, strict=True)],
            tables={"settings": _settings_table(tried, best)},
            notes=(*data.notes, *work.notes),
            facts=(
                ("test accuracy", _accuracy(said)),
                ("test samples", len(work.test)),
                ("accuracy on pictures with maps", _accuracy([one.explained for one in located])),
                ("test pictures with maps", len(work.maps.rows)),
                ("examples per concept", best[0]),
                ("SVM regulariser", best[1]),
            ),
            inputs=data.digests() | work.inputs,
            model={
                "vectors": models[0].bank.vectors,
                "intercepts": models[0].bank.intercepts,
                "weights": models[0].weights,
                "bias": models[0].bias,
            },
            picture=lambda name: jpeg_bytes(data.picture(data.pictures.index(name)), longest=320),
        )

    def _prepare(self, data: ConceptData, workshop: Workshop) -> "_Work":
        backbone = load_backbone(self.backbone, self.weights)
        test, train = np.flatnonzero(data.is_test), np.flatnonzero(~data.is_test)
        inputs = weights_digest(self.weights)
        if self.pooled is not None:
            features = checked_pooled(read_npy(self.pooled), len(data), self.pooled.name)
            at_hand = data.at_hand(test)
            maps = feature_maps(data, at_hand, backbone, self.layer, workshop)
            note = (
                f"{len(at_hand)} of {len(test)} test pictures were at hand: location is scored on "
                "these, the other scores on all, from pooled features given as a file."
            )
            inputs[self.pooled.name] = sha256_of(self.pooled)
            return _Work(features, train, test, maps, inputs, (note,))
        test, train = data.at_hand(test), data.at_hand(train)
        if not len(test) or not len(train):
            raise EvidenceError(
                f"data set {data.name!r}", f"{len(train)} training and {len(test)} test pictures",
                "some of both", f"Put the pictures into {data.folder.name!r}.",
            )  # fmt: skip
        of_train = feature_maps(data, train, backbone, self.layer, workshop).pooled()
        of_test = feature_maps(data, test, backbone, self.layer, workshop)
        features = np.zeros((len(data), of_train.shape[1]), np.float32)
        features[train], features[test] = of_train, of_test.pooled()
        return _Work(features, train, test, of_test, inputs, ())

    def _fit(
        self, data: ConceptData, work: "_Work", rows: np.ndarray, setting: Setting, seed: int
    ) -> PosthocBottleneck:
        n, regulariser = setting
        features = work.features[rows]
        examples = draw_examples(
            data.presence[rows],
            None if data.known is None else data.known[rows],
            n_positive=n,
            n_negative=n,
            concepts=data.concepts,
            seed=seed,
        )
        bank = fit_concept_bank(features, examples, data.concepts, regulariser=regulariser)
        return fit_posthoc(
            bank,
            (features, data.labels[rows]),
            len(data.classes),
            projection=self.projection,
            head=self.head,
            seed=seed,
        )

    def _try_settings(
        self, data: ConceptData, work: "_Work", workshop: Workshop
    ) -> dict[Setting, tuple[float, float]]:
        """Accuracy on the held-out training pictures and on the test set, for each setting."""
        chooses = split_rows(data.labels[work.train], self.held_out, workshop.seeds[0])
        fit, choose = work.train[~chooses], work.train[chooses]
        settings = [(n, c) for n in self.n_examples for c in self.regulariser]

        def accuracies(setting: Setting) -> tuple[float, float]:
            model = self._fit(data, work, fit, setting, workshop.seeds[0])
            on_choose, on_test = (
                float(np.mean(model.predict(model.concepts(work.features[r])) == data.labels[r]))
                for r in (choose, work.test)
            )
            return on_choose, on_test

        found = counted(in_parallel(accuracies, settings), "settings", len(settings), workshop)
        return dict(zip(settings, found, strict=True))

    def _located(
        self, data: ConceptData, work: "_Work", model: PosthocBottleneck
    ) -> LocationEvidence:
        rows = work.maps.rows
        maps, pooled = [], []
        for features in work.maps:
            maps.append(concept_activation_maps(features, model.bank.vectors.astype(np.float32)))
            pooled.append(features.mean(axis=(2, 3)))
        sizes = data.sizes(rows)
        places = data.places(rows, sizes)
        return LocationEvidence(
            explained=_concept_evidence(data, rows, model, np.concatenate(pooled)),
            maps=np.concatenate(maps).astype(np.float32),
            sizes=sizes,
            part_of=data.part_of,
            parts=data.parts,
            masks=data.masks(rows),
            points=places.get("points"),
            boxes=places.get("boxes"),
        )


@dataclass(frozen=True, eq=False)
class _Work:
    """What all settings share."""

    features: Float[np.ndarray, "pictures channels"]
    train: Int[np.ndarray, " train"]
    test: Int[np.ndarray, " test"]
    maps: FeatureMaps
    inputs: dict[str, str]
    notes: tuple[str, ...]


def _concept_evidence(
    data: ConceptData,
    rows: Int[np.ndarray, " n"],
    model: PosthocBottleneck,
    features: Float[np.ndarray, "n channels"],
) -> ConceptEvidence:
    values = model.concepts(features)
    return ConceptEvidence(
        values=values,
        truth=data.presence[rows],
        known=None if data.known is None else data.known[rows],
        labels=data.labels[rows],
        predicted=model.predict(values),
        weights=model.weights,
        class_truth=data.class_truth,
        concepts=data.concepts,
        classes=data.classes,
        samples=Samples(
            index=rows,
            ids=np.array([data.pictures[row] for row in rows]),
            clusters=None if data.groups is None else data.groups[rows],
        ),
    )


def _accuracy(seeds: Sequence[ConceptEvidence]) -> float:
    return float(np.mean([np.mean(said.predicted == said.labels) for said in seeds]))


def _settings_table(
    tried: dict[Setting, tuple[float, float]], best: Setting
) -> dict[str, Sequence[Any]]:
    return {
        "examples": [n for n, _ in tried],
        "regulariser": [c for _, c in tried],
        "held_out_accuracy": [held_out for held_out, _ in tried.values()],
        "test_accuracy": [test for _, test in tried.values()],
        "chosen": [setting == best for setting in tried],
    }
