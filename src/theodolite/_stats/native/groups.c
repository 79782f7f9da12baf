/* Draws of resamples and deals, and sums over samples in one fixed order: the same bits on every
 * kind of CPU. */
#include "kernels.h"

/* How many of the limits the number that is drawn for each resample and sample reaches: as
 * `evidence.sampling.uniform` draws it from `start`, before it is divided by 2 ** 53. The last limit
 * is never reached. */
EXPORT int count_draws(
    int64_t resamples, int64_t n, const uint64_t *start, uint64_t step, const uint64_t *limits,
    uint8_t *counts) {
    for (int64_t r = 0; r < resamples; r++) {
        uint64_t ahead = (uint64_t)(r + 2) * step;
        for (int64_t i = 0; i < n; i++) {
            uint64_t z = start[i] + ahead;
            z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
            z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
            uint64_t bits = (z ^ (z >> 31)) >> 11;
            uint8_t count = 0;
            while (bits >= limits[count]) count += 1;
            counts[r * n + i] = count;
        }
    }
    return DONE;
}

/* Add row i of `each` to row groups[i] of `sums`; to none where that is below 0. */
EXPORT int add_to_groups(
    int64_t n, int64_t width, const double *each, const int64_t *groups, double *sums) {
    for (int64_t i = 0; i < n; i++) {
        if (groups[i] < 0) continue;
        double *sum = sums + groups[i] * width;
        for (int64_t j = 0; j < width; j++) sum[j] += each[i * width + j];
    }
    return DONE;
}

/* Add `weights @ rows` to `sums`, row after row of `rows`. */
EXPORT int add_products(
    int64_t n, int64_t n_rows, int64_t width, const double *weights, const double *rows,
    double *sums) {
    for (int64_t r = 0; r < n; r++) {
        for (int64_t g = 0; g < n_rows; g++) {
            double weight = weights[r * n_rows + g];
            if (weight == 0.0) continue;
            for (int64_t j = 0; j < width; j++) sums[r * width + j] += weight * rows[g * width + j];
        }
    }
    return DONE;
}

/* Of each deal of `second`: rows with both, and rows with the second. Rows lie cluster by cluster.
 * Cluster g gets the rows of orders[deal, g] in turn, from row turns[deal, g] of it on. */
EXPORT int joint_counts(
    int64_t n_deals, int64_t n_clusters, const uint8_t *first, const uint8_t *second,
    const int64_t *starts, const int64_t *sizes, const int64_t *orders, const int64_t *turns,
    int64_t *counts) {
    for (int64_t deal = 0; deal < n_deals; deal++) {
        int64_t both = 0, whole = 0;
        for (int64_t g = 0; g < n_clusters; g++) {
            int64_t dealt = orders[deal * n_clusters + g];
            int64_t begin = starts[dealt], end = begin + sizes[dealt];
            int64_t place = begin + turns[deal * n_clusters + g];
            int64_t first_rows = fewer(end - place, sizes[g]), row = starts[g];
            int64_t last = row + sizes[g];
            for (; row < starts[g] + first_rows; row++, place++) {
                whole += second[place];
                both += second[place] & first[row];
            }
            for (place = begin; row < last; row++) {
                whole += second[place];
                both += second[place] & first[row];
                if (++place == end) place = begin;
            }
        }
        counts[2 * deal] = both;
        counts[2 * deal + 1] = whole;
    }
    return DONE;
}
