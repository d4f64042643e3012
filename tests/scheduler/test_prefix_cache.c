/* The prefix cache: who finds whose blocks, what is never shared, what goes first. Blocks
 * of the toy are of 4 tokens; its rows chain over all tokens, so that a wrong block would
 * give a wrong output. */
#include "tests/scheduler/toy.h"

#include "scheduler/core/prefix_chain.h"
#include <criterion/criterion.h>
#include <stdio.h>

#define BLOCK 4u

static void open_pool(struct toy *toy, uint32_t blocks_count)
{
    toy_open(toy, toy_geometry(blocks_count, 4, 68, 32), toy_options(64));
}

/* Runs it to its end beside whatever runs; the prompt tokens that it found cached. */
static uint32_t run(struct toy *toy, const struct toy_request *request)
{
    uint32_t record = toy_submit(toy, request);
    toy_finish_all(toy);
    cr_assert(toy_output_is_right(toy, record, request), "%s", request->id);
    return toy_record(toy, record)->cached_tokens_count;
}

static uint32_t cached_blocks(struct toy *toy)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < toy->control.header->geometry.blocks_count; i++)
        count += toy->control.blocks[i].fill == BLOCK;
    return count;
}

Test(prefix_cache, only_whole_blocks_are_found_and_one_token_is_left_to_run)
{
    static const struct {
        uint32_t prompt_count, cached_count;
    } cases[] = {{1, 0}, {3, 0}, {4, 0}, {5, 4}, {7, 4}, {8, 4}, {9, 8}, {13, 12}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct toy toy;
        open_pool(&toy, 32);
        struct toy_request request = {.id = "a",
                                      .prompt_count = cases[i].prompt_count,
                                      .max_tokens = 3,
                                      .shared_id = "shared",
                                      .shared_count = cases[i].prompt_count};
        cr_assert_eq(run(&toy, &request), 0);
        request.id = "b";
        cr_assert_eq(run(&toy, &request), cases[i].cached_count, "prompt of %u",
                     cases[i].prompt_count);
        cr_assert_eq(scheduler_counters(toy.scheduler)->prefix_queries,
                     2 * cases[i].prompt_count);
        cr_assert_eq(scheduler_counters(toy.scheduler)->prefix_hits,
                     cases[i].cached_count);
        cr_assert_eq(scheduler_counts(toy.scheduler).blocks_free, 32);
        toy_close(&toy);
    }
}

Test(prefix_cache, a_prompt_is_found_up_to_where_it_differs)
{
    struct toy toy;
    open_pool(&toy, 256);
    struct toy_request request = {
        .prompt_count = 24, .max_tokens = 2, .shared_id = "shared"};
    char id[32];
    request.id = "whole";
    request.shared_count = 24;
    run(&toy, &request);
    for (uint32_t shared = 0; shared < 24; shared++) {
        snprintf(id, sizeof id, "shares %u", shared);
        request.id = id;
        request.shared_count = shared;
        cr_assert_eq(run(&toy, &request), shared / BLOCK * BLOCK, "%u tokens", shared);
    }
    toy_close(&toy);
}

Test(prefix_cache, the_next_turn_of_a_chat_finds_the_answer_before_it)
{
    struct toy toy;
    open_pool(&toy, 64);
    struct toy_request first = {.id = "turn 1", .prompt_count = 10, .max_tokens = 11};
    uint32_t record = toy_submit(&toy, &first);
    toy_finish_all(&toy);
    uint32_t prompt[26] = {0};
    memcpy(prompt, extent_view(&toy.control, toy_record(&toy, record)).tokens,
           21 * sizeof *prompt);
    struct toy_request second = {
        .id = "turn 2", .prompt_count = 26, .max_tokens = 5, .tokens = prompt};
    /* 21 tokens, the newest of which has no row: 20 rows, 5 blocks, 2 of them the
     * prompt's alone. */
    cr_assert_eq(run(&toy, &second), 20);
    toy_close(&toy);
}

