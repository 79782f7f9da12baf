"""Compute the joint leakage naively: loops, exact fits, at most a few hundred rows.

It was written from the definition alone, by somebody who had not seen the package's code. Letters
are those of the definition: rows i, concepts j, labels y, clusters g, folds k, values z, truth x.
"""
# ruff: noqa: N803, E741, B905, RUF005

import hashlib
import math

import numpy as np
from scipy.special import logsumexp, ndtri
from scipy.stats import t as student


def numbered(items):
    """Each item's number in order of first appearance: b a b -> 0 1 0."""
    seen = {}
    return np.array([seen.setdefault(item, len(seen)) for item in items], dtype=int)


def ranks(values, truth, known, w):
    """u of A2 step 1, already cut; nan where the truth is unknown."""
    (n, concepts), u = values.shape, np.full(values.shape, np.nan)
    for j in range(concepts):
        for stratum in (0, 1):
            rows = [i for i in range(n) if known[i, j] and truth[i, j] == stratum]
            total = sum(w[i] for i in rows)
            for i in rows:
                below = sum(w[m] for m in rows if values[m, j] < values[i, j])
                equal = sum(w[m] for m in rows if values[m, j] == values[i, j])
                u[i, j] = min(
                    max((below + equal / 2) / total, 1 / (4 * total)), 1 - 1 / (4 * total)
                )
    return u


def normal_scores(values, truth, known, w):
    """z of A2 step 1, one column per concept (a column that is 0 everywhere counts as dropped)."""
    u = ranks(values, truth, known, w)
    z = np.zeros(u.shape)
    for j in range(u.shape[1]):
        for stratum in (0, 1):
            rows = np.flatnonzero(known[:, j] & (truth[:, j] == stratum))
            score = ndtri(u[rows, j])
            if len(rows) >= 2 and np.ptp(score) > 1e-12:
                score = score - np.average(score, weights=w[rows])
                z[rows, j] = score / math.sqrt(np.average(score**2, weights=w[rows]))
    return z


def truth_columns(truth, known, w):
    """x of A2 step 2: {concept number: column}, and the list of centred 'unknown' columns."""
    x, unknown = {}, []
    for j in range(truth.shape[1]):
        rows = np.flatnonzero(known[:, j])
        if len(set(truth[rows, j])) > 1:
            centred = truth[rows, j] - np.average(truth[rows, j], weights=w[rows])
            x[j] = np.zeros(len(truth))
            x[j][rows] = centred / math.sqrt(np.average(centred**2, weights=w[rows]))
        if 0 < len(rows) < len(truth):
            unknown.append(~known[:, j] - np.average(~known[:, j], weights=w))
    return x, unknown


def folds(keys, clusters, labels):
    """A2 step 3: the fold of each row. keys: text per row; clusters: cluster number per row."""
    groups, fold_of = {}, {}
    for g in sorted(set(clusters)):
        rows = [i for i in range(len(keys)) if clusters[i] == g]
        pure = len({labels[i] for i in rows}) == 1
        hashed = int.from_bytes(hashlib.sha256(keys[rows[0]].encode("utf-8")).digest()[:8], "big")
        groups.setdefault((pure, labels[rows[0]] if pure else None), []).append((hashed, g))
    for members in groups.values():
        for r, (_, g) in enumerate(sorted(members)):
            fold_of[g] = (r + min(members)[0]) % 10
    return np.array([fold_of[g] for g in clusters])


def log_softmax(logits):
    return logits - logsumexp(logits, axis=1, keepdims=True)


def fit(X, offset, y, w, penalty):
    """A2 step 4: B (columns x labels) by full Newton with step halving, largest gradient entry <= 1e-9."""
    (n, columns), L = X.shape, offset.shape[1]
    B = np.zeros((columns, L))
    if columns == 0 or n == 0:
        return B

    def loss(B):
        return -w @ log_softmax(offset + X @ B)[np.arange(n), y] + penalty / 2 * np.sum(B**2)

    for _ in range(200):
        p = np.exp(log_softmax(offset + X @ B))
        gradient = X.T @ (w[:, None] * (p - np.eye(L)[y])) + penalty * B
        if np.max(np.abs(gradient)) <= 1e-11:
            return B
        hessian = np.zeros((columns, L, columns, L))
        for a in range(L):
            for b in range(L):
                hessian[:, a, :, b] = X.T @ ((w * p[:, a] * ((a == b) - p[:, b]))[:, None] * X)
        hessian = hessian.reshape(columns * L, columns * L) + penalty * np.eye(columns * L)
        step = np.linalg.solve(hessian, gradient.ravel()).reshape(columns, L)
        size, here = 1.0, loss(B)
        while loss(B - size * step) > here + 1e-12 * (1 + abs(here)) and size > 1e-6:
            size /= 2
        B = B - size * step
    assert np.max(np.abs(gradient)) <= 1e-9
    return B


