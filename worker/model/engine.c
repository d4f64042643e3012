#include "worker/model/engine.h"
#include "common/base/invariant.h"
#include "common/os/clock.h"
#include "common/os/log.h"
#include "worker/math/float_environment.h"
#include "worker/math/quant.h"
#include "worker/model/attention.h"
#include "worker/model/forward.h"
#include "worker/model/sampler.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNELS_BYTES 64

struct engine {
    struct engine_options options;
    struct model model;
    struct forward forward;
    struct batch batch;
    struct sampler *samplers[TEAM_THREADS_MAX]; /* one a thread */
    const char *quant_name;
    char kernels[KERNELS_BYTES];

    /* The step in hand. */
    const struct control *control;
    const struct step_view *step;
    uint32_t *sampled_sequences; /* [step_sequences_max] */
    uint32_t *sampled_rows;      /* [step_sequences_max] */
    uint32_t sampled_count;
    uint32_t logits_first; /* of sampled_sequences: whose logits are in hand */

    /* engine_logits' own cache: one block of step_rows_max tokens. */
    struct geometry own_geometry;
    unsigned char *own_kv;
};

/* --- opening ------------------------------------------------------------------------ */

static enum status open_samplers(struct engine *engine, struct fault *fault)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < engine->options.threads_count && status == STATUS_OK; i++)
        status = sampler_create(&engine->samplers[i],
                                engine->model.shape.vocabulary_count, fault);
    return status;
}

static enum status allocate_batch(struct engine *engine, struct fault *fault)
{
    struct batch *batch = &engine->batch;
    uint32_t rows = engine->options.step_rows_max;
    uint32_t sequences = engine->options.step_sequences_max;
    batch->row_token = calloc(rows, sizeof *batch->row_token);
    batch->row_position = calloc(rows, sizeof *batch->row_position);
    batch->row_sequence = calloc(rows, sizeof *batch->row_sequence);
    batch->tiles = calloc(rows, sizeof *batch->tiles);
    batch->sequence_view = calloc(sequences, sizeof *batch->sequence_view);
    engine->sampled_sequences = calloc(sequences, sizeof *engine->sampled_sequences);
    engine->sampled_rows = calloc(sequences, sizeof *engine->sampled_rows);
    if (!batch->row_token || !batch->row_position || !batch->row_sequence ||
        !batch->tiles || !batch->sequence_view || !engine->sampled_sequences ||
        !engine->sampled_rows)
        return fault_set(fault, STATUS_NO_SPACE, NULL, "no memory for a batch's arrays");
    return STATUS_OK;
}

static enum status open_parts(struct engine *engine, struct fault *fault)
{
    const struct engine_options *options = &engine->options;
    struct forward *forward = &engine->forward;
    struct model *model = &engine->model;
    enum status status;
    forward->model = model;
    forward->context_length = options->context_length;
    if ((status = team_create(&forward->team, options->threads_count, fault)) !=
            STATUS_OK ||
        (status = matmul_create(&forward->matmul, forward->team, model_inputs_max(model),
                                fault)) != STATUS_OK ||
        (status = activations_init(&forward->activations, model, options->step_rows_max,
                                   LOGIT_ROWS_MAX, options->context_length,
                                   options->threads_count, fault)) != STATUS_OK ||
        (status = allocate_batch(engine, fault)) != STATUS_OK)
        return status;
    return open_samplers(engine, fault);
}

static void test_slots(struct engine *engine)
{
    uint32_t failed_count = model_prepare(&engine->model, engine->forward.matmul);
    snprintf(engine->kernels, sizeof engine->kernels, "general (%s, %s)",
             engine->quant_name, matmul_library());
    if (failed_count > 0)
        log_warn("matrix shapes whose rows depend on their slot in a tile use the slower "
                 "fixed-order kernel matrices=%u library=\"%s\"",
                 failed_count, matmul_library());
}

