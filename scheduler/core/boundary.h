/* boundary.h - what happens between two iterations: who leaves, who runs, who joins.
 *
 * Layer:   scheduler/core (pure arithmetic on the caller's arrays).
 * Source:  the course's iteration boundary: its names, rules and values are tested as it
 *          states them (tests/scheduler/course.json).
 * Use:     production plans with form_iteration_batch, trim_prefill set. It releases and
 *          advances in settle.c by the same rules, but on shared memory and so that they
 *          may be repeated.
 */
#ifndef ROPEWAY_SCHEDULER_CORE_BOUNDARY_H
#define ROPEWAY_SCHEDULER_CORE_BOUNDARY_H

#include "proto/kv_layout.h"

enum iteration_phase { PHASE_PREFILL, PHASE_DECODE, PHASES };

enum iteration_status {
    ITERATION_ACTIVE,
    ITERATION_COMPLETED,
    ITERATION_CANCELLED,
    ITERATION_TIMED_OUT,
    ITERATION_FAILED
};

struct iteration_request {
    uint32_t id; /* the caller's; production's are record numbers */
    uint32_t phase;
    uint32_t status;
    uint32_t kv_blocks; /* held while active, wanted while waiting */
    uint32_t scheduled_tokens;
    int64_t remaining_prefill_tokens;
    int64_t remaining_decode_tokens;
};

struct iteration_limits {
    int64_t max_batch_size;
    int64_t free_kv_blocks;
    int64_t max_num_batched_tokens;
    int64_t prefill_chunk_size;
    /* Production: decodes are reserved before prefill chunks, and a running prefill takes
     * what they leave, in the array's order, 0 allowed. The course's: every active
     * request gets its whole demand, and an excess is an error. */
    bool trim_prefill;
};

struct iteration_outcome {
    uint32_t admitted_count; /* the first so many of waiting joined */
    uint32_t blocked_reason; /* enum block_reason of the next of waiting */
    uint32_t released_kv_blocks;
    int64_t free_slots;
    int64_t free_kv_blocks;
    int64_t free_token_budget;
};

/* Tokens that request wants of the coming iteration. */
enum status iteration_token_demand(const struct iteration_request *request,
                                   int64_t prefill_chunk_size, int64_t *demand,
                                   struct fault *fault);

/* Moves the terminal ones of active behind the others, both in their order; *kept_count
 * of them stay. Returns the blocks that the terminal ones held. scratch has count
 * elements. */
uint32_t release_terminal_requests(struct iteration_request *active, uint32_t count,
                                   struct iteration_request *scratch,
                                   uint32_t *kept_count);

/* The first gate of slot, kv_blocks, token_budget that refuses, or BLOCKED_NOT. */
enum block_reason admission_gate(int64_t free_slots, int64_t free_kv_blocks,
                                 int64_t free_token_budget, int64_t kv_blocks,
                                 int64_t demand);

/* Schedules active, none of which is terminal, then admits from the head of waiting. Sets
 * scheduled_tokens of both. released_kv_blocks are free again at this boundary. */
enum status form_iteration_batch(struct iteration_request *active, uint32_t active_count,
                                 struct iteration_request *waiting,
                                 uint32_t waiting_count, uint32_t released_kv_blocks,
                                 const struct iteration_limits *limits,
                                 struct iteration_outcome *outcome, struct fault *fault);

/* After the forward pass: takes scheduled_tokens off the phase's remainder. */
enum status advance_iteration(struct iteration_request *request, struct fault *fault);

#endif
