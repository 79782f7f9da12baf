"""Numba kernels that count active pixels per atom from low-resolution activations."""

import numpy as np

from theodolite._storage.optional import require

numba = require("numba", "dissection", "dissect")


@numba.njit(cache=True, nogil=True)
def _cells(large, small):
    """For each place of the large axis the left neighbor on the small one, and how far past it."""
    left = np.empty(large, np.int64)
    share = np.empty(large, np.float64)
    for i in range(large):
        at = (i + 0.5) * small / large - 0.5
        at = max(at, 0.0)
        left[i] = min(int(at), small - 1)
        share[i] = at - left[i] if left[i] < small - 1 else 0.0
    return left, share


@numba.njit(cache=True, nogil=True)
def _runs(left, small):
    """Where the places with each left neighbor begin."""
    first = np.zeros(small + 1, np.int64)
    for i in left:
        first[i + 1] += 1
    for cell in range(small):
        first[cell + 1] += first[cell]
    return first


@numba.njit(cache=True, nogil=True)
def active_pixels(maps, thresholds, rows, columns, number, start):
    """(unit, atom, active pixels) of some images.

    A bilinear value lies between its four corners, so only cells with an active corner are
    looked at. Sums are exact in double precision wherever the grid is a power of two times the map.
    """
    n, units, height, width = maps.shape
    top, down = _cells(rows, height)
    left, across = _cells(columns, width)
    row_of, column_of = _runs(top, height), _runs(left, width)
    size = 4096
    unit_out, atom_out = np.empty(size, np.int32), np.empty(size, np.int32)
    count_out = np.empty(size, np.int32)
    counts = np.zeros(rows * columns, np.int32)
    touched = np.empty(rows * columns, np.int32)
    used = 0
    for i in range(n):
        for u in range(units):
            limit = thresholds[u]
            grid = maps[i, u]
            active = False
            for r in range(height):
                for c in range(width):
                    active |= grid[r, c] > limit
            if not active:
                continue
            n_touched = 0
            for r in range(height):
                below = min(r + 1, height - 1)
                for c in range(width):
                    right = min(c + 1, width - 1)
                    a, b = np.float64(grid[r, c]), np.float64(grid[r, right])
                    d, e = np.float64(grid[below, c]), np.float64(grid[below, right])
                    if not (a > limit or b > limit or d > limit or e > limit):
                        continue
                    for y in range(row_of[r], row_of[r + 1]):
                        v = down[y]
                        near, far = a + v * (d - a), b + v * (e - b)
                        step = far - near
                        for x in range(column_of[c], column_of[c + 1]):
                            if near + across[x] * step > limit:
                                atom = number[i, y * columns + x]
                                if counts[atom] == 0:
                                    touched[n_touched] = atom
                                    n_touched += 1
                                counts[atom] += 1
            while used + n_touched > size:
                unit_out = np.concatenate((unit_out, np.empty_like(unit_out)))
                atom_out = np.concatenate((atom_out, np.empty_like(atom_out)))
                count_out = np.concatenate((count_out, np.empty_like(count_out)))
                size *= 2
            for k in range(n_touched):
                atom = touched[k]
                unit_out[used] = u
                atom_out[used] = start[i] + atom
                count_out[used] = counts[atom]
                counts[atom] = 0
                used += 1
    return unit_out[:used].copy(), atom_out[:used].copy(), count_out[:used].copy()


@numba.njit(cache=True, nogil=True)
def unit_concepts(unit_start, unit_atom, unit_count, image, label_start, label, n_concepts):
    """Count shared pixels and shared images of all units and concepts."""
    units = len(unit_start) - 1
    shared = np.zeros((units, n_concepts), np.int64)
    meet = np.zeros((units, n_concepts), np.int64)
    seen = np.empty(n_concepts, np.int64)
    for u in range(units):
        seen[:] = -1
        for k in range(unit_start[u], unit_start[u + 1]):
            atom = unit_atom[k]
            for j in range(label_start[atom], label_start[atom + 1]):
                c = label[j]
                shared[u, c] += unit_count[k]
                if seen[c] != image[atom]:  # an image's atoms come one after the other
                    seen[c] = image[atom]
                    meet[u, c] += 1
    return shared, meet
