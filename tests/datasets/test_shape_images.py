"""Planted shapes: the square decides the class, and the trained network knows it."""

import numpy as np
import pytest

from theodolite.datasets import planted_shapes
from theodolite.datasets.shape_images import SIDE, SQUARE, draw_shapes

torch = pytest.importorskip("torch", reason="pip install 'theodolite[explain]'")


def test_only_the_square_has_the_color_of_a_class() -> None:
    images, classes, masks = draw_shapes(30, seed=3)
    assert (masks.sum(axis=(1, 2)) == SQUARE**2).all()
    for image, label, mask in zip(images, classes, masks, strict=True):
        inside = image[:, mask].mean(axis=1)
        assert inside.argmax() == label and inside[label] > 0.8
        assert np.abs(np.delete(inside, label)).max() < 0.1
        highest = np.sort(image[:, ~mask], axis=0)
        colored = highest[2] - highest[0] > 1  # a distractor has two channels alike
        assert (np.abs(np.diff(highest, axis=0)).min(axis=0)[colored] < 0.6).all()


def test_the_network_knows_the_class_and_uses_the_square() -> None:
    net, images, masks = planted_shapes(200, seed=5)
    _, classes, _ = draw_shapes(200, seed=5)
    assert not net.training and images.shape == (200, 3, SIDE, SIDE)
    with torch.no_grad():
        assert (net(images).argmax(1).numpy() == classes).all()
        gone = torch.where(masks[:, None], images.mean(), images)
        assert (net(gone).argmax(1).numpy() == classes).mean() < 0.6


def test_a_seed_names_the_images() -> None:
    assert (draw_shapes(5, 1)[0] == draw_shapes(5, 1)[0]).all()
    assert (draw_shapes(5, 1)[0] != draw_shapes(5, 2)[0]).any()
