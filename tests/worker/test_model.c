/* Every row of the architectures' table against the textbook, and what a file is refused
 * for. */
#include "tests/worker/naive_model.h"
#include "worker/model/engine.h"
#include "worker/model/model.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define TOKENS 75 /* more than a group of positions, and more than the window */
#define WINDOW 9

static const struct model_recipe llama = {.architecture = "llama"};
static const struct model_recipe gemma3 = {.architecture = "gemma3",
                                           .head_norms = true,
                                           .post_norms = true,
                                           .tied = true,
                                           .halves = true,
                                           .gelu = true,
                                           .scaled_embedding = true,
                                           .window = WINDOW,
                                           .global_period = 6,
                                           .base = 1000000.0f};

struct comparison {
    double right[RECIPE_VOCABULARY];
    double worst;
};

static void compare_last(void *context, uint32_t row, const float *logits)
{
    struct comparison *comparison = context;
    for (uint32_t i = 0; i < RECIPE_VOCABULARY && row == TOKENS - 1; i++)
        comparison->worst =
            fmax(comparison->worst, fabs(logits[i] - comparison->right[i]));
}

static void check_logits(const struct model_recipe *recipe)
{
    char path[] = "/tmp/ropeway-test-model-XXXXXX";
    uint32_t tokens[TOKENS];
    struct comparison comparison = {.worst = 0};
    struct engine_options options = {.model_path = path,
                                     .threads_count = 2,
                                     .step_rows_max = TOKENS,
                                     .step_sequences_max = 1,
                                     .context_length = TOKENS};
    struct engine *engine = NULL;
    struct fault fault;
    for (uint32_t i = 0; i < TOKENS; i++)
        tokens[i] = (i * i + 3 * i) % RECIPE_VOCABULARY;
    recipe_write(recipe, path);
    enum status status = engine_open(&engine, &options, &fault);
    unlink(path);
    cr_assert_eq(status, STATUS_OK, "%s", fault.sentence);
    naive_logits(recipe, tokens, TOKENS, comparison.right);
    cr_assert_eq(engine_logits(engine, tokens, TOKENS, compare_last, &comparison, &fault),
                 STATUS_OK);
    cr_assert_lt(comparison.worst, 2e-4, "%s: worst difference %g", recipe->architecture,
                 comparison.worst);
    cr_assert_gt(comparison.worst, 0.0); /* floats were compared with doubles */
    engine_close(engine);
}

Test(architecture, llama_is_the_textbooks)
{
    check_logits(&llama);
}

Test(architecture, llama_with_few_turned_elements_and_a_tied_head_is_the_textbooks)
{
    struct model_recipe recipe = llama;
    recipe.rotated = 8;
    recipe.tied = true;
    recipe.base = 500000.0f;
    check_logits(&recipe);
}

Test(architecture, llama_with_scaled_rotations_is_the_textbooks)
{
    struct model_recipe recipe = llama;
    recipe.scaling = "linear";
    recipe.scaling_factor = 4.0f;
    check_logits(&recipe);
    recipe.scaling = "none";
    recipe.rope_factors = true;
    check_logits(&recipe);
}

Test(architecture, qwen2_with_biases_is_the_textbooks)
{
    const struct model_recipe recipe = {
        .architecture = "qwen2", .biases = true, .halves = true, .base = 1000000.0f};
    check_logits(&recipe);
}

Test(architecture, qwen3_with_normed_heads_is_the_textbooks)
{
    const struct model_recipe recipe = {.architecture = "qwen3",
                                        .head_norms = true,
                                        .halves = true,
                                        .tied = true,
                                        .base = 1000000.0f};
    check_logits(&recipe);
}

Test(architecture, gemma3_with_windows_is_the_textbooks)
{
    check_logits(&gemma3);
}

Test(architecture, gemma3_scales_the_rotation_of_global_layers_only)
{
    struct model_recipe recipe = gemma3;
    recipe.scaling = "linear";
    recipe.scaling_factor = 8.0f;
    recipe.local_base = 5000.0f;
    check_logits(&recipe);
}

Test(architecture, softcaps_are_the_textbooks)
{
    struct model_recipe recipe = gemma3;
    recipe.attention_softcap = 2.0f;
    recipe.logit_softcap = 3.0f;
    check_logits(&recipe);
}

/* --- refusals ----------------------------------------------------------------------- */

static enum status open_recipe(const struct model_recipe *recipe, struct model *model,
                               struct fault *fault)
{
    char path[] = "/tmp/ropeway-test-model-XXXXXX";
    recipe_write(recipe, path);
    enum status status = model_open(model, path, fault);
    unlink(path);
    return status;
}

