/* The layout's arithmetic: sections that do not meet, and headers that lie. */
#include "proto/step.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define SECTIONS_COUNT 8

/* Counts chosen so that no section ends at a page's border by itself. */
static struct geometry odd_geometry(void)
{
    return (struct geometry){.block_bytes = 3 * 2 * 16 * 5 * 7 * 2,
                             .block_size = 16,
                             .blocks_count = 101,
                             .layers_count = 3,
                             .kv_heads_count = 5,
                             .key_length = 7,
                             .kv_element_bytes = 2,
                             .vocabulary_count = 257,
                             .context_length = 999,
                             .records_count = 13,
                             .heap_pages_count = 29,
                             .steps_count = 3,
                             .step_rows_max = 37,
                             .step_sequences_max = 7,
                             .workers_max = 3,
                             .flight_events_count = 64};
}

struct segment {
    void *base;
    uint64_t size_bytes;
    struct control_header *header;
};

static struct segment format(const struct geometry *geometry)
{
    struct segment segment;
    struct fault fault;
    cr_assert_eq(layout_control_bytes(geometry, &segment.size_bytes, &fault), STATUS_OK,
                 "%s", fault.sentence);
    segment.base = aligned_alloc(LAYOUT_PAGE_BYTES, segment.size_bytes);
    memset(segment.base, 0, segment.size_bytes);
    layout_format(segment.base, geometry);
    segment.header = segment.base;
    return segment;
}

static struct control view_of(const struct segment *segment)
{
    struct control control;
    struct fault fault;
    layout_publish(segment->header);
    cr_assert_eq(layout_view(segment->base, segment->size_bytes, &control, &fault),
                 STATUS_OK, "%s", fault.sentence);
    return control;
}

/* Where each section begins and how many bytes its elements take, in order. */
static void measure(const struct control_header *header, uint64_t begin[SECTIONS_COUNT],
                    uint64_t bytes[SECTIONS_COUNT])
{
    const struct geometry *geometry = &header->geometry;
    const uint64_t begins[SECTIONS_COUNT] = {0,
                                             header->workers_offset,
                                             header->records_offset,
                                             header->blocks_offset,
                                             header->block_tokens_offset,
                                             header->steps_offset,
                                             header->flight_offset,
                                             header->heap_offset};
    const uint64_t sizes[SECTIONS_COUNT] = {
        sizeof *header,
        geometry->workers_max * sizeof(struct worker_slot),
        geometry->records_count * sizeof(struct request_record),
        geometry->blocks_count * sizeof(struct block_record),
        (uint64_t)geometry->blocks_count * geometry->block_size * sizeof(uint32_t),
        geometry->steps_count * header->step_bytes,
        geometry->flight_events_count * sizeof(struct flight_event),
        (uint64_t)geometry->heap_pages_count * LAYOUT_PAGE_BYTES};
    memcpy(begin, begins, sizeof begins);
    memcpy(bytes, sizes, sizeof sizes);
}

static void check_sections(const struct geometry *geometry)
{
    struct segment segment = format(geometry);
    uint64_t begin[SECTIONS_COUNT], bytes[SECTIONS_COUNT];
    measure(segment.header, begin, bytes);
    for (int i = 0; i < SECTIONS_COUNT; i++) {
        uint64_t end = i + 1 < SECTIONS_COUNT ? begin[i + 1] : segment.size_bytes;
        cr_assert_eq(begin[i] % LAYOUT_PAGE_BYTES, 0, "section %d", i);
        cr_assert_leq(begin[i] + bytes[i], end, "section %d", i);
        cr_assert_lt(end - begin[i] - bytes[i], LAYOUT_PAGE_BYTES, "section %d", i);
    }
    free(segment.base);
}

Test(layout, sections_are_aligned_in_order_and_apart)
{
    struct geometry geometry = odd_geometry();
    check_sections(&geometry);
    /* Each count in turn at 1 and at a large prime. */
    uint32_t *counts[] = {&geometry.blocks_count,       &geometry.block_size,
                          &geometry.records_count,      &geometry.heap_pages_count,
                          &geometry.steps_count,        &geometry.step_rows_max,
                          &geometry.step_sequences_max, &geometry.workers_max};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint32_t before = *counts[i];
        *counts[i] = 1;
        check_sections(&geometry);
        *counts[i] = 1009;
        check_sections(&geometry);
        *counts[i] = before;
    }
}

