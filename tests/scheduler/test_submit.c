/* Who is taken in, who is refused and with which words, and how long records are kept. */
#include "tests/scheduler/toy.h"

#include <criterion/criterion.h>
#include <stdio.h>

static void open_small(struct toy *toy)
{
    toy_open(toy, toy_geometry(64, 4, 12, 16), toy_options(8));
}

Test(submit, what_can_never_fit_is_refused_with_the_numbers)
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

Test(submit, a_budget_without_certain_progress_is_refused_at_start)
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

Test(submit, the_same_submit_finds_the_same_record_and_another_body_conflicts)
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

Test(submit, ids_are_scoped_by_their_owner)
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

Test(submit, a_seed_is_drawn_only_where_the_client_gave_none)
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

Test(submit, a_full_queue_refuses_at_once_and_says_when_to_come_again)
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

Test(submit, a_draining_scheduler_finishes_what_it_has_and_takes_no_more)
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

Test(submit, bad_fields_are_named)
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

Test(submit, ended_records_are_kept_until_told_and_old)
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

Test(submit, every_submit_is_accounted_for)
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
