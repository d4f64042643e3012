/* The course's step-driven scheduler, with the values of course.json. */
#include "scheduler/core/step_engine.h"
#include "scheduler/core/step_summary.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS_MAX = 8 };

static json_t *course; /* of the test that runs */

static void read_course(void)
{
    json_error_t error;
    course = json_load_file(COURSE_JSON, 0, &error);
    cr_assert_not_null(course, "%s", error.text);
}

static void forget_course(void)
{
    json_decref(course);
}

TestSuite(step_course, .init = read_course, .fini = forget_course);

static json_t *step_scheduler_of_course(const char *key)
{
    json_t *value = json_object_get(json_object_get(course, "step_scheduler"), key);
    cr_assert_not_null(value, "no %s", key);
    return value;
}

/* A case of the file, run to its end. */
struct played {
    struct step_request requests[REQUESTS_MAX];
    int64_t eos_after[REQUESTS_MAX];
    struct step_result results[REQUESTS_MAX];
    struct step_scheduler *scheduler;
    uint32_t requests_count;
};

static int64_t number_or(const json_t *object, const char *key, int64_t fallback)
{
    json_t *value = json_object_get(object, key);
    return value == NULL ? fallback : json_integer_value(value);
}

/* The file's cases have no prompts: what they ask is not what they say. */
static struct step_request request_of(const json_t *object)
{
    return (struct step_request){
        .request_id = span_of(json_string_value(json_object_get(object, "request_id"))),
        .prompt = SPAN_LITERAL("x"),
        .max_new_tokens =
            number_or(object, "max_new_tokens", STEP_MAX_NEW_TOKENS_DEFAULT),
        .arrival_step = number_or(object, "arrival_step", STEP_ARRIVAL_STEP_DEFAULT)};
}

static enum status end_at_eos(void *context, struct step_token *tokens, uint32_t count,
                              double *elapsed_seconds, struct fault *fault)
{
    const struct played *played = context;
    (void)fault;
    *elapsed_seconds = 0;
    for (uint32_t i = 0; i < count; i++)
        tokens[i].is_eos = tokens[i].number == played->eos_after[tokens[i].request];
    return STATUS_OK;
}

static void play(const json_t *c, struct played *played)
{
    json_t *requests = json_object_get(c, "requests"), *object;
    struct fault fault;
    uint32_t at;
    double total_seconds;
    size_t i;
    json_array_foreach (requests, i, object) {
        cr_assert_lt(i, REQUESTS_MAX);
        played->requests[i] = request_of(object);
        played->eos_after[i] = number_or(object, "eos_after", 0);
    }
    played->requests_count = (uint32_t)json_array_size(requests);
    cr_assert_eq(step_scheduler_create(
                     &played->scheduler, played->requests, played->requests_count,
                     number_or(c, "max_batch_size", STEP_BATCH_UNLIMITED), &at, &fault),
                 STATUS_OK, "%s", fault.sentence);
    cr_assert_eq(step_engine_run(played->scheduler, end_at_eos, played, played->results,
                                 &total_seconds, &fault),
                 STATUS_OK);
}

static void assert_ids(const struct played *played, struct step_ids ids,
                       const json_t *expected)
{
    cr_assert_eq(ids.count, json_array_size(expected));
    for (uint32_t i = 0; i < ids.count; i++)
        cr_assert(span_equal(played->requests[ids.ids[i]].request_id,
                             span_of(json_string_value(json_array_get(expected, i)))));
}

static const struct step_record *record_of_step(const struct played *played, int64_t step)
{
    uint32_t count;
    const struct step_record *records = step_scheduler_records(played->scheduler, &count);
    for (uint32_t i = 0; i < count; i++)
        if (records[i].step == step)
            return &records[i];
    cr_assert_fail("step %lld is not recorded", (long long)step);
    return NULL;
}

/* "step_1": {"admitted": [...], "completed": [...]} */
static void assert_step(const struct played *played, const char *key,
                        const json_t *expected)
{
    const struct step_record *record =
        record_of_step(played, strtoll(key + strlen("step_"), NULL, 10));
    json_t *admitted = json_object_get(expected, "admitted");
    json_t *completed = json_object_get(expected, "completed");
    if (admitted != NULL)
        assert_ids(played, record->admitted_request_ids, admitted);
    if (completed != NULL)
        assert_ids(played, record->completed_request_ids, completed);
}

