"""Assign explanations to participants so that numbers, images and techniques are balanced.

Used by `planning.planned`, which then puts each participant's explanations in order.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

SOURCE, SINK, START, END = 0, 1, 2, 3


def assign_evenly(
    images: Sequence[str],
    techniques: Sequence[str],
    votes: int,
    panel: int,
    random: np.random.Generator,
) -> list[list[int]]:
    """Assign explanations so that participants differ by at most one in each count.

    The counts are those of all explanations, of each image and of each technique. Participants are
    served one after the other. Each should take an equal part of what is left: of the total, of
    each image and of each technique. These parts are fractions, so each has to be rounded down or
    up without spoiling another. A maximum flow from images to techniques, whose edges may carry the
    rounded-down or rounded-up part, finds roundings that fit together. Images with equally many
    votes are balanced as a group too, so that nobody gets all parts that are rounded up.
    """
    pairs: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i in random.permutation(len(images)):
        pairs[images[i], techniques[i]].append(int(i))
    left = np.array([len(members) * votes for members in pairs.values()])
    image, technique = (encode_as_integers([pair[axis] for pair in pairs]) for axis in (0, 1))
    often = np.bincount(image, weights=left).astype(int) // panel
    alike = encode_as_integers([str(n) for n in often])
    taken = []
    for still in range(panel, 0, -1):
        share = _assign_next(left, image, technique, alike, still)
        taken.append(share)
        left = left - share
    return distribute_pairs(list(pairs.values()), np.array(taken))


def encode_as_integers(names: Sequence[str]) -> np.ndarray:
    """Encode names as integers from 0 on, in the order of their first occurrence."""
    number = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return np.array([number[name] for name in names])


def _assign_next(
    left: np.ndarray, image: np.ndarray, technique: np.ndarray, alike: np.ndarray, still: int
) -> np.ndarray:
    """Return how many explanations of each pair of image and technique the next participant takes.

    Lower bounds of the edges are met first; a maximum flow then adds the rest of each rounding.
    """
    first_alike = 4
    first_image = first_alike + alike.max() + 1
    first_technique = first_image + image.max() + 1
    nodes = first_technique + technique.max() + 1
    of_image = np.bincount(image, weights=left).astype(int)
    steps = [
        (np.full(alike.max() + 1, START), first_alike + np.arange(alike.max() + 1),
         np.bincount(alike, weights=of_image).astype(int)),
        (first_alike + alike, first_image + np.arange(image.max() + 1), of_image),
        (first_image + image, first_technique + technique, left),
        (first_technique + np.arange(technique.max() + 1), np.full(technique.max() + 1, END),
         np.bincount(technique, weights=left).astype(int)),
        (np.array([END]), np.array([START]), np.array([left.sum()])),
    ]  # fmt: skip
    begin, end, amount = (np.concatenate(parts) for parts in zip(*steps, strict=True))
    low, high = amount // still, -(-amount // still)
    # lower bounds: what must flow is taken for granted, and balanced at both ends
    gets = np.bincount(end, weights=low, minlength=nodes).astype(int)
    gives = np.bincount(begin, weights=low, minlength=nodes).astype(int)
    rest = gets - gives
    more, less = np.flatnonzero(rest > 0), np.flatnonzero(rest < 0)
    tails = np.concatenate([begin, np.full(len(more), SOURCE), less])
    heads = np.concatenate([end, more, np.full(len(less), SINK)])
    room = np.concatenate([high - low, rest[more], -rest[less]])
    shape = (int(nodes), int(nodes))
    network = csr_array((room.astype(np.int32), (tails, heads)), shape=shape)
    flow = csr_array(maximum_flow(network, SOURCE, SINK).flow)
    extra = flow[first_image + image, first_technique + technique]
    return np.asarray(left // still + np.asarray(extra).ravel())


def distribute_pairs(pairs: Sequence[Sequence[int]], taken: np.ndarray) -> list[list[int]]:
    """Distribute the explanations of each pair in turn, so that nobody gets one twice and each is
    given equally often."""
    rows: list[list[int]] = [[] for _ in taken]
    for column, members in enumerate(pairs):
        at = 0
        for row, many in zip(rows, taken[:, column], strict=True):
            row += [members[(at + step) % len(members)] for step in range(many)]
            at += many
    return rows
