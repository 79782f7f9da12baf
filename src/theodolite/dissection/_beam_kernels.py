"""Beam search for the formula that a unit detects, on atoms.

A formula is a chain: a concept, then steps (operator, concept). Operators: 0 OR, 1 AND, 2 AND NOT.
Of each formula F in the beam these are kept: its atoms as bits, its size, the pixels it shares with
the unit, and the same two counts for F with every concept. All candidates of a step then follow by
arithmetic; only the few that enter the beam touch atoms again.
"""

import numpy as np

from theodolite._storage.optional import require

numba = require("numba", "dissection", "dissect")

OR, AND, AND_NOT = 0, 1, 2
FIELDS = 5  # length, size, shared pixels, images, shared images


@numba.njit(cache=True, nogil=True)
def overlap(shared, size, unit_size):
    """Intersection over union; the small number is the published code's."""
    return shared / (unit_size + size - shared + 1e-10)


@numba.njit(cache=True, nogil=True)
def _has(bits, atom):
    return (bits[atom >> 6] >> np.uint64(atom & 63)) & np.uint64(1)


@numba.njit(cache=True, nogil=True)
def _copy(source, target):
    """``target[:] = source``, which takes seconds to compile at each place where it stands."""
    for i in range(len(source)):
        target[i] = source[i]


@numba.njit(cache=True, nogil=True)
def _apply(parent, operator, concept_atoms, bits):
    """The atoms of a formula with one step more."""
    bit = np.uint64(1)
    if operator == AND:
        bits[:] = 0
        for atom in concept_atoms:
            bits[atom >> 6] |= parent[atom >> 6] & (bit << np.uint64(atom & 63))
        return
    _copy(parent, bits)
    if operator == OR:
        for atom in concept_atoms:
            bits[atom >> 6] |= bit << np.uint64(atom & 63)
    else:
        for atom in concept_atoms:
            bits[atom >> 6] &= ~(bit << np.uint64(atom & 63))


@numba.njit(cache=True, nogil=True)
def _step_sizes(operator, size, shared, c_size, c_shared, both, both_shared):
    """Size and shared pixels after a step."""
    if operator == OR:
        return size + c_size - both, shared + c_shared - both_shared
    if operator == AND:
        return both, both_shared
    return size - both, shared - both_shared


@numba.njit(cache=True, nogil=True)
def _changes(operator, size, c_size, both):
    """Whether a step gives a mask that is neither the formula's own nor the concept's."""
    if operator == OR:
        return both < c_size and both < size
    if operator == AND:
        return 0 < both < size and both < c_size
    return 0 < both < size


@numba.njit(cache=True, nogil=True)
def _images(bits, image, unit_atom):
    """Images that show the formula, and images in which the unit meets it."""
    n_images, last = 0, -1
    for word in range(len(bits)):
        rest = bits[word]
        while rest:
            low = rest & (~rest + np.uint64(1))
            atom = (word << 6) + _log2(low)
            rest ^= low
            if image[atom] != last:
                last = image[atom]
                n_images += 1
    n_met, last = 0, -1
    for atom in unit_atom:
        if image[atom] != last and _has(bits, atom):
            last = image[atom]
            n_met += 1
    return n_images, n_met


@numba.njit(cache=True, nogil=True)
def _log2(power):
    n = 0
    if power >> np.uint64(32):
        n += 32
        power >>= np.uint64(32)
    if power >> np.uint64(16):
        n += 16
        power >>= np.uint64(16)
    if power >> np.uint64(8):
        n += 8
        power >>= np.uint64(8)
    if power >> np.uint64(4):
        n += 4
        power >>= np.uint64(4)
    if power >> np.uint64(2):
        n += 2
        power >>= np.uint64(2)
    return n + np.int64(power >> np.uint64(1))


@numba.njit(cache=True, nogil=True)
def _triples(parent, concept, tables, unit, with_all, with_unit, alone_unit):
    """Pixels of formula and concept with every other concept: all of them, and the unit's."""
    _, concept_start, concept_atom, weight, label_start, label, _ = tables
    unit_atom, unit_count = unit
    with_all[:] = 0
    with_unit[:] = 0
    alone_unit[:] = 0
    for k in range(concept_start[concept], concept_start[concept + 1]):
        atom = concept_atom[k]
        if _has(parent, atom):
            for j in range(label_start[atom], label_start[atom + 1]):
                with_all[label[j]] += weight[atom]
    for k in range(len(unit_atom)):
        atom = unit_atom[k]
        carries = False
        for j in range(label_start[atom], label_start[atom + 1]):
            carries |= label[j] == concept
        if not carries:
            continue
        inside = _has(parent, atom)
        for j in range(label_start[atom], label_start[atom + 1]):
            alone_unit[label[j]] += unit_count[k]
            if inside:
                with_unit[label[j]] += unit_count[k]


