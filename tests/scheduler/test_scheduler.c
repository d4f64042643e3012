/* What the scheduling core promises, by whole requests through a toy worker. */
#include "tests/scheduler/toy.h"

#include <criterion/criterion.h>
#include <stdio.h>

static void open_small(struct toy *toy)
{
    toy_open(toy, toy_geometry(64, 4, 12, 16), toy_options(8));
}

Test(scheduler, a_request_gets_the_tokens_that_the_model_gives_it)
{
    struct toy toy;
    open_small(&toy);
    struct toy_request request = {.id = "a", .prompt_count = 19, .max_tokens = 7};
    uint32_t record = toy_submit(&toy, &request);
    /* Chunks of 8, 8 and 3, the last of which samples; then 6 decodes. */
    cr_assert_eq(toy_finish_all(&toy), 9);
    cr_assert(toy_output_is_right(&toy, record, &request));
    cr_assert_eq(toy_record(&toy, record)->finish_reason, FINISH_LENGTH);
    cr_assert_eq(scheduler_counts(toy.scheduler).blocks_free, 64);
    toy_close(&toy);
}

Test(scheduler, one_token_needs_one_step)
{
    struct toy toy;
    open_small(&toy);
    struct toy_request request = {.id = "a", .prompt_count = 1, .max_tokens = 1};
    uint32_t record = toy_submit(&toy, &request);
    cr_assert_eq(toy_finish_all(&toy), 1);
    cr_assert(toy_output_is_right(&toy, record, &request));
    toy_close(&toy);
}

/* A seed with which the request meets the stop token within its tokens but not first. */
static uint64_t stopping_seed(struct toy_request request, uint32_t *count)
{
    uint32_t tokens[TOY_TOKENS_MAX];
    for (request.seed = 1; request.seed < 10000; request.seed++) {
        *count = toy_expect(&request, tokens);
        if (*count >= 3 && *count < request.max_tokens)
            return request.seed;
    }
    cr_assert_fail("no seed stops");
    return 0;
}

Test(scheduler, a_stop_token_ends_it_and_is_its_last_token)
{
    struct toy toy;
    open_small(&toy);
    struct toy_request request = {
        .id = "a", .prompt_count = 4, .max_tokens = 30, .stops = true};
    uint32_t count;
    request.seed = stopping_seed(request, &count);
    uint32_t record = toy_submit(&toy, &request);
    toy_finish_all(&toy);
    cr_assert(toy_output_is_right(&toy, record, &request));
    cr_assert_eq(toy_record(&toy, record)->finish_reason, FINISH_STOP);
    cr_assert_eq(request_generated_count(toy_record(&toy, record)), count);
    toy_close(&toy);
}

Test(scheduler, ignore_end_and_min_tokens_let_it_go_on)
{
    struct toy toy;
    open_small(&toy);
    struct toy_request request = {
        .id = "a", .prompt_count = 4, .max_tokens = 30, .stops = true};
    uint32_t count;
    request.seed = stopping_seed(request, &count);
    struct submit_request submit = toy_submit_request(&request);
    struct fault fault;
    uint32_t ignoring, barred;
    submit.sampling.ignore_end = 1;
    cr_assert_eq(toy_submit_status(&toy, &submit, &ignoring, &fault), STATUS_OK);
    submit.sampling.ignore_end = 0;
    submit.sampling.min_tokens = count + 1;
    submit.choice = 1;
    cr_assert_eq(toy_submit_status(&toy, &submit, &barred, &fault), STATUS_OK);
    toy_finish_all(&toy);
    cr_assert_eq(request_generated_count(toy_record(&toy, ignoring)), 30);
    cr_assert_gt(request_generated_count(toy_record(&toy, barred)), count);
    toy_close(&toy);
}

