#include "common/gguf/gguf_type.h"

#include <stddef.h>

/* Bytes of a block: its fp16 scales and minima, packed sub-block scales, then the quants.
 */
static const struct gguf_type rows[] = {
    {GGUF_TYPE_F32, "F32", 1, 4},
    {GGUF_TYPE_F16, "F16", 1, 2},
    {GGUF_TYPE_Q4_0, "Q4_0", 32, 2 + 16},
    {GGUF_TYPE_Q4_1, "Q4_1", 32, 2 + 2 + 16},
    {GGUF_TYPE_Q5_0, "Q5_0", 32, 2 + 4 + 16},
    {GGUF_TYPE_Q5_1, "Q5_1", 32, 2 + 2 + 4 + 16},
    {GGUF_TYPE_Q8_0, "Q8_0", 32, 2 + 32},
    {GGUF_TYPE_Q2_K, "Q2_K", 256, 16 + 64 + 2 + 2},
    {GGUF_TYPE_Q3_K, "Q3_K", 256, 32 + 64 + 12 + 2},
    {GGUF_TYPE_Q4_K, "Q4_K", 256, 2 + 2 + 12 + 128},
    {GGUF_TYPE_Q5_K, "Q5_K", 256, 2 + 2 + 12 + 32 + 128},
    {GGUF_TYPE_Q6_K, "Q6_K", 256, 128 + 64 + 16 + 2},
    {GGUF_TYPE_BF16, "BF16", 1, 2},
};

#define ROWS_COUNT (sizeof rows / sizeof rows[0])

const struct gguf_type *gguf_type_find(uint32_t number)
{
    for (size_t row = 0; row < ROWS_COUNT; row++)
        if (rows[row].number == number)
            return &rows[row];
    return NULL;
}

const struct gguf_type *gguf_type_rows(uint32_t *count)
{
    *count = ROWS_COUNT;
    return rows;
}
