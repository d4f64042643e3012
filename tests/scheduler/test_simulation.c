/* Seeded simulation: arrivals, duplicates, cancels, time-outs, shared prompts and later
 * turns of chats, deaths of workers and of the scheduler, poison and tiny pools, all at
 * random. After every change the derived
 * state must equal what the records say, and every request's output what it gets alone.
 *
 * A failure prints its seed: ROPEWAY_SIM_SEED=n runs that seed alone, ROPEWAY_SIM_SEEDS=n
 * runs so many.
 */
#include "tests/scheduler/toy.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SEEDS = 1000,
    STEPS_PER_SEED = 400,
    RECORDS = 24,
    IDS_MAX = 4096,
    WORKERS = 2,
    DRAIN_STEPS_MAX = 20000,
    PROMPT_MAX = 40
};

struct sim_request {
    char id[16];
    uint32_t tokens[PROMPT_MAX]; /* of a later turn */
    struct toy_request toy;
    bool is_poison;
    bool may_end_early; /* cancelled or given a short time */
    bool is_verified;
};

struct sim {
    uint64_t seed, random;
    struct toy toy;
    struct sim_request requests[IDS_MAX];
    uint32_t requests_count;
    uint32_t request_of_record[RECORDS];
    uint32_t verified_count, failed_count;
    uint64_t hits; /* tokens that schedulers found cached */
};

static uint32_t draw(struct sim *sim, uint32_t below)
{
    sim->random = sim->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(sim->random >> 33) % below;
}

static bool chance(struct sim *sim, uint32_t percent)
{
    return draw(sim, 100) < percent;
}

