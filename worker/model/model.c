#include "worker/model/model.h"
#include "common/base/names.h"
#include "worker/model/model_keys.h"
#include <float.h>
#include <stdlib.h>
#include <string.h>

#define ARCHITECTURE_NAMES_BYTES 256

static float attention_scale(const struct model *model)
{
    const struct model_shape *shape = &model->shape;
    float length = (float)shape->key_length;
    if (shape->layers_count == model->architecture->embedding_scale_layers_count)
        length = (float)shape->embedding_length / (float)shape->heads_count;
    return 1.0f / __builtin_sqrtf(length);
}

static enum status check_shape(const struct model *model, struct fault *fault)
{
    const struct model_shape *shape = &model->shape;
    if (shape->key_length > MODEL_KEY_LENGTH_MAX)
        return fault_set(fault, STATUS_UNSUPPORTED, "model",
                         "%s has heads of %u elements; at most %u are supported",
                         gguf_path(model->gguf), shape->key_length, MODEL_KEY_LENGTH_MAX);
    if (shape->heads_count % shape->kv_heads_count != 0)
        return fault_set(fault, STATUS_CORRUPT, "model",
                         "%s has %u query heads, no multiple of its %u key heads",
                         gguf_path(model->gguf), shape->heads_count,
                         shape->kv_heads_count);
    return STATUS_OK;
}

static enum status read_windows(struct model *model, struct fault *fault)
{
    uint32_t period = model->architecture->global_layer_period;
    if (period == 0)
        return STATUS_OK;
    uint32_t window = 0;
    enum status status =
        model_key_u32(model, "attention.sliding_window", KEY_NEEDED, &window, fault);
    if (status != STATUS_OK)
        return status;
    for (uint32_t i = 0; i < model->shape.layers_count; i++) {
        bool local = i % period < period - 1;
        model->layers[i].window = local ? window : 0;
        model->layers[i].rotation = local ? ROTATION_LOCAL : ROTATION_GLOBAL;
    }
    return STATUS_OK;
}

/* A number that makes no value infinite or NaN, or 0 where that means off. */
static enum status read_number(const struct model *model, const char *name,
                               enum key_presence presence, float *value,
                               struct fault *fault)
{
    enum status status = model_key_f32(model, name, presence, value, fault);
    bool off_allowed = presence == KEY_OPTIONAL;
    if (status != STATUS_OK || (*value > 0 && *value <= FLT_MAX) ||
        (off_allowed && *value == 0))
        return status;
    return fault_set(fault, STATUS_CORRUPT, "model",
                     "%s: key '%s' is %g; it must be finite and above 0",
                     gguf_path(model->gguf), name, (double)*value);
}

static enum status read_numbers(struct model *model, struct fault *fault)
{
    model->embedding_scale = 1.0f;
    if (model->architecture->scaled_embedding)
        model->embedding_scale = __builtin_sqrtf((float)model->shape.embedding_length);
    model->attention_scale = attention_scale(model);
    enum status status = read_number(model, "attention.layer_norm_rms_epsilon",
                                     KEY_NEEDED, &model->norm_epsilon, fault);
    if (status == STATUS_OK)
        status = read_number(model, "attn_logit_softcapping", KEY_OPTIONAL,
                             &model->attention_softcap, fault);
    if (status == STATUS_OK)
        status = read_number(model, "final_logit_softcapping", KEY_OPTIONAL,
                             &model->logit_softcap, fault);
    return status;
}

/* Before the shape, whose keys another architecture may not have. */
static enum status read_architecture(struct model *model, struct fault *fault)
{
    struct span name;
    char names[ARCHITECTURE_NAMES_BYTES];
    enum status status =
        gguf_get_string(model->gguf, "general.architecture", &name, fault);
    if (status != STATUS_OK)
        return status;
    model->architecture = architecture_find(name);
    if (model->architecture == NULL)
        return fault_set(fault, STATUS_UNSUPPORTED, "model",
                         "%s is of architecture \"%.*s\", which is not supported; "
                         "supported are: %s",
                         gguf_path(model->gguf), (int)name.size, name.data,
                         names_join(architecture_name_at, names, sizeof names));
    return STATUS_OK;
}

static enum status read_model(struct model *model, struct fault *fault)
{
    enum status status = read_architecture(model, fault);
    if (status == STATUS_OK)
        status = model_shape_read(model->gguf, &model->shape, fault);
    if (status != STATUS_OK)
        return status;
    model->layers = calloc(model->shape.layers_count, sizeof *model->layers);
    if (model->layers == NULL)
        return fault_set(fault, STATUS_NO_SPACE, NULL, "no memory for the layers' table");
    if ((status = check_shape(model, fault)) != STATUS_OK ||
        (status = read_numbers(model, fault)) != STATUS_OK ||
        (status = read_windows(model, fault)) != STATUS_OK ||
        (status = model_read_rotations(model, fault)) != STATUS_OK)
        return status;
    return model_bind_tensors(model, fault);
}

enum status model_open(struct model *model, const char *path, struct fault *fault)
{
    memset(model, 0, sizeof *model);
    enum status status = gguf_open(&model->gguf, path, fault);
    if (status == STATUS_OK)
        status = read_model(model, fault);
    if (status != STATUS_OK)
        model_close(model);
    return status;
}

void model_close(struct model *model)
{
    free(model->vectors);
    free(model->layers);
    if (model->gguf != NULL)
        gguf_close(model->gguf);
    memset(model, 0, sizeof *model);
}

/* Calls visit with every matrix of layer, then with those of the whole model. */
typedef void visit_matrix(struct matrix *matrix, void *data);

static void visit_matrices(struct model *model, visit_matrix *visit, void *data)
{
    for (uint32_t i = 0; i < model->shape.layers_count; i++) {
        struct layer *layer = &model->layers[i];
        struct matrix *matrices[] = {
            &layer->query, &layer->key, &layer->value, &layer->attention_output,
            &layer->gate,  &layer->up,  &layer->down};
        for (size_t j = 0; j < sizeof matrices / sizeof matrices[0]; j++)
            visit(matrices[j], data);
    }
    visit(&model->head, data);
}

uint64_t model_inputs_max(const struct model *model)
{
    const struct model_shape *shape = &model->shape;
    uint64_t most = (uint64_t)shape->heads_count * shape->key_length;
    most = shape->embedding_length > most ? shape->embedding_length : most;
    return shape->feed_forward_length > most ? shape->feed_forward_length : most;
}

struct preparation {
    struct matmul *matmul;
    uint32_t failed_count;
};

static void prepare_matrix(struct matrix *matrix, void *data)
{
    struct preparation *preparation = data;
    if (!matmul_prepare(preparation->matmul, matrix))
        preparation->failed_count++;
}

uint32_t model_prepare(struct model *model, struct matmul *matmul)
{
    struct preparation preparation = {matmul, 0};
    visit_matrices(model, prepare_matrix, &preparation);
    return preparation.failed_count;
}
