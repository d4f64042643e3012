/* The course's iteration boundary, with the values of course.json. */
#include "scheduler/core/boundary.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

enum { REQUESTS_MAX = 8 };

static json_t *course; /* of the test that runs */

static void forget_course(void)
{
    json_decref(course);
}

TestSuite(boundary, .fini = forget_course);

static json_t *course_of(const char *function)
{
    json_error_t error;
    json_decref(course);
    course = json_load_file(COURSE_JSON, 0, &error);
    cr_assert_not_null(course, "%s", error.text);
    json_t *boundary = json_object_get(course, "iteration_boundary");
    return json_object_get(boundary, function);
}

static json_t *boundary_cases(const char *function)
{
    json_t *cases = json_object_get(course_of(function), "cases");
    cr_assert_gt(json_array_size(cases), 0);
    return cases;
}

/* The sentence begins as the file has it: its words in English come first, and the
 * course's own in brackets behind them. What was wrong may follow. */
static void assert_sentence(const struct fault *fault, const char *function,
                            const char *error)
{
    json_t *errors = json_object_get(course_of(function), "errors");
    const char *expected = json_string_value(json_object_get(errors, error));
    cr_assert_not_null(expected);
    const char *bracket = strstr(expected, " (course:");
    size_t size = bracket != NULL ? (size_t)(bracket - expected) : strlen(expected);
    cr_assert_eq(strncmp(fault->sentence, expected, size), 0, "%s", fault->sentence);
}

static int64_t number(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    cr_assert(json_is_integer(value), "no number '%s'", key);
    return json_integer_value(value);
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    cr_assert_not_null(value, "no text '%s'", key);
    return value;
}

static uint32_t phase_of(const char *name)
{
    return strcmp(name, "prefill") == 0  ? PHASE_PREFILL
           : strcmp(name, "decode") == 0 ? PHASE_DECODE
                                         : PHASES;
}

/* The course's ids are single letters. */
static struct iteration_request request_of(const json_t *object)
{
    bool is_active = strcmp(text(object, "status"), "active") == 0;
    return (struct iteration_request){
        .id = (uint32_t)text(object, "id")[0],
        .phase = phase_of(text(object, "phase")),
        .status = is_active ? ITERATION_ACTIVE : ITERATION_COMPLETED,
        .kv_blocks = (uint32_t)number(object, "kv_blocks"),
        .remaining_prefill_tokens = number(object, "remaining_prefill_tokens"),
        .remaining_decode_tokens = number(object, "remaining_decode_tokens")};
}

static uint32_t requests_of(const json_t *array,
                            struct iteration_request requests[REQUESTS_MAX])
{
    uint32_t count = (uint32_t)json_array_size(array);
    cr_assert_leq(count, REQUESTS_MAX);
    for (uint32_t i = 0; i < count; i++)
        requests[i] = request_of(json_array_get(array, i));
    return count;
}

static void assert_unmodified(const struct iteration_request *before,
                              const struct iteration_request *after, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_eq(after[i].id, before[i].id);
        cr_assert_eq(after[i].phase, before[i].phase);
        cr_assert_eq(after[i].status, before[i].status);
        cr_assert_eq(after[i].kv_blocks, before[i].kv_blocks);
        cr_assert_eq(after[i].scheduled_tokens, before[i].scheduled_tokens);
        cr_assert_eq(after[i].remaining_prefill_tokens,
                     before[i].remaining_prefill_tokens);
        cr_assert_eq(after[i].remaining_decode_tokens, before[i].remaining_decode_tokens);
    }
}

static void assert_ids(const struct iteration_request *requests, uint32_t count,
                       const json_t *ids)
{
    cr_assert_eq(count, json_array_size(ids));
    for (uint32_t i = 0; i < count; i++)
        cr_assert_eq(requests[i].id,
                     (uint32_t)json_string_value(json_array_get(ids, i))[0]);
}

