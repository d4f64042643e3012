/* Values by hand, cuts, ties, bad logits, and the draw's distribution. */
#include "common/base/rng.h"
#include "worker/math/scalar.h"
#include "worker/model/logprobs.h"
#include "worker/model/sampler.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VOCABULARY 8

static const struct sampling greedy = {
    .temperature = 0.0f, .top_p = 1.0f, .repetition_penalty = 1.0f};
static const struct sampling plain = {
    .temperature = 1.0f, .top_p = 1.0f, .repetition_penalty = 1.0f, .seed = 1};

static struct sampler *sampler;
static const uint32_t no_tokens[1] = {0};

static void setup(void)
{
    struct fault fault;
    cr_assert_eq(sampler_create(&sampler, VOCABULARY, &fault), STATUS_OK);
}

static void teardown(void)
{
    sampler_destroy(sampler);
}

TestSuite(sampler, .init = setup, .fini = teardown);

/* A sequence of one prompt token, 7. */
static struct sampler_task task_of(const float *logits, const struct sampling *sampling)
{
    return (struct sampler_task){.logits = logits,
                                 .sampling = sampling,
                                 .tokens = no_tokens,
                                 .newest = 7,
                                 .prompt_tokens_count = 1};
}

static uint32_t run(const struct sampler_task *task)
{
    uint32_t token = UINT32_MAX;
    cr_assert_eq(sampler_run(sampler, task, &token, NULL), STATUS_OK);
    return token;
}

/* How often each token is drawn over `draws` seeds. */
static void tally(struct sampler_task task, struct sampling sampling, uint32_t draws,
                  uint32_t *counts)
{
    memset(counts, 0, VOCABULARY * sizeof *counts);
    task.sampling = &sampling;
    for (uint32_t seed = 0; seed < draws; seed++) {
        sampling.seed = seed;
        counts[run(&task)]++;
    }
}

static void check_only(const uint32_t *counts, const char *drawn)
{
    for (uint32_t i = 0; i < VOCABULARY; i++)
        cr_assert_eq(counts[i] > 0, drawn[i] == '1', "token %u: %u draws", i, counts[i]);
}

/* Probabilities .5 .2 .15 .1 .03 .02, at ids 3 0 5 1 2 4; 6 and 7 all but none. */
static const float ladder[VOCABULARY] = {-1.6094379f, -2.3025851f, -3.5065579f,
                                         -0.6931472f, -3.9120230f, -1.8971200f,
                                         -60.0f,      -60.0f};

/* --- greedy ----------------------------------------------------------------------- */

Test(sampler, greedy_takes_the_greatest_and_the_lowest_id_of_equals)
{
    const float logits[VOCABULARY] = {1, 3, 2, 3, 3, 0, -1, 2.5f};
    struct sampler_task task = task_of(logits, &greedy);
    cr_assert_eq(run(&task), 1);
}

Test(sampler, tiny_temperatures_are_greedy_or_as_good)
{
    const float temperatures[] = {1e-4f, 1e-7f, 1e-30f, 4.9e-324, 0.0f, -0.0f, NAN};
    for (size_t i = 0; i < sizeof temperatures / sizeof temperatures[0]; i++) {
        struct sampling sampling = plain;
        sampling.temperature = temperatures[i];
        struct sampler_task task = task_of(ladder, &sampling);
        for (sampling.seed = 0; sampling.seed < 50; sampling.seed++)
            cr_assert_eq(run(&task), 3, "temperature %g", (double)temperatures[i]);
    }
}

/* --- bias, barred ends, penalties ------------------------------------------------- */

Test(sampler, bias_is_added_before_the_choice)
{
    const struct logit_bias bias[] = {{3, -100.0f}, {5, 1.0f}, {VOCABULARY, 100.0f}};
    struct sampler_task task = task_of(ladder, &greedy);
    task.logit_bias = bias;
    task.logit_bias_count = 3;
    cr_assert_eq(run(&task), 5); /* -1.897 + 1 is over token 0's -1.609 */
}

