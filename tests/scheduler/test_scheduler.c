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

Test(scheduler, what_can_never_fit_is_refused_with_the_numbers)
{
    struct toy toy;
    toy_open(&toy, toy_geometry(8, 2, 12, 16), toy_options(8));
    struct toy_request over_context = {.id = "a", .prompt_count = 60, .max_tokens = 5};
    struct toy_request over_pool = {.id = "b", .prompt_count = 20, .max_tokens = 13};
    struct toy_request fits = {.id = "c", .prompt_count = 20, .max_tokens = 12};
    struct fault fault;
    uint32_t record;
    struct submit_request submit = toy_submit_request(&over_context);
    cr_assert_eq(toy_submit_status(&toy, &submit, &record, &fault),
                 STATUS_CONTEXT_LENGTH);
    cr_assert_str_eq(fault.sentence, "the prompt's 60 tokens and max_tokens 5 together "
                                     "exceed the context of 64 tokens");
    submit = toy_submit_request(&over_pool);
    cr_assert_eq(toy_submit_status(&toy, &submit, &record, &fault),
                 STATUS_CONTEXT_LENGTH);
    cr_assert_str_eq(fault.sentence,
                     "the prompt's 20 tokens and max_tokens 13 need 9 KV blocks of 4 "
                     "tokens, but the whole pool has 8: ask for fewer tokens");
    record = toy_submit(&toy, &fits);
    toy_finish_all(&toy);
    cr_assert(toy_output_is_right(&toy, record, &fits));
    toy_close(&toy);
}

Test(scheduler, a_budget_without_certain_progress_is_refused_at_start)
{
    struct toy toy;
    toy_open(&toy, toy_geometry(8, 4, 12, 16), toy_options(8));
    struct scheduler_options options = toy_options(9);
    struct scheduler *scheduler;
    struct fault fault;
    cr_assert_eq(scheduler_create(&scheduler, &toy.control, &options, &fault),
                 STATUS_INVALID);
    cr_assert_str_eq(fault.param, "max-num-batched-tokens");
    options = toy_options(8);
    options.policy = "lottery";
    cr_assert_eq(scheduler_create(&scheduler, &toy.control, &options, &fault),
                 STATUS_INVALID);
    cr_assert_str_eq(fault.sentence, "--scheduling-policy 'lottery' is none of: fcfs");
    toy_close(&toy);
}

Test(scheduler, the_same_submit_finds_the_same_record_and_another_body_conflicts)
{
    struct toy toy;
    open_small(&toy);
    struct toy_request request = {.id = "a", .prompt_count = 5, .max_tokens = 3};
    uint32_t record = toy_submit(&toy, &request);
    cr_assert_eq(toy_submit(&toy, &request), record);
    toy_finish_all(&toy);
    cr_assert_eq(toy_submit(&toy, &request), record);
    cr_assert(toy_output_is_right(&toy, record, &request));
    struct toy_request other = {.id = "a", .prompt_count = 6, .max_tokens = 3};
    struct submit_request submit = toy_submit_request(&other);
    struct fault fault;
    cr_assert_eq(toy_submit_status(&toy, &submit, &record, &fault), STATUS_CONFLICT);
    submit.choice = 1;
    cr_assert_eq(toy_submit_status(&toy, &submit, &record, &fault), STATUS_OK);
    toy_close(&toy);
}

Test(scheduler, ids_are_scoped_by_their_owner)
{
    struct toy toy;
    open_small(&toy);
    struct toy_request request = {.id = "a", .prompt_count = 5, .max_tokens = 3};
    uint32_t mine = toy_submit(&toy, &request), theirs;
    char owner_key[OWNER_KEY_BYTES] = {1};
    struct submit_request submit = toy_submit_request(&request);
    struct fault fault;
    submit.owner_key = (struct span){owner_key, sizeof owner_key};
    submit.frontend = TOY_FRONTEND + 1;
    cr_assert_eq(toy_submit_status(&toy, &submit, &theirs, &fault), STATUS_OK);
    cr_assert_neq(mine, theirs);
    cr_assert_eq(scheduler_find(toy.scheduler, TOY_FRONTEND + 1, SPAN_LITERAL("a"), 0),
                 theirs);
    cr_assert_eq(scheduler_find(toy.scheduler, TOY_FRONTEND, SPAN_LITERAL("a"), 0), mine);
    toy_close(&toy);
}

Test(scheduler, a_seed_is_drawn_only_where_the_client_gave_none)
{
    struct toy toy;
    open_small(&toy);
    struct toy_request request = {.id = "a", .prompt_count = 5, .max_tokens = 3};
    struct submit_request submit = toy_submit_request(&request);
    struct fault fault;
    uint32_t record, retry_after_s;
    submit.has_seed = false;
    scheduler_submit(toy.scheduler, &submit, 1234, 1, &record, &retry_after_s, &fault);
    cr_assert_eq(toy_record(&toy, record)->sampling.seed, 1234);
    scheduler_submit(toy.scheduler, &submit, 5678, 1, &record, &retry_after_s, &fault);
    cr_assert_eq(toy_record(&toy, record)->sampling.seed, 1234);
    toy_close(&toy);
}

