/* histogram.h - counts by upper bound, written as Prometheus text. Layer: frontend/core.
 */
#ifndef ROPEWAY_FRONTEND_CORE_HISTOGRAM_H
#define ROPEWAY_FRONTEND_CORE_HISTOGRAM_H

#include "common/base/buffer.h"
#include <stdint.h>

#define HISTOGRAM_BOUNDS_MAX 32

struct histogram {
    const double *bounds; /* ascending; values beyond the last count in +Inf alone */
    uint32_t bounds_count;
    uint64_t counts[HISTOGRAM_BOUNDS_MAX + 1]; /* not cumulative */
    double sum;
};

void histogram_init(struct histogram *histogram, const double *bounds,
                    uint32_t bounds_count);
void histogram_add(struct histogram *histogram, double value, uint64_t times);

/* labels: model_name="x",engine="0", as they stand between the braces. */
void histogram_write(struct buffer *out, const struct histogram *histogram,
                     const char *name, const char *help, const char *labels);

#endif
