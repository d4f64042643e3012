#include "tests/scheduler/toy.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define TOY_BLOCK_SIZE 4u
#define TOY_CONTEXT    64u
#define TURN_NS        UINT64_C(1000000)

static uint64_t mix(uint64_t state, uint64_t value)
{
    state = (state ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return state ^ state >> 29;
}

struct geometry toy_geometry(uint32_t blocks_count, uint32_t slots_count,
                             uint32_t step_rows_max, uint32_t records_count)
{
    return (struct geometry){.block_bytes = 64,
                             .block_size = TOY_BLOCK_SIZE,
                             .blocks_count = blocks_count,
                             .layers_count = 1,
                             .kv_heads_count = 1,
                             .key_length = 4,
                             .kv_element_bytes = 2,
                             .vocabulary_count = TOY_VOCABULARY,
                             .context_length = TOY_CONTEXT,
                             .records_count = records_count,
                             .heap_pages_count = 2 * records_count,
                             .steps_count = 4,
                             .step_rows_max = step_rows_max,
                             .step_sequences_max = slots_count,
                             .workers_max = 2,
                             .flight_events_count = 64};
}

struct scheduler_options toy_options(uint32_t prefill_chunk)
{
    return (struct scheduler_options){.policy = "fcfs",
                                      .prefill_chunk = prefill_chunk,
                                      .waiting_max = 64,
                                      .queue_wait_ns = UINT64_C(60000000000),
                                      .done_kept_ns = UINT64_C(60000000000),
                                      .secret = 42,
                                      .prefix_caching = true};
}

static void start_scheduler(struct toy *toy)
{
    struct fault fault;
    cr_assert_eq(scheduler_create(&toy->scheduler, &toy->control, &toy->options, &fault),
                 STATUS_OK, "%s", fault.sentence);
}

void toy_open(struct toy *toy, struct geometry geometry, struct scheduler_options options)
{
    struct fault fault;
    uint64_t size_bytes;
    *toy = (struct toy){.options = options, .now_ns = TURN_NS};
    cr_assert_eq(layout_control_bytes(&geometry, &size_bytes, &fault), STATUS_OK, "%s",
                 fault.sentence);
    cr_assert_eq(posix_memalign(&toy->memory, LAYOUT_PAGE_BYTES, size_bytes), 0);
    memset(toy->memory, 0, size_bytes);
    layout_format(toy->memory, &geometry);
    ((struct control_header *)toy->memory)->generation = 1;
    layout_publish(toy->memory);
    cr_assert_eq(layout_view(toy->memory, size_bytes, &toy->control, &fault), STATUS_OK,
                 "%s", fault.sentence);
    toy->kv = calloc((size_t)geometry.blocks_count * TOY_BLOCK_SIZE, sizeof *toy->kv);
    start_scheduler(toy);
}

void toy_replace_scheduler(struct toy *toy)
{
    scheduler_destroy(toy->scheduler);
    toy->control.header->generation++;
    start_scheduler(toy);
}

void toy_close(struct toy *toy)
{
    scheduler_destroy(toy->scheduler);
    free(toy->kv);
    free(toy->memory);
}

static uint32_t prompt_token(const struct toy_request *request, uint32_t index)
{
    uint64_t state = 1;
    if (request->tokens != NULL)
        return request->tokens[index];
    const char *id = index < request->shared_count ? request->shared_id : request->id;
    for (const char *c = id; *c != '\0'; c++)
        state = mix(state, (unsigned char)*c);
    return (uint32_t)(mix(state, index) % TOY_VOCABULARY);
}

struct submit_request toy_submit_request(const struct toy_request *request)
{
    static uint32_t prompt[TOY_TOKENS_MAX];
    static const uint32_t stop_token = TOY_STOP_TOKEN;
    static char digest[32], owner_key[OWNER_KEY_BYTES];
    cr_assert_leq(request->prompt_count, TOY_TOKENS_MAX);
    for (uint32_t i = 0; i < request->prompt_count; i++)
        prompt[i] = prompt_token(request, i);
    memset(digest, 0, sizeof digest);
    memcpy(digest, &request->prompt_count, sizeof request->prompt_count);
    memcpy(digest + 8, &request->max_tokens, sizeof request->max_tokens);
    memset(owner_key, 0, sizeof owner_key);
    if (request->owner != NULL)
        memcpy(owner_key, request->owner, strlen(request->owner));
    return (struct submit_request){
        .frontend = TOY_FRONTEND,
        .owner_key = {owner_key, request->owner != NULL ? sizeof owner_key : 0},
        .cache_salt = request->salt,
        .id = span_of(request->id),
        .body_digest = {digest, sizeof digest},
        .sampling = {.top_p = 1, .repetition_penalty = 1, .seed = request->seed},
        .has_seed = true,
        .max_tokens = request->max_tokens,
        .prompt_tokens = {(const char *)prompt, request->prompt_count * sizeof *prompt},
        .stop_tokens = {(const char *)&stop_token,
                        request->stops ? sizeof stop_token : 0}};
}

enum status toy_submit_status(struct toy *toy, const struct submit_request *submit,
                              uint32_t *record, struct fault *fault)
{
    uint32_t retry_after_s;
    return scheduler_submit(toy->scheduler, submit, 0, toy->now_ns, record,
                            &retry_after_s, fault);
}

uint32_t toy_submit(struct toy *toy, const struct toy_request *request)
{
    struct submit_request submit = toy_submit_request(request);
    struct fault fault;
    uint32_t record;
    cr_assert_eq(toy_submit_status(toy, &submit, &record, &fault), STATUS_OK, "%s",
                 fault.sentence);
    return record;
}

static uint32_t sample(uint64_t row, uint64_t seed)
{
    return (uint32_t)(mix(row, seed) % TOY_VOCABULARY);
}

uint32_t toy_expect(const struct toy_request *request, uint32_t tokens[TOY_TOKENS_MAX])
{
    uint64_t row = 0;
    for (uint32_t i = 0; i < request->prompt_count; i++)
        row = mix(row, prompt_token(request, i));
    uint32_t count = 0;
    while (count < request->max_tokens) {
        tokens[count] = sample(row, request->seed);
        row = mix(row, tokens[count++]);
        if (request->stops && tokens[count - 1] == TOY_STOP_TOKEN)
            break;
    }
    return count;
}

static uint64_t *kv_row(struct toy *toy, const struct request_record *record,
                        uint32_t position)
{
    const uint32_t *table = extent_view(&toy->control, record).block_table;
    cr_assert_lt(position / TOY_BLOCK_SIZE, record->blocks_held_count);
    uint32_t block = table[position / TOY_BLOCK_SIZE];
    return &toy->kv[block * TOY_BLOCK_SIZE + position % TOY_BLOCK_SIZE];
}

static void run_sequence(struct toy *toy, const struct step_view *view, uint32_t sequence)
{
    const struct request_record *record =
        toy_record(toy, view->sequence_record[sequence]);
    uint32_t first = view->sequence_row_first[sequence];
    uint32_t position = view->sequence_position[sequence];
    cr_assert_eq(record->use, view->sequence_use[sequence]);
    cr_assert_eq(record->kv_rows_count, position);
    uint64_t row = position == 0 ? 0 : *kv_row(toy, record, position - 1);
    for (uint32_t i = 0; i < view->sequence_rows_count[sequence]; i++) {
        row = mix(row, view->row_token[first + i]);
        *kv_row(toy, record, position + i) = row;
    }
    view->result_status[sequence] = STATUS_OK;
    if (view->sequence_flags[sequence] & SEQUENCE_SAMPLE)
        view->result_token[sequence] = sample(row, record->sampling.seed);
}

void toy_compute(struct toy *toy, uint32_t slot, uint32_t sequences_count)
{
    struct step_view view = step_at(&toy->control, slot);
    for (uint32_t i = 0; i < sequences_count; i++)
        run_sequence(toy, &view, i);
}

void toy_run(struct toy *toy, uint32_t slot)
{
    struct step_view view = step_at(&toy->control, slot);
    toy_compute(toy, slot, view.step->sequences_count);
    view.step->done_generation = view.step->generation;
    view.step->done_attempt = view.step->attempt;
    atomic_store_explicit(&view.step->done, view.step->posted, memory_order_release);
}

void toy_check(struct toy *toy)
{
    struct fault fault;
    cr_assert_eq(scheduler_check(toy->scheduler, &fault), STATUS_OK, "%s",
                 fault.sentence);
}

bool toy_turn(struct toy *toy)
{
    toy->now_ns += TURN_NS;
    uint32_t slot = scheduler_plan(toy->scheduler, 0, toy->now_ns);
    toy_check(toy);
    if (slot == STEP_NONE)
        return false;
    toy_run(toy, slot);
    cr_assert(scheduler_commit(toy->scheduler, slot, toy->now_ns));
    toy_check(toy);
    return true;
}

uint32_t toy_finish_all(struct toy *toy)
{
    uint32_t turns = 0;
    while (toy_turn(toy))
        turns++;
    return turns;
}

bool toy_output_is_right(struct toy *toy, uint32_t record,
                         const struct toy_request *request)
{
    uint32_t expected[TOY_TOKENS_MAX];
    uint32_t count = toy_expect(request, expected);
    const struct request_record *held = toy_record(toy, record);
    const uint32_t *tokens =
        extent_view(&toy->control, held).tokens + held->prompt_tokens_count;
    return request_state(held) == REQUEST_DONE &&
           request_generated_count(held) == count &&
           memcmp(tokens, expected, count * sizeof *expected) == 0;
}