/* True for a key that says what must come out, and did. */
static bool assert_expectation(const struct played *played, const char *key,
                               const json_t *expected)
{
    if (strncmp(key, "step_", strlen("step_")) == 0) {
        assert_step(played, key, expected);
        return true;
    }
    bool is_sizes = strcmp(key, "active_batch_sizes") == 0;
    bool is_generated = strcmp(key, "generated") == 0;
    if (!is_sizes && !is_generated && strcmp(key, "admitted_step") != 0)
        return false;
    uint32_t count = played->requests_count;
    if (is_sizes)
        step_scheduler_records(played->scheduler, &count);
    cr_assert_eq(count, json_array_size(expected));
    for (uint32_t i = 0; i < count; i++) {
        int64_t value =
            is_sizes       ? step_scheduler_active_batch_sizes(played->scheduler)[i]
            : is_generated ? played->results[i].generated_tokens
                           : step_scheduler_progress(played->scheduler, i)->admitted_step;
        cr_assert_eq(value, json_integer_value(json_array_get(expected, i)));
    }
    return true;
}

Test(step_course, every_case_runs_as_the_course_says)
{
    json_t *cases = step_scheduler_of_course("cases"), *c;
    size_t i;
    cr_assert_gt(json_array_size(cases), 0);
    json_array_foreach (cases, i, c) {
        struct played played = {.requests_count = 0};
        uint32_t asserted_count = 0;
        const char *key;
        json_t *value;
        play(c, &played);
        json_object_foreach (c, key, value)
            if (assert_expectation(&played, key, value))
                asserted_count++;
            else
                cr_assert(strcmp(key, "requests") == 0 ||
                              strcmp(key, "max_batch_size") == 0,
                          "'%s' of case %zu is tested by nothing", key, i);
        cr_assert_gt(asserted_count, 0);
        step_scheduler_destroy(played.scheduler);
    }
}

Test(step_course, a_field_left_out_has_the_courses_default)
{
    json_t *request = step_scheduler_of_course("request");
    cr_assert_eq(json_integer_value(json_object_get(request, "max_new_tokens")),
                 STEP_MAX_NEW_TOKENS_DEFAULT);
    cr_assert_eq(json_integer_value(json_object_get(request, "arrival_step")),
                 STEP_ARRIVAL_STEP_DEFAULT);
}

Test(step_course, the_summary_has_the_courses_values)
{
    json_t *c = json_object_get(step_scheduler_of_course("summary"), "case");
    json_t *generated = json_object_get(c, "generated");
    json_t *sizes = json_object_get(c, "active_batch_sizes");
    struct step_result results[REQUESTS_MAX] = {{0}};
    uint32_t active_batch_sizes[REQUESTS_MAX];
    uint32_t requests_count = (uint32_t)json_array_size(generated);
    uint32_t steps_count = (uint32_t)json_array_size(sizes);
    cr_assert(requests_count <= REQUESTS_MAX && steps_count <= REQUESTS_MAX);
    for (uint32_t i = 0; i < requests_count; i++)
        results[i].generated_tokens =
            (uint32_t)json_integer_value(json_array_get(generated, i));
    for (uint32_t i = 0; i < steps_count; i++)
        active_batch_sizes[i] = (uint32_t)json_integer_value(json_array_get(sizes, i));
    struct step_summary summary =
        step_summarize(results, requests_count, active_batch_sizes, steps_count, 2);
    cr_assert_eq(summary.request_count, number_or(c, "request_count", -1));
    cr_assert_eq(summary.mean_generated_tokens,
                 json_real_value(json_object_get(c, "mean_generated_tokens")));
    cr_assert_eq(summary.active_batch_sizes, active_batch_sizes);
    cr_assert_eq(summary.max_active_batch_size,
                 number_or(c, "max_active_batch_size", -1));
    cr_assert_eq(summary.mean_active_batch_size,
                 json_real_value(json_object_get(c, "mean_active_batch_size")));
    cr_assert_eq(summary.scheduler_steps, number_or(c, "scheduler_steps", -1));
    cr_assert_eq(summary.total_seconds, 2);
    cr_assert_eq(summary.tokens_per_second, 2.5);
}

