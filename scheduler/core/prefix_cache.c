#include "scheduler/core/prefix_cache.h"

#include "common/base/invariant.h"
#include <stdlib.h>
#include <string.h>

/* Fibonacci hashing: 2^64 over the golden ratio, odd. */
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

struct prefix_cache {
    const struct control *control;
    const struct geometry *geometry;
    struct block_pool *pool;
    uint64_t secret;
    uint32_t buckets_mask; /* buckets are a power of two, at most half of them in use */
    uint32_t count;
    uint32_t *buckets; /* block number, or BLOCK_NONE */
};

struct prefix_cache *prefix_cache_create(const struct control *control,
                                         struct block_pool *pool, uint64_t secret)
{
    const struct geometry *geometry = &control->header->geometry;
    uint32_t buckets_count = 2;
    while (buckets_count / 2 < geometry->blocks_count && buckets_count <= UINT32_MAX / 2)
        buckets_count *= 2;
    struct prefix_cache *cache = calloc(1, sizeof *cache);
    uint32_t *buckets = malloc(buckets_count * sizeof *buckets);
    if (cache == NULL || buckets == NULL) {
        free(cache);
        free(buckets);
        return NULL;
    }
    *cache = (struct prefix_cache){.control = control,
                                   .geometry = geometry,
                                   .pool = pool,
                                   .secret = secret,
                                   .buckets_mask = buckets_count - 1,
                                   .buckets = buckets};
    memset(buckets, 0xff, buckets_count * sizeof *buckets); /* BLOCK_NONE */
    return cache;
}

void prefix_cache_destroy(struct prefix_cache *cache)
{
    if (cache == NULL)
        return;
    free(cache->buckets);
    free(cache);
}

static uint32_t home(const struct prefix_cache *cache, const struct block_digest *digest)
{
    uint64_t value;
    memcpy(&value, digest->bytes, sizeof value);
    return (uint32_t)(((value ^ cache->secret) * HASH_FACTOR) >> 32) &
           cache->buckets_mask;
}

static const struct block_digest *digest_of(const struct prefix_cache *cache,
                                            uint32_t block)
{
    return &cache->control->blocks[block].digest;
}

