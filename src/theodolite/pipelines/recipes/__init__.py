"""Recipes of the networks on the shelf: each trains one network and returns card and weights."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from theodolite.evidence.pipeline_output import Progress
from theodolite.models.shelf import ModelCard
from theodolite.pipelines.recipes.monumai_lite0 import train_monumai_lite0

Recipe = Callable[[Path, Path | None, int, Progress], tuple[ModelCard, dict[str, np.ndarray]]]
"""From the folder of the data, the base's weights, a seed and a progress callback."""

RECIPES: dict[str, Recipe] = {"monumai-lite0": train_monumai_lite0}
