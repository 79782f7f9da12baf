/* Ranks of pixels of upsampled maps, which are never upsampled in memory: rows are mixed one by one
 * and counted. */
#include "kernels.h"

/* A half-pixel-centred sample: lower and upper neighbour, and the fraction; edges repeat. */
typedef struct {
    int64_t low, high;
    double fraction;
} between;

static inline between source_of(int64_t position, double scale, int64_t length) {
    double place = ((double)position + 0.5) * scale - 0.5;
    if (place <= 0.0) return (between){0, 0, 0.0};
    int64_t low = (int64_t)place;
    if (low >= length - 1) return (between){length - 1, length - 1, 0.0};
    return (between){low, low + 1, place - (double)low};
}

/* One row of the map, upsampled downwards only. */
static void mix_row(
    const double *grid, int64_t height, int64_t width, int64_t row, int64_t rows, double *out) {
    between at = source_of(row, (double)height / (double)rows, height);
    for (int64_t c = 0; c < width; c++) {
        double above = grid[at.low * width + c];
        out[c] = above + at.fraction * (grid[at.high * width + c] - above);
    }
}

static inline double mixed_cell(
    const double *mixed, int64_t width, int64_t column, int64_t columns) {
    between at = source_of(column, (double)width / (double)columns, width);
    return mixed[at.low] + at.fraction * (mixed[at.high] - mixed[at.low]);
}

/* Columns between two neighbouring cells share both: where each run of them starts. */
static void find_runs(int64_t columns, int64_t width, int64_t *first, double *fraction) {
    int64_t cell = 0;
    first[0] = 0;
    for (int64_t c = 0; c < columns; c++) {
        between at = source_of(c, (double)width / (double)columns, width);
        int64_t run = at.high > at.low ? at.low + 1 : (at.low == 0 ? 0 : width);
        fraction[c] = at.fraction;
        while (cell < run) first[++cell] = c;
    }
    while (cell <= width) first[++cell] = columns;
}

typedef struct {
    int64_t above, equal;
} ranked;

/* Pixels of a row above a value, and equal to it. Values rise or fall along a run, so its two ends
 * often decide for all of it. */
static ranked rank_in_row(
    const double *mixed, int64_t width, const int64_t *first, const double *fraction, double own) {
    ranked count = {0, 0};
    for (int64_t cell = 0; cell <= width; cell++) {
        double left = mixed[more(cell - 1, 0)];
        double step = mixed[fewer(cell, width - 1)] - left;
        int64_t begin = first[cell], end = first[cell + 1];
        if (begin == end) continue;
        double start = left + fraction[begin] * step, stop = left + fraction[end - 1] * step;
        if (start < own && stop < own) continue;
        if (start > own && stop > own) {
            count.above += end - begin;
        } else if (start == own && stop == own) {
            count.equal += end - begin;
        } else {
            for (int64_t c = begin; c < end; c++) {
                double value = left + fraction[c] * step;
                count.above += value > own;
                count.equal += value == own;
            }
        }
    }
    return count;
}

/* How many pixels of each upsampled map exceed one pixel, tie with it, and tie before it, in reading
 * order. `maps`: one for each query; `sizes`: rows and columns to upsample to. */
EXPORT int pixel_ranks(
    int64_t n, int64_t height, int64_t width, const double *maps, const int64_t *sizes,
    const int64_t *pixels, int64_t *counts) {
    int64_t most_columns = 0;
    for (int64_t q = 0; q < n; q++) most_columns = more(most_columns, sizes[2 * q + 1]);
    memory own = {.state = DONE};
    double *mixed = take_doubles(&own, width), *fraction = take_doubles(&own, most_columns);
    int64_t *first = take_integers(&own, width + 2);
    for (int64_t q = 0; q < n && own.state == DONE; q++) {
        const double *grid = maps + q * height * width;
        int64_t rows = sizes[2 * q], columns = sizes[2 * q + 1];
        int64_t row = pixels[2 * q], column = pixels[2 * q + 1];
        mix_row(grid, height, width, row, rows, mixed);
        double value = mixed_cell(mixed, width, column, columns);
        find_runs(columns, width, first, fraction);
        int64_t above = 0, tied = 0, before = 0;
        for (int64_t r = 0; r < rows; r++) {
            mix_row(grid, height, width, r, rows, mixed);
            ranked here = rank_in_row(mixed, width, first, fraction, value);
            above += here.above;
            tied += here.equal;
            if (r < row) before += here.equal;
            if (r == row && here.equal) {
                for (int64_t c = 0; c < column; c++)
                    before += mixed_cell(mixed, width, c, columns) == value;
            }
        }
        counts[3 * q] = above;
        counts[3 * q + 1] = tied;
        counts[3 * q + 2] = before;
    }
    return give_back(&own);
}
