"""Readers of concept, mask, rating and text data sets."""

from typing import TYPE_CHECKING

from theodolite._storage.lazy import lazy_getattr, lazy_names

__all__ = ["planted_shapes"]

if TYPE_CHECKING:
    from theodolite.datasets.shape_images import planted_shapes
else:
    HOMES = lazy_names("theodolite.datasets", {"shape_images": "planted_shapes"})
    __getattr__ = lazy_getattr(__name__, HOMES)


def __dir__() -> list[str]:
    return __all__