/* Case KV-02. */
Test(prefix_cache, no_owner_and_no_salt_finds_what_another_has_asked)
{
    struct toy toy;
    open_pool(&toy, 64);
    const struct toy_request base = {
        .prompt_count = 17, .max_tokens = 2, .shared_id = "secret", .shared_count = 17};
    /* Case KV-03: each of these is a name of its own. */
    static const struct {
        const char *owner;
        struct span salt;
    } tenants[] = {{NULL, {0}},
                   {"key 1", {0}},
                   {"key 2", {0}},
                   {"key 1", {"salt", 4}},
                   {"key 2", {"salt", 4}},
                   {NULL, {"key 1", 5}},
                   {"key 1", {"s", 1}},
                   {"key 1", {"s\0", 2}},
                   {"key 1s", {0}},
                   {NULL, {"ab", 2}},
                   {NULL, {"a", 1}}};
    uint32_t count = sizeof tenants / sizeof tenants[0];
    for (uint32_t i = 0; i < 2 * count; i++) {
        char id[32];
        snprintf(id, sizeof id, "request %u", i);
        struct toy_request request = base;
        request.id = id;
        request.owner = tenants[i % count].owner;
        request.salt = tenants[i % count].salt;
        cr_assert_eq(run(&toy, &request), i < count ? 0 : 16, "tenant %u", i);
    }
    toy_close(&toy);
}

Test(prefix_cache, a_salt_that_is_too_long_is_refused)
{
    struct toy toy;
    open_pool(&toy, 16);
    static char salt[CACHE_SALT_BYTES_MAX + 1];
    struct toy_request request = {
        .id = "a", .prompt_count = 3, .max_tokens = 1, .salt = {salt, sizeof salt}};
    struct submit_request submit = toy_submit_request(&request);
    struct fault fault;
    uint32_t record;
    cr_assert_eq(toy_submit_status(&toy, &submit, &record, &fault), STATUS_INVALID);
    cr_assert_str_eq(fault.param, "cache_salt");
    toy_close(&toy);
}

/* Cases KV-07 and KV-10: the pool is reused by others in between. */
Test(prefix_cache, what_was_overwritten_is_not_found)
{
    struct toy toy;
    open_pool(&toy, 20);
    struct toy_request first = {.id = "P1",
                                .prompt_count = 30,
                                .max_tokens = 2,
                                .shared_id = "P",
                                .shared_count = 30};
    cr_assert_eq(run(&toy, &first), 0);
    first.id = "again";
    cr_assert_eq(run(&toy, &first), 28);
    struct toy_request other = {.prompt_count = 30, .max_tokens = 2};
    char id[32];
    for (int i = 0; i < 6; i++) {
        snprintf(id, sizeof id, "other %d", i);
        other.id = id;
        cr_assert_eq(run(&toy, &other), 0);
    }
    other.id = "runs still";
    uint32_t running = toy_submit(&toy, &other);
    toy_turn(&toy);
    first.id = "P1 once more";
    cr_assert_eq(run(&toy, &first), 0);
    cr_assert(toy_output_is_right(&toy, running, &other));
    toy_close(&toy);
}

Test(prefix_cache, the_least_recently_used_goes_first_and_its_tail_before_its_head)
{
    struct toy toy;
    open_pool(&toy, 12);
    struct toy_request old = {.id = "old", .prompt_count = 17, .max_tokens = 1};
    struct toy_request young = {.id = "young", .prompt_count = 17, .max_tokens = 1};
    run(&toy, &old);
    run(&toy, &young);
    cr_assert_eq(cached_blocks(&toy), 8);
    old.tokens = NULL;
    struct toy_request again = old;
    again.id = "old again";
    again.shared_id = "old";
    again.shared_count = 17;
    cr_assert_eq(run(&toy, &again), 16, "and now young is the oldest");
    /* 4 are free; of the other 2 needed both are young's last. */
    struct toy_request other = {.id = "other", .prompt_count = 21, .max_tokens = 1};
    run(&toy, &other);
    again.id = "old at last";
    cr_assert_eq(run(&toy, &again), 16);
    again.id = "young again";
    again.shared_id = "young";
    cr_assert_eq(run(&toy, &again), 8);
    toy_close(&toy);
}

/* Two compute the same prompt at once: one of them alone is cached, both are right. */
Test(prefix_cache, a_name_has_one_block_and_children_of_a_given_up_parent_stay_right)
{
    struct toy toy;
    open_pool(&toy, 64);
    struct toy_request a = {.id = "a",
                            .prompt_count = 9,
                            .max_tokens = 9,
                            .shared_id = "shared",
                            .shared_count = 9};
    struct toy_request b = a;
    b.id = "b";
    b.max_tokens = 20;
    uint32_t first = toy_submit(&toy, &a), second = toy_submit(&toy, &b);
    toy_turn(&toy);
    cr_assert_eq(toy_record(&toy, second)->cached_tokens_count, 0);
    cr_assert_eq(cached_blocks(&toy), 2);
    toy_finish_all(&toy);
    cr_assert(toy_output_is_right(&toy, first, &a));
    cr_assert(toy_output_is_right(&toy, second, &b));
    /* b's later blocks rest on blocks of its own that were never cached. Idle are, from
     * the oldest: a's answer, a's prompt, b's answer. */
    cr_assert_eq(cached_blocks(&toy), 7);
    struct toy_request filler = {.id = "filler", .prompt_count = 60, .max_tokens = 1};
    for (int i = 0; i < 4; i++) {
        char id[32];
        snprintf(id, sizeof id, "filler %d", i);
        filler.id = id;
        run(&toy, &filler);
        a.id = id + 1;
        run(&toy, &a);
    }
    toy_close(&toy);
}

