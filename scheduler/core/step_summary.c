#include "scheduler/core/step_summary.h"

/* 0 for a quotient that nothing was measured for. */
static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

struct step_summary step_summarize(const struct step_result *results,
                                   uint32_t request_count,
                                   const uint32_t *active_batch_sizes,
                                   uint32_t scheduler_steps, double total_seconds)
{
    uint64_t tokens = 0, active = 0;
    uint32_t largest = 0;
    for (uint32_t i = 0; i < request_count; i++)
        tokens += results[i].generated_tokens;
    for (uint32_t i = 0; i < scheduler_steps; i++) {
        active += active_batch_sizes[i];
        if (active_batch_sizes[i] > largest)
            largest = active_batch_sizes[i];
    }
    return (struct step_summary){
        .request_count = request_count,
        .mean_generated_tokens = ratio((double)tokens, request_count),
        .active_batch_sizes = active_batch_sizes,
        .max_active_batch_size = largest,
        .mean_active_batch_size = ratio((double)active, scheduler_steps),
        .scheduler_steps = scheduler_steps,
        .total_seconds = total_seconds,
        .tokens_per_second = ratio((double)tokens, total_seconds)};
}