Test(sampler, stop_tokens_are_barred_until_min_tokens_are_there)
{
    struct sampling sampling = greedy;
    const uint32_t stops[] = {3, 0}, tokens[] = {7, 1};
    sampling.min_tokens = 2;
    struct sampler_task task = task_of(ladder, &sampling);
    task.stop_tokens = stops;
    task.stop_tokens_count = 2;
    task.tokens = tokens;
    task.newest = 1;
    cr_assert_eq(run(&task), 5); /* none generated */
    task.tokens_before = 1;
    cr_assert_eq(run(&task), 5); /* one */
    task.tokens_before = 2;
    cr_assert_eq(run(&task), 3); /* two: no longer */
    sampling.min_tokens = 0;
    task.tokens_before = 0;
    cr_assert_eq(run(&task), 3);
}

Test(sampler, barring_every_token_fails_the_sequence)
{
    struct sampling sampling = greedy;
    const uint32_t stops[VOCABULARY] = {0, 1, 2, 3, 4, 5, 6, 7};
    sampling.min_tokens = 1;
    struct sampler_task task = task_of(ladder, &sampling);
    task.stop_tokens = stops;
    task.stop_tokens_count = VOCABULARY;
    uint32_t token = 77;
    cr_assert_eq(sampler_run(sampler, &task, &token, NULL), STATUS_INTERNAL);
    cr_assert_eq(token, 77);
}

Test(sampler, repetition_counts_prompt_and_output_once_and_by_sign)
{
    const float logits[VOCABULARY] = {4, 3.5f, 3, -1, -1.2f, -50, -50, -50};
    const uint32_t tokens[] = {0, 0, 0};
    struct sampling sampling = greedy;
    sampling.repetition_penalty = 1.25f;
    struct sampler_task task = task_of(logits, &sampling);
    task.tokens = tokens;
    task.tokens_before = 2;
    task.newest = 0;
    task.prompt_tokens_count = 3; /* a prompt of three equal tokens, nothing generated */
    cr_assert_eq(run(&task), 1);  /* 4 / 1.25 = 3.2, once, is still over 3 */
    const struct logit_bias bias[] = {{1, -0.4f}};
    task.logit_bias = bias;
    task.logit_bias_count = 1;
    cr_assert_eq(run(&task), 0); /* 3.2 over 3.1 */
    /* Negative ones are multiplied: -1 * 1.25 is under -1.2. */
    const float negative[VOCABULARY] = {-50, -50, -50, -1, -1.2f, -50, -50, -50};
    struct sampler_task other = task_of(negative, &sampling);
    other.newest = 3;
    cr_assert_eq(run(&other), 4);
}

Test(sampler, presence_and_frequency_count_the_output_only)
{
    const float logits[VOCABULARY] = {4, 3, 0, 0, 0, 0, 0, 0};
    const uint32_t tokens[] = {0, 0, 0, 0};
    struct sampling sampling = greedy;
    sampling.presence_penalty = 2.0f;
    struct sampler_task task = task_of(logits, &sampling);
    task.tokens = tokens;
    task.tokens_before = 3;
    task.newest = 0;
    task.prompt_tokens_count = 4;
    cr_assert_eq(run(&task), 0); /* all four are the prompt's */
    task.prompt_tokens_count = 3;
    cr_assert_eq(run(&task), 1); /* one was generated: 4 - 2 */
    sampling.presence_penalty = 0.0f;
    sampling.frequency_penalty = 0.4f;
    task.prompt_tokens_count = 2;
    cr_assert_eq(run(&task), 0); /* two: 4 - 0.8 */
    task.prompt_tokens_count = 1;
    cr_assert_eq(run(&task), 1); /* three: 4 - 1.2 */
    /* The counts are the run's own: nothing is left over. */
    task.prompt_tokens_count = 2;
    cr_assert_eq(run(&task), 0);
}

/* --- cuts --------------------------------------------------------------------------- */

Test(sampler, top_k_keeps_the_first_k)
{
    uint32_t counts[VOCABULARY];
    struct sampling sampling = plain;
    sampling.top_k = 2;
    tally(task_of(ladder, &sampling), sampling, 400, counts);
    check_only(counts, "10010000");
    sampling.top_k = 1;
    tally(task_of(ladder, &sampling), sampling, 50, counts);
    check_only(counts, "00010000");
    sampling.top_k = VOCABULARY + 5;
    tally(task_of(ladder, &sampling), sampling, 2000, counts);
    check_only(counts, "11111100");
}

