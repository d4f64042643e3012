/* reuse.c - what the prefix cache does for requests: their chain of names, the blocks
 * that they find, hold, fill and leave.
 *
 * Order:   a block is offered after the step that filled it is committed, from counts in
 *          the record that a repeated commit or a successor reads again. A scheduler that
 *          dies in between leaves a block unoffered or uncached, never wrongly cached.
 */
#include "scheduler/core/scheduler_state.h"

#include "common/base/invariant.h"

/* Extends the record's chain to links_count links, by the tokens in its extent. */
static void extend_chain(struct scheduler *scheduler, struct request_record *record,
                         uint32_t links_count)
{
    uint32_t block_size = scheduler->geometry->block_size;
    struct extent extent = extent_view(&scheduler->control, record);
    INVARIANT(links_count <= 1 + record->blocks_capacity);
    for (uint32_t link = record->chain_links_count; link < links_count; link++) {
        const uint32_t *tokens = extent.tokens + (size_t)(link - 1) * block_size;
        extent.chain[link] =
            prefix_chain_next(&extent.chain[link - 1], tokens, block_size);
        record->chain_links_count = link + 1;
    }
}

void scheduler_begin_chain(struct scheduler *scheduler, struct request_record *record,
                           struct span salt)
{
    if (!scheduler->options.prefix_caching)
        return;
    struct extent extent = extent_view(&scheduler->control, record);
    extent.chain[0] = prefix_chain_root(scheduler->geometry, record->owner_key, salt);
    record->chain_links_count = 1;
    extend_chain(scheduler, record,
                 1 + record->prompt_tokens_count / scheduler->geometry->block_size);
}

struct prefix_hits scheduler_find_prefix(const struct scheduler *scheduler,
                                         const struct request_record *record)
{
    const struct derived *derived = scheduler->derived;
    uint32_t block_size = scheduler->geometry->block_size;
    struct prefix_hits hits = {0};
    if (record->chain_links_count == 0 || !scheduler->options.prefix_caching)
        return hits;
    /* The last token is run in any case: its row's logits give the next one. */
    uint32_t most = (record->tokens_count - 1) / block_size;
    if (most > record->chain_links_count - 1)
        most = record->chain_links_count - 1;
    struct extent extent = extent_view(&scheduler->control, record);
    for (; hits.blocks_count < most; hits.blocks_count++) {
        uint32_t at = hits.blocks_count;
        uint32_t block = prefix_cache_find(derived->cache, &extent.chain[1 + at],
                                           extent.tokens + (size_t)at * block_size);
        if (block == BLOCK_NONE)
            break;
        extent.block_table[at] = block;
        if (hits.held_count == at && block_pool_holders(derived->blocks, block) > 0)
            hits.held_count++;
    }
    return hits;
}

void scheduler_reserve_blocks(struct scheduler *scheduler, struct request_record *record)
{
    struct derived *derived = scheduler->derived;
    struct extent extent = extent_view(&scheduler->control, record);
    struct prefix_hits hits = scheduler_find_prefix(scheduler, record);
    /* Those found are held before others are taken, which may cost idle ones. */
    for (uint32_t i = 0; i < hits.blocks_count; i++)
        block_pool_hold(derived->blocks, extent.block_table[i]);
    for (uint32_t i = hits.blocks_count; i < record->blocks_capacity; i++) {
        extent.block_table[i] = prefix_cache_take(derived->cache);
        INVARIANT(extent.block_table[i] != BLOCK_NONE);
    }
    record->blocks_held_count = record->blocks_capacity;
    record->blocks_offered_count = hits.blocks_count;
    record->cached_tokens_count = hits.blocks_count * scheduler->geometry->block_size;
    record->kv_rows_count = record->cached_tokens_count;
    if (!scheduler->options.prefix_caching)
        return;
    scheduler->counters.prefix_queries += record->tokens_count;
    scheduler->counters.prefix_hits += record->cached_tokens_count;
}

void scheduler_offer_blocks(struct scheduler *scheduler, struct request_record *record)
{
    uint32_t full_count = record->kv_rows_count / scheduler->geometry->block_size;
    if (record->chain_links_count == 0 || full_count <= record->blocks_offered_count)
        return;
    extend_chain(scheduler, record, 1 + full_count);
    struct extent extent = extent_view(&scheduler->control, record);
    for (uint32_t i = record->blocks_offered_count; i < full_count; i++) {
        prefix_cache_add(scheduler->derived->cache, extent.block_table[i],
                         i == 0 ? BLOCK_NONE : extent.block_table[i - 1],
                         &extent.chain[1 + i],
                         extent.tokens + (size_t)i * scheduler->geometry->block_size);
        record->blocks_offered_count = i + 1;
    }
}

void scheduler_release_blocks(struct scheduler *scheduler, struct request_record *record,
                              uint64_t now_ns)
{
    struct extent extent = extent_view(&scheduler->control, record);
    /* The last first: a block is given up no later than those that it rests on. */
    for (uint32_t i = record->blocks_held_count; i-- > 0;)
        prefix_cache_release(scheduler->derived->cache, extent.block_table[i], now_ns);
    record->blocks_held_count = 0;
}