Test(layout, a_step_has_room_for_each_array_and_ends_where_the_next_begins)
{
    struct geometry geometry = odd_geometry();
    struct segment segment = format(&geometry);
    struct control control = view_of(&segment);
    uint64_t sequences = geometry.step_sequences_max;
    for (uint32_t i = 0; i < geometry.steps_count; i++) {
        struct step_view view = step_at(&control, i);
        unsigned char *begin = control.steps + i * segment.header->step_bytes;
        cr_assert_eq((void *)view.step, (void *)begin);
        cr_assert_eq((uintptr_t)begin % 64, 0);
        const struct {
            void *array;
            uint64_t bytes;
        } arrays[] = {{view.step, sizeof *view.step},
                      {view.sequence_record, sequences * sizeof(uint32_t)},
                      {view.sequence_use, sequences * sizeof(uint32_t)},
                      {view.sequence_row_first, sequences * sizeof(uint32_t)},
                      {view.sequence_rows_count, sequences * sizeof(uint32_t)},
                      {view.sequence_position, sequences * sizeof(uint32_t)},
                      {view.sequence_flags, sequences * sizeof(uint32_t)},
                      {view.result_token, sequences * sizeof(uint32_t)},
                      {view.result_status, sequences * sizeof(uint32_t)},
                      {view.row_token, geometry.step_rows_max * sizeof(uint32_t)},
                      {view.result_logprobs,
                       sequences * (1 + TOP_LOGPROBS_MAX) * sizeof(struct logprob)}};
        size_t count = sizeof arrays / sizeof arrays[0];
        unsigned char *at = begin;
        for (size_t array = 0; array < count; array++) {
            cr_assert_geq((void *)arrays[array].array, (void *)at, "array %zu", array);
            at = (unsigned char *)arrays[array].array + arrays[array].bytes;
        }
        cr_assert_leq((void *)at, (void *)(begin + segment.header->step_bytes));
    }
    free(segment.base);
}

Test(layout, kv_rows_of_all_blocks_and_layers_are_apart_and_within)
{
    struct geometry geometry = odd_geometry();
    uint64_t plane_bytes = (uint64_t)geometry.block_size * geometry.kv_heads_count *
                           geometry.key_length * geometry.kv_element_bytes;
    uint64_t expected = 0;
    for (uint32_t block = 0; block < geometry.blocks_count; block++)
        for (uint32_t layer = 0; layer < geometry.layers_count; layer++)
            for (uint32_t is_v = 0; is_v < 2; is_v++, expected += plane_bytes)
                cr_assert_eq(kv_rows_offset(&geometry, block, layer, is_v), expected);
    cr_assert_eq(layout_kv_bytes(&geometry), expected);
}

/* Beyond 32 bits: 2^20 blocks of 1 MiB. */
Test(layout, kv_rows_lie_right_beyond_four_gigabytes)
{
    struct geometry geometry = odd_geometry();
    geometry.block_bytes = 1u << 20;
    geometry.blocks_count = 1u << 20;
    cr_assert_eq(kv_rows_offset(&geometry, (1u << 20) - 1, 0, 0),
                 ((UINT64_C(1) << 20) - 1) << 20);
    cr_assert_eq(layout_kv_bytes(&geometry), UINT64_C(1) << 40);
}

Test(layout, a_count_of_nothing_is_refused_by_name)
{
    struct geometry geometry = odd_geometry();
    struct fault fault;
    uint64_t bytes;
    geometry.steps_count = 0;
    cr_assert_eq(layout_control_bytes(&geometry, &bytes, &fault), STATUS_INVALID);
    cr_assert_str_eq(fault.sentence, "shared memory's geometry has 0 for steps_count");
    geometry = odd_geometry();
    geometry.flight_events_count = 63;
    cr_assert_eq(layout_control_bytes(&geometry, &bytes, &fault), STATUS_INVALID);
    cr_assert_str_eq(fault.sentence, "flight_events_count 63 is no power of two");
}

