#include "tools/bench/samples.h"
#include <criterion/criterion.h>
#include <math.h>

#define COUNT 1000

Test(samples, percentiles_are_of_the_nearest_rank)
{
    struct samples samples = {0};
    for (int i = 0; i < COUNT; i++) /* 1 to 1000, out of order */
        samples_add(&samples, 1 + (i * 7) % COUNT);
    cr_assert_eq(samples_percentile_ms(&samples, 50, 0), 500);
    cr_assert_eq(samples_percentile_ms(&samples, 99, 0), 990);
    cr_assert_eq(samples_percentile_ms(&samples, 100, 0), 1000);
    cr_assert_eq(samples_percentile_ms(&samples, 0.01, 0), 1);
    cr_assert_float_eq(samples_mean_ms(&samples), 500.5, 1e-9);
    samples_fini(&samples);
}

Test(samples, a_sample_after_a_percentile_counts)
{
    struct samples samples = {0};
    samples_add(&samples, 5);
    cr_assert_eq(samples_percentile_ms(&samples, 50, 0), 5);
    samples_add(&samples, 1);
    cr_assert_eq(samples_percentile_ms(&samples, 50, 0), 1);
    samples_fini(&samples);
}

Test(samples, what_never_ended_is_infinitely_long)
{
    struct samples samples = {0};
    for (int i = 1; i <= 90; i++)
        samples_add(&samples, i);
    cr_assert_eq(samples_percentile_ms(&samples, 90, 10), 90);
    cr_assert(isinf(samples_percentile_ms(&samples, 95, 10)));
    samples_fini(&samples);
}

Test(samples, none_have_no_percentile)
{
    struct samples samples = {0};
    cr_assert(isnan(samples_percentile_ms(&samples, 50, 0)));
    cr_assert(isnan(samples_mean_ms(&samples)));
    cr_assert(isinf(samples_percentile_ms(&samples, 50, 3)));
}
