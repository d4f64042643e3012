/* request.h - what a request's record says about it, and the moves that it may make.
 *
 * Layer:   scheduler/core (pure).
 * Counts:  with p prompt tokens and g generated, tokens_count = p + g; the newest
 *          generated token has no KV row yet, so a decode stands at kv_rows_count =
 *          tokens_count - 1, and a prefill anywhere below p.
 */
#ifndef ROPEWAY_SCHEDULER_CORE_REQUEST_H
#define ROPEWAY_SCHEDULER_CORE_REQUEST_H

#include "proto/kv_layout.h"

/* Acquire, for a successor that reads another process's records (access rule 2). */
static inline enum request_state request_state(const struct request_record *record)
{
    return (enum request_state)atomic_load_explicit(&record->state, memory_order_acquire);
}

static inline bool request_is_running(const struct request_record *record)
{
    enum request_state state = request_state(record);
    return state == REQUEST_PREFILL || state == REQUEST_DECODE;
}

static inline uint32_t request_generated_count(const struct request_record *record)
{
    return record->tokens_count - record->prompt_tokens_count;
}

/* Publishes the record in its next state (release); INVARIANT unless the move is allowed.
 */
void request_move(struct request_record *record, enum request_state next);

/* Blocks that hold tokens_count tokens. */
uint32_t request_blocks_for(uint32_t tokens_count, uint32_t block_size);

/* Whether the record's tokens so far end it: FINISH_STOP, FINISH_LENGTH or FINISH_NONE.
 * Derived from the record alone, so that a commit may be repeated. */
enum finish_reason request_finish(const struct control *control,
                                  const struct request_record *record);

#endif
