/* Estimates of vectors: all distances, a row at a time. Callers share rows out among threads. */
#include "search.h"

/* Coordinate by coordinate: then distances to many samples are worked out side by side. */
static double *transposed(memory *own, const double *points, int64_t n, int64_t d) {
    double *turned = take_doubles(own, n * d);
    for (int64_t j = 0; j < n && turned != NULL; j++) {
        for (int64_t a = 0; a < d; a++) turned[a * n + j] = points[j * d + a];
    }
    return turned;
}

static void euclidean(const double *turned, int64_t n, int64_t d, int64_t i, double *away) {
    for (int64_t j = 0; j < n; j++) away[j] = 0.0;
    for (int64_t a = 0; a < d; a++) {
        double own = turned[a * n + i];
        for (int64_t j = 0; j < n; j++) {
            double step = own - turned[a * n + j];
            away[j] += step * step;
        }
    }
    for (int64_t j = 0; j < n; j++) away[j] = sqrt(away[j]);
}

static void largest_difference(const double *turned, int64_t n, int64_t d, int64_t i, double *away) {
    for (int64_t j = 0; j < n; j++) away[j] = 0.0;
    for (int64_t a = 0; a < d; a++) {
        double own = turned[a * n + i];
        for (int64_t j = 0; j < n; j++) away[j] = larger(away[j], fabs(own - turned[a * n + j]));
    }
}

static int64_t count_up_to(const double *away, int64_t n, double reach) {
    int64_t m = 0;
    for (int64_t j = 0; j < n; j++) m += away[j] <= reach;
    return m;
}

/* The distance to the near-th nearest with the label, from the sample i. */
static double reach_of_label(
    const double *away, const int64_t *labels, int64_t n, int64_t i, int64_t near, double *best) {
    for (int64_t at = 0; at < near; at++) best[at] = INFINITY;
    for (int64_t j = 0; j < n; j++) {
        if (j != i && labels[j] == labels[i] && away[j] < best[near - 1])
            insert(best, away[j], near);
    }
    return best[near - 1];
}

/* psi(k_i) - psi(N_y) - psi(m_i) of rows first to last, by Euclidean distance; no label is alone. */
EXPORT int ross_vector_terms(
    int64_t n, int64_t d, int64_t first, int64_t last, const double *points, const int64_t *labels,
    const int64_t *counts, int64_t k, const double *psi, double *out) {
    memory own = {.state = DONE};
    double *away = take_doubles(&own, n), *best = take_doubles(&own, k);
    const double *turned = transposed(&own, points, n, d);
    for (int64_t i = first; i < last && own.state == DONE; i++) {
        int64_t near = fewer(k, counts[labels[i]] - 1);
        euclidean(turned, n, d, i, away);
        double reach = nextafter(reach_of_label(away, labels, n, i, near, best), 0.0);
        out[i] = psi[near] - psi[counts[labels[i]]] - psi[count_up_to(away, n, reach)];
    }
    return give_back(&own);
}

/* psi(n_x) + psi(n_y) of rows first to last for points in two spaces, by largest difference. */
EXPORT int ksg_vector_terms(
    int64_t n, int64_t d_x, int64_t d_y, int64_t first, int64_t last, const double *x,
    const double *y, int64_t k, const double *psi, double *out) {
    memory own = {.state = DONE};
    double *away_x = take_doubles(&own, n), *away_y = take_doubles(&own, n);
    double *best = take_doubles(&own, k);
    const double *turned_x = transposed(&own, x, n, d_x), *turned_y = transposed(&own, y, n, d_y);
    for (int64_t i = first; i < last && own.state == DONE; i++) {
        for (int64_t at = 0; at < k; at++) best[at] = INFINITY;
        largest_difference(turned_x, n, d_x, i, away_x);
        largest_difference(turned_y, n, d_y, i, away_y);
        for (int64_t j = 0; j < n; j++) {
            double both = larger(away_x[j], away_y[j]);
            if (j != i && both < best[k - 1]) insert(best, both, k);
        }
        double reach = nextafter(best[k - 1], 0.0);
        out[i] = psi[count_up_to(away_x, n, reach)] + psi[count_up_to(away_y, n, reach)];
    }
    return give_back(&own);
}

enum { MOST_NEAR = 64 };

