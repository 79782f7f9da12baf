/* What predictive information of labels and of pairs share. */
#ifndef THEODOLITE_PREDICTIVE_H
#define THEODOLITE_PREDICTIVE_H

#include "kernels.h"

/* As in stats/predictive_small.py and stats/predictive_pairs_small.py. */
enum {
    LEVELS = 7, /* tables of 2, 4, ... 128 groups */
    N_PRIORS = 3,
    PAIR_LEVELS = 3, /* of pairs: tables of 2, 4, 8 groups of each value */
    N_SHRUNK = 2,
    FEWEST_CLUSTERS = 4,
    FEWEST_LABELS = 2,
};
static const double PRIORS[N_PRIORS] = {2.0, 8.0, 32.0};
static const double EDGE = 1e-9; /* sums of weights such as 1/3 must not move a row over an edge */
static const double FAR = 1e20;  /* products outside 1/FAR to FAR are turned into logarithms */
static const double STEEPEST = 600.0; /* largest exponent: nothing overflows, and no ratio is 0 */

static inline int64_t group_of(double rank, int64_t level) {
    return fewer((int64_t)((double)level * rank + EDGE), level - 1);
}

/* The share of the weight that lies below each value, equal ones counted half, into `u`; returns the
 * largest weight that one value has. `at` numbers the rows that count; `weight` is theirs. */
double rank_values(
    const double *values, const int64_t *sorted_rows, const int64_t *at, const double *weight,
    int64_t n, int64_t n_clusters, double *u);

/* Of the standard normal. */
double normal_quantile(double p);

/* One over its cluster's rows, of each row. */
void cluster_weights(const int64_t *starts, int64_t n_clusters, double *weight);

/* Logarithms of what all models together gain on each row: each model weighted by what it gained on
 * the other clusters. Ratios lie row by row, `stride` apart; `gains` has a row for each cluster;
 * `product` and `total` one number for each model. */
void mix_models(
    const double *ratio_out, const double *ratio_in, int64_t n_models, int64_t stride,
    const int64_t *starts, int64_t n_clusters, const double *weight, double *gains, double *product,
    double *total, double *out, double *inside);

#endif
