#include "tests/worker/naive_model.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define QUERIES   (RECIPE_HEADS * RECIPE_KEY_LENGTH)
#define KEYS      (RECIPE_KV_HEADS * RECIPE_KEY_LENGTH)
#define WIDEST    64
#define EMBEDDING RECIPE_EMBEDDING
#define LENGTH    RECIPE_KEY_LENGTH

static double cache[RECIPE_LAYERS][2][NAIVE_TOKENS_MAX][KEYS];

static const char *layer_name(uint32_t layer, const char *name)
{
    static char full[64];
    snprintf(full, sizeof full, "blk.%u.%s", layer, name);
    return full;
}

static void multiply(const char *tensor, const double *x, int inputs, int outputs,
                     double *out)
{
    for (int o = 0; o < outputs; o++) {
        out[o] = 0;
        for (int i = 0; i < inputs; i++)
            out[o] += x[i] * recipe_weight(tensor, (uint64_t)o * (uint64_t)inputs + i);
    }
}

static void add_bias(const char *tensor, double *x, int count)
{
    for (int i = 0; i < count; i++)
        x[i] += recipe_weight(tensor, i);
}

static void norm(const char *tensor, const double *x, int count, double *out)
{
    double squares = 0;
    for (int i = 0; i < count; i++)
        squares += x[i] * x[i];
    for (int i = 0; i < count; i++)
        out[i] = x[i] / sqrt(squares / count + RECIPE_EPSILON) * recipe_weight(tensor, i);
}

static bool is_local(const struct model_recipe *recipe, uint32_t layer)
{
    return recipe->global_period != 0 &&
           layer % recipe->global_period != recipe->global_period - 1;
}

static void rotate(const struct model_recipe *recipe, uint32_t layer, uint32_t position,
                   double *head)
{
    int dimensions = recipe->rotated != 0 ? (int)recipe->rotated : LENGTH;
    bool local = is_local(recipe, layer);
    double base = local ? (recipe->local_base != 0 ? recipe->local_base : 10000)
                        : (recipe->base != 0 ? recipe->base : 10000);
    for (int pair = 0; pair < dimensions / 2; pair++) {
        double frequency = pow(base, -2.0 * pair / dimensions);
        if (recipe->rope_factors && !local)
            frequency /= recipe_rope_factor(pair);
        if (recipe->scaling != NULL && strcmp(recipe->scaling, "linear") == 0 && !local)
            frequency /= recipe->scaling_factor;
        double s = sin(position * frequency), c = cos(position * frequency);
        double *x = recipe->halves ? &head[pair] : &head[2 * pair];
        double *y = recipe->halves ? &head[pair + dimensions / 2] : &head[2 * pair + 1];
        double turned = *x * c - *y * s;
        *y = *x * s + *y * c;
        *x = turned;
    }
}

static void prepare_heads(const struct model_recipe *recipe, uint32_t layer,
                          uint32_t position, const char *norm_name, double *heads,
                          int count)
{
    for (int head = 0; head < count; head++) {
        double *values = heads + head * LENGTH;
        if (recipe->head_norms)
            norm(layer_name(layer, norm_name), values, LENGTH, values);
        rotate(recipe, layer, position, values);
    }
}

static double capped(double x, double cap)
{
    return cap != 0 ? cap * tanh(x / cap) : x;
}

static void attend(const struct model_recipe *recipe, uint32_t layer, uint32_t position,
                   const double *queries, double *out)
{
    memset(out, 0, QUERIES * sizeof *out);
    for (int head = 0; head < RECIPE_HEADS; head++) {
        int shared = head / (RECIPE_HEADS / RECIPE_KV_HEADS) * LENGTH;
        double weights[NAIVE_TOKENS_MAX], total = 0;
        for (uint32_t t = 0; t <= position; t++) {
            double score = 0;
            for (int i = 0; i < LENGTH; i++)
                score += queries[head * LENGTH + i] * cache[layer][0][t][shared + i];
            bool hidden = is_local(recipe, layer) && position - t >= recipe->window;
            weights[t] =
                hidden ? 0 : exp(capped(score / sqrt(LENGTH), recipe->attention_softcap));
            total += weights[t];
        }
        for (uint32_t t = 0; t <= position; t++)
            for (int i = 0; i < LENGTH; i++)
                out[head * LENGTH + i] +=
                    weights[t] / total * cache[layer][1][t][shared + i];
    }
}

