/* half.h - fp16 and bf16 to and from fp32, by integer moves alone.
 *
 * Layer:    worker/math (pure, no libm, no conversion instructions, so every processor
 *           gives the same bits).
 * Rules:    narrowing rounds to nearest, ties to even; denormals are kept both ways and
 *           the code works with FTZ and DAZ in any state; overflow gives infinity; a NaN
 *           stays a NaN (widening keeps its payload, narrowing makes it quiet).
 * Formats:  fp16 is IEEE 754 binary16 (1 sign, 5 exponent, 10 fraction bits); bf16 is the
 *           upper half of an fp32.
 */
#ifndef ROPEWAY_WORKER_MATH_HALF_H
#define ROPEWAY_WORKER_MATH_HALF_H

#include <stdint.h>
#include <string.h>

#define HALF_SIGN         0x8000u
#define FLOAT_SIGN        0x80000000u
#define FLOAT_INFINITY    0x7F800000u
#define FLOAT_QUIET_NAN   0x00400000u
#define HALF_INFINITY     0x7C00u
#define HALF_QUIET_NAN    0x0200u
#define FRACTION_SHIFT    13           /* 23 fraction bits of fp32 less 10 of fp16 */
#define EXPONENT_REBIAS   (112u << 23) /* fp32's bias 127 less fp16's 15 */
#define HALF_NORMAL_LEAST (113u << 23) /* 2^-14 as fp32 bits */
#define HALF_PAST_LARGEST (143u << 23) /* 2^16 as fp32 bits */

static inline float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Selects instead of branches, so that loops over it vectorise. */
static inline float half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & HALF_SIGN) << 16;
    uint32_t magnitude = (uint32_t)(half & 0x7FFFu) << FRACTION_SHIFT;
    uint32_t normal = magnitude + EXPONENT_REBIAS;
    /* A denormal's fraction under the exponent of 2^-14 is 2^-14 too large, exactly. */
    uint32_t denormal = bits_of_float(float_of_bits(magnitude + HALF_NORMAL_LEAST) -
                                      float_of_bits(HALF_NORMAL_LEAST));
    uint32_t special = magnitude | FLOAT_INFINITY;
    uint32_t bits = magnitude < ((uint32_t)0x0400 << FRACTION_SHIFT) ? denormal : normal;
    bits = magnitude >= (HALF_INFINITY << FRACTION_SHIFT) ? special : bits;
    return float_of_bits(bits | sign);
}

static inline uint16_t float_to_half(float value)
{
    uint32_t bits = bits_of_float(value);
    uint32_t sign = (bits & FLOAT_SIGN) >> 16;
    uint32_t magnitude = bits & ~FLOAT_SIGN;
    /* Adding 0.5 puts the fraction of a value below 2^-14 at the sum's low bits, where
     * the addition itself rounds it to a multiple of 2^-24, ties to even. */
    uint32_t denormal =
        bits_of_float(float_of_bits(magnitude) + 0.5f) - bits_of_float(0.5f);
    uint32_t odd = (magnitude >> FRACTION_SHIFT) & 1;
    uint32_t normal = (magnitude - EXPONENT_REBIAS + 0x0FFF + odd) >> FRACTION_SHIFT;
    uint32_t special =
        magnitude > FLOAT_INFINITY
            ? (HALF_INFINITY | HALF_QUIET_NAN | ((magnitude >> FRACTION_SHIFT) & 0x03FFu))
            : HALF_INFINITY;
    uint32_t half = magnitude < HALF_NORMAL_LEAST ? denormal : normal;
    half = magnitude >= HALF_PAST_LARGEST ? special : half;
    return (uint16_t)(half | sign);
}

static inline float bf16_to_float(uint16_t bf16)
{
    return float_of_bits((uint32_t)bf16 << 16);
}

static inline uint16_t float_to_bf16(float value)
{
    uint32_t bits = bits_of_float(value);
    uint32_t rounded = bits + 0x7FFF + ((bits >> 16) & 1);
    uint32_t quiet = bits | FLOAT_QUIET_NAN;
    uint32_t magnitude = bits & ~FLOAT_SIGN;
    return (uint16_t)((magnitude > FLOAT_INFINITY ? quiet : rounded) >> 16);
}

#endif
