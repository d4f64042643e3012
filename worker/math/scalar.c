#include "worker/math/scalar.h"

/* pi/2 in three parts of at most 26 bits and a rest: exact products up to 2^27. */
#define HALF_PI_HIGH   0x1.921fb50000000p+0
#define HALF_PI_MIDDLE 0x1.110b460000000p-26
#define HALF_PI_LOW    0x1.1a62633145c07p-54
#define TWO_OVER_PI    0x1.45f306dc9c883p-1

/* Horner's rule over terms[0] + terms[1] x + ... */
static double polynomial(const double *terms, int terms_count, double x)
{
    double sum = terms[terms_count - 1];
    for (int i = terms_count - 2; i >= 0; i--)
        sum = sum * x + terms[i];
    return sum;
}

double scalar_log(double x)
{
    static const double terms[] = {/* 1/(2n+1) from n = 1; s^2 <= 0.0295 */
                                   1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
                                   1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
    /* x = mantissa * 2^power with the mantissa in [sqrt(1/2), sqrt(2)): the exponent is
     * read as if sqrt(1/2) were where a power of two begins. */
    uint64_t offset = scalar_bits(x) - scalar_bits(0x1.6a09e667f3bcdp-1);
    int64_t power = (int64_t)offset >> 52;
    double mantissa = scalar_from_bits(scalar_bits(x) - ((uint64_t)power << 52));
    double s = (mantissa - 1.0) / (mantissa + 1.0);
    double square = s * s;
    double series = polynomial(terms, sizeof terms / sizeof terms[0], square);
    double rest = 2.0 * (s * square * series) + (double)power * SCALAR_LN2_LOW_DOUBLE;
    return (double)power * SCALAR_LN2_HIGH_DOUBLE + (2.0 * s + rest);
}

void scalar_sine_cosine(double x, double *sine, double *cosine)
{
    static const double sine_terms[] = {1.0,
                                        -1.0 / 6,
                                        1.0 / 120,
                                        -1.0 / 5040,
                                        1.0 / 362880,
                                        -1.0 / 39916800,
                                        1.0 / 6227020800,
                                        -1.0 / 1307674368000,
                                        1.0 / 355687428096000};
    static const double cosine_terms[] = {1.0,
                                          -1.0 / 2,
                                          1.0 / 24,
                                          -1.0 / 720,
                                          1.0 / 40320,
                                          -1.0 / 3628800,
                                          1.0 / 479001600,
                                          -1.0 / 87178291200,
                                          1.0 / 20922789888000};
    double shifted = x * TWO_OVER_PI + SCALAR_ROUND_DOUBLE;
    double multiple = shifted - SCALAR_ROUND_DOUBLE;
    uint64_t quadrant = (scalar_bits(shifted) - scalar_bits(SCALAR_ROUND_DOUBLE)) & 3;
    double r = ((x - multiple * HALF_PI_HIGH) - multiple * HALF_PI_MIDDLE) -
               multiple * HALF_PI_LOW;
    double s = polynomial(sine_terms, 9, r * r) * r;
    double c = polynomial(cosine_terms, 9, r * r);
    double turned_sine = quadrant & 1 ? c : s;
    double turned_cosine = quadrant & 1 ? s : c;
    *sine = quadrant & 2 ? -turned_sine : turned_sine;
    *cosine = quadrant == 1 || quadrant == 2 ? -turned_cosine : turned_cosine;
}

double scalar_power(double base, double exponent)
{
    return scalar_exp_double(exponent * scalar_log(base));
}

float scalar_tanh(float x)
{
    /* Near 0 the quotient below cancels; there x - x^3/3 is right to the last bit. */
    if (x > -0.001f && x < 0.001f)
        return (float)(x - (double)x * x * x / 3.0);
    double e = scalar_exp_double(2.0 * x);
    return x > 20.0f ? 1.0f : (float)((e - 1.0) / (e + 1.0));
}
