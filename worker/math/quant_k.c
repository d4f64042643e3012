#include "worker/math/quant_variant.h"

/* The K formats: blocks of 256 values in sub-blocks of 16 or 32, whose small scales (and
 * minima) are multiples of the block's fp16 d (and dmin).
 *
 *   Q2_K  scales[16] q[64] d[2] dmin[2]             x = (d * s) * q - (dmin * m)
 *   Q3_K  high[32] q[64] scales[12] d[2]            x = (d * s) * q      s, q signed
 *   Q4_K  d[2] dmin[2] scales[12] q[128]            x = (d * s) * q - (dmin * m)
 *   Q5_K  d[2] dmin[2] scales[12] high[32] q[128]   x = (d * s) * q - (dmin * m)
 *   Q6_K  q[128] high[64] scales[16] d[2]           x = (d * s) * q      s, q signed
 *
 * Products are rounded in the order that the brackets show.
 */

#define VALUES          256
#define LANE            32 /* values that share one shift of the packed bytes */
#define SUB_BLOCK       16 /* values of one scale in Q2_K, Q3_K and Q6_K */
#define SIXBIT_BYTES    12 /* sixteen six-bit numbers */
#define HALVES          2
#define LANES_OF_A_HALF 4

/* Lanes are unpacked to bytes, widened, then scaled, in loops of their own: so the
 * compiler fills its widest registers in each. */
static inline void widen(const int8_t numbers[LANE], float *restrict out)
{
    for (int j = 0; j < LANE; j++)
        out[j] = (float)numbers[j];
}

/* Two sub-blocks with a scale each. */
static inline void scale_halves(const int8_t numbers[LANE], float first, float second,
                                float *restrict out)
{
    widen(numbers, out);
    for (int j = 0; j < SUB_BLOCK; j++)
        out[j] = first * out[j];
    for (int j = SUB_BLOCK; j < LANE; j++)
        out[j] = second * out[j];
}

/* Q2_K. Each half of the block has 32 bytes of q; lane l (0 to 3) is bits 2l and 2l+1 of
 * each. A scale's byte holds s in the low and m in the high four bits. */
static void q2_k_lane(const uint8_t *quants, int shift, const uint8_t scales[2], float d,
                      float dmin, float *restrict out)
{
    int8_t numbers[LANE];
    for (int j = 0; j < LANE; j++)
        numbers[j] = (int8_t)(quants[j] >> shift & 3);
    widen(numbers, out);
    for (int part = 0; part < LANE / SUB_BLOCK; part++) {
        float scale = d * (float)(scales[part] & 15);
        float minimum = dmin * (float)(scales[part] >> 4);
        for (int j = part * SUB_BLOCK; j < (part + 1) * SUB_BLOCK; j++)
            out[j] = scale * out[j] - minimum;
    }
}

QUANT_DECLARE(q2_k)
{
    enum { QUANTS = 16, D = 80, DMIN = 82, BYTES = 84 };
    for (; blocks_count > 0; blocks_count--, blocks += BYTES) {
        float d = quant_load_half(blocks + D);
        float dmin = quant_load_half(blocks + DMIN);
        for (int lane = 0; lane < HALVES * LANES_OF_A_HALF; lane++, out += LANE)
            q2_k_lane(blocks + QUANTS + lane / LANES_OF_A_HALF * LANE,
                      lane % LANES_OF_A_HALF * 2, blocks + 2 * lane, d, dmin, out);
    }
}

/* Q3_K's sixteen six-bit scales: four low bits of s and s + 8 share byte s (0 to 7), two
 * high bits of s, s + 4, s + 8 and s + 12 share byte 8 + s (0 to 3). They are biased
 * by 32.
 */
static void q3_k_scales(const uint8_t packed[SIXBIT_BYTES], int32_t scales[16])
{
    for (int s = 0; s < 16; s++) {
        int32_t low = packed[s % 8] >> (s / 8 * 4) & 15;
        int32_t high = packed[8 + s % 4] >> (s / 4 * 2) & 3;
        scales[s] = (low | high << 4) - 32;
    }
}

/* Lane l (0 to 7) takes its low two bits as in Q2_K; bit l of high[j] set means that 4 is
 * not subtracted. */
static void q3_k_lane(const uint8_t *quants, int shift, const uint8_t *high, int lane,
                      const int32_t scales[2], float d, float *restrict out)
{
    int8_t numbers[LANE];
    for (int j = 0; j < LANE; j++)
        numbers[j] =
            (int8_t)((quants[j] >> shift & 3) + ((high[j] >> lane & 1) << 2) - 4);
    scale_halves(numbers, d * (float)scales[0], d * (float)scales[1], out);
}

QUANT_DECLARE(q3_k)
{
    enum { QUANTS = 32, SCALES = 96, D = 108, BYTES = 110 };
    int32_t scales[16];
    for (; blocks_count > 0; blocks_count--, blocks += BYTES) {
        float d = quant_load_half(blocks + D);
        q3_k_scales(blocks + SCALES, scales);
        for (int lane = 0; lane < HALVES * LANES_OF_A_HALF; lane++, out += LANE)
            q3_k_lane(blocks + QUANTS + lane / LANES_OF_A_HALF * LANE,
                      lane % LANES_OF_A_HALF * 2, blocks, lane, scales + 2 * lane, d,
                      out);
    }
}

