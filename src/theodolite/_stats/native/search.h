/* Searches among ordered numbers that the neighbour estimates share. */
#ifndef THEODOLITE_SEARCH_H
#define THEODOLITE_SEARCH_H

#include "kernels.h"

/* An ordered column, and a table of where in it each of many equal steps begins. */
typedef struct {
    const double *ordered;
    const int32_t *table; /* 4 n + 2 */
    int64_t n;
    double low, scale;
} ordered_column;

static inline int64_t bucket(double value, double low, double scale, int64_t n_buckets) {
    double step = (value - low) * scale;
    if (!(step > 0.0)) return 0; /* also what is no number: the table only says where to begin */
    return step >= (double)n_buckets ? n_buckets : (int64_t)step;
}

/* How many values lie within reach of the one at position `own`, itself included. What counts is the
 * difference compared with the reach, never `value +- reach`, which rounds differently. */
static inline int64_t count_within(const ordered_column *column, int64_t own, double reach) {
    const double *ordered = column->ordered;
    int64_t n = column->n, n_buckets = 4 * n;
    double value = ordered[own];
    int64_t last = column->table[bucket(value + reach, column->low, column->scale, n_buckets)] - 1;
    last = more(own, last);
    while (last > own && ordered[last] - value > reach) last -= 1;
    int64_t step = 1;
    while (last + step < n && ordered[last + step] - value <= reach) {
        last += step;
        step *= 2;
    }
    while (step > 1) {
        step /= 2;
        if (last + step < n && ordered[last + step] - value <= reach) last += step;
    }
    int64_t first =
        column->table[bucket(value - reach, column->low, column->scale, n_buckets) + 1];
    first = fewer(own, first);
    while (first < own && value - ordered[first] > reach) first += 1;
    step = 1;
    while (first - step >= 0 && value - ordered[first - step] <= reach) {
        first -= step;
        step *= 2;
    }
    while (step > 1) {
        step /= 2;
        if (first - step >= 0 && value - ordered[first - step] <= reach) first -= step;
    }
    return last - first + 1;
}

/* Fill the table of an ordered column of at least one value. */
static inline void fill_table(ordered_column *column, int32_t *table) {
    const double *values = column->ordered;
    int64_t n = column->n, n_buckets = 4 * n, at = 0;
    double low = values[0], width = values[n - 1] - values[0];
    double scale = width * 1e300 > (double)n_buckets ? (double)n_buckets / width : 0.0;
    for (int64_t b = 0; b < n_buckets + 2; b++) {
        while (at < n && bucket(values[at], low, scale, n_buckets) < b) at += 1;
        table[b] = (int32_t)at;
    }
    column->table = table;
    column->low = low;
    column->scale = scale;
}

/* Put a distance into the ordered list of the k smallest. */
static inline void insert(double *best, double distance, int64_t k) {
    int64_t at = k - 1;
    while (at > 0 && best[at - 1] > distance) {
        best[at] = best[at - 1];
        at -= 1;
    }
    best[at] = distance;
}

#endif
