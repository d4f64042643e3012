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

static json_t *boundary_cases(const char *function)
{
    json_error_t error;
    course = json_load_file(COURSE_JSON, 0, &error);
    cr_assert_not_null(course, "%s", error.text);
    json_t *boundary = json_object_get(course, "iteration_boundary");
    json_t *cases = json_object_get(json_object_get(boundary, function), "cases");
    cr_assert_gt(json_array_size(cases), 0);
    return cases;
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
    cr_assert_str_eq(fault.sentence, "prefill_chunk_size must be positive, not 0");
    cr_assert_eq(iteration_token_demand(&request, 4, &demand, &fault), STATUS_INVALID);
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
        struct iteration_request active[REQUESTS_MAX], scratch[REQUESTS_MAX];
        uint32_t count = requests_of(json_object_get(c, "active"), active), kept;
        cr_assert_eq(release_terminal_requests(active, count, scratch, &kept),
                     number(c, "released_kv_blocks"));
        assert_ids(active, kept, json_object_get(c, "kept"));
        assert_ids(active + kept, count - kept, json_object_get(c, "terminal"));
    }
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

static void assert_formed(const json_t *c, struct iteration_request *active,
                          uint32_t kept, struct iteration_request *waiting,
                          uint32_t waiting_count, const struct iteration_outcome *outcome)
{
    uint32_t admitted = outcome->admitted_count;
    memcpy(active + kept, waiting, admitted * sizeof *waiting);
    assert_ids(active, kept + admitted, json_object_get(c, "batch"));
    assert_ids(waiting + admitted, waiting_count - admitted,
               json_object_get(c, "waiting_after"));
    json_t *blocked = json_array_get(json_object_get(c, "blocked"), 0);
    cr_assert_str_eq(reason_names[outcome->blocked_reason], text(blocked, "reason"));
    cr_assert_eq(waiting[admitted].id, (uint32_t)text(blocked, "id")[0]);
    cr_assert_eq(outcome->released_kv_blocks, number(c, "released_kv_blocks"));
    cr_assert_eq(outcome->free_slots, number(c, "free_slots"));
    cr_assert_eq(outcome->free_kv_blocks, number(c, "free_kv_blocks_after"));
    cr_assert_eq(outcome->free_token_budget, number(c, "free_token_budget"));
}

Test(boundary, a_batch_forms_as_the_course_says)
{
    json_t *cases = boundary_cases("form_iteration_batch"), *c;
    size_t i;
    json_array_foreach (cases, i, c) {
        struct iteration_request active[2 * REQUESTS_MAX], waiting[REQUESTS_MAX],
            scratch[REQUESTS_MAX];
        uint32_t active_count = requests_of(json_object_get(c, "active"), active), kept;
        uint32_t waiting_count = requests_of(json_object_get(c, "waiting"), waiting);
        uint32_t released =
            release_terminal_requests(active, active_count, scratch, &kept);
        assert_ids(active + kept, active_count - kept, json_object_get(c, "terminal"));
        struct iteration_limits limits = limits_of(c);
        struct iteration_outcome outcome;
        struct fault fault;
        cr_assert_eq(form_iteration_batch(active, kept, waiting, waiting_count, released,
                                          &limits, &outcome, &fault),
                     STATUS_OK);
        assert_formed(c, active, kept, waiting, waiting_count, &outcome);
    }
}

Test(boundary, blocks_released_now_serve_this_boundarys_admissions)
{
    struct iteration_request waiting = {
        .phase = PHASE_PREFILL, .kv_blocks = 4, .remaining_prefill_tokens = 2};
    struct iteration_limits limits = {.max_batch_size = 1,
                                      .free_kv_blocks = 1,
                                      .max_num_batched_tokens = 8,
                                      .prefill_chunk_size = 8};
    struct iteration_outcome outcome;
    struct fault fault;
    cr_assert_eq(form_iteration_batch(NULL, 0, &waiting, 1, 3, &limits, &outcome, &fault),
                 STATUS_OK);
    cr_assert_eq(outcome.admitted_count, 1);
    cr_assert_eq(outcome.free_kv_blocks, 0);
}

Test(boundary, active_requests_over_the_budget_are_an_error)
{
    struct iteration_request active[2] = {
        {.phase = PHASE_DECODE, .remaining_decode_tokens = 1},
        {.phase = PHASE_PREFILL, .remaining_prefill_tokens = 4}};
    struct iteration_limits limits = {
        .max_batch_size = 2, .max_num_batched_tokens = 4, .prefill_chunk_size = 4};
    struct iteration_outcome outcome;
    struct fault fault;
    cr_assert_eq(form_iteration_batch(active, 2, NULL, 0, 0, &limits, &outcome, &fault),
                 STATUS_INVALID);
    cr_assert_str_eq(fault.sentence,
                     "active requests already exceed this iteration's budget");
}

Test(boundary, a_running_prefill_is_trimmed_to_what_decodes_leave)
{
    struct iteration_request active[3] = {
        {.phase = PHASE_PREFILL, .remaining_prefill_tokens = 9},
        {.phase = PHASE_PREFILL, .remaining_prefill_tokens = 9},
        {.phase = PHASE_DECODE, .remaining_decode_tokens = 1}};
    struct iteration_limits limits = {.max_batch_size = 3,
                                      .max_num_batched_tokens = 5,
                                      .prefill_chunk_size = 4,
                                      .trim_prefill = true};
    struct iteration_outcome outcome;
    struct fault fault;
    cr_assert_eq(form_iteration_batch(active, 3, NULL, 0, 0, &limits, &outcome, &fault),
                 STATUS_OK);
    cr_assert_eq(active[0].scheduled_tokens, 4);
    cr_assert_eq(active[1].scheduled_tokens, 0);
    cr_assert_eq(active[2].scheduled_tokens, 1);
    cr_assert_eq(outcome.free_token_budget, 0);
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
        struct fault fault;
        request.scheduled_tokens = (uint32_t)number(c, "scheduled_tokens");
        cr_assert_eq(advance_iteration(&request, &fault), STATUS_OK);
        if (json_object_get(c, "phase_after") != NULL) {
            cr_assert_eq(request.phase, phase_of(text(c, "phase_after")));
            cr_assert_eq(request.remaining_prefill_tokens,
                         number(c, "remaining_prefill_tokens"));
        } else {
            cr_assert_str_eq(text(c, "status_after"), "completed");
            cr_assert_eq(request.status, ITERATION_COMPLETED);
            cr_assert_eq(request.remaining_decode_tokens,
                         number(c, "remaining_decode_tokens"));
        }
    }
}

Test(boundary, more_than_the_phases_remainder_is_an_error)
{
    struct iteration_request request = {.phase = PHASE_PREFILL,
                                        .scheduled_tokens = 3,
                                        .remaining_prefill_tokens = 2,
                                        .remaining_decode_tokens = 5};
    struct fault fault;
    cr_assert_eq(advance_iteration(&request, &fault), STATUS_INVALID);
    cr_assert_str_eq(fault.sentence,
                     "scheduled_tokens 3 exceeds the phase's remaining work 2");
    request.phase = PHASES;
    cr_assert_eq(advance_iteration(&request, &fault), STATUS_INVALID);
}