/* Eight six-bit scales and eight six-bit minima of Q4_K and Q5_K:
 *
 *   byte 0..3    scale 0..3 in bits 0-5; bits 4-5 of scale 4..7 in bits 6-7
 *   byte 4..7    the same for the minima
 *   byte 8..11   bits 0-3 of scale 4..7 in bits 0-3; of the minimum 4..7 in bits 4-7
 */
static void sixbit_pairs(const uint8_t packed[SIXBIT_BYTES], uint8_t scales[8],
                         uint8_t minima[8])
{
    for (int i = 0; i < 4; i++) {
        scales[i] = packed[i] & 63;
        minima[i] = packed[4 + i] & 63;
        scales[4 + i] = (uint8_t)((packed[8 + i] & 15) | (packed[i] >> 6 << 4));
        minima[4 + i] = (uint8_t)((packed[8 + i] >> 4) | (packed[4 + i] >> 6 << 4));
    }
}

/* Q4_K. 32 bytes of q hold lane 2i in their low and lane 2i + 1 in their high four bits.
 */
QUANT_DECLARE(q4_k)
{
    enum { DMIN = 2, SCALES = 4, QUANTS = 16, BYTES = 144 };
    uint8_t scales[8], minima[8];
    for (; blocks_count > 0; blocks_count--, blocks += BYTES) {
        float d = quant_load_half(blocks);
        float dmin = quant_load_half(blocks + DMIN);
        sixbit_pairs(blocks + SCALES, scales, minima);
        for (int lane = 0; lane < VALUES / LANE; lane += 2, out += 2 * LANE) {
            const uint8_t *quants = blocks + QUANTS + lane / 2 * LANE;
            float scale = d * (float)scales[lane],
                  next_scale = d * (float)scales[lane + 1];
            float minimum = dmin * (float)minima[lane];
            float next_minimum = dmin * (float)minima[lane + 1];
            for (int j = 0; j < LANE; j++)
                out[j] = scale * (float)(quants[j] & 15) - minimum;
            for (int j = 0; j < LANE; j++)
                out[LANE + j] = next_scale * (float)(quants[j] >> 4) - next_minimum;
        }
    }
}

/* Q5_K. As Q4_K; bit l of high[j] is the fifth bit of lane l's value j. */
QUANT_DECLARE(q5_k)
{
    enum { DMIN = 2, SCALES = 4, HIGH = 16, QUANTS = 48, BYTES = 176 };
    uint8_t scales[8], minima[8];
    int8_t numbers[LANE];
    for (; blocks_count > 0; blocks_count--, blocks += BYTES) {
        float d = quant_load_half(blocks);
        float dmin = quant_load_half(blocks + DMIN);
        sixbit_pairs(blocks + SCALES, scales, minima);
        for (int lane = 0; lane < VALUES / LANE; lane++, out += LANE) {
            const uint8_t *quants = blocks + QUANTS + lane / 2 * LANE;
            const uint8_t *high = blocks + HIGH;
            int shift = lane % 2 * 4;
            float scale = d * (float)scales[lane], minimum = dmin * (float)minima[lane];
            for (int j = 0; j < LANE; j++)
                numbers[j] =
                    (int8_t)((quants[j] >> shift & 15) | (high[j] >> lane & 1) << 4);
            for (int j = 0; j < LANE; j++)
                out[j] = scale * (float)numbers[j] - minimum;
        }
    }
}

/* Q6_K. Each half of the block has 64 bytes of q and 32 of high. Lane l (0 to 3) takes
 * four bits from q[32 * (l % 2) + j], the low ones for l < 2, and bits 2l, 2l+1 of
 * high[j]. */
static void q6_k_lane(const uint8_t *quants, int shift, const uint8_t *high,
                      int high_shift, const int8_t scales[2], float d,
                      float *restrict out)
{
    int8_t numbers[LANE];
    for (int j = 0; j < LANE; j++) {
        int number = (quants[j] >> shift & 15) | (high[j] >> high_shift & 3) << 4;
        numbers[j] = (int8_t)(number - 32);
    }
    scale_halves(numbers, d * (float)scales[0], d * (float)scales[1], out);
}

QUANT_DECLARE(q6_k)
{
    enum { HIGH = 128, SCALES = 192, D = 208, BYTES = 210 };
    for (; blocks_count > 0; blocks_count--, blocks += BYTES) {
        float d = quant_load_half(blocks + D);
        const int8_t *scales = (const int8_t *)blocks + SCALES;
        for (int lane = 0; lane < HALVES * LANES_OF_A_HALF; lane++, out += LANE) {
            int half = lane / LANES_OF_A_HALF, row = lane % LANES_OF_A_HALF;
            q6_k_lane(blocks + half * 64 + row % 2 * LANE, row / 2 * 4,
                      blocks + HIGH + half * LANE, row * 2, scales + 2 * lane, d, out);
        }
    }
}
