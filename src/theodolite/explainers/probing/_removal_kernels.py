"""Numba kernels that impute missing pixels from neighbors: multigrid-preconditioned CG.

Each missing pixel is the mean of its up to eight neighbors, direct ones weighted twice. That is a
discrete Laplace equation on the missing pixels with the others as its border, so errors that are
smooth over large holes are removed on coarser grids. All arrays have a frame of one pixel of zeros.
"""

import numpy as np

from theodolite._storage.optional import require

numba = require("numba", "removal by a linear model", "explain")

DAMPING = 0.8
DIRECT, DIAGONAL = 1 / 6, 1 / 12


@numba.njit(cache=True, nogil=True)
def _levels(missing, weights):
    """Where each level begins, its size, its missing pixels, sums of weights and 1 / sums."""
    rows, columns = missing.shape
    sizes = [(rows, columns)]
    while min(sizes[-1]) > 4:
        height, width = sizes[-1]
        sizes.append(((height + 1) // 2, (width + 1) // 2))
    starts = np.zeros(len(sizes) + 1, np.int64)
    for k in range(len(sizes)):
        starts[k + 1] = starts[k] + (sizes[k][0] + 2) * (sizes[k][1] + 2)
    mask = np.zeros(starts[-1], np.float32)
    sums = np.zeros(starts[-1], np.float32)
    inverse = np.zeros(starts[-1], np.float32)
    shapes = np.empty((len(sizes), 2), np.int64)
    for k in range(len(sizes)):
        height, width = sizes[k]
        shapes[k, 0], shapes[k, 1] = height, width
        here = mask[starts[k] : starts[k + 1]].reshape(height + 2, width + 2)
        if k == 0:
            for r in range(height):
                for c in range(width):
                    here[r + 1, c + 1] = 1.0 if missing[r, c] else 0.0
        else:
            fine_height, fine_width = sizes[k - 1]
            fine = mask[starts[k - 1] : starts[k]].reshape(fine_height + 2, fine_width + 2)
            for r in range(height):
                for c in range(width):
                    # only where all of its pixels are missing: else the border would move outwards
                    whole = True
                    for i in range(2 * r, min(2 * r + 2, fine_height)):
                        for j in range(2 * c, min(2 * c + 2, fine_width)):
                            whole &= fine[i + 1, j + 1] > 0
                    here[r + 1, c + 1] = 1.0 if whole else 0.0
        total = sums[starts[k] : starts[k + 1]].reshape(height + 2, width + 2)
        scale = inverse[starts[k] : starts[k + 1]].reshape(height + 2, width + 2)
        for r in range(height):
            for c in range(width):
                if here[r + 1, c + 1] > 0:
                    total[r + 1, c + 1] = _weight(r, c, height, width, weights)
                    scale[r + 1, c + 1] = 1.0 / total[r + 1, c + 1]
    return starts, shapes, mask, sums, inverse


@numba.njit(cache=True, nogil=True)
def _weight(r, c, height, width, weights):
    """Sum of the weights of the neighbors inside the image."""
    across = (c > 0) + (c < width - 1)
    down = (r > 0) + (r < height - 1)
    return weights[0] * (across + down) + weights[1] * across * down


@numba.njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _residual(rhs, at, mask, sums, weights, out):
    """rhs - A at, on missing pixels; 0 elsewhere. `at` is 0 wherever no pixel is missing."""
    rows, columns = at.shape
    direct, diagonal = weights[0], weights[1]
    for r in range(1, rows - 1):
        for c in range(1, columns - 1):
            around = direct * (
                at[r - 1, c] + at[r + 1, c] + at[r, c - 1] + at[r, c + 1]
            ) + diagonal * (
                at[r - 1, c - 1] + at[r - 1, c + 1] + at[r + 1, c - 1] + at[r + 1, c + 1]
            )
            out[r, c] = mask[r, c] * (rhs[r, c] + around) - sums[r, c] * at[r, c]


@numba.njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _smooth(values, left, inverse, factor):
    rows, columns = values.shape
    for r in range(1, rows - 1):
        for c in range(1, columns - 1):
            values[r, c] += factor * inverse[r, c] * left[r, c]


@numba.njit(cache=True, nogil=True)
def _restrict(fine, coarse, mask):
    """Sums of two by two; where a side is odd, the frame of zeros gives the other half."""
    height, width = coarse.shape
    for r in range(1, height - 1):
        top, bottom = fine[2 * r - 1], fine[2 * r]
        for c in range(1, width - 1):
            i = 2 * c - 1
            coarse[r, c] = mask[r, c] * (top[i] + top[i + 1] + bottom[i] + bottom[i + 1])


@numba.njit(cache=True, nogil=True)
def _prolong(coarse, fine):
    rows, columns = fine.shape
    for r in range(1, rows - 1):
        above, row = coarse[(r + 1) // 2], fine[r]
        for c in range(1, (columns - 2) // 2 + 1):
            value = above[c]
            row[2 * c - 1] += value
            row[2 * c] += value
        if columns % 2:
            row[columns - 2] += above[(columns - 1) // 2]


@numba.njit(cache=True, nogil=True)
def _cycle(rhs, solved, left, starts, shapes, mask, sums, inverse, weights):
    """One symmetric V-cycle from 0: about the solution for `rhs` on the finest level."""
    last = len(shapes) - 1
    factor = np.float32(DAMPING)
    for k in range(last + 1):
        lo, hi = starts[k], starts[k + 1]
        shape = (shapes[k, 0] + 2, shapes[k, 1] + 2)
        g, s = rhs[lo:hi].reshape(shape), solved[lo:hi].reshape(shape)
        m, w = mask[lo:hi].reshape(shape), sums[lo:hi].reshape(shape)
        v = inverse[lo:hi].reshape(shape)
        rest = left[lo:hi].reshape(shape)
        s[:] = 0
        _smooth(s, g, v, factor)
        if k == last:
            for _ in range(8):
                _residual(g, s, m, w, weights, rest)
                _smooth(s, rest, v, factor)
        else:
            _residual(g, s, m, w, weights, rest)
            below = (shapes[k + 1, 0] + 2, shapes[k + 1, 1] + 2)
            end = starts[k + 2]
            _restrict(rest, rhs[hi:end].reshape(below), mask[hi:end].reshape(below))
    for k in range(last - 1, -1, -1):
        lo, hi = starts[k], starts[k + 1]
        shape = (shapes[k, 0] + 2, shapes[k, 1] + 2)
        below = (shapes[k + 1, 0] + 2, shapes[k + 1, 1] + 2)
        g, s = rhs[lo:hi].reshape(shape), solved[lo:hi].reshape(shape)
        m, w = mask[lo:hi].reshape(shape), sums[lo:hi].reshape(shape)
        v = inverse[lo:hi].reshape(shape)
        rest = left[lo:hi].reshape(shape)
        _prolong(solved[hi : starts[k + 2]].reshape(below), s)
        # a coarse pixel lies wholly on missing ones, so nothing was added elsewhere
        _residual(g, s, m, w, weights, rest)
        _smooth(s, rest, v, factor)


@numba.njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _dot(a, b):
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@numba.njit(cache=True, nogil=True)
def fill_planes(planes, missing, weights, tolerance, most):
    """The planes with missing pixels solved for; each plane's values there are the first guess.

    Stops when a cycle would change no pixel by more than `tolerance`, or after `most` cycles for
    each plane. Also returns the number of cycles of all planes.
    """
    channels, rows, columns = planes.shape
    starts, shapes, mask, sums, inverse = _levels(missing, weights)
    size, shape = starts[1], (rows + 2, columns + 2)
    rhs, solved = np.zeros(starts[-1], np.float32), np.zeros(starts[-1], np.float32)
    left = np.zeros(starts[-1], np.float32)
    m, w = mask[:size].reshape(shape), sums[:size].reshape(shape)
    nothing = np.zeros(shape, np.float32)
    out = planes.copy()
    cycles = 0
    for k in range(channels):
        at = np.zeros(shape, np.float32)
        rhs[:] = 0
        border = np.zeros(shape, np.float32)
        for r in range(rows):
            for c in range(columns):
                if missing[r, c]:
                    at[r + 1, c + 1] = planes[k, r, c]
                else:
                    border[r + 1, c + 1] = planes[k, r, c]
        rest = rhs[:size].reshape(shape)
        right = np.zeros(shape, np.float32)
        _around(border, m, weights, right)
        _residual(right, at, m, w, weights, rest)
        towards = np.zeros(shape, np.float32)
        moved = np.zeros(shape, np.float32)
        before = 1.0
        for step in range(most):
            _cycle(rhs, solved, left, starts, shapes, mask, sums, inverse, weights)
            cycles += 1
            z = solved[:size]
            largest = np.float32(0)
            for i in range(size):
                largest = max(largest, abs(z[i]))
            size_now = _dot(rhs[:size], z)
            if largest <= tolerance or size_now <= 0:
                flat = at.reshape(-1)
                for i in range(size):
                    flat[i] += z[i]
                break
            flat = towards.reshape(-1)
            ratio = np.float32(0.0 if step == 0 else size_now / before)
            for i in range(size):
                flat[i] = z[i] + ratio * flat[i]
            before = size_now
            _residual(nothing, towards, m, w, weights, moved)
            length = np.float32(-size_now / _dot(flat, moved.reshape(-1)))
            place, change = at.reshape(-1), moved.reshape(-1)
            for i in range(size):
                place[i] += length * flat[i]
                rhs[i] += length * change[i]
        for r in range(rows):
            for c in range(columns):
                if missing[r, c]:
                    out[k, r, c] = at[r + 1, c + 1]
    return out, cycles


@numba.njit(cache=True, nogil=True)
def _around(at, mask, weights, out):
    """Weighted sum of the neighbors, on missing pixels."""
    rows, columns = at.shape
    for r in range(1, rows - 1):
        for c in range(1, columns - 1):
            direct = at[r - 1, c] + at[r + 1, c] + at[r, c - 1] + at[r, c + 1]
            diagonal = at[r - 1, c - 1] + at[r - 1, c + 1] + at[r + 1, c - 1] + at[r + 1, c + 1]
            out[r, c] = mask[r, c] * (weights[0] * direct + weights[1] * diagonal)