static void run_attention(const struct model_recipe *recipe, uint32_t layer,
                          uint32_t position, const double *x, double *out)
{
    double queries[QUERIES], attended[QUERIES];
    double *keys = cache[layer][0][position], *values = cache[layer][1][position];
    multiply(layer_name(layer, "attn_q.weight"), x, EMBEDDING, QUERIES, queries);
    multiply(layer_name(layer, "attn_k.weight"), x, EMBEDDING, KEYS, keys);
    multiply(layer_name(layer, "attn_v.weight"), x, EMBEDDING, KEYS, values);
    if (recipe->biases) {
        add_bias(layer_name(layer, "attn_q.bias"), queries, QUERIES);
        add_bias(layer_name(layer, "attn_k.bias"), keys, KEYS);
        add_bias(layer_name(layer, "attn_v.bias"), values, KEYS);
    }
    prepare_heads(recipe, layer, position, "attn_q_norm.weight", queries, RECIPE_HEADS);
    prepare_heads(recipe, layer, position, "attn_k_norm.weight", keys, RECIPE_KV_HEADS);
    attend(recipe, layer, position, queries, attended);
    multiply(layer_name(layer, "attn_output.weight"), attended, QUERIES, EMBEDDING, out);
    if (recipe->biases)
        add_bias(layer_name(layer, "attn_output.bias"), out, EMBEDDING);
    if (recipe->post_norms)
        norm(layer_name(layer, "post_attention_norm.weight"), out, EMBEDDING, out);
}

static double activated(const struct model_recipe *recipe, double x)
{
    if (recipe->gelu)
        return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    return x / (1 + exp(-x));
}

static void run_feed_forward(const struct model_recipe *recipe, uint32_t layer,
                             const double *x, double *out)
{
    double gate[RECIPE_FORWARD], up[RECIPE_FORWARD];
    multiply(layer_name(layer, "ffn_gate.weight"), x, EMBEDDING, RECIPE_FORWARD, gate);
    multiply(layer_name(layer, "ffn_up.weight"), x, EMBEDDING, RECIPE_FORWARD, up);
    for (int i = 0; i < RECIPE_FORWARD; i++)
        gate[i] = activated(recipe, gate[i]) * up[i];
    multiply(layer_name(layer, "ffn_down.weight"), gate, RECIPE_FORWARD, EMBEDDING, out);
    if (recipe->post_norms)
        norm(layer_name(layer, "post_ffw_norm.weight"), out, EMBEDDING, out);
}

static void run_position(const struct model_recipe *recipe, uint32_t token,
                         uint32_t position, double *hidden)
{
    double normed[WIDEST], added[WIDEST];
    for (int i = 0; i < EMBEDDING; i++)
        hidden[i] = recipe_weight("token_embd.weight", token * EMBEDDING + i) *
                    (recipe->scaled_embedding ? sqrt(EMBEDDING) : 1);
    for (uint32_t layer = 0; layer < RECIPE_LAYERS; layer++) {
        norm(layer_name(layer, "attn_norm.weight"), hidden, EMBEDDING, normed);
        run_attention(recipe, layer, position, normed, added);
        for (int i = 0; i < EMBEDDING; i++)
            hidden[i] += added[i];
        norm(layer_name(layer, "ffn_norm.weight"), hidden, EMBEDDING, normed);
        run_feed_forward(recipe, layer, normed, added);
        for (int i = 0; i < EMBEDDING; i++)
            hidden[i] += added[i];
    }
}

void naive_logits(const struct model_recipe *recipe, const uint32_t *tokens,
                  uint32_t tokens_count, double *logits)
{
    double hidden[WIDEST] = {0};
    for (uint32_t position = 0; position < tokens_count; position++)
        run_position(recipe, tokens[position], position, hidden);
    norm("output_norm.weight", hidden, EMBEDDING, hidden);
    multiply(recipe->tied ? "token_embd.weight" : "output.weight", hidden, EMBEDDING,
             RECIPE_VOCABULARY, logits);
    for (int i = 0; i < RECIPE_VOCABULARY; i++)
        logits[i] = capped(logits[i], recipe->logit_softcap);
}
