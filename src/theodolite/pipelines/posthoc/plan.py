"""Estimate the audit of a network before it is run: images, time, bytes and questions."""

import time

import numpy as np

from theodolite.datasets.concept_data import ConceptData
from theodolite.explainers.probing.patch_answers import (
    QUICK_CEILING_IMAGES,
    QUICK_SUBSETS,
    PatchPlan,
)
from theodolite.models.class_match import match_classes
from theodolite.models.features import FeatureExtractor
from theodolite.pipelines.posthoc.pipeline import PosthocPipeline

TIMED = 8
"""Number of images that the network is timed on."""


def plan_audit(pipeline: PosthocPipeline, data: ConceptData) -> list[str]:
    """Return lines on the work of an audit, after running the network on a few images.

    Times are those of forward passes in one process; scores take further minutes.
    """
    network = pipeline.load_network()
    rows = data.at_hand(np.arange(len(data)))
    test = rows[data.is_test[rows]]
    extract = FeatureExtractor(network.network, pipeline.layer or network.layer)
    started = time.perf_counter()
    images = [network.preprocessing(data.image(int(row))) for row in rows[:TIMED]]
    maps, outputs = extract.run(np.stack(images))
    seconds = (time.perf_counter() - started) / len(images)
    size = len(rows) * maps[0].size * 2 / 1e6  # maps are kept in half precision
    lines = [
        f"{len(rows):,} images, 1 pass, about {_minutes(seconds * len(rows))}, {size:,.0f} MB of "
        "maps; images in the cache are not run again",
    ]
    n = min(pipeline.saliency_images, len(test))
    if n:
        passes = PatchPlan(QUICK_SUBSETS, QUICK_CEILING_IMAGES).count_passes(n, 1)
        lines.append(f"saliency of {n:,} test images: {passes:,} forward passes, "
                     f"about {_minutes(seconds * passes)}")  # fmt: skip
    names = network.classes if len(network.classes) == outputs.shape[1] else ()
    match = match_classes(
        names, data.classes.names, n_outputs=outputs.shape[1], test_labels=data.labels[test]
    )
    has_regions = any(
        data.region_kind(int(row), part) for row in test for part in range(len(data.parts))
    )
    questions = ["exists", *["located"] * has_regions, "leak_free", f"faithful ({match.label})"]
    questions += ["detects"] * (pipeline.units and has_regions)
    return [*lines, f"questions: {', '.join(questions)}; accepted: a study is prepared"]


def _minutes(seconds: float) -> str:
    return f"{max(seconds / 60, 0.1):.1f} min"
