"""Numba kernels that group the pixels of an image by their set of labels (atoms)."""

import numpy as np

from theodolite._storage.optional import require

numba = require("numba", "dissection", "dissect")


@numba.njit(cache=True, nogil=True)
def _same(layers, a, b):
    for layer in range(layers.shape[0]):
        if layers[layer, a] != layers[layer, b]:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _hashed(layers, pixel):
    code = np.uint64(14695981039346656037)
    for layer in range(layers.shape[0]):
        code = (code ^ np.uint64(layers[layer, pixel])) * np.uint64(1099511628211)
    return code ^ (code >> np.uint64(32))


@numba.njit(cache=True, nogil=True)
def group_image(layers, table, number, first, weight):
    """Number the sets of labels of one image; returns how many there are.

    ``number`` gets each pixel's set, ``first`` a pixel of each set, ``weight`` its pixel count;
    ``table`` is scratch space, a power of two larger than the number of pixels.
    """
    table[:] = -1
    mask = np.uint64(len(table) - 1)
    n = 0
    for pixel in range(layers.shape[1]):
        # neighbors mostly carry the same labels
        if pixel and _same(layers, pixel, pixel - 1):
            number[pixel] = number[pixel - 1]
            weight[number[pixel]] += 1
            continue
        slot = _hashed(layers, pixel) & mask
        while table[slot] >= 0 and not _same(layers, first[table[slot]], pixel):
            slot = (slot + np.uint64(1)) & mask
        if table[slot] < 0:
            table[slot] = n
            first[n] = pixel
            weight[n] = 0
            n += 1
        number[pixel] = table[slot]
        weight[table[slot]] += 1
    return n


@numba.njit(cache=True, nogil=True)
def group_images(layers, scene_start, scene, numbers):
    """Sets of labels of several images: how many each has, their weights, sizes and labels."""
    n, n_layers, n_pixels = layers.shape
    size = 1
    while size < 2 * n_pixels:
        size *= 2
    table = np.empty(size, np.int32)
    first = np.empty(n_pixels, np.int32)
    weight = np.empty(n_pixels, np.int32)
    per_image = np.zeros(n, np.int64)
    weights = np.empty(64 * n, np.int32)
    n_labels = np.empty(64 * n, np.int32)
    labels = np.empty(256 * n, np.int32)
    atoms = 0
    used = np.int64(0)  # a bare 0 is a type of its own at first: what gets it compiles twice
    for i in range(n):
        n_sets = group_image(layers[i], table, numbers[i], first, weight)
        per_image[i] = n_sets
        scenes = scene[scene_start[i] : scene_start[i + 1]]
        while atoms + n_sets > len(weights):
            weights = np.concatenate((weights, np.empty_like(weights)))
            n_labels = np.concatenate((n_labels, np.empty_like(n_labels)))
        while used + n_sets * (n_layers + len(scenes)) > len(labels):
            labels = np.concatenate((labels, np.empty_like(labels)))
        for a in range(n_sets):
            start = used
            for layer in range(n_layers):
                label = np.int32(layers[i, layer, first[a]])
                if label > 0:
                    used = _insert(labels, start, used, label - 1)
            for label in scenes:
                used = _insert(labels, start, used, np.int64(label))
            weights[atoms] = weight[a]
            n_labels[atoms] = used - start
            atoms += 1
    return per_image, weights[:atoms].copy(), n_labels[:atoms].copy(), labels[:used].copy()


@numba.njit(cache=True, nogil=True)
def _insert(labels, start, end, label):
    """Keep a short list sorted and without repeats."""
    place = end
    while place > start and labels[place - 1] >= label:
        if labels[place - 1] == label:
            return end
        place -= 1
    for k in range(end, place, -1):
        labels[k] = labels[k - 1]
    labels[place] = label
    return end + 1


@numba.njit(cache=True, nogil=True)
def pair_table(weight, label_start, label, n_concepts):
    """Pixels that each pair of concepts shares."""
    shared = np.zeros((n_concepts, n_concepts), np.int64)
    for a in range(len(weight)):
        for i in range(label_start[a], label_start[a + 1]):
            for j in range(label_start[a], label_start[a + 1]):
                shared[label[i], label[j]] += weight[a]
    return shared


@numba.njit(cache=True, nogil=True)
def atoms_by_concept(label_start, label, n_concepts):
    """Return the atoms of each concept, in order."""
    start = np.zeros(n_concepts + 1, np.int64)
    for c in label:
        start[c + 1] += 1
    for c in range(n_concepts):
        start[c + 1] += start[c]
    at = start[:-1].copy()
    atom = np.empty(len(label), np.int32)
    for a in range(len(label_start) - 1):
        for i in range(label_start[a], label_start[a + 1]):
            atom[at[label[i]]] = a
            at[label[i]] += 1
    return start, atom
