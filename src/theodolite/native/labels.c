/* Predictive information of a label: tables and a normal model, each cluster left out. */
#include "predictive.h"

enum { MODELS = 1 + 3 * LEVELS + 1, MOST_GROUPS = 128 }; /* nothing, tables, the normal model */
static const double LEAST_VARIANCE = 0.05;

/* What every stratum is worked out in. */
typedef struct {
    int64_t *count, *number, *rows, *at, *sorted_rows, *y, *starts, *bins;
    double *u, *z, *weight, *out, *inside, *surprise;
    double *base_out, *base_in, *ratio_out, *ratio_in;              /* of rows, and models */
    double *by_label, *sums, *means, *counts, *all_means, *own_weight, *own_sum; /* of labels */
    double *in_bin, *own_bin, *in_cell, *own_cell, *below, *above;  /* of bins, and labels */
    double *gains, *product, *total;
} label_work;

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

static void clear(double *values, int64_t n) {
    for (int64_t i = 0; i < n; i++) values[i] = 0.0;
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

/* ---- rows of clusters ---- */

static void count_cells(
    const label_work *work, int64_t from, int64_t to, int64_t n_labels, double *bins,
    double *cells) {
    for (int64_t i = from; i < to; i++) {
        bins[work->bins[i]] += work->weight[i];
        cells[work->bins[i] * n_labels + work->y[i]] += work->weight[i];
    }
}

/* Ratios of a table's three strengths of smoothing, from model m on. */
static void table_ratios(
    label_work *work, int64_t n, int64_t n_clusters, int64_t level, int64_t n_labels, int64_t m) {
    const int64_t *starts = work->starts;
    clear(work->in_bin, level);
    clear(work->in_cell, level * n_labels);
    clear(work->own_bin, level);
    clear(work->own_cell, level * n_labels);
    count_cells(work, 0, n, n_labels, work->in_bin, work->in_cell);
    for (int64_t c = 0; c < n_clusters; c++) {
        count_cells(work, starts[c], starts[c + 1], n_labels, work->own_bin, work->own_cell);
        for (int64_t i = starts[c]; i < starts[c + 1]; i++) {
            int64_t b = work->bins[i], cell = b * n_labels + work->y[i];
            double left_bin = work->in_bin[b] - work->own_bin[b];
            double left_cell = work->in_cell[cell] - work->own_cell[cell];
            double base_out = work->base_out[i], base_in = work->base_in[i];
            for (int64_t a = 0; a < N_PRIORS; a++) {
                double prior = PRIORS[a];
                work->ratio_out[i * MODELS + m + a] =
                    (left_cell + prior * base_out) / ((left_bin + prior) * base_out);
                work->ratio_in[i * MODELS + m + a] =
                    (work->in_cell[cell] + prior * base_in) / ((work->in_bin[b] + prior) * base_in);
            }
        }
        for (int64_t i = starts[c]; i < starts[c + 1]; i++) {
            work->own_bin[work->bins[i]] = 0.0;
            work->own_cell[work->bins[i] * n_labels + work->y[i]] = 0.0;
        }
    }
}

/* The probability of the label, each label's values being normal around its mean; `more_each` is
 * added to each label's count. */
static double likelihood(
    double z, int64_t label, int64_t n_labels, const double *means, const double *counts,
    double more_each, double scale) {
    double ours = (z - means[label]) * (z - means[label]), own = counts[label] + more_each;
    double total = own;
    for (int64_t k = 0; k < n_labels; k++) {
        if (k == label) continue;
        double away = z - means[k];
        total += (counts[k] + more_each) * exp(smaller((ours - away * away) * scale, STEEPEST));
    }
    return own / total;
}

/* Ratios of the normal model, model m. */
static void normal_ratios(
    label_work *work, int64_t n, int64_t n_clusters, int64_t n_labels, int64_t m) {
    const int64_t *starts = work->starts, *y = work->y;
    const double *z = work->z, *weight = work->weight, *by_label = work->by_label;
    double *sums = work->sums, *means = work->means, *all_means = work->all_means;
    double *counts = work->counts, squares = 0.0, spread = 0.0;
    clear(sums, n_labels);
    for (int64_t i = 0; i < n; i++) {
        sums[y[i]] += weight[i] * z[i];
        squares += weight[i] * z[i] * z[i];
    }
    for (int64_t k = 0; k < n_labels; k++) {
        all_means[k] = means[k] = sums[k] / (by_label[k] + 1.0);
        counts[k] = by_label[k] + 0.5;
        spread += sums[k] * all_means[k];
        work->own_weight[k] = work->own_sum[k] = 0.0;
    }
    double variance = (squares - spread) / larger((double)n_clusters - 1.0, 1.0);
    double whole = 0.5 / larger(variance, LEAST_VARIANCE);
    for (int64_t c = 0; c < n_clusters; c++) {
        double left = squares, lost = spread;
        for (int64_t i = starts[c]; i < starts[c + 1]; i++) {
            work->own_weight[y[i]] += weight[i];
            work->own_sum[y[i]] += weight[i] * z[i];
            left -= weight[i] * z[i] * z[i];
        }
        for (int64_t i = starts[c]; i < starts[c + 1]; i++) {
            int64_t k = y[i];
            if (!(work->own_weight[k] > 0)) continue;
            double total = sums[k] - work->own_sum[k];
            counts[k] = by_label[k] - work->own_weight[k] + 0.5;
            means[k] = total / (counts[k] + 0.5);
            lost += total * means[k] - sums[k] * all_means[k];
            work->own_weight[k] = work->own_sum[k] = 0.0;
        }
        double rest = (left - lost) / larger((double)n_clusters - 2.0, 1.0);
        double scale = 0.5 / larger(rest, LEAST_VARIANCE);
        for (int64_t i = starts[c]; i < starts[c + 1]; i++) {
            work->ratio_out[i * MODELS + m] =
                likelihood(z[i], y[i], n_labels, means, counts, 0.0, scale) / work->base_out[i];
            work->ratio_in[i * MODELS + m] =
                likelihood(z[i], y[i], n_labels, all_means, by_label, 0.5, whole) /
                work->base_in[i];
        }
        for (int64_t i = starts[c]; i < starts[c + 1]; i++) {
            means[y[i]] = all_means[y[i]];
            counts[y[i]] = by_label[y[i]] + 0.5;
        }
    }
}

/* How common each row's label is, its cluster left out, and in all. */
static void base_rates(label_work *work, int64_t n, int64_t n_clusters, int64_t n_labels) {
    const int64_t *starts = work->starts, *y = work->y;
    double *own = work->own_weight, *by_label = work->by_label;
    clear(own, n_labels);
    clear(by_label, n_labels);
    for (int64_t i = 0; i < n; i++) by_label[y[i]] += work->weight[i];
    for (int64_t c = 0; c < n_clusters; c++) {
        for (int64_t i = starts[c]; i < starts[c + 1]; i++) own[y[i]] += work->weight[i];
        for (int64_t i = starts[c]; i < starts[c + 1]; i++) {
            double others = by_label[y[i]] - own[y[i]] + 0.5;
            work->base_out[i] = others / ((double)(n_clusters - 1) + (double)n_labels / 2);
            work->base_in[i] =
                (by_label[y[i]] + 0.5) / ((double)n_clusters + (double)n_labels / 2);
        }
        for (int64_t i = starts[c]; i < starts[c + 1]; i++) own[y[i]] = 0.0;
    }
}

static void cluster_terms(label_work *work, int64_t n, int64_t n_clusters, int64_t n_labels) {
    base_rates(work, n, n_clusters, n_labels);
    for (int64_t i = 0; i < n; i++)
        work->ratio_out[i * MODELS] = work->ratio_in[i * MODELS] = 1.0;
    int64_t m = 1, groups = 1, level = 2;
    for (int64_t t = 0; t < LEVELS; t++, level *= 2) {
        if (level > 2 && (double)level > (double)n_clusters / 4) break;
        uint8_t used[MOST_GROUPS] = {0};
        int64_t n_used = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t b = work->bins[i] = group_of(work->u[i], level);
            n_used += !used[b];
            used[b] = 1;
        }
        if (n_used > groups) { /* else the same groups as before */
            groups = n_used;
            table_ratios(work, n, n_clusters, level, n_labels, m);
            m += N_PRIORS;
        }
    }
    if (m > 1) normal_ratios(work, n, n_clusters, n_labels, m++);
    mix_models(
        work->ratio_out, work->ratio_in, m, MODELS, work->starts, n_clusters, work->weight,
        work->gains, work->product, work->total, work->out, work->inside);
    for (int64_t i = 0; i < n; i++) work->surprise[i] = -log(work->base_out[i]);
}

