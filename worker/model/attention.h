/* attention.h - what a row's query heads gather from the rows before it.
 *
 * Layer:   worker/model (math and kv_view only).
 * Bytes:   a row's result depends on its query, its position and the K and V rows that it
 *          sees. Weighted values are summed within groups of ATTENTION_GROUP absolute
 *          positions, in ascending order, and the groups' sums in ascending order; block
 *          size, chunking and batch mates have no part in it.
 */
#ifndef ROPEWAY_WORKER_MODEL_ATTENTION_H
#define ROPEWAY_WORKER_MODEL_ATTENTION_H

#include "worker/model/kv_view.h"
#include <stddef.h>

/* Short sums before long ones: error grows with the group and with the groups' number. */
#define ATTENTION_GROUP 64

/* Neighbouring rows of one sequence share each K and V row's widening. */
#define ATTENTION_ROWS_MAX 4

struct attention_parameters {
    uint32_t layer;
    uint32_t window; /* 0: all */
    uint32_t query_heads_count, kv_heads_count, key_length;
    float scale;
    float softcap; /* 0: none */
};

/* Floats of scratch for sequences of up to context_length. */
size_t attention_scratch_floats(const struct attention_parameters *parameters,
                                uint32_t context_length);

/* For rows_count <= ATTENTION_ROWS_MAX rows of one sequence, at position, position + 1,
 * ..., and the query heads that share kv_head: queries and out are
 * [row][query_heads_count][key_length], scratch floats are for context_length. */
void attention_run(const struct attention_parameters *parameters,
                   const struct kv_view *view, uint32_t kv_head_index, uint32_t position,
                   uint32_t rows_count, const float *queries, float *out, float *scratch,
                   uint32_t context_length);

#endif
