#include "worker/model/logprobs.h"
#include "worker/math/scalar.h"
#include "worker/math/vector.h"

double logprobs_normalizer(const float *logits, uint32_t vocabulary_count)
{
    double most = vector_most(logits, vocabulary_count);
    double sum = 0.0;
    for (uint32_t i = 0; i < vocabulary_count; i++)
        sum += scalar_exp_double(logits[i] - most);
    return most + scalar_log(sum);
}

/* Keeps the list sorted by insertion: ids come ascending, so an equal value goes behind.
 */
static void insert(struct logprob *top, uint32_t held, uint32_t token, float logit)
{
    uint32_t place = held;
    while (place > 0 && top[place - 1].value < logit) {
        top[place] = top[place - 1];
        place--;
    }
    top[place] = (struct logprob){token, logit};
}

void logprobs_top(const float *logits, uint32_t vocabulary_count, double normalizer,
                  uint32_t count, struct logprob *top)
{
    uint32_t held = 0;
    for (uint32_t i = 0; i < vocabulary_count && count > 0; i++) {
        if (held < count)
            insert(top, held++, i, logits[i]);
        else if (logits[i] > top[count - 1].value)
            insert(top, count - 1, i, logits[i]);
    }
    for (uint32_t i = 0; i < held; i++)
        top[i].value = (float)(top[i].value - normalizer);
}
