/* Against libm in a wider type: dense ranges, and where float ends. */
#include "worker/math/float_environment.h"
#include "worker/math/rope.h"
#include "worker/math/scalar.h"
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

/* Distance in units of the last place of the right float. */
static double float_units(float got, double right)
{
    float nearest = (float)right;
    float step = nextafterf(fabsf(nearest), INFINITY) - fabsf(nearest);
    return fabs(got - right) / step;
}

static double double_units(double got, double right)
{
    double step = nextafter(fabs(right), INFINITY) - fabs(right);
    return fabs(got - right) / step;
}

Test(scalar, exp_is_within_two_units_from_smallest_to_largest)
{
    double worst = 0;
    for (int i = -1030000; i < 887000; i++) {
        double x = i * 1e-4;
        double units = float_units(scalar_exp((float)x), exp((double)(float)x));
        worst = units > worst ? units : worst;
    }
    cr_assert_lt(worst, 2.0, "worst %.3f", worst);
}

Test(scalar, exp_ends_in_zero_and_infinity_and_keeps_nan)
{
    cr_assert_eq(scalar_exp(0.0f), 1.0f);
    cr_assert_eq(scalar_exp(-200.0f), 0.0f);
    cr_assert_eq(scalar_exp(-INFINITY), 0.0f);
    cr_assert_eq(scalar_exp(100.0f), INFINITY);
    cr_assert_eq(scalar_exp(INFINITY), INFINITY);
    cr_assert(isnan(scalar_exp(NAN)));
    cr_assert_eq(scalar_exp(-103.9f), 0x1p-149f); /* the least denormal */
}

Test(scalar, silu_and_gelu_are_near_their_definitions)
{
    double worst_silu = 0, worst_gelu = 0;
    for (int i = -20000; i < 20000; i++) {
        double x = (float)i * 1e-3f;
        double silu = float_units(scalar_silu((float)x), x / (1 + exp(-x)));
        /* The definition's 1 + tanh cancels for negative x: there this form is right. */
        double u = sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
        double gelu = fabs(scalar_gelu_tanh((float)x) - x / (1 + exp(-2 * u)));
        worst_silu = silu > worst_silu ? silu : worst_silu;
        worst_gelu = gelu > worst_gelu ? gelu : worst_gelu;
    }
    cr_assert_lt(worst_silu, 4.0, "worst %.3f", worst_silu);
    cr_assert_lt(worst_gelu, 2e-6, "worst %.3g", worst_gelu);
}

Test(scalar, double_exp_and_log_are_within_two_units)
{
    double worst_exp = 0, worst_log = 0;
    for (int i = -190000; i < 190000; i++) {
        double x = i * 0.0037;
        double units = double_units(scalar_exp_double(x), exp(x));
        worst_exp = units > worst_exp ? units : worst_exp;
    }
    for (int i = 0; i < 1000000; i++) {
        double x = exp(-14.0 + i * 3.5e-5); /* about 1e-6 to 1e9 */
        double units = double_units(scalar_log(x), log(x));
        worst_log = units > worst_log ? units : worst_log;
    }
    cr_assert_eq(scalar_log(1.0), 0.0);
    cr_assert_eq(scalar_exp_double(-800.0), 0.0);
    cr_assert_eq(scalar_exp_double(800.0), INFINITY);
    cr_assert_leq(worst_exp, 2.0, "worst %.3f", worst_exp);
    cr_assert_leq(worst_log, 2.0, "worst %.3f", worst_log);
}

Test(scalar, sine_and_cosine_hold_at_great_angles)
{
    double worst = 0;
    for (int i = -5000; i < 1000000; i++) {
        double s, c, x = i * 0.013 + (double)i * i * 1e-5; /* to 1e7 */
        scalar_sine_cosine(x, &s, &c);
        worst = fmax(worst, fmax(fabs(s - sin(x)), fabs(c - cos(x))));
    }
    cr_assert_lt(worst, 1e-15, "worst %.3g", worst);
}

Test(scalar, tanh_is_within_one_unit)
{
    double worst = 0;
    for (int i = -100000; i < 100000; i++) {
        float x = (float)i * 1.2e-4f;
        double units = float_units(scalar_tanh(x), tanh((double)x));
        worst = units > worst ? units : worst;
    }
    cr_assert_lt(worst, 1.0, "worst %.3f", worst);
    cr_assert_eq(scalar_tanh(100.0f), 1.0f);
    cr_assert_eq(scalar_tanh(-1000.0f), -1.0f);
}

Test(scalar, powers_of_rotation_bases_are_right)
{
    for (int i = 0; i < 128; i++) {
        double right = pow(1000000.0, -i / 128.0);
        cr_assert_lt(fabs(scalar_power(1000000.0, -i / 128.0) / right - 1), 1e-14);
    }
}

