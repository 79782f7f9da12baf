/* Predictive information of two columns about each other: tables and normal models of both values,
 * each cluster left out. */
#include "predictive.h"

enum { MODELS = 1 + N_PRIORS * PAIR_LEVELS + N_SHRUNK, MOST_GROUPS = 8, CELLS = 64 };
static const double SHRUNK[N_SHRUNK] = {1.0, 9.0}; /* clusters without a correlation */
static const double MOST_CORRELATION = 0.995;

/* Rows of all groups, one group after the other; `side` 0 and 1 of ranks, normal scores. */
typedef struct {
    int64_t *group, *rows, *at, *begin, *end, *before, *n_clusters, *starts, *sorted[2];
    int64_t *bins[PAIR_LEVELS];
    double *ranks[2], *normal[2], *weight, *out, *inside;
    double *ratio_out, *ratio_in, *gains, *product, *total;
} pair_work;

static pair_work make_work(memory *own, int64_t n, int64_t n_groups, int single) {
    int64_t models = single ? N_SHRUNK : MODELS;
    return (pair_work){
        .group = take_integers(own, n), .rows = take_integers(own, n),
        .at = take_integers(own, n), .begin = take_integers(own, n_groups + 1),
        .end = take_integers(own, n_groups), .before = take_integers(own, n_groups),
        .n_clusters = take_integers(own, n_groups), .starts = take_integers(own, n + n_groups),
        .sorted = {take_integers(own, n), take_integers(own, n)},
        .bins = {take_integers(own, n), take_integers(own, n), take_integers(own, n)},
        .ranks = {take_doubles(own, n), take_doubles(own, n)},
        .normal = {take_doubles(own, n), take_doubles(own, n)},
        .weight = take_doubles(own, n), .out = take_doubles(own, n),
        .inside = take_doubles(own, n), .ratio_out = take_doubles(own, n * models),
        .ratio_in = take_doubles(own, n * models),
        .gains = take_doubles(own, single ? 1 : n * MODELS),
        .product = take_doubles(own, MODELS), .total = take_doubles(own, MODELS),
    };
}

/* Of one group: its rows' ranks, normal scores, weights and clusters. */
typedef struct {
    int64_t n, n_clusters;
    const int64_t *starts;
    const double *ranks[2], *normal[2], *weight;
    int smooth;
    double *out, *inside;
} pair_group;

/* Normal scores of ranks, divided by their root mean square, clusters counted once. */
static void normal_scores(
    const double *u, const int64_t *starts, int64_t n_clusters, double *z) {
    double squares = 0.0, edge = 1.0 / (double)(4 * n_clusters);
    for (int64_t c = 0; c < n_clusters; c++) {
        double weight = 1.0 / (double)(starts[c + 1] - starts[c]);
        for (int64_t i = starts[c]; i < starts[c + 1]; i++) {
            z[i] = normal_quantile(smaller(larger(u[i], edge), 1.0 - edge));
            squares += weight * z[i] * z[i];
        }
    }
    double scale = squares > 0 ? sqrt((double)n_clusters / squares) : 0.0;
    for (int64_t i = 0; i < starts[n_clusters]; i++) z[i] *= scale;
}

static double correlation(double total, double n) {
    return smaller(larger(total / n, -MOST_CORRELATION), MOST_CORRELATION);
}

/* Of jointly normal x and y, density over that of unrelated ones. */
static double normal_ratio(double r, double x, double y) {
    double rest = 1.0 - r * r;
    double away = (r * r * (x * x + y * y) - 2 * r * x * y) / (2 * rest);
    return exp(larger(-away, -STEEPEST)) / sqrt(rest);
}

/* Cells of a table of both values; whether it groups rows anew. */
static int fill_bins(const pair_group *own, int64_t level, int64_t groups[2], int64_t *bins) {
    uint8_t used[2][MOST_GROUPS] = {{0}};
    int64_t n_used[2] = {0, 0};
    for (int64_t i = 0; i < own->n; i++) {
        int64_t p = group_of(own->ranks[0][i], level), q = group_of(own->ranks[1][i], level);
        n_used[0] += !used[0][p];
        n_used[1] += !used[1][q];
        used[0][p] = used[1][q] = 1;
        bins[i] = p * level + q;
    }
    if (n_used[0] < 2 || n_used[1] < 2) return 0;
    if (n_used[0] == groups[0] && n_used[1] == groups[1]) return 0;
    groups[0] = n_used[0];
    groups[1] = n_used[1];
    return 1;
}

/* Rows of clusters. */

