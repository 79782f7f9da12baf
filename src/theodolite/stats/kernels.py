"""Compiled hot loops. Imported only when a kernel is first called; the tests hold numpy oracles."""

import numpy as np
from numba import njit, prange, types


@njit(cache=True, inline="always")
def _source(position, scale, length):
    """Lower neighbour and fraction of a half-pixel-centred sample; edges repeat."""
    place = (position + 0.5) * scale - 0.5
    if place <= 0.0:
        return 0, 0, 0.0
    low = int(place)
    if low >= length - 1:
        return length - 1, length - 1, 0.0
    return low, low + 1, place - low


@njit(cache=True)
def _mixed_row(grid, row, rows, out):
    """One row of the map, upsampled downwards only."""
    low, high, fraction = _source(row, grid.shape[0] / rows, grid.shape[0])
    for c in range(grid.shape[1]):
        above = np.float64(grid[low, c])
        out[c] = above + fraction * (np.float64(grid[high, c]) - above)


@njit(cache=True, inline="always")
def _mixed_cell(mixed, column, columns):
    low, high, fraction = _source(column, mixed.shape[0] / columns, mixed.shape[0])
    return mixed[low] + fraction * (mixed[high] - mixed[low])


@njit(cache=True)
def _runs(columns, width):
    """Columns between two neighbouring cells share both: where each run of them starts."""
    first = np.empty(width + 2, np.int64)
    fraction = np.empty(columns)
    cell = 0
    first[0] = 0
    for c in range(columns):
        low, high, fraction[c] = _source(c, width / columns, width)
        run = 0 if high == low == 0 else (low + 1 if high > low else width)
        while cell < run:
            cell += 1
            first[cell] = c
    while cell <= width:
        cell += 1
        first[cell] = columns
    return first, fraction


_PIXEL_RANKS = [
    types.int64[:, :](
        types.Array(real, 4, "A", readonly=True),
        types.Array(types.int64, 2, "C", readonly=True),
        types.Array(types.int64, 2, "C", readonly=True),
        types.Array(types.int64, 2, "C", readonly=True),
    )
    for real in (types.float32, types.float64)
]


@njit(_PIXEL_RANKS, cache=True, parallel=True)
def pixel_ranks(maps, which, sizes, pixels):
    """How many pixels of an upsampled map exceed one pixel, tie with it, and tie before it.

    ``which`` gives sample and concept of each map, ``sizes`` the rows and columns to upsample to,
    ``pixels`` the pixel. A map is never upsampled in memory: its rows are mixed one by one and
    counted.
    """
    counts = np.zeros((len(which), 3), np.int64)
    for q in prange(len(which)):
        grid = maps[which[q, 0], which[q, 1]]
        rows, columns = sizes[q, 0], sizes[q, 1]
        width = grid.shape[1]
        mixed = np.empty(width)
        _mixed_row(grid, pixels[q, 0], rows, mixed)
        own = _mixed_cell(mixed, pixels[q, 1], columns)
        first, fraction = _runs(columns, width)
        larger, tied, before = 0, 0, 0
        for r in range(rows):
            _mixed_row(grid, r, rows, mixed)
            tied_here = 0
            for cell in range(width + 1):
                left = mixed[max(cell - 1, 0)]
                step = mixed[min(cell, width - 1)] - left
                run = fraction[first[cell] : first[cell + 1]]
                if len(run) == 0:
                    continue
                # values rise or fall along a run, so its two ends often decide for all of it
                start, end = left + run[0] * step, left + run[-1] * step
                if start < own and end < own:
                    continue
                if start > own and end > own:
                    larger += len(run)
                    continue
                if start == own and end == own:
                    tied_here += len(run)
                    continue
                for c in range(len(run)):
                    value = left + run[c] * step
                    larger += value > own
                    tied_here += value == own
            tied += tied_here
            if tied_here and r < pixels[q, 0]:
                before += tied_here
            elif tied_here and r == pixels[q, 0]:
                for c in range(pixels[q, 1]):
                    before += _mixed_cell(mixed, c, columns) == own
        counts[q, 0] = larger
        counts[q, 1] = tied
        counts[q, 2] = before
    return counts
