#include "frontend/core/histogram.h"

#include "common/base/invariant.h"

void histogram_init(struct histogram *histogram, const double *bounds,
                    uint32_t bounds_count)
{
    INVARIANT(bounds_count <= HISTOGRAM_BOUNDS_MAX);
    *histogram = (struct histogram){.bounds = bounds, .bounds_count = bounds_count};
}

void histogram_add(struct histogram *histogram, double value, uint64_t times)
{
    uint32_t place = 0;
    while (place < histogram->bounds_count && value > histogram->bounds[place])
        place++;
    histogram->counts[place] += times;
    histogram->sum += value * (double)times;
}

void histogram_write(struct buffer *out, const struct histogram *histogram,
                     const char *name, const char *help, const char *labels)
{
    uint64_t total = 0;
    buffer_append_format(out, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name);
    for (uint32_t place = 0; place < histogram->bounds_count; place++) {
        total += histogram->counts[place];
        buffer_append_format(out, "%s_bucket{%s,le=\"%g\"} %llu\n", name, labels,
                             histogram->bounds[place], (unsigned long long)total);
    }
    total += histogram->counts[histogram->bounds_count];
    buffer_append_format(out, "%s_bucket{%s,le=\"+Inf\"} %llu\n", name, labels,
                         (unsigned long long)total);
    buffer_append_format(out, "%s_sum{%s} %.9g\n%s_count{%s} %llu\n", name, labels,
                         histogram->sum, name, labels, (unsigned long long)total);
}
