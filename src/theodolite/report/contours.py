"""Outlines of the regions in which a map is high: marching squares, thinned to few points."""

import numpy as np
from jaxtyping import Float, Int

Ring = Float[np.ndarray, "points 2"]
MOST_POINTS = 70
"""Of one ring: more are not seen and make pages large."""
MOST_RINGS = 40
"""Number of largest parts of a region that are kept; smaller ones are noise."""
UNSEEN = 3.0
"""Twice an area, in squares of the drawing's unit."""
TOP, RIGHT, BOTTOM, LEFT = range(4)
CROSSINGS = {
    8: [(LEFT, TOP)], 4: [(TOP, RIGHT)], 2: [(RIGHT, BOTTOM)], 1: [(BOTTOM, LEFT)],
    7: [(TOP, LEFT)], 11: [(RIGHT, TOP)], 13: [(BOTTOM, RIGHT)], 14: [(LEFT, BOTTOM)],
    12: [(LEFT, RIGHT)], 3: [(RIGHT, LEFT)], 9: [(BOTTOM, TOP)], 6: [(TOP, BOTTOM)],
    10: [(LEFT, TOP), (RIGHT, BOTTOM)], 5: [(TOP, RIGHT), (BOTTOM, LEFT)],
    26: [(RIGHT, TOP), (LEFT, BOTTOM)], 21: [(TOP, LEFT), (BOTTOM, RIGHT)],
}  # fmt: skip
"""Sides at which the line enters and leaves a cell, by its corners that are inside.

Corners count 8, 4, 2, 1, clockwise from the upper left; the middle of a saddle counts 16.
"""


def contour_rings(values: Float[np.ndarray, "rows columns"], level: float) -> list[Ring]:
    """Closed lines, as x and y, around where a grid of pixels is at least at a level.

    Values belong to the middles of pixels; in between they change linearly. What reaches the edge
    of the grid is closed along it.
    """
    padded = np.pad(np.pad(values, 1, mode="edge"), 1, constant_values=min(values.min(), level) - 1)
    following = _next_crossings(padded, level)
    crossings = _crossing_places(padded, level)
    starts = np.flatnonzero(following >= 0)
    after = dict(zip(starts.tolist(), following[starts].tolist(), strict=True))
    rings = []
    while after:
        edge = next(iter(after))
        edges: list[int] = []
        while edge in after:
            edges.append(edge)
            edge = after.pop(edge)
        rings.append(crossings[edges])
    return [ring for ring in rings if len(ring) > 2]


def thinned(ring: Ring, most: int = MOST_POINTS) -> Ring:
    """Reduce a ring to this number of points; those that change its area least go first.

    Points that change nothing that could be seen go too, though there may be fewer already.
    """
    while len(ring) > 4:
        before, after = np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0)
        (ax, ay), (bx, by) = (ring - before).T, (after - ring).T
        change = np.abs(ax * by - ay * bx)
        excess = max(len(ring) - most, 0)
        # a share of those that matter least goes at once, but of two neighbors only one
        limit = max(float(np.sort(change)[excess // 4]) if excess else 0.0, UNSEEN)
        order = np.arange(len(ring))
        leaves = (change <= limit) & ((order % 2 == 0) | (np.roll(change, 1) > limit))
        leaves[-1] &= not leaves[0]
        if not leaves.any():
            break
        ring = ring[~leaves]
    return ring


def ring_area(ring: Ring) -> float:
    """Return the area that a ring encloses."""
    x, y = ring.T
    return float(abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2)


def _next_crossings(padded: np.ndarray, level: float) -> Int[np.ndarray, " edges"]:
    """The edge that a line crosses after each one; -1 where none passes."""
    inside = padded >= level
    corners = 8 * inside[:-1, :-1] + 4 * inside[:-1, 1:] + 2 * inside[1:, 1:] + inside[1:, :-1]
    middle = (padded[:-1, :-1] + padded[:-1, 1:] + padded[1:, 1:] + padded[1:, :-1]) / 4
    corners = corners + np.where(np.isin(corners, (5, 10)) & (middle >= level), 16, 0)
    rows, columns = padded.shape
    n_flat = rows * (columns - 1)
    following = np.full(n_flat + (rows - 1) * columns, -1, np.int64)
    for case, crossings in CROSSINGS.items():
        i, j = np.nonzero(corners == case)
        flat, upright = i * (columns - 1) + j, n_flat + i * columns + j
        sides = {TOP: flat, BOTTOM: flat + columns - 1, LEFT: upright, RIGHT: upright + 1}
        for enters, leaves in crossings:
            following[sides[enters]] = sides[leaves]
    return following


def _crossing_places(padded: np.ndarray, level: float) -> Float[np.ndarray, "edges 2"]:
    y, x = (_middles(n) for n in padded.shape)
    with np.errstate(divide="ignore", invalid="ignore"):  # edges that no line crosses
        across = x[:-1] + (level - padded[:, :-1]) / np.diff(padded, axis=1) * np.diff(x)
        down = y[:-1, None] + (level - padded[:-1]) / np.diff(padded, axis=0) * np.diff(y)[:, None]
    flat = np.stack(np.broadcast_arrays(across, y[:, None]), axis=-1)
    upright = np.stack(np.broadcast_arrays(x, down), axis=-1)
    return np.concatenate([flat.reshape(-1, 2), upright.reshape(-1, 2)])


def _middles(n: int) -> Float[np.ndarray, " n"]:
    """Middles of pixels; the two rows around them lie on the edge of the grid."""
    return np.asarray(np.clip(np.arange(n) - 1.5, 0.0, n - 4.0))
