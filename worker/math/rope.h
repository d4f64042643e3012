/* rope.h - rotary position embeddings: angles by position, rotation of heads.
 *
 * Layer:   worker/math (pure).
 * Source:  Su et al., "RoFormer", 2021; linear position interpolation, Chen et al., 2023;
 *          Peng et al., "YaRN", 2023; Llama 3.1's scaling comes as per-pair factors
 *          (rope_freqs.weight).
 * Angles:  in double, since position times frequency reaches 10^5 and more; sines and
 *          cosines are then rounded to float once.
 */
#ifndef ROPEWAY_WORKER_MATH_ROPE_H
#define ROPEWAY_WORKER_MATH_ROPE_H

#include <stdint.h>

enum rope_style {
    ROPE_PAIRS, /* elements 2i and 2i + 1 turn together */
    ROPE_HALVES /* elements i and i + length / 2 */
};

enum rope_scaling { ROPE_SCALING_NONE, ROPE_SCALING_LINEAR, ROPE_SCALING_YARN };

struct rope_parameters {
    uint32_t dimensions_count; /* elements of a head that turn: even */
    double base;
    enum rope_scaling scaling;
    double factor; /* longer context = factor * the original */
    /* YaRN's. */
    double original_context_length;
    double attention_factor;     /* multiplies what the paper gives; 1 */
    double beta_fast, beta_slow; /* turns over the original context; 32 and 1 */
    const float *factors;        /* [dimensions_count / 2] divides frequencies, or NULL */
};

/* Radians per position of each pair: frequencies[dimensions_count / 2]. Returns what
 * sines and cosines are multiplied by: 1, but for YaRN. */
double rope_frequencies(const struct rope_parameters *parameters, double *frequencies);

/* cosines and sines [pairs_count] of one position. */
void rope_angles(const double *frequencies, uint32_t pairs_count, double magnitude,
                 uint32_t position, float *cosines, float *sines);

/* Turns the first 2 * pairs_count elements of each of heads_count heads of head_length.
 */
void rope_rotate(float *heads, uint32_t heads_count, uint32_t head_length,
                 enum rope_style style, uint32_t pairs_count, const float *cosines,
                 const float *sines);

#endif
