#include "scheduler/core/request.h"

#include "common/base/invariant.h"

#define TO(state) (1u << (state))

/* Every move a request may make. Preemption is the only way backwards. */
static const uint8_t request_moves[REQUEST_STATES] = {
    [REQUEST_FREE] = TO(REQUEST_WAITING),
    [REQUEST_WAITING] = TO(REQUEST_PREFILL) | TO(REQUEST_DONE),
    [REQUEST_PREFILL] = TO(REQUEST_DECODE) | TO(REQUEST_WAITING) | TO(REQUEST_DONE),
    [REQUEST_DECODE] = TO(REQUEST_WAITING) | TO(REQUEST_DONE),
    [REQUEST_DONE] = TO(REQUEST_FREE),
};

void request_move(struct request_record *record, enum request_state next)
{
    INVARIANT(request_moves[request_state(record)] & TO(next));
    atomic_store_explicit(&record->state, next, memory_order_release);
}

uint32_t request_blocks_for(uint32_t tokens_count, uint32_t block_size)
{
    return tokens_count / block_size + (tokens_count % block_size != 0);
}

static bool ends_with_stop_token(const struct control *control,
                                 const struct request_record *record)
{
    struct extent extent = extent_view(control, record);
    uint32_t last = extent.tokens[record->tokens_count - 1];
    for (uint32_t i = 0; i < record->stop_tokens_count; i++)
        if (extent.stop_tokens[i] == last)
            return true;
    return false;
}

enum finish_reason request_finish(const struct control *control,
                                  const struct request_record *record)
{
    uint32_t generated = request_generated_count(record);
    if (generated == 0)
        return FINISH_NONE;
    bool may_stop =
        !record->sampling.ignore_end && generated >= record->sampling.min_tokens;
    if (may_stop && ends_with_stop_token(control, record))
        return FINISH_STOP;
    if (generated >= record->max_tokens ||
        record->tokens_count >= control->header->geometry.context_length)
        return FINISH_LENGTH;
    return FINISH_NONE;
}
