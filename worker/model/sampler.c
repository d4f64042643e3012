#include "worker/model/sampler.h"
#include "common/base/invariant.h"
#include "common/base/rng.h"
#include "worker/math/scalar.h"
#include "worker/math/vector.h"
#include "worker/model/logprobs.h"
#include <stdlib.h>
#include <string.h>

/* Weights computed at once: a run that stays in the first-level cache. */
#define WEIGHT_RUN 256

/* e^-10 is a weight of 1 in 22,000. */
#define LIKELY_BAND 10.0f

struct sampler {
    uint32_t vocabulary_count;
    float *logits;           /* [vocabulary]: changed by bias and penalties */
    uint32_t *heap;          /* [vocabulary]: ids, the greatest on top */
    uint32_t *kept;          /* [vocabulary]: ids taken from the heap, in order */
    uint32_t *output_counts; /* [vocabulary]: all zero between runs */
    uint8_t *seen;           /* [vocabulary]: all zero between runs */
    uint32_t heap_count;
    float rest_below; /* logits under this are not in the heap yet */
    bool rest_waits;
};

struct scale {
    float most;
    float temperature;
};

/* --- before the temperature --------------------------------------------------------- */

static bool all_finite(const float *logits, uint32_t count)
{
    uint32_t others = 0;
    for (uint32_t i = 0; i < count; i++)
        others |= (bits_of_float(logits[i]) & FLOAT_INFINITY) == FLOAT_INFINITY;
    return others == 0;
}

static void apply_bias(struct sampler *sampler, const struct sampler_task *task)
{
    for (uint32_t i = 0; i < task->logit_bias_count; i++)
        if (task->logit_bias[i].token < sampler->vocabulary_count)
            sampler->logits[task->logit_bias[i].token] += task->logit_bias[i].bias;
}

static uint32_t tokens_count(const struct sampler_task *task)
{
    return task->tokens_before + 1;
}

static uint32_t token_at(const struct sampler *sampler, const struct sampler_task *task,
                         uint32_t index)
{
    uint32_t token = index < task->tokens_before ? task->tokens[index] : task->newest;
    INVARIANT(token < sampler->vocabulary_count);
    return token;
}

/* The stop list holds the end tokens and the request's own. */
static void bar_end_tokens(struct sampler *sampler, const struct sampler_task *task)
{
    if (tokens_count(task) - task->prompt_tokens_count >= task->sampling->min_tokens)
        return;
    for (uint32_t i = 0; i < task->stop_tokens_count; i++)
        if (task->stop_tokens[i] < sampler->vocabulary_count)
            sampler->logits[task->stop_tokens[i]] = -__builtin_inff();
}

static float penalized(const struct sampling *sampling, float logit, uint32_t count)
{
    float repetition = sampling->repetition_penalty;
    logit = logit > 0.0f ? logit / repetition : logit * repetition;
    logit -= sampling->frequency_penalty * (float)count;
    return count > 0 ? logit - sampling->presence_penalty : logit;
}

/* Counts come from the tokens themselves, each time: a preempted or replayed request has
 * no counts to lose. */
static void apply_penalties(struct sampler *sampler, const struct sampler_task *task)
{
    const struct sampling *sampling = task->sampling;
    if (sampling->repetition_penalty == 1.0f && sampling->presence_penalty == 0.0f &&
        sampling->frequency_penalty == 0.0f)
        return;
    uint32_t count = tokens_count(task);
    for (uint32_t i = task->prompt_tokens_count; i < count; i++)
        sampler->output_counts[token_at(sampler, task, i)]++;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t token = token_at(sampler, task, i);
        if (sampler->seen[token])
            continue;
        sampler->seen[token] = 1;
        sampler->logits[token] =
            penalized(sampling, sampler->logits[token], sampler->output_counts[token]);
    }
    for (uint32_t i = 0; i < count; i++) {
        sampler->seen[token_at(sampler, task, i)] = 0;
        sampler->output_counts[token_at(sampler, task, i)] = 0;
    }
}

static uint32_t first_of_greatest(const float *logits, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++)
        if (logits[i] > logits[best])
            best = i;
    return best;
}

/* --- the order: a heap of ids ------------------------------------------------------- */

static bool comes_before(const float *logits, uint32_t a, uint32_t b)
{
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
}

static void sift_down(struct sampler *sampler, uint32_t place)
{
    uint32_t *heap = sampler->heap;
    uint32_t id = heap[place];
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= sampler->heap_count)
            break;
        if (child + 1 < sampler->heap_count &&
            comes_before(sampler->logits, heap[child + 1], heap[child]))
            child++;
        if (comes_before(sampler->logits, id, heap[child]))
            break;
        heap[place] = heap[child];
        place = child;
    }
    heap[place] = id;
}

