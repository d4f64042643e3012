/* model_rotation.c - the rotary embedding that a file asks for.
 *
 * Keys: rope.dimension_count, rope.freq_base (of local layers: rope.freq_base_swa),
 * rope.scaling.type (none, linear, yarn), .factor, .attn_factor,
 * .original_context_length, .yarn_beta_fast, .yarn_beta_slow. Llama 3.1 gives its scaling
 * as a tensor, rope_freqs.weight, that divides each pair's frequency. Scaling is for
 * layers that see the whole context: local layers turn unscaled.
 */
#include "worker/math/quant.h"
#include "worker/math/rope.h"
#include "worker/model/model_keys.h"

#define FREQUENCY_BASE_DEFAULT 10000.0f /* RoFormer's */

static enum status scaling_type(const struct model *model, enum rope_scaling *scaling,
                                struct fault *fault)
{
    struct span name = SPAN_LITERAL("none");
    enum status status =
        model_key_string(model, "rope.scaling.type", KEY_OPTIONAL, &name, fault);
    if (status != STATUS_OK)
        return status;
    if (span_equal(name, SPAN_LITERAL("none")))
        *scaling = ROPE_SCALING_NONE;
    else if (span_equal(name, SPAN_LITERAL("linear")))
        *scaling = ROPE_SCALING_LINEAR;
    else if (span_equal(name, SPAN_LITERAL("yarn")))
        *scaling = ROPE_SCALING_YARN;
    else
        return fault_set(fault, STATUS_UNSUPPORTED, "model",
                         "%s: rope.scaling.type is \"%.*s\"; none, linear and yarn are "
                         "supported",
                         gguf_path(model->gguf), (int)name.size, name.data);
    return STATUS_OK;
}

static enum status read_scaling(const struct model *model,
                                struct rope_parameters *parameters, struct fault *fault)
{
    float factor = 1.0f, attention = 1.0f, fast = 32.0f, slow = 1.0f;
    uint32_t original = model->shape.context_length;
    enum status status = scaling_type(model, &parameters->scaling, fault);
    if (status != STATUS_OK || parameters->scaling == ROPE_SCALING_NONE)
        return status;
    if ((status = model_key_f32(model, "rope.scaling.factor", KEY_NEEDED, &factor,
                                fault)) != STATUS_OK ||
        (status = model_key_f32(model, "rope.scaling.attn_factor", KEY_OPTIONAL,
                                &attention, fault)) != STATUS_OK ||
        (status = model_key_f32(model, "rope.scaling.yarn_beta_fast", KEY_OPTIONAL, &fast,
                                fault)) != STATUS_OK ||
        (status = model_key_f32(model, "rope.scaling.yarn_beta_slow", KEY_OPTIONAL, &slow,
                                fault)) != STATUS_OK ||
        (status = model_key_u32(model, "rope.scaling.original_context_length",
                                KEY_OPTIONAL, &original, fault)) != STATUS_OK)
        return status;
    /* Also refuses NaN. */
    if (!(factor > 0.0f) || !(fast > 0.0f) || !(slow > 0.0f) || original == 0)
        return fault_set(fault, STATUS_CORRUPT, "model",
                         "%s: rope.scaling.* must be above 0", gguf_path(model->gguf));
    parameters->factor = factor;
    parameters->attention_factor = attention;
    parameters->beta_fast = fast;
    parameters->beta_slow = slow;
    parameters->original_context_length = original;
    return STATUS_OK;
}

static enum status read_factors(const struct model *model, uint32_t pairs_count,
                                float *factors, const float **used, struct fault *fault)
{
    const struct gguf_tensor *tensor = gguf_find_tensor(model->gguf, "rope_freqs.weight");
    *used = NULL;
    if (tensor == NULL)
        return STATUS_OK;
    if (tensor->type != GGUF_TYPE_F32 || tensor->dimensions_count != 1 ||
        tensor->dimensions[0] != pairs_count)
        return fault_set(fault, STATUS_CORRUPT, "model",
                         "%s: tensor rope_freqs.weight must be %u values of F32",
                         gguf_path(model->gguf), pairs_count);
    quant_dequantize(tensor->type, tensor->data, pairs_count, factors);
    for (uint32_t i = 0; i < pairs_count; i++)
        if (!(factors[i] > 0.0f))
            return fault_set(fault, STATUS_CORRUPT, "model",
                             "%s: tensor rope_freqs.weight has a value not above 0",
                             gguf_path(model->gguf));
    *used = factors;
    return STATUS_OK;
}

static enum status read_dimensions(struct model *model, uint32_t *dimensions,
                                   struct fault *fault)
{
    *dimensions = model->shape.key_length;
    enum status status =
        model_key_u32(model, "rope.dimension_count", KEY_OPTIONAL, dimensions, fault);
    if (status != STATUS_OK)
        return status;
    if (*dimensions == 0 || *dimensions % 2 != 0 || *dimensions > model->shape.key_length)
        return fault_set(
            fault, STATUS_CORRUPT, "model",
            "%s: rope.dimension_count is %u; it must be even and at most the "
            "head's %u",
            gguf_path(model->gguf), *dimensions, model->shape.key_length);
    model->rotated_pairs_count = *dimensions / 2;
    return STATUS_OK;
}

static enum status read_base(const struct model *model, const char *key, double *base,
                             struct fault *fault)
{
    float value = FREQUENCY_BASE_DEFAULT;
    enum status status = model_key_f32(model, key, KEY_OPTIONAL, &value, fault);
    if (status == STATUS_OK && !(value > 1.0f && value < 1e30f))
        return fault_set(fault, STATUS_CORRUPT, "model", "%s: %s must be above 1",
                         gguf_path(model->gguf), key);
    *base = value;
    return status;
}

static void set_rotation(struct rotation *rotation,
                         const struct rope_parameters *parameters)
{
    rotation->magnitude = rope_frequencies(parameters, rotation->frequencies);
}

enum status model_read_rotations(struct model *model, struct fault *fault)
{
    struct rope_parameters global = {0}, local = {0};
    float factors[MODEL_KEY_LENGTH_MAX / 2];
    enum status status;
    if ((status = read_dimensions(model, &global.dimensions_count, fault)) != STATUS_OK ||
        (status = read_base(model, "rope.freq_base", &global.base, fault)) != STATUS_OK ||
        (status = read_base(model, "rope.freq_base_swa", &local.base, fault)) !=
            STATUS_OK ||
        (status = read_scaling(model, &global, fault)) != STATUS_OK ||
        (status = read_factors(model, global.dimensions_count / 2, factors,
                               &global.factors, fault)) != STATUS_OK)
        return status;
    local.dimensions_count = global.dimensions_count;
    set_rotation(&model->rotations[ROTATION_GLOBAL], &global);
    set_rotation(&model->rotations[ROTATION_LOCAL], &local);
    model->rotations_count = model->architecture->global_layer_period == 0 ? 1 : 2;
    return STATUS_OK;
}