Test(scheduler, a_decode_gets_its_token_in_every_step_of_a_long_prefill)
{
    struct toy toy;
    open_small(&toy);
    struct toy_request stream = {.id = "a", .prompt_count = 2, .max_tokens = 40};
    struct toy_request longer = {.id = "b", .prompt_count = 50, .max_tokens = 5};
    uint32_t record = toy_submit(&toy, &stream);
    toy_turn(&toy);
    toy_submit(&toy, &longer);
    toy_submit(&toy,
               &(struct toy_request){.id = "c", .prompt_count = 50, .max_tokens = 5});
    for (uint32_t tokens = 2; tokens <= 12; tokens++) {
        toy_turn(&toy);
        cr_assert_eq(request_generated_count(toy_record(&toy, record)), tokens);
    }
    toy_close(&toy);
}

Test(scheduler, equal_prefills_move_on_equally_whatever_their_order)
{
    struct toy toy;
    toy_open(&toy, toy_geometry(64, 4, 12, 16), toy_options(8));
    uint32_t records[4];
    for (uint32_t i = 0; i < 4; i++) {
        char id[2] = {(char)('a' + i), 0};
        records[i] = toy_submit(
            &toy, &(struct toy_request){id, .prompt_count = 56, .max_tokens = 2});
    }
    /* All four are in before turns are counted: admission wants a whole chunk free. */
    for (int turn = 0; turn < 12; turn++) {
        toy_turn(&toy);
        uint32_t least = UINT32_MAX, most = 0;
        for (uint32_t i = 0; i < 4; i++) {
            const struct request_record *record = toy_record(&toy, records[i]);
            if (request_state(record) != REQUEST_PREFILL)
                continue;
            uint32_t rows = record->kv_rows_count;
            least = rows < least ? rows : least;
            most = rows > most ? rows : most;
        }
        if (scheduler_counts(toy.scheduler).waiting == 0 && most > 0)
            cr_assert_leq(most - least, 24);
    }
    toy_finish_all(&toy);
    toy_close(&toy);
}

Test(scheduler, the_head_is_neither_skipped_nor_dropped_and_says_what_it_waits_for)
{
    struct toy toy;
    toy_open(&toy, toy_geometry(8, 4, 12, 16), toy_options(8));
    struct toy_request first = {.id = "a", .prompt_count = 8, .max_tokens = 12};
    struct toy_request big = {.id = "b", .prompt_count = 8, .max_tokens = 8};
    struct toy_request small = {.id = "c", .prompt_count = 1, .max_tokens = 1};
    uint32_t records[3];
    records[0] = toy_submit(&toy, &first);
    records[1] = toy_submit(&toy, &big);
    records[2] = toy_submit(&toy, &small);
    for (int turn = 0; turn < 5; turn++) {
        toy_turn(&toy);
        cr_assert_eq(request_state(toy_record(&toy, records[1])), REQUEST_WAITING);
        cr_assert_eq(toy_record(&toy, records[1])->block_reason, BLOCKED_KV_BLOCKS);
        cr_assert_eq(request_state(toy_record(&toy, records[2])), REQUEST_WAITING);
    }
    toy_finish_all(&toy);
    cr_assert(toy_output_is_right(&toy, records[1], &big));
    cr_assert(toy_output_is_right(&toy, records[2], &small));
    const struct request_record *waited = toy_record(&toy, records[1]);
    cr_assert_eq(waited->block_reason, BLOCKED_NOT);
    cr_assert_eq(waited->waited_ns[BLOCKED_SLOT], 0);
    cr_assert_gt(waited->waited_ns[BLOCKED_KV_BLOCKS], 0);
    cr_assert_eq(waited->waited_ns[BLOCKED_NOT] + waited->waited_ns[BLOCKED_KV_BLOCKS],
                 waited->admitted_ns - waited->arrived_ns);
    toy_close(&toy);
}

