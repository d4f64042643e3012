/* model_tensors.c - from tensor names to the model's matrices and vectors. */
#include "common/os/log.h"
#include "worker/math/quant.h"
#include "worker/model/model.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TENSOR_NAME_BYTES_MAX 96

enum length {
    LENGTH_EMBEDDING,
    LENGTH_QUERIES,
    LENGTH_KEYS,
    LENGTH_HEAD,
    LENGTH_FORWARD
};
enum presence { NEEDED, OPTIONAL, WITH_HEAD_NORMS, WITH_POST_NORMS };

struct matrix_row {
    const char *name; /* after "blk.<layer>." */
    size_t offset;    /* of a struct matrix in struct layer */
    enum length inputs, outputs;
};

struct vector_row {
    const char *name;
    size_t offset; /* of a const float * in struct layer */
    enum length length;
    enum presence presence;
};

static const struct matrix_row matrix_rows[] = {
    {"attn_q.weight", offsetof(struct layer, query), LENGTH_EMBEDDING, LENGTH_QUERIES},
    {"attn_k.weight", offsetof(struct layer, key), LENGTH_EMBEDDING, LENGTH_KEYS},
    {"attn_v.weight", offsetof(struct layer, value), LENGTH_EMBEDDING, LENGTH_KEYS},
    {"attn_output.weight", offsetof(struct layer, attention_output), LENGTH_QUERIES,
     LENGTH_EMBEDDING},
    {"ffn_gate.weight", offsetof(struct layer, gate), LENGTH_EMBEDDING, LENGTH_FORWARD},
    {"ffn_up.weight", offsetof(struct layer, up), LENGTH_EMBEDDING, LENGTH_FORWARD},
    {"ffn_down.weight", offsetof(struct layer, down), LENGTH_FORWARD, LENGTH_EMBEDDING},
};

static const struct vector_row vector_rows[] = {
    {"attn_norm.weight", offsetof(struct layer, attention_norm), LENGTH_EMBEDDING,
     NEEDED},
    {"attn_q.bias", offsetof(struct layer, query_bias), LENGTH_QUERIES, OPTIONAL},
    {"attn_k.bias", offsetof(struct layer, key_bias), LENGTH_KEYS, OPTIONAL},
    {"attn_v.bias", offsetof(struct layer, value_bias), LENGTH_KEYS, OPTIONAL},
    {"attn_q_norm.weight", offsetof(struct layer, query_norm), LENGTH_HEAD,
     WITH_HEAD_NORMS},
    {"attn_k_norm.weight", offsetof(struct layer, key_norm), LENGTH_HEAD,
     WITH_HEAD_NORMS},
    {"attn_output.bias", offsetof(struct layer, attention_output_bias), LENGTH_EMBEDDING,
     OPTIONAL},
    {"post_attention_norm.weight", offsetof(struct layer, attention_post_norm),
     LENGTH_EMBEDDING, WITH_POST_NORMS},
    {"ffn_norm.weight", offsetof(struct layer, feed_forward_norm), LENGTH_EMBEDDING,
     NEEDED},
    {"post_ffw_norm.weight", offsetof(struct layer, feed_forward_post_norm),
     LENGTH_EMBEDDING, WITH_POST_NORMS},
};

#define MATRIX_ROWS_COUNT (sizeof matrix_rows / sizeof matrix_rows[0])
#define VECTOR_ROWS_COUNT (sizeof vector_rows / sizeof vector_rows[0])

struct binding {
    struct model *model;
    float *vectors_next; /* room left in model->vectors */
};

static uint64_t length_of(const struct model_shape *shape, enum length length)
{
    switch (length) {
    case LENGTH_EMBEDDING:
        return shape->embedding_length;
    case LENGTH_QUERIES:
        return (uint64_t)shape->heads_count * shape->key_length;
    case LENGTH_KEYS:
        return (uint64_t)shape->kv_heads_count * shape->key_length;
    case LENGTH_HEAD:
        return shape->key_length;
    case LENGTH_FORWARD:
        break;
    }
    return shape->feed_forward_length;
}

