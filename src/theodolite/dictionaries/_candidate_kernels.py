"""Which concepts a unit's formulas are made of, and what those that are left out could do."""

import numba
import numpy as np

BEST = 8
"""Concepts that removers are looked for with: those that fit the unit best on their own."""


@numba.njit(cache=True, nogil=True)
def _removable(both, shared_a, shared_c, size_a, size_c, active):
    """Positions outside the unit that "AND NOT c" takes from a, at most."""
    inside = max(0, shared_a + shared_c - active)
    return max(0, min(both - inside, size_a - shared_a, size_c - shared_c))


@numba.njit(cache=True, nogil=True)
def _removers(shared, active, pairs, order, n_first, worth, most, out):
    """Concepts that could improve a formula by what they take away; the most promising first."""
    n = len(shared)
    value = np.zeros(n)
    for c in range(n):
        if pairs[c, c] > 0:
            value[c] = shared[c] / (active + pairs[c, c] - shared[c])
    best = np.argsort(-value, kind="mergesort")[:BEST]
    gain = np.zeros(n)
    for c in order[n_first:]:
        for a in best:
            if shared[a] == 0 or a == c:
                continue
            x = _removable(pairs[a, c], shared[a], shared[c], pairs[a, a], pairs[c, c], active)
            bound = shared[a] / (active + pairs[a, a] - shared[a] - x) - value[best[0]]
            gain[c] = max(gain[c], bound)
    by_gain = np.argsort(-gain, kind="mergesort")
    m = 0
    while m < min(most, n) and gain[by_gain[m]] > worth:
        out[m] = by_gain[m]
        m += 1
    return m


@numba.njit(cache=True, nogil=True)
def choose(table, active, pairs, worth, candidates, shared_out, removal, outside, single):
    """Candidates of each unit: concepts it meets most often, then those worth removing.

    ``removal`` gets, for each candidate, what the two best of all other concepts could take away
    from it; ``outside`` the three largest counts of concepts that are no candidates; ``single``
    the best concept alone, with positions and documents that the unit shares with it.
    """
    n = table.shape[1]
    k = candidates.shape[1]
    removers = np.empty(k, np.int64)
    chosen = np.empty(n, np.bool_)
    for u in range(len(table)):
        shared = table[u, :, 0].astype(np.int64)
        for c in range(n):
            if pairs[c, c] == 0:
                shared[c] = 0
        size = np.int64(active[u, 0])
        order = np.argsort(-shared, kind="mergesort")
        chosen[:] = False
        best, single[u, 0] = 0.0, -1
        for c in range(n):
            value = shared[c] / (size + pairs[c, c] - shared[c]) if shared[c] else 0.0
            if value > best:
                best = value
                single[u, 0], single[u, 1], single[u, 2] = c, table[u, c, 0], table[u, c, 1]
        n_removers = 0
        if n > k:
            n_removers = _removers(shared, size, pairs, order, k - k // 4, worth, k // 4, removers)
        m = 0
        for c in order[: k - n_removers]:
            candidates[u, m] = c
            chosen[c] = True
            m += 1
        for c in removers[:n_removers]:
            if not chosen[c]:
                candidates[u, m] = c
                chosen[c] = True
                m += 1
        for c in order:
            if m == min(k, n):
                break
            if not chosen[c]:
                candidates[u, m] = c
                chosen[c] = True
                m += 1
        r = 0
        for c in order:
            if r < 3 and not chosen[c]:
                outside[u, r] = shared[c]
                r += 1
        for i in range(m):
            a = candidates[u, i]
            shared_out[u, i] = shared[a]
            if shared[a] == 0:
                continue
            for c in range(n):
                if chosen[c]:
                    continue
                x = _removable(pairs[a, c], shared[a], shared[c], pairs[a, a], pairs[c, c], size)
                if x > removal[u, i, 0]:
                    removal[u, i, 1] = removal[u, i, 0]
                    removal[u, i, 0] = x
                elif x > removal[u, i, 1]:
                    removal[u, i, 1] = x


@numba.njit(cache=True, nogil=True)
def with_negated(sets, count, active, shared, pairs, removal, outside):
    """The overlap that formulas with a negated concept outside the candidates can reach at most.

    What such a concept takes away lies in concepts that are meant. So a formula of one candidate
    and two of these, or of two candidates and one, has at least the positions outside the unit
    that its candidates have without all that could be taken from them.
    """
    k = len(shared)
    own = np.zeros((k, k), np.int64)
    bits = np.empty(k, np.int64)
    for r in range(len(sets)):
        m = 0
        for i in range(k):
            if (sets[r, i >> 6] >> np.uint64(i & 63)) & np.uint64(1):
                bits[m] = i
                m += 1
        for x in range(m):
            for y in range(m):
                own[bits[x], bits[y]] += count[r]
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
