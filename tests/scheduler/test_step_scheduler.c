/* The course's step-driven scheduler: every rule of course.json, on requests of our own.
 */
#include "scheduler/core/step_engine.h"
#include "scheduler/core/step_scheduler.h"
#include "scheduler/core/step_summary.h"

#include <criterion/criterion.h>

enum { REQUESTS = 3 };

static struct step_request request(const char *id, int64_t arrival_step,
                                   int64_t max_new_tokens)
{
    return (struct step_request){.request_id = span_of(id),
                                 .prompt = SPAN_LITERAL("x"),
                                 .max_new_tokens = max_new_tokens,
                                 .arrival_step = arrival_step};
}

static struct step_scheduler *create(const struct step_request *requests, uint32_t count,
                                     int64_t max_batch_size)
{
    struct step_scheduler *scheduler = NULL;
    struct fault fault;
    uint32_t at;
    cr_assert_eq(
        step_scheduler_create(&scheduler, requests, count, max_batch_size, &at, &fault),
        STATUS_OK, "%s", fault.sentence);
    return scheduler;
}

static void assert_ids(struct step_ids ids, uint32_t count, const uint32_t *expected)
{
    cr_assert_eq(ids.count, count);
    for (uint32_t i = 0; i < count; i++)
        cr_assert_eq(ids.ids[i], expected[i]);
}

#define ASSERT_IDS(ids, ...)                                                             \
    assert_ids(ids, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t),                \
               (uint32_t[]){__VA_ARGS__})

Test(step_scheduler, nothing_given_is_no_work_and_no_arrival)
{
    struct step_scheduler *scheduler = create(NULL, 0, STEP_BATCH_UNLIMITED);
    cr_assert_not(step_scheduler_has_work(scheduler));
    cr_assert_eq(step_scheduler_next_arrival_step(scheduler), STEP_NEVER);
    cr_assert_eq(step_scheduler_admit(scheduler, 5).count, 0);
    step_scheduler_destroy(scheduler);
}

Test(step_scheduler, waiting_is_in_the_order_of_arrival_and_then_of_submission)
{
    const struct step_request requests[REQUESTS] = {
        request("a", 4, 1), request("b", 2, 1), request("c", 2, 1)};
    struct step_scheduler *scheduler = create(requests, REQUESTS, STEP_BATCH_UNLIMITED);
    cr_assert(step_scheduler_has_work(scheduler));
    cr_assert_eq(step_scheduler_next_arrival_step(scheduler), 2);
    cr_assert_eq(step_scheduler_admit(scheduler, 1).count, 0);
    ASSERT_IDS(step_scheduler_admit(scheduler, 3), 1, 2);
    cr_assert_eq(step_scheduler_next_arrival_step(scheduler), 4);
    ASSERT_IDS(step_scheduler_admit(scheduler, 4), 0);
    cr_assert_eq(step_scheduler_next_arrival_step(scheduler), STEP_NEVER);
    ASSERT_IDS(step_scheduler_running(scheduler), 1, 2, 0);
    step_scheduler_destroy(scheduler);
}

Test(step_scheduler, a_request_waits_runs_and_is_finished)
{
    const struct step_request requests[REQUESTS] = {
        request("a", 0, 9), request("b", 0, 9), request("c", 0, 9)};
    struct step_scheduler *scheduler = create(requests, REQUESTS, 2);
    const struct step_progress *first = step_scheduler_progress(scheduler, 0);
    const struct step_progress *last = step_scheduler_progress(scheduler, 2);
    cr_assert_eq(first->lifecycle, STEP_WAITING);
    cr_assert_eq(first->admitted_step, STEP_NEVER);
    ASSERT_IDS(step_scheduler_admit(scheduler, 3), 0, 1);
    cr_assert_eq(first->lifecycle, STEP_RUNNING);
    cr_assert_eq(first->admitted_step, 3);
    cr_assert_eq(last->lifecycle, STEP_WAITING);
    step_scheduler_finish(scheduler, (struct step_ids){(uint32_t[]){0}, 1}, 4);
    cr_assert_eq(first->lifecycle, STEP_FINISHED);
    cr_assert_eq(first->finished_step, 4);
    ASSERT_IDS(step_scheduler_running(scheduler), 1);
    ASSERT_IDS(step_scheduler_admit(scheduler, 5), 2);
    cr_assert_eq(last->admitted_step, 5);
    step_scheduler_finish(scheduler, (struct step_ids){(uint32_t[]){2, 1}, 2}, 6);
    cr_assert_not(step_scheduler_has_work(scheduler));
    step_scheduler_destroy(scheduler);
}

