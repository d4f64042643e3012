#include "worker/math/half.h"
#include <criterion/criterion.h>
#include <math.h>

/* What the bits mean by IEEE 754, in arithmetic of doubles. */
static double meaning(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double magnitude = exponent == 0    ? ldexp(fraction, -24)
                       : exponent == 31 ? (fraction ? NAN : INFINITY)
                                        : ldexp(1024 + fraction, exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

Test(half, every_half_widens_to_its_meaning_and_back)
{
    for (uint32_t half = 0; half <= 0xFFFF; half++) {
        double wanted = meaning((uint16_t)half);
        float found = half_to_float((uint16_t)half);
        if (isnan(wanted)) {
            cr_assert(isnan(found), "%04x", half);
            cr_assert_eq(float_to_half(found), half | 0x0200, "%04x", half);
        } else {
            cr_assert_eq(found, wanted, "%04x", half);
            cr_assert_eq(!signbit(found), !signbit(wanted), "%04x", half);
            cr_assert_eq(float_to_half(found), half, "%04x", half);
        }
    }
}

/* Between each half and the next larger: the middle goes to the even one, what lies
 * beside the middle to the nearer one. After the largest comes infinity, as if it were
 * 2^16. */
Test(half, narrowing_rounds_to_nearest_even)
{
    for (uint32_t half = 0; half < 0x7C00; half++) {
        double low = meaning((uint16_t)half);
        double high = half == 0x7BFF ? 65536.0 : meaning((uint16_t)(half + 1));
        float middle = (float)((low + high) / 2);
        uint32_t even = half & 1 ? half + 1 : half;
        cr_assert_eq(float_to_half(middle), even, "%04x", half);
        cr_assert_eq(float_to_half(-middle), even | 0x8000, "%04x", half);
        cr_assert_eq(float_to_half(nextafterf(middle, 0.0f)), half, "%04x", half);
        cr_assert_eq(float_to_half(nextafterf(middle, INFINITY)), half + 1, "%04x", half);
    }
    cr_assert_eq(float_to_half(1e30f), 0x7C00);
    cr_assert_eq(float_to_half(-INFINITY), 0xFC00);
    cr_assert_eq(float_to_half(float_of_bits(1)), 0);
    cr_assert_eq(float_to_half(float_of_bits(0x7F800001)), 0x7E00);
}

Test(half, bf16_is_the_upper_half_of_a_float)
{
    cr_assert_eq(bf16_to_float(0x3F80), 1.0f);
    cr_assert_eq(bf16_to_float(0x0001), ldexpf(1, -133));
    for (uint32_t bf16 = 0; bf16 <= 0xFFFF; bf16++) {
        float wide = bf16_to_float((uint16_t)bf16);
        uint32_t back = isnan(wide) ? bf16 | 0x0040 : bf16;
        cr_assert_eq(float_to_bf16(wide), back, "%04x", bf16);
    }
}

Test(half, bf16_rounds_to_nearest_even)
{
    cr_assert_eq(float_to_bf16(float_of_bits(0x3F808000)), 0x3F80);
    cr_assert_eq(float_to_bf16(float_of_bits(0x3F818000)), 0x3F82);
    cr_assert_eq(float_to_bf16(float_of_bits(0x3F808001)), 0x3F81);
    cr_assert_eq(float_to_bf16(float_of_bits(0x3F817FFF)), 0x3F81);
    cr_assert_eq(float_to_bf16(float_of_bits(0x7F7FFFFF)), 0x7F80);
    cr_assert_eq(float_to_bf16(float_of_bits(0x7F800001)), 0x7FC0);
}