/* ---- rows that are clusters of their own: tables are worked out cell by cell ---- */

typedef struct {
    int there[LEVELS];
    double gains[LEVELS][N_PRIORS];
} label_tables;

static double table_gain(
    const double *counts, const double *in_bin, int64_t n_bins, int64_t n_labels, double prior,
    const double *base_out) {
    double gain = 0.0, product = 1.0;
    for (int64_t b = 0; b < n_bins; b++) {
        double scale = in_bin[b] > 0 ? 1.0 / (in_bin[b] - 1 + prior) : 0.0;
        for (int64_t k = 0; k < n_labels; k++) {
            double rows = counts[b * n_labels + k];
            if (!(rows > 0)) continue;
            double ratio = ((rows - 1) / base_out[k] + prior) * scale;
            if (rows > 8) {
                gain += rows * log(ratio);
                continue;
            }
            for (int64_t row = 0; row < (int64_t)rows; row++) product *= ratio;
            if (product > FAR || product < 1 / FAR) {
                gain += log(product);
                product = 1.0;
            }
        }
    }
    return gain + log(product);
}

/* Rows in each bin, which tables group rows anew, and what each gains. Bins of the table of 2 are
 * numbers 2 and 3, those of the table of 4 numbers 4 to 7: bin b lies in bin b / 2 of the next
 * coarser table. Only the finest is filled before. */
