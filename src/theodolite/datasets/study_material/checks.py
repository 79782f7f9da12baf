"""Make practice items and hidden attention checks of a study from known facts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Bool
from scipy import ndimage

from theodolite.datasets.study_material.explained_images import Item
from theodolite.datasets.study_material.material import Box, Check, Kind

PRACTICE = 3
"""Number of practice items, one of each kind."""
SMALLEST, LARGEST = 0.04, 0.45
"""Of the image. Around a larger object a frame of the whole image would be right as well."""
ONE_PIECE = 0.95
RATINGS = (1, 2, 4, 5)
"""Ratings that checks ask for; the middle is excluded."""
Task: TypeAlias = Literal["frame", "rating", "pair"]
FIRST: tuple[Task, ...] = ("frame", "rating", "pair")
HIDDEN: tuple[Task, ...] = ("rating", "pair", "frame")
"""Order in which kinds of hidden checks alternate."""


@dataclass(frozen=True)
class Frame:
    """An object that can be framed, and its name."""

    name: str
    box: Box


def frame_of(mask: Bool[np.ndarray, "rows columns"], name: str) -> Frame | None:
    """Return the frame of an object; None if it is fragmented, too small or too large.

    >>> mask = np.zeros((10, 10), bool)
    >>> mask[2:6, 3:8] = True
    >>> frame_of(mask, "cat").box
    Box(x=3.0, y=2.0, width=5.0, height=4.0)
    """
    pieces, _ = ndimage.label(mask, structure=np.ones((3, 3)))
    sizes = np.bincount(pieces.ravel())[1:]
    if not len(sizes) or sizes.max() < ONE_PIECE * sizes.sum():
        return None
    down, across = np.nonzero(pieces == 1 + sizes.argmax())
    top, left = int(down.min()), int(across.min())
    height, width = int(down.max()) + 1 - top, int(across.max()) + 1 - left
    if not SMALLEST <= height * width / mask.size <= LARGEST:
        return None
    return Frame(name, Box(x=left, y=top, width=width, height=height))


@dataclass(frozen=True, eq=False)
class Checked:
    """Spare image of a check, and the function that changes its item."""

    spare: int
    make: Callable[[Item], Item]


def planned_checks(frames: Sequence[Frame | None], *, hidden: int, seed: int) -> list[Checked]:
    """Return three practice items and ``hidden`` checks, with a spare image each.

    Args:
        frames: Of each spare image, the object that can be framed in it, if any.
        hidden: How many hidden checks there are.
        seed: Of the ratings that are asked for.
    """
    random = np.random.default_rng([seed, 7])
    tasks = [*FIRST, *(HIDDEN[i % len(HIDDEN)] for i in range(hidden))]
    first: Kind = "training"
    later: Kind = "gold"
    kinds = [first] * PRACTICE + [later] * hidden
    free = list(range(len(frames)))
    # objects that can be framed are rare, so those who need one choose first
    framed = [i for i in free if frames[i] is not None]
    chosen: dict[int, int] = {}
    for number, task in enumerate(tasks):
        if task == "frame" and framed:
            chosen[number] = framed.pop(0)
            free.remove(chosen[number])
    checks = []
    for number, (task, kind) in enumerate(zip(tasks, kinds, strict=True)):
        instruction = f"q{random.integers(1, 5)}", int(random.choice(RATINGS))
        if number in chosen:
            frame = frames[chosen[number]]
            assert frame is not None  # noqa: S101  it was chosen for it
            checks.append(Checked(chosen[number], partial(framed_item, frame=frame, kind=kind)))
            continue
        if not free:
            break
        spare = free.pop(0)
        if task == "pair":
            checks.append(Checked(spare, partial(identical_item, kind=kind)))
        else:
            make = partial(
                instructed_item, question=instruction[0], rating=instruction[1], kind=kind
            )
            checks.append(Checked(spare, make))
    return checks


def instructed_item(item: Item, *, question: str, rating: int, kind: Kind) -> Item:
    """Return an item that states which rating to give."""
    return replace(item, kind=kind, check=Check(task="rating", ratings={question: rating}))


def identical_item(item: Item, *, kind: Kind) -> Item:
    """Return an item whose changed image is unchanged."""
    check = Check(task="pair", ratings={"q5": 1})
    return replace(item, same=item.shown, kind=kind, check=check)


def framed_item(item: Item, *, frame: Frame, kind: Kind) -> Item:
    """Return an item that asks for a frame around an object."""
    check = Check(task="frame", box=frame.box, object=frame.name)
    return replace(item, kind=kind, check=check)