typedef struct {
    double cells[CELLS], sides[2][MOST_GROUPS];
} pair_table;

static void add_rows(
    pair_table *table, const int64_t *bins, const double *weight, int64_t from, int64_t to,
    int64_t level, double sign) {
    for (int64_t i = from; i < to; i++) {
        table->cells[bins[i]] += sign * weight[i];
        table->sides[0][bins[i] / level] += sign * weight[i];
        table->sides[1][bins[i] % level] += sign * weight[i];
    }
}

static void table_ratios(
    const pair_group *own, const int64_t *bins, int64_t level, double *ratio_out,
    double *ratio_in) {
    pair_table table = {{0.0}, {{0.0}}};
    double n_clusters = (double)own->n_clusters, whole = n_clusters + (double)level / 2;
    add_rows(&table, bins, own->weight, 0, own->n, level, 1.0);
    for (int64_t c = 0; c < own->n_clusters; c++) {
        int64_t from = own->starts[c], to = own->starts[c + 1];
        for (int with = 0; with < 2; with++) { /* first without the cluster, then with it again */
            add_rows(&table, bins, own->weight, from, to, level, with ? 1.0 : -1.0);
            double less = with ? 0.0 : 1.0, *ratios = with ? ratio_in : ratio_out;
            for (int64_t i = from; i < to; i++) {
                double base = (table.sides[0][bins[i] / level] + 0.5) *
                              (table.sides[1][bins[i] % level] + 0.5);
                base /= (whole - less) * (whole - less);
                for (int64_t a = 0; a < N_PRIORS; a++)
                    ratios[i * MODELS + a] = (table.cells[bins[i]] / base + PRIORS[a]) /
                                             (n_clusters - less + PRIORS[a]);
            }
        }
    }
}

static void normal_ratios(const pair_group *own, double *ratio_out, double *ratio_in) {
    const double *x = own->normal[0], *y = own->normal[1], *weight = own->weight;
    double total = 0.0, n_clusters = (double)own->n_clusters;
    for (int64_t i = 0; i < own->n; i++) total += weight[i] * x[i] * y[i];
    for (int64_t c = 0; c < own->n_clusters; c++) {
        double left = total;
        for (int64_t i = own->starts[c]; i < own->starts[c + 1]; i++)
            left -= weight[i] * x[i] * y[i];
        for (int64_t a = 0; a < N_SHRUNK; a++) {
            double r = correlation(left, n_clusters - 1 + SHRUNK[a]);
            double whole = correlation(total, n_clusters + SHRUNK[a]);
            for (int64_t i = own->starts[c]; i < own->starts[c + 1]; i++) {
                ratio_out[i * MODELS + a] = normal_ratio(r, x[i], y[i]);
                ratio_in[i * MODELS + a] = normal_ratio(whole, x[i], y[i]);
            }
        }
    }
}

static void cluster_terms(const pair_group *own, pair_work *work) {
    int64_t m = 1, groups[2] = {1, 1};
    for (int64_t i = 0; i < own->n; i++)
        work->ratio_out[i * MODELS] = work->ratio_in[i * MODELS] = 1.0;
    for (int64_t t = 0, level = 2; t < PAIR_LEVELS; t++, level *= 2) {
        if (level > 2 && (double)(level * level) > (double)own->n_clusters / 2) break;
        if (!fill_bins(own, level, groups, work->bins[0])) continue;
        table_ratios(own, work->bins[0], level, work->ratio_out + m, work->ratio_in + m);
        m += N_PRIORS;
    }
    if (own->smooth) {
        normal_ratios(own, work->ratio_out + m, work->ratio_in + m);
        m += N_SHRUNK;
    }
    mix_models(
        work->ratio_out, work->ratio_in, m, MODELS, own->starts, own->n_clusters, own->weight,
        work->gains, work->product, work->total, own->out, own->inside);
}

/* Rows that are clusters of their own: tables are worked out cell by cell. */

typedef struct {
    int there[PAIR_LEVELS];
    double below[PAIR_LEVELS][CELLS][N_PRIORS], above[PAIR_LEVELS][CELLS][N_PRIORS];
    double gains[PAIR_LEVELS][N_PRIORS], normal_gains[N_SHRUNK];
} pair_tables;