Test(boundary, a_request_demands_what_the_course_says)
{
    json_t *cases = boundary_cases("iteration_token_demand"), *c;
    size_t i;
    json_array_foreach (cases, i, c) {
        struct iteration_request request = request_of(json_object_get(c, "request"));
        struct fault fault;
        int64_t demand;
        cr_assert_eq(
            iteration_token_demand(&request, number(c, "chunk"), &demand, &fault),
            STATUS_OK);
        cr_assert_eq(demand, number(c, "demand"));
    }
}

Test(boundary, a_chunk_that_is_not_positive_is_refused_before_the_phase)
{
    struct iteration_request request = {.phase = 9};
    struct fault fault;
    int64_t demand;
    cr_assert_eq(iteration_token_demand(&request, 0, &demand, &fault), STATUS_INVALID);
    assert_sentence(&fault, "iteration_token_demand", "chunk");
    cr_assert_str_eq(fault.sentence, "prefill_chunk_size must be positive, not 0");
    cr_assert_eq(iteration_token_demand(&request, 4, &demand, &fault), STATUS_INVALID);
    assert_sentence(&fault, "iteration_token_demand", "phase");
    cr_assert_str_eq(fault.sentence, "unknown request phase 9");
}

Test(boundary, nothing_left_demands_nothing)
{
    struct iteration_request prefill = {.phase = PHASE_PREFILL,
                                        .remaining_prefill_tokens = -3};
    struct iteration_request decode = {.phase = PHASE_DECODE};
    struct fault fault;
    int64_t demand;
    cr_assert_eq(iteration_token_demand(&prefill, 4, &demand, &fault), STATUS_OK);
    cr_assert_eq(demand, 0);
    cr_assert_eq(iteration_token_demand(&decode, 4, &demand, &fault), STATUS_OK);
    cr_assert_eq(demand, 0);
}

Test(boundary, terminal_requests_leave_with_their_blocks)
{
    json_t *cases = boundary_cases("release_terminal_requests"), *c;
    size_t i;
    json_array_foreach (cases, i, c) {
        struct iteration_request active[REQUESTS_MAX], before[REQUESTS_MAX],
            kept[REQUESTS_MAX], terminal[REQUESTS_MAX];
        uint32_t count = requests_of(json_object_get(c, "active"), active);
        uint32_t kept_count, terminal_count;
        memcpy(before, active, sizeof before);
        cr_assert_eq(release_terminal_requests(active, count, kept, &kept_count, terminal,
                                               &terminal_count),
                     number(c, "released_kv_blocks"));
        assert_ids(kept, kept_count, json_object_get(c, "kept"));
        assert_ids(terminal, terminal_count, json_object_get(c, "terminal"));
        assert_unmodified(before, active, count);
    }
}

Test(boundary, every_terminal_state_leaves_and_the_order_is_kept)
{
    const struct iteration_request active[6] = {
        {.id = 0, .status = ITERATION_TIMED_OUT, .kv_blocks = 1},
        {.id = 1, .status = ITERATION_ACTIVE, .kv_blocks = 10},
        {.id = 2, .status = ITERATION_COMPLETED, .kv_blocks = 2},
        {.id = 3, .status = ITERATION_FAILED, .kv_blocks = 3},
        {.id = 4, .status = ITERATION_ACTIVE, .kv_blocks = 10},
        {.id = 5, .status = ITERATION_CANCELLED, .kv_blocks = 4}};
    static const uint32_t kept_ids[] = {1, 4}, terminal_ids[] = {0, 2, 3, 5};
    struct iteration_request kept[6], terminal[6];
    uint32_t kept_count, terminal_count;
    cr_assert_eq(release_terminal_requests(active, 6, kept, &kept_count, terminal,
                                           &terminal_count),
                 10);
    cr_assert_eq(kept_count, 2);
    for (uint32_t i = 0; i < kept_count; i++)
        cr_assert_eq(kept[i].id, kept_ids[i]);
    cr_assert_eq(terminal_count, 4);
    for (uint32_t i = 0; i < terminal_count; i++)
        cr_assert_eq(terminal[i].id, terminal_ids[i]);
}

static struct iteration_limits limits_of(const json_t *c)
{
    return (struct iteration_limits){
        .max_batch_size = number(c, "max_batch_size"),
        .free_kv_blocks = number(c, "free_kv_blocks"),
        .max_num_batched_tokens = number(c, "max_num_batched_tokens"),
        .prefill_chunk_size = number(c, "prefill_chunk_size")};
}

