#include "worker/model/architecture.h"
#include <stddef.h>

/* llama is also what Mistral's and SmolLM2's files call themselves. Its files have query
 * and key rows permuted for rotation by pairs, the others have halves. */
static const struct architecture architectures[] = {
    {.name = "llama", .rope_style = ROPE_PAIRS, .activation = ACTIVATION_SILU},
    {.name = "qwen2", .rope_style = ROPE_HALVES, .activation = ACTIVATION_SILU},
    {.name = "qwen3",
     .rope_style = ROPE_HALVES,
     .activation = ACTIVATION_SILU,
     .head_norms = true},
    {.name = "gemma3",
     .rope_style = ROPE_HALVES,
     .activation = ACTIVATION_GELU_TANH,
     .head_norms = true,
     .post_norms = true,
     .scaled_embedding = true,
     .global_layer_period = 6},
};

#define ARCHITECTURES_COUNT (sizeof architectures / sizeof architectures[0])

const struct architecture *architecture_find(struct span name)
{
    for (size_t i = 0; i < ARCHITECTURES_COUNT; i++)
        if (span_equal(span_of(architectures[i].name), name))
            return &architectures[i];
    return NULL;
}

const char *architecture_names(void)
{
    return "llama, qwen2, qwen3, gemma3";
}