Test(step_scheduler, a_token_is_the_last_at_eos_or_at_max_new_tokens)
{
    const struct step_request requests[2] = {request("a", 0, 2), request("b", 0, 9)};
    struct step_scheduler *scheduler = create(requests, 2, STEP_BATCH_UNLIMITED);
    step_scheduler_admit(scheduler, 0);
    cr_assert_not(step_scheduler_take_token(scheduler, 0, false));
    cr_assert_not(step_scheduler_take_token(scheduler, 1, false));
    cr_assert(step_scheduler_take_token(scheduler, 0, false));
    cr_assert(step_scheduler_take_token(scheduler, 1, true));
    step_scheduler_destroy(scheduler);
}

Test(step_scheduler, a_record_keeps_what_it_was_given)
{
    const struct step_request requests[2] = {request("a", 0, 2), request("b", 0, 9)};
    struct step_scheduler *scheduler = create(requests, 2, STEP_BATCH_UNLIMITED);
    struct step_ids admitted = step_scheduler_admit(scheduler, 7);
    struct step_ids running = step_scheduler_running(scheduler);
    struct step_ids completed = {(uint32_t[]){1}, 1};
    step_scheduler_finish(scheduler, completed, 7);
    step_scheduler_record_step(scheduler, 7, admitted, running, completed);
    step_scheduler_running(scheduler);
    uint32_t count;
    const struct step_record *record = step_scheduler_records(scheduler, &count);
    cr_assert_eq(count, 1);
    cr_assert_eq(record->step, 7);
    ASSERT_IDS(record->admitted_request_ids, 0, 1);
    ASSERT_IDS(record->running_request_ids, 0, 1);
    ASSERT_IDS(record->completed_request_ids, 1);
    cr_assert_eq(record->active_batch_size, 2);
    cr_assert_eq(step_scheduler_active_batch_sizes(scheduler)[0], 2);
    step_scheduler_destroy(scheduler);
}

/* A forward that takes seconds_next, then doubled each time; ends a request at its
 * eos_after-th token. */
struct script {
    double seconds_next;
    uint32_t eos_after[REQUESTS]; /* 0: never */
    uint32_t forwards_left;       /* the next one after them fails */
};

static enum status play(void *context, struct step_token *tokens, uint32_t count,
                        double *elapsed_seconds, struct fault *fault)
{
    struct script *script = context;
    if (script->forwards_left-- == 0)
        return fault_set(fault, STATUS_INTERNAL, "", "no more forwards");
    *elapsed_seconds = script->seconds_next;
    script->seconds_next *= 2;
    for (uint32_t i = 0; i < count; i++)
        tokens[i].is_eos = tokens[i].number == script->eos_after[tokens[i].request];
    return STATUS_OK;
}

Test(step_engine, an_idle_engine_goes_to_the_next_arrival)
{
    const struct step_request requests[2] = {request("a", 3, 2), request("b", 100, 1)};
    struct step_scheduler *scheduler = create(requests, 2, STEP_BATCH_UNLIMITED);
    struct script script = {.forwards_left = 3};
    struct step_result results[2];
    struct fault fault;
    double total_seconds;
    cr_assert_eq(
        step_engine_run(scheduler, play, &script, results, &total_seconds, &fault),
        STATUS_OK);
    static const int64_t steps[] = {3, 4, 100};
    uint32_t count;
    const struct step_record *records = step_scheduler_records(scheduler, &count);
    cr_assert_eq(count, 3);
    for (uint32_t i = 0; i < count; i++)
        cr_assert_eq(records[i].step, steps[i]);
    cr_assert_eq(records[1].admitted_request_ids.count, 0);
    cr_assert_eq(step_scheduler_progress(scheduler, 0)->finished_step, 4);
    cr_assert_eq(step_scheduler_progress(scheduler, 1)->admitted_step, 100);
    step_scheduler_destroy(scheduler);
}

