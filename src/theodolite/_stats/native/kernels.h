/* Shared by all files of the library. Every exported function returns DONE or NO_MEMORY; arrays are
 * contiguous, lengths are those that `functions.py` reads from them; nothing is kept between calls. */
#ifndef THEODOLITE_KERNELS_H
#define THEODOLITE_KERNELS_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

enum { DONE = 0, NO_MEMORY = 1 };

/* Blocks that are freed together. */
enum { MOST_BLOCKS = 48 };
typedef struct {
    void *blocks[MOST_BLOCKS];
    int n, state;
} memory;

/* Zeros; on failure NULL, and the state says so. */
static inline void *take(memory *own, int64_t count, size_t size) {
    void *block = own->n < MOST_BLOCKS ? calloc(count > 0 ? (size_t)count : 1, size) : NULL;
    if (block == NULL) {
        own->state = NO_MEMORY;
        return NULL;
    }
    own->blocks[own->n++] = block;
    return block;
}

static inline double *take_doubles(memory *own, int64_t count) {
    return take(own, count, sizeof(double));
}

static inline int64_t *take_integers(memory *own, int64_t count) {
    return take(own, count, sizeof(int64_t));
}

static inline int32_t *take_small_integers(memory *own, int64_t count) {
    return take(own, count, sizeof(int32_t));
}

static inline int give_back(memory *own) {
    for (int b = 0; b < own->n; b++) free(own->blocks[b]);
    return own->state;
}

static inline double smaller(double a, double b) { return a < b ? a : b; }
static inline double larger(double a, double b) { return a > b ? a : b; }
static inline int64_t fewer(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t more(int64_t a, int64_t b) { return a > b ? a : b; }

#endif
