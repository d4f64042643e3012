/* naive_model.h - a recipe's logits by the textbook, in double, one position at a time.
 */
#ifndef ROPEWAY_TESTS_WORKER_NAIVE_MODEL_H
#define ROPEWAY_TESTS_WORKER_NAIVE_MODEL_H

#include "tests/worker/model_recipe.h"

#define NAIVE_TOKENS_MAX 96

/* Logits of the last of tokens_count tokens: logits[RECIPE_VOCABULARY]. */
void naive_logits(const struct model_recipe *recipe, const uint32_t *tokens,
                  uint32_t tokens_count, double *logits);

#endif