static bool is_wanted(const struct architecture *architecture, enum presence presence)
{
    return presence == NEEDED || presence == OPTIONAL ||
           (presence == WITH_HEAD_NORMS && architecture->head_norms) ||
           (presence == WITH_POST_NORMS && architecture->post_norms);
}

/* Missing dimensions are 1, so a vector is a matrix of one row. */
static enum status check_lengths(const struct model *model, const char *name,
                                 const struct gguf_tensor *tensor, uint64_t inputs,
                                 uint64_t outputs, struct fault *fault)
{
    const uint64_t *found = tensor->dimensions;
    if (found[0] == inputs && found[1] == outputs && found[2] == 1 && found[3] == 1)
        return STATUS_OK;
    return fault_set(fault, STATUS_CORRUPT, "model",
                     "%s: tensor %s is %llu x %llu x %llu x %llu; its metadata ask for "
                     "%llu x %llu",
                     gguf_path(model->gguf), name, (unsigned long long)found[0],
                     (unsigned long long)found[1], (unsigned long long)found[2],
                     (unsigned long long)found[3], (unsigned long long)inputs,
                     (unsigned long long)outputs);
}

static enum status missing(const struct model *model, const char *name,
                           struct fault *fault)
{
    return fault_set(fault, STATUS_CORRUPT, "model", "%s: tensor %s is missing",
                     gguf_path(model->gguf), name);
}

static enum status bind_matrix(struct binding *binding, const char *name, uint64_t inputs,
                               uint64_t outputs, struct matrix *matrix,
                               struct fault *fault)
{
    const struct gguf_tensor *tensor = gguf_find_tensor(binding->model->gguf, name);
    if (tensor == NULL)
        return missing(binding->model, name, fault);
    enum status status =
        check_lengths(binding->model, name, tensor, inputs, outputs, fault);
    if (status != STATUS_OK)
        return status;
    *matrix = (struct matrix){.data = tensor->data,
                              .type = tensor->type,
                              .inputs_count = inputs,
                              .outputs_count = outputs,
                              .row_bytes = tensor->size_bytes / outputs};
    return STATUS_OK;
}

static enum status bind_vector(struct binding *binding, const char *name, uint64_t length,
                               enum presence presence, const float **vector,
                               struct fault *fault)
{
    if (!is_wanted(binding->model->architecture, presence))
        return STATUS_OK;
    const struct gguf_tensor *tensor = gguf_find_tensor(binding->model->gguf, name);
    if (tensor == NULL)
        return presence == OPTIONAL ? STATUS_OK : missing(binding->model, name, fault);
    enum status status = check_lengths(binding->model, name, tensor, length, 1, fault);
    if (status != STATUS_OK)
        return status;
    quant_dequantize(tensor->type, tensor->data, length, binding->vectors_next);
    *vector = binding->vectors_next;
    binding->vectors_next += length;
    return STATUS_OK;
}

static enum status bind_layer(struct binding *binding, uint32_t index,
                              struct fault *fault)
{
    const struct model_shape *shape = &binding->model->shape;
    char *layer = (char *)&binding->model->layers[index];
    char name[TENSOR_NAME_BYTES_MAX];
    enum status status = STATUS_OK;
    for (size_t i = 0; i < MATRIX_ROWS_COUNT && status == STATUS_OK; i++) {
        const struct matrix_row *row = &matrix_rows[i];
        snprintf(name, sizeof name, "blk.%u.%s", index, row->name);
        status = bind_matrix(binding, name, length_of(shape, row->inputs),
                             length_of(shape, row->outputs),
                             (struct matrix *)(layer + row->offset), fault);
    }
    for (size_t i = 0; i < VECTOR_ROWS_COUNT && status == STATUS_OK; i++) {
        const struct vector_row *row = &vector_rows[i];
        snprintf(name, sizeof name, "blk.%u.%s", index, row->name);
        status = bind_vector(binding, name, length_of(shape, row->length), row->presence,
                             (const float **)(layer + row->offset), fault);
    }
    return status;
}