static label_tables gain_of_tables(label_work *work, int64_t finest, int64_t n_labels) {
    double *counts = work->in_cell, *in_bin = work->in_bin;
    label_tables tables = {{0}, {{0.0}}};
    int64_t groups = 1;
    for (int64_t b = 2 * finest - 1; b > 3; b--) {
        for (int64_t k = 0; k < n_labels; k++)
            counts[(b / 2) * n_labels + k] += counts[b * n_labels + k];
    }
    for (int64_t level = 2, t = 0; level <= finest; level *= 2, t++) {
        int64_t used = 0;
        for (int64_t b = level; b < 2 * level; b++) {
            in_bin[b] = 0.0;
            for (int64_t k = 0; k < n_labels; k++) in_bin[b] += counts[b * n_labels + k];
            used += in_bin[b] > 0;
        }
        if (used <= groups) continue;
        groups = used;
        tables.there[t] = 1;
        for (int64_t a = 0; a < N_PRIORS; a++)
            tables.gains[t][a] = table_gain(
                counts + level * n_labels, in_bin + level, level, n_labels, PRIORS[a],
                work->base_out);
    }
    return tables;
}

/* Of each cell the sums over tables of share / ratio, and of share * ratio inside / ratio. */
static void sum_cells(
    label_work *work, const label_tables *tables, int64_t finest, int64_t n_labels) {
    const double *counts = work->in_cell, *in_bin = work->in_bin;
    double *below = work->below, *above = work->above;
    clear(below, 2 * finest * n_labels);
    clear(above, 2 * finest * n_labels);
    for (int64_t level = 2, t = 0; level <= finest; level *= 2, t++) {
        for (int64_t b = level; b < 2 * level; b++) {
            if (in_bin[b] == 0) continue;
            for (int64_t k = 0; k < n_labels; k++) {
                int64_t cell = b * n_labels + k;
                double rows = counts[cell];
                if (rows == 0) continue;
                below[cell] = below[(b / 2) * n_labels + k];
                above[cell] = above[(b / 2) * n_labels + k];
                for (int64_t a = 0; a < N_PRIORS && tables->there[t]; a++) {
                    double prior = PRIORS[a];
                    double left = tables->gains[t][a] * (in_bin[b] - 1 + prior) /
                                  ((rows - 1) / work->base_out[k] + prior);
                    below[cell] += left;
                    above[cell] += left * (rows / work->base_in[k] + prior) / (in_bin[b] + prior);
                }
            }
        }
    }
}

/* Sums over the other labels of how likely they are at a row, by all rows and by all but this. */
typedef struct {
    double whole, rest;
} others;

static others likely_others(
    const label_work *work, int64_t i, int64_t n_labels, double ours, double theirs, double scale,
    double own_scale) {
    double moved = (theirs - ours) * own_scale, shift = exp(smaller(moved, STEEPEST));
    int near = fabs(moved) < 300.0;
    others sum = {0.0, 0.0};
    for (int64_t k = 0; k < n_labels; k++) {
        if (k == work->y[i]) continue;
        double away = work->z[i] - work->means[k], far = ours - away * away;
        double weight = work->by_label[k] + 0.5;
        double likely = exp(smaller(far * scale, STEEPEST));
        sum.whole += weight * likely;
        double x = far * (own_scale - scale);
        if (near && fabs(x) < 0.03 && far * scale < 300.0) { /* exp(x) without a call */
            double last = 1 + x / 6 * (1 + x / 7);
            double factor = 1 + x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * last))));
            sum.rest += weight * likely * factor * shift;
        } else {
            sum.rest += weight * exp(smaller((far + theirs - ours) * own_scale, STEEPEST));
        }
    }
    return sum;
}

