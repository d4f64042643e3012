/* kv_view.h - one sequence's K and V rows, found through its block table.
 *
 * Layer:   worker/model. Layout: proto/kv_layout.h.
 * Rows:    fp16 (rounded to nearest even) or fp32, by the geometry.
 */
#ifndef ROPEWAY_WORKER_MODEL_KV_VIEW_H
#define ROPEWAY_WORKER_MODEL_KV_VIEW_H

#include "common/base/invariant.h"
#include "proto/kv_layout.h"
#include "worker/math/half.h"

enum kv_part { KV_KEYS, KV_VALUES };

struct kv_view {
    unsigned char *base; /* of the KV segment */
    const struct geometry *geometry;
    const uint32_t *block_table;
    uint32_t blocks_count; /* entries of the table in use */
};

/* Bytes of one element's row of one head. */
static inline uint64_t kv_head_bytes(const struct geometry *geometry)
{
    return (uint64_t)geometry->key_length * geometry->kv_element_bytes;
}

/* Where a position's row of one key head lies. The table is another process's: an entry
 * that it does not have, or that is no block, is a broken scheduler. */
static inline unsigned char *kv_head(const struct kv_view *view, uint32_t layer,
                                     enum kv_part part, uint32_t position, uint32_t head)
{
    const struct geometry *geometry = view->geometry;
    uint32_t entry = position / geometry->block_size;
    INVARIANT(entry < view->blocks_count);
    uint32_t block = view->block_table[entry];
    INVARIANT(block < geometry->blocks_count);
    uint64_t row = position % geometry->block_size;
    return view->base + kv_rows_offset(geometry, block, layer, part) +
           (row * geometry->kv_heads_count + head) * kv_head_bytes(geometry);
}

/* Writes a position's whole row: kv_heads_count * key_length floats. */
static inline void kv_write(const struct kv_view *view, uint32_t layer, enum kv_part part,
                            uint32_t position, const float *row)
{
    const struct geometry *geometry = view->geometry;
    unsigned char *bytes = kv_head(view, layer, part, position, 0);
    uint64_t count = (uint64_t)geometry->kv_heads_count * geometry->key_length;
    if (geometry->kv_element_bytes == sizeof(float)) {
        memcpy(bytes, row, count * sizeof(float));
        return;
    }
    uint16_t *halves = (uint16_t *)(void *)bytes;
    for (uint64_t i = 0; i < count; i++)
        halves[i] = float_to_half(row[i]);
}

/* One head's row as floats: where it lies if it is fp32, else widened into scratch. */
static inline const float *kv_read(const struct kv_view *view, uint32_t layer,
                                   enum kv_part part, uint32_t position, uint32_t head,
                                   float *scratch)
{
    const struct geometry *geometry = view->geometry;
    const unsigned char *bytes = kv_head(view, layer, part, position, head);
    if (geometry->kv_element_bytes == sizeof(float))
        return (const float *)(const void *)bytes;
    const uint16_t *halves = (const uint16_t *)(const void *)bytes;
    for (uint32_t i = 0; i < geometry->key_length; i++)
        scratch[i] = half_to_float(halves[i]);
    return scratch;
}

#endif
