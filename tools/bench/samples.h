/* samples.h - measured times, and what share of them is how long at most.
 *
 * Layer:   pure (allocates up to its bound).
 * Rank:    nearest: the p-th percentile of n samples is the ceil(p/100 n)-th smallest, so
 *          that it is a time that was measured.
 */
#ifndef ROPEWAY_TOOLS_BENCH_SAMPLES_H
#define ROPEWAY_TOOLS_BENCH_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>

struct samples {
    float *values_ms;
    size_t count, capacity;
    bool sorted;
};

/* Zeroed memory is an empty one. */
void samples_fini(struct samples *samples);

/* Ends the program when memory is out: percentiles of what was kept would be wrong. */
void samples_add(struct samples *samples, double value_ms);

double samples_mean_ms(const struct samples *samples);

/* Of these and infinite_count more that never ended: INFINITY where one of those is
 * meant, NAN when there is no sample at all. percent is in (0, 100]. */
double samples_percentile_ms(struct samples *samples, double percent,
                             size_t infinite_count);

#endif