Test(scheduler, a_full_queue_refuses_at_once_and_says_when_to_come_again)
{
    struct toy toy;
    struct scheduler_options options = toy_options(8);
    options.waiting_max = 2;
    toy_open(&toy, toy_geometry(64, 4, 12, 16), options);
    toy_submit(&toy,
               &(struct toy_request){.id = "a", .prompt_count = 5, .max_tokens = 3});
    toy_submit(&toy,
               &(struct toy_request){.id = "b", .prompt_count = 5, .max_tokens = 3});
    struct submit_request submit = toy_submit_request(
        &(struct toy_request){.id = "c", .prompt_count = 5, .max_tokens = 3});
    struct fault fault;
    uint32_t record, retry_after_s;
    cr_assert_eq(
        scheduler_submit(toy.scheduler, &submit, 0, 1, &record, &retry_after_s, &fault),
        STATUS_OVERLOADED);
    cr_assert_geq(retry_after_s, 1);
    const struct scheduler_counters *counters = scheduler_counters(toy.scheduler);
    cr_assert_eq(counters->received, 3);
    cr_assert_eq(counters->rejected, 1);
    toy_close(&toy);
}

Test(scheduler, a_draining_scheduler_finishes_what_it_has_and_takes_no_more)
{
    struct toy toy;
    open_small(&toy);
    struct toy_request request = {.id = "a", .prompt_count = 5, .max_tokens = 3};
    uint32_t record = toy_submit(&toy, &request);
    scheduler_set_draining(toy.scheduler, true);
    struct submit_request submit = toy_submit_request(
        &(struct toy_request){.id = "b", .prompt_count = 5, .max_tokens = 3});
    struct fault fault;
    uint32_t other;
    cr_assert_eq(toy_submit_status(&toy, &submit, &other, &fault), STATUS_UNAVAILABLE);
    toy_finish_all(&toy);
    cr_assert(toy_output_is_right(&toy, record, &request));
    toy_close(&toy);
}

Test(scheduler, bad_fields_are_named)
{
    struct toy toy;
    open_small(&toy);
    struct toy_request request = {.id = "a", .prompt_count = 5, .max_tokens = 3};
    const struct submit_request good = toy_submit_request(&request);
    struct submit_request bad[9];
    const char *fields[9] = {"id",           "frontend", "temperature",   "top_p",
                             "top_logprobs", "top_k",    "prompt_tokens", "max_tokens",
                             "body_digest"};
    for (int i = 0; i < 9; i++)
        bad[i] = good;
    const uint32_t unknown_token = TOY_VOCABULARY;
    bad[0].id = SPAN_LITERAL("");
    bad[1].frontend = 0;
    bad[2].sampling.temperature = 0.0f / 0.0f;
    bad[3].sampling.top_p = 0;
    bad[4].sampling.top_logprobs = TOP_LOGPROBS_MAX + 1;
    bad[5].sampling.top_k = -1;
    bad[6].prompt_tokens = (struct span){(const char *)&unknown_token, 4};
    bad[7].max_tokens = 0;
    bad[8].body_digest.size = 31;
    for (int i = 0; i < 9; i++) {
        struct fault fault;
        uint32_t record;
        cr_assert_eq(toy_submit_status(&toy, &bad[i], &record, &fault), STATUS_INVALID);
        cr_assert_str_eq(fault.param, fields[i]);
    }
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

Test(scheduler, ended_records_are_kept_until_told_and_old)
{
    struct toy toy;
    toy_open(&toy, toy_geometry(64, 4, 12, 3), toy_options(8));
    uint32_t records[3];
    for (uint32_t i = 0; i < 3; i++) {
        char id[2] = {(char)('a' + i), 0};
        records[i] = toy_submit(
            &toy, &(struct toy_request){id, .prompt_count = 2, .max_tokens = 1});
        toy_finish_all(&toy);
    }
    struct submit_request submit = toy_submit_request(
        &(struct toy_request){.id = "d", .prompt_count = 2, .max_tokens = 1});
    struct fault fault;
    uint32_t record;
    cr_assert_eq(toy_submit_status(&toy, &submit, &record, &fault), STATUS_OVERLOADED);
    scheduler_set_end_told(toy.scheduler, records[1], true);
    cr_assert_eq(toy_submit_status(&toy, &submit, &record, &fault), STATUS_OK);
    cr_assert_eq(record, records[1]);
    cr_assert_eq(scheduler_find(toy.scheduler, TOY_FRONTEND, SPAN_LITERAL("b"), 0),
                 RECORD_NONE);
    toy_check(&toy);
    scheduler_set_end_told(toy.scheduler, records[2], true);
    uint64_t old_ns =
        toy_record(&toy, records[2])->finished_ns + toy.options.done_kept_ns;
    scheduler_tidy(toy.scheduler, old_ns - 1);
    cr_assert_eq(request_state(toy_record(&toy, records[2])), REQUEST_DONE);
    scheduler_tidy(toy.scheduler, old_ns);
    cr_assert_eq(request_state(toy_record(&toy, records[2])), REQUEST_FREE);
    cr_assert_eq(request_state(toy_record(&toy, records[0])), REQUEST_DONE);
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

Test(scheduler, every_submit_is_accounted_for)
{
    struct toy toy;
    open_small(&toy);
    for (int i = 0; i < 8; i++) {
        char id[8];
        snprintf(id, sizeof id, "r%d", i);
        uint32_t record = toy_submit(
            &toy, &(struct toy_request){id, .prompt_count = 5, .max_tokens = 57 - 8 * i});
        if (i == 3)
            scheduler_cancel(toy.scheduler, record, FINISH_CANCELLED, toy.now_ns);
    }
    toy_turn(&toy);
    toy_turn(&toy);
    const struct scheduler_counters *counters = scheduler_counters(toy.scheduler);
    struct scheduler_counts counts = scheduler_counts(toy.scheduler);
    uint64_t ended = 0;
    for (int reason = 0; reason < FINISH_REASONS; reason++)
        ended += counters->finished[reason];
    cr_assert_eq(counters->received,
                 ended + counters->rejected + counts.running + counts.waiting);
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