def ridge(X, offset, y, w, penalty, train):
    """Log probabilities of all rows, fitted on the training rows."""
    return log_softmax(offset + X @ fit(X[train], offset[train], y[train], w[train], penalty))


def stack(models, y, w, fold):
    """A2 step 5. models: {name: held-out log probabilities}. Returns log p, and the weights' mean over folds."""
    used = sorted(set(fold))
    S = {
        (m, k): sum(w[i] * p[i, y[i]] for i in np.flatnonzero(fold == k))
        for m, p in models.items()
        for k in used
    }
    result, mean_weights = np.zeros((len(y), y.max() + 1)), dict.fromkeys(models, 0.0)
    for k in used:
        log_weights = np.array([sum(S[m, other] for other in used if other != k) for m in models])
        log_weights -= logsumexp(log_weights)
        here = fold == k
        result[here] = logsumexp(
            [lw + p[here] for lw, p in zip(log_weights, models.values())], axis=0
        )
        for lw, m in zip(log_weights, models):
            mean_weights[m] += math.exp(lw) / len(used)
    return result, mean_weights


def best_columns(candidates, residual, w, train):
    """The 8 candidates with the largest sum_y S^2/V over training rows; ties (equal to 9 digits) to the earlier one."""
    scored = []
    for order, phi in enumerate(candidates):
        terms = (w[:, None] * residual * phi[:, None])[train]
        score = sum(np.sum(term) ** 2 / np.sum(term**2) for term in terms.T if np.any(term != 0))
        scored.append((-float(f"{score:.8e}"), order))
    return [candidates[order] for _, order in sorted(scored)[:8]]


def base_log_probs(truth, known, y, w, fold, products):
    """A2 step 6 and H1: held-out log base of every row and label, and the mean stack weights."""
    n, L = len(y), y.max() + 1
    one_hot = np.eye(L)[y]
    x, unknown = truth_columns(truth, known, w)
    X = np.column_stack([np.zeros((n, 0)), *x.values(), *unknown])
    pairs = [x[a] * x[b] for a in x for b in x if a < b]
    patterns = [tuple(int(c) if k else 2 for c, k in zip(truth[i], known[i])) for i in range(n)]
    products = products and bool(pairs)
    names = ["prior", "ridge 10", "ridge 1", "table 1", "table 4"]
    names += ["products 10", "products 1"] * products
    models = {name: np.full((n, L), np.nan) for name in names}
    for k in sorted(set(fold)):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        prior = (w[train] @ one_hot[train] + 0.5) / (w[train].sum() + L / 2)
        offset = np.tile(np.log(prior), (n, 1))
        ridge10 = ridge(X, offset, y, w, 10, train)
        models["prior"][test] = offset[test]
        models["ridge 10"][test] = ridge10[test]
        models["ridge 1"][test] = ridge(X, offset, y, w, 1, train)[test]
        for i in test:
            counts = sum(
                (w[m] * one_hot[m] for m in train if patterns[m] == patterns[i]), np.zeros(L)
            )
            for alpha in (1, 4):
                models[f"table {alpha}"][i] = np.log(
                    (counts + alpha * np.exp(ridge10[i])) / (counts.sum() + alpha)
                )
        if products:
            wide = np.column_stack([X, *best_columns(pairs, one_hot - np.exp(ridge10), w, train)])
            for penalty in (10, 1):
                models[f"products {penalty}"][test] = ridge(wide, offset, y, w, penalty, train)[
                    test
                ]
    return stack(models, y, w, fold)


