/* step.h - one iteration's batch and its results, in shared memory.
 *
 *   +-----------+  struct step, then parallel arrays:
 *   | step      |
 *   | sequences |  record, use, row_first, rows_count, position, flags, and the results'
 *   |           |  token and status: u32 [step_sequences_max] each
 *   | rows      |  token: u32 [step_rows_max]
 *   | logprobs  |  of the results: [step_sequences_max][1 + TOP_LOGPROBS_MAX]
 *   +-----------+  a multiple of 64 bytes
 *
 * A decode is a sequence with one row, a prefill chunk one with many. Row r of sequence s
 * stands at position[s] + (r - row_first[s]) and is attended to through the record's
 * block table. The life of a slot: the scheduler writes the batch, posts (release) and
 * rings the worker's bell; the worker writes KV rows, then results, then done (release)
 * and rings the scheduler; the scheduler commits and stores committed (release).
 * committed == posted: the slot is free. A done step is re-applied after a crash, never
 * run again.
 */
#ifndef ROPEWAY_PROTO_STEP_H
#define ROPEWAY_PROTO_STEP_H

#include "proto/kv_layout.h"

/* The last row's logits are sampled: a decode, or a prefill's last chunk. */
#define SEQUENCE_SAMPLE 1u

/* A row's token may be the result of sequence (value & ~ROW_TOKEN_RESULT) of the step
 * before, so that a step can be planned while the one before it runs. Token ids stay
 * below it. */
#define ROW_TOKEN_RESULT 0x80000000u

struct step {
    /* the scheduler's */
    _Atomic uint64_t posted;    /* number of the step posted here last; 0: none yet */
    _Atomic uint64_t committed; /* number of the step committed here last */
    uint64_t posted_ns;         /* monotonic */
    uint32_t generation;        /* of the scheduler that posted */
    uint32_t attempt;           /* 0, then one more for each re-run */
    uint32_t worker;
    uint32_t rows_count;
    uint32_t sequences_count;
    uint32_t padding;

    /* the worker's */
    _Atomic uint64_t done; /* number of the step whose results these are */
    uint32_t done_generation;
    uint32_t done_attempt;
    uint64_t started_ns, finished_ns; /* monotonic */
    uint64_t matmul_ns, attention_ns, sample_ns, other_ns;
};

struct step_view {
    struct step *step;
    uint32_t *sequence_record;
    uint32_t *sequence_use;
    uint32_t *sequence_row_first;
    uint32_t *sequence_rows_count;
    uint32_t *sequence_position; /* of its first row; equals the record's kv_rows_count */
    uint32_t *sequence_flags;
    uint32_t *row_token;

    uint32_t *result_token;
    uint32_t *result_status; /* enum status: STATUS_OK or why that sequence failed */
    struct logprob *result_logprobs; /* [sequence][1 + TOP_LOGPROBS_MAX], sampled first */
};

/* Bytes of one step with its arrays, a multiple of 64. */
uint64_t step_bytes(const struct geometry *geometry);

/* index < geometry.steps_count (INVARIANT). */
struct step_view step_at(const struct control *control, uint32_t index);

#endif
