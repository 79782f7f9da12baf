"""Pipeline that discovers concepts without labels and tests if they reproduce the network's
outputs."""

from collections.abc import Iterable, Sequence
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
from theodolite.evidence.pipeline_output import ComparedModel, Produced, WorkContext
from theodolite.evidence.subject import Claim, Subject
from theodolite.models.learned_surrogate import Loss
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.loading import load_named_model
from theodolite.pipelines.faithfulness.explained_layer import (
    ExplainedLayer,
    HeadFrom,
    compute_backbone_digest,
    embed_class_patches,
    make_layer_from_images,
    make_layer_from_pooled,
)
from theodolite.pipelines.faithfulness.explanations import (
    Explanation,
    TrainingSettings,
    explain_layer,
    make_surrogate_evidence,
)
from theodolite.pipelines.faithfulness.image_segments import (
    compute_place_maps,
    embed_class_segments,
)
from theodolite.pipelines.faithfulness.method_forms import FORMS, RECIPES
from theodolite.pipelines.feature_pass import compute_weights_digest
from theodolite.pipelines.posthoc.concept_cards import make_concept_cards

Description = dict[str, float | int | str]
CLAIM = Claim("These concepts, with these importances, make up the output", samples="test samples")
TRAINED = {"sae", "concept_shap", "learned"}


