#include "tests/worker/model_recipe.h"
#include "common/base/invariant.h"
#include "common/base/rng.h"
#include "tools/tiny/gguf_writer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_BYTES_MAX (4u << 20)
#define NAME_BYTES     64

struct maker {
    const struct model_recipe *recipe;
    struct gguf_writer writer;
};

static uint32_t name_stream(const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

/* Norms are about 1, all others about 0. */
float recipe_weight(const char *tensor, uint64_t index)
{
    float uniform = rng_uniform(11, name_stream(tensor), (uint32_t)index, 0);
    return strstr(tensor, "norm") != NULL ? 0.5f + uniform : uniform - 0.5f;
}

float recipe_rope_factor(uint32_t pair)
{
    return 1.0f + 0.5f * (float)pair;
}

static void append_weights(struct maker *maker, const char *name, uint64_t count)
{
    bool is_factors = strcmp(name, "rope_freqs.weight") == 0;
    for (uint64_t i = 0; i < count; i++) {
        float weight =
            is_factors ? recipe_rope_factor((uint32_t)i) : recipe_weight(name, i);
        buffer_append(&maker->writer.data, &weight, sizeof weight);
    }
}

static void add_tensor(struct maker *maker, const char *name, uint64_t columns,
                       uint64_t rows)
{
    const struct model_recipe *recipe = maker->recipe;
    if (recipe->missing != NULL && strcmp(name, recipe->missing) == 0)
        return;
    if (recipe->longer != NULL && strcmp(name, recipe->longer) == 0)
        columns++;
    gguf_writer_tensor(&maker->writer, name, GGUF_TYPE_F32, columns, rows);
    append_weights(maker, name, columns * (rows == 0 ? 1 : rows));
}

static void add_layer_tensor(struct maker *maker, uint32_t layer, const char *name,
                             uint64_t columns, uint64_t rows)
{
    char full[NAME_BYTES];
    snprintf(full, sizeof full, "blk.%u.%s", layer, name);
    add_tensor(maker, full, columns, rows);
}

static void add_layer(struct maker *maker, uint32_t layer)
{
    const struct model_recipe *recipe = maker->recipe;
    const uint64_t queries = RECIPE_HEADS * RECIPE_KEY_LENGTH;
    const uint64_t keys = RECIPE_KV_HEADS * RECIPE_KEY_LENGTH;
    add_layer_tensor(maker, layer, "attn_norm.weight", RECIPE_EMBEDDING, 0);
    add_layer_tensor(maker, layer, "attn_q.weight", RECIPE_EMBEDDING, queries);
    add_layer_tensor(maker, layer, "attn_k.weight", RECIPE_EMBEDDING, keys);
    add_layer_tensor(maker, layer, "attn_v.weight", RECIPE_EMBEDDING, keys);
    add_layer_tensor(maker, layer, "attn_output.weight", queries, RECIPE_EMBEDDING);
    add_layer_tensor(maker, layer, "ffn_norm.weight", RECIPE_EMBEDDING, 0);
    add_layer_tensor(maker, layer, "ffn_gate.weight", RECIPE_EMBEDDING, RECIPE_FORWARD);
    add_layer_tensor(maker, layer, "ffn_up.weight", RECIPE_EMBEDDING, RECIPE_FORWARD);
    add_layer_tensor(maker, layer, "ffn_down.weight", RECIPE_FORWARD, RECIPE_EMBEDDING);
    if (recipe->biases) {
        add_layer_tensor(maker, layer, "attn_q.bias", queries, 0);
        add_layer_tensor(maker, layer, "attn_k.bias", keys, 0);
        add_layer_tensor(maker, layer, "attn_v.bias", keys, 0);
        add_layer_tensor(maker, layer, "attn_output.bias", RECIPE_EMBEDDING, 0);
    }
    if (recipe->head_norms) {
        add_layer_tensor(maker, layer, "attn_q_norm.weight", RECIPE_KEY_LENGTH, 0);
        add_layer_tensor(maker, layer, "attn_k_norm.weight", RECIPE_KEY_LENGTH, 0);
    }
    if (recipe->post_norms) {
        add_layer_tensor(maker, layer, "post_attention_norm.weight", RECIPE_EMBEDDING, 0);
        add_layer_tensor(maker, layer, "post_ffw_norm.weight", RECIPE_EMBEDDING, 0);
    }
}

static uint32_t rotated(const struct model_recipe *recipe)
{
    return recipe->rotated != 0 ? recipe->rotated : RECIPE_KEY_LENGTH;
}

static void add_tensors(struct maker *maker)
{
    const struct model_recipe *recipe = maker->recipe;
    add_tensor(maker, "token_embd.weight", RECIPE_EMBEDDING, RECIPE_VOCABULARY);
    for (uint32_t layer = 0; layer < RECIPE_LAYERS; layer++)
        add_layer(maker, layer);
    add_tensor(maker, "output_norm.weight", RECIPE_EMBEDDING, 0);
    if (!recipe->tied)
        add_tensor(maker, "output.weight", RECIPE_EMBEDDING, RECIPE_VOCABULARY);
    if (recipe->rope_factors)
        add_tensor(maker, "rope_freqs.weight", rotated(recipe) / 2, 0);
    if (recipe->extra != NULL)
        add_tensor(maker, recipe->extra, RECIPE_EMBEDDING, 0);
}

static const char *full_key(const struct maker *maker, const char *name)
{
    static char key[NAME_BYTES];
    snprintf(key, sizeof key, "%s.%s", maker->recipe->architecture, name);
    return key;
}

static void add_u32(struct maker *maker, const char *name, uint32_t value)
{
    gguf_writer_u32(&maker->writer, full_key(maker, name), value);
}

/* 0 stands for an absent key. */
static void add_f32(struct maker *maker, const char *name, float value)
{
    if (value != 0.0f)
        gguf_writer_f32(&maker->writer, full_key(maker, name), value);
}

static void add_metadata(struct maker *maker)
{
    const struct model_recipe *recipe = maker->recipe;
    gguf_writer_string(&maker->writer, "general.architecture", recipe->architecture);
    add_u32(maker, "block_count", RECIPE_LAYERS);
    add_u32(maker, "context_length", RECIPE_CONTEXT);
    add_u32(maker, "embedding_length", RECIPE_EMBEDDING);
    add_u32(maker, "feed_forward_length", RECIPE_FORWARD);
    add_u32(maker, "attention.head_count", RECIPE_HEADS);
    add_u32(maker, "attention.head_count_kv", RECIPE_KV_HEADS);
    add_u32(maker, "attention.key_length", RECIPE_KEY_LENGTH);
    add_u32(maker, "attention.value_length", RECIPE_KEY_LENGTH);
    add_u32(maker, "vocab_size", RECIPE_VOCABULARY);
    add_f32(maker, "attention.layer_norm_rms_epsilon",
            recipe->epsilon == 0 ? RECIPE_EPSILON : recipe->epsilon);
    add_f32(maker, "rope.freq_base", recipe->base);
    add_f32(maker, "rope.freq_base_swa", recipe->local_base);
    add_f32(maker, "attn_logit_softcapping", recipe->attention_softcap);
    add_f32(maker, "final_logit_softcapping", recipe->logit_softcap);
    if (recipe->rotated != 0)
        add_u32(maker, "rope.dimension_count", recipe->rotated);
    if (recipe->window != 0)
        add_u32(maker, "attention.sliding_window", recipe->window);
    if (recipe->scaling != NULL) {
        gguf_writer_string(&maker->writer, full_key(maker, "rope.scaling.type"),
                           recipe->scaling);
        add_f32(maker, "rope.scaling.factor", recipe->scaling_factor);
    }
}

void recipe_write(const struct model_recipe *recipe, char *path)
{
    struct maker maker = {.recipe = recipe};
    struct buffer file;
    gguf_writer_init(&maker.writer);
    add_metadata(&maker);
    add_tensors(&maker);
    buffer_init(&file, FILE_BYTES_MAX);
    gguf_writer_finish(&maker.writer, &file);
    int descriptor = mkstemp(path);
    INVARIANT(descriptor >= 0 && !file.failed);
    INVARIANT(write(descriptor, file.data, file.size) == (ssize_t)file.size);
    close(descriptor);
    buffer_fini(&file);
    gguf_writer_fini(&maker.writer);
}
