/* Predictive information of a label: tables and a normal model, each cluster left out. */
#include "labels.h"

static label_work make_work(memory *own, int64_t n, int64_t n_labels, int single) {
    int64_t models = single ? 1 : MODELS, cells = 2 * MOST_GROUPS * n_labels;
    return (label_work){
        .count = take_integers(own, n_labels), .number = take_integers(own, n_labels),
        .rows = take_integers(own, n), .at = take_integers(own, n),
        .sorted_rows = take_integers(own, n), .y = take_integers(own, n),
        .starts = take_integers(own, n + 1), .bins = take_integers(own, n),
        .u = take_doubles(own, n), .z = take_doubles(own, n), .weight = take_doubles(own, n),
        .out = take_doubles(own, n), .inside = take_doubles(own, n),
        .surprise = take_doubles(own, n),
        .base_out = take_doubles(own, more(n, n_labels)),
        .base_in = take_doubles(own, more(n, n_labels)),
        .ratio_out = take_doubles(own, n * models), .ratio_in = take_doubles(own, n * models),
        .by_label = take_doubles(own, n_labels), .sums = take_doubles(own, n_labels),
        .means = take_doubles(own, n_labels), .counts = take_doubles(own, n_labels),
        .all_means = take_doubles(own, n_labels), .own_weight = take_doubles(own, n_labels),
        .own_sum = take_doubles(own, n_labels),
        .in_bin = take_doubles(own, 2 * MOST_GROUPS), .own_bin = take_doubles(own, MOST_GROUPS),
        .in_cell = take_doubles(own, cells), .own_cell = take_doubles(own, single ? 1 : cells),
        .below = take_doubles(own, single ? cells : 1),
        .above = take_doubles(own, single ? cells : 1),
        .gains = take_doubles(own, single ? 1 : n * MODELS),
        .product = take_doubles(own, MODELS), .total = take_doubles(own, MODELS),
    };
}

/* Numbers of the labels that at least two clusters of the stratum have, -1 for others; how many. */
static int64_t number_labels(
    const int64_t *strata, int64_t stratum, const int64_t *labels, const int64_t *clusters,
    int64_t n, int64_t n_labels, label_work *work) {
    int64_t *count = work->count, *number = work->number, n_numbered = 0;
    for (int64_t k = 0; k < n_labels; k++) {
        count[k] = 0;
        number[k] = -1; /* until they are numbered: the last cluster that was counted */
    }
    for (int64_t i = 0; i < n; i++) {
        if (strata[i] == stratum && number[labels[i]] != clusters[i]) {
            number[labels[i]] = clusters[i];
            count[labels[i]] += 1;
        }
    }
    for (int64_t k = 0; k < n_labels; k++)
        number[k] = count[k] >= FEWEST_LABELS ? n_numbered++ : -1;
    return n_numbered;
}

/* Rows of a stratum whose label is numbered: how many, and how many clusters. */
static int64_t choose_rows(
    const int64_t *strata, int64_t stratum, const int64_t *labels, const int64_t *clusters,
    const int64_t *order, int64_t n, label_work *work, int64_t *n_clusters) {
    int64_t m = 0, before = -1, begin = 0;
    *n_clusters = 0;
    for (int64_t i = 0; i < n; i++) {
        work->at[i] = -1;
        if (strata[i] != stratum || work->number[labels[i]] < 0) continue;
        if (clusters[i] != before) {
            work->starts[(*n_clusters)++] = m;
            before = clusters[i];
        }
        work->rows[m] = i;
        work->y[m] = work->number[labels[i]];
        work->at[i] = m++;
    }
    work->starts[*n_clusters] = m;
    for (int64_t p = 0; p < n; p++) {
        if (work->at[order[p]] >= 0) work->sorted_rows[begin++] = order[p];
    }
    return m;
}

/* Terms of each stratum of each column: gains with the row's cluster left out, with it counted, the
 * surprise; what has too few of something is left as it is. Rows lie cluster by cluster; `single`
 * says that each is a cluster of its own. `order` is that of each column's values; rows that are
 * equal may stand in any order. */
EXPORT int predictive_label_terms(
    int64_t n_columns, int64_t n, int64_t n_strata, int64_t n_labels, const double *columns,
    const int64_t *order, const int64_t *strata, const int64_t *labels, const int64_t *clusters,
    int64_t single, double *terms) {
    memory own = {.state = DONE};
    label_work work = make_work(&own, n, n_labels, single != 0);
    for (int64_t c = 0; c < n_columns && own.state == DONE; c++) {
        for (int64_t s = 0; s < n_strata; s++) {
            int64_t n_clusters, n_numbered =
                number_labels(strata + c * n, s, labels, clusters, n, n_labels, &work);
            int64_t m = choose_rows(
                strata + c * n, s, labels, clusters, order + c * n, n, &work, &n_clusters);
            if (n_clusters < FEWEST_CLUSTERS || n_numbered < FEWEST_LABELS) continue;
            cluster_weights(work.starts, n_clusters, work.weight);
            rank_values(
                columns + c * n, work.sorted_rows, work.at, work.weight, m, n_clusters, work.u);
            double edge = 1.0 / (double)(4 * n_clusters);
            for (int64_t i = 0; i < m; i++)
                work.z[i] = normal_quantile(smaller(larger(work.u[i], edge), 1.0 - edge));
            if (single) {
                single_label_terms(&work, m, n_numbered);
            } else {
                cluster_label_terms(&work, m, n_clusters, n_numbered);
            }
            for (int64_t i = 0; i < m; i++) {
                int64_t at = c * n + work.rows[i], size = n_columns * n;
                terms[at] = work.out[i];
                terms[size + at] = work.inside[i];
                terms[2 * size + at] = work.surprise[i];
            }
        }
    }
    return give_back(&own);
}
