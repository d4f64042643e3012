/* sampler.h - from a row's raw logits to its token, and the logprobs beside it.
 *
 * Layer:   worker/model (pure; no libm).
 * Order:   logit bias, barred end tokens (min_tokens), penalties, temperature, top-k,
 *          top-p, min-p, draw. Every order is by value, greatest first, and ties by the
 *          lowest id. The three cuts each keep a beginning of that order: top-k its first
 *          k; top-p the shortest one whose share of what top-k kept reaches top_p; min-p
 *          the tokens at least min_p as likely as the first. At least one is kept.
 * Chance:  rng_uniform(seed, choice, position, 0), walked along the kept tokens' weights.
 * Cost:    one pass over the vocabulary, and a heap from which as many tokens are taken
 *          as the cuts and the draw need.
 * Bytes:   depend on the logits, the parameters and the tokens before, not on a state.
 */
#ifndef ROPEWAY_WORKER_MODEL_SAMPLER_H
#define ROPEWAY_WORKER_MODEL_SAMPLER_H

#include "proto/kv_layout.h"

/* Temperatures below this are greedy: dividing by less would only overflow. */
#define SAMPLER_GREEDY_TEMPERATURE 1e-5f

struct sampler_task {
    const float *logits; /* [vocabulary], raw */
    const struct sampling *sampling;
    uint32_t choice;
    /* The sequence so far: tokens_before of the record, then the newest, which may not be
     * in the record yet. All ids are below the vocabulary's count. */
    const uint32_t *tokens;
    uint32_t tokens_before;
    uint32_t newest;
    uint32_t prompt_tokens_count;
    const struct logit_bias *logit_bias;
    uint32_t logit_bias_count;
    const uint32_t *stop_tokens;
    uint32_t stop_tokens_count;
};

/* One thread's scratch. */
struct sampler;

enum status sampler_create(struct sampler **sampler, uint32_t vocabulary_count,
                           struct fault *fault);
void sampler_destroy(struct sampler *sampler);

/* STATUS_OK with the token, and where the parameters ask for them the logprobs: the
 * token's own, then top_logprobs of the best. STATUS_INTERNAL where a logit is not finite
 * or every token is barred; token is untouched then. */
enum status sampler_run(struct sampler *sampler, const struct sampler_task *task,
                        uint32_t *token, struct logprob *logprobs);

#endif
