#include "scheduler/core/boundary.h"

#include "common/base/invariant.h"

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static enum status unknown_phase(const struct iteration_request *request,
                                 struct fault *fault)
{
    return fault_set(fault, STATUS_INVALID, "phase", "unknown request phase %u",
                     request->phase);
}

enum status iteration_token_demand(const struct iteration_request *request,
                                   int64_t prefill_chunk_size, int64_t *demand,
                                   struct fault *fault)
{
    if (prefill_chunk_size <= 0)
        return fault_set(fault, STATUS_INVALID, "prefill_chunk_size",
                         "prefill_chunk_size must be positive, not %lld",
                         (long long)prefill_chunk_size);
    int64_t remaining = request->remaining_prefill_tokens;
    switch (request->phase) {
    case PHASE_PREFILL:
        *demand = remaining > 0 ? smaller(remaining, prefill_chunk_size) : 0;
        return STATUS_OK;
    case PHASE_DECODE:
        *demand = request->remaining_decode_tokens > 0 ? 1 : 0;
        return STATUS_OK;
    default:
        return unknown_phase(request, fault);
    }
}

uint32_t release_terminal_requests(const struct iteration_request *active,
                                   uint32_t active_count, struct iteration_request *kept,
                                   uint32_t *kept_count,
                                   struct iteration_request *terminal,
                                   uint32_t *terminal_count)
{
    uint32_t released_kv_blocks = 0;
    *kept_count = *terminal_count = 0;
    for (uint32_t i = 0; i < active_count; i++) {
        if (active[i].status == ITERATION_ACTIVE) {
            kept[(*kept_count)++] = active[i];
        } else {
            INVARIANT(terminal != NULL);
            released_kv_blocks += active[i].kv_blocks;
            terminal[(*terminal_count)++] = active[i];
        }
    }
    return released_kv_blocks;
}

enum block_reason admission_gate(int64_t free_slots, int64_t free_kv_blocks,
                                 int64_t free_token_budget, int64_t kv_blocks,
                                 int64_t demand)
{
    if (free_slots <= 0)
        return BLOCKED_SLOT;
    if (kv_blocks > free_kv_blocks)
        return BLOCKED_KV_BLOCKS;
    if (demand > free_token_budget)
        return BLOCKED_TOKEN_BUDGET;
    return BLOCKED_NOT;
}

/* Schedules those of one phase, of which none was admitted yet. Only the untrimmed rule
 * may take the budget below 0. */
static enum status schedule_phase(struct iteration_batch *batch, uint32_t phase,
                                  const struct iteration_limits *limits,
                                  struct fault *fault)
{
    for (uint32_t i = 0; i < batch->batch_count; i++) {
        struct iteration_request *request = &batch->batch[i];
        int64_t budget = batch->free_token_budget, demand = 0;
        enum status status =
            iteration_token_demand(request, limits->prefill_chunk_size, &demand, fault);
        if (status != STATUS_OK)
            return status;
        if (request->phase != phase)
            continue;
        if (limits->trim_prefill && phase == PHASE_PREFILL)
            demand = smaller(demand, budget > 0 ? budget : 0);
        request->scheduled_tokens = (uint32_t)demand;
        batch->free_token_budget -= demand;
    }
    return STATUS_OK;
}

/* Moves the head of waiting to the end of the batch. */
static void admit_head(struct iteration_batch *batch, int64_t demand)
{
    struct iteration_request *admitted = &batch->batch[batch->batch_count++];
    *admitted = *batch->waiting++;
    admitted->scheduled_tokens = (uint32_t)demand;
    admitted->status = ITERATION_ACTIVE;
    batch->waiting_count--;
    batch->admitted_count++;
    batch->free_slots--;
    batch->free_kv_blocks -= admitted->kv_blocks;
    batch->free_token_budget -= demand;
}

static enum status admit(struct iteration_batch *batch, int64_t prefill_chunk_size,
                         struct fault *fault)
{
    while (batch->waiting_count > 0) {
        const struct iteration_request *head = batch->waiting;
        int64_t demand = 0;
        enum status status =
            iteration_token_demand(head, prefill_chunk_size, &demand, fault);
        if (status != STATUS_OK)
            return status;
        enum block_reason reason =
            admission_gate(batch->free_slots, batch->free_kv_blocks,
                           batch->free_token_budget, head->kv_blocks, demand);
        if (reason != BLOCKED_NOT) {
            batch->blocked.id = head->id;
            batch->blocked.reason = reason;
            return STATUS_OK;
        }
        admit_head(batch, demand);
    }
    return STATUS_OK;
}

/* The batch with all of active in it that stay, nobody scheduled and nobody admitted. */
static void release(const struct iteration_request *active, uint32_t active_count,
                    const struct iteration_limits *limits, struct iteration_batch *batch)
{
    batch->released_kv_blocks =
        release_terminal_requests(active, active_count, batch->batch, &batch->batch_count,
                                  batch->terminal, &batch->terminal_count);
    batch->admitted_count = 0;
    batch->blocked.reason = BLOCKED_NOT;
    batch->free_slots = limits->max_batch_size - batch->batch_count;
    batch->free_kv_blocks = limits->free_kv_blocks + batch->released_kv_blocks;
    batch->free_token_budget = limits->max_num_batched_tokens;
}

enum status form_iteration_batch(const struct iteration_request *active,
                                 uint32_t active_count,
                                 const struct iteration_request *waiting,
                                 uint32_t waiting_count,
                                 const struct iteration_limits *limits,
                                 struct iteration_batch *batch, struct fault *fault)
{
    release(active, active_count, limits, batch);
    batch->waiting = waiting;
    batch->waiting_count = waiting_count;
    enum status status = schedule_phase(batch, PHASE_DECODE, limits, fault);
    if (status == STATUS_OK)
        status = schedule_phase(batch, PHASE_PREFILL, limits, fault);
    if (status != STATUS_OK)
        return status;
    if (batch->free_slots < 0 || batch->free_token_budget < 0)
        return fault_set(fault, STATUS_INVALID, "max_num_batched_tokens",
                         "active requests already exceed this iteration's budget");
    return admit(batch, limits->prefill_chunk_size, fault);
}

enum status advance_iteration(const struct iteration_request *request,
                              struct iteration_request *advanced, struct fault *fault)
{
    if (request->phase >= PHASES)
        return unknown_phase(request, fault);
    bool is_prefill = request->phase == PHASE_PREFILL;
    int64_t remaining =
        is_prefill ? request->remaining_prefill_tokens : request->remaining_decode_tokens;
    if (request->scheduled_tokens > remaining)
        return fault_set(
            fault, STATUS_INVALID, "scheduled_tokens",
            "scheduled_tokens exceeds the phase's remaining work: %u of %lld",
            request->scheduled_tokens, (long long)remaining);
    remaining -= request->scheduled_tokens;
    *advanced = *request;
    if (is_prefill)
        advanced->remaining_prefill_tokens = remaining;
    else
        advanced->remaining_decode_tokens = remaining;
    if (remaining == 0 && is_prefill)
        advanced->phase = PHASE_DECODE;
    else if (remaining == 0)
        advanced->status = ITERATION_COMPLETED;
    return STATUS_OK;
}
