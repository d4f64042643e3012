/* logprobs.h - natural log-softmax of raw logits, in double.
 *
 * Layer:   worker/model (pure; no libm).
 */
#ifndef ROPEWAY_WORKER_MODEL_LOGPROBS_H
#define ROPEWAY_WORKER_MODEL_LOGPROBS_H

#include "proto/kv_layout.h"

/* ln of the sum of e^logit: a token's logprob is its logit less this. Logits are finite.
 */
double logprobs_normalizer(const float *logits, uint32_t vocabulary_count);

/* The count <= TOP_LOGPROBS_MAX greatest, in descending order, ties by the lowest id. */
void logprobs_top(const float *logits, uint32_t vocabulary_count, double normalizer,
                  uint32_t count, struct logprob *top);

#endif
