#include "worker/math/quant.h"

#include "common/base/invariant.h"
#include "common/gguf/gguf_type.h"
#include <stddef.h>

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

/* The last of the list is the widest. */
static const struct quant_variant *widest(void)
{
    const struct quant_variant *const *variant = quant_variants();
    while (variant[1])
        variant++;
    return *variant;
}

void quant_dequantize(uint32_t gguf_type, const void *blocks, uint64_t elements_count,
                      float *out)
{
    const struct gguf_type *type = gguf_type_find(gguf_type);
    INVARIANT(type != NULL);
    INVARIANT(elements_count % type->block_elements == 0);
    quant_blocks *dequantize = quant_find(widest(), gguf_type);
    INVARIANT(dequantize != NULL);
    dequantize(blocks, elements_count / type->block_elements, out);
}
