/* Deaths of workers and of the scheduler itself: nothing is lost, and only who is at
 * fault is failed. */
#include "tests/scheduler/toy.h"

#include <criterion/criterion.h>

enum { REQUESTS = 4 };

static const struct toy_request requests[REQUESTS] = {
    {.id = "a", .prompt_count = 2, .max_tokens = 6},
    {.id = "b", .prompt_count = 2, .max_tokens = 6},
    {.id = "c", .prompt_count = 2, .max_tokens = 6},
    {.id = "d", .prompt_count = 2, .max_tokens = 6}};

static void open_with_requests(struct toy *toy, uint32_t records[REQUESTS])
{
    toy_open(toy, toy_geometry(64, 4, 12, 16), toy_options(8));
    for (int i = 0; i < REQUESTS; i++)
        records[i] = toy_submit(toy, &requests[i]);
}

static bool step_has(struct toy *toy, uint32_t slot, uint32_t record)
{
    struct step_view view = step_at(&toy->control, slot);
    for (uint32_t i = 0; i < view.step->sequences_count; i++)
        if (view.sequence_record[i] == record)
            return true;
    return false;
}

Test(death, a_lost_step_is_run_again_in_halves_to_the_same_bytes)
{
    struct toy toy;
    uint32_t records[REQUESTS];
    open_with_requests(&toy, records);
    toy_turn(&toy);
    uint32_t slot = scheduler_plan(toy.scheduler, 0, toy.now_ns);
    toy_compute(&toy, slot, 2);
    scheduler_worker_died(toy.scheduler, 0, toy.now_ns);
    toy_check(&toy);
    for (int half = 0; half < 2; half++) {
        slot = scheduler_plan(toy.scheduler, 0, toy.now_ns);
        struct step_view view = step_at(&toy.control, slot);
        cr_assert_eq(view.step->sequences_count, 2);
        cr_assert_eq(view.step->attempt, 1);
        toy_run(&toy, slot);
        cr_assert(scheduler_commit(toy.scheduler, slot, toy.now_ns));
        toy_check(&toy);
    }
    slot = scheduler_plan(toy.scheduler, 0, toy.now_ns);
    cr_assert_eq(step_at(&toy.control, slot).step->sequences_count, REQUESTS);
    cr_assert_eq(step_at(&toy.control, slot).step->attempt, 0);
    toy_run(&toy, slot);
    scheduler_commit(toy.scheduler, slot, toy.now_ns);
    toy_finish_all(&toy);
    for (int i = 0; i < REQUESTS; i++)
        cr_assert(toy_output_is_right(&toy, records[i], &requests[i]));
    toy_close(&toy);
}

Test(death, results_that_were_done_are_kept)
{
    struct toy toy;
    uint32_t records[REQUESTS];
    open_with_requests(&toy, records);
    uint32_t slot = scheduler_plan(toy.scheduler, 0, toy.now_ns);
    toy_run(&toy, slot);
    scheduler_worker_died(toy.scheduler, 0, toy.now_ns);
    toy_check(&toy);
    for (int i = 0; i < REQUESTS; i++)
        cr_assert_eq(request_generated_count(toy_record(&toy, records[i])), 1);
    cr_assert_eq(scheduler_counters(toy.scheduler)->iterations, 1);
    toy_close(&toy);
}

Test(death, only_the_request_that_kills_alone_and_twice_is_failed)
{
    struct toy toy;
    uint32_t records[REQUESTS], deaths = 0;
    open_with_requests(&toy, records);
    uint32_t poison = records[2], slot;
    while ((slot = scheduler_plan(toy.scheduler, 0, toy.now_ns)) != STEP_NONE) {
        if (step_has(&toy, slot, poison)) {
            scheduler_worker_died(toy.scheduler, 0, toy.now_ns);
            deaths++;
        } else {
            toy_run(&toy, slot);
            cr_assert(scheduler_commit(toy.scheduler, slot, toy.now_ns));
        }
        toy_check(&toy);
    }
    /* In a step of four, of two, and alone twice. */
    cr_assert_eq(deaths, 4);
    cr_assert_eq(toy_record(&toy, poison)->finish_reason, FINISH_FAILED);
    cr_assert_str_eq(toy_record(&toy, poison)->failure,
                     "a worker died twice while it computed this request alone");
    for (int i = 0; i < REQUESTS; i++)
        cr_assert_eq(toy_output_is_right(&toy, records[i], &requests[i]), i != 2);
    toy_close(&toy);
}