enum status engine_open(struct engine **out, const struct engine_options *options,
                        struct fault *fault)
{
    INVARIANT(options->threads_count > 0 && options->step_rows_max > 0 &&
              options->step_sequences_max > 0 && options->context_length > 0);
    if (options->threads_count > TEAM_THREADS_MAX)
        return fault_set(fault, STATUS_INVALID, "threads",
                         "%u threads are asked for; %u are the most",
                         options->threads_count, TEAM_THREADS_MAX);
    struct engine *engine = calloc(1, sizeof *engine);
    if (engine == NULL)
        return fault_set(fault, STATUS_NO_SPACE, NULL, "no memory for an engine");
    float_environment_set();
    engine->options = *options;
    engine->quant_name = quant_choose();
    enum status status = model_open(&engine->model, options->model_path, fault);
    if (status == STATUS_OK)
        status = open_parts(engine, fault);
    if (status != STATUS_OK) {
        engine_close(engine);
        return status;
    }
    test_slots(engine);
    *out = engine;
    return STATUS_OK;
}

static void free_batch(struct batch *batch)
{
    free(batch->row_token);
    free(batch->row_position);
    free(batch->row_sequence);
    free(batch->tiles);
    free(batch->sequence_view);
}

void engine_close(struct engine *engine)
{
    if (engine == NULL)
        return;
    for (uint32_t i = 0; i < engine->options.threads_count; i++)
        sampler_destroy(engine->samplers[i]);
    free_batch(&engine->batch);
    free(engine->sampled_sequences);
    free(engine->sampled_rows);
    free(engine->own_kv);
    activations_fini(&engine->forward.activations);
    matmul_destroy(engine->forward.matmul);
    team_destroy(engine->forward.team);
    model_close(&engine->model);
    free(engine);
}

const struct model_shape *engine_shape(const struct engine *engine)
{
    return &engine->model.shape;
}

const char *engine_kernels(const struct engine *engine)
{
    return engine->kernels;
}

/* --- a step's batch ----------------------------------------------------------------- */

static void check_geometry(const struct engine *engine, const struct geometry *geometry)
{
    const struct model_shape *shape = &engine->model.shape;
    INVARIANT(geometry->layers_count == shape->layers_count);
    INVARIANT(geometry->kv_heads_count == shape->kv_heads_count);
    INVARIANT(geometry->key_length == shape->key_length);
    INVARIANT(geometry->vocabulary_count == shape->vocabulary_count);
    INVARIANT(geometry->kv_element_bytes == sizeof(uint16_t) ||
              geometry->kv_element_bytes == sizeof(float));
}

static void add_tiles(struct batch *batch, uint32_t sequence, uint32_t row,
                      uint32_t rows_count)
{
    for (uint32_t done = 0; done < rows_count; done += ATTENTION_ROWS_MAX) {
        uint32_t left = rows_count - done;
        batch->tiles[batch->tiles_count++] = (struct row_tile){
            .sequence = sequence,
            .row = row + done,
            .position = batch->row_position[row + done],
            .rows_count = left < ATTENTION_ROWS_MAX ? left : ATTENTION_ROWS_MAX};
    }
}

/* Adds the next rows_count rows, at position and following; the caller fills row_token.
 */
static void add_sequence(struct engine *engine, const struct kv_view *view,
                         uint32_t position, uint32_t rows_count)
{
    struct batch *batch = &engine->batch;
    uint32_t first = batch->rows_count, sequence = batch->sequences_count;
    INVARIANT(sequence < engine->options.step_sequences_max);
    INVARIANT(rows_count > 0 && rows_count <= engine->options.step_rows_max - first);
    INVARIANT((uint64_t)position + rows_count <= engine->options.context_length);
    for (uint32_t i = 0; i < rows_count; i++) {
        batch->row_position[first + i] = position + i;
        batch->row_sequence[first + i] = sequence;
    }
    batch->sequence_view[sequence] = *view;
    batch->sequences_count++;
    batch->rows_count += rows_count;
    add_tiles(batch, sequence, first, rows_count);
}

static void clear_batch(struct batch *batch)
{
    batch->rows_count = 0;
    batch->sequences_count = 0;
    batch->tiles_count = 0;
}

/* The row's token, which may be what the step before gave. A sequence whose token there
 * failed has failed here too; its rows are computed from token 0, and nobody reads them.
 */
