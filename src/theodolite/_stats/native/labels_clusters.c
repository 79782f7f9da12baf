/* Predictive information of a label where rows come in clusters. */
#include "labels.h"

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

void cluster_label_terms(label_work *work, int64_t n, int64_t n_clusters, int64_t n_labels) {
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
