"""Small networks for tests of saliency: some random, some whose right map is known."""

from typing import Any

import numpy as np
import timm
import torch

SIDE = 16


def small_cnn(classes: int = 4) -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 6, 3, padding=1),
        torch.nn.BatchNorm2d(6),
        torch.nn.ReLU(inplace=True),
        torch.nn.Conv2d(6, 8, 3, stride=2, padding=1),
        torch.nn.ReLU(inplace=True),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(8, classes),
    )


def small_vit(classes: int = 4, **more: Any) -> torch.nn.Module:
    torch.manual_seed(0)
    given: dict[str, Any] = {
        "img_size": SIDE, "patch_size": 4, "depth": 2, "embed_dim": 24, "num_heads": 2, **more,
    }  # fmt: skip
    return timm.create_model("vit_tiny_patch16_224", num_classes=classes, **given)


def small_swin() -> torch.nn.Module:
    return timm.create_model(
        "swin_tiny_patch4_window7_224", img_size=32, depths=(1, 1), num_heads=(1, 2), embed_dim=8,
        window_size=4, num_classes=4,
    )  # fmt: skip


class Quadrant(torch.nn.Module):
    """Class 1 is red in the upper right quarter, class 0 is green in the rest."""

    def __init__(self) -> None:
        super().__init__()
        self.same = torch.nn.Conv2d(3, 3, 1)
        self.same.weight.data = torch.eye(3)[:, :, None, None]
        self.same.bias.data[:] = 0

    def forward(self, x: Any) -> Any:
        return self.answers(self.same(x))

    @staticmethod
    def answers(maps: Any) -> Any:
        rows, columns = maps.shape[2] // 2, maps.shape[3] // 2
        inside = torch.zeros_like(maps[0, 0])
        inside[:rows, columns:] = 1
        red = (maps[:, 0] * inside).sum(dim=(1, 2)) / inside.sum()
        green = (maps[:, 1] * (1 - inside)).sum(dim=(1, 2)) / (1 - inside).sum()
        return 20 * torch.stack([green, red], dim=1)


class QuadrantOfTokens(torch.nn.Module):
    """The same answers from tokens: some that are not patches first, then one per 4 x 4 pixels."""

    def __init__(self, leading: int = 1) -> None:
        super().__init__()
        self.leading = leading
        self.cut = torch.nn.Conv2d(3, 3, 4, stride=4, bias=False)
        self.cut.weight.data = (torch.eye(3)[:, :, None, None] / 16).expand(-1, -1, 4, 4).clone()
        self.norm1 = torch.nn.Identity()
        self.after = torch.nn.Identity()

    def forward(self, x: Any) -> Any:
        maps = self.cut(x)
        extra = torch.full((len(x), self.leading, 3), 9.0)
        tokens = self.after(self.norm1(torch.cat([extra, maps.flatten(2).mT], dim=1)))
        patches = tokens[:, self.leading :].mT.unflatten(2, maps.shape[2:])
        return Quadrant.answers(patches)


def quadrant_images(number: int = 2, rows: int = SIDE, columns: int = SIDE) -> np.ndarray:
    """Red in the upper right quarter, green elsewhere, with a little noise."""
    noise = np.random.default_rng(0).random((number, 3, rows, columns)) * 0.02
    noise[:, 0, : rows // 2, columns // 2 :] += 1
    noise[:, 1] += 1
    noise[:, 1, : rows // 2, columns // 2 :] -= 1
    return noise.astype(np.float32)


def linear(side: int = 8) -> tuple[torch.nn.Module, np.ndarray]:
    """Two classes, and the weights of each pixel and channel."""
    torch.manual_seed(1)
    layer = torch.nn.Linear(3 * side * side, 2, bias=False)
    weights = layer.weight.detach().numpy().reshape(2, 3, side, side).copy()
    return torch.nn.Sequential(torch.nn.Flatten(), layer), weights


def images(number: int = 3, side: int = SIDE, seed: int = 0) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(number, 3, side, side))
    return drawn.astype(np.float32)
