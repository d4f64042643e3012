/* quant.h - blocks of GGUF tensor formats to fp32.
 *
 * Layer:     worker/math (pure).
 * Exact:     integers are unpacked exactly, and each value is then at most two products
 *            and one difference or sum in the order that the format's file states, never
 *            fused (-ffp-contract=off); so every variant gives the same bits, and they
 *            are those of the Python package gguf.
 * Variants:  the same sources compiled once for each instruction set. The processor and
 *            a comparison with portable decide which one quant_dequantize uses.
 */
#ifndef ROPEWAY_WORKER_MATH_QUANT_H
#define ROPEWAY_WORKER_MATH_QUANT_H

#include <stdint.h>

/* Chooses the widest variant that gives portable's bits on this machine, for every
 * format, and returns its name. Until then, and where others differ, portable is used.
 * Called once, before any thread calls quant_dequantize. */
const char *quant_choose(void);

/* Widens elements_count values, a multiple of the format's block, from blocks (any
 * alignment) to out. gguf_type is one of common/gguf/gguf_type.h's table. */
void quant_dequantize(uint32_t gguf_type, const void *blocks, uint64_t elements_count,
                      float *out);

/* A run of whole blocks of one format. */
typedef void quant_blocks(const uint8_t *blocks, uint64_t blocks_count, float *out);

struct quant_format {
    uint32_t gguf_type;
    quant_blocks *dequantize;
};

/* One instruction set's functions, one row a format, ended by a row without function. */
struct quant_variant {
    const char *name;
    const struct quant_format *formats;
};

/* The variants that this processor can run, portable first, NULL after the last. */
const struct quant_variant *const *quant_variants(void);

/* NULL for a format that the variant has no row for. */
quant_blocks *quant_find(const struct quant_variant *variant, uint32_t gguf_type);

#endif
