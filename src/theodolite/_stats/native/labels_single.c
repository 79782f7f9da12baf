/* Predictive information of a label where every row is a cluster of its own: tables are worked out
 * cell by cell. */
#include "labels.h"

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

void single_label_terms(label_work *work, int64_t n, int64_t n_labels) {
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
