/* quant_variant.h - names for sources that are compiled once for each instruction set.
 *
 * CMake defines QUANT_VARIANT (portable, avx2) and the compiler's flags; each object then
 * exports its functions under names of its own, and quant_formats.c exports the table.
 */
#ifndef ROPEWAY_WORKER_MATH_QUANT_VARIANT_H
#define ROPEWAY_WORKER_MATH_QUANT_VARIANT_H

#include "common/gguf/gguf_type.h"
#include "worker/math/half.h"
#include "worker/math/quant.h"

#define QUANT_JOIN(name, variant)   name##_##variant
#define QUANT_EXPAND(name, variant) QUANT_JOIN(name, variant)
#define QUANT_NAME(name)            QUANT_EXPAND(name, QUANT_VARIANT)

#define QUANT_DECLARE(name)                                                              \
    void QUANT_NAME(quant_##name)(const uint8_t *blocks, uint64_t blocks_count,          \
                                  float *restrict out)

#define QUANT_DECLARE_ROW(type, name, number, elements, bytes) QUANT_DECLARE(name);
GGUF_TYPE_TABLE(QUANT_DECLARE_ROW)
#undef QUANT_DECLARE_ROW

/* Blocks may lie at any address, so numbers of more than a byte are copied out. GGUF and
 * every processor that we build for are little-endian. */
static inline uint16_t quant_load_u16(const uint8_t *bytes)
{
    uint16_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static inline uint32_t quant_load_u32(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static inline float quant_load_half(const uint8_t *bytes)
{
    return half_to_float(quant_load_u16(bytes));
}

#endif
