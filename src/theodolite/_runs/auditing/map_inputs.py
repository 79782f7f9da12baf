"""Read maps, images, masks and targets in the layouts that libraries make them in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from theodolite.errors import EvidenceError
from theodolite.evidence.foreign_arrays import to_labeled_array
from theodolite.explainers.probing.patch_answers import find_edges, find_saturation
from theodolite.explainers.rendering import enlarge_map

Channels = Literal["sum", "abs", "max"]
MapLayout = Literal["NCHW", "NHWC"]
COLORS = (1, 3, 4)
"""Lengths that an axis of channels usually has."""
Maps = Float[np.ndarray, "images rows columns"]


@dataclass(frozen=True, eq=False)
class ModelImages:
    """Images with channels first, and the way back to what the model takes."""

    values: Shaped[np.ndarray, "images channels rows columns"]
    restore: Callable[[np.ndarray], Any]

    def show(self) -> Float[np.ndarray, "images rows columns channels"]:
        """Return images to look at, each rescaled to its own range."""
        values = np.moveaxis(self.values[:, :3], 1, 3).astype(np.float32)
        values = values[..., :1] if values.shape[3] == 2 else values
        low, high = (f(axis=(1, 2, 3), keepdims=True) for f in (values.min, values.max))
        return np.asarray((values - low) / np.where(high > low, high - low, 1.0))


@dataclass(frozen=True, eq=False)
class MapInputs:
    """Maps of one or several methods, with images and objects of the same size."""

    maps: Mapping[str, Float[np.ndarray, "images rows columns"]]
    images: ModelImages | None
    objects: Bool[np.ndarray, "images rows columns"] | None
    had_channels: bool = False
    """Whether any maps had several channels."""

    @classmethod
    def read(
        cls,
        maps: Any,
        images: Any,
        masks: Any,
        mask_label: Any,
        channels: "Channels",
        layout: str | None,
    ) -> "MapInputs":
        """Read what a caller has; maps are enlarged to the size of images or masks."""
        methods = maps if isinstance(maps, Mapping) else {"maps": maps}
        if not methods:
            raise EvidenceError("maps", "no method", "at least one")
        model_images = None if images is None else read_images(images, layout)
        size = None if model_images is None else model_images.values.shape[2:]
        n_channels = None if model_images is None else model_images.values.shape[1]
        each = {name: read_numbers(method, name) for name, method in methods.items()}
        had_channels = any(
            array.ndim == 4 and 1 not in array.shape[1::2] for array in each.values()
        )
        read = {
            name: read_maps(array, name, channels, layout, n_channels)
            for name, array in each.items()
        }
        first = next(iter(read.values()))
        objects = None
        if masks is not None:
            objects = read_masks(masks, mask_label, size or first.shape[1:])
        size = size or (first.shape[1:] if objects is None else objects.shape[1:])
        counts = {name: len(array) for name, array in read.items()}
        counts |= {} if model_images is None else {"images": len(model_images.values)}
        counts |= {} if objects is None else {"masks": len(objects)}
        for name, n in counts.items():
            if n != len(first):
                raise EvidenceError(name, f"{n} of them", f"{len(first)}, one for each map")
        enlarged = {name: enlarge_maps(array, size, name) for name, array in read.items()}
        return cls(enlarged, model_images, objects, had_channels)

    def __len__(self) -> int:
        return len(next(iter(self.maps.values())))

    def select(self, rows: Int[np.ndarray, " rows"]) -> "MapInputs":
        """Return some of the images."""
        images = self.images
        return replace(
            self,
            maps={name: each[rows] for name, each in self.maps.items()},
            images=None if images is None else replace(images, values=images.values[rows]),
            objects=None if self.objects is None else self.objects[rows],
        )

    @cached_property
    def model_free(self) -> dict[str, np.ndarray]:
        """Maps that need no model: edges and color saturation, where images are at hand."""
        if self.images is None:
            return {}
        values = self.images.values
        return {"edges": find_edges(values), "saturation": find_saturation(values)}


def check_choice(name: str, choice: object, choices: Any) -> None:
    """Raise unless an option is one of the choices of a literal type."""
    known = get_args(choices)
    if choice not in known:
        raise EvidenceError(name, repr(choice)[:80], f"one of {', '.join(map(repr, known))}")


def read_numbers(value: Any, name: str) -> np.ndarray:
    """Return an array of finite numbers; a tuple of one, as captum returns it, is that one."""
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    array = to_labeled_array(value, name).values
    if array.dtype.kind not in "fiub" or not array.size:
        raise EvidenceError(name, f"shape {array.shape} of {array.dtype}", "an array of numbers")
    wrong = int((~np.isfinite(array)).any(axis=tuple(range(1, array.ndim))).sum())
    if wrong:
        raise EvidenceError(name, f"NaN or infinity in {wrong} of them", "finite numbers")
    return np.asarray(array)


def find_channels(
    shape: tuple[int, ...], name: str, layout: str | None, channels: int | None = None
) -> int:
    """Return the axis of channels of an array with four axes.

    >>> find_channels((9, 3, 32, 32), "maps", None), find_channels((9, 32, 32, 3), "maps", None)
    (1, 3)
    """
    if layout is not None:
        check_choice("layout", layout, MapLayout)
        return 1 if layout == "NCHW" else 3
    first, last = (length in COLORS or length == channels for length in (shape[1], shape[3]))
    if first == last:
        raise EvidenceError(
            name, f"shape {shape}, whose channels may be axis 1 or axis 3",
            "one axis of 1, 3 or 4 channels", 'Pass layout="NCHW" or layout="NHWC".',
        )  # fmt: skip
    return 1 if first else 3


def read_images(images: Any, layout: str | None) -> ModelImages:
    """Return images with channels first, of floating point."""
    array = read_numbers(images, "images")
    if array.ndim not in (3, 4):
        raise EvidenceError("images", f"shape {array.shape}", "(images, channels, rows, columns)")
    axis = None if array.ndim == 3 else find_channels(array.shape, "images", layout)
    values = array[:, None] if axis is None else np.moveaxis(array, axis, 1)
    dtype, is_tensor = array.dtype, hasattr(images, "detach")

    def restore(part: np.ndarray) -> Any:
        batch = part[:, 0] if axis is None else np.moveaxis(part, 1, axis)
        batch = np.rint(batch) if dtype.kind != "f" else batch
        batch = np.ascontiguousarray(batch, dtype)
        if is_tensor:
            import torch  # noqa: PLC0415

            return torch.from_numpy(batch)
        return batch

    return ModelImages(values if dtype.kind == "f" else values.astype(np.float32), restore)


def read_maps(
    array: np.ndarray, name: str, channels: Channels, layout: str | None, n_channels: int | None
) -> Maps:
    """Return one number for each pixel of each map."""
    array = array.astype(np.float64)
    if array.ndim == 4:
        axis = find_channels(array.shape, name, layout, n_channels)
        if channels == "max":
            array = np.abs(array).max(axis=axis)
        else:
            array = (np.abs(array) if channels == "abs" else array).sum(axis=axis)
    elif channels != "sum":
        array = np.abs(array)
    if array.ndim != 3:
        raise EvidenceError(
            name, f"shape {array.shape}", "(images, rows, columns), with or without channels"
        )
    return np.asarray(array)


def enlarge_maps(maps: Maps, size: tuple[int, int], name: str) -> Maps:
    """Enlarge maps to the size of the images, bilinearly."""
    if maps.shape[1:] == size:
        return maps
    if maps.shape[1] > size[0] or maps.shape[2] > size[1]:
        got = " by ".join(map(str, maps.shape[1:]))
        raise EvidenceError(name, f"{got} pixels", f"at most {size[0]} by {size[1]}, as the images")
    return np.stack([enlarge_map(each, size) for each in maps])


def read_masks(
    masks: Any, label: Any, size: tuple[int, int] | None
) -> Bool[np.ndarray, "images rows columns"]:
    """Return the pixels of objects, of masks, maps of labels or boxes."""
    array = read_numbers(masks, "masks")
    if array.ndim == 2 and array.shape[1] == 4 and size is not None:
        return _fill_boxes(array, size)
    if array.ndim == 4 and 1 in (array.shape[1], array.shape[3]):
        array = array[:, 0] if array.shape[1] == 1 else array[..., 0]
    if array.ndim != 3 or (size is not None and array.shape[1:] != size):
        expected = "(images, rows, columns)" if size is None else f"(images, {size[0]}, {size[1]})"
        raise EvidenceError("masks", f"shape {array.shape}", f"{expected}, or boxes (images, 4)")
    if label is not None:
        labels = np.asarray(to_labeled_array(label, "mask_label").values)
        return np.asarray(array == (labels[:, None, None] if labels.ndim else labels))
    odd = array[(array != 0) & (array != 1)]
    if odd.size:
        raise EvidenceError(
            "masks", f"the value {odd[0]:g}", "0 and 1, or true and false",
            "Of maps of labels say which is the object: mask_label=1, or one for each image.",
        )  # fmt: skip
    return np.asarray(array != 0)


def _fill_boxes(boxes: np.ndarray, size: tuple[int, int]) -> Bool[np.ndarray, "images rows cols"]:
    """Return the pixels of boxes (left, top, right, bottom)."""
    left, top, right, bottom = (side[:, None, None] for side in np.rint(boxes).T)
    down, across = np.arange(size[0])[None, :, None], np.arange(size[1])[None, None, :]
    return np.asarray((down >= top) & (down < bottom) & (across >= left) & (across < right))


def read_target(target: Any, n: int) -> Int[np.ndarray, " images"]:
    """Return the explained class of each image, of one number for all or one for each."""
    array = np.asarray(to_labeled_array(target, "target").values)
    if array.dtype.kind not in "iu" or (array.ndim and array.shape != (n,)) or (array < 0).any():
        raise EvidenceError(
            "target", f"shape {array.shape} of {array.dtype}", f"a class for each of {n} images"
        )
    return np.array(np.broadcast_to(array, (n,)))
