/* step_summary.h - a run of the step engine in the course's eight figures.
 *
 * Layer:   scheduler/core (pure).
 */
#ifndef ROPEWAY_SCHEDULER_CORE_STEP_SUMMARY_H
#define ROPEWAY_SCHEDULER_CORE_STEP_SUMMARY_H

#include "scheduler/core/step_engine.h"

struct step_summary {
    uint32_t request_count;
    double mean_generated_tokens;
    const uint32_t *active_batch_sizes; /* [scheduler_steps], borrowed */
    uint32_t max_active_batch_size;
    double mean_active_batch_size;
    uint32_t scheduler_steps; /* those recorded: steps in which nothing ran are none */
    double total_seconds;
    double tokens_per_second; /* 0 when no time passed */
};

/* A mean of nothing is 0. */
struct step_summary step_summarize(const struct step_result *results,
                                   uint32_t request_count,
                                   const uint32_t *active_batch_sizes,
                                   uint32_t scheduler_steps, double total_seconds);

#endif