@dataclass(frozen=True, kw_only=True)
class FaithfulnessPipeline:
    """Settings: discovery methods, numbers of concepts and training."""

    backbone: str
    weights: Path | None = None
    pooled: Path | None = None
    """Embeddings of all images, a row each (.npy), if images are not available."""
    head: HeadFrom = "network"
    """Layer to explain: the network's last layer, or one fitted to the classes."""
    methods: Sequence[str] = ("nmf", "svd", "pca", "kmeans", "mcd", "random")
    """Discovery methods; the verdicts are about the first."""
    concepts: int = 5
    """Number of concepts per class."""
    numbers: Sequence[int] = ()
    """Further numbers of concepts per class, for the curve."""
    curve_methods: Sequence[str] = ()
    repeats: int = 3
    """Number of seeds for the methods; the check settings use all seeds."""
    fit_methods: bool = True
    """Whether to fit a surrogate to each method, not only to the check."""
    learned_loss: Loss = "cross_entropy"
    """Loss of the fitted surrogate: on class probabilities, or on outputs (``l1``)."""
    patch_images: int = 6
    """Number of training images per class that are cut into patches."""
    card_classes: int = 4
    """Number of classes whose concepts the report shows."""
    epochs: dict[str, int] = field(default_factory=dict)
    """Epochs of ``sae``, ``concept_shap`` and ``learned``; 0 skips the last."""

    def make(self, data: LabeledImages, context: WorkContext) -> Produced:
        """Find concepts by every method, and return the evidence of each explanation."""
        self._check()
        if not isinstance(data, LabeledImages):
            raise EvidenceError(
                "data set", f"{getattr(data, 'name', data)}, which has no classes of images",
                "labeled images", "Use one such as cifar10 or cub_images.",
            )  # fmt: skip
        backbone = load_named_model(self.backbone, weights=self.weights)
        layer = self._layer(data, backbone, context)
        first, models, without = self.explain(layer, context, self.training)
        models += self.make_more_models(layer, data, backbone, context)
        without |= self.describe_classes_without(models)
        cards, images = make_concept_cards(first, layer, data, self.card_classes)
        accuracy = float(np.mean(layer.compute_logits(layer.test).argmax(axis=1) == layer.labels))
        return Produced(
            evidence=models[0].evidence,
            about={**models[0].about, "name": models[0].name},
            compared=models[1:],
            notes=(*data.notes, *self._notes(), *note_classes_without(without)),
            facts=(
                (f"test accuracy of {self._answers()}", accuracy),
                ("test samples", len(layer.labels)),
                ("classes", len(layer.classes)),
                ("dimensions", layer.test.shape[1]),
                ("concepts per class", self.concepts),
                ("method of the verdicts", self.methods[0]),
            ),
            inputs=self.get_digests(data),
            model={"head": layer.head, "bias": layer.bias},
            concept_cards=cards,
            images=images,
            subject=self.get_subject(data),
            claim=CLAIM,
        )

    def make_more_models(
        self, layer: ExplainedLayer, data: LabeledImages, backbone: LoadedModel,
        context: WorkContext,
    ) -> Iterable[ComparedModel]:  # fmt: skip
        """Return further explanations to compare. A pipeline of a study overrides this."""
        del layer, data, backbone, context
        return ()

    def describe_classes_without(
        self, models: Sequence[ComparedModel]
    ) -> dict[str, tuple[str, ...]]:
        """Return why classes of further explanations got none, by the explanation's name."""
        del models
        return {}

    @property
    def training(self) -> TrainingSettings:
        """Settings of the methods that are trained."""
        return TrainingSettings(self.learned_loss, **self.epochs)

    def _answers(self) -> str:
        return "the reference layer" if self.head == "probe" else "the network"

    def get_subject(self, data: LabeledImages | ConceptData | MaskData) -> Subject:
        """Return the subject: concepts of the first method, of the network or a fitted layer."""
        fitted = "a linear layer that theodolite fitted to its embeddings and the same labels"
        own = self.head == "network"
        return Subject(
            f"{self.concepts} concepts a class found by {self.methods[0]}",
            f"{self.backbone}, last layer" if own else self.backbone,
            "model" if own else "probe_only",
            "" if own else fitted,
            data.name,
        )

    def explain(
        self, layer: ExplainedLayer, context: WorkContext, training: TrainingSettings
    ) -> tuple[Explanation, list[ComparedModel], dict[str, tuple[str, ...]]]:
        """Return the first explanation, those of other methods, and classes without any."""
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
                seeds.append([make_surrogate_evidence(explanation, layer, seed, epochs, full=full)])
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
        unknown = sorted({*self.methods, *self.curve_methods} - set(RECIPES))
        if unknown or not self.methods:
            raise EvidenceError("methods", f"{unknown or 'none'}", f"some of {sorted(RECIPES)}")
        odd = sorted(set(self.epochs) - TRAINED)
        if odd:
            raise EvidenceError("epochs", f"{odd}", f"some of {sorted(TRAINED)}")

    def _numbers(self, method: str) -> list[int]:
        curve = method in (self.curve_methods or self.methods)
        return list(dict.fromkeys([self.concepts, *(self.numbers if curve else ())]))

    def _layer(
        self, data: LabeledImages, backbone: LoadedModel, context: WorkContext
    ) -> ExplainedLayer:
        context.progress("embeddings", 0, 1)
        if self.pooled is None:
            embeddings, (head, bias) = make_layer_from_images(data, self.head, backbone)
        else:
            embeddings, (head, bias) = make_layer_from_pooled(
                data, self.pooled, self.head, backbone
            )
        context.progress("embeddings", 1, 1)
        digest = compute_backbone_digest(self.weights, self.backbone)
        predicted = (embeddings @ head.T + bias).argmax(axis=1)
        patches = embed_class_patches(data, predicted, backbone, self.patch_images, digest, context)
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
                cut: embed_class_segments(data, patches, backbone, cut)
                for cut in ("grid", "slic")
                if cut in looked_at
            },
            places=compute_place_maps(data, backbone) if "places" in looked_at else None,
        )

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

    def get_digests(self, data: LabeledImages | ConceptData | MaskData) -> dict[str, str]:
        """Return the digest of every input file."""
        pooled = {} if self.pooled is None else {self.pooled.name: sha256_of(self.pooled)}
        return data.digests() | compute_weights_digest(self.weights) | pooled


def note_classes_without(without: dict[str, tuple[str, ...]]) -> list[str]:
    """Return a note on the classes that got no explanation, if there are any."""
    lacking = {name: reasons for name, reasons in without.items() if reasons}
    if not lacking:
        return []
    counts = ", ".join(f"{name}: {len(reasons)}" for name, reasons in lacking.items())
    first = next(iter(lacking.values()))[0]
    return [
        f"Classes without an explanation: {counts}. Their outputs are explained by the bias alone. "
        f"The first because: {first}"
    ]