static uint32_t resolve_token(const struct step_view *step,
                              const struct step_view *previous, uint32_t row,
                              uint32_t *sequence_status)
{
    uint32_t token = step->row_token[row];
    if ((token & ROW_TOKEN_RESULT) == 0)
        return token;
    uint32_t source = token & ~ROW_TOKEN_RESULT;
    INVARIANT(previous != NULL && source < previous->step->sequences_count);
    if (previous->result_status[source] == STATUS_OK)
        return previous->result_token[source];
    *sequence_status = previous->result_status[source];
    return 0;
}

static void add_step_sequence(struct engine *engine, void *kv, uint32_t index,
                              const struct step_view *previous)
{
    const struct control *control = engine->control;
    const struct step_view *step = engine->step;
    struct batch *batch = &engine->batch;
    uint32_t record_index = step->sequence_record[index];
    uint32_t first = batch->rows_count, count = step->sequence_rows_count[index];
    INVARIANT(record_index < control->header->geometry.records_count);
    INVARIANT(step->sequence_row_first[index] == first);
    const struct request_record *record = &control->records[record_index];
    struct kv_view view = {.base = kv,
                           .geometry = &control->header->geometry,
                           .block_table = extent_view(control, record).block_table,
                           .blocks_count = record->blocks_held_count};
    add_sequence(engine, &view, step->sequence_position[index], count);
    step->result_status[index] = STATUS_OK;
    for (uint32_t row = first; row < first + count; row++) {
        batch->row_token[row] =
            resolve_token(step, previous, row, &step->result_status[index]);
        INVARIANT(batch->row_token[row] < engine->model.shape.vocabulary_count);
    }
    if (step->sequence_flags[index] & SEQUENCE_SAMPLE) {
        engine->sampled_sequences[engine->sampled_count] = index;
        engine->sampled_rows[engine->sampled_count++] = first + count - 1;
    }
}

/* --- sampling ----------------------------------------------------------------------- */

/* The newest token comes from the row, not from the record: the scheduler may be adding
 * it to the record while this step runs. */
static void sample_sequence(void *context, uint32_t chunk, uint32_t thread)
{
    const struct engine *engine = context;
    const struct step_view *step = engine->step;
    uint32_t sampled = engine->logits_first + chunk;
    uint32_t index = engine->sampled_sequences[sampled];
    uint32_t row = engine->sampled_rows[sampled];
    const struct request_record *record =
        &engine->control->records[step->sequence_record[index]];
    struct extent extent = extent_view(engine->control, record);
    struct sampler_task task = {.logits = engine->forward.activations.logits +
                                          (uint64_t)chunk *
                                              engine->model.shape.vocabulary_count,
                                .sampling = &record->sampling,
                                .choice = record->choice,
                                .tokens = extent.tokens,
                                .tokens_before = engine->batch.row_position[row],
                                .newest = engine->batch.row_token[row],
                                .prompt_tokens_count = record->prompt_tokens_count,
                                .logit_bias = extent.logit_bias,
                                .logit_bias_count = record->logit_bias_count,
                                .stop_tokens = extent.stop_tokens,
                                .stop_tokens_count = record->stop_tokens_count};
    if (step->result_status[index] == STATUS_OK)
        step->result_status[index] =
            sampler_run(engine->samplers[thread], &task, &step->result_token[index],
                        step->result_logprobs + (uint64_t)index * (1 + TOP_LOGPROBS_MAX));
}

static void sample_all(struct engine *engine, uint64_t *sample_ns)
{
    struct forward *forward = &engine->forward;
    for (uint32_t first = 0; first < engine->sampled_count; first += LOGIT_ROWS_MAX) {
        uint32_t left = engine->sampled_count - first;
        uint32_t count = left < LOGIT_ROWS_MAX ? left : LOGIT_ROWS_MAX;
        forward_logits(forward, engine->sampled_rows + first, count);
        uint64_t begin_ns = clock_monotonic_ns();
        engine->logits_first = first;
        team_run(forward->team, count, sample_sequence, engine);
        *sample_ns += clock_monotonic_ns() - begin_ns;
    }
}