/* Strict: blocks that another holds cost nothing, idle ones cost as much as free ones. */
Test(prefix_cache, the_gate_counts_what_is_held_by_others_once)
{
    struct toy toy;
    open_pool(&toy, 8);
    struct toy_request a = {.id = "a",
                            .prompt_count = 17,
                            .max_tokens = 7,
                            .shared_id = "shared",
                            .shared_count = 17};
    uint32_t first = toy_submit(&toy, &a);
    toy_turn(&toy);
    cr_assert_eq(scheduler_counts(toy.scheduler).blocks_free, 2);
    a.id = "b";
    uint32_t second = toy_submit(&toy, &a);
    toy_turn(&toy);
    cr_assert_eq(request_state(toy_record(&toy, second)), REQUEST_DECODE);
    cr_assert_eq(scheduler_counts(toy.scheduler).blocks_free, 0);
    toy_finish_all(&toy);
    cr_assert(toy_output_is_right(&toy, second, &a));
    a.id = "a";
    cr_assert(toy_output_is_right(&toy, first, &a));
    /* All of the pool, most of it idle and found. */
    a.id = "c";
    a.max_tokens = 15;
    cr_assert_eq(run(&toy, &a), 16);
    toy_close(&toy);
}

Test(prefix_cache, a_block_is_found_only_after_its_step_is_committed)
{
    struct toy toy;
    open_pool(&toy, 32);
    struct toy_request a = {.id = "a",
                            .prompt_count = 9,
                            .max_tokens = 2,
                            .shared_id = "shared",
                            .shared_count = 9};
    toy_submit(&toy, &a);
    uint32_t slot = scheduler_plan(toy.scheduler, 0, toy.now_ns);
    toy_run(&toy, slot);
    a.id = "b";
    uint32_t early = toy_submit(&toy, &a);
    uint32_t early_slot = scheduler_plan(toy.scheduler, 1, toy.now_ns);
    cr_assert_eq(toy_record(&toy, early)->cached_tokens_count, 0);
    cr_assert_eq(cached_blocks(&toy), 0);
    /* The first worker has done its step, the other dies in its. */
    toy_compute(&toy, early_slot, 1);
    scheduler_worker_died(toy.scheduler, 1, toy.now_ns);
    toy_check(&toy);
    cr_assert_eq(cached_blocks(&toy), 0);
    cr_assert(scheduler_commit(toy.scheduler, slot, toy.now_ns));
    cr_assert_eq(cached_blocks(&toy), 2);
    toy_finish_all(&toy);
    cr_assert(toy_output_is_right(&toy, early, &a));
    toy_close(&toy);
}

Test(prefix_cache, a_successor_finds_what_was_cached_in_the_same_order)
{
    struct toy toy;
    open_pool(&toy, 12);
    struct toy_request old = {.id = "old", .prompt_count = 17, .max_tokens = 1};
    struct toy_request young = {.id = "young", .prompt_count = 17, .max_tokens = 1};
    run(&toy, &young);
    run(&toy, &old);
    struct toy_request again = {.id = "young again",
                                .prompt_count = 17,
                                .max_tokens = 1,
                                .shared_id = "young",
                                .shared_count = 17};
    cr_assert_eq(run(&toy, &again), 16);
    toy_replace_scheduler(&toy);
    toy_check(&toy);
    struct toy_request other = {.id = "other", .prompt_count = 28, .max_tokens = 4};
    run(&toy, &other);
    again.id = "young at last";
    cr_assert_eq(run(&toy, &again), 16);
    toy_close(&toy);
}

