#include "scheduler/core/boundary.h"

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

uint32_t release_terminal_requests(struct iteration_request *active, uint32_t count,
                                   struct iteration_request *scratch,
                                   uint32_t *kept_count)
{
    uint32_t kept = 0, terminal = 0, released_kv_blocks = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (active[i].status == ITERATION_ACTIVE) {
            active[kept++] = active[i];
        } else {
            released_kv_blocks += active[i].kv_blocks;
            scratch[terminal++] = active[i];
        }
    }
    for (uint32_t i = 0; i < terminal; i++)
        active[kept + i] = scratch[i];
    *kept_count = kept;
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

/* Schedules the active ones of one phase; *budget is what is left of it, which only the
 * untrimmed rule may take below 0. */
static enum status schedule_phase(struct iteration_request *active, uint32_t count,
                                  uint32_t phase, const struct iteration_limits *limits,
                                  int64_t *budget, struct fault *fault)
{
    for (uint32_t i = 0; i < count; i++) {
        int64_t demand = 0;
        enum status status = iteration_token_demand(
            &active[i], limits->prefill_chunk_size, &demand, fault);
        if (status != STATUS_OK)
            return status;
        if (active[i].phase != phase)
            continue;
        if (limits->trim_prefill && phase == PHASE_PREFILL)
            demand = smaller(demand, *budget > 0 ? *budget : 0);
        active[i].scheduled_tokens = (uint32_t)demand;
        *budget -= demand;
    }
    return STATUS_OK;
}

static enum status admit(struct iteration_request *waiting, uint32_t waiting_count,
                         int64_t prefill_chunk_size, struct iteration_outcome *outcome,
                         struct fault *fault)
{
    for (uint32_t i = 0; i < waiting_count; i++) {
        int64_t demand = 0;
        enum status status =
            iteration_token_demand(&waiting[i], prefill_chunk_size, &demand, fault);
        if (status != STATUS_OK)
            return status;
        outcome->blocked_reason =
            admission_gate(outcome->free_slots, outcome->free_kv_blocks,
                           outcome->free_token_budget, waiting[i].kv_blocks, demand);
        if (outcome->blocked_reason != BLOCKED_NOT)
            return STATUS_OK;
        waiting[i].scheduled_tokens = (uint32_t)demand;
        waiting[i].status = ITERATION_ACTIVE;
        outcome->free_slots--;
        outcome->free_kv_blocks -= waiting[i].kv_blocks;
        outcome->free_token_budget -= demand;
        outcome->admitted_count++;
    }
    return STATUS_OK;
}

enum status form_iteration_batch(struct iteration_request *active, uint32_t active_count,
                                 struct iteration_request *waiting,
                                 uint32_t waiting_count, uint32_t released_kv_blocks,
                                 const struct iteration_limits *limits,
                                 struct iteration_outcome *outcome, struct fault *fault)
{
    int64_t budget = limits->max_num_batched_tokens;
    enum status status =
        schedule_phase(active, active_count, PHASE_DECODE, limits, &budget, fault);
    if (status == STATUS_OK)
        status =
            schedule_phase(active, active_count, PHASE_PREFILL, limits, &budget, fault);
    if (status != STATUS_OK)
        return status;
    *outcome = (struct iteration_outcome){
        .blocked_reason = BLOCKED_NOT,
        .released_kv_blocks = released_kv_blocks,
        .free_slots = limits->max_batch_size - active_count,
        .free_kv_blocks = limits->free_kv_blocks + released_kv_blocks,
        .free_token_budget = budget};
    if (outcome->free_slots < 0 || outcome->free_token_budget < 0)
        return fault_set(fault, STATUS_INVALID, "max_num_batched_tokens",
                         "active requests already exceed this iteration's budget");
    return admit(waiting, waiting_count, limits->prefill_chunk_size, outcome, fault);
}

enum status advance_iteration(struct iteration_request *request, struct fault *fault)
{
    if (request->phase >= PHASES)
        return unknown_phase(request, fault);
    bool is_prefill = request->phase == PHASE_PREFILL;
    int64_t *remaining = is_prefill ? &request->remaining_prefill_tokens
                                    : &request->remaining_decode_tokens;
    if (request->scheduled_tokens > *remaining)
        return fault_set(fault, STATUS_INVALID, "scheduled_tokens",
                         "scheduled_tokens %u exceeds the phase's remaining work %lld",
                         request->scheduled_tokens, (long long)*remaining);
    *remaining -= request->scheduled_tokens;
    if (*remaining == 0 && is_prefill)
        request->phase = PHASE_DECODE;
    else if (*remaining == 0)
        request->status = ITERATION_COMPLETED;
    return STATUS_OK;
}