@numba.njit(cache=True, nogil=True)
def _same_mask(a, b, entries, old_bits, tables, scratch):
    """Whether two entries that are not built yet have the same atoms."""
    parent, operator, concept = entries[0], entries[1], entries[2]
    concept_start, concept_atom = tables[1], tables[2]
    for side in range(2):
        e = a if side == 0 else b
        if operator[e] < 0:
            _copy(old_bits[parent[e]], scratch[side])
        else:
            c = concept[e]
            atoms = concept_atom[concept_start[c] : concept_start[c + 1]]
            _apply(old_bits[parent[e]], operator[e], atoms, scratch[side])
    for word in range(scratch.shape[1]):
        if scratch[0, word] != scratch[1, word]:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _leaves(order, pairs, shared, beam, distinct, state):
    """Begin with the best single concepts; returns how many there are."""
    size, hit, length, chain = state[0], state[1], state[2], state[3]
    n = 0
    for c in order:
        repeated = False
        for b in range(n if distinct else 0):
            other = chain[b, 1, 0]
            repeated |= pairs[c, other] == pairs[c, c] and pairs[c, c] == pairs[other, other]
        if repeated:
            continue
        size[n], hit[n], length[n] = pairs[c, c], shared[c], 1
        chain[n, 0, 0], chain[n, 1, 0] = -1, c
        n += 1
        if n == beam:
            break
    return n


@numba.njit(cache=True, nogil=True)
def _propose(n, candidates, state, entries, bits, tables, shared, unit_size, distinct, scratch):
    """The next beam: the old one and every step of it, best first, older first where equal.

    Fills ``entries`` and returns how many there are. The row after the last is scratch space.
    """
    size, hit, both, both_unit = state[0], state[1], state[5], state[6]
    parent, operator, concept, value, new_size, new_hit = entries
    pairs, beam = tables[0], len(size)
    m = n
    for b in range(n):
        parent[b], operator[b], concept[b] = b, -1, -1
        new_size[b], new_hit[b] = size[b], hit[b]
        value[b] = overlap(hit[b], size[b], unit_size)
    for b in range(n):
        for c in candidates:
            for op in range(3):
                s, h = _step_sizes(
                    op, size[b], hit[b], pairs[c, c], shared[c], both[b, c], both_unit[b, c]
                )
                v = overlap(h, s, unit_size)
                if m == beam and v <= value[m - 1]:
                    continue
                parent[beam], operator[beam], concept[beam] = b, op, c
                if distinct:
                    repeated = not _changes(op, size[b], pairs[c, c], both[b, c])
                    for e in range(m):
                        if not repeated and new_size[e] == s and new_hit[e] == h:
                            repeated = _same_mask(e, beam, entries, bits, tables, scratch)
                    if repeated:
                        continue
                place = m if m < beam else beam - 1
                while place > 0 and value[place - 1] < v:
                    for column in (parent, operator, concept, new_size, new_hit):
                        column[place] = column[place - 1]
                    value[place] = value[place - 1]
                    place -= 1
                parent[place], operator[place], concept[place] = b, op, c
                value[place], new_size[place], new_hit[place] = v, s, h
                m = min(m + 1, beam)
    return m


@numba.njit(cache=True, nogil=True)
def _grow(m, entries, state, bits, old_bits, tables, unit, last):
    """Build the entries: their atoms, and their counts with every concept if a step follows."""
    size, hit, length, chain, seen, both, both_unit = state
    parent, operator, concept, _, new_size, new_hit = entries
    pairs, concept_start, concept_atom = tables[0], tables[1], tables[2]
    n_concepts = len(pairs)
    with_all, with_unit = np.empty(n_concepts, np.int64), np.empty(n_concepts, np.int64)
    alone_unit = np.empty(n_concepts, np.int64)
    old_both, old_unit, old_seen = both.copy(), both_unit.copy(), seen.copy()
    old_chain, old_length = chain.copy(), length.copy()
    for e in range(m):
        p, c = parent[e], concept[e]
        _copy(old_chain[p, 0], chain[e, 0])
        _copy(old_chain[p, 1], chain[e, 1])
        length[e] = old_length[p]
        size[e], hit[e] = new_size[e], new_hit[e]
        if operator[e] < 0:
            _copy(old_bits[p], bits[e])
            _copy(old_both[p], both[e])
            _copy(old_unit[p], both_unit[e])
            _copy(old_seen[p], seen[e])
            continue
        seen[e, 0] = -1
        chain[e, 0, length[e]], chain[e, 1, length[e]] = operator[e], c
        length[e] += 1
        atoms = concept_atom[concept_start[c] : concept_start[c + 1]]
        _apply(old_bits[p], operator[e], atoms, bits[e])
        if last:
            continue
        _triples(old_bits[p], c, tables, unit, with_all, with_unit, alone_unit)
        for d in range(n_concepts):
            both[e, d], both_unit[e, d] = _step_sizes(
                operator[e], old_both[p, d], old_unit[p, d], pairs[c, d], alone_unit[d],
                with_all[d], with_unit[d],
            )  # fmt: skip