def full_log_probs(log_base, z, u, truth, known, y, w, fold, G):
    """A2 step 7: held-out log full of every row and label, and the mean stack weights."""
    n, L = log_base.shape
    base, (x, _) = np.exp(log_base), truth_columns(truth, known, w)
    pi = w @ base / w.sum()
    kept = [j for j in range(z.shape[1]) if np.any(z[:, j] != 0)]
    candidates = [z[:, a] * z[:, b] for a in kept for b in kept if a < b]
    candidates += [z[:, a] ** 2 - 1 for a in kept]
    candidates += [z[:, a] * x[b] for a in kept for b in x if a != b]
    bins = [B for B in (8, 32, 128) if B <= G / 8 and kept]
    models = {
        f"{kind} {c}": np.full((n, L), np.nan) for kind in ("linear", "pairs") for c in (100, 10, 1)
    }
    models = {"nothing": log_base, **models, **{f"bins {B}": log_base.copy() for B in bins}}
    for k in sorted(set(fold)):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        wide = np.column_stack(
            [z[:, kept], *best_columns(candidates, np.eye(L)[y] - base, w, train)]
        )
        for kind, X in (("linear", z[:, kept]), ("pairs", wide)):
            for penalty in (100, 10, 1):
                models[f"{kind} {penalty}"][test] = ridge(X, log_base, y, w, penalty, train)[test]
        for B in bins:
            best = -1.0
            for j in kept:
                cell = {
                    i: (truth[i, j], min(math.floor(B * u[i, j] + 1e-9), B - 1))
                    for i in range(n)
                    if known[i, j]
                }
                O, E = ({c: np.zeros(L) for c in cell.values()} for _ in "OE")
                for i in train:
                    if known[i, j]:
                        O[cell[i]][y[i]] += w[i]
                        E[cell[i]] += w[i] * base[i]
                score = float(f"{sum(np.sum((O[c] - E[c]) ** 2 / (E[c] + 1)) for c in O):.8e}")
                if score > best:
                    best, chosen = score, (cell, O, E)
            cell, O, E = chosen
            for i in test:
                if i in cell:
                    p = base[i] * (O[cell[i]] + 8 * pi) / (E[cell[i]] + 8 * pi)
                    models[f"bins {B}"][i] = np.log(p / p.sum())
    return stack(models, y, w, fold)


def row_weights(clusters, y):
    """omega of H5.7: 1 / (1 + (rows of the cluster - 1) r), r the likeness of labels within clusters."""
    counts = np.zeros((max(clusters) + 1, y.max() + 1), dtype=int)
    np.add.at(counts, (clusters, y), 1)
    counts //= np.gcd.reduce(counts.ravel())
    rows = counts.sum(axis=1)
    if len(set(rows)) == 1:
        return np.ones(len(y))
    within = np.mean(
        [np.sum(c * (c - 1)) / (c.sum() * (c.sum() - 1)) for c in counts if c.sum() >= 2]
    )
    share = counts / rows[:, None]
    between = np.mean(
        [share[g] @ share[h] for g in range(len(rows)) for h in range(len(rows)) if g != h]
    )
    r = min(max((within - between) / (1 - between), 0.0), 1.0) if between < 1 else 0.0
    return np.array([1 / (1 + (rows[g] - 1) * r) for g in clusters])


def score_estimate(z, residual, pi, w, clusters, H):
    """A2 step 9 with H2: T_s, e_s, K'."""
    G, L = max(clusters) + 1, residual.shape[1]
    eigenvalues, vectors = np.linalg.eigh((z * w[:, None]).T @ z / w.sum())
    use = [m for m in range(len(eigenvalues)) if eigenvalues[m] > 1e-6 * eigenvalues.max()]
    Q, p = 0.0, len(use) * (L - 1)
    for m in use:
        white = z @ vectors[:, m] / math.sqrt(eigenvalues[m])
        for y in range(L):
            sums = np.bincount(clusters, w * residual[:, y] * white)
            V = np.sum(sums**2) - np.sum(sums) ** 2 / G
            Q += (1 - pi[y]) * np.sum(sums) ** 2 / V if V > 0 else 0.0
    return -math.log(1 - min((Q - p) / G, 0.9)) / (2 * H), math.sqrt(p / 2) / (G * H), len(use)


