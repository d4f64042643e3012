/* scalar.h - exp, log, sin, cos, tanh and what is made of them, without libm.
 *
 * Layer:   worker/math (pure).
 * Why own: libm picks its code by processor, so its last bits differ between machines.
 *          Here only + - * / and integer moves of the exponent are used, each rounded
 *          once, in the order written: the same bits wherever IEEE arithmetic is right.
 * How:     argument reduction by a rounded multiple (Cody and Waite, "Software Manual for
 *          the Elementary Functions", 1980), then the Taylor series, cut where the next
 *          term is below the rounding error.
 * Errors:  none; NaN gives NaN. Accuracy stands at each function, tests measure it.
 */
#ifndef ROPEWAY_WORKER_MATH_SCALAR_H
#define ROPEWAY_WORKER_MATH_SCALAR_H

#include "worker/math/half.h"

/* 2^power for -126 <= power <= 127, by writing the exponent. */
static inline float scalar_power_of_two(int32_t power)
{
    return float_of_bits((uint32_t)(power + 127) << 23);
}

/* Adding 1.5 * 2^23 leaves no room for a fraction: the sum is rounded to an integer that
 * stands in its low bits. */
#define SCALAR_ROUND_FLOAT 12582912.0f

/* ln 2 in two parts; the first has 9 significant bits, so that its product with an
 * exponent is exact. */
#define SCALAR_LN2_HIGH 0.693359375f
#define SCALAR_LN2_LOW  -2.12194440e-4f
#define SCALAR_LOG2_E   1.44269504f

/* Below the lower bound exp is 0, over the upper one infinite, so clamping there changes
 * no result. */
#define SCALAR_EXP_LEAST -104.0f
#define SCALAR_EXP_MOST  89.0f

/* e^x within 2 units in the last place; 0 and infinity where float ends. Without
 * branches, so that loops over it become vector code. */
static inline float scalar_exp(float x)
{
    x = x < SCALAR_EXP_LEAST ? SCALAR_EXP_LEAST : x;
    x = x > SCALAR_EXP_MOST ? SCALAR_EXP_MOST : x;
    float shifted = x * SCALAR_LOG2_E + SCALAR_ROUND_FLOAT;
    float multiple = shifted - SCALAR_ROUND_FLOAT;
    float r = (x - multiple * SCALAR_LN2_HIGH) - multiple * SCALAR_LN2_LOW;
    /* |r| <= ln(2)/2: the term r^8/8! is below 2^-27. */
    float series = 1.0f / 5040;
    series = series * r + 1.0f / 720;
    series = series * r + 1.0f / 120;
    series = series * r + 1.0f / 24;
    series = series * r + 1.0f / 6;
    series = series * r + 1.0f / 2;
    series = (series * r) * r + r;
    /* Two factors, since 2^128 and 2^-150 are no floats themselves. */
    int32_t power = (int32_t)(bits_of_float(shifted) - bits_of_float(SCALAR_ROUND_FLOAT));
    int32_t half = power >> 1;
    return ((1.0f + series) * scalar_power_of_two(half)) *
           scalar_power_of_two(power - half);
}

/* x / (1 + e^-x), SwiGLU's. Within 4 units in the last place. */
static inline float scalar_silu(float x)
{
    return x / (1.0f + scalar_exp(-x));
}

/* x/2 (1 + tanh u) with u = sqrt(2/pi) (x + 0.044715 x^3), which is x / (1 + e^-2u). */
static inline float scalar_gelu_tanh(float x)
{
    float u = 0.797884561f * (x + 0.044715f * x * x * x);
    return x / (1.0f + scalar_exp(-2.0f * u));
}

/* --- in double: RoPE tables, log-softmax, softcaps ---------------------------------- */

/* All within 2 units in the last place of double, but: sine and cosine, absolutely within
 * 1e-15 for |x| < 2^27. log needs a positive finite argument. */

static inline uint64_t scalar_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double scalar_from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define SCALAR_ROUND_DOUBLE 6755399441055744.0 /* 1.5 * 2^52, as SCALAR_ROUND_FLOAT */

/* ln 2: the first part has 32 significant bits, its product with an exponent is exact. */
#define SCALAR_LN2_HIGH_DOUBLE 0x1.62e42fee00000p-1
#define SCALAR_LN2_LOW_DOUBLE  0x1.a39ef35793c76p-33
#define SCALAR_LOG2_E_DOUBLE   0x1.71547652b82fep+0

/* Below the lower bound exp is 0, over the upper one infinite. */
#define SCALAR_EXP_LEAST_DOUBLE -746.0
#define SCALAR_EXP_MOST_DOUBLE  710.0

static inline double scalar_exp_double(double x)
{
    x = x < SCALAR_EXP_LEAST_DOUBLE ? SCALAR_EXP_LEAST_DOUBLE : x;
    x = x > SCALAR_EXP_MOST_DOUBLE ? SCALAR_EXP_MOST_DOUBLE : x;
    double shifted = x * SCALAR_LOG2_E_DOUBLE + SCALAR_ROUND_DOUBLE;
    double multiple = shifted - SCALAR_ROUND_DOUBLE;
    double r = (x - multiple * SCALAR_LN2_HIGH_DOUBLE) - multiple * SCALAR_LN2_LOW_DOUBLE;
    /* |r| <= ln(2)/2: the term r^14/14! is below 2^-57. */
    double series = 1.0 / 6227020800;
    series = series * r + 1.0 / 479001600;
    series = series * r + 1.0 / 39916800;
    series = series * r + 1.0 / 3628800;
    series = series * r + 1.0 / 362880;
    series = series * r + 1.0 / 40320;
    series = series * r + 1.0 / 5040;
    series = series * r + 1.0 / 720;
    series = series * r + 1.0 / 120;
    series = series * r + 1.0 / 24;
    series = series * r + 1.0 / 6;
    series = series * r + 1.0 / 2;
    series = (series * r) * r + r;
    /* Two factors of 2^half and 2^(power - half); 2048 more keeps the power above 0,
     * since SSE2 shifts only unsigned numbers of 64 bits. 1023 is the exponent's bias. */
    uint64_t power = scalar_bits(shifted) - scalar_bits(SCALAR_ROUND_DOUBLE) + 2048;
    uint64_t half = power >> 1;
    return ((1.0 + series) * scalar_from_bits((half - 1024 + 1023) << 52)) *
           scalar_from_bits((power - half - 1024 + 1023) << 52);
}

double scalar_log(double x);
void scalar_sine_cosine(double x, double *sine, double *cosine);

/* base^exponent for a positive base, relatively within 1e-14 for the small exponents of
 * rotation frequencies. */
double scalar_power(double base, double exponent);

/* Correctly rounded to float but for rare ties. */
float scalar_tanh(float x);

#endif
