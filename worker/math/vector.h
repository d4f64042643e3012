/* vector.h - sums and norms over runs of floats, in one order on every machine.
 *
 * Layer:   worker/math (pure).
 * Order:   sums go into 16 stripes, element i into stripe i % 16, each stripe in
 *          ascending order; then stripe j takes j + 8, j + 4, j + 2, j + 1. The stripes
 *          are vectors of 4 floats, which every processor has, so that the order is the
 *          source's and not the compiler's.
 * Shapes:  a row is a run of `count` floats; rows need no alignment.
 */
#ifndef ROPEWAY_WORKER_MATH_VECTOR_H
#define ROPEWAY_WORKER_MATH_VECTOR_H

#include <stddef.h>
#include <stdint.h>

float vector_dot(const float *a, const float *b, size_t count);

/* out = x / sqrt(mean(x^2) + epsilon) * weight. out may be x. */
void vector_rms_norm(const float *x, const float *weight, size_t count, float epsilon,
                     float *out);

/* values = e^(values - most); returns their sum. most is the caller's, normally the
 * greatest of them, so that no sum overflows. */
float vector_exp_sum(float *values, size_t count, float most);

float vector_most(const float *values, size_t count);

/* sum += x; sum += factor * x; x *= factor */
void vector_add(float *sum, const float *x, size_t count);
void vector_add_scaled(float *sum, const float *x, float factor, size_t count);
void vector_scale(float *x, float factor, size_t count);

/* gate = activation(gate) * up */
void vector_silu_multiply(float *gate, const float *up, size_t count);
void vector_gelu_multiply(float *gate, const float *up, size_t count);

/* x = cap * tanh(x / cap) */
void vector_softcap(float *x, float cap, size_t count);

#endif