Test(death, a_result_of_another_attempt_or_generation_is_not_taken)
{
    struct toy toy;
    uint32_t records[REQUESTS];
    open_with_requests(&toy, records);
    uint32_t slot = scheduler_plan(toy.scheduler, 0, toy.now_ns);
    struct step *step = step_at(&toy.control, slot).step;
    cr_assert_not(scheduler_commit(toy.scheduler, slot, toy.now_ns));
    toy_run(&toy, slot);
    step->done_attempt++;
    cr_assert_not(scheduler_commit(toy.scheduler, slot, toy.now_ns));
    step->done_attempt--;
    step->done_generation--;
    cr_assert_not(scheduler_commit(toy.scheduler, slot, toy.now_ns));
    step->done_generation++;
    cr_assert(scheduler_commit(toy.scheduler, slot, toy.now_ns));
    toy_close(&toy);
}

Test(death, a_new_scheduler_goes_on_from_the_records_alone)
{
    struct toy toy;
    uint32_t records[REQUESTS];
    open_with_requests(&toy, records);
    for (int turn = 0; turn < 3; turn++) {
        uint32_t slot = scheduler_plan(toy.scheduler, 0, toy.now_ns);
        toy_replace_scheduler(&toy);
        toy_check(&toy);
        cr_assert_eq(scheduler_worker_step(toy.scheduler, 0), slot);
        toy_run(&toy, slot);
        toy_replace_scheduler(&toy);
        cr_assert(scheduler_commit(toy.scheduler, slot, toy.now_ns));
        toy_check(&toy);
    }
    toy_finish_all(&toy);
    for (int i = 0; i < REQUESTS; i++)
        cr_assert(toy_output_is_right(&toy, records[i], &requests[i]));
    toy_close(&toy);
}

/* The scheduler dies after it stored the records but before it marked the step committed:
 * its successor applies the step once more. */
Test(death, a_commit_may_be_repeated)
{
    struct toy toy;
    uint32_t records[REQUESTS];
    open_with_requests(&toy, records);
    uint32_t slot;
    while ((slot = scheduler_plan(toy.scheduler, 0, toy.now_ns)) != STEP_NONE) {
        struct step *step = step_at(&toy.control, slot).step;
        uint64_t committed = step->committed;
        toy_run(&toy, slot);
        cr_assert(scheduler_commit(toy.scheduler, slot, toy.now_ns));
        step->committed = committed;
        toy_replace_scheduler(&toy);
        toy_check(&toy);
        cr_assert(scheduler_commit(toy.scheduler, slot, toy.now_ns));
        toy_check(&toy);
    }
    for (int i = 0; i < REQUESTS; i++)
        cr_assert(toy_output_is_right(&toy, records[i], &requests[i]));
    toy_close(&toy);
}

Test(death, a_corrupt_segment_is_refused_and_not_followed)
{
    struct toy toy;
    uint32_t records[REQUESTS];
    open_with_requests(&toy, records);
    toy_turn(&toy);
    struct scheduler *other;
    struct fault fault;
    struct request_record *record = toy_record(&toy, records[0]);
    uint32_t *table = extent_view(&toy.control, record).block_table;
    uint32_t block = table[0];
    table[0] = 64;
    cr_assert_eq(scheduler_create(&other, &toy.control, &toy.options, &fault),
                 STATUS_CORRUPT);
    cr_assert_str_eq(fault.sentence,
                     "request record 0 is corrupt: its block table names no block");
    table[0] = block;
    record->extent_page = UINT32_MAX - 1;
    cr_assert_eq(scheduler_create(&other, &toy.control, &toy.options, &fault),
                 STATUS_CORRUPT);
    record->extent_page = 1;
    cr_assert_eq(scheduler_create(&other, &toy.control, &toy.options, &fault),
                 STATUS_CORRUPT);
    cr_assert_str_eq(
        fault.sentence,
        "request record 1 is corrupt: its extent overlaps another or leaves the heap");
    record->extent_page = 0;
    record->kv_rows_count = 1000;
    cr_assert_eq(scheduler_create(&other, &toy.control, &toy.options, &fault),
                 STATUS_CORRUPT);
    toy_close(&toy);
}
