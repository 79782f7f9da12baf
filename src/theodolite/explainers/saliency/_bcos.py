"""Explain B-cos networks by themselves: their output is a sum of pixel contributions."""

from typing import Any

import numpy as np

from theodolite._storage.optional import require
from theodolite.errors import EvidenceError
from theodolite.explainers.saliency._work import ExplanationRequest, Maps, check_output


def check_bcos(network: Any) -> None:
    """Raise unless the network is a B-cos network."""
    if callable(getattr(network, "explain", None)):
        return
    require("bcos", "bcos", "bcos")  # without it nobody can have such a network
    raise EvidenceError(
        "bcos", f"a network without .explain() ({type(network).__name__})", "a B-cos network",
        "Build it with the package bcos, or use a post-hoc method.",
    )  # fmt: skip


def bcos(request: ExplanationRequest) -> Maps:
    """Return each pixel's contribution to the class's logit, over its six channels."""
    import torch  # noqa: PLC0415

    network: Any = request.network
    if request.images.numel() and (request.images.min() < 0 or request.images.max() > 1):
        raise EvidenceError(
            "images", "values below 0 or above 1", "0 to 1: a B-cos network sees x and 1 - x",
            "Give the images as they are, without mean and spread.",
        )  # fmt: skip
    six = torch.cat([request.images, 1 - request.images], dim=1)
    with torch.no_grad():
        check_output(network(six[:1]), request.targets)
    maps = []
    for number, target in enumerate(request.targets):
        image = six[number : number + 1].clone().requires_grad_()
        explanation = network.explain(image, idx=target)
        maps.append(explanation["contribution_map"].detach().cpu().numpy())
    return np.concatenate(maps).astype(np.float32)
