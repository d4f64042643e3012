/* model_recipe.h - small F32 models of any architecture, written for one test.
 *
 * Every weight is a function of its tensor's name and its index, so that naive_model.h
 * can compute the same model without the file.
 */
#ifndef ROPEWAY_TESTS_WORKER_MODEL_RECIPE_H
#define ROPEWAY_TESTS_WORKER_MODEL_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECIPE_LAYERS     7 /* gemma3's sixth layer is its first global one */
#define RECIPE_EMBEDDING  32
#define RECIPE_HEADS      4
#define RECIPE_KV_HEADS   2
#define RECIPE_KEY_LENGTH 12 /* no power of two, and not embedding / heads */
#define RECIPE_FORWARD    48
#define RECIPE_VOCABULARY 70 /* over a panel of 64 rows */
#define RECIPE_CONTEXT    256
#define RECIPE_EPSILON    1e-5f

struct model_recipe {
    const char *architecture;
    bool biases, head_norms, post_norms, tied;
    bool halves, gelu, scaled_embedding; /* what the oracle is to compute */
    uint32_t rotated;                    /* elements of a head; 0: all */
    uint32_t window, global_period;      /* 0: none */
    float base, local_base;
    float attention_softcap, logit_softcap;
    float epsilon;       /* 0: RECIPE_EPSILON */
    const char *scaling; /* rope.scaling.type, or NULL */
    float scaling_factor;
    bool rope_factors; /* rope_freqs.weight */

    /* Mistakes. */
    const char *missing; /* this tensor is left out */
    const char *longer;  /* this tensor has one column too many */
    const char *extra;   /* this tensor is added */
};

float recipe_weight(const char *tensor, uint64_t index);

/* Frequency divisors of rope_freqs.weight. */
float recipe_rope_factor(uint32_t pair);

/* Writes a new file under /tmp; path is a template that mkstemp fills. */
void recipe_write(const struct model_recipe *recipe, char *path);

#endif
