#include "worker/math/vector.h"
#include "worker/math/scalar.h"

#define STRIPES 16

/* Four stripes; unaligned, since rows begin anywhere. */
typedef float quad __attribute__((vector_size(16), aligned(4), may_alias));

struct stripes {
    quad part[STRIPES / 4];
};

static float stripes_total(const struct stripes *stripes)
{
    const quad *part = stripes->part;
    quad four = (part[0] + part[2]) + (part[1] + part[3]);
    return (four[0] + four[2]) + (four[1] + four[3]);
}

float vector_dot(const float *a, const float *b, size_t count)
{
    struct stripes sum = {{{0}}};
    size_t whole = count - count % STRIPES;
    for (size_t i = 0; i < whole; i += STRIPES)
        for (size_t j = 0; j < STRIPES / 4; j++)
            sum.part[j] +=
                *(const quad *)(a + i + 4 * j) * *(const quad *)(b + i + 4 * j);
    for (size_t i = whole; i < count; i++)
        sum.part[(i - whole) / 4][(i - whole) % 4] += a[i] * b[i];
    return stripes_total(&sum);
}

void vector_rms_norm(const float *x, const float *weight, size_t count, float epsilon,
                     float *out)
{
    float mean = vector_dot(x, x, count) / (float)count;
    float root = __builtin_sqrtf(mean + epsilon);
    for (size_t i = 0; i < count; i++)
        out[i] = x[i] / root * weight[i];
}

static float stripes_sum(const float *values, size_t count)
{
    struct stripes sum = {{{0}}};
    size_t whole = count - count % STRIPES;
    for (size_t i = 0; i < whole; i += STRIPES)
        for (size_t j = 0; j < STRIPES / 4; j++)
            sum.part[j] += *(const quad *)(values + i + 4 * j);
    for (size_t i = whole; i < count; i++)
        sum.part[(i - whole) / 4][(i - whole) % 4] += values[i];
    return stripes_total(&sum);
}

float vector_exp_sum(float *values, size_t count, float most)
{
    for (size_t i = 0; i < count; i++)
        values[i] = scalar_exp(values[i] - most);
    return stripes_sum(values, count);
}

float vector_most(const float *values, size_t count)
{
    /* The greatest is the same in any order, so the compiler may choose one. */
    float most = values[0];
    for (size_t i = 1; i < count; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

void vector_add(float *restrict sum, const float *restrict x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += x[i];
}

void vector_add_scaled(float *restrict sum, const float *restrict x, float factor,
                       size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += factor * x[i];
}

void vector_scale(float *x, float factor, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] *= factor;
}

void vector_silu_multiply(float *restrict gate, const float *restrict up, size_t count)
{
    for (size_t i = 0; i < count; i++)
        gate[i] = scalar_silu(gate[i]) * up[i];
}

void vector_gelu_multiply(float *restrict gate, const float *restrict up, size_t count)
{
    for (size_t i = 0; i < count; i++)
        gate[i] = scalar_gelu_tanh(gate[i]) * up[i];
}

void vector_softcap(float *x, float cap, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = cap * scalar_tanh(x[i] / cap);
}
