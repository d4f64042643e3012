#include "worker/math/quant.h"

#include "common/base/invariant.h"
#include "common/base/rng.h"
#include "common/gguf/gguf_type.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

extern const struct quant_variant quant_variant_portable;

#if defined(__x86_64__)
extern const struct quant_variant quant_variant_avx2;
static const struct quant_variant *const with_avx2[] = {&quant_variant_portable,
                                                        &quant_variant_avx2, NULL};
#endif
static const struct quant_variant *const portable[] = {&quant_variant_portable, NULL};

const struct quant_variant *const *quant_variants(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        return with_avx2;
#endif
    return portable;
}

quant_blocks *quant_find(const struct quant_variant *variant, uint32_t gguf_type)
{
    const struct quant_format *format = variant->formats;
    while (format->dequantize && format->gguf_type != gguf_type)
        format++;
    return format->dequantize;
}

static const struct quant_variant *chosen = &quant_variant_portable;

/* Enough for every lane of a vector register; no block is larger than 256 values. */
#define CHECK_BLOCKS       8
#define CHECK_BYTES_MAX    (CHECK_BLOCKS * 256)
#define CHECK_ELEMENTS_MAX (CHECK_BLOCKS * 256)

/* Any bytes are blocks of any format; the same ones on every machine. */
static void fill_blocks(uint8_t *bytes, uint32_t gguf_type)
{
    const uint32_t key[2] = {gguf_type, 0};
    for (uint32_t at = 0; at < CHECK_BYTES_MAX; at += 16) {
        const uint32_t counter[4] = {at, 0, 0, 0};
        uint32_t random[4];
        rng_philox(counter, key, random);
        memcpy(bytes + at, random, sizeof random);
    }
}

/* Bit for bit, but that one NaN is as good as another: a scale may be one. */
static bool same_values(const float *a, const float *b, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint32_t a_bits, b_bits;
        memcpy(&a_bits, &a[i], sizeof a_bits);
        memcpy(&b_bits, &b[i], sizeof b_bits);
        if (a_bits != b_bits && !(isnan(a[i]) && isnan(b[i])))
            return false;
    }
    return true;
}

static bool agrees(const struct quant_variant *variant, const struct quant_format *format)
{
    uint8_t blocks[CHECK_BYTES_MAX];
    float right[CHECK_ELEMENTS_MAX], found[CHECK_ELEMENTS_MAX];
    const struct gguf_type *type = gguf_type_find(format->gguf_type);
    INVARIANT(type->block_bytes * CHECK_BLOCKS <= CHECK_BYTES_MAX);
    INVARIANT(type->block_elements * CHECK_BLOCKS <= CHECK_ELEMENTS_MAX);
    fill_blocks(blocks, format->gguf_type);
    format->dequantize(blocks, CHECK_BLOCKS, right);
    quant_find(variant, format->gguf_type)(blocks, CHECK_BLOCKS, found);
    return same_values(right, found, type->block_elements * CHECK_BLOCKS);
}

const char *quant_choose(void)
{
    for (const struct quant_variant *const *variant = quant_variants(); *variant;
         variant++) {
        const struct quant_format *format = quant_variant_portable.formats;
        while (format->dequantize && agrees(*variant, format))
            format++;
        if (!format->dequantize)
            chosen = *variant;
    }
    return chosen->name;
}

void quant_dequantize(uint32_t gguf_type, const void *blocks, uint64_t elements_count,
                      float *out)
{
    const struct gguf_type *type = gguf_type_find(gguf_type);
    INVARIANT(type != NULL);
    INVARIANT(elements_count % type->block_elements == 0);
    quant_blocks *dequantize = quant_find(chosen, gguf_type);
    INVARIANT(dequantize != NULL);
    dequantize(blocks, elements_count / type->block_elements, out);
}