Test(float_environment, flushing_to_zero_is_noticed_and_undone)
{
    float_environment_set();
    cr_assert(float_environment_right());
#if defined(__x86_64__)
    unsigned kept = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(kept | (1u << 15));
    cr_assert_not(float_environment_right());
    __builtin_ia32_ldmxcsr(kept | (1u << 6));
    cr_assert_not(float_environment_right());
    __builtin_ia32_ldmxcsr(kept | (1u << 13));
    cr_assert_not(float_environment_right());
#endif
    float_environment_set();
    cr_assert(float_environment_right());
}

/* --- rope --------------------------------------------------------------------------- */

static const struct rope_parameters plain = {
    .dimensions_count = 64, .base = 10000.0, .scaling = ROPE_SCALING_NONE, .factor = 1.0};

Test(rope, angles_are_position_over_base_to_the_pair)
{
    double frequencies[32];
    float cosines[32], sines[32];
    cr_assert_eq(rope_frequencies(&plain, frequencies), 1.0);
    rope_angles(frequencies, 32, 1.0, 8191, cosines, sines);
    for (int i = 0; i < 32; i++) {
        double angle = 8191.0 * pow(10000.0, -2.0 * i / 64);
        cr_assert_lt(fabs(cosines[i] - cos(angle)), 1e-7);
        cr_assert_lt(fabs(sines[i] - sin(angle)), 1e-7);
    }
}

Test(rope, both_styles_turn_the_same_plane)
{
    float pairs[4] = {1, 2, 3, 4}, halves[4] = {1, 3, 2, 4};
    const float cosines[2] = {0.6f, 0.0f}, sines[2] = {0.8f, 1.0f};
    rope_rotate(pairs, 1, 4, ROPE_PAIRS, 2, cosines, sines);
    rope_rotate(halves, 1, 4, ROPE_HALVES, 2, cosines, sines);
    cr_assert_float_eq(pairs[0], 1 * 0.6 - 2 * 0.8, 1e-6);
    cr_assert_float_eq(pairs[1], 1 * 0.8 + 2 * 0.6, 1e-6);
    cr_assert_eq(pairs[2], -4.0f);
    cr_assert_eq(pairs[3], 3.0f);
    cr_assert_eq(halves[0], pairs[0]);
    cr_assert_eq(halves[2], pairs[1]);
    cr_assert_eq(halves[1], pairs[2]);
    cr_assert_eq(halves[3], pairs[3]);
}

Test(rope, elements_past_the_turned_ones_stay)
{
    float heads[2][6] = {{1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}};
    const float cosines[2] = {-1, -1}, sines[2] = {0, 0};
    rope_rotate(heads[0], 2, 6, ROPE_HALVES, 2, cosines, sines);
    const float right[6] = {-1, -2, -3, -4, 5, 6};
    cr_assert_arr_eq(heads[0], right, sizeof right);
    cr_assert_arr_eq(heads[1], right, sizeof right);
}

Test(rope, linear_scaling_divides_and_factors_divide_each_pair)
{
    double frequencies[32], scaled[32];
    float factors[32];
    for (int i = 0; i < 32; i++)
        factors[i] = 1.0f + (float)i;
    struct rope_parameters linear = plain, factored = plain;
    linear.scaling = ROPE_SCALING_LINEAR;
    linear.factor = 4.0;
    factored.factors = factors;
    rope_frequencies(&plain, frequencies);
    cr_assert_eq(rope_frequencies(&linear, scaled), 1.0);
    for (int i = 0; i < 32; i++)
        cr_assert_eq(scaled[i], frequencies[i] / 4.0);
    rope_frequencies(&factored, scaled);
    for (int i = 0; i < 32; i++)
        cr_assert_eq(scaled[i], frequencies[i] / (1.0 + i));
}

/* By the paper's formulas for head length 64, base 10^4, context 4096, factor 8: pairs
 * turning more than 32 times (up to floor 10.46) stay, those turning less than once (from
 * ceil 22.51) are divided by the factor. */
Test(rope, yarn_keeps_fast_pairs_and_divides_slow_ones)
{
    double frequencies[32], scaled[32];
    struct rope_parameters yarn = plain;
    yarn.scaling = ROPE_SCALING_YARN;
    yarn.factor = 8.0;
    yarn.original_context_length = 4096;
    yarn.attention_factor = 1.0;
    yarn.beta_fast = 32;
    yarn.beta_slow = 1;
    rope_frequencies(&plain, frequencies);
    cr_assert_float_eq(rope_frequencies(&yarn, scaled), 0.1 * log(8.0) + 1.0, 1e-12);
    for (int i = 0; i < 32; i++) {
        double share = i <= 10 ? 1.0 : i >= 23 ? 0.0 : 1.0 - (i - 10) / 13.0;
        double right = frequencies[i] / 8.0 * (1 - share) + frequencies[i] * share;
        cr_assert_lt(fabs(scaled[i] / right - 1.0), 1e-12, "pair %d", i);
    }
}
