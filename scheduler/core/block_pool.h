/* block_pool.h - hands out KV blocks by number and counts who holds them.
 *
 * A block is free, held, or idle: kept for what it holds though nobody holds it now.
 *
 * Layer:   scheduler/core (pure: no I/O, no clock, no allocation after create).
 * Thread:  the scheduler's only thread; calls need no lock.
 * Holds:   for every block b, holders(b) == 0 exactly when b is on the free list or,
 *          where it is kept, among the idle, and free + held + idle == total.
 *          block_pool_check() proves it.
 * Rebuild: the authority is the records' block tables, and the block records of which
 *          are kept: recount_begin forgets everything, a hold for each entry of each
 *          table and a keep for each kept block follow, recount_end lists the rest.
 */
#ifndef ROPEWAY_SCHEDULER_CORE_BLOCK_POOL_H
#define ROPEWAY_SCHEDULER_CORE_BLOCK_POOL_H

#include "proto/kv_layout.h"
#include "scheduler/core/queue.h"

struct block_pool;

/* All blocks free; NULL when memory is out. */
struct block_pool *block_pool_create(uint32_t blocks_count);
void block_pool_destroy(struct block_pool *pool);

uint32_t block_pool_free_count(const struct block_pool *pool);
/* Free and idle: what may be held before anybody lets go. */
uint32_t block_pool_unheld_count(const struct block_pool *pool);
uint32_t block_pool_holders(const struct block_pool *pool, uint32_t block);

/* Gives the caller one hold on a free block, or BLOCK_NONE when none is free. */
uint32_t block_pool_take(struct block_pool *pool);
/* One more hold on a block that is held or idle already, or during a recount. */
void block_pool_hold(struct block_pool *pool, uint32_t block);
/* Ends one hold; the last one's end frees the block, or leaves it idle if it is kept. */
void block_pool_release(struct block_pool *pool, uint32_t block);

/* A held block, or during a recount any, is kept from now on. */
void block_pool_keep(struct block_pool *pool, uint32_t block);
/* It is not kept any more, and free if nobody holds it. */
void block_pool_discard(struct block_pool *pool, uint32_t block);
bool block_pool_is_kept(const struct block_pool *pool, uint32_t block);
/* The idle ones, the longest idle first. */
const struct queue *block_pool_idle(const struct block_pool *pool);
/* Puts them in another order, as a recount must, which does not know when each became so.
 */
void block_pool_sort_idle(struct block_pool *pool, queue_order *goes_before,
                          const void *context);

void block_pool_recount_begin(struct block_pool *pool);
void block_pool_recount_end(struct block_pool *pool);

/* False when what Holds promises is not so. */
bool block_pool_check(const struct block_pool *pool);

#endif
