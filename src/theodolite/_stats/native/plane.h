/* Nearest neighbours in the plane, by largest difference. */
#ifndef THEODOLITE_PLANE_H
#define THEODOLITE_PLANE_H

#include "search.h"

/* What counts of neighbours at equal distances. */
enum ties {
    IGNORE_TIES, /* the published estimate: as if there were none */
    NO_TIES,     /* no value repeats in either column */
    COUNT_TIES,
};

typedef struct {
    int64_t *first, *start, *fill, *pointer; /* of each strip */
    int32_t *strip_of, *who;
    double *x, *y;
} plane;

/* Room for pairs of up to so many samples. */
plane make_plane(memory *own, int64_t n);

/* One term per sample of a pair of columns. `x`, `y`: their values; `x_rank`, `y_rank`: each sample's
 * position in the order of its column; `y_order`: the samples in the order of y. More than k samples. */
typedef struct {
    const double *x, *y;
    const int32_t *x_rank, *y_rank, *y_order;
    ordered_column x_column, y_column;
} column_pair;

void plane_terms(
    const column_pair *pair, enum ties ties, int64_t k, const double *psi, plane *strips,
    double *out);

#endif
