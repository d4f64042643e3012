#include "tools/bench/samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CAPACITY_FIRST 1024

void samples_fini(struct samples *samples)
{
    free(samples->values_ms);
    *samples = (struct samples){0};
}

void samples_add(struct samples *samples, double value_ms)
{
    if (samples->count == samples->capacity) {
        size_t capacity = samples->capacity != 0 ? 2 * samples->capacity : CAPACITY_FIRST;
        float *grown = realloc(samples->values_ms, capacity * sizeof *grown);
        if (grown == NULL) {
            fprintf(stderr, "ropeway bench: no memory for %zu samples\n", capacity);
            exit(EXIT_FAILURE);
        }
        samples->values_ms = grown;
        samples->capacity = capacity;
    }
    samples->values_ms[samples->count++] = (float)value_ms;
    samples->sorted = false;
}

double samples_mean_ms(const struct samples *samples)
{
    double sum = 0;
    for (size_t i = 0; i < samples->count; i++)
        sum += samples->values_ms[i];
    return samples->count != 0 ? sum / (double)samples->count : NAN;
}

static int compare(const void *a, const void *b)
{
    float left = *(const float *)a, right = *(const float *)b;
    return (left > right) - (left < right);
}

double samples_percentile_ms(struct samples *samples, double percent,
                             size_t infinite_count)
{
    size_t all_count = samples->count + infinite_count;
    if (all_count == 0)
        return NAN;
    if (!samples->sorted && samples->count != 0)
        qsort(samples->values_ms, samples->count, sizeof *samples->values_ms, compare);
    samples->sorted = true;
    size_t rank = (size_t)ceil(percent / 100 * (double)all_count);
    rank = rank != 0 ? rank : 1;
    return rank <= samples->count ? (double)samples->values_ms[rank - 1] : INFINITY;
}
