#include "scheduler/core/scheduler_state.h"

#include "common/base/invariant.h"
#include "common/base/names.h"
#include <stdlib.h>

#define POLICY_NAMES_BYTES 256

static enum status check_options(const struct control *control,
                                 const struct scheduler_options *options,
                                 struct fault *fault)
{
    const struct geometry *geometry = &control->header->geometry;
    char names[POLICY_NAMES_BYTES];
    if (policy_find(options->policy) == NULL)
        return fault_set(fault, STATUS_INVALID, "scheduling-policy",
                         "--scheduling-policy '%s' is none of: %s", options->policy,
                         names_join(policy_name_at, names, sizeof names));
    if (options->prefill_chunk == 0)
        return fault_set(fault, STATUS_INVALID, "prefill-chunk",
                         "--prefill-chunk must be at least 1");
    uint64_t wanted = (uint64_t)options->prefill_chunk + geometry->step_sequences_max;
    if (geometry->step_rows_max < wanted)
        return fault_set(
            fault, STATUS_INVALID, "max-num-batched-tokens",
            "--max-num-batched-tokens %u is below --prefill-chunk %u + --max-num-seqs "
            "%u, so that progress would not be certain: give at least %llu",
            geometry->step_rows_max, options->prefill_chunk, geometry->step_sequences_max,
            (unsigned long long)wanted);
    return STATUS_OK;
}

static bool allocate(struct scheduler *scheduler, uint64_t secret)
{
    const struct policy *policy = policy_find(scheduler->options.policy);
    uint32_t records_count = scheduler->geometry->records_count;
    uint32_t slots_count = scheduler->geometry->step_sequences_max;
    scheduler->derived = derived_create(&scheduler->control, policy, secret);
    scheduler->rebuilt = derived_create(&scheduler->control, policy, secret);
    scheduler->news_nodes = calloc(records_count, sizeof *scheduler->news_nodes);
    scheduler->end_told = calloc(records_count, sizeof *scheduler->end_told);
    scheduler->waits_at_arrival =
        calloc(records_count, sizeof *scheduler->waits_at_arrival);
    scheduler->active = calloc(slots_count, sizeof *scheduler->active);
    scheduler->candidates =
        calloc((size_t)slots_count + 1, sizeof *scheduler->candidates);
    scheduler->batch = calloc(2 * (size_t)slots_count + 1, sizeof *scheduler->batch);
    return scheduler->derived != NULL && scheduler->rebuilt != NULL &&
           scheduler->news_nodes != NULL && scheduler->end_told != NULL &&
           scheduler->waits_at_arrival != NULL && scheduler->active != NULL &&
           scheduler->candidates != NULL && scheduler->batch != NULL;
}

enum status scheduler_create(struct scheduler **out, const struct control *control,
                             const struct scheduler_options *options, struct fault *fault)
{
    enum status status = check_options(control, options, fault);
    if (status != STATUS_OK)
        return status;
    struct scheduler *scheduler = calloc(1, sizeof *scheduler);
    if (scheduler == NULL)
        return fault_set(fault, STATUS_NO_SPACE, "", "no memory for the scheduler");
    scheduler->control = *control;
    scheduler->geometry = &control->header->geometry;
    scheduler->options = *options;
    if (!allocate(scheduler, options->secret)) {
        status = fault_set(fault, STATUS_NO_SPACE, "",
                           "no memory for the scheduler's queues of %u records",
                           scheduler->geometry->records_count);
        goto destroy;
    }
    queue_init(&scheduler->news, scheduler->news_nodes);
    status = derived_rebuild(scheduler->derived, fault);
    if (status != STATUS_OK)
        goto destroy;
    *out = scheduler;
    return STATUS_OK;
destroy:
    scheduler_destroy(scheduler);
    return status;
}

void scheduler_destroy(struct scheduler *scheduler)
{
    if (scheduler == NULL)
        return;
    free(scheduler->batch);
    free(scheduler->candidates);
    free(scheduler->active);
    free(scheduler->waits_at_arrival);
    free(scheduler->end_told);
    free(scheduler->news_nodes);
    derived_destroy(scheduler->rebuilt);
    derived_destroy(scheduler->derived);
    free(scheduler);
}

void scheduler_set_frontend(struct scheduler *scheduler, uint32_t record,
                            uint64_t frontend)
{
    INVARIANT(record < scheduler->geometry->records_count);
    scheduler->control.records[record].frontend = frontend;
    scheduler->end_told[record] = false;
}

uint32_t scheduler_find(const struct scheduler *scheduler, uint64_t frontend,
                        struct span id, uint32_t choice)
{
    uint32_t cursor = 0, record, other = RECORD_NONE;
    while ((record = record_index_find(scheduler->derived->index, id, choice, &cursor)) !=
           RECORD_NONE) {
        if (scheduler->control.records[record].frontend == frontend)
            return record;
        other = record;
    }
    return other;
}

uint32_t scheduler_worker_step(const struct scheduler *scheduler, uint32_t worker)
{
    INVARIANT(worker < scheduler->geometry->workers_max);
    return scheduler->derived->worker_step[worker];
}

uint32_t scheduler_next_news(struct scheduler *scheduler)
{
    uint32_t record = queue_pop(&scheduler->news);
    return record == QUEUE_END ? RECORD_NONE : record;
}

void scheduler_set_end_told(struct scheduler *scheduler, uint32_t record, bool told)
{
    INVARIANT(record < scheduler->geometry->records_count);
    scheduler->end_told[record] = told;
}

void scheduler_set_draining(struct scheduler *scheduler, bool draining)
{
    scheduler->draining = draining;
}

struct scheduler_counts scheduler_counts(const struct scheduler *scheduler)
{
    const struct derived *derived = scheduler->derived;
    return (struct scheduler_counts){.running = derived->running.count,
                                     .waiting = derived->waiting.count,
                                     .done = derived->done.count,
                                     .blocks_free =
                                         block_pool_unheld_count(derived->blocks),
                                     .slots = scheduler->geometry->step_sequences_max};
}

const struct scheduler_counters *scheduler_counters(const struct scheduler *scheduler)
{
    return &scheduler->counters;
}

enum status scheduler_check(struct scheduler *scheduler, struct fault *fault)
{
    enum status status = derived_rebuild(scheduler->rebuilt, fault);
    if (status != STATUS_OK)
        return status;
    return derived_compare(scheduler->derived, scheduler->rebuilt, fault);
}