static void write_times(const struct forward *forward, struct step *step,
                        uint64_t sample_ns)
{
    step->finished_ns = clock_monotonic_ns();
    step->matmul_ns = forward->matmul_ns;
    step->attention_ns = forward->attention_ns;
    step->sample_ns = sample_ns;
    step->other_ns = step->finished_ns - step->started_ns - step->matmul_ns -
                     step->attention_ns - sample_ns;
}

void engine_run(struct engine *engine, const struct control *control, void *kv,
                const struct step_view *view, const struct step_view *previous)
{
    struct step *step = view->step;
    uint64_t sample_ns = 0;
    step->started_ns = clock_monotonic_ns();
    float_environment_set();
    check_geometry(engine, &control->header->geometry);
    engine->control = control;
    engine->step = view;
    engine->sampled_count = 0;
    engine->forward.matmul_ns = 0;
    engine->forward.attention_ns = 0;
    clear_batch(&engine->batch);
    for (uint32_t i = 0; i < step->sequences_count; i++)
        add_step_sequence(engine, kv, i, previous);
    INVARIANT(engine->batch.rows_count == step->rows_count);
    forward_run(&engine->forward, &engine->batch);
    sample_all(engine, &sample_ns);
    write_times(&engine->forward, step, sample_ns);
}

/* --- logits of one sequence from an empty cache ------------------------------------- */

static enum status take_own_kv(struct engine *engine, struct fault *fault)
{
    const struct model_shape *shape = &engine->model.shape;
    uint32_t rows = engine->options.step_rows_max;
    if (engine->own_kv != NULL)
        return STATUS_OK;
    engine->own_geometry = (struct geometry){
        .block_size = rows,
        .blocks_count = 1,
        .layers_count = shape->layers_count,
        .kv_heads_count = shape->kv_heads_count,
        .key_length = shape->key_length,
        .kv_element_bytes = sizeof(float),
        .block_bytes = model_shape_block_bytes(shape, rows, sizeof(float))};
    engine->own_kv = malloc(engine->own_geometry.block_bytes);
    if (engine->own_kv == NULL)
        return fault_set(fault, STATUS_NO_SPACE, NULL, "no memory for %u rows of K and V",
                         rows);
    return STATUS_OK;
}

static void visit_rows(struct engine *engine, uint32_t first, uint32_t count,
                       engine_visit_logits *visit, void *context)
{
    uint64_t vocabulary = engine->model.shape.vocabulary_count;
    uint32_t rows[LOGIT_ROWS_MAX];
    for (uint32_t i = 0; i < count; i++)
        rows[i] = first + i;
    forward_logits(&engine->forward, rows, count);
    for (uint32_t i = 0; i < count; i++)
        visit(context, first + i, engine->forward.activations.logits + i * vocabulary);
}

enum status engine_logits(struct engine *engine, const uint32_t *tokens,
                          uint32_t rows_count, engine_visit_logits *visit, void *context,
                          struct fault *fault)
{
    static const uint32_t block_table[1] = {0};
    INVARIANT(rows_count > 0 && rows_count <= engine->options.step_rows_max);
    enum status status = take_own_kv(engine, fault);
    if (status != STATUS_OK)
        return status;
    struct kv_view view = {engine->own_kv, &engine->own_geometry, block_table, 1};
    float_environment_set();
    clear_batch(&engine->batch);
    add_sequence(engine, &view, 0, rows_count);
    for (uint32_t i = 0; i < rows_count; i++) {
        INVARIANT(tokens[i] < engine->model.shape.vocabulary_count);
        engine->batch.row_token[i] = tokens[i];
    }
    forward_run(&engine->forward, &engine->batch);
    for (uint32_t first = 0; first < rows_count; first += LOGIT_ROWS_MAX) {
        uint32_t left = rows_count - first;
        visit_rows(engine, first, left < LOGIT_ROWS_MAX ? left : LOGIT_ROWS_MAX, visit,
                   context);
    }
    return STATUS_OK;
}