Test(scheduler, slot_and_token_budget_are_told_apart)
{
    struct toy toy;
    toy_open(&toy, toy_geometry(64, 2, 10, 16), toy_options(8));
    toy_submit(&toy,
               &(struct toy_request){.id = "a", .prompt_count = 8, .max_tokens = 9});
    uint32_t second = toy_submit(
        &toy, &(struct toy_request){.id = "b", .prompt_count = 8, .max_tokens = 9});
    uint32_t third = toy_submit(
        &toy, &(struct toy_request){.id = "c", .prompt_count = 8, .max_tokens = 9});
    toy_turn(&toy);
    cr_assert_eq(toy_record(&toy, second)->block_reason, BLOCKED_TOKEN_BUDGET);
    toy_turn(&toy);
    cr_assert_eq(request_state(toy_record(&toy, second)), REQUEST_DECODE);
    cr_assert_eq(toy_record(&toy, third)->block_reason, BLOCKED_SLOT);
    toy_finish_all(&toy);
    toy_close(&toy);
}

Test(scheduler, a_queued_request_is_cancelled_at_once)
{
    struct toy toy;
    open_small(&toy);
    uint32_t record = toy_submit(
        &toy, &(struct toy_request){.id = "a", .prompt_count = 5, .max_tokens = 3});
    scheduler_cancel(toy.scheduler, record, FINISH_CANCELLED, toy.now_ns);
    cr_assert_eq(request_state(toy_record(&toy, record)), REQUEST_DONE);
    cr_assert_eq(toy_record(&toy, record)->finish_reason, FINISH_CANCELLED);
    cr_assert_not(toy_turn(&toy));
    toy_close(&toy);
}

Test(scheduler, no_token_follows_a_cancel_and_blocks_stay_until_the_step_is_done)
{
    struct toy toy;
    open_small(&toy);
    struct toy_request request = {.id = "a", .prompt_count = 8, .max_tokens = 8};
    uint32_t record = toy_submit(&toy, &request);
    uint32_t slot = scheduler_plan(toy.scheduler, 0, toy.now_ns);
    scheduler_cancel(toy.scheduler, record, FINISH_CANCELLED, toy.now_ns);
    cr_assert_eq(scheduler_counts(toy.scheduler).blocks_free, 60);
    toy_check(&toy);
    toy_run(&toy, slot);
    cr_assert(scheduler_commit(toy.scheduler, slot, toy.now_ns));
    toy_check(&toy);
    cr_assert_eq(request_generated_count(toy_record(&toy, record)), 0);
    cr_assert_eq(toy_record(&toy, record)->finish_reason, FINISH_CANCELLED);
    cr_assert_eq(scheduler_counts(toy.scheduler).blocks_free, 64);
    cr_assert_not(toy_turn(&toy));
    toy_close(&toy);
}

Test(scheduler, a_stop_string_ends_a_request_as_a_stop)
{
    struct toy toy;
    open_small(&toy);
    uint32_t record = toy_submit(
        &toy, &(struct toy_request){.id = "a", .prompt_count = 5, .max_tokens = 9});
    toy_turn(&toy);
    scheduler_cancel(toy.scheduler, record, FINISH_STOP, toy.now_ns);
    scheduler_cancel(toy.scheduler, record, FINISH_CANCELLED, toy.now_ns);
    cr_assert_eq(toy_record(&toy, record)->finish_reason, FINISH_STOP);
    cr_assert_eq(request_generated_count(toy_record(&toy, record)), 1);
    cr_assert_eq(scheduler_counters(toy.scheduler)->finished[FINISH_STOP], 1);
    toy_close(&toy);
}

Test(scheduler, waiting_and_running_requests_time_out)
{
    struct toy toy;
    struct scheduler_options options = toy_options(8);
    options.queue_wait_ns = 500;
    toy_open(&toy, toy_geometry(64, 1, 12, 16), options);
    struct submit_request submit = toy_submit_request(
        &(struct toy_request){.id = "a", .prompt_count = 5, .max_tokens = 50});
    struct fault fault;
    uint32_t running, queued, retry_after_s;
    submit.timeout_ms = 2;
    cr_assert_eq(scheduler_submit(toy.scheduler, &submit, 0, 1000, &running,
                                  &retry_after_s, &fault),
                 STATUS_OK);
    toy.now_ns = 1000;
    toy_run(&toy, scheduler_plan(toy.scheduler, 0, toy.now_ns));
    queued = toy_submit(
        &toy, &(struct toy_request){.id = "b", .prompt_count = 5, .max_tokens = 3});
    scheduler_tidy(toy.scheduler, 1499);
    cr_assert_eq(request_state(toy_record(&toy, queued)), REQUEST_WAITING);
    scheduler_tidy(toy.scheduler, 1500);
    cr_assert_eq(toy_record(&toy, queued)->finish_reason, FINISH_TIMED_OUT);
    scheduler_tidy(toy.scheduler, 2001000);
    cr_assert_eq(request_state(toy_record(&toy, running)), REQUEST_PREFILL);
    scheduler_commit(toy.scheduler, scheduler_worker_step(toy.scheduler, 0), 2001000);
    cr_assert_eq(toy_record(&toy, running)->finish_reason, FINISH_TIMED_OUT);
    toy_check(&toy);
    toy_close(&toy);
}