Test(sampler, top_k_cuts_ties_by_the_lowest_ids)
{
    const float level[VOCABULARY] = {0, 1, 1, 1, 1, 1, 1, 0};
    uint32_t counts[VOCABULARY];
    struct sampling sampling = plain;
    sampling.top_k = 3;
    tally(task_of(level, &sampling), sampling, 400, counts);
    check_only(counts, "01110000");
}

Test(sampler, top_p_keeps_the_shortest_beginning_that_reaches_it)
{
    uint32_t counts[VOCABULARY];
    struct sampling sampling = plain;
    sampling.top_p = 0.69f; /* .5 + .2 reach it */
    tally(task_of(ladder, &sampling), sampling, 400, counts);
    check_only(counts, "10010000");
    sampling.top_p = 0.71f; /* .15 more is needed */
    tally(task_of(ladder, &sampling), sampling, 400, counts);
    check_only(counts, "10010100");
    sampling.top_p = 1e-6f; /* the first is always kept */
    tally(task_of(ladder, &sampling), sampling, 50, counts);
    check_only(counts, "00010000");
}

Test(sampler, top_p_is_a_share_of_what_top_k_left)
{
    uint32_t counts[VOCABULARY];
    struct sampling sampling = plain;
    sampling.top_k = 3;     /* .5 .2 .15, together .85 */
    sampling.top_p = 0.80f; /* .7 / .85 = .82 reach it; of all, .85 would be needed */
    tally(task_of(ladder, &sampling), sampling, 400, counts);
    check_only(counts, "10010000");
}

Test(sampler, min_p_keeps_what_is_near_the_first)
{
    uint32_t counts[VOCABULARY];
    struct sampling sampling = plain;
    sampling.min_p = 0.25f; /* .2 / .5 and .15 / .5 pass, .1 / .5 does not */
    tally(task_of(ladder, &sampling), sampling, 600, counts);
    check_only(counts, "10010100");
    sampling.top_p = 0.69f;
    tally(task_of(ladder, &sampling), sampling, 400, counts);
    check_only(counts, "10010000");
    sampling.top_p = 1.0f;
    sampling.min_p = 1.0f;
    tally(task_of(ladder, &sampling), sampling, 50, counts);
    check_only(counts, "00010000");
}

Test(sampler, temperature_comes_before_the_cuts)
{
    uint32_t counts[VOCABULARY];
    struct sampling sampling = plain;
    sampling.temperature = 2.0f; /* shares go as roots: .2/.5 becomes .63, .03/.5 .24 */
    sampling.min_p = 0.3f;
    tally(task_of(ladder, &sampling), sampling, 1000, counts);
    check_only(counts, "11010100");
}

/* --- the draw ----------------------------------------------------------------------- */

/* Chi-square of 20,000 draws against the expected shares; 6 classes have 5 degrees of
 * freedom, where a fair draw is over 20.5 once in a thousand. */
static void check_distribution(struct sampling sampling, const double *shares)
{
    enum { DRAWS = 20000 };
    uint32_t counts[VOCABULARY];
    double square = 0;
    tally(task_of(ladder, &sampling), sampling, DRAWS, counts);
    for (uint32_t i = 0; i < VOCABULARY; i++) {
        double expected = shares[i] * DRAWS;
        if (expected > 0)
            square += (counts[i] - expected) * (counts[i] - expected) / expected;
        else
            cr_assert_eq(counts[i], 0);
    }
    cr_assert_lt(square, 20.5, "chi-square %.2f", square);
}

Test(sampler, draws_follow_the_probabilities)
{
    const double shares[VOCABULARY] = {.2, .1, .03, .5, .02, .15, 0, 0};
    check_distribution(plain, shares);
}

Test(sampler, draws_follow_the_probabilities_that_the_cuts_leave)
{
    struct sampling sampling = plain;
    sampling.top_k = 4;
    const double shares[VOCABULARY] = {.2 / .95, .1 / .95,  0, .5 / .95,
                                       0,        .15 / .95, 0, 0};
    check_distribution(sampling, shares);
}

