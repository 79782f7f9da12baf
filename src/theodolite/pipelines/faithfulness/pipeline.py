"""Concepts found without labels, and whether they make up what a network puts out: paper 002."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from theodolite._storage.paths import sha256_of
from theodolite.datasets.concept_data import ConceptData
from theodolite.datasets.labeled_images import LabeledImages
from theodolite.datasets.masks.mask_data import MaskData
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Samples
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.produced import ComparedModel, Produced, WorkContext
from theodolite.evidence.subject import Claim, Subject
from theodolite.models.backbones import Backbone, load_backbone
from theodolite.models.learned_surrogate import Loss
from theodolite.models.rest_of_network import RestOfNetwork
from theodolite.pipelines.faithfulness.check_settings import settings_of_the_check
from theodolite.pipelines.faithfulness.explained_layer import (
    ExplainedLayer,
    FoundOn,
    HeadFrom,
    class_patches,
    digest_of,
    layer_from_images,
    layer_from_pooled,
)
from theodolite.pipelines.faithfulness.explanations import (
    Explanation,
    TrainingSettings,
    evidence_of,
    explain_layer,
)
from theodolite.pipelines.faithfulness.middle_layers import middle_evidence, middle_images
from theodolite.pipelines.faithfulness.other_outputs import area_layer, attribute_layer
from theodolite.pipelines.faithfulness.parts_of_images import class_segments, place_maps
from theodolite.pipelines.faithfulness.recipes import FORMS, RECIPES
from theodolite.pipelines.features import weights_digest
from theodolite.pipelines.posthoc.concept_cards import concept_cards

Description = dict[str, float | int | str]
CLAIM = Claim("These concepts, with these importances, make up the output", samples="test samples")
IN_THE_MIDDLE = {"nmf", "svd", "pca", "kmeans", "random"}
"""Methods that find as many directions as asked for, class by class."""
TRAINED = {"sae", "concept_shap", "learned"}


@dataclass(frozen=True, kw_only=True)
class FaithfulnessPipeline:
    """Which methods find how many concepts, and what is asked of them."""

    backbone: str
    weights: Path | None = None
    pooled: Path | None = None
    """Embeddings of all images, a row each (.npy), where not all images are at hand."""
    head: HeadFrom = "network"
    """The layer that is explained: the network's own last layer, or one fitted to the classes."""
    methods: Sequence[str] = ("nmf", "svd", "pca", "kmeans", "mcd", "random")
    """The first is the one that the verdicts are about."""
    concepts: int = 5
    """Concepts a class."""
    numbers: Sequence[int] = ()
    """Further numbers of concepts a class, for the curve of score against number."""
    curve_methods: Sequence[str] = ()
    repeats: int = 3
    """How many of the seeds the methods are run with; the settings of the check take all."""
    sanity: bool = True
    """Whether measures are put to the test as well: on a perfect explanation and on spoilt ones."""
    fit_methods: bool = True
    """Whether a surrogate is fitted to each method as well, and not to the check alone."""
    learned_loss: Loss = "cross_entropy"
    """What the fitted surrogate is fitted by: class probabilities, or outputs (``l1``)."""
    layers: Sequence[str] = ()
    """Layers in the middle of the network to explain as well."""
    layer_methods: Sequence[str] = ("nmf", "pca")
    layer_images: int = 500
    patch_images: int = 6
    """Training images a class that are cut into patches."""
    card_classes: int = 4
    """Classes whose concepts the report shows."""
    epochs: dict[str, int] = field(default_factory=dict)
    """Epochs of ``sae``, ``concept_shap`` and ``learned``; 0 leaves the last out."""
    target: str = ""
    """With masks as data: the concept whose area is the one output."""
    outputs: int = 0
    """With attributes as data: how many are explained; 0 for all."""
    images: int = 0
    """With attributes as data: how many images are used beside the fit; 0 for all."""
    found_on: Sequence[FoundOn] = ("positive", "all")
    """With attributes as data: training images that the concepts of one are found in."""

    def make(self, data: LabeledImages | ConceptData | MaskData, context: WorkContext) -> Produced:
        """Find concepts by every method, and hold each explanation against the network."""
        self._check()
        if not isinstance(data, LabeledImages):
            return self._make_other(data, context)
        backbone = load_backbone(self.backbone, self.weights)
        layer = self._layer(data, backbone, context)
        training = TrainingSettings(self.learned_loss, **self.epochs)
        first, models, without = self._methods(layer, context, training)
        if self.sanity and len(layer.classes) > 1:
            models += settings_of_the_check(layer, context, training)
        models += self._middle(data, backbone, context)
        without |= _bare_in_the_middle(models)
        cards, images = concept_cards(first, layer, data, self.card_classes)
        accuracy = float(np.mean(layer.outputs(layer.test).argmax(axis=1) == layer.labels))
        return Produced(
            evidence=models[0].evidence,
            about={**models[0].about, "name": models[0].name},
            compared=models[1:],
            notes=(*data.notes, *self._notes(), *_left_out(without)),
            facts=(
                (f"test accuracy of {self._answers()}", accuracy),
                ("test samples", len(layer.labels)),
                ("classes", len(layer.classes)),
                ("dimensions", layer.test.shape[1]),
                ("concepts per class", self.concepts),
                ("method of the verdicts", self.methods[0]),
            ),
            inputs=data.digests() | weights_digest(self.weights) | self._pooled_digest(),
            model={"head": layer.head, "bias": layer.bias},
            concept_cards=cards,
            images=images,
            subject=self._subject(data),
            claim=CLAIM,
        )

    def _make_other(self, data: ConceptData | MaskData, context: WorkContext) -> Produced:
        """Explain outputs that are no classes, by methods that need no labels."""
        wrong = sorted({"concept_shap", "craft"} & {RECIPES[name].method for name in self.methods})
        if wrong:
            raise EvidenceError("methods", f"{wrong}", "methods that need no classes")
        if isinstance(data, ConceptData):
            layer, facts = attribute_layer(data, self.pooled, self.outputs, self.images)
            layers = [replace(layer, found_on=on) for on in self.found_on]
        else:
            backbone = load_backbone(self.backbone, self.weights)
            digest = digest_of(self.weights, self.backbone)
            layer, facts = area_layer(data, self.target, backbone, digest, context)
            layers = [layer]
        training = replace(TrainingSettings(self.learned_loss, **self.epochs), learned=0)
        models: list[ComparedModel] = []
        without: dict[str, tuple[str, ...]] = {}
        for number, each in enumerate(layers):
            _, own, lacking = self._methods(each, context, training)
            tail = f"-{each.found_on}" if number else ""
            models += [
                replace(m, name=m.name + tail, about={**m.about, "found_on": each.found_on})
                for m in own
            ]
            without |= {name + tail: reasons for name, reasons in lacking.items()}
        return Produced(
            evidence=models[0].evidence,
            about={**models[0].about, "name": models[0].name},
            compared=models[1:],
            notes=(*data.notes, *_left_out(without)),
            facts=(
                *facts.items(), ("test samples", len(layer.test)), ("outputs", len(layer.classes)),
                ("concepts per output", self.concepts),
            ),
            inputs=data.digests() | weights_digest(self.weights) | self._pooled_digest(),
            model={"head": layer.head, "bias": layer.bias},
            subject=self._subject(data),
            claim=CLAIM,
        )  # fmt: skip

    def _answers(self) -> str:
        return "the reference layer" if self.head == "probe" else "the network"

    def _subject(self, data: LabeledImages | ConceptData | MaskData) -> Subject:
        """Concepts of the first method; of a fitted layer, if the network has other classes."""
        fitted = "a linear layer that theodolite fitted to its embeddings and the same labels"
        own = self.head == "network"
        return Subject(
            f"{self.concepts} concepts a class found by {self.methods[0]}",
            f"{self.backbone}, last layer" if own else self.backbone,
            "model" if own else "probe_only",
            "" if own else fitted,
            data.name,
        )

    def _methods(
        self, layer: ExplainedLayer, context: WorkContext, training: TrainingSettings
    ) -> tuple[Explanation, list[ComparedModel], dict[str, tuple[str, ...]]]:
        """Every method's explanations, the first of them, and classes that got none."""
        jobs = [(m, n) for m in self.methods for n in self._numbers(m)]
        chosen = context.seeds[: self.repeats]
        steps = len(jobs) * len(chosen)
        explanations: list[Explanation] = []
        models: list[ComparedModel] = []
        without: dict[str, tuple[str, ...]] = {}
        for method, n in jobs:
            main = n == self.concepts
            fits = main and self.fit_methods and method not in FORMS
            epochs = training if fits else replace(training, learned=0)
            seeds: list[list[SurrogateEvidence]] = []
            for seed in chosen:
                context.progress("explanations", len(models) * len(chosen) + len(seeds), steps)
                explanation = explain_layer(layer, method, n, seed, training)
                full = main and method == self.methods[0]
                seeds.append([evidence_of(explanation, layer, seed, epochs, full=full)])
                explanations = explanations or [explanation]
                without[f"{method}-{n}"] = explanation.without
            there = ~np.isnan(np.asarray(seeds[0][0].importances))
            description: Description = {
                "kind": "method",
                "method": method,
                "concepts": n,
                "directions": round(float(there.sum(axis=0).mean())),
            }
            models.append(ComparedModel(f"{method}-{n}", description, seeds))
        context.progress("explanations", steps, steps)
        return explanations[0], models, without

    def _check(self) -> None:
        unknown = sorted({*self.methods, *self.curve_methods, *self.layer_methods} - set(RECIPES))
        if unknown or not self.methods:
            raise EvidenceError("methods", f"{unknown or 'none'}", f"some of {sorted(RECIPES)}")
        wrong = sorted(set(self.layer_methods) - IN_THE_MIDDLE) if self.layers else []
        if wrong:
            raise EvidenceError("layer_methods", f"{wrong}", f"some of {sorted(IN_THE_MIDDLE)}")
        odd = sorted(set(self.epochs) - TRAINED)
        if odd:
            raise EvidenceError("epochs", f"{odd}", f"some of {sorted(TRAINED)}")

    def _numbers(self, method: str) -> list[int]:
        curve = method in (self.curve_methods or self.methods)
        return list(dict.fromkeys([self.concepts, *(self.numbers if curve else ())]))

    def _layer(
        self, data: LabeledImages, backbone: Backbone, context: WorkContext
    ) -> ExplainedLayer:
        context.progress("embeddings", 0, 1)
        if self.pooled is None:
            embeddings, (head, bias) = layer_from_images(data, self.head, backbone)
        else:
            embeddings, (head, bias) = layer_from_pooled(data, self.pooled, self.head, backbone)
        context.progress("embeddings", 1, 1)
        digest = digest_of(self.weights, self.backbone)
        predicted = (embeddings @ head.T + bias).argmax(axis=1)
        patches = class_patches(data, predicted, backbone, self.patch_images, digest, context)
        test = np.flatnonzero(data.is_test)
        looked_at = {RECIPES[method].rows for method in self.methods}
        return ExplainedLayer(
            train=embeddings[~data.is_test],
            test=embeddings[test],
            head=head,
            bias=bias,
            train_labels=data.labels[~data.is_test],
            labels=data.labels[test],
            classes=Classes(data.classes),
            samples=Samples(index=test, ids=np.array([data.ids[row] for row in test])),
            patches=patches,
            segments={
                cut: class_segments(data, patches, backbone, cut)
                for cut in ("grid", "slic")
                if cut in looked_at
            },
            places=place_maps(data, backbone) if "places" in looked_at else None,
        )

    def _middle(
        self, data: LabeledImages, backbone: Backbone, context: WorkContext
    ) -> Iterator[ComparedModel]:
        if not self.layers:
            return
        images = middle_images(data, backbone, self.layer_images)
        jobs = [(name, method) for name in self.layers for method in self.layer_methods]
        for at, (name, method) in enumerate(jobs):
            context.progress("layers in the middle", at, len(jobs))
            rest = RestOfNetwork(backbone.network, name)
            seeds = [
                [middle_evidence(images, rest, method, self.concepts, seed)]
                for seed in context.seeds[: self.repeats]
            ]
            description: Description = {
                "kind": "layer",
                "layer": name,
                "method": method,
                "concepts": self.concepts,
            }
            yield ComparedModel(f"{name}-{method}", description, seeds)
        context.progress("layers in the middle", len(jobs), len(jobs))

    def _notes(self) -> list[str]:
        notes = []
        if self.head == "probe":
            notes.append(
                "The explained layer is a linear classifier fitted to embeddings of the training "
                "images: the network's own last layer has other classes."
            )
        if self.pooled is not None:
            notes.append(
                "Embeddings come from a file; patches are embedded by the network itself, from "
                "those images that are at hand."
            )
        return notes

    def _pooled_digest(self) -> dict[str, str]:
        return {} if self.pooled is None else {self.pooled.name: sha256_of(self.pooled)}


def _left_out(without: dict[str, tuple[str, ...]]) -> list[str]:
    lacking = {name: reasons for name, reasons in without.items() if reasons}
    if not lacking:
        return []
    counts = ", ".join(f"{name}: {len(reasons)}" for name, reasons in lacking.items())
    first = next(iter(lacking.values()))[0]
    return [
        f"Classes without an explanation: {counts}. Their outputs are explained by the bias alone. "
        f"The first because: {first}"
    ]


def _bare_in_the_middle(models: Sequence[ComparedModel]) -> dict[str, tuple[str, ...]]:
    """Classes that got no concepts at a layer in the middle."""
    without = {}
    for model in models:
        if model.about["kind"] == "layer":
            table = model.evidence[0][0].importances  # type: ignore[attr-defined]
            n = int(np.isnan(table).all(axis=0).sum())
            without[model.name] = ("no training image is predicted as it.",) * n
    return without
