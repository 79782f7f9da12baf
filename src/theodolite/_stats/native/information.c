/* Nearest-neighbour estimates of mutual information of columns of numbers. */
#include "plane.h"

/* A table for each ordered column; the lowest value, steps per unit. */
EXPORT int bucket_tables(
    int64_t n_columns, int64_t n, const double *ordered, int32_t *tables, double *lowest,
    double *scale) {
    for (int64_t c = 0; c < n_columns && n > 0; c++) {
        ordered_column column = {.ordered = ordered + c * n, .n = n};
        fill_table(&column, tables + c * (4 * n + 2));
        lowest[c] = column.low;
        scale[c] = column.scale;
    }
    return DONE;
}

/* psi(n) + psi(k) - psi(n_x) - psi(n_y) of every sample for each pair of columns; n > k. */
EXPORT int ksg_pair_terms(
    int64_t n_pairs, int64_t n, const double *values, const double *ordered, const int32_t *order,
    const int32_t *rank, const int32_t *tables, const double *lowest, const double *scale,
    const int64_t *pairs, int64_t k, const double *psi, double *out) {
    memory own = {.state = DONE};
    plane strips = make_plane(&own, n);
    for (int64_t p = 0; p < n_pairs && own.state == DONE; p++) {
        int64_t i = pairs[2 * p], j = pairs[2 * p + 1];
        column_pair pair = {
            .x = values + i * n, .y = values + j * n,
            .x_rank = rank + i * n, .y_rank = rank + j * n, .y_order = order + j * n,
            .x_column = {ordered + i * n, tables + i * (4 * n + 2), n, lowest[i], scale[i]},
            .y_column = {ordered + j * n, tables + j * (4 * n + 2), n, lowest[j], scale[j]},
        };
        plane_terms(&pair, IGNORE_TIES, k, psi, &strips, out + p * n);
    }
    return give_back(&own);
}

/* For each pair and sample the number that belongs to its combination of two truths. */
EXPORT int cell_terms(
    int64_t n_pairs, int64_t n, const uint8_t *truth, const int64_t *pairs, const double *cells,
    double *out) {
    for (int64_t p = 0; p < n_pairs; p++) {
        const uint8_t *a = truth + pairs[2 * p] * n, *b = truth + pairs[2 * p + 1] * n;
        for (int64_t i = 0; i < n; i++) out[p * n + i] = cells[4 * p + 2 * a[i] + b[i]];
    }
    return DONE;
}

/* psi(k_i) - psi(N_y) - psi(m_i) of every sample of a column. `values` and `place` hold the samples
 * label by label, each label's in the order of the column. */
static void ross_terms(
    const ordered_column *column, const int32_t *order, int64_t n_labels, const int64_t *counts,
    const double *values, const int64_t *place, int64_t k, const double *psi, double *out) {
    int64_t first = 0;
    for (int64_t label = 0; label < n_labels; label++) {
        int64_t last = first + counts[label], near = fewer(k, counts[label] - 1);
        for (int64_t p = first; p < last; p++) {
            int64_t up = p + 1, down = p - 1;
            double reach = 0.0;
            for (int64_t step = 0; step < near; step++) {
                double above = up < last ? values[up] - values[p] : INFINITY;
                double below = down >= first ? values[p] - values[down] : INFINITY;
                if (above <= below) {
                    reach = above;
                    up += 1;
                } else {
                    reach = below;
                    down -= 1;
                }
            }
            int64_t m = count_within(column, place[p], nextafter(reach, 0.0));
            out[order[place[p]]] = psi[near] - psi[counts[label]] - psi[m];
        }
        first = last;
    }
}

/* The same for each column. `ordered` and `order` hold the samples whose label is not alone. */
EXPORT int ross_column_terms(
    int64_t n_columns, int64_t n, int64_t n_labels, const double *ordered, const int32_t *order,
    const int32_t *tables, const double *lowest, const double *scale, const int64_t *labels,
    const int64_t *counts, int64_t k, const double *psi, double *out) {
    memory own = {.state = DONE};
    int64_t *fill = take_integers(&own, n_labels), *place = take_integers(&own, n);
    double *values = take_doubles(&own, n);
    for (int64_t c = 0; c < n_columns && own.state == DONE; c++) {
        ordered_column column = {
            ordered + c * n, tables + c * (4 * n + 2), n, lowest[c], scale[c]};
        int64_t begin = 0;
        for (int64_t label = 0; label < n_labels; label++) {
            fill[label] = begin;
            begin += counts[label];
        }
        for (int64_t at = 0; at < n; at++) {
            int64_t p = fill[labels[order[c * n + at]]]++;
            values[p] = ordered[c * n + at];
            place[p] = at;
        }
        ross_terms(
            &column, order + c * n, n_labels, counts, values, place, k, psi, out + c * n);
    }
    return give_back(&own);
}