Test(sampler, a_draw_is_named_by_seed_choice_and_position)
{
    struct sampling sampling = plain;
    const uint32_t tokens[8] = {7};
    uint32_t differences_choice = 0, differences_position = 0;
    for (sampling.seed = 0; sampling.seed < 64; sampling.seed++) {
        struct sampler_task task = task_of(ladder, &sampling);
        uint32_t first = run(&task);
        cr_assert_eq(run(&task), first);
        task.choice = 1;
        differences_choice += run(&task) != first;
        task.choice = 0;
        task.tokens = tokens;
        task.tokens_before = 5;
        differences_position += run(&task) != first;
    }
    cr_assert_gt(differences_choice, 20);
    cr_assert_gt(differences_position, 20);
}

/* The walk is along the order, so the first token takes the lowest numbers. */
Test(sampler, the_draw_walks_from_the_likeliest_token)
{
    struct sampling sampling = plain;
    for (sampling.seed = 0; sampling.seed < 200; sampling.seed++) {
        struct sampler_task task = task_of(ladder, &sampling);
        float chance = rng_uniform(sampling.seed, 0, 1, 0);
        uint32_t right = chance < .5    ? 3
                         : chance < .7  ? 0
                         : chance < .85 ? 5
                         : chance < .95 ? 1
                         : chance < .98 ? 2
                                        : 4;
        cr_assert_eq(run(&task), right);
    }
}

/* --- against a whole sort ----------------------------------------------------------- */

#define MANY 500

static float many_logits[MANY];

static int by_order(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (many_logits[x] != many_logits[y])
        return many_logits[x] > many_logits[y] ? -1 : 1;
    return x < y ? -1 : 1;
}

/* The definition of sampler.h, on the sorted vocabulary. */
static uint32_t sorted_choice(const struct sampling *sampling, uint32_t position)
{
    uint32_t order[MANY], count = MANY, kept = 0;
    float weights[MANY];
    double total = 0, cut = 0, target, sum = 0;
    for (uint32_t i = 0; i < MANY; i++)
        order[i] = i;
    qsort(order, MANY, sizeof *order, by_order);
    for (uint32_t i = 0; i < MANY; i++)
        weights[i] = scalar_exp((many_logits[order[i]] - many_logits[order[0]]) /
                                sampling->temperature);
    if (sampling->top_k > 0 && (uint32_t)sampling->top_k < count)
        count = (uint32_t)sampling->top_k;
    for (uint32_t i = 0; i < count; i++)
        total += weights[i];
    while (kept < count &&
           (kept == 0 || ((sampling->top_p >= 1.0f || cut < sampling->top_p * total) &&
                          weights[kept] >= sampling->min_p)))
        cut += weights[kept++];
    target = rng_uniform(sampling->seed, 0, position, 0) * cut;
    for (uint32_t i = 0; i < kept; i++)
        if (target < (sum += weights[i]))
            return order[i];
    return order[kept - 1];
}

Test(sampler, choices_are_those_of_a_whole_sort)
{
    struct sampler *many = NULL;
    struct fault fault;
    cr_assert_eq(sampler_create(&many, MANY, &fault), STATUS_OK);
    for (uint32_t trial = 0; trial < 3000; trial++) {
        const float top_ps[] = {1.0f, 0.95f, 0.5f, 0.999f};
        const float min_ps[] = {0.0f, 0.05f, 0.0f, 1e-4f};
        const int32_t top_ks[] = {0, 40, 3, 0, 499, 1000};
        struct sampling sampling = plain;
        uint32_t token = UINT32_MAX;
        sampling.seed = trial;
        sampling.temperature = 0.3f + 0.4f * (float)(trial % 7);
        sampling.top_p = top_ps[trial % 4];
        sampling.min_p = min_ps[trial / 4 % 4];
        sampling.top_k = top_ks[trial / 16 % 6];
        /* From nearly level to steep; rounded, so that there are ties. */
        float spread = 2.0f + 8.0f * (float)(trial % 5);
        for (uint32_t i = 0; i < MANY; i++)
            many_logits[i] =
                (float)(int)(rng_uniform(3, trial, i, 0) * spread * 16.0f) / 16.0f;
        struct sampler_task task = task_of(many_logits, &sampling);
        cr_assert_eq(sampler_run(many, &task, &token, NULL), STATUS_OK);
        cr_assert_eq(token, sorted_choice(&sampling, 1), "trial %u", trial);
    }
    sampler_destroy(many);
}

