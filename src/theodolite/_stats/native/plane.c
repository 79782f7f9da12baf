#include "plane.h"

static const double STRIPS = 0.5; /* strips per square root of the samples: the fastest seen */

static int64_t number_of_strips(int64_t n) {
    return more(1, (int64_t)(sqrt((double)n) * STRIPS));
}

plane make_plane(memory *own, int64_t n) {
    int64_t n_strips = number_of_strips(n), size = n + 2 * n_strips;
    return (plane){
        .first = take_integers(own, n_strips + 1), .start = take_integers(own, n_strips),
        .fill = take_integers(own, n_strips), .pointer = take_integers(own, n_strips),
        .strip_of = take_small_integers(own, n), .who = take_small_integers(own, size),
        .x = take_doubles(own, size), .y = take_doubles(own, size),
    };
}

/* The plane is cut into strips of equally many samples along x; inside a strip samples lie in the
 * order of y, with a guard below and above, infinitely far in y: no scan needs to know its end. */
static void fill_strips(const column_pair *pair, int64_t n_strips, plane *strips) {
    int64_t n = pair->x_column.n, *first = strips->first;
    for (int64_t s = 0; s <= n_strips; s++) first[s] = s * n / n_strips;
    for (int64_t s = 0; s < n_strips; s++) {
        for (int64_t at = first[s]; at < first[s + 1]; at++) strips->strip_of[at] = (int32_t)s;
        int64_t begin = first[s] + 2 * s + 1;
        strips->start[s] = strips->fill[s] = begin;
        strips->x[begin - 1] = strips->x[first[s + 1] + 2 * s + 1] = 0.0;
        strips->y[begin - 1] = -INFINITY;
        strips->y[first[s + 1] + 2 * s + 1] = INFINITY;
    }
    for (int64_t at = 0; at < n; at++) {
        int32_t i = pair->y_order[at];
        int64_t p = strips->fill[strips->strip_of[pair->x_rank[i]]]++;
        strips->x[p] = pair->x[i];
        strips->y[p] = pair->y[i];
        strips->who[p] = i;
    }
}

/* The three smallest distances so far; with k below three the first are never beaten. */
typedef struct {
    double first, second, far;
} nearest;

/* Look through a strip upward and downward in y while that alone is nearer than the third. Without
 * branches: which of the three a distance replaces cannot be foreseen. */
static inline nearest look_outward(
    int64_t up, int64_t down, const double *x, const double *y, double px, double py, nearest best) {
    while (y[up] - py < best.far) {
        double d = larger(fabs(x[up] - px), y[up] - py);
        double second = larger(best.first, d);
        best.first = smaller(best.first, d);
        double third = larger(best.second, second);
        best.second = smaller(best.second, second);
        best.far = smaller(best.far, third);
        up += 1;
    }
    while (py - y[down] < best.far) {
        double d = larger(fabs(x[down] - px), py - y[down]);
        double second = larger(best.first, d);
        best.first = smaller(best.first, d);
        double third = larger(best.second, second);
        best.second = smaller(best.second, second);
        best.far = smaller(best.far, third);
        down -= 1;
    }
    return best;
}

static inline nearest look_in_strip(
    int64_t strip, plane *strips, double px, double py, nearest best) {
    int64_t at = strips->pointer[strip];
    while (strips->y[at] < py) at += 1;
    strips->pointer[strip] = at;
    return look_outward(at, at - 1, strips->x, strips->y, px, py, best);
}

/* How many samples of a strip lie within reach, its edge included. */
static int64_t count_in_strip(
    int64_t strip, const plane *strips, double px, double py, double far) {
    const double *x = strips->x, *y = strips->y;
    int64_t low = strips->start[strip], end = strips->fill[strip], high = end, n = 0;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (py - y[middle] > far) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < end && y[low] - py <= far; low++) n += fabs(x[low] - px) <= far;
    return n;
}

/* Samples at most as far as the k-th, without the sample itself. */
static int64_t count_reached(
    int64_t strip, int64_t n_strips, const double *x_sorted, const plane *strips, double px,
    double py, double far) {
    const int64_t *first = strips->first;
    int64_t near = count_in_strip(strip, strips, px, py, far) - 1;
    for (int64_t t = strip + 1; t < n_strips && x_sorted[first[t]] - px <= far; t++)
        near += count_in_strip(t, strips, px, py, far);
    for (int64_t t = strip - 1; t >= 0 && px - x_sorted[first[t + 1] - 1] <= far; t--)
        near += count_in_strip(t, strips, px, py, far);
    return near;
}

/* A sample looks outward in y in its own strip, then in the strips beside it, as long as a strip is
 * nearer in x than its k-th neighbour so far. */
void plane_terms(
    const column_pair *pair, enum ties ties, int64_t k, const double *psi, plane *strips,
    double *out) {
    int64_t n = pair->x_column.n, n_strips = number_of_strips(n), *first = strips->first;
    const double *x_sorted = pair->x_column.ordered;
    fill_strips(pair, n_strips, strips);
    nearest none = {k > 2 ? INFINITY : -1.0, k > 1 ? INFINITY : -1.0, INFINITY};
    for (int64_t s = 0; s < n_strips; s++) {
        for (int64_t t = 0; t < n_strips; t++) strips->pointer[t] = strips->start[t];
        for (int64_t p = strips->start[s]; p < strips->fill[s]; p++) {
            double px = strips->x[p], py = strips->y[p];
            nearest best = look_outward(p + 1, p - 1, strips->x, strips->y, px, py, none);
            for (int64_t t = s + 1; t < n_strips && x_sorted[first[t]] - px < best.far; t++)
                best = look_in_strip(t, strips, px, py, best);
            for (int64_t t = s - 1; t >= 0 && px - x_sorted[first[t + 1] - 1] < best.far; t--)
                best = look_in_strip(t, strips, px, py, best);
            double far = best.far;
            int64_t near = k;
            if (ties == COUNT_TIES) near = count_reached(s, n_strips, x_sorted, strips, px, py, far);
            int closed = ties != IGNORE_TIES && (near > k || far == 0.0);
            double reach = closed ? far : nextafter(far, 0.0);
            int32_t i = strips->who[p];
            int64_t n_x = count_within(&pair->x_column, pair->x_rank[i], reach);
            int64_t n_y = count_within(&pair->y_column, pair->y_rank[i], reach);
            if (closed && far == 0.0) {
                out[i] = psi[n] + psi[near + 1] - psi[n_x] - psi[n_y];
            } else if (near > k) {
                out[i] = psi[n - 1] + psi[near] - psi[n_x - 1] - psi[n_y - 1];
            } else {
                out[i] = psi[n] + psi[k] - psi[n_x] - psi[n_y];
            }
        }
    }
}
