/* gguf_type.h - the tensor formats that ropeway knows: one table row a format.
 *
 * A row of a tensor is a run of blocks; a block holds block_elements values in
 * block_bytes bytes. What a block's bytes mean is worker/math/quant's matter: to add a
 * format, add a row here and its function there.
 * Source:  the GGUF specification and the block layouts of ggml-common.h, as data.
 */
#ifndef ROPEWAY_COMMON_GGUF_GGUF_TYPE_H
#define ROPEWAY_COMMON_GGUF_GGUF_TYPE_H

#include <stddef.h>
#include <stdint.h>

/* name, the same for functions, number in files (enum ggml_type of the specification),
 * elements and bytes of a block: its fp16 scales and minima, packed sub-block scales,
 * then the quants. */
#define GGUF_TYPE_TABLE(X)                                                               \
    X(F32, f32, 0, 1, 4)                                                                 \
    X(F16, f16, 1, 1, 2)                                                                 \
    X(Q4_0, q4_0, 2, 32, 2 + 16)                                                         \
    X(Q4_1, q4_1, 3, 32, 2 + 2 + 16)                                                     \
    X(Q5_0, q5_0, 6, 32, 2 + 4 + 16)                                                     \
    X(Q5_1, q5_1, 7, 32, 2 + 2 + 4 + 16)                                                 \
    X(Q8_0, q8_0, 8, 32, 2 + 32)                                                         \
    X(Q2_K, q2_k, 10, 256, 16 + 64 + 2 + 2)                                              \
    X(Q3_K, q3_k, 11, 256, 32 + 64 + 12 + 2)                                             \
    X(Q4_K, q4_k, 12, 256, 2 + 2 + 12 + 128)                                             \
    X(Q5_K, q5_k, 13, 256, 2 + 2 + 12 + 32 + 128)                                        \
    X(Q6_K, q6_k, 14, 256, 128 + 64 + 16 + 2)                                            \
    X(BF16, bf16, 30, 1, 2)

enum gguf_tensor_type {
#define GGUF_TYPE_ENUM(name, function, number, elements, bytes)                          \
    GGUF_TYPE_##name = (number),
    GGUF_TYPE_TABLE(GGUF_TYPE_ENUM)
#undef GGUF_TYPE_ENUM
};

struct gguf_type {
    uint32_t number; /* enum gguf_tensor_type */
    const char *name;
    uint32_t block_elements;
    uint32_t block_bytes;
};

/* NULL for a format that ropeway does not read. */
const struct gguf_type *gguf_type_find(uint32_t number);

/* For names_join. */
const char *gguf_type_name_at(size_t index);

/* Every row, in order of number. */
const struct gguf_type *gguf_type_rows(uint32_t *count);

#endif
