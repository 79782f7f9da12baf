"""Dissect the units of the explained layer, if the data set says where its parts are.

A step of the pipeline for post-hoc bottlenecks.
"""

from dataclasses import replace

from theodolite.datasets.concept_data import ConceptData
from theodolite.datasets.masks.concept_masks import make_concept_masks
from theodolite.evidence.pipeline_output import Produced, WorkContext
from theodolite.models.loaded_model import LoadedModel
from theodolite.pipelines.dissection.pipeline import DissectionPipeline
from theodolite.pipelines.feature_pass import FeaturePass

MIN_IMAGES = 2
"""Smallest number of images, since the null permutes masks over images."""


def with_units(
    produced: Produced,
    data: ConceptData,
    maps: FeaturePass,
    backbone: LoadedModel,
    layer: str | None,
    context: WorkContext,
) -> Produced:
    """Return the product of a pipeline with the units of the layer.

    They are what ``theodolite dissect`` makes of the same images, whose maps are in the cache; with
    fewer than two images that have regions there are none. A unit is a channel of the layer. Parts
    are concepts with regions, which a unit can be named after.
    """
    masks = make_concept_masks(data, maps.rows)
    if masks is None or len(masks) < MIN_IMAGES:
        return produced
    pipeline = DissectionPipeline(backbone=backbone.name, layer=layer)
    units = pipeline.make_with(backbone, masks, context)
    first, *others = produced.evidence
    return replace(
        produced,
        evidence=[[*first, *units.evidence[0]], *others],
        tables={**produced.tables, **units.tables},
        notes=(*produced.notes, *(note for note in units.notes if note not in produced.notes)),
        facts=(*produced.facts, *units.facts),
        images=units.images,
        cards=units.cards,
    )
