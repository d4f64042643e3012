/* prefix_cache.h - finds computed KV blocks by name, and gives up old ones for new ones.
 *
 * Layer:   scheduler/core (pure: no I/O, no clock, no allocation after create).
 * Holds:   the index has a block exactly while its block record is full (fill == block
 *          size), under that record's digest; and exactly these blocks the pool keeps.
 *          A name has one block: another computed under the same name stays uncached.
 * Order:   a block that nobody holds is given up when none is free, the one whose last
 *          holder left first being first. Its children stay: their names tell all that
 *          came before, so they are found again, rightly, once the parent is computed
 *          anew, wherever.
 * Rebuild: the authority is the block records and block tokens in shared memory.
 * Open addressing as in record_index.h, keyed with a secret, since clients choose tokens.
 */
#ifndef ROPEWAY_SCHEDULER_CORE_PREFIX_CACHE_H
#define ROPEWAY_SCHEDULER_CORE_PREFIX_CACHE_H

#include "scheduler/core/block_pool.h"

struct prefix_cache;

/* control and pool are borrowed and outlive the cache. NULL when memory is out. */
struct prefix_cache *prefix_cache_create(const struct control *control,
                                         struct block_pool *pool, uint64_t secret);
void prefix_cache_destroy(struct prefix_cache *cache);

/* The cached block of that name, if its tokens are these, too; or BLOCK_NONE. */
uint32_t prefix_cache_find(const struct prefix_cache *cache,
                           const struct block_digest *digest, const uint32_t *tokens);

/* Gives one hold on a block of no contents, at the cost of the one idle longest where
 * none is free; BLOCK_NONE when all are held. */
uint32_t prefix_cache_take(struct prefix_cache *cache);

/* A held block, whose rows are computed and committed, may be found from now on; nothing
 * when its name has a block already. */
void prefix_cache_add(struct prefix_cache *cache, uint32_t block, uint32_t parent,
                      const struct block_digest *digest, const uint32_t *tokens);

/* Ends one hold. */
void prefix_cache_release(struct prefix_cache *cache, uint32_t block, uint64_t now_ns);

/* Between the pool's recount_begin and recount_end, and after them. STATUS_CORRUPT names
 * the block record and what is wrong with it. */
enum status prefix_cache_read(struct prefix_cache *cache, struct fault *fault);
void prefix_cache_sort(struct prefix_cache *cache);

/* False when what Holds promises is not so, or idle blocks are out of order. */
bool prefix_cache_check(const struct prefix_cache *cache);

#endif