/* Room for every vector that a layer may have. */
static enum status allocate_vectors(struct binding *binding, struct fault *fault)
{
    const struct model_shape *shape = &binding->model->shape;
    uint64_t floats = 0;
    for (size_t i = 0; i < VECTOR_ROWS_COUNT; i++)
        floats += length_of(shape, vector_rows[i].length);
    floats = floats * shape->layers_count + shape->embedding_length;
    binding->model->vectors = malloc(floats * sizeof(float));
    binding->vectors_next = binding->model->vectors;
    if (binding->model->vectors == NULL)
        return fault_set(fault, STATUS_NO_SPACE, NULL, "no memory for norm weights");
    return STATUS_OK;
}

static enum status bind_ends(struct binding *binding, struct fault *fault)
{
    struct model *model = binding->model;
    const struct model_shape *shape = &model->shape;
    enum status status =
        bind_matrix(binding, "token_embd.weight", shape->embedding_length,
                    shape->vocabulary_count, &model->embedding, fault);
    if (status == STATUS_OK)
        status = bind_vector(binding, "output_norm.weight", shape->embedding_length,
                             NEEDED, &model->output_norm, fault);
    if (status != STATUS_OK)
        return status;
    if (gguf_find_tensor(model->gguf, "output.weight") != NULL)
        return bind_matrix(binding, "output.weight", shape->embedding_length,
                           shape->vocabulary_count, &model->head, fault);
    model->head = model->embedding; /* tied */
    return STATUS_OK;
}

static bool is_used(const struct model *model, const struct gguf_tensor *tensor)
{
    char name[TENSOR_NAME_BYTES_MAX];
    if (tensor->name.size >= sizeof name)
        return false;
    memcpy(name, tensor->name.data, tensor->name.size);
    name[tensor->name.size] = '\0';
    unsigned layer;
    int part = 0;
    if (sscanf(name, "blk.%u.%n", &layer, &part) != 1 || part == 0)
        return strcmp(name, "token_embd.weight") == 0 ||
               strcmp(name, "output.weight") == 0 ||
               strcmp(name, "output_norm.weight") == 0 ||
               strcmp(name, "rope_freqs.weight") == 0;
    if (layer >= model->shape.layers_count)
        return false;
    for (size_t i = 0; i < MATRIX_ROWS_COUNT; i++)
        if (strcmp(name + part, matrix_rows[i].name) == 0)
            return true;
    for (size_t i = 0; i < VECTOR_ROWS_COUNT; i++)
        if (strcmp(name + part, vector_rows[i].name) == 0)
            return is_wanted(model->architecture, vector_rows[i].presence);
    return false;
}

static void warn_of_extras(const struct model *model)
{
    uint64_t extras_count = 0;
    const struct gguf_tensor *first = NULL;
    for (uint64_t i = 0; i < gguf_tensors_count(model->gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(model->gguf, i);
        if (is_used(model, tensor))
            continue;
        if (first == NULL)
            first = tensor;
        extras_count++;
    }
    if (first != NULL)
        log_warn("tensors not used by architecture %s count=%llu first=%.*s",
                 model->architecture->name, (unsigned long long)extras_count,
                 (int)first->name.size, first->name.data);
}

enum status model_bind_tensors(struct model *model, struct fault *fault)
{
    struct binding binding = {.model = model};
    enum status status = allocate_vectors(&binding, fault);
    if (status == STATUS_OK)
        status = bind_ends(&binding, fault);
    for (uint32_t i = 0; i < model->shape.layers_count && status == STATUS_OK; i++)
        status = bind_layer(&binding, i, fault);
    if (status == STATUS_OK)
        warn_of_extras(model);
    return status;
}