static void check_refused(const struct model_recipe *recipe, enum status status,
                          const char *named)
{
    struct model model;
    struct fault fault;
    cr_assert_eq(open_recipe(recipe, &model, &fault), status, "%s", fault.sentence);
    cr_assert_not_null(strstr(fault.sentence, named), "%s", fault.sentence);
    cr_assert_null(model.gguf);
}

Test(model, an_unknown_architecture_is_named)
{
    const struct model_recipe recipe = {.architecture = "mamba"};
    check_refused(&recipe, STATUS_UNSUPPORTED, "\"mamba\"");
}

Test(model, numbers_that_would_spread_as_nan_are_named)
{
    const float bad[] = {-1e-5f, NAN, INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct model_recipe recipe = llama;
        recipe.epsilon = bad[i];
        check_refused(&recipe, STATUS_CORRUPT, "layer_norm_rms_epsilon");
        recipe = gemma3;
        recipe.attention_softcap = bad[i];
        check_refused(&recipe, STATUS_CORRUPT, "attn_logit_softcapping");
    }
}

Test(model, a_missing_tensor_is_named)
{
    const char *names[] = {"token_embd.weight", "output_norm.weight",
                           "blk.0.attn_q.weight", "blk.6.ffn_down.weight",
                           "blk.3.ffn_norm.weight"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct model_recipe recipe = llama;
        recipe.missing = names[i];
        check_refused(&recipe, STATUS_CORRUPT, names[i]);
    }
    struct model_recipe recipe = gemma3;
    recipe.missing = "blk.2.post_ffw_norm.weight";
    check_refused(&recipe, STATUS_CORRUPT, recipe.missing);
    recipe.missing = "blk.5.attn_k_norm.weight";
    check_refused(&recipe, STATUS_CORRUPT, recipe.missing);
}

Test(model, a_tensor_of_other_lengths_is_named_with_both)
{
    struct model_recipe recipe = llama;
    recipe.longer = "blk.1.attn_v.weight";
    check_refused(&recipe, STATUS_CORRUPT,
                  "blk.1.attn_v.weight is 33 x 24 x 1 x 1; its metadata ask for 32 x 24");
    recipe.longer = "blk.4.attn_norm.weight";
    check_refused(&recipe, STATUS_CORRUPT, "blk.4.attn_norm.weight is 33 x 1");
    recipe.longer = "output.weight";
    check_refused(&recipe, STATUS_CORRUPT, "output.weight is 33 x 70");
}

Test(model, an_unknown_rotation_scaling_is_refused_by_its_name)
{
    struct model_recipe recipe = llama;
    recipe.scaling = "longrope";
    recipe.scaling_factor = 2.0f;
    check_refused(&recipe, STATUS_UNSUPPORTED, "\"longrope\"");
}

Test(model, a_rotation_scaling_without_a_sound_factor_is_refused)
{
    struct model_recipe recipe = llama;
    recipe.scaling = "linear";
    check_refused(&recipe, STATUS_NOT_FOUND, "rope.scaling.factor");
    recipe.scaling_factor = -1.0f;
    check_refused(&recipe, STATUS_CORRUPT, "rope.scaling");
}

Test(model, rotated_elements_must_be_even_and_within_a_head)
{
    struct model_recipe recipe = llama;
    recipe.rotated = 14;
    check_refused(&recipe, STATUS_CORRUPT, "rope.dimension_count is 14");
    recipe.rotated = 7;
    check_refused(&recipe, STATUS_CORRUPT, "rope.dimension_count is 7");
}

Test(model, a_rotation_base_must_be_above_1)
{
    struct model_recipe recipe = llama;
    recipe.base = 0.5f;
    check_refused(&recipe, STATUS_CORRUPT, "rope.freq_base");
    recipe.base = NAN;
    check_refused(&recipe, STATUS_CORRUPT, "rope.freq_base");
}

Test(model, rope_factors_must_be_one_a_pair)
{
    struct model_recipe recipe = llama;
    recipe.rope_factors = true;
    recipe.longer = "rope_freqs.weight";
    check_refused(&recipe, STATUS_CORRUPT, "rope_freqs.weight");
}

Test(model, windows_need_their_length)
{
    struct model_recipe recipe = gemma3;
    recipe.window = 0;
    check_refused(&recipe, STATUS_NOT_FOUND, "gemma3.attention.sliding_window");
}

Test(model, extra_tensors_are_let_be)
{
    struct model model;
    struct fault fault;
    struct model_recipe recipe = llama;
    recipe.extra = "blk.0.attn_rot_embd.weight";
    cr_assert_eq(open_recipe(&recipe, &model, &fault), STATUS_OK, "%s", fault.sentence);
    cr_assert_eq(model.head.outputs_count, RECIPE_VOCABULARY);
    model_close(&model);
}
