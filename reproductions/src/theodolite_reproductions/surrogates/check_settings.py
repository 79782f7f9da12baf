"""Explanations of a layer that are perfect or spoilt, to check measures of faithfulness with."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.pipeline_output import ComparedModel, WorkContext
from theodolite.evidence.surrogate_settings import SETTINGS, compute_outputs
from theodolite.pipelines.faithfulness.explained_layer import ExplainedLayer
from theodolite.pipelines.faithfulness.explanations import TrainingSettings, compute_learned_outputs
from theodolite.pipelines.parallel import report_progress, run_in_parallel


def settings_of_the_check(
    layer: ExplainedLayer, context: WorkContext, training: TrainingSettings
) -> Iterator[ComparedModel]:
    """A perfect explanation, and what is left of it after it was spoilt."""
    layer_evidence = SurrogateEvidence(
        importances=np.ones((1, len(layer.classes))),
        projections=np.ones((len(layer.test), 1)),
        embeddings=layer.test,
        head=layer.head,
        bias=layer.bias,
        labels=layer.labels,
        classes=layer.classes,
        samples=layer.samples,
    )
    by_setting = {
        name: [_slim(make(layer_evidence, seed), layer) for seed in context.seeds]
        for name, make in SETTINGS.items()
    }
    if training.learned:
        # what is fitted does not look at importances: both settings have the same concepts
        same, other = by_setting["perfect"], by_setting["random_concepts"]
        fit = partial(_fit_surrogate, layer, training)
        jobs = list(zip([*context.seeds] * 2, [*same, *other], strict=True))
        surrogate_outputs = list(
            report_progress(run_in_parallel(fit, jobs), "fitted surrogates", len(jobs), context)
        )
        n = len(same)
        for name, learned in (
            ("perfect", surrogate_outputs[:n]),
            ("random_importances", surrogate_outputs[:n]),
            ("random_concepts", surrogate_outputs[n:]),
        ):
            by_setting[name] = [
                replace(e, learned=v) for e, v in zip(by_setting[name], learned, strict=True)
            ]
    for name, seeds in by_setting.items():
        description: dict[str, float | int | str] = {"kind": "setting", "setting": name}
        yield ComparedModel(
            f"setting-{name.replace(' ', '-')}", description, [[evidence] for evidence in seeds]
        )


def _slim(evidence: SurrogateEvidence, layer: ExplainedLayer) -> SurrogateEvidence:
    """The same without embeddings, which would be stored for every setting and seed."""
    vectors = np.asarray(evidence.vectors, np.float32)
    return replace(
        evidence,
        embeddings=None,
        outputs=compute_outputs(evidence).astype(np.float32),
        projections=layer.test @ vectors.T,
        vectors=vectors,
    )


def _fit_surrogate(
    layer: ExplainedLayer, training: TrainingSettings, job: tuple[int, SurrogateEvidence]
) -> np.ndarray | None:
    seed, evidence = job
    vectors = np.asarray(evidence.vectors)
    codes = (layer.train @ vectors.T, np.asarray(evidence.projections))
    return compute_learned_outputs(layer, codes, np.asarray(evidence.importances), seed, training)
