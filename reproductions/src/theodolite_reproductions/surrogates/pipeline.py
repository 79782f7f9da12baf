"""Explain layers as the surrogate paper does: sanity checks, middle layers, other outputs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from theodolite.datasets.concept_data import ConceptData
from theodolite.datasets.labeled_images import LabeledImages
from theodolite.datasets.masks.mask_data import MaskData
from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import ComparedModel, Produced, WorkContext
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.loading import load_named_model
from theodolite.pipelines.faithfulness.explained_layer import (
    ExplainedLayer,
    FoundOn,
    compute_backbone_digest,
)
from theodolite.pipelines.faithfulness.method_forms import RECIPES
from theodolite.pipelines.faithfulness.pipeline import (
    CLAIM,
    Description,
    FaithfulnessPipeline,
    note_classes_without,
)
from theodolite_reproductions.surrogates.check_settings import settings_of_the_check
from theodolite_reproductions.surrogates.middle_layers import middle_evidence, middle_images
from theodolite_reproductions.surrogates.other_outputs import area_layer, attribute_layer
from theodolite_reproductions.surrogates.rest_of_network import RestOfNetwork

IN_THE_MIDDLE = {"nmf", "svd", "pca", "kmeans", "random"}
"""Methods that find as many directions as asked for, class by class."""


@dataclass(frozen=True, kw_only=True)
class FaithfulnessStudyPipeline(FaithfulnessPipeline):
    """Settings of the methods, and of what the paper compares them with."""

    sanity: bool = True
    """Whether measures are put to the test as well: on a perfect explanation and on spoilt ones."""
    layers: Sequence[str] = ()
    """Layers in the middle of the network to explain as well."""
    layer_methods: Sequence[str] = ("nmf", "pca")
    layer_images: int = 500
    target: str = ""
    """With masks as data: the concept whose area is the one output."""
    outputs: int = 0
    """With attributes as data: how many are explained; 0 for all."""
    images: int = 0
    """With attributes as data: how many images are used beside the fit; 0 for all."""
    found_on: Sequence[FoundOn] = ("positive", "all")
    """With attributes as data: training images that the concepts of one are found in."""

    def make(self, data: LabeledImages | ConceptData | MaskData, context: WorkContext) -> Produced:
        """Find concepts by every method, and compare each explanation with the outputs."""
        if isinstance(data, LabeledImages):
            return super().make(data, context)
        self._check()
        return self._make_other(data, context)

    def make_more_models(
        self, layer: ExplainedLayer, data: LabeledImages, backbone: LoadedModel,
        context: WorkContext,
    ) -> Iterator[ComparedModel]:  # fmt: skip
        """Yield the settings of the check, and explanations of layers in the middle."""
        if self.sanity and len(layer.classes) > 1:
            yield from settings_of_the_check(layer, context, self.training)
        yield from self._middle(data, backbone, context)

    def describe_classes_without(
        self, models: Sequence[ComparedModel]
    ) -> dict[str, tuple[str, ...]]:
        """Return the classes that got no concepts at a layer in the middle."""
        without = {}
        for model in models:
            if model.about["kind"] == "layer":
                table = model.evidence[0][0].importances  # type: ignore[attr-defined]
                n = int(np.isnan(table).all(axis=0).sum())
                without[model.name] = ("no training image is predicted as it.",) * n
        return without

    def _make_other(self, data: ConceptData | MaskData, context: WorkContext) -> Produced:
        """Explain outputs that are no classes, by methods that need no labels."""
        wrong = sorted({"concept_shap", "craft"} & {RECIPES[name].method for name in self.methods})
        if wrong:
            raise EvidenceError("methods", f"{wrong}", "methods that need no classes")
        if isinstance(data, ConceptData):
            layer, facts = attribute_layer(data, self.pooled, self.outputs, self.images)
            layers = [replace(layer, found_on=on) for on in self.found_on]
        else:
            backbone = load_named_model(self.backbone, weights=self.weights)
            digest = compute_backbone_digest(self.weights, self.backbone)
            layer, facts = area_layer(data, self.target, backbone, digest, context)
            layers = [layer]
        training = replace(self.training, learned=0)
        models: list[ComparedModel] = []
        without: dict[str, tuple[str, ...]] = {}
        for number, each in enumerate(layers):
            _, own, lacking = self.explain(each, context, training)
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
            notes=(*data.notes, *note_classes_without(without)),
            facts=(
                *facts.items(), ("test samples", len(layer.test)), ("outputs", len(layer.classes)),
                ("concepts per output", self.concepts),
            ),
            inputs=self.get_digests(data),
            model={"head": layer.head, "bias": layer.bias},
            subject=self.get_subject(data),
            claim=CLAIM,
        )  # fmt: skip

    def _middle(
        self, data: LabeledImages, backbone: LoadedModel, context: WorkContext
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

    def _check(self) -> None:
        super()._check()
        if not self.layers:
            return
        unknown = sorted(set(self.layer_methods) - IN_THE_MIDDLE)
        if unknown:
            raise EvidenceError("layer_methods", f"{unknown}", f"some of {sorted(IN_THE_MIDDLE)}")
