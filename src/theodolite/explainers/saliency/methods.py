"""Registry of saliency methods. Importing it loads no library; an explainer loads the one it
needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from theodolite._storage.optional import require
from theodolite.errors import EvidenceError
from theodolite.explainers.saliency._bcos import bcos, check_bcos
from theodolite.explainers.saliency._cam_table import CAMS
from theodolite.explainers.saliency._cams import CLASSES, cam
from theodolite.explainers.saliency._factorised import deep_feature_factorization
from theodolite.explainers.saliency._full_grad import full_grad
from theodolite.explainers.saliency._gradients import (
    gradient_shap,
    integrated_gradients,
    kernel_shap,
    occlusion,
    saliency,
)
from theodolite.explainers.saliency._lime import lime
from theodolite.explainers.saliency._nulls import center, random, smooth_random
from theodolite.explainers.saliency._options import OPTIONS, check_options
from theodolite.explainers.saliency._other_table import OTHERS
from theodolite.explainers.saliency._rise import rise
from theodolite.explainers.saliency._shap import shap
from theodolite.explainers.saliency._work import ExplanationRequest, Maps, copy_network
from theodolite.explainers.saliency.technique import Technique

if TYPE_CHECKING:
    import torch

__all__ = ["OPTIONS", "TECHNIQUES", "Explainer", "explainer"]

TECHNIQUES: Mapping[str, Technique] = MappingProxyType(
    {technique.name: technique for technique in (*CAMS, *OTHERS)}
)
MODULES = {
    "grad-cam": "pytorch_grad_cam",
    "captum": "captum.attr",
    "lime": "lime.lime_image",
    "shap": "shap",
}
FUNCTIONS: Mapping[str, Callable[[ExplanationRequest], Maps]] = MappingProxyType(
    {
        **{name: partial(cam, name) for name in CLASSES},
        "full_grad": full_grad,
        "deep_feature_factorization": deep_feature_factorization,
        "integrated_gradients": integrated_gradients,
        "gradient_shap": gradient_shap,
        "occlusion": occlusion,
        "kernel_shap": kernel_shap,
        "saliency": saliency,
        "lime": lime,
        "shap": shap,
        "bcos": bcos,
        "rise": rise,
        "random": random,
        "smooth_random": smooth_random,
        "center": center,
    }
)


@dataclass(frozen=True, eq=False)
class Explainer:
    """A saliency method bound to a network: maps images and target classes to maps."""

    technique: Technique
    network: "torch.nn.Module"
    """Copy of the network; the given one is never modified."""
    layer: str | None
    grid: tuple[int, int] | None
    seed: int
    options: Mapping[str, Any]

    def __call__(
        self,
        images: Float[np.ndarray, "samples 3 rows columns"],
        targets: Int[np.ndarray, " samples"],
    ) -> Float[np.ndarray, "samples rows columns"]:
        """Return one map per image, in single precision, at the image's size."""
        import torch  # noqa: PLC0415

        if not np.isfinite(images).all():
            raise EvidenceError("images", "NaN or infinity", "finite numbers")
        if not len(images):
            return np.zeros((0, *images.shape[2:]), np.float32)
        first = next(self.network.parameters(), None)
        classes = tuple(int(target) for target in targets)
        with torch.inference_mode(mode=False):  # the caller may be in it, gradients cannot
            batch = torch.from_numpy(np.array(images, np.float32, order="C"))
            batch = batch.to("cpu" if first is None else first.device)
            request = ExplanationRequest(
                self.network, batch, classes, self.layer, self.grid, self.seed, self.options
            )
            return FUNCTIONS[self.technique.name](request)


def explainer(
    name: str,
    network: "torch.nn.Module",
    *,
    layer: str | None = None,
    grid: tuple[int, int] | None = None,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
) -> Explainer:
    """Return a function from (prepared images, target classes) to one map per image.

    Args:
        name: A key of :data:`TECHNIQUES`.
        network: Any torch module that gives one row of class scores (logits) per image. It is
            copied once and never changed.
        layer: Whose places a CAM is made of; else the last that has any, or for a transformer the
            norm that opens its last block.
        grid: Rows and columns of a transformer's patches, where they cannot be found.
        seed: For methods that draw. The same image, class and seed give the same map, whatever
            else is in the batch.
        options: Of the method; see :data:`OPTIONS` for their names and defaults.
    """
    if name not in TECHNIQUES:
        raise EvidenceError("method", repr(name), f"one of {', '.join(TECHNIQUES)}")
    technique, chosen = TECHNIQUES[name], check_options(name, options)
    if technique.library in MODULES:
        require(MODULES[technique.library], name, "explain")
    if "gradient" in technique.functioning and not getattr(network, "gradients", True):
        raise EvidenceError("method", f"{name!r}, which needs gradients of the model",
                            "a method without, such as rise, lime or occlusion")  # fmt: skip
    if name == "bcos":
        check_bcos(network)
    return Explainer(technique, copy_network(network), layer, grid, seed, MappingProxyType(chosen))
