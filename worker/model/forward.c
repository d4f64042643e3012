#include "worker/model/forward.h"
#include "common/os/clock.h"
#include "worker/math/vector.h"
#include "worker/model/attention.h"

/* Rows of one chunk of elementwise work: enough to be worth handing out. */
#define ROWS_PER_CHUNK 4

static uint32_t chunks_of(uint32_t count)
{
    return (count + ROWS_PER_CHUNK - 1) / ROWS_PER_CHUNK;
}

struct row_range {
    uint32_t first, end;
};

static struct row_range chunk_rows(const struct forward *forward, uint32_t chunk)
{
    uint32_t first = chunk * ROWS_PER_CHUNK;
    uint32_t end = first + ROWS_PER_CHUNK, rows = forward->batch->rows_count;
    return (struct row_range){first, end < rows ? end : rows};
}

static void run_rows(struct forward *forward, team_work *work)
{
    team_run(forward->team, chunks_of(forward->batch->rows_count), work, forward);
}

static float *embedding_row(const struct forward *forward, float *array, uint32_t row)
{
    return array + (uint64_t)row * forward->model->shape.embedding_length;
}

static float *angles_row(const struct forward *forward, float *array, uint32_t row,
                         uint32_t rotation)
{
    const struct model *model = forward->model;
    return array + ((uint64_t)row * model->rotations_count + rotation) *
                       model->rotated_pairs_count;
}

static void norm_row(const struct forward *forward, const float *weight, uint32_t row)
{
    const struct activations *activations = &forward->activations;
    vector_rms_norm(embedding_row(forward, activations->hidden, row), weight,
                    forward->model->shape.embedding_length, forward->model->norm_epsilon,
                    embedding_row(forward, activations->normed, row));
}

/* --- the beginning: embeddings, angles, first norm ---------------------------------- */

static void embed_rows(void *context, uint32_t chunk, uint32_t thread)
{
    (void)thread;
    const struct forward *forward = context;
    const struct model *model = forward->model;
    const struct activations *activations = &forward->activations;
    struct row_range range = chunk_rows(forward, chunk);
    for (uint32_t row = range.first; row < range.end; row++) {
        float *hidden = embedding_row(forward, activations->hidden, row);
        matrix_row(&model->embedding, forward->batch->row_token[row], hidden);
        if (model->embedding_scale != 1.0f)
            vector_scale(hidden, model->embedding_scale, model->shape.embedding_length);
        for (uint32_t i = 0; i < model->rotations_count; i++)
            rope_angles(model->rotations[i].frequencies, model->rotated_pairs_count,
                        model->rotations[i].magnitude, forward->batch->row_position[row],
                        angles_row(forward, activations->cosines, row, i),
                        angles_row(forward, activations->sines, row, i));
        norm_row(forward, model->layers[0].attention_norm, row);
    }
}

/* --- queries, keys and values ------------------------------------------------------- */

static void norm_heads(const struct forward *forward, float *heads, uint32_t heads_count,
                       const float *weight)
{
    uint32_t length = forward->model->shape.key_length;
    for (uint32_t head = 0; head < heads_count; head++) {
        float *values = heads + (uint64_t)head * length;
        vector_rms_norm(values, weight, length, forward->model->norm_epsilon, values);
    }
}

