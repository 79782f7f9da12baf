"""Find the last layer of a network that has spatial positions and still affects the output."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

TRANSFORMER = re.compile(
    r"(?:blocks|layers?|resblocks)\.(?:encoder_layer_)?\d+\."
    r"(?:norm1|layer_norm1|layernorm_before|ln_1)$"
)
CONVOLUTION = re.compile(
    r"(?:^|\.)(?:layer4|layer3|features|stages|encoder\.stages\.\d+|bn2|trunk\.stages)$"
)
MERGED = re.compile(r"\.downsample\.reduction$")


def find_last_spatial_layer(network: "torch.nn.Module") -> str:
    """Return the name of that layer, or "" if unknown.

    In a transformer that answers from its class token, the patches that leave the last block are
    not looked at: every gradient there is 0. The norm at the start of that block is the last
    place where they count.
    """
    from torch import nn  # noqa: PLC0415

    # a list of layers is never called itself
    names: list[str] = [
        n for n, module in network.named_modules() if not isinstance(module, nn.ModuleList)
    ]
    if any(MERGED.search(name) for name in names):
        return ""  # patches that are merged from stage to stage (Swin) do not keep one grid
    for kind in (TRANSFORMER, CONVOLUTION):
        matches = [name for name in names if kind.search(name)]
        if matches:
            # a stage inside a stage is an earlier place than the outer one
            outer = min(name.count(".") for name in matches)
            return [n for n in matches if kind is TRANSFORMER or n.count(".") == outer][-1]
    return ""