static void single_table(
    const int64_t *bins, int64_t n, int64_t level, double below[CELLS][N_PRIORS],
    double above[CELLS][N_PRIORS], double gains[N_PRIORS]) {
    pair_table table = {{0.0}, {{0.0}}};
    double whole = (double)n + (double)level / 2;
    for (int64_t i = 0; i < n; i++) {
        table.cells[bins[i]] += 1.0;
        table.sides[0][bins[i] / level] += 1.0;
        table.sides[1][bins[i] % level] += 1.0;
    }
    for (int64_t cell = 0; cell < level * level; cell++) {
        double rows = table.cells[cell];
        if (!(rows > 0)) continue;
        double p = table.sides[0][cell / level], q = table.sides[1][cell % level];
        double base_out = (p - 0.5) * (q - 0.5) / ((whole - 1) * (whole - 1));
        double base_in = (p + 0.5) * (q + 0.5) / (whole * whole);
        for (int64_t a = 0; a < N_PRIORS; a++) {
            double prior = PRIORS[a];
            below[cell][a] = ((rows - 1) / base_out + prior) / ((double)(n - 1) + prior);
            above[cell][a] = (rows / base_in + prior) / ((double)n + prior);
            gains[a] += rows * log(below[cell][a]);
        }
    }
}

static void single_normal(const pair_group *own, pair_work *work, double gains[N_SHRUNK]) {
    double total = 0.0, n = (double)own->n;
    for (int64_t i = 0; i < own->n; i++) total += own->normal[0][i] * own->normal[1][i];
    for (int64_t a = 0; a < N_SHRUNK; a++) {
        double whole = correlation(total, n + SHRUNK[a]), product = 1.0;
        for (int64_t i = 0; i < own->n; i++) {
            double x = own->normal[0][i], y = own->normal[1][i];
            double r = correlation(total - x * y, n - 1 + SHRUNK[a]);
            double ratio = work->ratio_out[i * N_SHRUNK + a] = normal_ratio(r, x, y);
            work->ratio_in[i * N_SHRUNK + a] = normal_ratio(whole, x, y);
            product *= ratio;
            if (product > FAR || product < 1 / FAR) {
                gains[a] += log(product);
                product = 1.0;
            }
        }
        gains[a] += log(product);
    }
}

/* Turn gains into shares of all, and ratios below and above into what a row adds; the sum of shares,
 * that of nothing included. */
static double share_out(pair_tables *tables, int smooth, double *nothing) {
    double most = 0.0;
    for (int64_t t = 0; t < PAIR_LEVELS; t++) {
        for (int64_t a = 0; a < N_PRIORS; a++) most = larger(most, tables->gains[t][a]);
    }
    for (int64_t a = 0; a < N_SHRUNK; a++) most = larger(most, tables->normal_gains[a]);
    double share = *nothing = exp(-most);
    for (int64_t t = 0; t < PAIR_LEVELS; t++) {
        for (int64_t a = 0; a < N_PRIORS; a++) {
            double gain = tables->there[t] ? exp(tables->gains[t][a] - most) : 0.0;
            share += gain;
            for (int64_t cell = 0; cell < CELLS && tables->there[t]; cell++) {
                tables->below[t][cell][a] = gain / tables->below[t][cell][a];
                tables->above[t][cell][a] *= tables->below[t][cell][a];
            }
        }
    }
    for (int64_t a = 0; a < N_SHRUNK && smooth; a++) {
        tables->normal_gains[a] = exp(tables->normal_gains[a] - most);
        share += tables->normal_gains[a];
    }
    return share;
}

static void single_terms(const pair_group *own, pair_work *work) {
    pair_tables tables = {.there = {0}};
    int64_t groups[2] = {1, 1};
    for (int64_t t = 0, level = 2; t < PAIR_LEVELS; t++, level *= 2) {
        for (int64_t cell = 0; cell < CELLS; cell++) {
            for (int64_t a = 0; a < N_PRIORS; a++)
                tables.below[t][cell][a] = tables.above[t][cell][a] = 1.0;
        }
        if (level > 2 && (double)(level * level) > (double)own->n / 2) break;
        tables.there[t] = fill_bins(own, level, groups, work->bins[t]);
        if (tables.there[t])
            single_table(
                work->bins[t], own->n, level, tables.below[t], tables.above[t], tables.gains[t]);
    }
    if (own->smooth) single_normal(own, work, tables.normal_gains);
    double nothing, share = share_out(&tables, own->smooth, &nothing);
    for (int64_t i = 0; i < own->n; i++) {
        double d = nothing, e = nothing;
        for (int64_t t = 0; t < PAIR_LEVELS; t++) {
            for (int64_t a = 0; a < N_PRIORS && tables.there[t]; a++) {
                d += tables.below[t][work->bins[t][i]][a];
                e += tables.above[t][work->bins[t][i]][a];
            }
        }
        for (int64_t a = 0; a < N_SHRUNK && own->smooth; a++) {
            double left = tables.normal_gains[a] / work->ratio_out[i * N_SHRUNK + a];
            d += left;
            e += left * work->ratio_in[i * N_SHRUNK + a];
        }
        own->out[i] = log(share / d);
        own->inside[i] = log(e / d);
    }
}

