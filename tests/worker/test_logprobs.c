/* Log-softmax and the order of its greatest. */
#include "worker/model/logprobs.h"
#include <criterion/criterion.h>
#include <math.h>

Test(logprobs, equal_values_stand_in_the_order_of_their_ids)
{
    const float logits[6] = {1, 2, 1, 2, 3, 2};
    struct logprob top[4];
    double normalizer = logprobs_normalizer(logits, 6);
    double right = log(exp(3) + 3 * exp(2) + 2 * exp(1));
    cr_assert_float_eq(normalizer, right, 1e-12);
    logprobs_top(logits, 6, normalizer, 4, top);
    const uint32_t ids[4] = {4, 1, 3, 5};
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(top[i].token, ids[i]);
        cr_assert_float_eq(top[i].value, logits[ids[i]] - right, 1e-6);
    }
}

Test(logprobs, fewer_tokens_than_asked_for_are_all_given)
{
    const float logits[2] = {0, 1};
    struct logprob top[4] = {{9, 9}, {9, 9}, {9, 9}, {9, 9}};
    logprobs_top(logits, 2, 0.0, 4, top);
    cr_assert_eq(top[0].token, 1);
    cr_assert_eq(top[1].token, 0);
    cr_assert_eq(top[2].token, 9);
}
