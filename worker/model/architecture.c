#include "worker/model/architecture.h"
#include <stddef.h>

/* llama is also what Mistral's and SmolLM2's files call themselves. Its files have query
 * and key rows permuted for rotation by pairs, the others have halves. Gemma 3 27B, told
 * by its 62 layers, scales scores otherwise than the smaller ones (the model's report,
 * and its reference code). */
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
     .global_layer_period = 6,
     .embedding_scale_layers_count = 62},
};

#define ARCHITECTURES_COUNT (sizeof architectures / sizeof architectures[0])

const struct architecture *architecture_find(struct span name)
{
    for (size_t i = 0; i < ARCHITECTURES_COUNT; i++)
        if (span_equal(span_of(architectures[i].name), name))
            return &architectures[i];
    return NULL;
}

const char *architecture_name_at(size_t index)
{
    return index < ARCHITECTURES_COUNT ? architectures[index].name : NULL;
}