static bool same_digest(const struct block_digest *a, const struct block_digest *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

static uint32_t *tokens_of(const struct prefix_cache *cache, uint32_t block)
{
    return cache->control->block_tokens + (size_t)block * cache->geometry->block_size;
}

/* The bucket that holds the name's block, or the empty one where it would go. */
static uint32_t bucket_of(const struct prefix_cache *cache,
                          const struct block_digest *digest)
{
    uint32_t bucket = home(cache, digest);
    while (cache->buckets[bucket] != BLOCK_NONE &&
           !same_digest(digest_of(cache, cache->buckets[bucket]), digest))
        bucket = (bucket + 1) & cache->buckets_mask;
    return bucket;
}

static void index_remove(struct prefix_cache *cache, uint32_t block)
{
    uint32_t mask = cache->buckets_mask;
    uint32_t hole = bucket_of(cache, digest_of(cache, block));
    INVARIANT(cache->buckets[hole] == block);
    /* Whoever probed past the hole moves back into it, so that no probe stops early. */
    for (uint32_t at = (hole + 1) & mask; cache->buckets[at] != BLOCK_NONE;
         at = (at + 1) & mask) {
        uint32_t wanted = home(cache, digest_of(cache, cache->buckets[at]));
        if (((at - wanted) & mask) >= ((at - hole) & mask)) {
            cache->buckets[hole] = cache->buckets[at];
            hole = at;
        }
    }
    cache->buckets[hole] = BLOCK_NONE;
    cache->count--;
}

uint32_t prefix_cache_find(const struct prefix_cache *cache,
                           const struct block_digest *digest, const uint32_t *tokens)
{
    uint32_t block = cache->buckets[bucket_of(cache, digest)];
    size_t tokens_bytes = cache->geometry->block_size * sizeof *tokens;
    if (block == BLOCK_NONE || memcmp(tokens_of(cache, block), tokens, tokens_bytes) != 0)
        return BLOCK_NONE;
    return block;
}

/* Out of the index first, by the digest that it has there; then not full any more. */
static void forget(struct prefix_cache *cache, uint32_t block)
{
    struct block_record *record = &cache->control->blocks[block];
    index_remove(cache, block);
    record->fill = 0;
    atomic_thread_fence(memory_order_release);
    memset(record->digest.bytes, 0, sizeof record->digest.bytes);
    record->parent = BLOCK_NONE;
    record->last_used_ns = 0;
    block_pool_discard(cache->pool, block);
}

uint32_t prefix_cache_take(struct prefix_cache *cache)
{
    uint32_t oldest = block_pool_idle(cache->pool)->head;
    if (block_pool_free_count(cache->pool) == 0 && oldest != QUEUE_END)
        forget(cache, oldest);
    return block_pool_take(cache->pool);
}

void prefix_cache_add(struct prefix_cache *cache, uint32_t block, uint32_t parent,
                      const struct block_digest *digest, const uint32_t *tokens)
{
    struct block_record *record = &cache->control->blocks[block];
    uint32_t bucket = bucket_of(cache, digest);
    if (cache->buckets[bucket] != BLOCK_NONE)
        return;
    INVARIANT(!block_pool_is_kept(cache->pool, block));
    memcpy(tokens_of(cache, block), tokens, cache->geometry->block_size * sizeof *tokens);
    record->digest = *digest;
    record->parent = parent;
    record->last_used_ns = 0;
    atomic_thread_fence(memory_order_release);
    record->fill = cache->geometry->block_size;
    cache->buckets[bucket] = block;
    cache->count++;
    block_pool_keep(cache->pool, block);
}

void prefix_cache_release(struct prefix_cache *cache, uint32_t block, uint64_t now_ns)
{
    if (block_pool_is_kept(cache->pool, block))
        cache->control->blocks[block].last_used_ns = now_ns;
    block_pool_release(cache->pool, block);
}

/* What must hold of a block record that claims to be cached, before it is believed. */
static const char *record_fault(const struct prefix_cache *cache, uint32_t block)
{
    const struct block_record *record = &cache->control->blocks[block];
    if (record->fill != cache->geometry->block_size)
        return "its fill is neither none nor the whole block";
    if (record->parent != BLOCK_NONE && record->parent >= cache->geometry->blocks_count)
        return "its parent names no block";
    for (uint32_t i = 0; i < cache->geometry->block_size; i++)
        if (tokens_of(cache, block)[i] >= cache->geometry->vocabulary_count)
            return "a token of it is outside the vocabulary";
    if (cache->buckets[bucket_of(cache, &record->digest)] != BLOCK_NONE)
        return "its digest is another block's, too";
    return NULL;
}

enum status prefix_cache_read(struct prefix_cache *cache, struct fault *fault)
{
    memset(cache->buckets, 0xff,
           ((size_t)cache->buckets_mask + 1) * sizeof *cache->buckets);
    cache->count = 0;
    for (uint32_t block = 0; block < cache->geometry->blocks_count; block++) {
        if (cache->control->blocks[block].fill == 0)
            continue;
        const char *what = record_fault(cache, block);
        if (what != NULL)
            return fault_set(fault, STATUS_CORRUPT, "", "block record %u is corrupt: %s",
                             block, what);
        cache->buckets[bucket_of(cache, digest_of(cache, block))] = block;
        cache->count++;
        block_pool_keep(cache->pool, block);
    }
    return STATUS_OK;
}

static bool idle_before(const void *context, uint32_t a, uint32_t b)
{
    const struct prefix_cache *cache = context;
    return cache->control->blocks[a].last_used_ns <
           cache->control->blocks[b].last_used_ns;
}

void prefix_cache_sort(struct prefix_cache *cache)
{
    block_pool_sort_idle(cache->pool, idle_before, cache);
}

static bool idle_in_order(const struct prefix_cache *cache)
{
    const struct queue *idle = block_pool_idle(cache->pool);
    for (uint32_t i = idle->head; i != QUEUE_END; i = queue_next(idle, i)) {
        uint32_t next = queue_next(idle, i);
        if (next != QUEUE_END && idle_before(cache, next, i))
            return false;
    }
    return true;
}

bool prefix_cache_check(const struct prefix_cache *cache)
{
    uint32_t full_count = 0;
    for (uint32_t block = 0; block < cache->geometry->blocks_count; block++) {
        bool is_full = cache->control->blocks[block].fill == cache->geometry->block_size;
        full_count += is_full;
        if (is_full != block_pool_is_kept(cache->pool, block))
            return false;
        if (is_full && cache->buckets[bucket_of(cache, digest_of(cache, block))] != block)
            return false;
    }
    return full_count == cache->count && idle_in_order(cache);
}