/* --- bad logits --------------------------------------------------------------------- */

Test(sampler, a_logit_that_is_not_finite_fails_the_sequence)
{
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t place = 0; place < VOCABULARY; place++) {
            float logits[VOCABULARY];
            memcpy(logits, ladder, sizeof logits);
            logits[place] = bad[i];
            struct sampler_task task = task_of(logits, &plain);
            uint32_t token = 77;
            cr_assert_eq(sampler_run(sampler, &task, &token, NULL), STATUS_INTERNAL);
            cr_assert_eq(token, 77);
        }
}

Test(sampler, bias_of_minus_100_everywhere_changes_nothing)
{
    struct logit_bias bias[VOCABULARY];
    for (uint32_t i = 0; i < VOCABULARY; i++)
        bias[i] = (struct logit_bias){i, -100.0f};
    struct sampling sampling = plain;
    sampling.min_p = 1.0f;
    struct sampler_task task = task_of(ladder, &sampling);
    task.logit_bias = bias;
    task.logit_bias_count = VOCABULARY;
    cr_assert_eq(run(&task), 3);
}

/* --- logprobs ----------------------------------------------------------------------- */

static void check_logprobs(struct sampling sampling, uint32_t right_token)
{
    struct logprob logprobs[1 + TOP_LOGPROBS_MAX];
    uint32_t token;
    sampling.logprobs = 1;
    sampling.top_logprobs = 3;
    struct sampler_task task = task_of(ladder, &sampling);
    cr_assert_eq(sampler_run(sampler, &task, &token, logprobs), STATUS_OK);
    if (right_token != UINT32_MAX)
        cr_assert_eq(token, right_token);
    const uint32_t tops[3] = {3, 0, 5};
    cr_assert_eq(logprobs[0].token, token);
    cr_assert_float_eq(logprobs[0].value, ladder[token], 1e-5);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(logprobs[1 + i].token, tops[i]);
        cr_assert_float_eq(logprobs[1 + i].value, ladder[tops[i]], 1e-5);
    }
}

/* ladder's probabilities sum to 1, so its logits are the logprobs. */
Test(sampler, logprobs_are_the_raw_models_whatever_the_parameters)
{
    struct sampling sampling = plain;
    check_logprobs(greedy, 3);
    check_logprobs(plain, UINT32_MAX);
    sampling.top_k = 1;
    check_logprobs(sampling, 3);
    sampling.top_k = 0;
    sampling.top_p = 0.5f;
    sampling.temperature = 1.5f;
    check_logprobs(sampling, UINT32_MAX);
}

Test(sampler, a_sampled_token_outside_the_top_is_reported_itself)
{
    struct sampling sampling = plain;
    while (rng_uniform(sampling.seed, 0, 1, 0) < 0.985f)
        sampling.seed++;
    check_logprobs(sampling, 4); /* of probability .02 */
}

Test(sampler, more_logprobs_than_tokens_repeat_the_sampled_one)
{
    struct logprob logprobs[1 + TOP_LOGPROBS_MAX];
    struct sampling sampling = greedy;
    uint32_t token;
    sampling.logprobs = 1;
    sampling.top_logprobs = TOP_LOGPROBS_MAX;
    memset(logprobs, 0xff, sizeof logprobs);
    struct sampler_task task = task_of(ladder, &sampling);
    cr_assert_eq(sampler_run(sampler, &task, &token, logprobs), STATUS_OK);
    for (uint32_t i = 1 + VOCABULARY; i < 1 + TOP_LOGPROBS_MAX; i++) {
        cr_assert_eq(logprobs[i].token, token);
        cr_assert_eq(logprobs[i].value, logprobs[0].value);
    }
}