/* Ids whose logits lie in [least, below). */
static void heap_fill(struct sampler *sampler, float least, float below)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sampler->vocabulary_count; i++) {
        sampler->heap[count] = i;
        count += sampler->logits[i] >= least && sampler->logits[i] < below;
    }
    sampler->heap_count = count;
    for (uint32_t i = count / 2; i-- > 0;)
        sift_down(sampler, i);
}

/* Few tokens carry nearly all weight, so the heap first holds those of a weight that may
 * be drawn now and then, and the rest only if these run out. */
static void order_begin(struct sampler *sampler, struct scale scale)
{
    sampler->rest_below = scale.most - LIKELY_BAND * scale.temperature;
    sampler->rest_waits = true;
    heap_fill(sampler, sampler->rest_below, __builtin_inff());
}

static uint32_t heap_take(struct sampler *sampler)
{
    uint32_t id = sampler->heap[0];
    sampler->heap[0] = sampler->heap[--sampler->heap_count];
    if (sampler->heap_count > 0)
        sift_down(sampler, 0);
    return id;
}

/* --- weights, cuts and draw --------------------------------------------------------- */

/* The greatest is subtracted before the division, so that no temperature overflows. */
static float weight_of(struct scale scale, float logit)
{
    return scalar_exp((logit - scale.most) / scale.temperature);
}

/* Sum over all tokens of weights not below least, in ascending order of ids. */
static double total_weight(const struct sampler *sampler, struct scale scale, float least)
{
    float run[WEIGHT_RUN];
    double total = 0.0;
    for (uint32_t first = 0; first < sampler->vocabulary_count; first += WEIGHT_RUN) {
        uint32_t left = sampler->vocabulary_count - first;
        uint32_t count = left < WEIGHT_RUN ? left : WEIGHT_RUN;
        for (uint32_t i = 0; i < count; i++)
            run[i] = weight_of(scale, sampler->logits[first + i]);
        for (uint32_t i = 0; i < count; i++)
            total += run[i] >= least ? run[i] : 0.0f;
    }
    return total;
}

/* Takes the order's beginning into kept until count are there. */
static void keep_until(struct sampler *sampler, uint32_t *kept_count, uint32_t count)
{
    while (*kept_count < count) {
        if (sampler->heap_count == 0 && sampler->rest_waits) {
            sampler->rest_waits = false;
            heap_fill(sampler, -__builtin_inff(), sampler->rest_below);
        }
        if (sampler->heap_count == 0)
            return;
        sampler->kept[(*kept_count)++] = heap_take(sampler);
    }
}

static double kept_weight(const struct sampler *sampler, struct scale scale,
                          uint32_t index)
{
    return weight_of(scale, sampler->logits[sampler->kept[index]]);
}

/* The tokens that top-k leaves, and the sum of their weights. */
static uint32_t cut_top_k(struct sampler *sampler, const struct sampling *sampling,
                          struct scale scale, uint32_t *kept_count, double *total)
{
    if (sampling->top_k <= 0 || (uint32_t)sampling->top_k >= sampler->vocabulary_count) {
        *total = total_weight(sampler, scale, 0.0f);
        return sampler->vocabulary_count;
    }
    keep_until(sampler, kept_count, (uint32_t)sampling->top_k);
    *total = 0.0;
    for (uint32_t i = 0; i < *kept_count; i++)
        *total += kept_weight(sampler, scale, i);
    return *kept_count;
}

/* Where nothing but min-p cuts, the sum of what it leaves is known without any order. */
static bool only_min_p(const struct sampler *sampler, const struct sampling *sampling)
{
    return sampling->top_p >= 1.0f &&
           (sampling->top_k <= 0 ||
            (uint32_t)sampling->top_k >= sampler->vocabulary_count);
}

/* Cuts by top-p and min-p: the number kept of the order's first most_count, and the sum
 * of their weights. total is that of all most_count. */
static uint32_t cut_rest(struct sampler *sampler, const struct sampling *sampling,
                         struct scale scale, uint32_t most_count, uint32_t *kept_count,
                         double *total)
{
    double wanted = sampling->top_p < 1.0f ? sampling->top_p * *total : *total;
    bool cuts_share = sampling->top_p < 1.0f;
    double sum = 0.0;
    uint32_t count = 0;
    while (count < most_count && (count == 0 || !cuts_share || sum < wanted)) {
        keep_until(sampler, kept_count, count + 1);
        double weight = kept_weight(sampler, scale, count);
        if (count > 0 && weight < sampling->min_p)
            break;
        sum += weight;
        count++;
    }
    *total = sum;
    return count;
}

