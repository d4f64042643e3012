#include "worker/math/quant_variant.h"

/* Formats of single values and of blocks of 32: one fp16 scale d, in the _1 formats also
 * an fp16 minimum m.
 *
 *   Q8_0  d[2] q[32]            x = q * d                q signed
 *   Q4_0  d[2] q[16]            x = d * (q - 8)
 *   Q4_1  d[2] m[2] q[16]       x = d * q + m
 *   Q5_0  d[2] h[4] q[16]       x = d * (q - 16)
 *   Q5_1  d[2] m[2] h[4] q[16]  x = d * q + m
 *
 * Byte j of q holds value j in its low four bits and value j + 16 in its high four; bit j
 * of h is the fifth bit of value j.
 */

#define VALUES 32
#define HALF   16 /* values in the low, and in the high, halves of the bytes */

QUANT_DECLARE(f32)
{
    memcpy(out, blocks, blocks_count * sizeof *out);
}

/* Sixteen bits at any address, in a form that the vectoriser sees through. */
struct any_half {
    uint16_t bits;
} __attribute__((packed, may_alias));

QUANT_DECLARE(f16)
{
    const struct any_half *halves = (const struct any_half *)blocks;
    for (uint64_t i = 0; i < blocks_count; i++)
        out[i] = half_to_float(halves[i].bits);
}

QUANT_DECLARE(bf16)
{
    const struct any_half *halves = (const struct any_half *)blocks;
    for (uint64_t i = 0; i < blocks_count; i++)
        out[i] = bf16_to_float(halves[i].bits);
}

QUANT_DECLARE(q8_0)
{
    for (; blocks_count > 0; blocks_count--, blocks += 2 + VALUES, out += VALUES) {
        float scale = quant_load_half(blocks);
        const int8_t *quants = (const int8_t *)blocks + 2;
        for (int j = 0; j < VALUES; j++)
            out[j] = (float)quants[j] * scale;
    }
}

/* The loops over 16 stay loops (unroll 1): unrolled in full, they would be scalar code.
 */
#define KEEP_LOOP _Pragma("GCC unroll 1")

/* The fifth bits as bytes that are 16 or 0. */
static inline void spread_fifth_bits(const uint8_t *fifth_bits, uint8_t high[VALUES])
{
    uint32_t bits = quant_load_u32(fifth_bits);
    for (int j = 0; j < VALUES; j++)
        high[j] = (uint8_t)((bits >> j & 1) << 4);
}

QUANT_DECLARE(q4_0)
{
    for (; blocks_count > 0; blocks_count--, blocks += 2 + HALF, out += VALUES) {
        float scale = quant_load_half(blocks);
        const uint8_t *quants = blocks + 2;
        KEEP_LOOP
        for (int j = 0; j < HALF; j++)
            out[j] = scale * (float)((quants[j] & 15) - 8);
        KEEP_LOOP
        for (int j = 0; j < HALF; j++)
            out[HALF + j] = scale * (float)((quants[j] >> 4) - 8);
    }
}

QUANT_DECLARE(q4_1)
{
    for (; blocks_count > 0; blocks_count--, blocks += 4 + HALF, out += VALUES) {
        float scale = quant_load_half(blocks), minimum = quant_load_half(blocks + 2);
        const uint8_t *quants = blocks + 4;
        KEEP_LOOP
        for (int j = 0; j < HALF; j++)
            out[j] = scale * (float)(quants[j] & 15) + minimum;
        KEEP_LOOP
        for (int j = 0; j < HALF; j++)
            out[HALF + j] = scale * (float)(quants[j] >> 4) + minimum;
    }
}

QUANT_DECLARE(q5_0)
{
    uint8_t high[VALUES];
    for (; blocks_count > 0; blocks_count--, blocks += 6 + HALF, out += VALUES) {
        float scale = quant_load_half(blocks);
        const uint8_t *quants = blocks + 6;
        spread_fifth_bits(blocks + 2, high);
        KEEP_LOOP
        for (int j = 0; j < HALF; j++)
            out[j] = scale * (float)(((quants[j] & 15) | high[j]) - 16);
        KEEP_LOOP
        for (int j = 0; j < HALF; j++)
            out[HALF + j] = scale * (float)(((quants[j] >> 4) | high[HALF + j]) - 16);
    }
}

QUANT_DECLARE(q5_1)
{
    uint8_t high[VALUES];
    for (; blocks_count > 0; blocks_count--, blocks += 8 + HALF, out += VALUES) {
        float scale = quant_load_half(blocks), minimum = quant_load_half(blocks + 2);
        const uint8_t *quants = blocks + 8;
        spread_fifth_bits(blocks + 4, high);
        KEEP_LOOP
        for (int j = 0; j < HALF; j++)
            out[j] = scale * (float)((quants[j] & 15) | high[j]) + minimum;
        KEEP_LOOP
        for (int j = 0; j < HALF; j++)
            out[HALF + j] = scale * (float)((quants[j] >> 4) | high[HALF + j]) + minimum;
    }
}