Test(layout, a_product_beyond_64_bits_is_refused)
{
    struct geometry geometry = odd_geometry();
    struct fault fault;
    uint64_t bytes;
    geometry.block_bytes = UINT64_MAX / 2;
    cr_assert_eq(layout_control_bytes(&geometry, &bytes, &fault), STATUS_INVALID);
    geometry = odd_geometry();
    geometry.blocks_count = geometry.block_size = UINT32_MAX;
    cr_assert_eq(layout_control_bytes(&geometry, &bytes, &fault), STATUS_INVALID);
    geometry = odd_geometry();
    geometry.steps_count = geometry.step_sequences_max = UINT32_MAX;
    cr_assert_eq(layout_control_bytes(&geometry, &bytes, &fault), STATUS_INVALID);
    cr_assert_not_null(strstr(fault.sentence, "exceeds what can be addressed"));
}

Test(layout, a_segment_is_seen_only_when_published)
{
    struct geometry geometry = odd_geometry();
    struct segment segment = format(&geometry);
    struct control control;
    struct fault fault;
    cr_assert_eq(layout_view(segment.base, segment.size_bytes, &control, &fault),
                 STATUS_UNAVAILABLE);
    control = view_of(&segment);
    cr_assert_eq((void *)control.heap,
                 (char *)segment.base + segment.header->heap_offset);
    free(segment.base);
}

/* --- headers that lie --------------------------------------------------------------- */

typedef void lie(struct control_header *header);

static void lie_magic(struct control_header *header)
{
    header->magic ^= 1;
}
static void lie_version(struct control_header *header)
{
    header->layout_version++;
}
static void lie_size(struct control_header *header)
{
    header->size_bytes += LAYOUT_PAGE_BYTES;
}
static void lie_no_blocks(struct control_header *header)
{
    header->geometry.blocks_count = 0;
}
static void lie_more_blocks(struct control_header *header)
{
    header->geometry.blocks_count += 1000;
}
static void lie_overflow(struct control_header *header)
{
    header->geometry.records_count = UINT32_MAX;
    header->geometry.heap_pages_count = UINT32_MAX;
}
static void lie_flight(struct control_header *header)
{
    header->geometry.flight_events_count = 3;
}
static void lie_workers_offset(struct control_header *header)
{
    header->workers_offset = UINT64_MAX - 8;
}
static void lie_records_offset(struct control_header *header)
{
    header->records_offset = header->size_bytes;
}
static void lie_blocks_offset(struct control_header *header)
{
    header->blocks_offset += 1;
}
static void lie_block_tokens_offset(struct control_header *header)
{
    header->block_tokens_offset = 0;
}
static void lie_steps_offset(struct control_header *header)
{
    header->steps_offset -= LAYOUT_PAGE_BYTES;
}
static void lie_step_bytes(struct control_header *header)
{
    header->step_bytes *= 2;
}
static void lie_flight_offset(struct control_header *header)
{
    header->flight_offset ^= 1u << 20;
}
static void lie_heap_offset(struct control_header *header)
{
    header->heap_offset += LAYOUT_PAGE_BYTES;
}

Test(layout, every_lie_of_a_header_is_corrupt)
{
    static lie *const lies[] = {lie_magic,
                                lie_version,
                                lie_size,
                                lie_no_blocks,
                                lie_more_blocks,
                                lie_overflow,
                                lie_flight,
                                lie_workers_offset,
                                lie_records_offset,
                                lie_blocks_offset,
                                lie_block_tokens_offset,
                                lie_steps_offset,
                                lie_step_bytes,
                                lie_flight_offset,
                                lie_heap_offset};
    struct geometry geometry = odd_geometry();
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        struct segment segment = format(&geometry);
        struct control control;
        struct fault fault = {0};
        lies[i](segment.header);
        layout_publish(segment.header);
        cr_assert_eq(layout_view(segment.base, segment.size_bytes, &control, &fault),
                     STATUS_CORRUPT, "lie %zu", i);
        cr_assert_eq(fault.status, STATUS_CORRUPT, "lie %zu", i);
        cr_assert_gt(strlen(fault.sentence), 0, "lie %zu", i);
        free(segment.base);
    }
}

