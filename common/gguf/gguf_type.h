/* gguf_type.h - the tensor formats that ropeway knows: one table row a format.
 *
 * A row of a tensor is a run of blocks; a block holds block_elements values in
 * block_bytes bytes. What a block's bytes mean is worker/math/quant's matter. Source: the
 * GGUF specification and the block layouts of ggml-common.h, as data.
 */
#ifndef ROPEWAY_COMMON_GGUF_GGUF_TYPE_H
#define ROPEWAY_COMMON_GGUF_GGUF_TYPE_H

#include <stdint.h>

/* Numbers of the file format: enum ggml_type of the specification. */
enum gguf_tensor_type {
    GGUF_TYPE_F32 = 0,
    GGUF_TYPE_F16 = 1,
    GGUF_TYPE_Q4_0 = 2,
    GGUF_TYPE_Q4_1 = 3,
    GGUF_TYPE_Q5_0 = 6,
    GGUF_TYPE_Q5_1 = 7,
    GGUF_TYPE_Q8_0 = 8,
    GGUF_TYPE_Q2_K = 10,
    GGUF_TYPE_Q3_K = 11,
    GGUF_TYPE_Q4_K = 12,
    GGUF_TYPE_Q5_K = 13,
    GGUF_TYPE_Q6_K = 14,
    GGUF_TYPE_BF16 = 30
};

struct gguf_type {
    uint32_t number; /* enum gguf_tensor_type */
    const char *name;
    uint32_t block_elements;
    uint32_t block_bytes;
};

/* NULL for a format that ropeway does not read. */
const struct gguf_type *gguf_type_find(uint32_t number);

/* Every row, in order of number. */
const struct gguf_type *gguf_type_rows(uint32_t *count);

#endif
