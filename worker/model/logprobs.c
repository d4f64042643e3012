#include "worker/model/logprobs.h"
#include "worker/math/scalar.h"
#include "worker/math/vector.h"

/* Exponentials computed at once, as vectors; their sum is in ascending order of ids. */
#define RUN 256

double logprobs_normalizer(const float *logits, uint32_t vocabulary_count)
{
    double run[RUN], sum = 0.0, most = vector_most(logits, vocabulary_count);
    for (uint32_t first = 0; first < vocabulary_count; first += RUN) {
        uint32_t left = vocabulary_count - first;
        uint32_t count = left < RUN ? left : RUN;
        for (uint32_t i = 0; i < count; i++)
            run[i] = scalar_exp_double(logits[first + i] - most);
        for (uint32_t i = 0; i < count; i++)
            sum += run[i];
    }
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
