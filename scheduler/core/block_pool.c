#include "scheduler/core/block_pool.h"

#include "common/base/invariant.h"
#include <stdlib.h>

struct block_pool {
    uint32_t blocks_count;
    uint32_t free_count;
    bool recounting;
    uint32_t *holders; /* [blocks_count] */
    uint32_t *free; /* [blocks_count], a stack: the block freed last is still in cache */
    bool *kept;     /* [blocks_count] */
    struct queue_node *nodes; /* [blocks_count], of idle */
    struct queue idle;
};

struct block_pool *block_pool_create(uint32_t blocks_count)
{
    struct block_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return NULL;
    pool->blocks_count = blocks_count;
    pool->holders = calloc(blocks_count, sizeof *pool->holders);
    pool->free = calloc(blocks_count, sizeof *pool->free);
    pool->kept = calloc(blocks_count, sizeof *pool->kept);
    pool->nodes = calloc(blocks_count, sizeof *pool->nodes);
    if (pool->holders == NULL || pool->free == NULL || pool->kept == NULL ||
        pool->nodes == NULL) {
        block_pool_destroy(pool);
        return NULL;
    }
    block_pool_recount_begin(pool);
    block_pool_recount_end(pool);
    return pool;
}

void block_pool_destroy(struct block_pool *pool)
{
    if (pool == NULL)
        return;
    free(pool->nodes);
    free(pool->kept);
    free(pool->holders);
    free(pool->free);
    free(pool);
}

uint32_t block_pool_free_count(const struct block_pool *pool)
{
    return pool->free_count;
}

uint32_t block_pool_unheld_count(const struct block_pool *pool)
{
    return pool->free_count + pool->idle.count;
}

uint32_t block_pool_holders(const struct block_pool *pool, uint32_t block)
{
    INVARIANT(block < pool->blocks_count);
    return pool->holders[block];
}

uint32_t block_pool_take(struct block_pool *pool)
{
    INVARIANT(!pool->recounting);
    if (pool->free_count == 0)
        return BLOCK_NONE;
    uint32_t block = pool->free[--pool->free_count];
    INVARIANT(pool->holders[block] == 0);
    pool->holders[block] = 1;
    return block;
}

void block_pool_hold(struct block_pool *pool, uint32_t block)
{
    INVARIANT(block < pool->blocks_count);
    if (!pool->recounting && pool->holders[block] == 0)
        queue_remove(&pool->idle, block);
    pool->holders[block]++;
}

void block_pool_release(struct block_pool *pool, uint32_t block)
{
    INVARIANT(!pool->recounting);
    INVARIANT(block < pool->blocks_count && pool->holders[block] > 0);
    if (--pool->holders[block] > 0)
        return;
    if (pool->kept[block])
        queue_push(&pool->idle, block);
    else
        pool->free[pool->free_count++] = block;
}

void block_pool_keep(struct block_pool *pool, uint32_t block)
{
    INVARIANT(block < pool->blocks_count && !pool->kept[block]);
    INVARIANT(pool->recounting || pool->holders[block] > 0);
    pool->kept[block] = true;
}

void block_pool_discard(struct block_pool *pool, uint32_t block)
{
    INVARIANT(block < pool->blocks_count && pool->kept[block] && !pool->recounting);
    pool->kept[block] = false;
    if (pool->holders[block] > 0)
        return;
    queue_remove(&pool->idle, block);
    pool->free[pool->free_count++] = block;
}

bool block_pool_is_kept(const struct block_pool *pool, uint32_t block)
{
    INVARIANT(block < pool->blocks_count);
    return pool->kept[block];
}

const struct queue *block_pool_idle(const struct block_pool *pool)
{
    return &pool->idle;
}

void block_pool_sort_idle(struct block_pool *pool, queue_order *goes_before,
                          const void *context)
{
    queue_sort(&pool->idle, goes_before, context);
}

void block_pool_recount_begin(struct block_pool *pool)
{
    pool->recounting = true;
    pool->free_count = 0;
    queue_init(&pool->idle, pool->nodes);
    for (uint32_t block = 0; block < pool->blocks_count; block++) {
        pool->holders[block] = 0;
        pool->kept[block] = false;
        pool->nodes[block] =
            (struct queue_node){.next = QUEUE_END, .previous = QUEUE_END};
    }
}

void block_pool_recount_end(struct block_pool *pool)
{
    INVARIANT(pool->recounting);
    pool->recounting = false;
    for (uint32_t block = pool->blocks_count; block-- > 0;) {
        if (pool->holders[block] > 0)
            continue;
        if (pool->kept[block])
            queue_push(&pool->idle, block);
        else
            pool->free[pool->free_count++] = block;
    }
}

bool block_pool_check(const struct block_pool *pool)
{
    uint32_t held_count = 0;
    for (uint32_t block = 0; block < pool->blocks_count; block++) {
        bool is_held = pool->holders[block] > 0;
        held_count += is_held;
        if (queue_holds(&pool->idle, block) != (!is_held && pool->kept[block]))
            return false;
    }
    for (uint32_t i = 0; i < pool->free_count; i++)
        if (pool->holders[pool->free[i]] != 0 || pool->kept[pool->free[i]])
            return false;
    return pool->free_count + held_count + pool->idle.count == pool->blocks_count;
}
