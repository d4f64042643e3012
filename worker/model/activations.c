#include "worker/model/activations.h"
#include "worker/model/attention.h"
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT_BYTES 64

struct piece {
    float **place;
    uint64_t floats;
};

static uint64_t aligned_bytes(uint64_t floats)
{
    uint64_t bytes = floats * sizeof(float);
    return (bytes + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
}

/* One allocation, cut into pieces; zeroed, so that padding rows begin as numbers. */
static enum status allocate(struct activations *activations, const struct piece *pieces,
                            size_t pieces_count, struct fault *fault)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < pieces_count; i++)
        bytes += aligned_bytes(pieces[i].floats);
    unsigned char *memory = aligned_alloc(ALIGNMENT_BYTES, bytes);
    if (memory == NULL)
        return fault_set(
            fault, STATUS_NO_SPACE, NULL,
            "no memory for %llu bytes of activations; a smaller token budget "
            "or context needs less",
            (unsigned long long)bytes);
    memset(memory, 0, bytes);
    activations->memory = memory;
    for (size_t i = 0; i < pieces_count; i++) {
        *pieces[i].place = (float *)(void *)memory;
        memory += aligned_bytes(pieces[i].floats);
    }
    return STATUS_OK;
}

enum status activations_init(struct activations *activations, const struct model *model,
                             uint32_t rows_max, uint32_t logit_rows_max,
                             uint32_t context_length, uint32_t threads_count,
                             struct fault *fault)
{
    const struct model_shape *shape = &model->shape;
    struct attention_parameters attention = {.query_heads_count = shape->heads_count,
                                             .kv_heads_count = shape->kv_heads_count,
                                             .key_length = shape->key_length};
    memset(activations, 0, sizeof *activations);
    activations->attention_scratch_floats =
        attention_scratch_floats(&attention, context_length);
    uint64_t rows = matmul_padded_rows(rows_max);
    uint64_t logit_rows = matmul_padded_rows(logit_rows_max);
    uint64_t embedding = rows * shape->embedding_length;
    uint64_t queries = rows * shape->heads_count * shape->key_length;
    uint64_t keys = rows * shape->kv_heads_count * shape->key_length;
    uint64_t forward = rows * shape->feed_forward_length;
    uint64_t angles = rows * model->rotations_count * model->rotated_pairs_count;
    const struct piece pieces[] = {
        {&activations->hidden, embedding},
        {&activations->normed, embedding},
        {&activations->added, embedding},
        {&activations->queries, queries},
        {&activations->keys, keys},
        {&activations->values, keys},
        {&activations->attended, queries},
        {&activations->gate, forward},
        {&activations->up, forward},
        {&activations->cosines, angles},
        {&activations->sines, angles},
        {&activations->sampled, logit_rows * shape->embedding_length},
        {&activations->logits, logit_rows * shape->vocabulary_count},
        {&activations->attention_scratch,
         activations->attention_scratch_floats * threads_count}};
    return allocate(activations, pieces, sizeof pieces / sizeof pieces[0], fault);
}

void activations_fini(struct activations *activations)
{
    free(activations->memory);
    memset(activations, 0, sizeof *activations);
}
