/* What predictive information of a label works in, for rows of clusters and for single rows. */
#ifndef THEODOLITE_LABELS_H
#define THEODOLITE_LABELS_H

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

static inline void clear(double *values, int64_t n) {
    for (int64_t i = 0; i < n; i++) values[i] = 0.0;
}

/* Terms of one stratum of n rows, from u, z, y, starts and weight into out, inside and surprise. */
void cluster_label_terms(label_work *work, int64_t n, int64_t n_clusters, int64_t n_labels);
void single_label_terms(label_work *work, int64_t n, int64_t n_labels);

#endif