/* Rows by the strata of both columns, cluster by cluster, and in the order of each column's values. */
static void sort_into_groups(
    const int64_t *x_strata, const int64_t *y_strata, int64_t n_strata,
    const int64_t *const orders[2], const int64_t *clusters, int64_t n, pair_work *work) {
    int64_t n_groups = n_strata * n_strata;
    for (int64_t g = 0; g < n_groups; g++) {
        work->begin[g + 1] = work->n_clusters[g] = 0;
        work->before[g] = -1;
    }
    for (int64_t row = 0; row < n; row++) {
        int64_t a = x_strata[row], b = y_strata[row];
        work->group[row] = a >= 0 && b >= 0 ? a * n_strata + b : -1;
        if (work->group[row] >= 0) work->begin[work->group[row] + 1] += 1;
    }
    for (int64_t g = 0; g < n_groups; g++) {
        work->begin[g + 1] += work->begin[g];
        work->end[g] = work->begin[g];
    }
    for (int64_t row = 0; row < n; row++) {
        int64_t g = work->group[row];
        if (g < 0) continue;
        int64_t place = work->end[g]++;
        if (clusters[row] != work->before[g]) {
            work->starts[work->begin[g] + g + work->n_clusters[g]++] = place - work->begin[g];
            work->before[g] = clusters[row];
        }
        work->rows[place] = row;
        work->at[row] = place - work->begin[g];
    }
    for (int side = 0; side < 2; side++) {
        for (int64_t g = 0; g < n_groups; g++) work->end[g] = work->begin[g];
        for (int64_t p = 0; p < n; p++) {
            int64_t row = orders[side][p], g = work->group[row];
            if (g >= 0) work->sorted[side][work->end[g]++] = row;
        }
    }
}

static void group_terms(
    const double *const columns[2], int64_t g, int single, pair_work *work, double *out,
    double *inside) {
    int64_t first = work->begin[g], n = work->begin[g + 1] - first, n_clusters = work->n_clusters[g];
    int64_t *starts = work->starts + first + g;
    if (n_clusters < FEWEST_CLUSTERS) return;
    starts[n_clusters] = n;
    pair_group own = {
        .n = n, .n_clusters = n_clusters, .starts = starts, .weight = work->weight, .smooth = 1,
        .out = work->out, .inside = work->inside,
    };
    cluster_weights(starts, n_clusters, work->weight);
    for (int side = 0; side < 2; side++) {
        double most = rank_values(
            columns[side], work->sorted[side] + first, work->at, work->weight, n, n_clusters,
            work->ranks[side]);
        own.smooth = own.smooth && most <= (double)n_clusters / 2 + EDGE;
        normal_scores(work->ranks[side], starts, n_clusters, work->normal[side]);
        own.ranks[side] = work->ranks[side];
        own.normal[side] = work->normal[side];
    }
    if (single) {
        single_terms(&own, work);
    } else {
        cluster_terms(&own, work);
    }
    for (int64_t i = 0; i < n; i++) {
        out[work->rows[first + i]] = work->out[i];
        inside[work->rows[first + i]] = work->inside[i];
    }
}

/* Terms of what two columns tell about each other, in strata of both; as `predictive_label_terms`. */
EXPORT int predictive_pair_terms(
    int64_t n_pairs, int64_t n, int64_t n_strata, const double *columns, const int64_t *order,
    const int64_t *strata, const int64_t *pairs, const int64_t *clusters, int64_t single,
    double *out, double *inside) {
    memory own = {.state = DONE};
    pair_work work = make_work(&own, n, n_strata * n_strata, single != 0);
    for (int64_t p = 0; p < n_pairs && own.state == DONE; p++) {
        int64_t i = pairs[2 * p], j = pairs[2 * p + 1];
        const int64_t *orders[2] = {order + i * n, order + j * n};
        const double *both[2] = {columns + i * n, columns + j * n};
        sort_into_groups(strata + i * n, strata + j * n, n_strata, orders, clusters, n, &work);
        for (int64_t g = 0; g < n_strata * n_strata; g++)
            group_terms(both, g, single != 0, &work, out + p * n, inside + p * n);
    }
    return give_back(&own);
}
