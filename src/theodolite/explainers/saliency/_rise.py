"""RISE: mean score over random masks that keep a pixel."""

from typing import TYPE_CHECKING

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.explainers.saliency._work import (
    ExplanationRequest,
    Maps,
    check_network,
    make_scorer,
)

if TYPE_CHECKING:
    import torch


def rise(request: ExplanationRequest) -> Maps:
    r"""Return one map per image: :math:`\frac{1}{N p} \sum_i f(x \odot M_i)\, M_i`.

    A mask :math:`M_i` is a coarse grid of cells, each kept with probability :math:`p`, stretched to
    more than the image's size and cut at a random shift. What is masked gets the baseline.
    :cite:t:`petsiuk2018rise`.
    """
    import torch  # noqa: PLC0415

    if not request.options["keep"] < 1:
        raise EvidenceError("option keep of rise", f"{request.options['keep']}", "between 0 and 1")
    check_network(request)
    scores, step = make_scorer(request), request.options["batch"]
    total, keep, base = (
        request.options["masks"],
        request.options["keep"],
        request.options["baseline"],
    )
    maps = torch.zeros(request.images.shape[0], *request.images.shape[2:], dtype=torch.float64)
    grids, shifts = _draw_grids(request)
    with torch.no_grad():
        for start in range(0, total, step):
            masks = _masks(grids[start : start + step], shifts[start : start + step], request)
            masks = masks.to(request.images.device)
            for number, target in enumerate(request.targets):
                seen = base + (request.images[number] - base) * masks
                value = scores(seen)[:, target]
                maps[number] += (value[:, None, None] * masks[:, 0]).sum(dim=0).cpu()
    return np.asarray((maps / (total * keep)).numpy(), np.float32)


def _draw_grids(request: ExplanationRequest) -> tuple["torch.Tensor", "torch.Tensor"]:
    """Draw all coarse masks and shifts at once, independently of batching."""
    import torch  # noqa: PLC0415

    chance = torch.Generator().manual_seed(request.seed)
    number, side = request.options["masks"], request.options["cells"]
    grids = torch.rand(number, 1, side + 1, side + 1, generator=chance) < request.options["keep"]
    return grids.float(), torch.rand(number, 2, generator=chance)


def _masks(
    grids: "torch.Tensor", shifts: "torch.Tensor", request: ExplanationRequest
) -> "torch.Tensor":
    """Return soft masks at the image's size."""
    import torch  # noqa: PLC0415

    rows, columns = request.images.shape[2:]
    side = request.options["cells"]
    cell = (-(-rows // side), -(-columns // side))
    large = torch.nn.functional.interpolate(
        grids, ((side + 1) * cell[0], (side + 1) * cell[1]), mode="bilinear", align_corners=False
    )
    cut = []
    for mask, (down, across) in zip(large, shifts.tolist(), strict=True):
        top, left = int(down * cell[0]), int(across * cell[1])
        cut.append(mask[:, top : top + rows, left : left + columns])
    return torch.stack(cut)
