"""Discovery methods and their variants: what they look at and how concepts are weighted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from theodolite.explainers.discovery.methods import METHODS

Rows = Literal["images", "patches", "grid", "slic", "places"]
"""What concepts are found in: whole images, crops, segments of an image alone on gray ground,
or all places of the map before it is pooled."""
Weighing = Literal["slope", "sobol", "contrast", "shapley", "shapley, relearned"]
"""Where importances come from."""


@dataclass(frozen=True)
class MethodRecipe:
    """A discovery method, its input rows and its importance measure."""

    method: str
    """Name in ``METHODS``."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    rows: Rows = "images"
    weighing: Weighing = "slope"


RECIPES: dict[str, MethodRecipe] = {
    **{name: MethodRecipe(name) for name in METHODS},
    "craft": MethodRecipe("craft", rows="patches", weighing="sobol"),
    "concept_shap": MethodRecipe("concept_shap", weighing="shapley"),
    "cdisco": MethodRecipe("svd", weighing="contrast"),
    "mcd_uncentered": MethodRecipe("mcd", {"centered": False}),
    "mcd_lasso": MethodRecipe("mcd", {"solver": "lasso"}),
    "mcd_lasso_uncentered": MethodRecipe("mcd", {"solver": "lasso", "centered": False}),
    "hu_mcd_grid": MethodRecipe("mcd", rows="grid"),
    "hu_mcd_slic": MethodRecipe("mcd", rows="slic"),
    "sae_places": MethodRecipe("sae", rows="places"),
    "concept_shap_relearned": MethodRecipe("concept_shap", weighing="shapley, relearned"),
}
"""Methods and their variants, by name."""
FORMS = tuple(name for name in RECIPES if name not in METHODS)
"""Names of the variants; no surrogate is fitted to them."""