/* The nearest others of the sample i, in order; how many. */
static int64_t nearest_others(const double *away, int64_t n, int64_t i, int64_t *near_ones) {
    int64_t most = fewer(n - 1, MOST_NEAR), n_near = 0;
    for (int64_t j = 0; j < n; j++) {
        if (j == i || (n_near == most && away[j] >= away[near_ones[most - 1]])) continue;
        int64_t at = n_near < most ? n_near : most - 1;
        while (at > 0 && away[near_ones[at - 1]] > away[j]) {
            near_ones[at] = near_ones[at - 1];
            at -= 1;
        }
        near_ones[at] = j;
        n_near = fewer(n_near + 1, most);
    }
    return n_near;
}

/* How many samples are nearer than the near-th of the same label, the sample itself included; looked
 * for among the nearest; only where these have too few of the label, or are equal, among all. */
static int64_t count_nearer(
    const double *away, const int64_t *labels, int64_t n, int64_t i, int64_t near,
    const int64_t *near_ones, int64_t n_near, double *best) {
    int64_t matches = 0;
    double reach = INFINITY;
    for (int64_t at = 0; at < n_near && matches < near; at++) {
        if (labels[near_ones[at]] == labels[i]) {
            matches += 1;
            if (matches == near) reach = away[near_ones[at]];
        }
    }
    if (matches == near && reach > 0.0) { /* of equal points there may be more */
        int64_t m = 1;
        reach = nextafter(reach, 0.0);
        for (int64_t at = 0; at < n_near && away[near_ones[at]] <= reach; at++) m += 1;
        return m;
    }
    reach = reach_of_label(away, labels, n, i, near, best);
    return count_up_to(away, n, nextafter(reach, 0.0));
}

/* As `ross_vector_terms` for many labels of two values at once: distances once. */
EXPORT int ross_vector_many_terms(
    int64_t n, int64_t d, int64_t n_labels, int64_t first, int64_t last, const double *points,
    const int64_t *labels, const int64_t *counts, int64_t k, const double *psi, double *out) {
    memory own = {.state = DONE};
    double *away = take_doubles(&own, n), *best = take_doubles(&own, k);
    const double *turned = transposed(&own, points, n, d);
    int64_t near_ones[MOST_NEAR];
    for (int64_t i = first; i < last && own.state == DONE; i++) {
        euclidean(turned, n, d, i, away);
        int64_t n_near = nearest_others(away, n, i, near_ones);
        for (int64_t label = 0; label < n_labels; label++) {
            const int64_t *flags = labels + label * n;
            int64_t same = counts[2 * label + flags[i]], near = fewer(k, same - 1);
            int64_t m = count_nearer(away, flags, n, i, near, near_ones, n_near, best);
            out[label * n + i] = psi[near] - psi[same] - psi[m];
        }
    }
    return give_back(&own);
}

/* The estimate that counts ties, of rows first to last; NaN where a label is alone. */
EXPORT int label_vector_terms(
    int64_t n, int64_t d, int64_t first, int64_t last, const double *points, const int64_t *labels,
    const int64_t *counts, int64_t k, const double *psi, double *out) {
    memory own = {.state = DONE};
    double *away = take_doubles(&own, n), *best = take_doubles(&own, k);
    const double *turned = transposed(&own, points, n, d);
    for (int64_t i = first; i < last && own.state == DONE; i++) {
        int64_t n_same = counts[labels[i]] - 1, near = fewer(k, n_same);
        if (n_same == 0) {
            out[i] = NAN;
            continue;
        }
        euclidean(turned, n, d, i, away);
        double reach = reach_of_label(away, labels, n, i, near, best);
        int64_t within = -1, same = -1; /* without the sample itself */
        for (int64_t j = 0; j < n; j++) {
            within += away[j] <= reach;
            same += away[j] <= reach && labels[j] == labels[i];
        }
        if (reach == 0.0) {
            out[i] = psi[n] + psi[same + 1] - psi[n_same + 1] - psi[within + 1];
        } else if (same > near) {
            out[i] = psi[n - 1] + psi[same] - psi[n_same] - psi[within];
        } else {
            out[i] = psi[n] + psi[near] - psi[n_same + 1] - psi[within];
        }
    }
    return give_back(&own);
}
