#include "predictive.h"

double rank_values(
    const double *values, const int64_t *sorted_rows, const int64_t *at, const double *weight,
    int64_t n, int64_t n_clusters, double *u) {
    double below = 0.0, most = 0.0;
    int64_t first = 0;
    while (first < n) {
        double value = values[sorted_rows[first]], equal = 0.0;
        int64_t last = first;
        while (last < n && values[sorted_rows[last]] == value) {
            equal += weight[at[sorted_rows[last]]];
            last += 1;
        }
        for (int64_t p = first; p < last; p++)
            u[at[sorted_rows[p]]] = (below + equal / 2) / (double)n_clusters;
        first = last;
        below += equal;
        most = larger(most, equal);
    }
    return most;
}

/* For p from 1e-11 to 1 - 1e-11 (Wichura 1988, algorithm AS 241). */
double normal_quantile(double p) {
    double q = p - 0.5;
    if (fabs(q) <= 0.425) {
        double r = 0.180625 - q * q;
        double above = 2509.0809287301226727 * r + 33430.575583588128105;
        above = (above * r + 67265.770927008700853) * r + 45921.953931549871457;
        above = (above * r + 13731.693765509461125) * r + 1971.5909503065514427;
        above = (above * r + 133.14166789178437745) * r + 3.387132872796366608;
        double below = 5226.495278852854561 * r + 28729.085735721942674;
        below = (below * r + 39307.89580009271061) * r + 21213.794301586595867;
        below = (below * r + 5394.1960214247511077) * r + 687.1870074920579083;
        return q * above / ((below * r + 42.313330701600911252) * r + 1.0);
    }
    double r = sqrt(-log(smaller(p, 1.0 - p))) - 1.6;
    double above = 7.7454501427834140764e-4 * r + 0.0227238449892691845833;
    above = (above * r + 0.24178072517745061177) * r + 1.27045825245236838258;
    above = (above * r + 3.64784832476320460504) * r + 5.7694972214606914055;
    above = (above * r + 4.6303378461565452959) * r + 1.42343711074968357734;
    double below = 1.05075007164441684324e-9 * r + 5.475938084995344946e-4;
    below = (below * r + 0.0151986665636164571966) * r + 0.14810397642748007459;
    below = (below * r + 0.68976733498510000455) * r + 1.6763848301838038494;
    double away = above / ((below * r + 2.05319162663775882187) * r + 1.0);
    return q > 0 ? away : -away;
}

void cluster_weights(const int64_t *starts, int64_t n_clusters, double *weight) {
    for (int64_t c = 0; c < n_clusters; c++) {
        for (int64_t i = starts[c]; i < starts[c + 1]; i++)
            weight[i] = 1.0 / (double)(starts[c + 1] - starts[c]);
    }
}

/* What each model gained on each cluster, and in all. */
static void gain_of_clusters(
    const double *ratio_out, int64_t n_models, int64_t stride, const int64_t *starts,
    int64_t n_clusters, const double *weight, double *gains, double *product, double *total) {
    for (int64_t m = 0; m < n_models; m++) total[m] = 0.0;
    for (int64_t c = 0; c < n_clusters; c++) {
        double *gain = gains + c * n_models;
        for (int64_t m = 0; m < n_models; m++) {
            gain[m] = 0.0;
            product[m] = 1.0;
        }
        for (int64_t i = starts[c]; i < starts[c + 1]; i++) {
            for (int64_t m = 0; m < n_models; m++) {
                product[m] *= ratio_out[i * stride + m];
                if (product[m] > FAR || product[m] < 1 / FAR) {
                    gain[m] += log(product[m]);
                    product[m] = 1.0;
                }
            }
        }
        for (int64_t m = 0; m < n_models; m++) {
            gain[m] = (gain[m] + log(product[m])) * weight[starts[c]];
            total[m] += gain[m];
        }
    }
}

void mix_models(
    const double *ratio_out, const double *ratio_in, int64_t n_models, int64_t stride,
    const int64_t *starts, int64_t n_clusters, const double *weight, double *gains, double *product,
    double *total, double *out, double *inside) {
    gain_of_clusters(
        ratio_out, n_models, stride, starts, n_clusters, weight, gains, product, total);
    for (int64_t c = 0; c < n_clusters; c++) {
        double *gain = gains + c * n_models, most = -1e300, share = 0.0;
        for (int64_t m = 0; m < n_models; m++) {
            gain[m] = total[m] - gain[m];
            most = larger(most, gain[m]);
        }
        for (int64_t m = 0; m < n_models; m++) {
            gain[m] = exp(gain[m] - most);
            share += gain[m];
        }
        for (int64_t i = starts[c]; i < starts[c + 1]; i++) {
            double a = 0.0, b = 0.0;
            for (int64_t m = 0; m < n_models; m++) {
                a += gain[m] * ratio_out[i * stride + m];
                b += gain[m] * ratio_in[i * stride + m];
            }
            out[i] = log(a / share);
            inside[i] = log(b / share);
        }
    }
}
