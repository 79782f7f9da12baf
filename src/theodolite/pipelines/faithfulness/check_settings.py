"""Explanations of a layer that are perfect or spoilt, to check measures of faithfulness with."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.produced import ComparedModel, WorkContext
from theodolite.evidence.surrogate_settings import SETTINGS, outputs_of
from theodolite.pipelines.faithfulness.explained_layer import ExplainedLayer
from theodolite.pipelines.faithfulness.explanations import TrainingSettings, learned_outputs
from theodolite.pipelines.parallel import counted, in_parallel


def settings_of_the_check(
    layer: ExplainedLayer, workshop: WorkContext, training: TrainingSettings
) -> Iterator[ComparedModel]:
    """A perfect explanation, and what is left of it after it was spoilt."""
    given = SurrogateEvidence(
        importances=np.ones((1, len(layer.classes))),
        projections=np.ones((len(layer.test), 1)),
        embeddings=layer.test,
        head=layer.head,
        bias=layer.bias,
        labels=layer.labels,
        classes=layer.classes,
        samples=layer.samples,
    )
    made = {
        name: [_slim(make(given, seed), layer) for seed in workshop.seeds]
        for name, make in SETTINGS.items()
    }
    if training.learned:
        # what is fitted does not look at importances: both settings have the same concepts
        same, other = made["perfect"], made["random concepts"]
        fit = partial(_fitted, layer, training)
        jobs = list(zip([*workshop.seeds] * 2, [*same, *other], strict=True))
        found = list(counted(in_parallel(fit, jobs), "fitted surrogates", len(jobs), workshop))
        n = len(same)
        for name, learned in (
            ("perfect", found[:n]),
            ("random importances", found[:n]),
            ("random concepts", found[n:]),
        ):
            made[name] = [replace(e, learned=v) for e, v in zip(made[name], learned, strict=True)]
    for name, seeds in made.items():
        about: dict[str, float | int | str] = {"kind": "setting", "setting": name}
        yield ComparedModel(f"setting-{name.replace(' ', '-')}", about, [[one] for one in seeds])


def _slim(evidence: SurrogateEvidence, layer: ExplainedLayer) -> SurrogateEvidence:
    """The same without embeddings, which would be stored for every setting and seed."""
    vectors = np.asarray(evidence.vectors, np.float32)
    return replace(
        evidence,
        embeddings=None,
        outputs=outputs_of(evidence).astype(np.float32),
        projections=layer.test @ vectors.T,
        vectors=vectors,
    )


def _fitted(
    layer: ExplainedLayer, training: TrainingSettings, job: tuple[int, SurrogateEvidence]
) -> np.ndarray | None:
    seed, evidence = job
    vectors = np.asarray(evidence.vectors)
    codes = (layer.train @ vectors.T, np.asarray(evidence.projections))
    return learned_outputs(layer, codes, np.asarray(evidence.importances), seed, training)
