/* block_pool.h - hands out KV blocks by number and counts who holds them.
 *
 * Layer:   scheduler/core (pure: no I/O, no clock, no allocation after create).
 * Thread:  the scheduler's only thread; calls need no lock.
 * Holds:   for every block b, holders(b) == 0 exactly when b is on the free list, and
 *          free + held == total. block_pool_check() proves it.
 * Rebuild: the authority is the records' block tables: recount_begin forgets everything,
 *          a hold for each entry of each table follows, recount_end lists the rest as
 *          free.
 */
#ifndef ROPEWAY_SCHEDULER_CORE_BLOCK_POOL_H
#define ROPEWAY_SCHEDULER_CORE_BLOCK_POOL_H

#include "proto/kv_layout.h"

struct block_pool;

/* All blocks free; NULL when memory is out. */
struct block_pool *block_pool_create(uint32_t blocks_count);
void block_pool_destroy(struct block_pool *pool);

uint32_t block_pool_free_count(const struct block_pool *pool);
uint32_t block_pool_holders(const struct block_pool *pool, uint32_t block);

/* Gives the caller one hold on a free block, or BLOCK_NONE when all are held. */
uint32_t block_pool_take(struct block_pool *pool);
/* One more hold on a block that is held already, or during a recount. */
void block_pool_hold(struct block_pool *pool, uint32_t block);
/* Ends one hold; the last one's end frees the block. */
void block_pool_release(struct block_pool *pool, uint32_t block);

void block_pool_recount_begin(struct block_pool *pool);
void block_pool_recount_end(struct block_pool *pool);

/* False when what Holds promises is not so. */
bool block_pool_check(const struct block_pool *pool);

#endif