@numba.njit(cache=True, nogil=True)
def search_unit(
    tables,
    unit,
    shared,
    leaves,
    candidates,
    beam,
    lengths,
    distinct,
    stop,
    by_overlap,
    by_detection,
):
    """Search for one unit; writes the best of the beam after each length, by overlap and detection.

    ``leaves`` are the concepts that meet the unit, best first; ``candidates`` those that formulas
    are extended with. ``by_overlap[length - 1]`` and ``by_detection[length - 1]`` get FIELDS
    numbers, operators and concepts. Returns how many lengths were searched: it ends when the beam
    no longer changes, or by the published stopping rule where ``stop`` is set.
    """
    pairs, concept_start, concept_atom, weight = tables[0], tables[1], tables[2], tables[3]
    image, unit_atom = tables[6], unit[0]
    n_concepts, n_words = len(pairs), (len(weight) + 63) // 64
    unit_size = unit[1].sum()
    if len(leaves) == 0:
        return 0
    bits, old_bits = np.zeros((beam, n_words), np.uint64), np.zeros((beam, n_words), np.uint64)
    scratch, nothing = np.zeros((2, n_words), np.uint64), np.zeros(n_words, np.uint64)
    state = (
        np.zeros(beam, np.int64),  # size
        np.zeros(beam, np.int64),  # pixels shared with the unit
        np.zeros(beam, np.int64),  # length
        np.zeros((beam, 2, lengths), np.int64),  # operators and concepts
        np.full((beam, 2), -1, np.int64),  # images with it, and with the unit on it
        np.zeros((beam, n_concepts), np.int64),  # pixels shared with each concept
        np.zeros((beam, n_concepts), np.int64),  # and with the unit
    )
    n = _leaves(leaves, pairs, shared, beam, distinct, state)
    with_all, with_unit = np.empty(n_concepts, np.int64), np.empty(n_concepts, np.int64)
    alone_unit = np.empty(n_concepts, np.int64)
    for b in range(n):
        c = state[3][b, 1, 0]
        atoms = concept_atom[concept_start[c] : concept_start[c + 1]]
        _apply(nothing, np.int64(OR), atoms, bits[b])  # as a bare constant it compiles once more
        _triples(nothing, c, tables, unit, with_all, with_unit, alone_unit)
        _copy(pairs[c], state[5][b])
        _copy(alone_unit, state[6][b])
    _report(n, state, bits, image, unit_atom, by_overlap[0], by_detection[0])
    entries = (
        np.empty(beam + 1, np.int64),  # parent
        np.empty(beam + 1, np.int64),  # operator; -1: as it was
        np.empty(beam + 1, np.int64),  # concept
        np.empty(beam + 1),  # overlap
        np.empty(beam + 1, np.int64),  # size
        np.empty(beam + 1, np.int64),  # pixels shared with the unit
    )
    best = np.round(by_overlap[0, 4] / by_overlap[0, 3], 4)
    for step in range(1, lengths):
        m = _propose(
            n, candidates, state, entries, bits, tables, shared, unit_size, distinct, scratch
        )
        if m == n and np.all(entries[1][:m] < 0):
            return step
        bits, old_bits = old_bits, bits
        _grow(m, entries, state, bits, old_bits, tables, unit, step == lengths - 1)
        n = m
        _report(n, state, bits, image, unit_atom, by_overlap[step], by_detection[step])
        if stop:
            now = np.round(by_overlap[step, 4] / max(by_overlap[step, 3], 1), 4)
            operators = by_overlap[step, FIELDS + 1 : FIELDS + by_overlap[step, 0]]
            if now < best or (now == best and np.any(operators == AND_NOT)):
                return step + 1
            best = now
    return lengths


@numba.njit(cache=True, nogil=True)
def _report(n, state, bits, image, unit_atom, by_overlap, by_detection):
    """The first of the beam, and the one that is detected most often."""
    size, hit, length, chain, seen = state[0], state[1], state[2], state[3], state[4]
    best = -1.0
    for b in range(n):
        if seen[b, 0] < 0:
            seen[b, 0], seen[b, 1] = _images(bits[b], image, unit_atom)
        n_images, n_met = seen[b, 0], seen[b, 1]
        detected = n_met / n_images if n_images else 0.0
        if b == 0:
            _write(by_overlap, length[b], size[b], hit[b], n_images, n_met, chain[b])
        if detected > best:
            best = detected
            _write(by_detection, length[b], size[b], hit[b], n_images, n_met, chain[b])


@numba.njit(cache=True, nogil=True)
def _write(row, length, size, hit, n_images, n_met, chain):
    row[0], row[1], row[2], row[3], row[4] = length, size, hit, n_images, n_met
    lengths = chain.shape[1]
    for k in range(lengths):
        row[FIELDS + k], row[FIELDS + lengths + k] = chain[0, k], chain[1, k]
