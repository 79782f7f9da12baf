"""Deep feature factorization by grad-cam: concepts of a layer and their effect on the output."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite._storage.optional import require
from theodolite.explainers.saliency._places import Place, find_place
from theodolite.explainers.saliency._work import ExplanationRequest, Maps, enlarge_maps

if TYPE_CHECKING:
    import torch


def deep_feature_factorization(request: ExplanationRequest) -> Maps:
    r"""Return one map per image: :math:`\sum_k d_k H_k / \sum_p H_k(p)`.

    The layer's output is factorised for each image alone, :math:`A \approx W H`, after each
    channel's least value was taken off. :math:`H_k` is where concept :math:`k` is. :math:`d_k` is
    by how much the class's logit drops when :math:`W_k H_k` is taken out of the layer's output.
    """
    import torch  # noqa: PLC0415

    place = find_place(request)
    maps = []
    for number, target in enumerate(request.targets):
        image = request.images[number : number + 1]
        output = _output(request, place, image)
        where, parts = _concepts(place.maps(output)[0].cpu().numpy(), request.options["concepts"])
        drop = _drops(request, place, image, torch.from_numpy(parts), target)
        mass = where.sum(axis=(1, 2), keepdims=True)
        share = np.divide(where, mass, out=np.zeros_like(where), where=mass > 0)
        maps.append(np.tensordot(drop, share, axes=1))
    small_maps = torch.from_numpy(np.asarray(maps, np.float32))
    return enlarge_maps(small_maps, *request.images.shape[2:])


def _concepts(activations: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where each concept is, and its part of the layer's output."""
    name = "pytorch_grad_cam.feature_factorization.deep_feature_factorization"
    library = require(name, "deep_feature_factorization", "explain")
    with warnings.catch_warnings():
        # 200 rounds are the library's choice; it keeps what was reached by then
        warnings.filterwarnings("ignore", message="Maximum number of iterations")
        vectors, where = library.dff(activations[None].copy(), n_components=number)
    least = activations.reshape(len(activations), -1).min(axis=1)
    parts = np.einsum("ck,krs->kcrs", vectors - least[:, None], where[0])
    return where[0].astype(np.float64), parts.astype(np.float32)


def _output(request: ExplanationRequest, place: Place, image: "torch.Tensor") -> "torch.Tensor":
    import torch  # noqa: PLC0415

    outputs: list[Any] = []
    hook = place.module.register_forward_hook(
        lambda *arguments: outputs.append(arguments[2].clone())
    )
    try:
        with torch.no_grad():
            request.network(image)
    finally:
        hook.remove()
    return outputs[0]  # type: ignore[no-any-return]


def _drops(
    request: ExplanationRequest,
    place: Place,
    image: "torch.Tensor",
    parts: "torch.Tensor",
    target: int,
) -> np.ndarray:
    """Return the drop of the logit without each part."""
    import torch  # noqa: PLC0415

    taken = place.to_output_layout(torch.cat([torch.zeros_like(parts[:1]), parts])).to(image.device)
    hook = place.module.register_forward_hook(lambda *arguments: arguments[2] - taken)
    try:
        with torch.no_grad():
            logits = request.network(image.expand(len(taken), -1, -1, -1))[:, target]
    finally:
        hook.remove()
    return np.asarray((logits[0] - logits[1:]).cpu().numpy(), np.float64)
