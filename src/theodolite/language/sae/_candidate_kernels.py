"""Numba kernels that choose candidate concepts of each unit and bound what the others could add."""

import numpy as np

from theodolite._storage.optional import require

numba = require("numba", "naming units by formulas", "dissect")

BEST = 8
"""Number of best-fitting concepts for which removing concepts are searched."""
LAST = 0xFFFF
"""Largest number of a concept."""


@numba.njit(cache=True, nogil=True)
def _removable(both, shared_a, shared_c, size_a, size_c, active):
    """Return an upper bound of positions outside the unit that "AND NOT c" removes from a."""
    inside = max(0, shared_a + shared_c - active)
    return max(0, min(both - inside, size_a - shared_a, size_c - shared_c))


@numba.njit(cache=True, nogil=True)
def _largest(numbers, n):
    keys = np.empty(len(numbers), np.int64)
    for c in range(len(numbers)):
        keys[c] = (numbers[c] << 16) | (LAST - c)
    if n < len(keys):
        keys = np.partition(keys, len(keys) - n)[len(keys) - n :]
    keys.sort()
    return LAST - (keys[::-1] & LAST)


@numba.njit(cache=True, nogil=True)
def _fits(shared, active, pairs):
    """Return the overlap of each concept alone, and the few best."""
    n = len(shared)
    value = np.zeros(n)
    best = np.zeros(min(BEST, n), np.int64)
    m = 0
    for c in range(n):
        if pairs[c, c] > 0:
            value[c] = shared[c] / (active + pairs[c, c] - shared[c])
        at = m
        while at > 0 and value[best[at - 1]] < value[c]:
            at -= 1
        if at < len(best):
            m = min(m + 1, len(best))
            for i in range(m - 1, at, -1):
                best[i] = best[i - 1]
            best[at] = c
    return value, best


@numba.njit(cache=True, nogil=True)
def _removers(shared, active, pairs, met, fits, first, worth, most, out):
    """Return concepts that could improve a formula by removal, most promising first.

    Of what meets a concept (``met``: most often first), only those are looked at that meet it as
    often as would have to be taken away.
    """
    value, best = fits
    gain = np.zeros(len(shared))
    for a in best:
        if shared[a] == 0:
            continue
        whole = active + pairs[a, a] - shared[a]
        needed = whole - shared[a] / (value[best[0]] + worth) - 1
        for c in met[a]:
            if pairs[a, c] < needed:
                break
            if first[c] or a == c:
                continue
            x = _removable(pairs[a, c], shared[a], shared[c], pairs[a, a], pairs[c, c], active)
            bound = shared[a] / (whole - x) - value[best[0]]
            if bound > worth:
                gain[c] = max(gain[c], bound)
    some = np.flatnonzero(gain)
    by_gain = some[np.argsort(-gain[some], kind="mergesort")]
    m = min(most, len(by_gain))
    out[:m] = by_gain[:m]
    return m


@numba.njit(cache=True, nogil=True)
def _take(some, most, m, chosen, candidates):
    """Add unchosen concepts to the candidates, up to a limit."""
    for c in some:
        if m == most:
            break
        if not chosen[c]:
            candidates[m] = c
            chosen[c] = True
            m += 1
    return m


@numba.njit(cache=True, nogil=True)
def _most_removed(a, shared, active, pairs, met, chosen, two):
    """Return the most that the two best unchosen concepts could remove from one."""
    for c in met[a]:
        if pairs[a, c] <= two[1]:
            break
        if chosen[c]:
            continue
        x = _removable(pairs[a, c], shared[a], shared[c], pairs[a, a], pairs[c, c], active)
        if x > two[0]:
            two[1] = two[0]
            two[0] = x
        elif x > two[1]:
            two[1] = x


@numba.njit(cache=True, nogil=True)
def choose(table, active, pairs, met, worth, candidates, shared_out, removal, outside, single):
    """Choose candidates of each unit: concepts it meets most often, then those worth removing.

    ``met`` has, for each concept, all concepts by how often they are together. ``removal`` gets,
    for each candidate, what the two best of all other concepts could take away from it;
    ``outside`` the three largest counts of concepts that are no candidates; ``single`` the best
    concept alone, with positions and documents that the unit shares with it.
    """
    n, k = table.shape[1], candidates.shape[1]
    removers = np.empty(k, np.int64)
    for u in range(len(table)):
        shared = table[u, :, 0].astype(np.int64)
        for c in range(n):
            if pairs[c, c] == 0:
                shared[c] = 0
        size = np.int64(active[u, 0])
        order = _largest(shared, min(k + 3, n))
        fits = _fits(shared, size, pairs)
        c = fits[1][0]
        single[u, 0] = -1
        if fits[0][c] > 0:
            single[u, 0], single[u, 1], single[u, 2] = c, table[u, c, 0], table[u, c, 1]
        chosen = np.zeros(n, np.bool_)
        n_removers = 0
        if n > k:
            chosen[order[: k - k // 4]] = True
            n_removers = _removers(
                shared, size, pairs, met, fits, chosen, worth, k // 4, removers
            )  # fmt: skip
            chosen[:] = False
        m = _take(order[: k - n_removers], k, 0, chosen, candidates[u])
        m = _take(removers[:n_removers], k, m, chosen, candidates[u])
        m = _take(order, min(k, n), m, chosen, candidates[u])
        r = 0
        for c in order:
            if r < 3 and not chosen[c]:
                outside[u, r] = shared[c]
                r += 1
        for i in range(m):
            a = candidates[u, i]
            shared_out[u, i] = shared[a]
            if shared[a] > 0:
                _most_removed(a, shared, size, pairs, met, chosen, removal[u, i])


@numba.njit(cache=True, nogil=True)
def with_negated(label_start, label, count, active, shared, pairs, removal, outside):
    """Return the best overlap that formulas with a negated non-candidate could reach.

    What such a concept takes away lies in concepts that are meant. So a formula of one candidate
    and two of these, or of two candidates and one, has at least the positions outside the unit
    that its candidates have without all that could be taken from them.
    """
    k = len(shared)
    own = np.zeros((k, k), np.int64)
    for r in range(len(count)):
        for x in range(label_start[r], label_start[r + 1]):
            for y in range(label_start[r], label_start[r + 1]):
                own[label[x], label[y]] += count[r]
    order = np.argsort(-shared, kind="mergesort")
    best = 0.0
    for i in range(k):
        a = order[i]
        if removal[a, 0] > 0:
            o = pairs[a, a] - shared[a] - removal[a, 0] - removal[a, 1]
            best = max(best, (shared[a] + outside) / (active + max(0, o)))
    for i in range(k):
        a = order[i]
        if 2 * shared[a] <= best * active:
            break
        o_a = pairs[a, a] - shared[a]
        for j in range(k):
            b = order[j]
            if b == a:
                continue
            both = own[a, b]
            o_both = pairs[a, b] - both
            if removal[a, 0] > 0:  # a AND NOT b, and NOT c
                o = o_a - o_both - removal[a, 0]
                best = max(best, (shared[a] - both) / (active + max(0, o)))
            removed = min(removal[a, 0], removal[b, 0])
            if j > i and removed > 0:
                best = max(best, both / (active + max(0, o_both - removed)))
            removed = removal[a, 0] + removal[b, 0]
            if j > i and removed > 0:
                o = o_a + pairs[b, b] - shared[b] - o_both - removed
                best = max(best, (shared[a] + shared[b] - both) / (active + max(0, o)))
    return best