Test(layout, a_segment_cut_short_or_mapped_too_long_is_corrupt)
{
    struct geometry geometry = odd_geometry();
    struct segment segment = format(&geometry);
    struct control control;
    struct fault fault;
    layout_publish(segment.header);
    const uint64_t sizes[] = {0, 8, sizeof(struct control_header) - 1,
                              segment.size_bytes - LAYOUT_PAGE_BYTES,
                              segment.size_bytes + LAYOUT_PAGE_BYTES};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        cr_assert_eq(layout_view(segment.base, sizes[i], &control, &fault),
                     STATUS_CORRUPT, "size %zu", i);
    free(segment.base);
}

/* --- extents ------------------------------------------------------------------------ */

static struct request_record record_with_all(void)
{
    return (struct request_record){.prompt_tokens_count = 11,
                                   .tokens_capacity = 43,
                                   .blocks_capacity = 3,
                                   .logprobs_per_token = 6,
                                   .logit_bias_count = 2,
                                   .stop_tokens_count = 5,
                                   .grammar_bytes = 13,
                                   .client_blob_bytes = 4099};
}

Test(extent, parts_follow_one_another_and_fill_whole_pages)
{
    struct geometry geometry = odd_geometry();
    struct segment segment = format(&geometry);
    struct control control = view_of(&segment);
    struct request_record record = record_with_all();
    /* 43 tokens, 3 blocks and 5 stop tokens of 4 bytes; 32 generated with 6 logprobs and
     * 2 biases of 8; 4 links of 32; 13 and 4099 bytes: 5996, two pages. */
    cr_assert_eq(extent_pages(&record), 2);
    record.extent_page = 27;
    record.extent_pages_count = 2;
    struct extent extent = extent_view(&control, &record);
    cr_assert_eq((void *)extent.tokens, control.heap + 27 * LAYOUT_PAGE_BYTES);
    cr_assert_eq((void *)extent.block_table, extent.tokens + 43);
    cr_assert_eq((void *)extent.chain, extent.block_table + 3);
    cr_assert_eq((void *)extent.logprobs, extent.chain + 4);
    cr_assert_eq((void *)extent.logit_bias, extent.logprobs + 32 * 6);
    cr_assert_eq((void *)extent.stop_tokens, extent.logit_bias + 2);
    cr_assert_eq((void *)extent.grammar, extent.stop_tokens + 5);
    cr_assert_eq((void *)extent.client_blob, extent.grammar + 13);
    cr_assert_leq((void *)(extent.client_blob + 4099),
                  control.heap + 29 * LAYOUT_PAGE_BYTES);
    free(segment.base);
}

Test(extent, one_byte_more_than_a_page_takes_two)
{
    struct request_record record = {.client_blob_bytes =
                                        LAYOUT_PAGE_BYTES - sizeof(struct block_digest)};
    cr_assert_eq(extent_pages(&record), 1);
    record.client_blob_bytes++;
    cr_assert_eq(extent_pages(&record), 2);
}

Test(extent, counts_beyond_32_bits_are_more_pages_than_any_heap_has)
{
    struct request_record record = {.tokens_capacity = UINT32_MAX,
                                    .logprobs_per_token = UINT32_MAX};
    cr_assert_eq(extent_pages(&record), UINT32_MAX);
}

static void view_record(const struct request_record *record)
{
    struct geometry geometry = odd_geometry();
    struct segment segment = format(&geometry);
    struct control control = view_of(&segment);
    extent_view(&control, record);
}

Test(extent, one_that_ends_behind_the_heap_is_a_program_error, .signal = SIGABRT)
{
    struct request_record record = record_with_all();
    record.extent_page = 28;
    record.extent_pages_count = 2;
    view_record(&record);
}

Test(extent, one_smaller_than_its_counts_is_a_program_error, .signal = SIGABRT)
{
    struct request_record record = record_with_all();
    record.extent_pages_count = 1;
    view_record(&record);
}

/* --- the layout that other builds rely on ------------------------------------------- */

/* A bell, and a step of one worker, share no cache line with another's. */
Test(layout, no_two_bells_share_a_cache_line)
{
    cr_assert_geq(sizeof(struct worker_slot), 64);
    struct geometry geometry = odd_geometry();
    cr_assert_eq(step_bytes(&geometry) % 64, 0);
}
