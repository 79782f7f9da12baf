"""A small run from images to report, shared by tests: drawn shapes, a tiny network, real code."""

from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from theodolite.datasets.shapes import write_shapes

SPEC = """
name: shapes
title: Shapes <b>& signs</b>
dataset: {name: folder, root: shapes}
pipeline:
  name: posthoc_cbm
  backbone: test_resnet
  weights: weights.safetensors
  n_examples: [6, 12]
  regulariser: [0.1, 1]
seeds: [0, 1]
resampling: {resamples: 50, clusters: classes}
metrics:
  - {name: concept_existence, options: {rank_by: [contribution, value], top: [1, 2, 3]}}
  - {name: concept_global_importance, options: {over: [concepts, classes]}}
  - {name: concept_location, options: {top: [1, 2], alpha: [1, 3]}}
  - {name: pointing_game, options: {target: [points, boxes, masks]}}
report:
  examples: 3
  differs: It is drawn.
  histograms:
    - {title: Per concept, metric: concept_global_importance, over: concepts, sweep: form}
"""


def write_inputs(root: Path) -> Path:
    """A data folder with shapes and random weights, and a spec beside it."""
    import timm  # noqa: PLC0415
    import torch  # noqa: PLC0415

    write_shapes(root / "data" / "shapes", 48)
    torch.manual_seed(0)
    arrays = timm.create_model("test_resnet").state_dict()
    save_file(
        {k: np.asarray(v.numpy(), order="C") for k, v in arrays.items()},
        root / "data" / "weights.safetensors",
    )
    (root / "spec.yaml").write_text(SPEC)
    return root