static const char *const reason_names[BLOCK_REASONS] = {[BLOCKED_NOT] = "",
                                                        [BLOCKED_SLOT] = "slot",
                                                        [BLOCKED_KV_BLOCKS] = "kv_blocks",
                                                        [BLOCKED_TOKEN_BUDGET] =
                                                            "token_budget"};

/* A batch's own memory, large enough for every case here. */
struct formed {
    struct iteration_request memory[2 * REQUESTS_MAX], terminal[REQUESTS_MAX];
    struct iteration_batch batch;
    struct fault fault;
};

static enum status form(struct formed *formed, const struct iteration_request *active,
                        uint32_t active_count, const struct iteration_request *waiting,
                        uint32_t waiting_count, const struct iteration_limits *limits)
{
    formed->batch =
        (struct iteration_batch){.batch = formed->memory, .terminal = formed->terminal};
    return form_iteration_batch(active, active_count, waiting, waiting_count, limits,
                                &formed->batch, &formed->fault);
}

static void assert_formed(const json_t *c, const struct iteration_batch *batch)
{
    assert_ids(batch->batch, batch->batch_count, json_object_get(c, "batch"));
    assert_ids(batch->waiting, batch->waiting_count, json_object_get(c, "waiting_after"));
    assert_ids(batch->terminal, batch->terminal_count, json_object_get(c, "terminal"));
    json_t *blocked = json_array_get(json_object_get(c, "blocked"), 0);
    cr_assert_str_eq(reason_names[batch->blocked.reason], text(blocked, "reason"));
    cr_assert_eq(batch->blocked.id, (uint32_t)text(blocked, "id")[0]);
    cr_assert_eq(batch->released_kv_blocks, number(c, "released_kv_blocks"));
    cr_assert_eq(batch->free_slots, number(c, "free_slots"));
    cr_assert_eq(batch->free_kv_blocks, number(c, "free_kv_blocks_after"));
    cr_assert_eq(batch->free_token_budget, number(c, "free_token_budget"));
}

Test(boundary, a_batch_forms_as_the_course_says)
{
    json_t *cases = boundary_cases("form_iteration_batch"), *c;
    size_t i;
    json_array_foreach (cases, i, c) {
        struct iteration_request active[REQUESTS_MAX], waiting[REQUESTS_MAX],
            active_before[REQUESTS_MAX], waiting_before[REQUESTS_MAX];
        uint32_t active_count = requests_of(json_object_get(c, "active"), active);
        uint32_t waiting_count = requests_of(json_object_get(c, "waiting"), waiting);
        struct iteration_limits limits = limits_of(c);
        struct formed formed;
        memcpy(active_before, active, sizeof active);
        memcpy(waiting_before, waiting, sizeof waiting);
        cr_assert_eq(form(&formed, active, active_count, waiting, waiting_count, &limits),
                     STATUS_OK);
        assert_formed(c, &formed.batch);
        assert_unmodified(active_before, active, active_count);
        assert_unmodified(waiting_before, waiting, waiting_count);
    }
}

static const struct iteration_limits roomy = {.max_batch_size = 8,
                                              .free_kv_blocks = 8,
                                              .max_num_batched_tokens = 8,
                                              .prefill_chunk_size = 4};

