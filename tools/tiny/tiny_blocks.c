#include "tools/tiny/tiny_blocks.h"

#include "common/base/invariant.h"
#include "common/base/rng.h"
#include "common/gguf/gguf_type.h"
#include "worker/math/half.h"

/* How to give one format's random quants mean 0 and a known spread. Layouts: see
 * worker/math/quant_32.c and quant_k.c. */
struct recipe {
    uint32_t gguf_type;
    int scale_at;        /* of the fp16 scale in a block */
    int minimum_at;      /* of the fp16 minimum, or -1 */
    float minimum_ratio; /* minimum / scale that makes the mean 0 */
    float quants_spread; /* of a random quant times a middling sub-block scale */
};

/* A uniform number of n steps has the spread sqrt((n * n - 1) / 12): 16 steps 4.61. K
 * formats multiply it by sub-block scales, whose middle is the last column's second
 * factor. */
static const struct recipe recipes[] = {
    {GGUF_TYPE_Q8_0, 0, -1, 0.0f, 73.9f},
    {GGUF_TYPE_Q4_0, 0, -1, 0.0f, 4.61f},
    {GGUF_TYPE_Q4_1, 0, 2, -7.5f, 4.61f},
    {GGUF_TYPE_Q5_0, 0, -1, 0.0f, 9.23f},
    {GGUF_TYPE_Q5_1, 0, 2, -15.5f, 9.23f},
    {GGUF_TYPE_Q2_K, 80, 82, 1.5f, 1.12f * 11.5f},
    {GGUF_TYPE_Q3_K, 108, -1, 0.0f, 2.29f * 24.0f},
    {GGUF_TYPE_Q4_K, 0, 2, 7.5f, 4.61f * 47.5f},
    {GGUF_TYPE_Q5_K, 0, 2, 15.5f, 9.23f * 47.5f},
    {GGUF_TYPE_Q6_K, 208, -1, 0.0f, 18.5f * 95.5f},
};

uint32_t tiny_random_next(struct tiny_random *random)
{
    const uint32_t counter[4] = {random->drawn / 4, random->stream, 0, 0};
    const uint32_t key[2] = {(uint32_t)random->seed, (uint32_t)(random->seed >> 32)};
    uint32_t out[4];
    rng_philox(counter, key, out);
    return out[random->drawn++ % 4];
}

/* Uniform between -1 and 1. */
static float uniform(struct tiny_random *random)
{
    return (float)(int32_t)tiny_random_next(random) * 0x1p-31f;
}

/* Q4_K and Q5_K: scales of 32 to 63, and minima equal to them. The upper two bits of each
 * then are 10 or 11, packed as quant_k.c draws it. */
static void fill_equal_pairs(uint8_t packed[12], struct tiny_random *random)
{
    for (int i = 0; i < 4; i++) {
        uint32_t bits = tiny_random_next(random);
        uint8_t first = 32 + (bits & 31), second = 32 + (bits >> 5 & 31);
        packed[i] = packed[4 + i] = (uint8_t)(first | second >> 4 << 6);
        packed[8 + i] = (uint8_t)((second & 15) | (second & 15) << 4);
    }
}

/* Keeps a K block's sub-block scales within a factor of two: 8 to 15 with equal minima,
 * 16 to 32 of either sign, 32 to 63 with equal minima, 64 to 127 of either sign. */
static void fill_scales(uint32_t gguf_type, uint8_t *block, struct tiny_random *random)
{
    switch (gguf_type) {
    case GGUF_TYPE_Q2_K:
        for (int i = 0; i < 16; i++)
            block[i] = (uint8_t)((8 + (block[i] & 7)) * 0x11);
        break;
    case GGUF_TYPE_Q3_K:
        /* Their high two bits are 00 or 11: -32 to -17, or 16 to 31. */
        for (int i = 0; i < 4; i++)
            block[104 + i] = (uint8_t)((block[104 + i] & 0x55) * 3);
        break;
    case GGUF_TYPE_Q4_K:
    case GGUF_TYPE_Q5_K:
        fill_equal_pairs(block + 4, random);
        break;
    case GGUF_TYPE_Q6_K:
        for (int i = 0; i < 16; i++)
            block[192 + i] = (uint8_t)(block[192 + i] & 1 ? 64 + (block[192 + i] >> 2)
                                                          : -64 - (block[192 + i] >> 2));
        break;
    default:
        break;
    }
}

static void put_half(uint8_t *block, int at, float value)
{
    uint16_t half = float_to_half(value);
    memcpy(block + at, &half, sizeof half);
}

/* The block's scale has a random sign: it takes away the mean of quants that are not
 * symmetric. */
static void fill_block(const struct recipe *recipe, uint8_t *block, uint32_t block_bytes,
                       float spread, struct tiny_random *random)
{
    for (uint32_t i = 0; i < block_bytes; i++)
        block[i] = (uint8_t)tiny_random_next(random);
    fill_scales(recipe->gguf_type, block, random);
    float sign = tiny_random_next(random) & 1 ? 1.0f : -1.0f;
    float scale = sign * spread / recipe->quants_spread;
    put_half(block, recipe->scale_at, scale);
    if (recipe->minimum_at >= 0)
        put_half(block, recipe->minimum_at, scale * recipe->minimum_ratio);
}

/* F32, F16 and BF16. */
static void fill_number(uint32_t gguf_type, uint8_t *bytes, float value)
{
    uint16_t half =
        gguf_type == GGUF_TYPE_F16 ? float_to_half(value) : float_to_bf16(value);
    if (gguf_type == GGUF_TYPE_F32)
        memcpy(bytes, &value, sizeof value);
    else
        memcpy(bytes, &half, sizeof half);
}

/* A uniform number between -a and a has the spread a / sqrt(3). */
#define SQUARE_ROOT_OF_3 1.7320508f

void tiny_blocks_append(struct buffer *data, uint32_t gguf_type, uint64_t values_count,
                        float spread, struct tiny_random *random)
{
    const struct gguf_type *type = gguf_type_find(gguf_type);
    const struct recipe *recipe = NULL;
    for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++)
        if (recipes[i].gguf_type == gguf_type)
            recipe = &recipes[i];
    INVARIANT(type && values_count % type->block_elements == 0);
    for (uint64_t i = 0; i < values_count / type->block_elements; i++) {
        uint8_t *block = (uint8_t *)buffer_extend(data, type->block_bytes);
        INVARIANT(block != NULL);
        if (recipe)
            fill_block(recipe, block, type->block_bytes, spread, random);
        else
            fill_number(gguf_type, block, uniform(random) * SQUARE_ROOT_OF_3 * spread);
    }
}