#define SIM_ASSERT(sim, condition)                                                       \
    cr_assert((condition), "seed %llu: %s", (unsigned long long)(sim)->seed, #condition)

/* The next scheduler counts from 0. */
static void replace_scheduler(struct sim *sim)
{
    sim->hits += scheduler_counters(sim->toy.scheduler)->prefix_hits;
    toy_replace_scheduler(&sim->toy);
}

static void check(struct sim *sim)
{
    struct fault fault;
    if (scheduler_check(sim->toy.scheduler, &fault) != STATUS_OK)
        cr_assert_fail("seed %llu: %s", (unsigned long long)sim->seed, fault.sentence);
}

/* The prompt is what an earlier request was told and answered, and a little more. */
static void take_turn_after(struct sim *sim, struct sim_request *request,
                            const struct sim_request *earlier)
{
    uint32_t answer[TOY_TOKENS_MAX];
    uint32_t answer_count = toy_expect(&earlier->toy, answer);
    struct submit_request before = toy_submit_request(&earlier->toy);
    uint32_t count = earlier->toy.prompt_count;
    memcpy(request->tokens, before.prompt_tokens.data, before.prompt_tokens.size);
    for (uint32_t i = 0; i < answer_count && count < PROMPT_MAX; i++)
        request->tokens[count++] = answer[i];
    for (uint32_t more = draw(sim, 4); more > 0 && count < PROMPT_MAX; more--)
        request->tokens[count++] = draw(sim, TOY_VOCABULARY);
    request->toy.tokens = request->tokens;
    request->toy.prompt_count = count;
}

static void share_prefix(struct sim *sim, struct sim_request *request)
{
    static const char *const shared_ids[] = {"system", "other"};
    request->toy.shared_id = shared_ids[draw(sim, 2)];
    request->toy.shared_count = draw(sim, 20);
    if (chance(sim, 20))
        request->toy.salt = (struct span){"salt", 1 + draw(sim, 4)};
    if (sim->requests_count > 0 && chance(sim, 30))
        take_turn_after(sim, request, &sim->requests[draw(sim, sim->requests_count)]);
}

static void submit_new(struct sim *sim)
{
    if (sim->requests_count == IDS_MAX)
        return;
    struct sim_request *request = &sim->requests[sim->requests_count];
    snprintf(request->id, sizeof request->id, "r%u", sim->requests_count);
    request->toy = (struct toy_request){.id = request->id,
                                        .prompt_count = 1 + draw(sim, 24),
                                        .max_tokens = 1 + draw(sim, 16),
                                        .seed = draw(sim, 1000),
                                        .stops = chance(sim, 50)};
    share_prefix(sim, request);
    request->is_poison = chance(sim, 2);
    struct submit_request submit = toy_submit_request(&request->toy);
    if (chance(sim, 5)) {
        submit.timeout_ms = 1 + draw(sim, 40);
        request->may_end_early = true;
    }
    struct fault fault;
    uint32_t record;
    enum status status = toy_submit_status(&sim->toy, &submit, &record, &fault);
    if (status == STATUS_OK) {
        sim->request_of_record[record] = sim->requests_count++;
        return;
    }
    SIM_ASSERT(sim, status == STATUS_OVERLOADED || status == STATUS_CONTEXT_LENGTH);
    memset(request, 0, sizeof *request);
}

static uint32_t find(struct sim *sim, uint32_t index)
{
    return scheduler_find(sim->toy.scheduler, TOY_FRONTEND,
                          span_of(sim->requests[index].id), 0);
}

static void submit_again(struct sim *sim)
{
    if (sim->requests_count == 0)
        return;
    uint32_t index = draw(sim, sim->requests_count), again;
    uint32_t record = find(sim, index);
    if (record == RECORD_NONE)
        return;
    struct submit_request submit = toy_submit_request(&sim->requests[index].toy);
    struct fault fault;
    SIM_ASSERT(sim, toy_submit_status(&sim->toy, &submit, &again, &fault) == STATUS_OK);
    SIM_ASSERT(sim, again == record);
    char other_digest[32] = {9};
    submit.body_digest.data = other_digest;
    SIM_ASSERT(sim,
               toy_submit_status(&sim->toy, &submit, &again, &fault) == STATUS_CONFLICT);
}

static void cancel_one(struct sim *sim)
{
    if (sim->requests_count == 0)
        return;
    uint32_t index = draw(sim, sim->requests_count);
    uint32_t record = find(sim, index);
    if (record == RECORD_NONE)
        return;
    uint32_t count = toy_record(&sim->toy, record)->tokens_count;
    sim->requests[index].may_end_early = true;
    scheduler_cancel(sim->toy.scheduler, record,
                     chance(sim, 30) ? FINISH_STOP : FINISH_CANCELLED, sim->toy.now_ns);
    SIM_ASSERT(sim, toy_record(&sim->toy, record)->tokens_count == count);
}

static bool has_poison(struct sim *sim, uint32_t slot)
{
    struct step_view view = step_at(&sim->toy.control, slot);
    for (uint32_t i = 0; i < view.step->sequences_count; i++)
        if (sim->requests[sim->request_of_record[view.sequence_record[i]]].is_poison)
            return true;
    return false;
}

/* One more death would fail an innocent that has been unlucky alone once already. */
static bool would_fail_an_innocent(struct sim *sim, uint32_t slot)
{
    struct step_view view = step_at(&sim->toy.control, slot);
    return view.step->sequences_count == 1 &&
           toy_record(&sim->toy, view.sequence_record[0])->deaths_alone > 0;
}

/* Leaves shared memory as a scheduler does that dies in a commit, before the step is
 * marked committed, and for some sequences before their KV rows are counted. */
static void die_in_commit(struct sim *sim, uint32_t slot, uint64_t committed)
{
    struct step_view view = step_at(&sim->toy.control, slot);
    for (uint32_t i = 0; i < view.step->sequences_count; i++) {
        struct request_record *record = toy_record(&sim->toy, view.sequence_record[i]);
        if (request_is_running(record) && chance(sim, 50))
            record->kv_rows_count = view.sequence_position[i];
    }
    view.step->committed = committed;
    replace_scheduler(sim);
}

static void commit(struct sim *sim, uint32_t slot)
{
    struct step *step = step_at(&sim->toy.control, slot).step;
    uint64_t committed = step->committed;
    SIM_ASSERT(sim, scheduler_commit(sim->toy.scheduler, slot, sim->toy.now_ns));
    if (!chance(sim, 5))
        return;
    die_in_commit(sim, slot, committed);
    check(sim);
    SIM_ASSERT(sim, scheduler_commit(sim->toy.scheduler, slot, sim->toy.now_ns));
}

static void run_worker(struct sim *sim, uint32_t worker)
{
    struct toy *toy = &sim->toy;
    uint32_t slot = scheduler_worker_step(toy->scheduler, worker);
    if (slot == STEP_NONE) {
        scheduler_plan(toy->scheduler, worker, toy->now_ns);
        return;
    }
    struct step *step = step_at(&toy->control, slot).step;
    if (has_poison(sim, slot) || (chance(sim, 4) && !would_fail_an_innocent(sim, slot))) {
        toy_compute(toy, slot, draw(sim, step->sequences_count + 1));
        scheduler_worker_died(toy->scheduler, worker, toy->now_ns);
        return;
    }
    toy_run(toy, slot);
    if (chance(sim, 3))
        replace_scheduler(sim);
    if (chance(sim, 5))
        scheduler_worker_died(toy->scheduler, worker, toy->now_ns);
    else
        commit(sim, slot);
}

static void verify_end(struct sim *sim, uint32_t record)
{
    struct sim_request *request = &sim->requests[sim->request_of_record[record]];
    const struct request_record *held = toy_record(&sim->toy, record);
    uint32_t expected[TOY_TOKENS_MAX];
    uint32_t count = toy_expect(&request->toy, expected);
    uint32_t generated = request_generated_count(held);
    const uint32_t *tokens =
        extent_view(&sim->toy.control, held).tokens + held->prompt_tokens_count;
    SIM_ASSERT(sim, strcmp(held->id, request->id) == 0);
    SIM_ASSERT(sim, generated <= count);
    SIM_ASSERT(sim, memcmp(tokens, expected, generated * sizeof *tokens) == 0);
    SIM_ASSERT(sim, generated == count || request->may_end_early ||
                        held->finish_reason == FINISH_FAILED ||
                        held->finish_reason == FINISH_TIMED_OUT);
    if (held->finish_reason == FINISH_FAILED)
        SIM_ASSERT(sim, request->is_poison);
    sim->failed_count += held->finish_reason == FINISH_FAILED;
    sim->verified_count++;
    request->is_verified = true;
}

static void verify_ended(struct sim *sim)
{
    for (uint32_t record = 0; record < RECORDS; record++) {
        if (request_state(toy_record(&sim->toy, record)) != REQUEST_DONE)
            continue;
        if (!sim->requests[sim->request_of_record[record]].is_verified)
            verify_end(sim, record);
        if (chance(sim, 30))
            scheduler_set_end_told(sim->toy.scheduler, record, true);
    }
}

static void one_step(struct sim *sim, bool with_arrivals)
{
    sim->toy.now_ns += 100000 + draw(sim, 2000000);
    if (with_arrivals && chance(sim, 35))
        submit_new(sim);
    if (chance(sim, 5))
        submit_again(sim);
    if (with_arrivals && chance(sim, 6))
        cancel_one(sim);
    if (chance(sim, 1))
        replace_scheduler(sim);
    run_worker(sim, draw(sim, WORKERS));
    check(sim);
    verify_ended(sim);
}

static void open_sim(struct sim *sim, uint64_t seed)
{
    memset(sim, 0, sizeof *sim);
    sim->seed = seed;
    sim->random = seed * 2 + 1;
    uint32_t blocks_count = 4 + draw(sim, 30);
    uint32_t slots_count = 1 + draw(sim, 6);
    uint32_t chunk = 1 + draw(sim, 8);
    uint32_t budget = chunk + slots_count + draw(sim, 8);
    struct scheduler_options options = toy_options(chunk);
    options.waiting_max = 1 + draw(sim, 12);
    options.done_kept_ns = 20000000;
    toy_open(&sim->toy, toy_geometry(blocks_count, slots_count, budget, RECORDS),
             options);
}

static void run_seed(struct sim *sim, uint64_t seed)
{
    open_sim(sim, seed);
    for (int step = 0; step < STEPS_PER_SEED; step++)
        one_step(sim, true);
    int step = 0;
    for (; step < DRAIN_STEPS_MAX; step++) {
        struct scheduler_counts counts = scheduler_counts(sim->toy.scheduler);
        if (counts.running + counts.waiting == 0)
            break;
        one_step(sim, false);
    }
    SIM_ASSERT(sim, step < DRAIN_STEPS_MAX);
    SIM_ASSERT(sim, sim->verified_count == sim->requests_count);
    SIM_ASSERT(sim, scheduler_counts(sim->toy.scheduler).blocks_free ==
                        sim->toy.control.header->geometry.blocks_count);
    sim->hits += scheduler_counters(sim->toy.scheduler)->prefix_hits;
    toy_close(&sim->toy);
}

Test(simulation, every_request_gets_what_it_gets_alone_whatever_dies, .timeout = 100)
{
    static struct sim sim;
    const char *only = getenv("ROPEWAY_SIM_SEED"), *count = getenv("ROPEWAY_SIM_SEEDS");
    uint64_t first = only != NULL ? strtoull(only, NULL, 10) : 1;
    uint64_t seeds = only != NULL ? 1 : count != NULL ? strtoull(count, NULL, 10) : SEEDS;
    uint32_t requests = 0, failed = 0;
    uint64_t hits = 0;
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        run_seed(&sim, seed);
        requests += sim.requests_count;
        failed += sim.failed_count;
        hits += sim.hits;
    }
    printf("%llu seeds, %u requests, %u failed as poison, %llu tokens found cached\n",
           (unsigned long long)seeds, requests, failed, (unsigned long long)hits);
    if (seeds >= SEEDS) {
        cr_assert_gt(failed, 0);
        cr_assert_gt(hits, requests);
    }
}