static void place_row(const struct forward *forward, uint32_t row)
{
    const struct model *model = forward->model;
    const struct model_shape *shape = &model->shape;
    const struct activations *activations = &forward->activations;
    const struct layer *layer = forward->layer;
    uint64_t kv_floats = (uint64_t)shape->kv_heads_count * shape->key_length;
    float *queries =
        activations->queries + (uint64_t)row * shape->heads_count * shape->key_length;
    float *keys = activations->keys + row * kv_floats,
          *values = activations->values + row * kv_floats;
    if (model->architecture->head_norms) {
        norm_heads(forward, queries, shape->heads_count, layer->query_norm);
        norm_heads(forward, keys, shape->kv_heads_count, layer->key_norm);
    }
    const float *cosines =
        angles_row(forward, activations->cosines, row, layer->rotation);
    const float *sines = angles_row(forward, activations->sines, row, layer->rotation);
    enum rope_style style = model->architecture->rope_style;
    rope_rotate(queries, shape->heads_count, shape->key_length, style,
                model->rotated_pairs_count, cosines, sines);
    rope_rotate(keys, shape->kv_heads_count, shape->key_length, style,
                model->rotated_pairs_count, cosines, sines);
    const struct kv_view *view =
        &forward->batch->sequence_view[forward->batch->row_sequence[row]];
    uint32_t position = forward->batch->row_position[row];
    kv_write(view, forward->layer_index, KV_KEYS, position, keys);
    kv_write(view, forward->layer_index, KV_VALUES, position, values);
}

static void place_rows(void *context, uint32_t chunk, uint32_t thread)
{
    (void)thread;
    const struct forward *forward = context;
    struct row_range range = chunk_rows(forward, chunk);
    for (uint32_t row = range.first; row < range.end; row++)
        place_row(forward, row);
}

static struct attention_parameters attention_of(const struct forward *forward)
{
    const struct model *model = forward->model;
    return (struct attention_parameters){.layer = forward->layer_index,
                                         .window = forward->layer->window,
                                         .query_heads_count = model->shape.heads_count,
                                         .kv_heads_count = model->shape.kv_heads_count,
                                         .key_length = model->shape.key_length,
                                         .scale = model->attention_scale,
                                         .softcap = model->attention_softcap};
}

/* A chunk is one tile of rows and one key head. */
static void attend(void *context, uint32_t chunk, uint32_t thread)
{
    const struct forward *forward = context;
    const struct activations *activations = &forward->activations;
    const struct batch *batch = forward->batch;
    struct attention_parameters parameters = attention_of(forward);
    const struct row_tile *tile = &batch->tiles[chunk / parameters.kv_heads_count];
    uint64_t first =
        (uint64_t)tile->row * parameters.query_heads_count * parameters.key_length;
    attention_run(&parameters, &batch->sequence_view[tile->sequence],
                  chunk % parameters.kv_heads_count, tile->position, tile->rows_count,
                  activations->queries + first, activations->attended + first,
                  activations->attention_scratch +
                      thread * activations->attention_scratch_floats,
                  forward->context_length);
}

/* --- residual stream ---------------------------------------------------------------- */

static void add_row(const struct forward *forward, const float *post_norm, uint32_t row)
{
    const struct model *model = forward->model;
    const struct activations *activations = &forward->activations;
    float *added = embedding_row(forward, activations->added, row);
    if (post_norm != NULL)
        vector_rms_norm(added, post_norm, model->shape.embedding_length,
                        model->norm_epsilon, added);
    vector_add(embedding_row(forward, activations->hidden, row), added,
               model->shape.embedding_length);
}

static void add_attention_rows(void *context, uint32_t chunk, uint32_t thread)
{
    (void)thread;
    const struct forward *forward = context;
    struct row_range range = chunk_rows(forward, chunk);
    for (uint32_t row = range.first; row < range.end; row++) {
        add_row(forward, forward->layer->attention_post_norm, row);
        norm_row(forward, forward->layer->feed_forward_norm, row);
    }
}

/* The next layer's first norm follows at once; the last layer's rows are normed when
 * their logits are asked for. */
static void add_feed_forward_rows(void *context, uint32_t chunk, uint32_t thread)
{
    (void)thread;
    const struct forward *forward = context;
    bool is_last = forward->layer_index + 1 == forward->model->shape.layers_count;
    struct row_range range = chunk_rows(forward, chunk);
    for (uint32_t row = range.first; row < range.end; row++) {
        add_row(forward, forward->layer->feed_forward_post_norm, row);
        if (!is_last)
            norm_row(forward, forward->layer[1].attention_norm, row);
    }
}

