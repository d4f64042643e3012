/* The written order, element by element, and double arithmetic for the values. */
#include "common/base/rng.h"
#include "worker/math/scalar.h"
#include "worker/math/vector.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define COUNT_MAX 300

static void fill(float *values, size_t count, uint32_t stream)
{
    for (size_t i = 0; i < count; i++)
        values[i] = rng_uniform(7, stream, (uint32_t)i, 0) * 4.0f - 2.0f;
}

/* The order of vector.h, in plain scalars: volatile keeps the compiler from joining. */
static float striped_dot(const float *a, const float *b, size_t count)
{
    volatile float stripes[16] = {0};
    for (size_t i = 0; i < count; i++)
        stripes[i % 16] += a[i] * b[i];
    for (size_t half = 8; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++)
            stripes[i] += stripes[i + half];
    return stripes[0];
}

Test(vector, dot_is_the_written_order_bit_for_bit_at_every_length)
{
    float a[COUNT_MAX + 1], b[COUNT_MAX + 1];
    fill(a, COUNT_MAX + 1, 1);
    fill(b, COUNT_MAX + 1, 2);
    for (size_t count = 0; count <= COUNT_MAX; count++)
        for (size_t offset = 0; offset < 2; offset++) /* unaligned too */
            cr_assert_eq(vector_dot(a + offset, b, count),
                         striped_dot(a + offset, b, count), "length %zu", count);
}

Test(vector, rms_norm_is_right)
{
    float x[COUNT_MAX], weight[COUNT_MAX], out[COUNT_MAX];
    fill(x, COUNT_MAX, 3);
    fill(weight, COUNT_MAX, 4);
    vector_rms_norm(x, weight, COUNT_MAX, 1e-5f, out);
    double squares = 0;
    for (size_t i = 0; i < COUNT_MAX; i++)
        squares += (double)x[i] * x[i];
    for (size_t i = 0; i < COUNT_MAX; i++) {
        double right = x[i] / sqrt(squares / COUNT_MAX + 1e-5) * weight[i];
        cr_assert_float_eq(out[i], right, 1e-6);
    }
    vector_rms_norm(x, weight, COUNT_MAX, 1e-5f, x);
    cr_assert_arr_eq(x, out, sizeof out);
}

Test(vector, exp_sum_gives_softmax_weights)
{
    float values[COUNT_MAX], kept[COUNT_MAX];
    fill(values, COUNT_MAX, 5);
    memcpy(kept, values, sizeof kept);
    float most = vector_most(values, COUNT_MAX);
    float sum = vector_exp_sum(values, COUNT_MAX, most);
    double right_sum = 0;
    for (size_t i = 0; i < COUNT_MAX; i++) {
        cr_assert_leq(kept[i], most);
        cr_assert_eq(values[i], scalar_exp(kept[i] - most));
        right_sum += exp((double)kept[i] - most);
    }
    cr_assert_float_eq(sum, right_sum, right_sum * 1e-6);
}

Test(vector, small_operations_are_right)
{
    float sum[3] = {1, 2, 3};
    const float x[3] = {10, 20, 30};
    vector_add(sum, x, 3);
    cr_assert_eq(sum[2], 33.0f);
    vector_add_scaled(sum, x, -0.5f, 3);
    cr_assert_eq(sum[1], 12.0f);
    vector_scale(sum, 2.0f, 3);
    cr_assert_eq(sum[0], 12.0f);
    float gate[2] = {1.5f, -3.0f};
    const float up[2] = {2.0f, 4.0f};
    vector_silu_multiply(gate, up, 2);
    cr_assert_eq(gate[0], scalar_silu(1.5f) * 2.0f);
    cr_assert_eq(gate[1], scalar_silu(-3.0f) * 4.0f);
    float capped[2] = {60.0f, -15.0f};
    vector_softcap(capped, 30.0f, 2);
    cr_assert_float_eq(capped[0], 30 * tanh(2), 1e-5);
    cr_assert_float_eq(capped[1], 30 * tanh(-0.5), 1e-5);
}

/* --- the same bits everywhere ------------------------------------------------------- */

static uint64_t digest = 14695981039346656037u; /* FNV-1a */

static void digest_floats(const float *values, size_t count)
{
    for (size_t i = 0; i < count * sizeof *values; i++)
        digest = (digest ^ ((const unsigned char *)values)[i]) * 1099511628211u;
}

static void digest_length(const float *a, const float *b, size_t count)
{
    float out[COUNT_MAX], value = vector_dot(a, b, count);
    digest_floats(&value, 1);
    vector_rms_norm(a, b, count, 1e-5f, out);
    digest_floats(out, count);
    memcpy(out, a, sizeof out);
    value = vector_exp_sum(out, count, vector_most(out, count));
    digest_floats(&value, 1);
    digest_floats(out, count);
    vector_silu_multiply(out, b, count);
    vector_gelu_multiply(out, a, count);
    vector_softcap(out, 0.5f, count);
    vector_add_scaled(out, b, 0.3f, count);
    digest_floats(out, count);
}

/* The number was the same for gcc and clang, without optimisation and with all of it, for
 * SSE2, AVX2 and AVX-512. Another number means that requests' bytes have changed. */
Test(vector, the_bits_are_the_same_on_every_machine)
{
    float a[COUNT_MAX], b[COUNT_MAX];
    fill(a, COUNT_MAX, 8);
    fill(b, COUNT_MAX, 9);
    for (size_t count = 1; count <= COUNT_MAX; count += 7)
        digest_length(a, b, count);
    cr_assert_eq(digest, 0x7d4027e4e2e42ee3u, "digest %016llx",
                 (unsigned long long)digest);
}