/* Before the last block is full, or after it but before the record says so. */
Test(prefix_cache, a_scheduler_may_die_while_it_caches_a_block)
{
    for (int is_full = 0; is_full < 2; is_full++) {
        struct toy toy;
        open_pool(&toy, 32);
        struct toy_request request = {.id = "a", .prompt_count = 9, .max_tokens = 12};
        uint32_t record = toy_submit(&toy, &request);
        for (int i = 0; i < 5; i++)
            toy_turn(&toy);
        cr_assert_eq(cached_blocks(&toy), 3);
        struct request_record *held = toy_record(&toy, record);
        cr_assert_eq(held->blocks_offered_count, 3);
        held->blocks_offered_count = 2;
        if (!is_full) {
            toy.control.blocks[extent_view(&toy.control, held).block_table[2]].fill = 0;
            held->chain_links_count = 3;
        }
        toy_replace_scheduler(&toy);
        toy_check(&toy);
        toy_finish_all(&toy);
        cr_assert(toy_output_is_right(&toy, record, &request));
        cr_assert_eq(cached_blocks(&toy), 5);
        toy_close(&toy);
    }
}

Test(prefix_cache, a_record_that_contradicts_itself_is_named)
{
    struct toy toy;
    open_pool(&toy, 12);
    struct toy_request request = {.id = "a", .prompt_count = 9, .max_tokens = 1};
    run(&toy, &request);
    uint32_t block = 0;
    while (toy.control.blocks[block].fill == 0)
        block++;
    struct fault fault;
    toy.control.blocks[block].fill = 3;
    cr_assert_eq(scheduler_check(toy.scheduler, &fault), STATUS_CORRUPT);
    cr_assert_not_null(strstr(fault.sentence, "block record"), "%s", fault.sentence);
    toy.control.blocks[block].fill = BLOCK;
    toy.control.block_tokens[block * BLOCK + 1] = TOY_VOCABULARY;
    cr_assert_eq(scheduler_check(toy.scheduler, &fault), STATUS_CORRUPT);
    cr_assert_not_null(strstr(fault.sentence, "vocabulary"), "%s", fault.sentence);
    toy_close(&toy);
}

/* The name is right but the tokens are not, as after a stray write. */
Test(prefix_cache, tokens_are_compared_on_a_hit)
{
    struct toy toy;
    open_pool(&toy, 32);
    struct toy_request request = {.id = "a",
                                  .prompt_count = 13,
                                  .max_tokens = 1,
                                  .shared_id = "shared",
                                  .shared_count = 13};
    run(&toy, &request);
    uint32_t *second = NULL;
    for (uint32_t i = 0; i < 32; i++)
        if (toy.control.blocks[i].fill == BLOCK &&
            toy.control.blocks[i].parent != BLOCK_NONE && second == NULL &&
            toy.control.blocks[toy.control.blocks[i].parent].parent == BLOCK_NONE)
            second = &toy.control.block_tokens[i * BLOCK];
    cr_assert_not_null(second);
    *second = (*second + 1) % TOY_VOCABULARY;
    request.id = "b";
    cr_assert_eq(run(&toy, &request), 4);
    toy_close(&toy);
}

Test(prefix_cache, switched_off_nothing_is_cached_or_counted)
{
    struct toy toy;
    struct scheduler_options options = toy_options(64);
    options.prefix_caching = false;
    toy_open(&toy, toy_geometry(32, 4, 68, 32), options);
    struct toy_request request = {.id = "a",
                                  .prompt_count = 13,
                                  .max_tokens = 1,
                                  .shared_id = "shared",
                                  .shared_count = 13};
    run(&toy, &request);
    request.id = "b";
    cr_assert_eq(run(&toy, &request), 0);
    cr_assert_eq(cached_blocks(&toy), 0);
    cr_assert_eq(scheduler_counters(toy.scheduler)->prefix_queries, 0);
    toy_close(&toy);
}

/* Computed by another program from the form that prefix_chain.h states. */
Test(prefix_chain, names_are_those_of_its_form)
{
    struct geometry geometry = {.model_identity = {1, 2, 3}, .block_size = 4};
    uint8_t owner_key[OWNER_KEY_BYTES] = {9};
    static const uint32_t tokens[4] = {5, 6, 7, 49151};
    static const char *const wanted =
        "f070cbe3db41af424437224ca45df93eab7931e755efeb3ffc56095d244b47be";
    struct block_digest root =
        prefix_chain_root(&geometry, owner_key, SPAN_LITERAL("salt"));
    struct block_digest name = prefix_chain_next(&root, tokens, 4);
    char text[2 * BLOCK_DIGEST_BYTES + 1];
    for (size_t i = 0; i < BLOCK_DIGEST_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", name.bytes[i]);
    cr_assert_str_eq(text, wanted);
}
