#include "scheduler/geometry.h"

#include <string.h>

/* Ended requests whose answers can still be asked for. */
#define KEPT_RECORDS 256u

/* A worker started beside a dying one finds a place, and more may be added by hand. */
#define WORKERS_MAX_LEAST 4u

/* One running, one being prepared. */
#define STEPS_PER_WORKER 2u

/* A minute of a busy server's decisions, in 512 KiB. */
#define FLIGHT_EVENTS 16384u

/* What the heap reserves for a usual request: tokens up to a usual length and 16 KiB of
 * client_blob and others. Longer ones share the same heap, and a full heap is answered as
 * an overload. */
#define USUAL_TOKENS_MAX  8192u
#define USUAL_OTHER_BYTES 16384u

/* Requests of the greatest size (a whole context with all its logprobs) that fit at any
 * time beside the usual ones. */
#define GREATEST_REQUESTS 4u

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The general path computes in fp32 throughout, so its cache is fp32, too. */
static uint32_t element_bytes(const struct config *config)
{
    if (strcmp(config->kv_cache_dtype, "auto") == 0)
        return strcmp(config->kernels, "general") == 0 ? 4 : 2;
    return strcmp(config->kv_cache_dtype, "fp32") == 0 ? 4 : 2;
}

static enum status plan_blocks(const struct config *config,
                               const struct model_shape *shape, struct geometry *geometry,
                               struct fault *fault)
{
    geometry->kv_element_bytes = element_bytes(config);
    geometry->block_size = config->block_size;
    geometry->block_bytes =
        model_shape_block_bytes(shape, config->block_size, geometry->kv_element_bytes);
    uint64_t blocks_count = config->num_blocks != 0
                                ? config->num_blocks
                                : config->kv_cache_memory_bytes / geometry->block_bytes;
    if (blocks_count == 0)
        return fault_set(
            fault, STATUS_INVALID, "kv-cache-memory",
            "--kv-cache-memory %llu bytes does not hold one KV block of %llu "
            "bytes: give more",
            (unsigned long long)config->kv_cache_memory_bytes,
            (unsigned long long)geometry->block_bytes);
    /* Block numbers stay below BLOCK_NONE. */
    if (blocks_count >= BLOCK_NONE)
        return fault_set(fault, STATUS_INVALID, "kv-cache-memory",
                         "--kv-cache-memory makes %llu KV blocks, more than can be "
                         "numbered: give less or a larger --block-size",
                         (unsigned long long)blocks_count);
    geometry->blocks_count = (uint32_t)blocks_count;
    return STATUS_OK;
}

static enum status plan_context(const struct config *config,
                                const struct model_shape *shape,
                                struct geometry *geometry, struct fault *fault)
{
    uint64_t pool_tokens = (uint64_t)geometry->blocks_count * geometry->block_size;
    uint32_t pool_max = pool_tokens < UINT32_MAX ? (uint32_t)pool_tokens : UINT32_MAX;
    if (config->max_model_len == 0) {
        geometry->context_length = smaller(shape->context_length, pool_max);
        return STATUS_OK;
    }
    if (config->max_model_len > shape->context_length)
        return fault_set(fault, STATUS_INVALID, "max-model-len",
                         "--max-model-len %u is beyond the model's context of %u tokens",
                         config->max_model_len, shape->context_length);
    if (config->max_model_len > pool_max)
        return fault_set(fault, STATUS_INVALID, "max-model-len",
                         "--max-model-len %u needs more than the KV cache's %u tokens: "
                         "give more --kv-cache-memory",
                         config->max_model_len, pool_max);
    geometry->context_length = config->max_model_len;
    return STATUS_OK;
}

static uint32_t pages(uint64_t bytes)
{
    return (uint32_t)((bytes + LAYOUT_PAGE_BYTES - 1) / LAYOUT_PAGE_BYTES);
}

static void plan_records(const struct config *config, struct geometry *geometry)
{
    uint32_t live_count = config->max_num_seqs + config->max_waiting;
    uint64_t usual_tokens = smaller(geometry->context_length, USUAL_TOKENS_MAX);
    uint64_t block_bytes = sizeof(uint32_t) + sizeof(struct block_digest);
    uint64_t usual_bytes = 2 * usual_tokens * block_bytes / geometry->block_size +
                           usual_tokens * sizeof(uint32_t) + USUAL_OTHER_BYTES;
    uint64_t greatest_bytes =
        (uint64_t)geometry->context_length *
            (sizeof(uint32_t) + (1 + TOP_LOGPROBS_MAX) * sizeof(struct logprob)) +
        (geometry->context_length / geometry->block_size + 2ull) * block_bytes +
        CLIENT_BLOB_BYTES_MAX + GRAMMAR_BYTES_MAX +
        LOGIT_BIAS_MAX * sizeof(struct logit_bias) + STOP_TOKENS_MAX * sizeof(uint32_t);
    geometry->records_count = live_count + KEPT_RECORDS;
    geometry->heap_pages_count = live_count * pages(usual_bytes) +
                                 GREATEST_REQUESTS * pages(greatest_bytes) + KEPT_RECORDS;
}

enum status geometry_plan(const struct config *config, const struct model_shape *shape,
                          struct geometry *geometry, struct fault *fault)
{
    memset(geometry, 0, sizeof *geometry);
    enum status status = plan_blocks(config, shape, geometry, fault);
    if (status == STATUS_OK)
        status = plan_context(config, shape, geometry, fault);
    if (status != STATUS_OK)
        return status;
    plan_records(config, geometry);
    memcpy(geometry->model_identity, shape->identity, sizeof geometry->model_identity);
    geometry->layers_count = shape->layers_count;
    geometry->kv_heads_count = shape->kv_heads_count;
    geometry->key_length = shape->key_length;
    geometry->vocabulary_count = shape->vocabulary_count;
    geometry->step_rows_max = config->max_num_batched_tokens;
    geometry->step_sequences_max = config->max_num_seqs;
    geometry->workers_max = larger(config->workers, WORKERS_MAX_LEAST);
    geometry->steps_count = STEPS_PER_WORKER * geometry->workers_max;
    geometry->flight_events_count = FLIGHT_EVENTS;
    uint64_t size_bytes;
    return layout_control_bytes(geometry, &size_bytes, fault);
}
