#include "worker/math/rope.h"
#include "worker/math/scalar.h"

#define PI 0x1.921fb54442d18p+1

/* The pair, as a real number, that turns `turns` times over the original context. */
static double pair_of_turns(const struct rope_parameters *parameters, double turns)
{
    double wavelength = parameters->original_context_length / (turns * 2.0 * PI);
    return parameters->dimensions_count * scalar_log(wavelength) /
           (2.0 * scalar_log(parameters->base));
}

/* Integers near 0 are all that is needed, so a cast does for floor and ceil. */
static double floor_of(double x)
{
    double whole = (double)(int64_t)x;
    return whole > x ? whole - 1.0 : whole;
}

static double clamp(double x, double least, double most)
{
    return x < least ? least : x > most ? most : x;
}

/* YaRN: 1 where a pair turns often over the original context and keeps its frequency, 0
 * where it turns rarely and is interpolated, linear between. */
static double extrapolated_share(const struct rope_parameters *parameters, uint32_t pair)
{
    double last = parameters->dimensions_count - 1.0;
    double low =
        clamp(floor_of(pair_of_turns(parameters, parameters->beta_fast)), 0, last);
    double high =
        clamp(-floor_of(-pair_of_turns(parameters, parameters->beta_slow)), 0, last);
    double width = high - low < 0.001 ? 0.001 : high - low; /* no division by 0 */
    return 1.0 - clamp((pair - low) / width, 0.0, 1.0);
}

double rope_frequencies(const struct rope_parameters *parameters, double *frequencies)
{
    uint32_t pairs_count = parameters->dimensions_count / 2;
    for (uint32_t pair = 0; pair < pairs_count; pair++) {
        double exponent = -2.0 * pair / parameters->dimensions_count;
        double frequency = scalar_power(parameters->base, exponent);
        if (parameters->factors != NULL)
            frequency /= parameters->factors[pair];
        double share = 0.0;
        if (parameters->scaling == ROPE_SCALING_YARN)
            share = extrapolated_share(parameters, pair);
        double interpolated = frequency;
        if (parameters->scaling != ROPE_SCALING_NONE)
            interpolated = frequency / parameters->factor;
        frequencies[pair] = interpolated * (1.0 - share) + frequency * share;
    }
    if (parameters->scaling != ROPE_SCALING_YARN || parameters->factor <= 1.0)
        return 1.0;
    return parameters->attention_factor * (1.0 + 0.1 * scalar_log(parameters->factor));
}

void rope_angles(const double *frequencies, uint32_t pairs_count, double magnitude,
                 uint32_t position, float *cosines, float *sines)
{
    for (uint32_t pair = 0; pair < pairs_count; pair++) {
        double sine, cosine;
        scalar_sine_cosine(position * frequencies[pair], &sine, &cosine);
        cosines[pair] = (float)(cosine * magnitude);
        sines[pair] = (float)(sine * magnitude);
    }
}

void rope_rotate(float *heads, uint32_t heads_count, uint32_t head_length,
                 enum rope_style style, uint32_t pairs_count, const float *cosines,
                 const float *sines)
{
    uint32_t step = style == ROPE_PAIRS ? 2 : 1;
    uint32_t distance = style == ROPE_PAIRS ? 1 : pairs_count;
    for (uint32_t head = 0; head < heads_count; head++) {
        float *first = heads + (uint64_t)head * head_length;
        for (uint32_t pair = 0; pair < pairs_count; pair++, first += step) {
            float x = first[0], y = first[distance];
            first[0] = x * cosines[pair] - y * sines[pair];
            first[distance] = x * sines[pair] + y * cosines[pair];
        }
    }
}