Test(boundary, an_admitted_request_is_active_with_its_tokens_scheduled)
{
    const struct iteration_request active[1] = {
        {.id = 1, .phase = PHASE_DECODE, .remaining_decode_tokens = 3}};
    const struct iteration_request waiting[2] = {
        {.id = 2,
         .phase = PHASE_PREFILL,
         .status = ITERATION_CANCELLED,
         .kv_blocks = 2,
         .remaining_prefill_tokens = 9},
        {.id = 3, .phase = PHASE_PREFILL, .kv_blocks = 3, .remaining_prefill_tokens = 2}};
    struct formed formed;
    cr_assert_eq(form(&formed, active, 1, waiting, 2, &roomy), STATUS_OK);
    cr_assert_eq(formed.batch.batch_count, 3);
    cr_assert_eq(formed.batch.admitted_count, 2);
    cr_assert_eq(formed.batch.waiting_count, 0);
    cr_assert_eq(formed.batch.blocked.reason, BLOCKED_NOT);
    static const uint32_t tokens[] = {1, 4, 2};
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(formed.memory[i].id, i + 1);
        cr_assert_eq(formed.memory[i].status, ITERATION_ACTIVE);
        cr_assert_eq(formed.memory[i].scheduled_tokens, tokens[i]);
    }
    cr_assert_eq(formed.batch.free_slots, 5);
    cr_assert_eq(formed.batch.free_kv_blocks, 3);
    cr_assert_eq(formed.batch.free_token_budget, 1);
}

Test(boundary, the_first_refusal_ends_admission)
{
    const struct iteration_request waiting[3] = {
        {.id = 1, .phase = PHASE_DECODE, .kv_blocks = 2, .remaining_decode_tokens = 1},
        {.id = 2, .phase = PHASE_DECODE, .kv_blocks = 7, .remaining_decode_tokens = 1},
        {.id = 3, .phase = PHASE_DECODE, .kv_blocks = 1, .remaining_decode_tokens = 1}};
    struct formed formed;
    cr_assert_eq(form(&formed, NULL, 0, waiting, 3, &roomy), STATUS_OK);
    cr_assert_eq(formed.batch.batch_count, 1);
    cr_assert_eq(formed.batch.blocked.id, 2);
    cr_assert_eq(formed.batch.blocked.reason, BLOCKED_KV_BLOCKS);
    cr_assert_eq(formed.batch.waiting_count, 2);
    cr_assert_eq(formed.batch.waiting[1].id, 3);
}

Test(boundary, blocks_and_slots_released_now_serve_this_boundarys_admissions)
{
    const struct iteration_request active = {
        .id = 1, .phase = PHASE_DECODE, .kv_blocks = 3, .status = ITERATION_COMPLETED};
    const struct iteration_request waiting = {
        .id = 2, .phase = PHASE_PREFILL, .kv_blocks = 4, .remaining_prefill_tokens = 2};
    struct iteration_limits limits = {.max_batch_size = 1,
                                      .free_kv_blocks = 1,
                                      .max_num_batched_tokens = 8,
                                      .prefill_chunk_size = 8};
    struct formed formed;
    cr_assert_eq(form(&formed, &active, 1, &waiting, 1, &limits), STATUS_OK);
    cr_assert_eq(formed.batch.terminal_count, 1);
    cr_assert_eq(formed.batch.released_kv_blocks, 3);
    cr_assert_eq(formed.batch.admitted_count, 1);
    cr_assert_eq(formed.batch.free_kv_blocks, 0);
}

Test(boundary, active_requests_over_the_budget_are_an_error)
{
    const struct iteration_request active[2] = {
        {.phase = PHASE_DECODE, .remaining_decode_tokens = 1},
        {.phase = PHASE_PREFILL, .remaining_prefill_tokens = 4}};
    struct iteration_limits limits = {
        .max_batch_size = 2, .max_num_batched_tokens = 4, .prefill_chunk_size = 4};
    struct formed formed;
    cr_assert_eq(form(&formed, active, 2, NULL, 0, &limits), STATUS_INVALID);
    assert_sentence(&formed.fault, "form_iteration_batch", "over");
    limits.max_num_batched_tokens = 5;
    cr_assert_eq(form(&formed, active, 2, NULL, 0, &limits), STATUS_OK);
    limits.max_batch_size = 1;
    cr_assert_eq(form(&formed, active, 2, NULL, 0, &limits), STATUS_INVALID);
    assert_sentence(&formed.fault, "form_iteration_batch", "over");
}

