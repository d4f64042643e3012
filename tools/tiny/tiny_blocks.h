/* tiny_blocks.h - random weights of every tensor format, the same for the same seed.
 *
 * The quants are random bits; scales (and minima) are chosen so that the weights have
 * mean 0 and the spread asked for. So every bit pattern of a format occurs, and no
 * quantiser is needed.
 */
#ifndef ROPEWAY_TOOLS_TINY_TINY_BLOCKS_H
#define ROPEWAY_TOOLS_TINY_TINY_BLOCKS_H

#include "common/base/buffer.h"
#include <stdint.h>

/* Random words of one stream of one seed. */
struct tiny_random {
    uint64_t seed;
    uint32_t stream;
    uint32_t drawn;
};
uint32_t tiny_random_next(struct tiny_random *random);

/* Appends values_count weights, a multiple of the format's block, whose standard
 * deviation is spread (0: all zero). */
void tiny_blocks_append(struct buffer *data, uint32_t gguf_type, uint64_t values_count,
                        float spread, struct tiny_random *random);

#endif
