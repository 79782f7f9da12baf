"""Pipeline that fits a post-hoc concept bottleneck on a frozen network and audits it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from theodolite._storage.arrays import read_npy
from theodolite._storage.images import encode_jpeg
from theodolite._storage.paths import sha256_of
from theodolite.datasets.concept_data import ConceptData, split_rows
from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence
from theodolite.evidence.pipeline_output import Produced, WorkContext
from theodolite.models.concept_bank import Projection
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.loading import load_named_model
from theodolite.models.posthoc import Head, PosthocBottleneck
from theodolite.pipelines.feature_pass import (
    check_pooled,
    compute_weights_digest,
    run_feature_pass,
)
from theodolite.pipelines.parallel import report_progress, run_in_parallel
from theodolite.pipelines.posthoc.evidence import (
    PostHocInputs,
    Setting,
    facts,
    make_evidence,
    setting_facts,
    settings_table,
)
from theodolite.pipelines.posthoc.fitted import FitSettings, TrainingSet, fit_or_load
from theodolite.pipelines.posthoc.network import (
    NetworkOutputs,
    compare_own_outputs,
    compute_fitted_outputs,
    make_claim,
    make_subject,
    take_network_outputs,
)
from theodolite.pipelines.posthoc.saliency import draw_images, with_saliency
from theodolite.pipelines.posthoc.units import with_units


@dataclass(frozen=True, kw_only=True)
class PosthocPipeline:
    """Settings of the post-hoc concept bottleneck pipeline."""

    backbone: str
    weights: Path | None = None
    classes: Sequence[str] = ()
    """Class names of the network's outputs in order, where it does not say them."""
    preprocessing: dict[str, Any] | None = None
    """Size, mean and std of images, where the network does not say them."""
    layer: str | None = None
    pooled: Path | None = None
    """Pooled features of all images, a row each (.npy), if images are not available."""
    n_examples: Sequence[int] = (50, 100)
    """Numbers of examples with and without each concept, to try."""
    regulariser: Sequence[float] = (0.001, 0.01, 0.1, 1.0, 10.0)
    """Values of the SVM's C, to try."""
    projection: Projection = "dot"
    head: Head = "logistic"
    held_out: float = 0.2
    """Fraction of training images that choose among the settings."""
    units: bool = False
    """Whether to dissect the layer's units, if the data set has masks."""
    saliency_images: int = 0
    """Number of test images that are explained by saliency maps as well."""
    setting_seeds: bool = False
    """Whether to try every setting with every seed; the first seed's trials choose."""

    def make(self, data: ConceptData, context: WorkContext) -> Produced:
        """Fit each setting, choose the best, and return the evidence for each seed."""
        return self.make_with(self.load_network(), data, context)

    def load_network(self) -> LoadedModel:
        """Return the network of these settings."""
        return load_named_model(
            self.backbone, weights=self.weights, classes=self.classes or None,
            preprocessing=self.preprocessing,
        )  # fmt: skip

    def make_with(self, backbone: LoadedModel, data: ConceptData, context: WorkContext) -> Produced:
        """Return the evidence with a given network; ``backbone`` is only its name.

        If it has outputs for classes of the data, it answers for itself.
        """
        work = self._prepare(data, backbone, context)
        produced = self._with_layer(self._produce(data, work, backbone, context), backbone)
        if self.units:
            produced = with_units(produced, data, work.maps, backbone, self.layer, context)
        if self.saliency_images:
            sample = draw_images(work.maps, self.saliency_images, context.seeds[0])
            layer = self.layer or backbone.layer
            produced = with_saliency(produced, data, sample, backbone, layer, context)
        return produced

    def _with_layer(self, produced: Produced, backbone: LoadedModel) -> Produced:
        assert produced.subject is not None  # noqa: S101  made below
        layer = self.layer or backbone.layer
        network = f"{backbone.name}, {layer}" if layer else backbone.name
        return replace(produced, subject=replace(produced.subject, model=network))

    def _produce(
        self,
        data: ConceptData,
        work: PostHocInputs,
        backbone: LoadedModel,
        context: WorkContext,
    ) -> Produced:
        tried = self._try_settings(data, work, context, context.seeds[0])
        best = max(tried, key=lambda setting: tried[setting][0])
        fit = partial(self._fit, data, work, context, work.train, best)
        models = list(
            report_progress(
                run_in_parallel(fit, context.seeds), "models", len(context.seeds), context
            )
        )
        rows = np.concatenate([work.train, work.test])
        answers = take_network_outputs(backbone, work.outputs, data, rows)
        answers = answers or compute_fitted_outputs(work.features, data, work.train, context.cache)
        bundles = [make_evidence(data, work, model, answers) for model in models]
        tables: dict[str, Any] = {"settings": settings_table(tried, best)}
        tables |= self.more_tables(data, work, models, bundles, answers, context.seeds)
        notes = [*data.notes, *work.notes, *(answers.notes() if answers else ())]
        if answers is not None and answers.match is None:
            values, split = models[0].concepts(work.features), (work.train, work.test)
            if other := compare_own_outputs(work.outputs, values, work.features, split):
                tables["own_outputs"], sentence = other
                notes.append(sentence)
        if self.setting_seeds:
            tables["setting_seeds"] = self._setting_seeds(data, work, context, tried)
        return Produced(
            evidence=bundles,
            tables=tables,
            notes=notes,
            facts=(*facts(data, work, bundles, answers), *setting_facts(best)),
            inputs=data.digests() | work.inputs,
            model={
                "vectors": models[0].bank.vectors,
                "intercepts": models[0].bank.intercepts,
                "means": np.asarray(models[0].bank.means),
                "weights": models[0].weights,
                "bias": models[0].bias,
            },
            image=lambda name: encode_jpeg(data.image(data.images.index(name)), longest=320),
            subject=make_subject(answers, data, self.backbone),
            claim=make_claim(data),
        )

    def more_tables(
        self,
        data: ConceptData,
        work: PostHocInputs,
        models: Sequence[PosthocBottleneck],
        bundles: Sequence[Sequence[Evidence]],
        answers: NetworkOutputs | None,
        seeds: Sequence[int],
    ) -> dict[str, Any]:
        """Return further tables of the run, by name; a pipeline built on this one has some."""
        return {}

    def _prepare(
        self, data: ConceptData, backbone: LoadedModel, context: WorkContext
    ) -> PostHocInputs:
        test, train = np.flatnonzero(data.is_test), np.flatnonzero(~data.is_test)
        inputs = compute_weights_digest(self.weights)
        if self.pooled is not None:
            features = check_pooled(read_npy(self.pooled), len(data), self.pooled.name)
            at_hand = data.at_hand(test)
            maps = run_feature_pass(data, at_hand, backbone, self.layer, context)
            note = (
                f"{len(at_hand)} of {len(test)} test images were at hand: location is scored on "
                "these, the other scores on all, from pooled features given as a file."
            )
            inputs[self.pooled.name] = sha256_of(self.pooled)
            return PostHocInputs(features, train, test, maps, inputs, (note,), None)
        test, train = data.at_hand(test), data.at_hand(train)
        if not len(test) or not len(train):
            raise EvidenceError(
                f"data set {data.name!r}", f"{len(train)} training and {len(test)} test images",
                "some of both", f"Put the images into {data.folder.name!r}.",
            )  # fmt: skip
        rows = np.sort(np.concatenate([train, test]))
        seen = run_feature_pass(data, rows, backbone, self.layer, context)
        features, outputs = (
            _place_rows(values, rows, len(data)) for values in (seen.pooled(), seen.outputs())
        )
        return PostHocInputs(features, train, test, seen.of(test), inputs, (), outputs)

    def _fit(
        self,
        data: ConceptData,
        work: PostHocInputs,
        context: WorkContext,
        rows: np.ndarray,
        setting: Setting,
        seed: int,
    ) -> PosthocBottleneck:
        known = None if data.known is None else data.known[rows]
        training = TrainingSet(
            work.features[rows], data.labels[rows], data.presence[rows], known, data.concepts
        )
        model = fit_or_load(
            training, len(data.classes), FitSettings(*setting, self.head, seed), context.cache
        )
        return model.projected(self.projection)

    def _setting_seeds(
        self,
        data: ConceptData,
        work: PostHocInputs,
        context: WorkContext,
        tried: dict[Setting, tuple[float, float]],
    ) -> dict[str, list[Any]]:
        """Try every setting with every seed, with new examples and held-out images."""
        parts = []
        for number, seed in enumerate(context.seeds):
            own = self._try_settings(data, work, context, seed) if number else tried
            columns = settings_table(own, max(own, key=lambda setting: own[setting][0]))
            parts.append({"seed": [seed] * len(own)} | {n: list(c) for n, c in columns.items()})
        return {name: [value for part in parts for value in part[name]] for name in parts[0]}

    def _try_settings(
        self, data: ConceptData, work: PostHocInputs, context: WorkContext, seed: int
    ) -> dict[Setting, tuple[float, float]]:
        """Return held-out and test accuracy for each setting."""
        chooses = split_rows(data.labels[work.train], self.held_out, seed)
        fit, choose = work.train[~chooses], work.train[chooses]
        settings = [(n, c) for n in self.n_examples for c in self.regulariser]

        def accuracies(setting: Setting) -> tuple[float, float]:
            model = self._fit(data, work, context, fit, setting, seed)
            on_choose, on_test = (
                float(np.mean(model.predict(model.concepts(work.features[r])) == data.labels[r]))
                for r in (choose, work.test)
            )
            return on_choose, on_test

        scores = report_progress(
            run_in_parallel(accuracies, settings), "settings", len(settings), context
        )
        return dict(zip(settings, scores, strict=True))


def _place_rows(
    values: Float[np.ndarray, "rows columns"], rows: Int[np.ndarray, " rows"], n: int
) -> Float[np.ndarray, "images columns"]:
    """Return an array with a row per image of the data set; rows that were not given are 0."""
    placed = np.zeros((n, values.shape[1]), np.float32)
    placed[rows] = values
    return placed