/* The sentence of the file's row, behind the words that say where it applies, and with
 * the id for X. */
static void expect_sentence(uint32_t row, char *sentence, size_t size)
{
    static const char per_request[] = "per request, in order: ";
    const char *text = json_string_value(
        json_array_get(step_scheduler_of_course("validation_order"), row));
    cr_assert_not_null(text);
    if (strncmp(text, per_request, strlen(per_request)) == 0)
        text += strlen(per_request);
    size_t length = strlen(text);
    if (length > 3 && strcmp(text + length - 3, ": X") == 0)
        snprintf(sentence, size, "%.*stwice", (int)length - 1, text);
    else
        snprintf(sentence, size, "%s", text);
}

static void assert_refused(const struct step_request *requests, uint32_t count,
                           int64_t max_batch_size, uint32_t row, uint32_t at_expected)
{
    char expected[FAULT_SENTENCE_BYTES];
    struct step_scheduler *scheduler;
    struct fault fault;
    uint32_t at;
    expect_sentence(row, expected, sizeof expected);
    cr_assert_eq(
        step_scheduler_create(&scheduler, requests, count, max_batch_size, &at, &fault),
        STATUS_INVALID);
    cr_assert_str_eq(fault.sentence, expected);
    cr_assert_eq(at, at_expected);
}

Test(step_course, faults_are_told_in_the_courses_order)
{
    struct step_request good = {.request_id = SPAN_LITERAL("twice"),
                                .prompt = SPAN_LITERAL("x"),
                                .max_new_tokens = 1};
    struct step_request requests[2] = {good,
                                       {.request_id = SPAN_LITERAL("twice"),
                                        .prompt = SPAN_LITERAL(""),
                                        .max_new_tokens = 0,
                                        .arrival_step = -1}};
    cr_assert_eq(json_array_size(step_scheduler_of_course("validation_order")), 5);
    assert_refused(requests, 2, 0, 0, 2);
    assert_refused(requests, 2, 1, 1, 1);
    requests[1].request_id = SPAN_LITERAL("once");
    assert_refused(requests, 2, 1, 2, 1);
    requests[1].arrival_step = 0;
    assert_refused(requests, 2, 1, 3, 1);
    requests[1].max_new_tokens = 1;
    assert_refused(requests, 2, 1, 4, 1);
}

Test(step_course, an_earlier_requests_last_check_comes_before_a_later_ones_first)
{
    const struct step_request requests[2] = {
        {.request_id = SPAN_LITERAL("twice"), .max_new_tokens = 1},
        {.request_id = SPAN_LITERAL("twice"), .max_new_tokens = 1}};
    assert_refused(requests, 2, 1, 4, 0);
}

Test(step_course, bounds_of_ours_come_after_the_courses_checks)
{
    struct step_request requests[2] = {{.request_id = SPAN_LITERAL("a"),
                                        .prompt = SPAN_LITERAL("x"),
                                        .max_new_tokens = STEP_TOKENS_MAX},
                                       {.request_id = SPAN_LITERAL("b"),
                                        .prompt = SPAN_LITERAL("x"),
                                        .max_new_tokens = 1}};
    struct step_scheduler *scheduler;
    struct fault fault;
    uint32_t at;
    cr_assert_eq(step_scheduler_create(&scheduler, requests, 2, 1, &at, &fault),
                 STATUS_TOO_LARGE);
    cr_assert_eq(at, 1);
    cr_assert_str_eq(fault.param, "max_new_tokens");
    requests[0].max_new_tokens = 1;
    requests[0].arrival_step = STEP_ARRIVAL_MAX + 1;
    cr_assert_eq(step_scheduler_create(&scheduler, requests, 2, 1, &at, &fault),
                 STATUS_TOO_LARGE);
    cr_assert_eq(at, 0);
    requests[0].prompt = SPAN_LITERAL("");
    assert_refused(requests, 2, 1, 4, 0);
}