static void activate_rows(void *context, uint32_t chunk, uint32_t thread)
{
    (void)thread;
    const struct forward *forward = context;
    const struct activations *activations = &forward->activations;
    uint64_t length = forward->model->shape.feed_forward_length;
    float *gate = activations->gate + chunk * length;
    const float *up = activations->up + chunk * length;
    if (forward->model->architecture->activation == ACTIVATION_SILU)
        vector_silu_multiply(gate, up, length);
    else
        vector_gelu_multiply(gate, up, length);
}

/* --- the whole ---------------------------------------------------------------------- */

static void multiply(struct forward *forward, const struct matmul_job *jobs,
                     uint32_t jobs_count, float *input, uint32_t rows_count)
{
    uint64_t begin_ns = clock_monotonic_ns();
    matmul_run(forward->matmul, jobs, jobs_count, input, rows_count);
    forward->matmul_ns += clock_monotonic_ns() - begin_ns;
}

static void run_attention(struct forward *forward)
{
    const struct layer *layer = forward->layer;
    const struct activations *activations = &forward->activations;
    uint32_t rows = forward->batch->rows_count;
    const struct matmul_job inputs[] = {
        {&layer->query, layer->query_bias, activations->queries},
        {&layer->key, layer->key_bias, activations->keys},
        {&layer->value, layer->value_bias, activations->values}};
    const struct matmul_job output = {&layer->attention_output,
                                      layer->attention_output_bias, activations->added};
    multiply(forward, inputs, 3, activations->normed, rows);
    run_rows(forward, place_rows);
    uint64_t begin_ns = clock_monotonic_ns();
    team_run(forward->team,
             forward->batch->tiles_count * forward->model->shape.kv_heads_count, attend,
             forward);
    forward->attention_ns += clock_monotonic_ns() - begin_ns;
    multiply(forward, &output, 1, activations->attended, rows);
    run_rows(forward, add_attention_rows);
}

static void run_feed_forward(struct forward *forward)
{
    const struct layer *layer = forward->layer;
    const struct activations *activations = &forward->activations;
    uint32_t rows = forward->batch->rows_count;
    const struct matmul_job inputs[] = {{&layer->gate, NULL, activations->gate},
                                        {&layer->up, NULL, activations->up}};
    const struct matmul_job output = {&layer->down, NULL, activations->added};
    multiply(forward, inputs, 2, activations->normed, rows);
    team_run(forward->team, rows, activate_rows, forward);
    multiply(forward, &output, 1, activations->gate, rows);
    run_rows(forward, add_feed_forward_rows);
}

void forward_run(struct forward *forward, const struct batch *batch)
{
    forward->batch = batch;
    run_rows(forward, embed_rows);
    for (uint32_t i = 0; i < forward->model->shape.layers_count; i++) {
        forward->layer_index = i;
        forward->layer = &forward->model->layers[i];
        run_attention(forward);
        run_feed_forward(forward);
    }
}

void forward_logits(struct forward *forward, const uint32_t *rows, uint32_t rows_count)
{
    const struct model *model = forward->model;
    const struct activations *activations = &forward->activations;
    uint64_t vocabulary = model->shape.vocabulary_count;
    for (uint32_t i = 0; i < rows_count; i++)
        vector_rms_norm(embedding_row(forward, activations->hidden, rows[i]),
                        model->output_norm, model->shape.embedding_length,
                        model->norm_epsilon,
                        embedding_row(forward, activations->sampled, i));
    const struct matmul_job job = {&model->head, NULL, activations->logits};
    multiply(forward, &job, 1, activations->sampled, rows_count);
    if (model->logit_softcap != 0.0f)
        for (uint32_t i = 0; i < rows_count; i++)
            vector_softcap(activations->logits + i * vocabulary, model->logit_softcap,
                           vocabulary);
}
