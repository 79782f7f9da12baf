"""Readers of concept, mask, rating and text data sets."""

from typing import TYPE_CHECKING

from theodolite._storage.lazy import lazy_getattr, lazy_names

__all__ = ["digit_images", "digit_strokes", "planted_shapes", "write_shapes"]

if TYPE_CHECKING:
    from theodolite.datasets.digits import digit_images, digit_strokes
    from theodolite.datasets.shape_images import planted_shapes
    from theodolite.datasets.shapes import write_shapes
else:
    HOMES = lazy_names(
        "theodolite.datasets",
        {
            "digits": "digit_images digit_strokes",
            "shape_images": "planted_shapes",
            "shapes": "write_shapes",
        },
    )
    __getattr__ = lazy_getattr(__name__, HOMES)


def __dir__() -> list[str]:
    return __all__