/* Ratios of the normal model; what it gains. */
static double single_normal(label_work *work, int64_t n, int64_t n_labels) {
    const int64_t *y = work->y;
    const double *z = work->z, *by_label = work->by_label;
    double *sums = work->sums, *means = work->means, squares = 0.0, spread = 0.0;
    clear(sums, n_labels);
    for (int64_t i = 0; i < n; i++) {
        sums[y[i]] += z[i];
        squares += z[i] * z[i];
    }
    for (int64_t k = 0; k < n_labels; k++) {
        means[k] = sums[k] / (by_label[k] + 1.0);
        spread += sums[k] * means[k];
    }
    double variance = (squares - spread) / larger((double)n - 1.0, 1.0);
    double scale = 0.5 / larger(variance, LEAST_VARIANCE), gain = 0.0, product = 1.0;
    for (int64_t i = 0; i < n; i++) {
        int64_t own = y[i];
        double count = by_label[own] - 1.0, total = sums[own] - z[i];
        double mean = total / (count + 1.0);
        double lost = spread - sums[own] * means[own] + total * mean;
        double left = squares - z[i] * z[i];
        double rest = (left - lost) / larger((double)n - 2.0, 1.0);
        double own_scale = 0.5 / larger(rest, LEAST_VARIANCE);
        double away = z[i] - means[own], own_away = z[i] - mean;
        others sum = likely_others(
            work, i, n_labels, away * away, own_away * own_away, scale, own_scale);
        work->ratio_out[i] = (count + 0.5) / (count + 0.5 + sum.rest) / work->base_out[own];
        work->ratio_in[i] =
            (by_label[own] + 0.5) / (by_label[own] + 0.5 + sum.whole) / work->base_in[own];
        product *= work->ratio_out[i];
        if (product > FAR || product < 1 / FAR) {
            gain += log(product);
            product = 1.0;
        }
    }
    return gain + log(product);
}

/* Rows by cell of the finest table and by label; how common each label is. */
static int64_t count_rows(label_work *work, int64_t n, int64_t n_labels) {
    int64_t finest = 2;
    while (finest < MOST_GROUPS && (double)(2 * finest) <= (double)n / 4) finest *= 2;
    clear(work->in_cell, 2 * finest * n_labels);
    clear(work->by_label, n_labels);
    for (int64_t i = 0; i < n; i++) {
        work->bins[i] = finest + group_of(work->u[i], finest);
        work->in_cell[work->bins[i] * n_labels + work->y[i]] += 1.0;
        work->by_label[work->y[i]] += 1.0;
    }
    for (int64_t k = 0; k < n_labels; k++) {
        work->base_out[k] =
            (work->by_label[k] - 0.5) / ((double)(n - 1) + (double)n_labels / 2);
        work->base_in[k] = (work->by_label[k] + 0.5) / ((double)n + (double)n_labels / 2);
    }
    return finest;
}

static void single_terms(label_work *work, int64_t n, int64_t n_labels) {
    int64_t finest = count_rows(work, n, n_labels);
    label_tables tables = gain_of_tables(work, finest, n_labels);
    int any = 0;
    for (int64_t t = 0; t < LEVELS; t++) any |= tables.there[t];
    for (int64_t i = 0; i < n; i++) work->ratio_out[i] = work->ratio_in[i] = 1.0;
    double normal_gain = any ? single_normal(work, n, n_labels) : 0.0;
    double most = larger(0.0, normal_gain);
    for (int64_t t = 0; t < LEVELS; t++) {
        for (int64_t a = 0; a < N_PRIORS && tables.there[t]; a++)
            most = larger(most, tables.gains[t][a]);
    }
    double nothing = exp(-most), normal = any ? exp(normal_gain - most) : 0.0;
    double total = nothing + normal;
    for (int64_t t = 0; t < LEVELS; t++) {
        for (int64_t a = 0; a < N_PRIORS; a++) {
            tables.gains[t][a] = tables.there[t] ? exp(tables.gains[t][a] - most) : 0.0;
            total += tables.gains[t][a];
        }
    }
    sum_cells(work, &tables, finest, n_labels);
    double *left_open = work->all_means;
    for (int64_t k = 0; k < n_labels; k++) left_open[k] = -log(work->base_out[k]);
    for (int64_t i = 0; i < n; i++) {
        int64_t cell = work->bins[i] * n_labels + work->y[i];
        double ratio_out = work->ratio_out[i], ratio_in = work->ratio_in[i];
        double d = work->below[cell] + nothing + normal / ratio_out;
        work->out[i] = log(total / d);
        work->inside[i] = log((work->above[cell] + nothing + normal * ratio_in / ratio_out) / d);
        work->surprise[i] = left_open[work->y[i]];
    }
}

/* ---- */

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
                single_terms(&work, m, n_numbered);
            } else {
                cluster_terms(&work, m, n_clusters, n_numbered);
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