def joint_leakage(values, truth, labels, keys, known=None, products=True, level=0.95, tau=0.05):
    values, truth = np.asarray(values, dtype=float), np.asarray(truth)
    known = np.ones(truth.shape, bool) if known is None else np.asarray(known, bool)
    y, clusters = numbered(labels), numbered(keys)
    assert y.max() < 50, "more than 50 labels: group them first (A5)"
    G, every = max(clusters) + 1, np.arange(len(y))
    w = np.array([1 / np.sum(clusters == g) for g in clusters])
    u, z = ranks(values, truth, known, w), normal_scores(values, truth, known, w)
    fold = folds(keys, clusters, y)
    log_base, base_weights = base_log_probs(truth, known, y, w, fold, products)
    log_full, full_weights = full_log_probs(log_base, z, u, truth, known, y, w, fold, G)
    omega = row_weights(clusters, y)
    out = log_full[every, y] - log_base[every, y]
    H = -np.average(log_base[every, y], weights=omega)
    T = np.average(out, weights=omega) / H
    base = np.exp(log_base)
    T_s, e_s, K_prime = score_estimate(
        z, np.eye(y.max() + 1)[y] - base, w @ base / w.sum(), w, clusters, H
    )
    s = np.bincount(clusters, omega * (out / H - T))
    e = max(math.sqrt(G / (G - 1) * np.sum(s**2)) / omega.sum(), 1 / (G * H))
    f, t, rho = math.sqrt(1 + 70 / G), student.ppf((1 + level) / 2, G - 1), 2 / (H * G)
    up, spread = max(T, T_s, 0.0), math.hypot(f * e, e_s)
    m = up + t**2 * rho / 2
    low = max(T - t * f * e, -1.0)
    high = min(max(up + t * spread, m + math.sqrt(m**2 - up**2 + t**2 * e_s**2)), 1.0)
    statistics = (
        (tau - up) / max(spread, math.sqrt(tau * rho + e_s**2)),
        T / (f * e),
        (T - tau) / (f * e),
    )
    p_free, p_some, p_too_much = (min(2 * student.sf(v, G - 1), 1.0) for v in statistics)
    return {
        "T": T, "H": H, "out": out, "folds": fold, "z": z, "base_weights": base_weights, "full_weights": full_weights,
        "T_s": T_s, "e_s": e_s, "e": e, "f": f, "low": low, "high": 1.0 if low > tau else high, "K_prime": K_prime,
        "G": G, "p_free": p_free, "p_some": p_some, "p_too_much": p_too_much, "omega": omega, "log_base": log_base,
    }  # fmt: skip


def second_example():
    """H4: values, truth, labels, keys, known. 180 rows, 90 clusters of 1, 2 and 4 rows, 3 labels, 5 concepts.

    Labels follow an exclusive or of concepts 1, 2 and vary within some of every fourth cluster. Value 0 is a wave of
    its rank that tells the label (bins); value 1 is shifted by label c (linear); 2 and 3 together tell a (pairs); 2
    has ties; 4 is constant where the concept is absent. Truth of concepts 0 and 1 is unknown in some rows.
    """

    def part(m, number):
        return (m * math.sqrt(number)) % 1

    values, truth, labels, keys, known = [], [], [], [], []
    for g in range(90):
        for _ in range((1, 2, 1, 4, 2)[g % 5]):
            i = len(labels)
            of = i if g % 4 == 0 else 1000 + g  # what the label depends on: the row or the cluster
            c = [
                part(i, 2) < 0.5,
                part(of, 3) < 0.5,
                part(of, 5) < 0.4,
                part(i, 7) < 0.5,
                part(i + g, 11) < 0.3,
            ]
            y = int(3 * part(of, 19))
            if part(of, 17) < 0.6:
                y = (
                    (0 if part(of, 13) < 0.65 else 2)
                    if c[1] == c[2]
                    else (1 if part(of, 13) < 0.75 else 2)
                )
            told = ((0, 3, 6), (1, 4, 7), (2, 5, 5))[y][int(3 * part(i, 23))]
            wave = told if part(i, 29) < 0.85 else int(8 * part(i, 23))
            a, b = part(i, 41) - 0.5, part(i, 43)
            if part(i, 53) < 0.6:
                b = b / 2 + (0.5 if (a > 0) == (y == 0) else 0)
            first = [c[0] + 0.1 * (wave + part(i, 31)), c[1] + 0.4 * part(i, 37) + 0.1 * (y == 2)]
            values.append(
                first
                + [c[2] + round(8 * a) / 16, c[3] + 0.3 * b**2, 0.5 + 0.3 * c[4] * part(i, 47)]
            )
            truth.append([int(v) for v in c])
            labels.append("abc"[y])
            keys.append(f"å{g}")
            known.append([i % 7 != 2, i % 11 != 3, True, True, True])
    return np.array(values), np.array(truth), labels, keys, np.array(known)