/* The token at target, walking along the first most_count weights. */
static uint32_t draw(struct sampler *sampler, struct scale scale, float min_p,
                     uint32_t most_count, uint32_t kept_count, double target)
{
    double sum = 0.0;
    uint32_t index = 0;
    for (; index < most_count; index++) {
        keep_until(sampler, &kept_count, index + 1);
        double weight = kept_weight(sampler, scale, index);
        if (index > 0 && (weight < min_p || weight == 0.0))
            break;
        sum += weight;
        if (target < sum)
            return sampler->kept[index];
    }
    return sampler->kept[index - 1]; /* rounding left a little of target over */
}

static uint32_t sample(struct sampler *sampler, const struct sampler_task *task)
{
    const struct sampling *sampling = task->sampling;
    struct scale scale = {vector_most(sampler->logits, sampler->vocabulary_count),
                          sampling->temperature};
    uint32_t kept_count = 0, count = sampler->vocabulary_count;
    double total;
    order_begin(sampler, scale);
    if (only_min_p(sampler, sampling)) {
        total = total_weight(sampler, scale, sampling->min_p);
    } else {
        count = cut_top_k(sampler, sampling, scale, &kept_count, &total);
        count = cut_rest(sampler, sampling, scale, count, &kept_count, &total);
    }
    double chance = rng_uniform(sampling->seed, task->choice, tokens_count(task), 0);
    return draw(sampler, scale, sampling->min_p, count, kept_count, chance * total);
}

static void fill_logprobs(const struct sampler *sampler, const struct sampler_task *task,
                          uint32_t token, struct logprob *logprobs)
{
    double normalizer = logprobs_normalizer(task->logits, sampler->vocabulary_count);
    logprobs[0].token = token;
    logprobs[0].value = (float)(task->logits[token] - normalizer);
    /* Where the vocabulary has fewer tokens than are asked for, the rest is no other
     * request's: these go out to a client. */
    for (uint32_t i = 0; i < task->sampling->top_logprobs; i++)
        logprobs[1 + i] = logprobs[0];
    logprobs_top(task->logits, sampler->vocabulary_count, normalizer,
                 task->sampling->top_logprobs, logprobs + 1);
}

enum status sampler_run(struct sampler *sampler, const struct sampler_task *task,
                        uint32_t *token, struct logprob *logprobs)
{
    uint32_t count = sampler->vocabulary_count;
    if (!all_finite(task->logits, count))
        return STATUS_INTERNAL;
    memcpy(sampler->logits, task->logits, count * sizeof *sampler->logits);
    apply_bias(sampler, task);
    bar_end_tokens(sampler, task);
    apply_penalties(sampler, task);
    float most = vector_most(sampler->logits, count);
    if (!(most - most == 0.0f))
        return STATUS_INTERNAL; /* all barred, or a bias or penalty overflowed */
    if (!(task->sampling->temperature >= SAMPLER_GREEDY_TEMPERATURE))
        *token = first_of_greatest(sampler->logits, count);
    else
        *token = sample(sampler, task);
    if (task->sampling->logprobs)
        fill_logprobs(sampler, task, *token, logprobs);
    return STATUS_OK;
}

enum status sampler_create(struct sampler **out, uint32_t vocabulary_count,
                           struct fault *fault)
{
    struct sampler *sampler = calloc(1, sizeof *sampler);
    if (sampler != NULL) {
        sampler->vocabulary_count = vocabulary_count;
        sampler->logits = calloc(vocabulary_count, sizeof *sampler->logits);
        sampler->heap = calloc(vocabulary_count, sizeof *sampler->heap);
        sampler->kept = calloc(vocabulary_count, sizeof *sampler->kept);
        sampler->output_counts = calloc(vocabulary_count, sizeof *sampler->output_counts);
        sampler->seen = calloc(vocabulary_count, sizeof *sampler->seen);
    }
    if (sampler == NULL || !sampler->logits || !sampler->heap || !sampler->kept ||
        !sampler->output_counts || !sampler->seen) {
        sampler_destroy(sampler);
        return fault_set(fault, STATUS_NO_SPACE, NULL, "no memory for a sampler");
    }
    *out = sampler;
    return STATUS_OK;
}

void sampler_destroy(struct sampler *sampler)
{
    if (sampler == NULL)
        return;
    free(sampler->logits);
    free(sampler->heap);
    free(sampler->kept);
    free(sampler->output_counts);
    free(sampler->seen);
    free(sampler);
}
