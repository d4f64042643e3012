/* boundary.h - what happens between two iterations: who leaves, who runs, who joins.
 *
 * Layer:   scheduler/core (pure arithmetic; inputs are read, results are the caller's).
 * Source:  the course's iteration boundary: its names, rules, sentences and values are
 *          tested as it states them (tests/scheduler/course.json; docs/COURSE.md).
 * Use:     production plans with form_iteration_batch, trim_prefill set. It releases and
 *          advances in settle.c by the same rules, but on shared memory and so that they
 *          may be repeated. The step scheduler (step_scheduler.h) uses all of them.
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

struct iteration_batch {
    struct iteration_request *batch;    /* the caller's memory: [active + waiting] */
    struct iteration_request *terminal; /* the caller's: [active]; may be NULL when none
                                           of active is terminal */
    const struct iteration_request *waiting; /* what is left of the input's */
    uint32_t batch_count; /* the active ones in their order, then the admitted ones */
    uint32_t admitted_count;
    uint32_t terminal_count;
    uint32_t waiting_count;
    struct {
        uint32_t id;     /* the head of waiting */
        uint32_t reason; /* enum block_reason; BLOCKED_NOT: nobody was refused */
    } blocked;
    uint32_t released_kv_blocks;
    int64_t free_slots;
    int64_t free_kv_blocks;
    int64_t free_token_budget;
};

/* Tokens that request wants of the coming iteration. */
enum status iteration_token_demand(const struct iteration_request *request,
                                   int64_t prefill_chunk_size, int64_t *demand,
                                   struct fault *fault);

/* Parts active into kept and terminal, both in its order and with room for all of it.
 * Returns the blocks that the terminal ones held. kept may be active itself; terminal may
 * be NULL when there is none. */
uint32_t release_terminal_requests(const struct iteration_request *active,
                                   uint32_t active_count, struct iteration_request *kept,
                                   uint32_t *kept_count,
                                   struct iteration_request *terminal,
                                   uint32_t *terminal_count);

/* The first gate of slot, kv_blocks, token_budget that refuses, or BLOCKED_NOT. */
enum block_reason admission_gate(int64_t free_slots, int64_t free_kv_blocks,
                                 int64_t free_token_budget, int64_t kv_blocks,
                                 int64_t demand);

/* Releases the terminal ones of active, whose blocks are free again at this boundary;
 * schedules the others; then admits from the head of waiting. scheduled_tokens is set in
 * batch. The caller has set batch's two memories; all else of it is written here, and
 * means nothing after an error. */
enum status form_iteration_batch(const struct iteration_request *active,
                                 uint32_t active_count,
                                 const struct iteration_request *waiting,
                                 uint32_t waiting_count,
                                 const struct iteration_limits *limits,
                                 struct iteration_batch *batch, struct fault *fault);

/* After the forward pass: request with its scheduled_tokens taken off the phase's
 * remainder. advanced may be request itself. */
enum status advance_iteration(const struct iteration_request *request,
                              struct iteration_request *advanced, struct fault *fault);

#endif
