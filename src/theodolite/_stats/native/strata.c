/* Estimates between two columns of numbers with neighbours of the same strata only. */
#include <string.h>

#include "plane.h"

typedef struct {
    int64_t *group, *counts, *begin, *fill, *member, *number;
    int32_t *y_order, *x_rank, *y_rank, *x_table, *y_table;
    double *x, *y, *y_sorted, *terms;
    plane strips;
} strata_work;

static strata_work make_work(memory *own, int64_t n, int64_t n_groups) {
    return (strata_work){
        .group = take_integers(own, n), .counts = take_integers(own, n_groups),
        .begin = take_integers(own, n_groups + 1), .fill = take_integers(own, n_groups),
        .member = take_integers(own, n), .number = take_integers(own, n),
        .y_order = take_small_integers(own, n), .x_rank = take_small_integers(own, n),
        .y_rank = take_small_integers(own, n), .x_table = take_small_integers(own, 4 * n + 2),
        .y_table = take_small_integers(own, 4 * n + 2), .x = take_doubles(own, n),
        .y = take_doubles(own, n), .y_sorted = take_doubles(own, n),
        .terms = take_doubles(own, n), .strips = make_plane(own, n),
    };
}

/* Members of each group in the order of x, and in that of y, renumbered inside the group. */
static void sort_into_groups(
    int64_t n, int64_t n_groups, const int32_t *x_order, const int32_t *y_order,
    strata_work *work) {
    memset(work->counts, 0, (size_t)n_groups * sizeof(int64_t));
    for (int64_t a = 0; a < n; a++) work->counts[work->group[a]] += 1;
    for (int64_t g = 0; g < n_groups; g++) {
        work->begin[g + 1] = work->begin[g] + work->counts[g];
        work->fill[g] = work->begin[g];
    }
    for (int64_t at = 0; at < n; at++) {
        int32_t who = x_order[at];
        int64_t g = work->group[who];
        work->number[who] = work->fill[g] - work->begin[g];
        work->member[work->fill[g]++] = who;
    }
    for (int64_t g = 0; g < n_groups; g++) work->fill[g] = work->begin[g];
    for (int64_t at = 0; at < n; at++) {
        int32_t who = y_order[at];
        work->y_order[work->fill[work->group[who]]++] = (int32_t)work->number[who];
    }
}

static void group_terms(
    int64_t g, const double *x, const double *y, int tied, int64_t k, const double *psi,
    strata_work *work, double *out) {
    int64_t m = work->counts[g];
    const int64_t *members = work->member + work->begin[g];
    const int32_t *by_y = work->y_order + work->begin[g];
    for (int64_t at = 0; at < m; at++) {
        work->x[at] = x[members[at]];
        work->y[at] = y[members[at]];
        work->x_rank[at] = (int32_t)at;
        work->y_rank[by_y[at]] = (int32_t)at;
    }
    for (int64_t at = 0; at < m; at++) work->y_sorted[at] = work->y[by_y[at]];
    column_pair pair = {
        .x = work->x, .y = work->y,
        .x_rank = work->x_rank, .y_rank = work->y_rank, .y_order = by_y,
        .x_column = {.ordered = work->x, .n = m},
        .y_column = {.ordered = work->y_sorted, .n = m},
    };
    fill_table(&pair.x_column, work->x_table);
    fill_table(&pair.y_column, work->y_table);
    plane_terms(&pair, tied ? COUNT_TIES : NO_TIES, k, psi, &work->strips, work->terms);
    for (int64_t at = 0; at < m; at++) out[members[at]] = work->terms[at];
}

/* The terms of each pair; what is in a group of k or fewer is left as it is. */
EXPORT int stratified_pair_terms(
    int64_t n_pairs, int64_t n, int64_t n_strata, const double *columns, const int32_t *order,
    const int64_t *strata, const uint8_t *ties, const int64_t *pairs, int64_t k, const double *psi,
    double *out) {
    memory own = {.state = DONE};
    int64_t n_groups = n_strata * n_strata;
    strata_work work = make_work(&own, n, n_groups);
    for (int64_t p = 0; p < n_pairs && own.state == DONE; p++) {
        int64_t i = pairs[2 * p], j = pairs[2 * p + 1];
        for (int64_t a = 0; a < n; a++)
            work.group[a] = strata[i * n + a] * n_strata + strata[j * n + a];
        sort_into_groups(n, n_groups, order + i * n, order + j * n, &work);
        for (int64_t g = 0; g < n_groups; g++) {
            if (work.counts[g] > k)
                group_terms(
                    g, columns + i * n, columns + j * n, ties[i] || ties[j], k, psi, &work,
                    out + p * n);
        }
    }
    return give_back(&own);
}
