"""ResNets for images of 32 x 32 (He et al., 2015). Importing this imports torch."""

from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

IMAGENET: dict[str, Any] = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


class Block(nn.Module):
    """Two convolutions and a shortcut without weights.

    Where a block halves the places and doubles the channels, the shortcut keeps every second place
    and puts channels of zeros on both sides: option A of the paper.
    """

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.stride, self.extra = (1 if n_in == n_out else 2), (n_out - n_in) // 2
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride=self.stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(n_out)

    def forward(self, x: Tensor) -> Tensor:
        """The block's maps."""
        inner = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        shortcut = x[:, :, :: self.stride, :: self.stride]
        padded = nn.functional.pad(shortcut, (0, 0, 0, 0, self.extra, self.extra))
        return torch.relu(inner + padded)


class CifarResNet(nn.Module):
    """The network of section 4.2 of He et al., Deep residual learning (2015): 6 n + 2 layers.

    Args:
        n_blocks: Blocks in each of the three stages: 3 for ResNet-20, 9 for ResNet-56.
        n_classes: How many classes there are.
    """

    pretrained_cfg: ClassVar[dict[str, Any]] = {"input_size": (3, 32, 32), **IMAGENET}
    """Preprocessing in timm's format."""

    def __init__(self, n_blocks: int, n_classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        stages = [
            nn.Sequential(Block(n_in, n_out), *(Block(n_out, n_out) for _ in range(n_blocks - 1)))
            for n_in, n_out in pairwise((16, 16, 32, 64))
        ]
        self.layer1, self.layer2, self.layer3 = stages
        self.linear = nn.Linear(64, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        """The score of each class."""
        maps = self.layer3(self.layer2(self.layer1(torch.relu(self.bn1(self.conv1(x))))))
        scores: Tensor = self.linear(maps.mean(dim=(2, 3)))
        return scores