Test(step_engine, a_batchs_seconds_are_charged_whole_to_each_in_it)
{
    const struct step_request requests[2] = {request("a", 0, 3), request("b", 1, 9)};
    struct step_scheduler *scheduler = create(requests, 2, STEP_BATCH_UNLIMITED);
    struct script script = {.seconds_next = 1, .eos_after = {0, 3}, .forwards_left = 4};
    struct step_result results[2];
    struct fault fault;
    double total_seconds;
    cr_assert_eq(
        step_engine_run(scheduler, play, &script, results, &total_seconds, &fault),
        STATUS_OK);
    cr_assert_eq(total_seconds, 1 + 2 + 4 + 8);
    cr_assert_eq(results[0].generated_tokens, 3);
    cr_assert_eq(results[0].ttft_seconds, 1);
    cr_assert_eq(results[0].prefill_seconds, 1);
    cr_assert_eq(results[0].decode_seconds, 2 + 4);
    cr_assert_eq(results[1].generated_tokens, 3); /* EOS is one of them */
    cr_assert_eq(results[1].ttft_seconds, 2);
    cr_assert_eq(results[1].prefill_seconds, 2);
    cr_assert_eq(results[1].decode_seconds, 4 + 8);
    step_scheduler_destroy(scheduler);
}

Test(step_engine, ttft_counts_from_admission_and_not_from_arrival)
{
    const struct step_request requests[2] = {request("a", 0, 2), request("b", 0, 1)};
    struct step_scheduler *scheduler = create(requests, 2, 1);
    struct script script = {.seconds_next = 1, .forwards_left = 3};
    struct step_result results[2];
    struct fault fault;
    double total_seconds;
    cr_assert_eq(
        step_engine_run(scheduler, play, &script, results, &total_seconds, &fault),
        STATUS_OK);
    cr_assert_eq(results[1].ttft_seconds, 4); /* of 7 since its arrival */
    cr_assert_eq(results[1].decode_seconds, 0);
    step_scheduler_destroy(scheduler);
}

Test(step_engine, an_empty_list_is_refused_by_name)
{
    struct step_scheduler *scheduler = create(NULL, 0, STEP_BATCH_UNLIMITED);
    struct script script = {.forwards_left = 0};
    struct fault fault;
    double total_seconds;
    cr_assert_eq(step_engine_run(scheduler, play, &script, NULL, &total_seconds, &fault),
                 STATUS_INVALID);
    cr_assert_str_eq(fault.param, "requests");
    cr_assert_str_eq(fault.sentence, "requests must not be empty");
    step_scheduler_destroy(scheduler);
}

Test(step_engine, a_forward_that_fails_ends_the_run)
{
    const struct step_request requests[1] = {request("a", 0, 3)};
    struct step_scheduler *scheduler = create(requests, 1, STEP_BATCH_UNLIMITED);
    struct script script = {.seconds_next = 1, .forwards_left = 1};
    struct step_result result;
    struct fault fault;
    double total_seconds;
    cr_assert_eq(
        step_engine_run(scheduler, play, &script, &result, &total_seconds, &fault),
        STATUS_INTERNAL);
    cr_assert_eq(result.generated_tokens, 1);
    cr_assert_eq(total_seconds, 1);
    step_scheduler_destroy(scheduler);
}

Test(step_summary, time_makes_tokens_a_second_and_nothing_makes_zero)
{
    const struct step_result results[2] = {{.generated_tokens = 2},
                                           {.generated_tokens = 4}};
    static const uint32_t sizes[] = {2, 2, 1, 1};
    struct step_summary summary = step_summarize(results, 2, sizes, 4, 1.5);
    cr_assert_eq(summary.total_seconds, 1.5);
    cr_assert_eq(summary.tokens_per_second, 4);
    summary = step_summarize(NULL, 0, NULL, 0, 0);
    cr_assert_eq(summary.mean_generated_tokens, 0);
    cr_assert_eq(summary.mean_active_batch_size, 0);
    cr_assert_eq(summary.max_active_batch_size, 0);
    cr_assert_eq(summary.tokens_per_second, 0);
}