Test(boundary, a_running_prefill_is_trimmed_to_what_decodes_leave)
{
    const struct iteration_request active[3] = {
        {.phase = PHASE_PREFILL, .remaining_prefill_tokens = 9},
        {.phase = PHASE_PREFILL, .remaining_prefill_tokens = 9},
        {.phase = PHASE_DECODE, .remaining_decode_tokens = 1}};
    struct iteration_limits limits = {.max_batch_size = 3,
                                      .max_num_batched_tokens = 5,
                                      .prefill_chunk_size = 4,
                                      .trim_prefill = true};
    struct formed formed;
    cr_assert_eq(form(&formed, active, 3, NULL, 0, &limits), STATUS_OK);
    cr_assert_eq(formed.memory[0].scheduled_tokens, 4);
    cr_assert_eq(formed.memory[1].scheduled_tokens, 0);
    cr_assert_eq(formed.memory[2].scheduled_tokens, 1);
    cr_assert_eq(formed.batch.free_token_budget, 0);
}

Test(boundary, the_gates_refuse_in_the_order_slot_blocks_budget)
{
    cr_assert_eq(admission_gate(0, 0, 0, 1, 1), BLOCKED_SLOT);
    cr_assert_eq(admission_gate(1, 0, 0, 1, 1), BLOCKED_KV_BLOCKS);
    cr_assert_eq(admission_gate(1, 1, 0, 1, 1), BLOCKED_TOKEN_BUDGET);
    cr_assert_eq(admission_gate(1, 1, 1, 1, 1), BLOCKED_NOT);
}

Test(boundary, an_iteration_advances_as_the_course_says)
{
    json_t *cases = boundary_cases("advance_iteration"), *c;
    size_t i;
    json_array_foreach (cases, i, c) {
        struct iteration_request request = request_of(json_object_get(c, "request"));
        request.scheduled_tokens = (uint32_t)number(c, "scheduled_tokens");
        struct iteration_request before = request, advanced;
        struct fault fault;
        cr_assert_eq(advance_iteration(&request, &advanced, &fault), STATUS_OK);
        assert_unmodified(&before, &request, 1);
        if (json_object_get(c, "phase_after") != NULL) {
            cr_assert_eq(advanced.phase, phase_of(text(c, "phase_after")));
            cr_assert_eq(advanced.status, ITERATION_ACTIVE);
            cr_assert_eq(advanced.remaining_prefill_tokens,
                         number(c, "remaining_prefill_tokens"));
        } else {
            cr_assert_str_eq(text(c, "status_after"), "completed");
            cr_assert_eq(advanced.status, ITERATION_COMPLETED);
            cr_assert_eq(advanced.remaining_decode_tokens,
                         number(c, "remaining_decode_tokens"));
        }
    }
}

Test(boundary, what_is_left_of_a_phase_keeps_it_going)
{
    struct iteration_request request = {
        .phase = PHASE_PREFILL, .scheduled_tokens = 4, .remaining_prefill_tokens = 9};
    struct fault fault;
    cr_assert_eq(advance_iteration(&request, &request, &fault), STATUS_OK);
    cr_assert_eq(request.phase, PHASE_PREFILL);
    cr_assert_eq(request.remaining_prefill_tokens, 5);
    request = (struct iteration_request){
        .phase = PHASE_DECODE, .scheduled_tokens = 1, .remaining_decode_tokens = 2};
    cr_assert_eq(advance_iteration(&request, &request, &fault), STATUS_OK);
    cr_assert_eq(request.status, ITERATION_ACTIVE);
    cr_assert_eq(request.remaining_decode_tokens, 1);
}

Test(boundary, more_than_the_phases_remainder_is_an_error)
{
    struct iteration_request request = {.phase = PHASE_PREFILL,
                                        .scheduled_tokens = 3,
                                        .remaining_prefill_tokens = 2,
                                        .remaining_decode_tokens = 5};
    struct iteration_request advanced;
    struct fault fault;
    cr_assert_eq(advance_iteration(&request, &advanced, &fault), STATUS_INVALID);
    assert_sentence(&fault, "advance_iteration", "over");
    cr_assert_str_eq(fault.sentence,
                     "scheduled_tokens exceeds the phase's remaining work: 3 of 2");
    request.phase = PHASES;
    cr_assert_eq(advance_iteration(&request, &advanced, &fault), STATUS_INVALID);
    assert_sentence(&fault, "advance_iteration", "phase");
}