Test(scheduler, news_names_each_changed_record_once)
{
    struct toy toy;
    open_small(&toy);
    uint32_t record = toy_submit(
        &toy, &(struct toy_request){.id = "a", .prompt_count = 2, .max_tokens = 5});
    cr_assert_eq(scheduler_next_news(toy.scheduler), RECORD_NONE);
    toy_turn(&toy);
    toy_turn(&toy);
    cr_assert_eq(scheduler_next_news(toy.scheduler), record);
    cr_assert_eq(scheduler_next_news(toy.scheduler), RECORD_NONE);
    toy_close(&toy);
}

Test(scheduler, a_worker_may_fail_one_sequence_and_no_other)
{
    struct toy toy;
    open_small(&toy);
    struct toy_request good = {.id = "a", .prompt_count = 4, .max_tokens = 5};
    uint32_t right = toy_submit(&toy, &good);
    uint32_t wrong = toy_submit(
        &toy, &(struct toy_request){.id = "b", .prompt_count = 4, .max_tokens = 5});
    uint32_t slot = scheduler_plan(toy.scheduler, 0, toy.now_ns);
    toy_run(&toy, slot);
    struct step_view view = step_at(&toy.control, slot);
    cr_assert_eq(view.step->sequences_count, 2);
    for (uint32_t i = 0; i < 2; i++)
        if (view.sequence_record[i] == wrong)
            view.result_status[i] = STATUS_INTERNAL;
    cr_assert(scheduler_commit(toy.scheduler, slot, toy.now_ns));
    cr_assert_eq(toy_record(&toy, wrong)->finish_reason, FINISH_FAILED);
    cr_assert_eq(toy_record(&toy, wrong)->failure_status, STATUS_INTERNAL);
    cr_assert_gt(strlen(toy_record(&toy, wrong)->failure), 0);
    toy_finish_all(&toy);
    cr_assert(toy_output_is_right(&toy, right, &good));
    toy_close(&toy);
}

Test(scheduler, two_workers_share_the_running_requests)
{
    struct toy toy;
    toy_open(&toy, toy_geometry(64, 4, 12, 16), toy_options(8));
    struct toy_request requests[2] = {{.id = "a", .prompt_count = 8, .max_tokens = 6},
                                      {.id = "b", .prompt_count = 8, .max_tokens = 6}};
    uint32_t records[2] = {toy_submit(&toy, &requests[0]),
                           toy_submit(&toy, &requests[1])};
    for (int turn = 0; turn < 6; turn++) {
        uint32_t first = scheduler_plan(toy.scheduler, 0, toy.now_ns);
        uint32_t second = scheduler_plan(toy.scheduler, 1, toy.now_ns);
        toy_check(&toy);
        for (int worker = 1; worker >= 0; worker--) {
            uint32_t slot = worker == 1 ? second : first;
            if (slot == STEP_NONE)
                continue;
            toy_run(&toy, slot);
            cr_assert(scheduler_commit(toy.scheduler, slot, toy.now_ns));
            toy_check(&toy);
        }
    }
    toy_finish_all(&toy);
    cr_assert(toy_output_is_right(&toy, records[0], &requests[0]));
    cr_assert(toy_output_is_right(&toy, records[1], &requests[1]));
    toy_close(&toy);
}
