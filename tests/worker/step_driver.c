#include "tests/worker/step_driver.h"
#include "common/base/invariant.h"
#include <stdlib.h>
#include <string.h>

#define STEPS_COUNT 2

/* Odd and no divisor of the pools in use: block numbers go round the pool in strides. */
#define BLOCK_STRIDE 7

static uint32_t blocks_per_sequence(const struct geometry *geometry)
{
    return (geometry->context_length + geometry->block_size - 1) / geometry->block_size;
}

static struct geometry geometry_of(const struct model_shape *shape,
                                   const struct driver_options *options)
{
    struct geometry geometry = {.block_size = options->block_size,
                                .layers_count = shape->layers_count,
                                .kv_heads_count = shape->kv_heads_count,
                                .key_length = shape->key_length,
                                .kv_element_bytes = options->kv_element_bytes,
                                .vocabulary_count = shape->vocabulary_count,
                                .context_length = options->tokens_max,
                                .records_count = DRIVER_RECORDS_MAX,
                                .steps_count = STEPS_COUNT,
                                .step_rows_max = options->rows_max,
                                .step_sequences_max = options->sequences_max,
                                .workers_max = 1,
                                .flight_events_count = 2};
    geometry.block_bytes =
        model_shape_block_bytes(shape, options->block_size, options->kv_element_bytes);
    /* A multiple of the stride plus 1, so that strides reach every block. */
    geometry.blocks_count =
        options->sequences_max * blocks_per_sequence(&geometry) * BLOCK_STRIDE + 1;
    geometry.heap_pages_count = DRIVER_RECORDS_MAX * (4 + options->tokens_max / 16);
    return geometry;
}

void driver_init(struct step_driver *driver, struct engine *engine,
                 const struct driver_options *options)
{
    struct fault fault;
    struct geometry geometry = geometry_of(engine_shape(engine), options);
    uint64_t control_bytes;
    memset(driver, 0, sizeof *driver);
    driver->engine = engine;
    INVARIANT(layout_control_bytes(&geometry, &control_bytes, &fault) == STATUS_OK);
    driver->control_memory = aligned_alloc(LAYOUT_PAGE_BYTES, control_bytes);
    driver->kv = malloc(layout_kv_bytes(&geometry));
    INVARIANT(driver->control_memory != NULL && driver->kv != NULL);
    memset(driver->control_memory, 0, control_bytes);
    layout_format(driver->control_memory, &geometry);
    layout_publish(driver->control_memory);
    INVARIANT(layout_view(driver->control_memory, control_bytes, &driver->control,
                          &fault) == STATUS_OK);
}

void driver_fini(struct step_driver *driver)
{
    free(driver->control_memory);
    free(driver->kv);
}

struct extent driver_extent(const struct step_driver *driver, uint32_t record)
{
    return extent_view(&driver->control, &driver->control.records[record]);
}

uint32_t driver_add_record(struct step_driver *driver, const uint32_t *prompt,
                           uint32_t prompt_count, const struct sampling *sampling)
{
    const struct geometry *geometry = &driver->control.header->geometry;
    uint32_t index = driver->records_count++;
    struct request_record *record = &driver->control.records[index];
    record->sampling = *sampling;
    record->prompt_tokens_count = prompt_count;
    record->tokens_count = prompt_count;
    record->tokens_capacity = geometry->context_length;
    record->blocks_capacity = blocks_per_sequence(geometry);
    record->blocks_held_count = record->blocks_capacity;
    record->extent_page = driver->pages_used;
    record->extent_pages_count = extent_pages(record);
    driver->pages_used += record->extent_pages_count;
    struct extent extent = driver_extent(driver, index);
    memcpy(extent.tokens, prompt, prompt_count * sizeof *prompt);
    for (uint32_t i = 0; i < record->blocks_capacity; i++)
        extent.block_table[i] =
            driver->blocks_used++ * BLOCK_STRIDE % geometry->blocks_count;
    return index;
}

void driver_begin(struct step_driver *driver)
{
    driver->previous = driver->step;
    driver->step = step_at(&driver->control, driver->steps_run % STEPS_COUNT);
    driver->step.step->rows_count = 0;
    driver->step.step->sequences_count = 0;
}

static void add_sequence(struct step_driver *driver, uint32_t index, uint32_t position,
                         uint32_t rows_count, uint32_t flags)
{
    struct step_view *step = &driver->step;
    uint32_t sequence = step->step->sequences_count++;
    step->sequence_record[sequence] = index;
    step->sequence_row_first[sequence] = step->step->rows_count;
    step->sequence_rows_count[sequence] = rows_count;
    step->sequence_position[sequence] = position;
    step->sequence_flags[sequence] = flags;
    step->step->rows_count += rows_count;
}

void driver_add_rows(struct step_driver *driver, uint32_t index, uint32_t rows_count)
{
    const struct request_record *record = &driver->control.records[index];
    uint32_t position = record->kv_rows_count, first = driver->step.step->rows_count;
    bool is_last = position + rows_count == record->tokens_count;
    memcpy(driver->step.row_token + first, driver_extent(driver, index).tokens + position,
           rows_count * sizeof(uint32_t));
    add_sequence(driver, index, position, rows_count, is_last ? SEQUENCE_SAMPLE : 0);
}

void driver_add_uncommitted(struct step_driver *driver, uint32_t index,
                            uint32_t previous_sequence)
{
    uint32_t position = driver->control.records[index].tokens_count;
    driver->step.row_token[driver->step.step->rows_count] =
        ROW_TOKEN_RESULT | previous_sequence;
    add_sequence(driver, index, position, 1, SEQUENCE_SAMPLE);
}

void driver_run(struct step_driver *driver)
{
    engine_run(driver->engine, &driver->control, driver->kv, &driver->step,
               driver->steps_run > 0 ? &driver->previous : NULL);
    driver->steps_run++;
}

void driver_commit(struct step_driver *driver)
{
    const struct step_view *step = &driver->step;
    for (uint32_t i = 0; i < step->step->sequences_count; i++) {
        struct request_record *record =
            &driver->control.records[step->sequence_record[i]];
        record->kv_rows_count = step->sequence_position[i] + step->sequence_rows_count[i];
        if ((step->sequence_flags[i] & SEQUENCE_SAMPLE) &&
            step->result_status[i] == STATUS_OK)
            driver_extent(driver, step->sequence_record[i])
                .tokens[record->tokens_count++] = step->result_token[i];
    }
}

unsigned char *driver_kv_row(const struct step_driver *driver, uint32_t record,
                             uint32_t layer, uint32_t is_v, uint32_t position,
                             size_t *row_bytes)
{
    const struct geometry *geometry = &driver->control.header->geometry;
    uint32_t block =
        driver_extent(driver, record).block_table[position / geometry->block_size];
    *row_bytes = (size_t)geometry->kv_heads_count * geometry->key_length *
                 geometry->kv_element_bytes;
    return driver->kv + kv_rows_offset(geometry, block, layer, is_v) +
           position % geometry->block_size * *row_bytes;
}
